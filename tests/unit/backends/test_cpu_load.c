/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend: what it takes for an artifact, and what it refuses. */
#include "cpu_artifact.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>

static tj_artifact good; /* adds n to out[0] */

static int setup(void **state) {
  (void)state;
  good = test_artifact(TEST_INFO, "", "*(int64_t *)p->out += p->n;");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  artifact_free(&good);
  return 0;
}

static void assert_refused(const tj_artifact *artifact, tj_status status, const char *text) {
  void *module = &module;
  assert_int_equal(tj_backend_cpu.load(artifact, 0, 0, &module), status);
  assert_ptr_equal(module, &module); /* untouched */
  if (strstr(tj_last_error(), text) == NULL || strstr(tj_last_error(), "test_kernel") == NULL)
    fail_msg("expected \"%s\" and the kernel's name in: %s", text, tj_last_error());
}

static void test_device(void **state) {
  (void)state;
  int32_t n = 0;
  assert_int_equal(tj_backend_cpu.probe(&n), TJ_OK);
  assert_int_equal(n, 1);
  assert_int_equal(tj_backend_cpu.current_device(&n), TJ_OK);
  assert_int_equal(n, 0);
  tj_target target;
  assert_int_equal(tj_backend_cpu.target(0, &target), TJ_OK);
  assert_string_equal(target.backend, "cpu");
  assert_string_equal(target.arch, "native");
  assert_int_equal(target.warp_size, 1);
  assert_int_equal(tj_backend_cpu.target(1, &target), TJ_E_DEVICE);
  void *module;
  assert_int_equal(tj_backend_cpu.load(&good, 1, 0, &module), TJ_E_DEVICE);
}

static void test_loads_and_runs(void **state) {
  (void)state;
  void *module = test_load(&good);
  int64_t out = 1;
  assert_int_equal(test_launch(module, 1, 1, 1, &out, 41), TJ_OK);
  assert_int_equal(out, 42);
  tj_backend_cpu.unload(module);
}

/* A descriptor's number comes back at once: the second must not be taken for the first. */
static void test_two_at_once(void **state) {
  (void)state;
  void *other = test_module(TEST_INFO, "", "*(int64_t *)p->out -= p->n;");
  void *module = test_load(&good), *again = test_load(&good);
  assert_ptr_not_equal(((tj_cpu_module *)module)->run, ((tj_cpu_module *)again)->run);
  int64_t out = 0;
  assert_int_equal(test_launch(module, 1, 1, 1, &out, 5), TJ_OK);
  assert_int_equal(test_launch(other, 1, 1, 1, &out, 3), TJ_OK);
  assert_int_equal(out, 2);
  tj_backend_cpu.unload(module);
  assert_int_equal(test_launch(again, 1, 1, 1, &out, 5), TJ_OK);
  assert_int_equal(out, 7);
  tj_backend_cpu.unload(again);
  tj_backend_cpu.unload(other);
}

static int count_mappings(const char *text) {
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[4096];
  int n = 0;
  while (fgets(line, sizeof line, maps)) n += strstr(line, text) != NULL;
  (void)fclose(maps);
  return n;
}

static int count_entries(const char *path) {
  DIR *folder = opendir(path);
  assert_non_null(folder);
  int n = 0;
  while (readdir(folder)) n++;
  (void)closedir(folder);
  return n;
}

static void test_unload_gives_everything_back(void **state) {
  (void)state;
  void *module = test_load(&good);
  assert_true(count_mappings("triton_jit:test_kernel") > 0);
  tj_backend_cpu.unload(module);
  int descriptors = count_entries("/proc/self/fd");
  for (int i = 0; i < 100; i++) tj_backend_cpu.unload(test_load(&good));
  assert_int_equal(count_mappings("triton_jit:test_kernel"), 0);
  assert_int_equal(count_entries("/proc/self/fd"), descriptors);
}

static void test_private_files(void **state) {
  (void)state;
  char folder[] = "/tmp/triton_jit-test-XXXXXX", reason[256] = "";
  assert_non_null(mkdtemp(folder));
  void *object = tj_cpu_open_bytes(good.binary, good.binary_size, "k", folder, reason, 256);
  if (object == NULL) {
    fail_msg("%s", reason);
    return; /* not reached, which an analyser does not know */
  }
  assert_non_null(dlsym(object, "tj_cpu_run_1"));
  dlclose(object);
  assert_int_equal(rmdir(folder), 0); /* nothing was left in it */
  assert_null(tj_cpu_open_bytes(good.binary, good.binary_size, "k", folder, reason, 256));
  assert_non_null(strstr(reason, folder));
  assert_non_null(strstr(reason, "No such file"));
}

