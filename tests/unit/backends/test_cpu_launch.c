/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend: one launch, and what its programs see and say. */
#include "cpu_artifact.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cpu/cpu_pool.h"
#include "triton_jit/runtime.h"

/* Adds 1 to out[id] and notes its coordinates in the upper bits. */
static void *mark;

static int setup(void **state) {
  (void)state;
  mark = test_module(TEST_INFO, "",
                     "((uint64_t *)p->out)[id] += 1 + (x << 8) + (y << 28) + (z << 48);");
  return 0;
}

static void check_grid(uint32_t gx, uint32_t gy, uint32_t gz) {
  size_t n = (size_t)gx * gy * gz;
  uint64_t *out = calloc(n, sizeof *out);
  assert_non_null(out);
  assert_int_equal(test_launch(mark, gx, gy, gz, out, 0), TJ_OK);
  uint64_t *next = out;
  for (uint64_t z = 0; z < gz; z++)
    for (uint64_t y = 0; y < gy; y++)
      for (uint64_t x = 0; x < gx; x++)
        assert_int_equal(*next++, 1 + (x << 8) + (y << 28) + (z << 48));
  free(out);
}

static void test_grids(void **state) {
  (void)state;
  check_grid(1, 1, 1);
  check_grid(2, 1, 1);
  check_grid(1, 1, 65);
  check_grid(1, 70000, 1);
  check_grid(7, 5, 3);
  check_grid(33, 17, 9);
  check_grid(100, 100, 100);
  check_grid(500000, 3, 1);
  check_grid(7, 5, 3); /* after what large ones have taught */
}

static void test_grid_too_large(void **state) {
  (void)state;
  uint64_t out = 0;
  assert_int_equal(test_launch(mark, 0x7fffffff, 0x7fffffff, 0x7fffffff, &out, 0), TJ_E_GRID);
  assert_non_null(strstr(tj_last_error(), "2147483647 x 2147483647 x 2147483647"));
  assert_non_null(strstr(tj_last_error(), "test_kernel"));
  assert_int_equal(test_launch(mark, 0x7fffffff, 0x7fffffff, 1, &out, 0), TJ_E_GRID);
  assert_int_equal(out, 0);
}

/* Programs long enough that several threads take part, then the same kernel with short ones. */
static void test_programs_that_differ(void **state) {
  (void)state;
  void *sum = test_module(TEST_INFO, "",
                          "uint64_t s = 0; for (int64_t i = 0; i < p->n * (int64_t)(id % 7); i++) {"
                          " s += (uint64_t)i; __asm__ volatile(\"\" : \"+r\"(s)); }"
                          " ((uint64_t *)p->out)[id] += s;");
  static uint64_t out[300];
  for (int round = 0; round < 20; round++) {
    int64_t n = round % 2 ? 20000 : 2;
    memset(out, 0, sizeof out);
    assert_int_equal(test_launch(sum, 10, 10, 3, out, n), TJ_OK);
    for (uint64_t id = 0; id < 300; id++) {
      uint64_t count = (uint64_t)n * (id % 7);
      assert_int_equal(out[id], count ? count * (count - 1) / 2 : 0);
    }
  }
  tj_backend_cpu.unload(sum);
}

/* ---- failures ------------------------------------------------------------------------------ */

#define COUNT "__atomic_fetch_add((uint64_t *)p->out, 1, __ATOMIC_RELAXED);"

static void test_assert(void **state) {
  (void)state;
  void *module =
      test_module(TEST_INFO, "",
                  COUNT "if (id == (uint64_t)p->n) { host->fail(host->ctx, TJ_CPU_FAIL_ASSERT,"
                        " \"index out of range\", 18); return 1; }");
  uint64_t count = 0;
  assert_int_equal(test_launch(module, 1, 1, 1, &count, 0), TJ_E_KERNEL_ASSERT);
  assert_string_equal(tj_last_error(),
                      "kernel test_kernel: device_assert failed: index out of range");
  assert_int_equal(tj_last_status(), TJ_E_KERNEL_ASSERT);
  count = 0;
  assert_int_equal(test_launch(module, 1, 1, 1, &count, 1), TJ_OK);
  assert_int_equal(count, 1);
  /* The rest of a large grid is not run. */
  count = 0;
  assert_int_equal(test_launch(module, 1000, 1000, 10, &count, 5), TJ_E_KERNEL_ASSERT);
  assert_true(count < 9000000);
  count = 0;
  assert_int_equal(test_launch(module, 1000, 1000, 1, &count, -1), TJ_OK);
  assert_int_equal(count, 1000000);
  tj_backend_cpu.unload(module);
}

