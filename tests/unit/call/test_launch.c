/* SPDX-License-Identifier: Apache-2.0 */
/* tj_launch: its size, its fields, where errors go. */
#include "unit.h"

#include <stdatomic.h>
#include <stdlib.h>

static const fake_function table[] = {
    {.name = "kernel", .params = FAKE_PARAM("x") FAKE_NEXT FAKE_PARAM("n")},
    {.name = "loads", .params = FAKE_PARAM("x")},
};

FAKE_FIXTURE(table)

/* Every way in takes the same launch. */
typedef tj_status (*way)(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n);

static tj_status by_call(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n) {
  return tj_function_call(fn, launch, args, n);
}
static tj_status by_prepare(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                            size_t n) {
  tj_kernel *kernel;
  return tj_function_prepare(fn, launch, args, n, &kernel);
}
static void tell(void *user, tj_status status, tj_kernel *kernel, const char *message) {
  (void)kernel, (void)message;
  atomic_store((atomic_int *)user, status == TJ_OK ? 1 : 2);
}
static tj_status by_async(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n) {
  static atomic_int told;
  atomic_store(&told, 0);
  tj_status status = tj_function_prepare_async(fn, launch, args, n, tell, &told);
  if (status == TJ_OK) wait_until(atomic_load(&told) == 1);
  return status;
}
static tj_status by_asking(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n) {
  int prepared;
  return tj_function_is_prepared(fn, launch, args, n, &prepared);
}
static tj_status by_kernel(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n) {
  static tj_kernel *kernel;
  if (kernel == NULL) kernel = prepare_kernel(fn, ARGS(tj_int(2), tj_int(2)));
  return tj_kernel_launch(fn ? kernel : NULL, launch, args, n);
}
static const way ways[] = {by_call, by_prepare, by_async, by_asking, by_kernel};

static const tj_arg good[] = {{.kind = TJ_INT, .v.i = 2}, {.kind = TJ_INT, .v.i = 2}};

static void test_pointers(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  tj_launch launch = one_program();
  for (size_t i = 0; i < COUNT(ways); i++) {
    assert_status(ways[i](fn, &launch, good, 2), TJ_OK);
    assert_fails(ways[i](NULL, &launch, good, 2), TJ_E_NULL, i == 4 ? "kernel" : "fn");
    assert_fails(ways[i](fn, NULL, good, 2), TJ_E_NULL, "launch");
    assert_fails(ways[i](fn, &launch, NULL, 2), TJ_E_NULL, "args");
  }
  assert_fails(tj_function_is_prepared(fn, &launch, good, 2, NULL), TJ_E_NULL, "out_prepared");
  assert_status(tj_function_prepare(fn, &launch, good, 2, NULL), TJ_OK); /* allowed */
}

/* An older caller is refused; a newer one is served if it uses nothing new. */
static void test_struct_size(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  struct {
    tj_launch launch;
    uint8_t more[64];
  } wide;
  for (size_t i = 0; i < COUNT(ways); i++) {
    memset(&wide, 0, sizeof wide);
    wide.launch = one_program();
    static const uint32_t small[] = {0, 1, 8, sizeof(tj_launch) - 1};
    for (size_t s = 0; s < COUNT(small); s++) {
      wide.launch.struct_size = small[s];
      assert_fails(ways[i](fn, &wide.launch, good, 2), TJ_E_STRUCT_SIZE, "tj_launch.struct_size",
                   "sizeof(tj_launch)");
    }
    wide.launch.struct_size = sizeof wide;
    assert_status(ways[i](fn, &wide.launch, good, 2), TJ_OK);
    static const size_t set[] = {0, 1, 63};
    for (size_t s = 0; s < COUNT(set); s++) {
      wide.more[set[s]] = 1;
      assert_fails(ways[i](fn, &wide.launch, good, 2), TJ_E_NOT_SUPPORTED, "does not know");
      wide.more[set[s]] = 0;
    }
    wide.launch.struct_size = UINT32_MAX; /* not read to its end */
    assert_fails(ways[i](fn, &wide.launch, good, 2), TJ_E_NOT_SUPPORTED, "does not know");
  }
}

