/* SPDX-License-Identifier: Apache-2.0 */
/* Grids: empty ones, too large ones, callbacks. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static const fake_function table[] = {
    {.name = "grid",
     .params = FAKE_PARAM("x") FAKE_NEXT FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR_DEFAULT(
         "B", "{'int':'64'}") FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("O", "{'opaque':'x'}")
         FAKE_NEXT FAKE_DEFAULT("f", "{'float':'0x1p+0'}")},
};

static int setup(void **state) {
  (void)state;
  tj_null_reset();
  fake_install(table, COUNT(table));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  (void)tj_set_hooks(NULL);
  fake_remove();
  return 0;
}

static uint64_t recorded(tj_null_launch *last) {
  static tj_null_launch ring[TJ_NULL_RING];
  uint64_t n = tj_null_launches(ring, TJ_NULL_RING);
  if (n > 0) *last = ring[n < TJ_NULL_RING ? n - 1 : TJ_NULL_RING - 1];
  return n;
}

static tj_status call_grid(uint32_t x, uint32_t y, uint32_t z) {
  tj_launch launch = tj_launch_grid(x, y, z);
  return tj_function_call(open_function("grid"), &launch, ARGS(tj_int(2), tj_int(5)));
}

static void test_empty_grids_launch_nothing(void **state) {
  (void)state;
  tj_null_launch last = {0};
  tj_function *fn = open_function("grid");
  assert_status(call_grid(1, 1, 1), TJ_OK);
  tj_stats before = stats_of(fn);
  tj_null_record(true);
  for (int mask = 1; mask < 8; mask++)
    assert_status(call_grid(mask & 1 ? 0 : 3, mask & 2 ? 0 : 3, mask & 4 ? 0 : 3), TJ_OK);
  /* A dimension of an empty grid may be anything. */
  assert_status(call_grid(0, UINT32_MAX, 1), TJ_OK);
  assert_status(call_grid(UINT32_MAX, 1, 0), TJ_OK);
  assert_int_equal(recorded(&last), 0);
  assert_int_equal(stats_of(fn).launches, before.launches);
  assert_int_equal(stats_of(fn).hits, before.hits + 9);
}

static void test_grid_reaches_the_driver(void **state) {
  (void)state;
  tj_null_launch last = {0};
  tj_null_record(true);
  static const uint32_t grids[][3] = {{1, 1, 1}, {7, 5, 3}, {0x7fffffff, 65535, 65535}};
  for (size_t i = 0; i < COUNT(grids); i++) {
    tj_launch launch = tj_launch_grid(grids[i][0], grids[i][1], grids[i][2]);
    launch.stream = address_of(0x1234);
    assert_status(tj_function_call(open_function("grid"), &launch, ARGS(tj_int(2), tj_int(5))),
                  TJ_OK);
    assert_int_equal(recorded(&last), i + 1);
    assert_memory_equal(last.grid, grids[i], sizeof last.grid);
    assert_ptr_equal(last.stream, address_of(0x1234));
    assert_int_equal(last.device, 0);
    assert_string_equal(last.function, "grid");
  }
}

static void test_too_large(void **state) {
  (void)state;
  assert_status(call_grid(1, 1, 1), TJ_OK);
  assert_fails(call_grid(0x80000000, 1, 1), TJ_E_GRID, "grid: grid (2147483648, 1, 1)", "in x",
               "'null'", "2147483647");
  assert_fails(call_grid(1, 65536, 1), TJ_E_GRID, "(1, 65536, 1)", "in y", "65535");
  assert_fails(call_grid(1, 1, 65536), TJ_E_GRID, "(1, 1, 65536)", "in z", "65535");
  assert_fails(call_grid(UINT32_MAX, UINT32_MAX, UINT32_MAX), TJ_E_GRID, "in x");
}

/* ---- callbacks ---------------------------------------------------------------------------------- */

static tj_status call_with(tj_grid_fn grid_fn, void *user, const tj_arg *args, size_t n) {
  tj_launch launch = tj_launch_grid(99, 99, 99); /* not looked at */
  launch.grid_fn = grid_fn;
  launch.grid_user = user;
  return tj_function_call(open_function("grid"), &launch, args, n);
}