static void test_not_elf(void **state) {
  (void)state;
  tj_artifact bad = good;
  bad.binary = "def kernel(): pass";
  bad.binary_size = 18;
  assert_refused(&bad, TJ_E_LOAD, "not an ELF file");
  bad.binary_size = 0;
  assert_refused(&bad, TJ_E_LOAD, "not an ELF file");
}

/* At any length: refused, or (what follows the last segment is not needed) loaded and right. */
static void test_cut_short(void **state) {
  (void)state;
  int refused = 0;
  for (size_t size = 0; size < good.binary_size; size += 61) {
    tj_artifact bad = good;
    /* A copy of just this size, so that a sanitizer sees a read beyond it. */
    void *bytes = malloc(size ? size : 1);
    assert_non_null(bytes);
    memcpy(bytes, good.binary, size);
    bad.binary = bytes;
    bad.binary_size = size;
    void *module = NULL;
    tj_status status = tj_backend_cpu.load(&bad, 0, 0, &module);
    if (status == TJ_OK) {
      int64_t out = 0;
      assert_int_equal(test_launch(module, 1, 1, 1, &out, 9), TJ_OK);
      assert_int_equal(out, 9);
      tj_backend_cpu.unload(module);
    } else {
      assert_int_equal(status, TJ_E_LOAD);
      refused++;
    }
    free(bytes);
  }
  assert_true(refused > 50);
}

static void with_byte(size_t offset, unsigned char value, const char *text) {
  tj_artifact bad = good;
  unsigned char *bytes = malloc(good.binary_size);
  assert_non_null(bytes);
  memcpy(bytes, good.binary, good.binary_size);
  bytes[offset] = value;
  bad.binary = bytes;
  assert_refused(&bad, TJ_E_LOAD, text);
  free(bytes);
}

static void test_other_machine(void **state) {
  (void)state;
  with_byte(offsetof(Elf64_Ehdr, e_machine), 0xfe, "machine");
  with_byte(EI_CLASS, 77, "word size");
  with_byte(offsetof(Elf64_Ehdr, e_type), ET_EXEC, "not a shared object");
}

static void refuse_info(const char *info, const char *first, const char *second) {
  tj_artifact bad = test_artifact(info, "", "");
  assert_refused(&bad, TJ_E_LOAD, first);
  assert_non_null(strstr(tj_last_error(), second));
  artifact_free(&bad);
}

static void test_broken_promises(void **state) {
  (void)state;
  refuse_info("7, 0, 0, 16, 2", "ABI 7", "library has 2");
  refuse_info("TJ_CPU_ABI, 0x40, 0, 16, 2", "flags 0x40", "knows 0xf");
  refuse_info("TJ_CPU_ABI, 0, 0, 24, 2", "2 parameters of 24 bytes", "2 of 16 bytes");
  refuse_info("TJ_CPU_ABI, 0, 0, 16, 3", "3 parameters of 16 bytes", "2 of 16 bytes");
  refuse_info("TJ_CPU_ABI, 0, UINT64_MAX, 16, 2", "18446744073709551615 bytes of scratch",
              "cannot be meant");
  assert_int_equal(count_mappings("triton_jit:test_kernel"), 0); /* they were closed again */
}

static void test_missing_symbol(void **state) {
  (void)state;
  tj_artifact bad = good;
  unsigned char *bytes = malloc(good.binary_size);
  assert_non_null(bytes);
  memcpy(bytes, good.binary, good.binary_size);
  const char name[] = "tj_cpu_info_1";
  int renamed = 0;
  for (size_t i = 0; i + sizeof name <= good.binary_size; i++) {
    if (memcmp(bytes + i, name, sizeof name) != 0) continue;
    bytes[i + 12] = '2';
    renamed++;
  }
  assert_true(renamed > 0);
  bad.binary = bytes;
  assert_refused(&bad, TJ_E_LOAD, "does not export tj_cpu_info_1");
  free(bytes);
}

static void test_missing_library(void **state) {
  (void)state;
  tj_artifact bad =
      test_artifact(TEST_INFO, "extern int not_to_be_found(void);", "not_to_be_found();");
  assert_refused(&bad, TJ_E_LOAD, "not_to_be_found");
  artifact_free(&bad);
}

static void test_other_target(void **state) {
  (void)state;
  tj_artifact bad = good;
  bad.target_backend = "cuda";
  assert_refused(&bad, TJ_E_TARGET, "cuda");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_device),          cmocka_unit_test(test_loads_and_runs),
      cmocka_unit_test(test_two_at_once),     cmocka_unit_test(test_unload_gives_everything_back),
      cmocka_unit_test(test_private_files),   cmocka_unit_test(test_not_elf),
      cmocka_unit_test(test_cut_short),       cmocka_unit_test(test_other_machine),
      cmocka_unit_test(test_broken_promises), cmocka_unit_test(test_missing_symbol),
      cmocka_unit_test(test_missing_library), cmocka_unit_test(test_other_target),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