static void test_fields(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  for (size_t i = 0; i < COUNT(ways); i++) {
    tj_launch launch = one_program();
    launch.flags = 2;
    assert_fails(ways[i](fn, &launch, good, 2), TJ_E_INVALID, "flags is 0x2");
    launch.flags = 0x80000001;
    assert_fails(ways[i](fn, &launch, good, 2), TJ_E_INVALID, "0x80000001");
    launch.flags = TJ_LAUNCH_UNCHECKED;
    assert_status(ways[i](fn, &launch, good, 2), TJ_OK);
    launch.flags = 0;
    launch.tuned = &launch;
    assert_fails(ways[i](fn, &launch, good, 2), TJ_E_NOT_SUPPORTED, "tuned", "NULL");
    launch.tuned = NULL;
    static const int32_t devices[] = {2, 99, INT32_MAX};
    for (size_t d = 0; d < COUNT(devices); d++) {
      launch.device = devices[d];
      assert_fails(ways[i](fn, &launch, good, 2), TJ_E_DEVICE, "'null'", "does not exist",
                   "it has 2");
    }
  }
}

static void test_counts(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  /* A kernel has its own: launch's are not looked at. */
  for (size_t i = 0; i < COUNT(ways) - 1; i++) {
    static const uint32_t bad_powers[] = {3, 5, 6, 7, 12, 31, 65535};
    for (size_t b = 0; b < COUNT(bad_powers); b++) {
      tj_launch launch = one_program();
      launch.num_warps = bad_powers[b];
      assert_fails(ways[i](fn, &launch, good, 2), TJ_E_OPTION_VALUE, "tj_launch.num_warps is ",
                   "power of two");
      launch.num_warps = 0;
      launch.num_ctas = bad_powers[b];
      assert_fails(ways[i](fn, &launch, good, 2), TJ_E_OPTION_VALUE, "tj_launch.num_ctas is ",
                   "power of two");
      launch.num_ctas = 0;
      launch.num_stages = bad_powers[b];
      assert_status(ways[i](fn, &launch, good, 2), TJ_OK);
    }
    tj_launch launch = one_program();
    launch.num_stages = 65536;
    assert_fails(ways[i](fn, &launch, good, 2), TJ_E_OPTION_VALUE, "num_stages is 65536");
    launch.num_stages = 0;
    launch.num_warps = UINT32_MAX;
    assert_fails(ways[i](fn, &launch, good, 2), TJ_E_OPTION_VALUE, "num_warps is 4294967295");
  }
  /* What was asked for reaches the compiler, and can be read back (R032). */
  tj_launch launch = one_program();
  launch.num_warps = 8;
  launch.num_stages = 5;
  launch.num_ctas = 2;
  tj_kernel *kernel;
  assert_status(tj_function_prepare(fn, &launch, good, 2, &kernel), TJ_OK);
  tj_kernel_info info = {.struct_size = sizeof info};
  assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
  assert_int_equal(info.num_warps, 8);
  assert_int_equal(info.num_stages, 5);
  assert_int_equal(info.num_ctas, 2);
}

static void test_target_only_for_prepare(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  tj_target target = {sizeof target, 32, "cuda", "80"};
  tj_launch launch = one_program();
  launch.target = &target;
  assert_fails(by_call(fn, &launch, good, 2), TJ_E_INVALID, "target", "tj_function_prepare");
  assert_fails(by_kernel(fn, &launch, good, 2), TJ_E_INVALID, "target");
  assert_status(by_prepare(fn, &launch, good, 2), TJ_OK);
  target.struct_size = 8;
  assert_fails(by_prepare(fn, &launch, good, 2), TJ_E_STRUCT_SIZE, "tj_target.struct_size");
  target = (tj_target){sizeof target, 32, NULL, "80"};
  assert_fails(by_prepare(fn, &launch, good, 2), TJ_E_NULL, "tj_target", "arch");
  target = (tj_target){sizeof target, 32, "cuda", NULL};
  assert_fails(by_prepare(fn, &launch, good, 2), TJ_E_NULL, "tj_target");
}