static tj_status read_arguments(const tj_bound *bound, uint32_t grid[3], void *user) {
  const char **seen = user;
  int64_t value = 0;
  assert_int_equal(tj_bound_count(bound), 5);
  assert_int_equal(tj_bound_launch(bound)->grid[0], 99);
  assert_int_equal(grid[0], 1);
  assert_int_equal(grid[1], 1);
  assert_int_equal(grid[2], 1);
  assert_int_equal(tj_bound_arg(bound, 0)->kind, TJ_POINTER);
  assert_ptr_equal(tj_bound_arg(bound, 0)->v.ptr, address_of(0x40));
  assert_status(tj_bound_int(bound, 1, &value), TJ_OK);
  grid[0] = (uint32_t)value;
  assert_status(tj_bound_int(bound, 2, &value), TJ_OK); /* a default */
  grid[1] = (uint32_t)value;
  assert_null(tj_bound_arg(bound, 3)); /* a default that C cannot express */
  assert_null(tj_bound_arg(bound, 5));
  assert_int_equal(tj_bound_arg(bound, 4)->kind, TJ_FLOAT);
  *seen = "seen";
  return TJ_OK;
}

static void test_callback_reads_arguments(void **state) {
  (void)state;
  tj_null_launch last = {0};
  tj_null_record(true);
  tj_arg f = tj_float(2.0), n = tj_int(7), b = tj_int(64);
  tj_arg x = tj_ptr(address_of(0x40), TJ_FP32);
  for (int round = 0; round < 3; round++) {
    const char *seen = NULL;
    assert_status(call_with(read_arguments, &seen, ARGS(x, n)), TJ_OK);
    assert_non_null(seen);
    assert_status(call_with(read_arguments, &seen, ARGS(x, n, tj_default())), TJ_OK);
    assert_status(
        call_with(read_arguments, &seen,
                  ARGS(tj_keyword(4, &f), tj_keyword(2, &b), tj_keyword(1, &n), tj_keyword(0, &x))),
        TJ_OK);
  }
  assert_int_equal(recorded(&last), 9);
  assert_int_equal(last.grid[0], 7);
  assert_int_equal(last.grid[1], 64);
  assert_int_equal(last.grid[2], 1);
}

static tj_status ask_wrongly(const tj_bound *bound, uint32_t grid[3], void *user) {
  (void)user;
  grid[0] = 1;
  int64_t value = 77;
  assert_fails(tj_bound_int(bound, 5, &value), TJ_E_NO_SUCH_PARAMETER, "'grid' has 5", "5");
  assert_fails(tj_bound_int(bound, 0, &value), TJ_E_ARGUMENT_TYPE, "grid: parameter 0 'x'",
               "pointer to fp32");
  assert_fails(tj_bound_int(bound, 4, &value), TJ_E_ARGUMENT_TYPE, "'f'", "float 1");
  assert_fails(tj_bound_int(bound, 3, &value), TJ_E_ARGUMENT_TYPE, "'O'", "C cannot express");
  assert_fails(tj_bound_int(bound, 1, NULL), TJ_E_NULL, "out_value");
  assert_fails(tj_bound_int(NULL, 1, &value), TJ_E_NULL, "bound");
  assert_fails(tj_bound_int(bound, 1, &value), TJ_E_ARGUMENT_RANGE, "'n'", "18446744073709551615");
  assert_int_equal(value, 77);
  assert_int_equal(tj_bound_count(NULL), 0);
  assert_null(tj_bound_arg(NULL, 0));
  assert_null(tj_bound_launch(NULL));
  return TJ_OK;
}

static void test_queries_fail_well(void **state) {
  (void)state;
  assert_status(call_with(ask_wrongly, NULL, ARGS(tj_ptr(NULL, TJ_FP32), tj_uint(UINT64_MAX))),
                TJ_OK);
}

static tj_status every_kind_of_int(const tj_bound *bound, uint32_t grid[3], void *user) {
  int64_t value = 0;
  grid[0] = 1;
  assert_status(tj_bound_int(bound, 1, &value), TJ_OK);
  assert_true(value == *(int64_t *)user);
  return TJ_OK;
}