static void test_every_program_fails(void **state) {
  (void)state;
  void *module =
      test_module(TEST_INFO, "",
                  "char text[700]; for (int i = 0; i < 700; i++) text[i] = (char)('a' + id % 3);"
                  " host->fail(host->ctx, TJ_CPU_FAIL_TRAP, text, 700); return 1;");
  for (int i = 0; i < 50; i++) {
    assert_int_equal(test_launch(module, 3000000, 1, 1, NULL, 0), TJ_E_LAUNCH);
    /* One program's text, cut. */
    const char *text = strstr(tj_last_error(), "it cannot go on: ");
    assert_non_null(text);
    text += strlen("it cannot go on: ");
    assert_int_equal(strlen(text), 512);
    assert_int_equal(strspn(text, (char[]){text[0], 0}), 512);
  }
  tj_backend_cpu.unload(module);
}

static void test_failure_without_a_word(void **state) {
  (void)state;
  void *module = test_module(TEST_INFO, "", "return 1;");
  assert_int_equal(test_launch(module, 4, 1, 1, NULL, 0), TJ_E_LAUNCH);
  assert_non_null(strstr(tj_last_error(), "without saying why"));
  tj_backend_cpu.unload(module);
}

/* ---- print ----------------------------------------------------------------------------------- */

typedef struct lines {
  pthread_mutex_t lock;
  int count;
  int level;
  uint64_t seen; /* bit i: program i said its line */
} lines;

static void hear(void *user, int level, const char *text) {
  lines *l = user;
  pthread_mutex_lock(&l->lock);
  char *end;
  unsigned long id = strtoul(text, &end, 10);
  if (strcmp(end, " says hello") == 0 && id < 64) l->seen |= (uint64_t)1 << id;
  l->count++;
  l->level = level;
  pthread_mutex_unlock(&l->lock);
}

static void test_print(void **state) {
  (void)state;
  void *module =
      test_module(TEST_INFO, "#include <stdio.h>",
                  "char text[64]; int size = snprintf(text, 64, \"%d says hello\", (int)id);"
                  " host->print(host->ctx, text, (size_t)size);");
  lines l = {.lock = PTHREAD_MUTEX_INITIALIZER};
  tj_set_log(hear, &l, TJ_LOG_INFO);
  assert_int_equal(test_launch(module, 4, 4, 4, NULL, 0), TJ_OK);
  assert_int_equal(l.count, 64);
  assert_int_equal(l.level, TJ_LOG_INFO);
  assert_true(l.seen == UINT64_MAX);
  tj_set_log(hear, &l, TJ_LOG_WARNING);
  assert_int_equal(test_launch(module, 4, 4, 4, NULL, 0), TJ_OK);
  assert_int_equal(l.count, 64);
  tj_set_log(NULL, NULL, 0);
  tj_backend_cpu.unload(module);
}

/* ---- scratch --------------------------------------------------------------------------------- */

/* Fills its scratch, waits a little, and checks that nobody else wrote to it. */
static void *scratch_module(uint64_t size) {
  char info[128], body[1024];
  (void)snprintf(info, sizeof info, "TJ_CPU_ABI, 0, %lluu, 16, 2", (unsigned long long)size);
  (void)snprintf(body, sizeof body,
                 "if ((uintptr_t)scratch %% 64) return 1;"
                 "uint64_t *tile = scratch; const uint64_t n = %lluu / 8;"
                 "for (uint64_t i = 0; i < n; i++) ((volatile uint64_t *)tile)[i] = id;"
                 "if (p->n) host->print(host->ctx, \"half way\", 8);"
                 "for (int i = 0; i < 2000; i++) __asm__ volatile(\"\");"
                 "uint64_t same = 1;"
                 "for (uint64_t i = 0; i < n; i++) same &= ((volatile uint64_t *)tile)[i] == id;"
                 "((uint64_t *)p->out)[id] = same;",
                 (unsigned long long)size);
  return test_module(info, "", body);
}