/* An id that is none is refused, and not remembered for when it is one. */
static void test_unknown_options(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  tj_launch launch = one_program();
  tj_option option = {"first", tj_int(1)};
  uint32_t id = 0;
  assert_status(tj_options_intern(&option, 1, &id), TJ_OK);
  launch.options = id + 1;
  assert_fails(by_call(fn, &launch, good, 2), TJ_E_OPTION_VALUE, "tj_launch.options");
  assert_fails(by_prepare(fn, &launch, good, 2), TJ_E_OPTION_VALUE, "tj_options_intern");
  int prepared = 1;
  assert_status(tj_function_is_prepared(fn, &launch, good, 2, &prepared), TJ_OK);
  assert_int_equal(prepared, 0);
  option.name = "second";
  uint32_t next = 0;
  assert_status(tj_options_intern(&option, 1, &next), TJ_OK);
  assert_int_equal(next, id + 1);
  assert_status(by_call(fn, &launch, good, 2), TJ_OK);
  launch.options = UINT32_MAX;
  assert_fails(by_call(fn, &launch, good, 2), TJ_E_OPTION_VALUE, "4294967295");
}

/* ---- errors ------------------------------------------------------------------------------------ */

static void test_error_is_delivered(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  for (size_t i = 0; i < COUNT(ways); i++) {
    char text[256];
    tj_error error = TJ_ERROR_INIT(text, sizeof text);
    tj_launch launch = one_program();
    launch.error = &error;
    memset(text, 'x', sizeof text);
    assert_status(ways[i](fn, &launch, good, 1), TJ_E_TOO_FEW_ARGUMENTS);
    assert_int_equal(error.status, TJ_E_TOO_FEW_ARGUMENTS);
    assert_string_equal(text, tj_last_error());
    assert_int_equal(error.length, strlen(text));
    /* Success leaves it alone. */
    assert_status(ways[i](fn, &launch, good, 2), TJ_OK);
    assert_int_equal(error.status, TJ_E_TOO_FEW_ARGUMENTS);
    assert_contains(text, "parameter 1 'n'");
    /* Cut to the room that there is; the whole length is told. */
    size_t whole = error.length;
    static const size_t rooms[] = {1, 2, 10};
    for (size_t r = 0; r < COUNT(rooms); r++) {
      memset(text, 'x', sizeof text);
      error.capacity = rooms[r];
      assert_status(ways[i](fn, &launch, good, 1), TJ_E_TOO_FEW_ARGUMENTS);
      assert_int_equal(strlen(text), rooms[r] - 1);
      assert_int_equal(text[rooms[r]], 'x');
      assert_int_equal(error.length, whole);
    }
    error.text = NULL; /* only the status is wanted */
    error.status = TJ_OK;
    assert_status(ways[i](fn, &launch, good, 1), TJ_E_TOO_FEW_ARGUMENTS);
    assert_int_equal(error.status, TJ_E_TOO_FEW_ARGUMENTS);
    error.text = text;
    error.capacity = 0;
    text[0] = 'q';
    assert_status(ways[i](fn, &launch, good, 1), TJ_E_TOO_FEW_ARGUMENTS);
    assert_int_equal(text[0], 'q');
    error.struct_size = 4;
    assert_status(ways[i](fn, &launch, good, 1), TJ_E_STRUCT_SIZE);
    assert_message("tj_error.struct_size");
  }
}

static void test_success_keeps_the_last_error(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  assert_status(call(fn, good, 1), TJ_E_TOO_FEW_ARGUMENTS);
  char *message = strdup(tj_last_error());
  tj_launch launch = one_program();
  for (size_t i = 0; i < COUNT(ways); i++) assert_status(ways[i](fn, &launch, good, 2), TJ_OK);
  assert_status(call(fn, ARGS(tj_int(77), tj_int(1))), TJ_OK); /* a miss */
  assert_string_equal(tj_last_error(), message);
  assert_int_equal(tj_last_status(), TJ_E_TOO_FEW_ARGUMENTS);
  free(message);
}

/* ---- devices ------------------------------------------------------------------------------------ */

