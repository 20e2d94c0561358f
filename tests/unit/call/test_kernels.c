/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: preparing, asking, launching one variant, what can be read of it. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const fake_function table[] = {
    {.name = "kernel",
     .params = FAKE_PARAM("x") FAKE_NEXT FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("BLOCK")},
    {.name = "async", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
};

FAKE_FIXTURE(table)

static int is_prepared(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n) {
  int prepared = -1;
  assert_status(tj_function_is_prepared(fn, launch, args, n, &prepared), TJ_OK);
  return prepared;
}

static void test_prepare(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  tj_launch launch = one_program();
  const tj_arg args[] = {tj_ptr(address_of(16), TJ_FP32), tj_int(5), tj_int(64)};
  const tj_arg spec[] = {tj_spec_ptr(TJ_FP32, 1), tj_spec(TJ_I32, 0), tj_int(64)};
  assert_int_equal(is_prepared(fn, &launch, args, 3), 0);
  assert_int_equal(is_prepared(fn, &launch, spec, 3), 0);
  assert_int_equal(fake_requests(), 0);
  tj_kernel *kernel = prepare_kernel(fn, spec, 3);
  assert_int_equal(fake_compiles(), 1);
  assert_int_equal(tj_null_loads(), 1);
  assert_int_equal(is_prepared(fn, &launch, args, 3), 1);
  launch.device = 1;
  assert_int_equal(is_prepared(fn, &launch, args, 3), 0); /* not loaded there */
  launch.device = 0;
  tj_stats before = stats_of(fn);
  assert_status(tj_function_call(fn, &launch, args, 3), TJ_OK); /* a hit */
  tj_stats after = stats_of(fn);
  assert_int_equal(after.hits, before.hits + 1);
  assert_int_equal(after.misses, before.misses);
  assert_ptr_equal(prepare_kernel(fn, args, 3), kernel);
  /* On failure the output is untouched. */
  tj_kernel *untouched = kernel;
  assert_status(tj_function_prepare(fn, &launch, args, 1, &untouched), TJ_E_TOO_FEW_ARGUMENTS);
  assert_ptr_equal(untouched, kernel);
  int out = 7;
  assert_status(tj_function_is_prepared(fn, &launch, args, 1, &out), TJ_E_TOO_FEW_ARGUMENTS);
  assert_int_equal(out, 7);
}

/* For a target without a device: compiled, not loaded, and kept apart by target. */
static void test_targets(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  const tj_arg args[] = {tj_ptr(address_of(16), TJ_FP32), tj_int(5), tj_int(65)};
  static const struct {
    const char *backend, *arch;
    uint32_t warp_size;
  } rows[] = {{"cuda", "80", 32},
              {"cuda", "90", 32},
              {"hip", "gfx942", 64},
              {"hip", "gfx1100", 32},
              {"cuda", "90", 0}};
  tj_kernel *kernels[COUNT(rows)];
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_target target = {sizeof target, rows[i].warp_size, rows[i].backend, rows[i].arch};
    tj_launch launch = one_program();
    launch.target = &target;
    launch.device = 99; /* not looked at */
    assert_status(tj_function_prepare(fn, &launch, args, 3, &kernels[i]), TJ_OK);
    assert_int_equal(is_prepared(fn, &launch, args, 3), 1);
    for (size_t j = 0; j < i; j++) assert_ptr_not_equal(kernels[i], kernels[j]);
    tj_kernel_info info = {.struct_size = sizeof info};
    assert_status(tj_kernel_get_info(kernels[i], &info), TJ_OK);
    assert_string_equal(info.arch, rows[i].arch);
    assert_string_equal(info.backend, "null");
    char *request = fake_last_request(), expected[128];
    if (rows[i].warp_size)
      (void)snprintf(expected, sizeof expected,
                     "\"target\":{\"backend\":\"%s\",\"arch\":\"%s\",\"warp_size\":%u}",
                     rows[i].backend, rows[i].arch, rows[i].warp_size);
    else
      (void)snprintf(expected, sizeof expected, "\"target\":{\"backend\":\"%s\",\"arch\":\"%s\"}",
                     rows[i].backend, rows[i].arch);
    assert_contains(request, expected);
    free(request);
  }
  assert_int_equal(tj_null_loads(), 0);
  /* The device's own target: launching loads it; another's is refused. */
  tj_launch launch = one_program();
  assert_status(tj_kernel_launch(kernels[1], &launch, args, 3), TJ_OK);
  assert_int_equal(tj_null_loads(), 1);
  assert_fails(tj_kernel_launch(kernels[0], &launch, args, 3), TJ_E_TARGET,
               "kernel was compiled for cuda 80", "device 0 is cuda 90");
  assert_fails(tj_kernel_launch(kernels[2], &launch, args, 3), TJ_E_TARGET, "hip gfx942");
}

