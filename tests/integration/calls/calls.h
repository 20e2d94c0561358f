/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of tests/integration/kernels, for tests in C. */
#ifndef TJ_TEST_CALLS_H
#define TJ_TEST_CALLS_H

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scenario.h"

/* Which sanitizer watches: what it cannot bear is left to the builds without it. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAVE_TSAN 1
#endif
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* `name` of kernels/<file>.py on the CPU; NULL if it cannot be had. */
static inline tj_function *find_kernel(const char *file, const char *name) {
  const char *root = getenv("TJ_TEST_SOURCE_DIR");
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/tests/integration/kernels/%s.py", root ? root : ".", file);
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = path;
  desc.name = name;
  desc.backend = "cpu";
  tj_function *function = NULL;
  return tj_function_get_ex(&desc, &function) == TJ_OK ? function : NULL;
}

/* Copies `n` (a multiple of 16) floats by elementwise.copy in blocks of `block`, and looks at
   each of them. All callers with one block share a variant. */
static inline bool copies(tj_function *copy, uint32_t n, int64_t block, float first) {
  float *memory = aligned_alloc(64, (size_t)n * 2 * sizeof(float));
  if (memory == NULL) return false;
  float *x = memory, *out = memory + n;
  for (uint32_t i = 0; i < n; i++) {
    x[i] = first + (float)i;
    out[i] = -1;
  }
  tj_launch launch = tj_launch_grid((n + (uint32_t)block - 1) / (uint32_t)block, 1, 1);
  tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(out, TJ_FP32), tj_int(n), tj_int(block)};
  bool right = tj_function_call(copy, &launch, args, COUNT(args)) == TJ_OK;
  for (uint32_t i = 0; i < n; i++) right = right && out[i] == first + (float)i;
  free(memory);
  return right;
}

/* scalars.sizes_unspecialized: writes n. */
static inline bool writes(tj_function *sizes, int64_t n) {
  int64_t out = -1;
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg args[] = {tj_ptr(&out, TJ_I64), tj_signed(TJ_I64, n)};
  return tj_function_call(sizes, &launch, args, COUNT(args)) == TJ_OK && out == n;
}

static inline tj_stats stats(void) {
  tj_stats now = TJ_STATS_INIT;
  CHECK(tj_stats_get(&now) == TJ_OK);
  return now;
}

#endif /* TJ_TEST_CALLS_H */
