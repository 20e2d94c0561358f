/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts for tests of the CPU backend: C text -> system compiler -> bytes. */
#ifndef TJ_TEST_CPU_ARTIFACT_H
#define TJ_TEST_CPU_ARTIFACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpu/cpu_module.h"
#include "triton_jit/status.h"
#include "triton_jit/sys/backend.h"

extern const tj_backend tj_backend_cpu;

/* Sanitizers: an allocation that cannot be had is a NULL, and a fork may start threads. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1:die_after_fork=0"; }

/* What every kernel of the tests gets. */
typedef struct test_params {
  void *out;
  int64_t n;
} test_params;

static inline void *test_read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  assert_true(size > 0);
  rewind(file);
  void *bytes = malloc((size_t)size);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)size, file), (size_t)size);
  (void)fclose(file);
  *out_size = (size_t)size;
  return bytes;
}

/*
 * `info` is the initialiser of tj_cpu_info_1 and `body` goes into tj_cpu_run_1, whose loop
 * over the programs gives it `id`, `x`, `y`, `z`, `p` (test_params) and the arguments.
 */
static inline tj_artifact test_artifact(const char *info, const char *globals, const char *body) {
  const char *root = getenv("TJ_TEST_SOURCE_DIR");
  if (root == NULL) fail_msg("TJ_TEST_SOURCE_DIR is not set; run this test with ctest");
  char folder[] = "/tmp/triton_jit-test-XXXXXX", path[128], command[4096];
  assert_non_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/k.c", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  (void)fprintf(file,
                "#define _GNU_SOURCE\n"
                "#include \"triton_jit_cpu/cpu_abi.h\"\n"
                "#define EXPORT __attribute__((visibility(\"default\")))\n"
                "typedef struct { void *out; int64_t n; } test_params;\n"
                "%s\n"
                "EXPORT const tj_cpu_info tj_cpu_info_1 = {%s};\n"
                "EXPORT int32_t tj_cpu_run_1(const void *params, const uint32_t grid[3],\n"
                "    uint64_t first, uint64_t last, void *scratch, const tj_cpu_host *host) {\n"
                "  const test_params *p = params;\n"
                "  for (uint64_t id = first; id < last; id++) {\n"
                "    uint64_t x = id %% grid[0], y = id / grid[0] %% grid[1];\n"
                "    uint64_t z = id / grid[0] / grid[1];\n"
                "    (void)p; (void)x; (void)y; (void)z; (void)scratch; (void)host;\n"
                "    %s\n"
                "  }\n"
                "  return 0;\n"
                "}\n",
                globals, info, body);
  assert_int_equal(fclose(file), 0);
  (void)snprintf(command, sizeof command,
                 "cc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -I%s/scripts %s/k.c "
                 "-o %s/k.so",
                 root, folder, folder);
  assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
  (void)snprintf(path, sizeof path, "%s/k.so", folder);
  tj_artifact artifact = {.struct_size = sizeof artifact,
                          .num_warps = 4,
                          .warp_size = 1,
                          .n_slots = 2,
                          .params_size = sizeof(test_params),
                          .symbol = "kernel",
                          .function = "test_kernel",
                          .extension = "so",
                          .metadata = "{\"name\": \"kernel\"}",
                          .target_backend = "cpu",
                          .target_arch = "native"};
  artifact.binary = test_read_file(path, &artifact.binary_size);
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
  return artifact;
}

#define TEST_INFO "TJ_CPU_ABI, 0, 0, 16, 2"

static inline void artifact_free(tj_artifact *artifact) {
  free((void *)artifact->binary);
  artifact->binary = NULL;
}

static inline void *test_load(const tj_artifact *artifact) {
  void *module = NULL;
  tj_status status = tj_backend_cpu.load(artifact, 0, 0, &module);
  if (status != TJ_OK) fail_msg("%s", tj_last_error());
  assert_non_null(module);
  return module;
}

/* Builds and loads; the bytes are not needed any longer. */
static inline void *test_module(const char *info, const char *globals, const char *body) {
  tj_artifact artifact = test_artifact(info, globals, body);
  void *module = test_load(&artifact);
  artifact_free(&artifact);
  return module;
}

static inline tj_status test_launch(void *module, uint32_t x, uint32_t y, uint32_t z, void *out,
                                    int64_t n) {
  _Alignas(16) test_params params = {out, n};
  tj_backend_launch launch = {.struct_size = sizeof launch,
                              .grid = {x, y, z},
                              .params = &params,
                              .params_size = sizeof params,
                              .n_slots = 2};
  return tj_backend_cpu.launch(module, &launch);
}

#endif /* TJ_TEST_CPU_ARTIFACT_H */