static void test_every_kind_of_int(void **state) {
  (void)state;
  const struct {
    tj_arg arg;
    int64_t value;
  } rows[] = {{tj_int(1), 1},
              {tj_int(INT64_MIN), INT64_MIN},
              {tj_uint(7), 7},
              {tj_bool(1), 1},
              {tj_bool(0), 0},
              {tj_i8(-3), -3},
              {tj_u64(INT64_MAX), INT64_MAX},
              {tj_unsigned(TJ_U1, 1), 1}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    int64_t value = rows[i].value;
    assert_status(call_with(every_kind_of_int, &value, ARGS(tj_int(2), rows[i].arg)), TJ_OK);
  }
}

static tj_status fail_silently(const tj_bound *bound, uint32_t grid[3], void *user) {
  (void)bound;
  grid[0] = 1;
  return *(tj_status *)user;
}

static tj_status fail_with_words(const tj_bound *bound, uint32_t grid[3], void *user) {
  (void)bound;
  grid[0] = 1;
  return tj_fail(*(tj_status *)user, "no room for %d tiles", 12);
}

static void test_failing_callbacks(void **state) {
  (void)state;
  tj_null_launch last = {0};
  tj_null_record(true);
  tj_status status = TJ_E_GRID_FN, own = 1234;
  const tj_arg args[] = {tj_int(2), tj_int(5)};
  /* An old message is not taken for the callback's. */
  assert_status(call(open_function("grid"), NULL, 0), TJ_E_TOO_FEW_ARGUMENTS);
  assert_fails(call_with(fail_silently, &status, args, 2), TJ_E_GRID_FN,
               "grid: the grid callback returned TJ_E_GRID_FN (33)");
  assert_fails(call_with(fail_silently, &own, args, 2), 1234, "(1234)");
  assert_fails(call_with(fail_with_words, &status, args, 2), TJ_E_GRID_FN,
               "grid: the grid callback failed: no room for 12 tiles");
  assert_fails(call_with(fail_with_words, &own, args, 2), 1234, "no room for 12 tiles");
  assert_fails(call_with(fail_silently, &status, args, 2), TJ_E_GRID_FN, "returned TJ_E_GRID_FN");
  assert_int_equal(recorded(&last), 0);
  assert_int_equal(tj_last_status(), TJ_E_GRID_FN);
}

/* A callback's success leaves the thread's last error alone, as any success does. */
static tj_status one(const tj_bound *bound, uint32_t grid[3], void *user) {
  (void)bound, (void)user;
  grid[0] = 1;
  return TJ_OK;
}

static void test_success_keeps_the_last_error(void **state) {
  (void)state;
  assert_status(call_with(one, NULL, ARGS(tj_int(2), tj_int(5))), TJ_OK);
  assert_status(call(open_function("grid"), NULL, 0), TJ_E_TOO_FEW_ARGUMENTS);
  char *before = strdup(tj_last_error());
  assert_status(call_with(one, NULL, ARGS(tj_int(2), tj_int(5))), TJ_OK);
  assert_string_equal(tj_last_error(), before);
  assert_int_equal(tj_last_status(), TJ_E_TOO_FEW_ARGUMENTS);
  free(before);
}

static tj_status large(const tj_bound *bound, uint32_t grid[3], void *user) {
  (void)bound;
  memcpy(grid, user, 3 * sizeof *grid);
  return TJ_OK;
}

static void test_callback_grids_are_checked(void **state) {
  (void)state;
  tj_null_launch last = {0};
  tj_null_record(true);
  uint32_t too_large[] = {1, 65536, 1}, empty[] = {1, 0, 1}, good[] = {3, 2, 1};
  assert_fails(call_with(large, too_large, ARGS(tj_int(2), tj_int(5))), TJ_E_GRID, "in y");
  assert_status(call_with(large, empty, ARGS(tj_int(2), tj_int(5))), TJ_OK);
  assert_int_equal(recorded(&last), 0);
  assert_status(call_with(large, good, ARGS(tj_int(2), tj_int(5))), TJ_OK);
  assert_int_equal(recorded(&last), 1);
  assert_memory_equal(last.grid, good, sizeof good);
}