static void check_scratch(void *module) {
  static uint64_t out[2000];
  memset(out, 0, sizeof out);
  assert_int_equal(test_launch(module, 2000, 1, 1, out, 0), TJ_OK);
  for (int i = 0; i < 2000; i++) assert_int_equal(out[i], 1);
}

static void test_scratch(void **state) {
  (void)state;
  void *small = scratch_module(72), *large = scratch_module(100000);
  for (int i = 0; i < 5; i++) {
    check_scratch(small);
    check_scratch(large);
  }
  tj_backend_cpu.unload(large);
  check_scratch(small);
  tj_backend_cpu.unload(small);
}

static void test_scratch_that_is_not_kept(void **state) {
  (void)state;
  void *module = scratch_module((uint64_t)17 << 20);
  uint64_t out[2] = {0};
  assert_int_equal(test_launch(module, 2, 1, 1, out, 0), TJ_OK);
  assert_true(out[0] && out[1]);
  tj_backend_cpu.unload(module);
}

static void *inner;

static void launch_again(void *user, int level, const char *text) {
  (void)level;
  (void)text;
  uint64_t out[3] = {0};
  if (test_launch(inner, 3, 1, 1, out, 0) == TJ_OK && out[0] && out[1] && out[2])
    atomic_fetch_add((atomic_int *)user, 1);
}

/* A log callback may launch: it must get other scratch than the program that prints. */
static void test_launch_within_a_launch(void **state) {
  (void)state;
  void *module = scratch_module(4096);
  inner = scratch_module(8192);
  static uint64_t out[100];
  atomic_int count = 0;
  tj_set_log(launch_again, &count, TJ_LOG_INFO);
  assert_int_equal(test_launch(module, 100, 1, 1, out, 1), TJ_OK);
  tj_set_log(NULL, NULL, 0);
  for (int i = 0; i < 100; i++) assert_int_equal(out[i], 1);
  assert_int_equal(atomic_load(&count), 100);
  tj_backend_cpu.unload(module);
  tj_backend_cpu.unload(inner);
}

static void test_huge_scratch(void **state) {
  (void)state;
  void *module = test_module("TJ_CPU_ABI, 0, 1ull << 40, 16, 2", "", "return 1;");
  if (test_launch(module, 1, 1, 1, NULL, 0) != TJ_E_OUT_OF_MEMORY) {
    tj_backend_cpu.unload(module);
    skip(); /* vm.overcommit_memory is 1: the system promises anything */
  }
  assert_non_null(strstr(tj_last_error(), "1099511627776 bytes of scratch"));
  assert_int_equal(test_launch(module, 64, 1, 1, NULL, 0), TJ_E_OUT_OF_MEMORY);
  tj_backend_cpu.unload(module);
}

/* ---- floating point ----------------------------------------------------------------------------- */

/* Each program: what 1/3 rounds to, and whether a denormal survives. */
static void *float_module(void) {
  return test_module(TEST_INFO, "",
                     "volatile float a = 1, b = 3, tiny = 1e-30f, scale = 1e-10f;"
                     "volatile float minus = -1;"
                     "float third = a / b, negative = minus / b, denormal = tiny * scale;"
                     "for (int i = 0; i < 3000; i++) __asm__ volatile(\"\");"
                     "((uint8_t *)p->out)[id] = (uint8_t)((third == 0x1.555556p-2f) | "
                     "(negative == -0x1.555556p-2f) << 1 | (denormal != 0) << 2);");
}

static void check_floats(void *module, uint32_t n) {
  static uint8_t out[5000];
  memset(out, 0, sizeof out);
  assert_int_equal(test_launch(module, n, 1, 1, out, 0), TJ_OK);
  for (uint32_t i = 0; i < n; i++) assert_int_equal(out[i], 7);
}

