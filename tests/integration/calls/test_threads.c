/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads: hot variants, cold starts, small stacks. */
#include "calls.h"

enum { MANY = 16, HOT_CALLS = 2000 };

static tj_function *hot_copy, *hot_sizes;
static pthread_barrier_t barrier;
static _Atomic int wrong;

static void run_threads(int n, void *(*body)(void *), const pthread_attr_t *attributes) {
  pthread_t threads[MANY];
  CHECK(n <= MANY && pthread_barrier_init(&barrier, NULL, (unsigned)n) == 0);
  for (intptr_t i = 0; i < n; i++)
    CHECK(pthread_create(&threads[i], attributes, body, (void *)i) == 0);
  for (int i = 0; i < n; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  CHECK(wrong == 0);
}

/* ---- one hot variant ------------------------------------------------------------------- */

static void *call_hot(void *number) {
  intptr_t mine = (intptr_t)number;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < HOT_CALLS; i++) {
    /* grids of one program and of several, which the library's own threads share */
    uint32_t n = i % 8 == 0 ? 1024 : 64;
    if (!copies(hot_copy, n, 64, (float)(mine * 100000 + i))) wrong++;
    if (!writes(hot_sizes, mine * HOT_CALLS + i)) wrong++;
  }
  return NULL;
}

static void one_hot_variant_from_8_threads(void) {
  hot_copy = find_kernel("elementwise", "copy");
  hot_sizes = find_kernel("scalars", "sizes_unspecialized");
  CHECK(hot_copy && copies(hot_copy, 64, 64, 0));
  CHECK(hot_sizes && writes(hot_sizes, 1));
  tj_stats before = stats();
  run_threads(8, call_hot, NULL);
  tj_stats after = stats();
  CHECK(after.compiles == before.compiles && after.misses == before.misses);
  CHECK(after.hits - before.hits == (uint64_t)8 * 2 * HOT_CALLS);
  CHECK(after.launches - before.launches == (uint64_t)8 * 2 * HOT_CALLS);
  CHECK(after.failures == 0);
}

/* ---- cold starts ------------------------------------------------------------------------ */

static void *start_cold(void *number) {
  intptr_t mine = (intptr_t)number;
  pthread_barrier_wait(&barrier);
  bool right = false;
  int32_t out[16] = {0};
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_function *function;
  switch (mine % 4) {
  case 0:
    right = (function = find_kernel("elementwise", "copy")) && copies(function, 64, 64, 5);
    break;
  case 1:
    right = (function = find_kernel("scalars", "sizes_unspecialized")) && writes(function, mine);
    break;
  case 2: {
    function = find_kernel("language", "unrolled");
    tj_arg args[] = {tj_ptr(out, TJ_I32), tj_int(4)};
    right =
        function && tj_function_call(function, &launch, args, COUNT(args)) == TJ_OK && out[3] == 9;
    break;
  }
  default: {
    function = find_kernel("language", "helpers");
    tj_arg args[] = {tj_ptr(out, TJ_I32), tj_i32(7), tj_i32(5)};
    right = function && tj_function_call(function, &launch, args, COUNT(args)) == TJ_OK &&
            out[0] == 26 && out[4] == 2000;
  }
  }
  if (!right) {
    (void)fprintf(stderr, "thread %d: %s\n", (int)mine, tj_last_error());
    wrong++;
  }
  return NULL;
}

static void cold_start_from_16_threads(void) {
  run_threads(MANY, start_cold, NULL);
  tj_stats after = stats();
  /* out[] of different threads need not be aligned alike: at most two variants of these. */
  CHECK(after.compiles >= 4 && after.compiles <= 6 && after.failures == 0);
  CHECK(after.launches == MANY && after.variants == after.compiles);
}

static void *start_cold_alike(void *number) {
  (void)number;
  pthread_barrier_wait(&barrier);
  tj_function *copy = find_kernel("elementwise", "copy");
  if (copy == NULL || !copies(copy, 64, 64, 1)) wrong++;
  return NULL;
}

static void one_compile_for_16_threads(void) {
  run_threads(MANY, start_cold_alike, NULL);
  tj_stats after = stats();
  CHECK(after.compiles == 1 && after.loads == 1 && after.failures == 0);
  CHECK(after.launches == MANY && after.misses + after.hits == MANY);
}

/* ---- background ------------------------------------------------------------------------- */

static _Atomic int prepared_count;
static tj_kernel *_Atomic prepared_kernel;

static void prepared(void *user, tj_status status, tj_kernel *kernel, const char *message) {
  CHECK(user == &prepared_count && status == TJ_OK && message[0] == 0);
  prepared_kernel = kernel;
  prepared_count++;
}