/* A callback that calls the library: the same function, another variant of it, another. */
static tj_status recurse(const tj_bound *bound, uint32_t grid[3], void *user) {
  int *left = user;
  grid[0] = 1;
  int64_t n = 0;
  assert_status(tj_bound_int(bound, 1, &n), TJ_OK);
  if (--*left > 0) {
    assert_status(call_with(recurse, user, ARGS(tj_int(2), tj_int(n + 1), tj_int(n))), TJ_OK);
    assert_status(tj_bound_int(bound, 1, &n), TJ_OK); /* still there */
  }
  return TJ_OK;
}

static void test_callbacks_may_call(void **state) {
  (void)state;
  for (int round = 0; round < 3; round++) {
    int left = 50;
    tj_function *fn = open_function("grid");
    uint64_t launches = stats_of(fn).launches;
    assert_status(call_with(recurse, &left, ARGS(tj_int(2), tj_int(2))), TJ_OK);
    assert_int_equal(left, 0);
    assert_int_equal(stats_of(fn).launches, launches + 50);
  }
}

/* A callback that opens and calls so many functions that the thread's counts must grow. */
static tj_status open_many(const tj_bound *bound, uint32_t grid[3], void *user) {
  (void)bound;
  grid[0] = 1;
  uint32_t *next = user;
  for (int i = 0; i < 200; i++) {
    char source[64];
    (void)snprintf(source, sizeof source, "many %u", *next);
    tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
    const tj_option option = {"number", tj_int((*next)++)};
    assert_status(tj_options_intern(&option, 1, &desc.options), TJ_OK);
    desc.source = source;
    desc.name = "grid";
    desc.backend = "null";
    tj_function *fn;
    assert_status(tj_function_get_ex(&desc, &fn), TJ_OK);
    assert_status(call(fn, ARGS(tj_int(2), tj_int(5))), TJ_OK);
  }
  return TJ_OK;
}

static void test_counts_grow_under_a_call(void **state) {
  (void)state;
  tj_function *fn = open_function("grid");
  uint32_t next = 0;
  uint64_t launches = stats_of(fn).launches;
  for (int round = 0; round < 3; round++)
    assert_status(call_with(open_many, &next, ARGS(tj_int(2), tj_int(11 + round))), TJ_OK);
  assert_int_equal(stats_of(fn).launches, launches + 3);
  /* On a hit, and by a kernel. */
  assert_status(call_with(open_many, &next, ARGS(tj_int(2), tj_int(11))), TJ_OK);
  assert_status(call_with(open_many, &next, ARGS(tj_int(2), tj_int(11))), TJ_OK);
  tj_launch launch = one_program();
  launch.grid_fn = open_many;
  launch.grid_user = &next;
  tj_kernel *kernel = prepare_kernel(fn, ARGS(tj_int(2), tj_int(11)));
  for (int round = 0; round < 3; round++)
    assert_status(tj_kernel_launch(kernel, &launch, ARGS(tj_int(2), tj_int(11))), TJ_OK);
  assert_int_equal(stats_of(fn).launches, launches + 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_empty_grids_launch_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(test_grid_reaches_the_driver, setup, teardown),
      cmocka_unit_test_setup_teardown(test_too_large, setup, teardown),
      cmocka_unit_test_setup_teardown(test_callback_reads_arguments, setup, teardown),
      cmocka_unit_test_setup_teardown(test_queries_fail_well, setup, teardown),
      cmocka_unit_test_setup_teardown(test_every_kind_of_int, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failing_callbacks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_success_keeps_the_last_error, setup, teardown),
      cmocka_unit_test_setup_teardown(test_callback_grids_are_checked, setup, teardown),
      cmocka_unit_test_setup_teardown(test_callbacks_may_call, setup, teardown),
      cmocka_unit_test_setup_teardown(test_counts_grow_under_a_call, setup, teardown),
  };
  return cmocka_run_group_tests_name("launch.grid", tests, NULL, NULL);
}