static void test_kernel_launch(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  const tj_arg args[] = {tj_ptr(address_of(16), TJ_FP32), tj_int(5), tj_int(64)};
  tj_kernel *kernel = prepare_kernel(fn, args, 3);
  tj_launch launch = tj_launch_grid(2, 3, 4);
  launch.num_warps = 16; /* not looked at */
  launch.num_stages = 9;
  launch.options = 12345;
  tj_null_launch recorded[1];
  tj_null_record(true);
  assert_status(tj_kernel_launch(kernel, &launch,
                                 ARGS(tj_ptr(address_of(32), TJ_FP32), tj_int(-7), tj_int(64))),
                TJ_OK);
  assert_int_equal(tj_null_launches(recorded, 1), 1);
  int32_t n;
  memcpy(&n, recorded->params + 8, 4);
  assert_int_equal(n, -7);
  assert_int_equal(recorded->grid[2], 4);

  const struct {
    uint32_t index;
    tj_arg arg;
    const char *words;
  } rows[] = {{0, tj_ptr(address_of(4), TJ_FP32), "parameter 0 'x'"},
              {0, tj_ptr(address_of(16), TJ_FP16), "x=*fp16:16"},
              {0, tj_none(), "x=None"},
              {1, tj_int(16), "parameter 1 'n'"},
              {1, tj_int(1), "n=1"},
              {1, tj_int((int64_t)1 << 40), "n=i64:16"},
              {1, tj_float(1.0), "n=fp32"},
              {2, tj_int(65), "parameter 2 'BLOCK'"},
              {2, tj_float(64.0), "BLOCK=64.0"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_arg changed[3];
    memcpy(changed, args, sizeof args);
    changed[rows[i].index] = rows[i].arg;
    assert_fails(tj_kernel_launch(kernel, &launch, changed, 3), TJ_E_VARIANT, rows[i].words,
                 "compiled for (x=*fp32:16 n=i32 BLOCK=64)");
  }
  assert_int_equal(tj_null_launches(recorded, 1), 1); /* nothing was launched */
  assert_fails(tj_kernel_launch(kernel, &launch, args, 2), TJ_E_CONSTEXPR_MISSING, "'BLOCK'");
  assert_fails(tj_kernel_launch(kernel, &launch, ARGS(args[0], args[1], tj_desc(NULL))),
               TJ_E_ARGUMENT_TYPE, "'BLOCK'");
  const tj_arg spec[] = {tj_spec_ptr(TJ_FP32, 1), args[1], args[2]};
  assert_fails(tj_kernel_launch(kernel, &launch, spec, 3), TJ_E_UNSUPPORTED_ARGUMENT, "TJ_SPEC");
  /* Keywords and defaults, as in a call. */
  assert_status(tj_kernel_launch(kernel, &launch,
                                 ARGS(args[0], tj_keyword(2, &args[2]), tj_keyword(1, &args[1]))),
                TJ_OK);
}

/* Unchecked: what is passed is launched, if it has the same layout. */
static void test_unchecked(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  const tj_arg args[] = {tj_ptr(address_of(16), TJ_FP32), tj_int(5), tj_int(64)};
  tj_kernel *kernel = prepare_kernel(fn, args, 3);
  tj_launch launch = one_program();
  launch.flags = TJ_LAUNCH_UNCHECKED;
  tj_null_launch recorded[1];
  tj_null_record(true);
  assert_status(tj_kernel_launch(kernel, &launch,
                                 ARGS(tj_ptr(address_of(8), TJ_FP16), tj_int(32), tj_int(99))),
                TJ_OK);
  assert_int_equal(tj_null_launches(recorded, 1), 1);
  uint64_t address;
  int32_t n;
  memcpy(&address, recorded->params, 8);
  memcpy(&n, recorded->params + 8, 4);
  assert_int_equal(address, 8);
  assert_int_equal(n, 32);
  assert_int_equal(recorded->params_size, 12);
  /* What cannot be bound at all is still an error. */
  assert_fails(tj_kernel_launch(kernel, &launch, args, 1), TJ_E_TOO_FEW_ARGUMENTS, "'n'");
}

static void test_info(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  uint32_t options = 0;
  const tj_option option = {"shared", tj_int(4096)};
  assert_status(tj_options_intern(&option, 1, &options), TJ_OK);
  tj_launch launch = one_program();
  launch.num_warps = 2;
  launch.options = options;
  tj_kernel *kernel;
  assert_status(tj_function_prepare(fn, &launch,
                                    ARGS(tj_ptr(address_of(16), TJ_FP32), tj_int(5), tj_int(64)),
                                    &kernel),
                TJ_OK);
  tj_kernel_info info;
  memset(&info, 0xee, sizeof info);
  info.struct_size = sizeof info;
  assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
  assert_int_equal(info.struct_size, sizeof info);
  assert_int_equal(info.num_warps, 2);
  assert_int_equal(info.warp_size, 32);
  assert_int_equal(info.num_stages, 3);
  assert_int_equal(info.num_ctas, 1);
  assert_int_equal(info.shared, 4096);
  assert_int_equal(info.n_params, 2);
  assert_int_equal(info.params_size, 12);
  assert_string_equal(info.name, "kernel");
  assert_int_equal(strlen(info.hash), 64);
  assert_string_equal(info.backend, "null");
  assert_string_equal(info.arch, "90");
  assert_string_equal(info.types, "*fp32,i32");
  assert_string_equal(info.variant, "x=*fp32:16 n=i32 BLOCK=64");
  assert_contains(info.metadata, "\"num_warps\":2");
  assert_ptr_equal(info.function, fn);
  assert_fails(tj_kernel_get_info(NULL, &info), TJ_E_NULL, "kernel");
  assert_fails(tj_kernel_get_info(kernel, NULL), TJ_E_NULL, "out_info");
  info.struct_size = 16;
  assert_fails(tj_kernel_get_info(kernel, &info), TJ_E_STRUCT_SIZE, "tj_kernel_info");

  tj_kernel_param param = {.struct_size = sizeof param};
  assert_status(tj_kernel_get_param(kernel, 0, &param), TJ_OK);
  assert_int_equal(param.dtype, TJ_FP32);
  assert_int_equal(param.pointer, 1);
  assert_int_equal(param.size, 8);
  assert_int_equal(param.offset, 0);
  assert_status(tj_kernel_get_param(kernel, 1, &param), TJ_OK);
  assert_int_equal(param.dtype, TJ_I32);
  assert_int_equal(param.pointer, 0);
  assert_int_equal(param.size, 4);
  assert_int_equal(param.offset, 8);
  assert_fails(tj_kernel_get_param(kernel, 2, &param), TJ_E_NO_SUCH_PARAMETER, "2 run-time");
  assert_fails(tj_kernel_get_param(NULL, 0, &param), TJ_E_NULL, "kernel");
  assert_fails(tj_kernel_get_param(kernel, 0, NULL), TJ_E_NULL, "out_param");
  param.struct_size = 3;
  assert_fails(tj_kernel_get_param(kernel, 0, &param), TJ_E_STRUCT_SIZE, "tj_kernel_param");

  const void *data = NULL;
  size_t size = 0;
  assert_status(tj_kernel_get_asm(kernel, "ttir", &data, &size), TJ_OK);
  assert_int_equal(size, 9);
  assert_memory_equal(data, "module {}", 9);
  assert_status(tj_kernel_get_asm(kernel, "bin", &data, &size), TJ_OK);
  assert_int_equal(size, 8);
  assert_fails(tj_kernel_get_asm(kernel, "ptx", &data, &size), TJ_E_INVALID,
               "'kernel' has no stage 'ptx'", "bin, ttir");
  assert_int_equal(size, 8);
  assert_fails(tj_kernel_get_asm(NULL, "ttir", &data, &size), TJ_E_NULL, "kernel");
  assert_fails(tj_kernel_get_asm(kernel, NULL, &data, &size), TJ_E_NULL, "stage");
  assert_fails(tj_kernel_get_asm(kernel, "ttir", NULL, &size), TJ_E_NULL, "out_data");
  assert_fails(tj_kernel_get_asm(kernel, "ttir", &data, NULL), TJ_E_NULL, "out_size");
}

/* ---- asynchronous prepares ------------------------------------------------------------------------ */

typedef struct told {
  atomic_int times;
  tj_status status;
  tj_kernel *kernel;
  char message[256];
} told;

static void on_prepared(void *user, tj_status status, tj_kernel *kernel, const char *message) {
  told *t = user;
  t->status = status;
  t->kernel = kernel;
  (void)snprintf(t->message, sizeof t->message, "%s", message);
  atomic_fetch_add(&t->times, 1);
}

static void test_async(void **state) {
  (void)state;
  tj_function *fn = open_function("async");
  tj_launch launch = one_program();
  fake_delay(20);
  enum { N = 10 };
  static told t[N];
  memset(t, 0, sizeof t);
  for (int i = 0; i < N; i++) {
    /* Nothing of the arguments is read after it returns. */
    tj_arg args[] = {tj_int(5), tj_int(i)};
    assert_status(tj_function_prepare_async(fn, &launch, args, 2, on_prepared, &t[i]), TJ_OK);
    memset(args, 0xff, sizeof args);
  }
  wait_until(atomic_load(&t[N - 1].times) == 1 && fake_busy() == 0);
  for (int i = 0; i < N; i++) {
    wait_until(atomic_load(&t[i].times) == 1);
    assert_int_equal(t[i].status, TJ_OK);
    assert_string_equal(t[i].message, "");
    assert_ptr_equal(t[i].kernel, prepare_kernel(fn, ARGS(tj_int(5), tj_int(i))));
  }
  assert_int_equal(fake_compiles(), N);
  fake_delay(0);
  /* One that is prepared already; one that nobody is told of. */
  assert_status(
      tj_function_prepare_async(fn, &launch, ARGS(tj_int(5), tj_int(0)), on_prepared, &t[0]),
      TJ_OK);
  wait_until(atomic_load(&t[0].times) == 2);
  assert_status(tj_function_prepare_async(fn, &launch, ARGS(tj_int(5), tj_int(N)), NULL, NULL),
                TJ_OK);
  wait_until(is_prepared(fn, &launch, ARGS(tj_int(5), tj_int(N))));
  assert_int_equal(fake_compiles(), N + 1);
}

static void test_async_failures(void **state) {
  (void)state;
  tj_function *fn = open_function("async");
  tj_launch launch = one_program();
  static told t;
  memset(&t, 0, sizeof t);
  fake_fail("compile", "E_COMPILE", "line 3: no such thing", 1);
  assert_status(
      tj_function_prepare_async(fn, &launch, ARGS(tj_int(5), tj_int(100)), on_prepared, &t), TJ_OK);
  wait_until(atomic_load(&t.times) == 1);
  assert_int_equal(t.status, TJ_E_COMPILE);
  assert_null(t.kernel);
  assert_string_equal(t.message, "line 3: no such thing");
  /* Argument errors come at once, and then nothing is told. */
  assert_fails(tj_function_prepare_async(fn, &launch, ARGS(tj_int(5)), on_prepared, &t),
               TJ_E_CONSTEXPR_MISSING, "'B'");
  assert_int_equal(atomic_load(&t.times), 1);
}

/* A callback may ask for more. */
static void prepare_more(void *user, tj_status status, tj_kernel *kernel, const char *message) {
  (void)kernel, (void)message;
  atomic_int *left = user;
  tj_launch launch = TJ_LAUNCH_INIT;
  int n = atomic_fetch_sub(left, 1) - 1;
  if (status != TJ_OK || n <= 0) return;
  tj_arg args[] = {tj_int(5), tj_int(200 + n)};
  if (tj_function_prepare_async(open_function("async"), &launch, args, 2, prepare_more, left) !=
      TJ_OK)
    atomic_store(left, 1000);
}

static void test_async_chain(void **state) {
  (void)state;
  tj_launch launch = one_program();
  static atomic_int left;
  atomic_store(&left, 20);
  assert_status(tj_function_prepare_async(open_function("async"), &launch,
                                          ARGS(tj_int(5), tj_int(220)), prepare_more, &left),
                TJ_OK);
  wait_until(atomic_load(&left) == 0);
  wait_until(fake_compiles() == 20);
}

/* A call of a variant that is being prepared waits for that, and compiles nothing. */
static void test_call_joins_async(void **state) {
  (void)state;
  tj_function *fn = open_function("async");
  tj_launch launch = one_program();
  fake_delay(50);
  const tj_arg args[] = {tj_int(5), tj_int(300)};
  assert_status(tj_function_prepare_async(fn, &launch, args, 2, NULL, NULL), TJ_OK);
  wait_until(fake_busy() == 1);
  assert_status(call(fn, args, 2), TJ_OK);
  assert_int_equal(fake_compiles(), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_prepare, setup, teardown),
      cmocka_unit_test_setup_teardown(test_targets, setup, teardown),
      cmocka_unit_test_setup_teardown(test_kernel_launch, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unchecked, setup, teardown),
      cmocka_unit_test_setup_teardown(test_info, setup, teardown),
      cmocka_unit_test_setup_teardown(test_async, setup, teardown),
      cmocka_unit_test_setup_teardown(test_async_failures, setup, teardown),
      cmocka_unit_test_setup_teardown(test_async_chain, setup, teardown),
      cmocka_unit_test_setup_teardown(test_call_joins_async, setup, teardown),
  };
  return cmocka_run_group_tests_name("call.kernels", tests, NULL, NULL);
}