static void failed(void *user, tj_status status, tj_kernel *kernel, const char *message) {
  CHECK(user == &prepared_count && status == TJ_E_COMPILE && kernel == NULL);
  CHECK_CONTAINS(message, "multiple of four");
  prepared_count++;
}

static void wait_for_count(int n) {
  for (int i = 0; prepared_count < n; i++) {
    CHECK(i < 6000);
    usleep(10000);
  }
}

static void prepare_in_the_background(void) {
  tj_function *copy = find_kernel("elementwise", "copy");
  CHECK(copy);
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg args[] = {tj_spec_ptr(TJ_FP32, 1), tj_spec_ptr(TJ_FP32, 1), tj_spec(TJ_I32, 1),
                   tj_int(64)};
  int is = 1;
  CHECK(tj_function_is_prepared(copy, &launch, args, COUNT(args), &is) == TJ_OK && is == 0);
  CHECK(tj_function_prepare_async(copy, &launch, args, COUNT(args), prepared, &prepared_count) ==
        TJ_OK);
  wait_for_count(1);
  CHECK(tj_function_is_prepared(copy, &launch, args, COUNT(args), &is) == TJ_OK && is == 1);
  tj_kernel *kernel = NULL;
  CHECK(tj_function_prepare(copy, &launch, args, COUNT(args), &kernel) == TJ_OK);
  CHECK(kernel == prepared_kernel);
  CHECK(copies(copy, 64, 64, 3) && stats().compiles == 1);

  tj_function *checked = find_kernel("language", "checked");
  int32_t out;
  tj_arg bad[] = {tj_ptr(&out, TJ_I32), tj_int(6)};
  CHECK(checked &&
        tj_function_prepare_async(checked, &launch, bad, 2, failed, &prepared_count) == TJ_OK);
  wait_for_count(2);
  /* What is wrong with the arguments is said at once, and only once. */
  CHECK(tj_function_prepare_async(checked, &launch, bad, 1, failed, &prepared_count) ==
        TJ_E_CONSTEXPR_MISSING);
  usleep(100000);
  CHECK(prepared_count == 2);
}

/* ---- small stacks ----------------------------------------------------------------------- */

static float big_a[64 * 64], big_b[64 * 64], big_c[64 * 64];
static tj_function *big;

static tj_status multiply(void) {
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg args[] = {tj_ptr(big_a, TJ_FP32),
                   tj_ptr(big_b, TJ_FP32),
                   tj_ptr(big_c, TJ_FP32),
                   tj_int(64),
                   tj_int(64),
                   tj_int(64),
                   tj_int(64),
                   tj_int(64),
                   tj_int(64)};
  return tj_function_call(big, &launch, args, COUNT(args));
}

static void *call_on_a_small_stack(void *number) {
  (void)number;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 100; i++) {
    if (!copies(hot_copy, 1024, 64, (float)i)) wrong++;
    if (!writes(hot_sizes, i)) wrong++;
  }
  memset(big_c, 0, sizeof big_c);
  if (multiply() != TJ_OK || big_c[3 * 64 + 5] != 64 * 2 * 3) wrong++;
  /* a refused call formats a message there */
  tj_launch launch = TJ_LAUNCH_INIT;
  if (tj_function_call(hot_copy, &launch, NULL, 0) != TJ_E_TOO_FEW_ARGUMENTS) wrong++;
  if (strstr(tj_last_error(), "'x'") == NULL) wrong++;
  return NULL;
}

static void hot_calls_on_a_stack_of_64_kib(void) {
  char path[PATH_MAX];
  const char *root = getenv("TJ_TEST_SOURCE_DIR");
  (void)snprintf(path, sizeof path, "%s/examples/kernels/matmul.py", root ? root : ".");
  CHECK(tj_function_get(path, "matmul", &big) == TJ_OK);
  for (size_t i = 0; i < COUNT(big_a); i++) {
    big_a[i] = 2;
    big_b[i] = 3;
  }
  hot_copy = find_kernel("elementwise", "copy");
  hot_sizes = find_kernel("scalars", "sizes_unspecialized");
  CHECK(multiply() == TJ_OK && copies(hot_copy, 64, 64, 0) && writes(hot_sizes, 1));
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, (size_t)64 << 10) == 0);
  run_threads(1, call_on_a_small_stack, &attributes);
  CHECK(pthread_attr_destroy(&attributes) == 0);
}

#define SCENARIOS(X)                \
  X(one_hot_variant_from_8_threads) \
  X(cold_start_from_16_threads)     \
  X(one_compile_for_16_threads)     \
  X(prepare_in_the_background)      \
  X(hot_calls_on_a_stack_of_64_kib)

SCENARIOS(SCENARIO_TEST)

int main(void) {
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