static void test_two_devices_load_once_each(void **state) {
  (void)state;
  tj_function *fn = open_function("loads");
  tj_null_launch launches[16];
  tj_launch launch = one_program();
  const tj_arg arg = tj_int(2);
  tj_null_record(true);
  tj_stats before = stats_of(fn);
  for (int round = 0; round < 8; round++) {
    launch.device = round & 1;
    assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  }
  assert_int_equal(fake_compiles(), 1);
  assert_int_equal(tj_null_loads(), 2);
  assert_int_equal(stats_of(fn).loads, before.loads + 2);
  assert_int_equal(tj_null_launches(launches, 16), 8);
  for (int round = 0; round < 8; round++) {
    assert_int_equal(launches[round].device, round & 1);
    assert_ptr_equal(launches[round].module, launches[round & 1].module);
  }
  assert_ptr_not_equal(launches[0].module, launches[1].module);
  /* -1 is the device that is current now. */
  launch.device = -1;
  tj_null_set_device(1);
  assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  assert_int_equal(tj_null_launches(launches, 16), 9);
  assert_int_equal(launches[8].device, 1);
  tj_null_set_device(0);
  assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  assert_int_equal(tj_null_launches(launches, 16), 10);
  assert_int_equal(launches[9].device, 0);
  assert_int_equal(tj_null_loads(), 2);
}

static void test_trim_and_reload(void **state) {
  (void)state;
  tj_function *fn = open_function("loads");
  tj_launch launch = one_program();
  const tj_arg arg = tj_int(5);
  tj_kernel *kernel = prepare_kernel(fn, &arg, 1);
  launch.device = 1;
  assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  uint64_t loads = tj_null_loads(), compiles = fake_compiles();
  int prepared = 0;
  for (int round = 0; round < 3; round++) {
    assert_status(tj_trim(), TJ_OK);
    assert_status(tj_function_is_prepared(fn, &launch, &arg, 1, &prepared), TJ_OK);
    assert_int_equal(prepared, 0);
    assert_ptr_equal(prepare_kernel(fn, &arg, 1), kernel); /* the same handle */
    assert_status(tj_kernel_launch(kernel, &launch, &arg, 1), TJ_OK);
    assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
    assert_status(tj_function_is_prepared(fn, &launch, &arg, 1, &prepared), TJ_OK);
    assert_int_equal(prepared, 1);
  }
  assert_int_equal(tj_null_loads(), loads + 6);
  assert_status(tj_trim(), TJ_OK);
  assert_true(tj_null_unloads() >= 8);
  assert_int_equal(fake_compiles(), compiles);
  assert_status(tj_trim(), TJ_OK); /* nothing left */
}

static void test_load_and_launch_failures(void **state) {
  (void)state;
  tj_function *fn = open_function("loads");
  const tj_arg arg = tj_int(16);
  tj_stats before = stats_of(fn);
  /* Not the kernel's fault: tried again, and the compile is kept. */
  tj_null_fail_load(TJ_E_LOAD, 2);
  assert_fails(call(fn, &arg, 1), TJ_E_LOAD, "told to fail");
  assert_fails(call(fn, &arg, 1), TJ_E_LOAD, "told to fail");
  assert_status(call(fn, &arg, 1), TJ_OK);
  assert_int_equal(fake_compiles(), 1);
  assert_int_equal(stats_of(fn).failures, before.failures + 2);
  tj_null_fail_launch(TJ_E_LAUNCH, 1);
  assert_fails(call(fn, &arg, 1), TJ_E_LAUNCH, "told to fail");
  assert_status(call(fn, &arg, 1), TJ_OK);
  assert_int_equal(stats_of(fn).launches, before.launches + 2);
  /* The device does not have what it needs: remembered. */
  const tj_arg other = tj_int(1);
  tj_null_fail_load(TJ_E_OUT_OF_RESOURCES, 1);
  assert_fails(call(fn, &other, 1), TJ_E_OUT_OF_RESOURCES, "told to fail");
  for (int i = 0; i < 3; i++)
    assert_fails(call(fn, &other, 1), TJ_E_OUT_OF_RESOURCES, "told to fail");
  assert_int_equal(fake_compiles(), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_pointers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_struct_size, setup, teardown),
      cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
      cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_target_only_for_prepare, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unknown_options, setup, teardown),
      cmocka_unit_test_setup_teardown(test_error_is_delivered, setup, teardown),
      cmocka_unit_test_setup_teardown(test_success_keeps_the_last_error, setup, teardown),
      cmocka_unit_test_setup_teardown(test_two_devices_load_once_each, setup, teardown),
      cmocka_unit_test_setup_teardown(test_trim_and_reload, setup, teardown),
      cmocka_unit_test_setup_teardown(test_load_and_launch_failures, setup, teardown),
  };
  return cmocka_run_group_tests_name("call.launch", tests, NULL, NULL);
}