static void test_floating_point_environment(void **state) {
  (void)state;
  void *module = float_module();
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(fesetround(modes[i]), 0);
    feclearexcept(FE_ALL_EXCEPT);
#if defined(__SSE2__)
    unsigned before = __builtin_ia32_stmxcsr() | 0x8040; /* FTZ, DAZ */
    __builtin_ia32_ldmxcsr(before);
#endif
    check_floats(module, 1);
    check_floats(module, 5000);
#if defined(__SSE2__)
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before & ~0x8040u);
    assert_int_equal(after, before);
#endif
    int mode = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    assert_int_equal(mode, modes[i]);
    assert_int_equal(flags, 0);
  }
  tj_backend_cpu.unload(module);
}

static void test_exception_flags_of_the_host_survive(void **state) {
  (void)state;
  void *module = float_module();
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  check_floats(module, 10);
  assert_int_equal(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
  feclearexcept(FE_ALL_EXCEPT);
  tj_backend_cpu.unload(module);
}

/* ---- cooperative grids ---------------------------------------------------------------------------- */

/* Every program waits for all of them. */
static tj_artifact barrier_artifact(void) {
  tj_artifact artifact = test_artifact(
      "TJ_CPU_ABI, TJ_CPU_ORDERED, 64, 16, 2", "#include <sched.h>\n",
      "uint64_t *arrived = p->out; ((uint64_t *)scratch)[0] = id;"
      "__atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL);"
      "while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < (uint64_t)grid[0] * grid[1])"
      "  sched_yield();"
      "((uint64_t *)p->out)[1 + id] = ((uint64_t *)scratch)[0];");
  artifact.metadata = "{\"launch_cooperative_grid\": true, \"num_warps\": 4}";
  return artifact;
}

static void test_cooperative(void **state) {
  (void)state;
  tj_artifact artifact = barrier_artifact();
  void *module = test_load(&artifact);
  for (int round = 0; round < 5; round++) {
    uint64_t out[65] = {0};
    assert_int_equal(test_launch(module, 16, 4, 1, out, 0), TJ_OK);
    for (uint64_t i = 0; i < 64; i++) assert_int_equal(out[1 + i], i);
  }
  uint64_t one[2] = {0};
  assert_int_equal(test_launch(module, 1, 1, 1, one, 0), TJ_OK);
  assert_int_equal(test_launch(module, 1000, 1000, 1, NULL, 0), TJ_E_OUT_OF_RESOURCES);
  assert_non_null(strstr(tj_last_error(), "1000000 programs"));
  assert_non_null(strstr(tj_last_error(), "the limit is 1024"));
  tj_backend_cpu.unload(module);
  /* The metadata says so, and says it with true. */
  artifact.metadata = "{\"launch_cooperative_grid\": false}";
  module = test_load(&artifact);
  assert_false(((tj_cpu_module *)module)->cooperative);
  tj_backend_cpu.unload(module);
  artifact.metadata = "not JSON";
  module = test_load(&artifact);
  assert_false(((tj_cpu_module *)module)->cooperative);
  tj_backend_cpu.unload(module);
  artifact_free(&artifact);
}

static void test_cooperative_without_memory(void **state) {
  (void)state;
  tj_artifact artifact = test_artifact("TJ_CPU_ABI, 0, 1ull << 40, 16, 2", "", "return 1;");
  artifact.metadata = "{\"launch_cooperative_grid\": true}";
  void *module = test_load(&artifact);
  tj_status status = test_launch(module, 8, 1, 1, NULL, 0);
  tj_backend_cpu.unload(module);
  artifact_free(&artifact);
  if (status == TJ_E_LAUNCH) skip(); /* vm.overcommit_memory is 1 */
  assert_int_equal(status, TJ_E_OUT_OF_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grids),
      cmocka_unit_test(test_grid_too_large),
      cmocka_unit_test(test_programs_that_differ),
      cmocka_unit_test(test_assert),
      cmocka_unit_test(test_every_program_fails),
      cmocka_unit_test(test_failure_without_a_word),
      cmocka_unit_test(test_print),
      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_scratch_that_is_not_kept),
      cmocka_unit_test(test_launch_within_a_launch),
      cmocka_unit_test(test_huge_scratch),
      cmocka_unit_test(test_floating_point_environment),
      cmocka_unit_test(test_exception_flags_of_the_host_survive),
      cmocka_unit_test(test_cooperative),
      cmocka_unit_test(test_cooperative_without_memory),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
