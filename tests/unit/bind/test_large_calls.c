/* SPDX-License-Identifier: Apache-2.0 */
/* Calls beyond the inline buffers: many parameters, long strings, keywords with both. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY 600

static char many_params[MANY * 64], mixed_params[MANY * 64];
static fake_function table[] = {
    {.name = "many", .params = many_params},
    {.name = "mixed", .params = mixed_params},
    {.name = "text",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_CONSTEXPR("S") FAKE_NEXT FAKE_PARAM("b")},
    {.name = "texts",
     .params = FAKE_CONSTEXPR("S") FAKE_NEXT FAKE_CONSTEXPR("T") FAKE_NEXT FAKE_CONSTEXPR("U")},
};

static int setup(void **state) {
  (void)state;
  if (*many_params == 0) {
    size_t at = 0, mixed = 0;
    for (int i = 0; i < MANY; i++) {
      const char *comma = i ? "," : "";
      at +=
          (size_t)snprintf(many_params + at, sizeof many_params - at, "%s{'name':'p%d'}", comma, i);
      mixed += (size_t)snprintf(mixed_params + mixed, sizeof mixed_params - mixed,
                                "%s{'name':'p%d'%s}", comma, i,
                                i % 3 == 1   ? ",'constexpr':true"
                                : i % 3 == 2 ? ",'type':'i8'"
                                             : "");
    }
  }
  tj_null_reset();
  fake_install(table, COUNT(table));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fake_remove();
  return 0;
}

static void test_600_parameters(void **state) {
  (void)state;
  tj_function *fn = open_function("many");
  tj_arg args[MANY];
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (int i = 0; i < MANY; i++) args[i] = tj_int(i + 2);
  assert_int_equal(packed(fn, args, MANY, params), 4 * MANY);
  for (int i = 0; 4 * i < (int)TJ_NULL_PARAMS_MAX; i++) {
    int32_t value;
    memcpy(&value, params + (size_t)4 * (size_t)i, 4);
    assert_int_equal(value, i + 2);
  }
  tj_kernel *kernel = prepare_kernel(fn, args, MANY);
  args[MANY - 1] = tj_int(1);
  assert_ptr_not_equal(prepare_kernel(fn, args, MANY), kernel);
  args[MANY - 1] = tj_string("x", 1);
  assert_fails(call(fn, args, MANY), TJ_E_UNSUPPORTED_ARGUMENT, "parameter 599 'p599'");
  assert_fails(call(fn, args, MANY - 1), TJ_E_TOO_FEW_ARGUMENTS, "parameter 599 'p599'");
  tj_arg too_many[MANY + 1];
  for (int i = 0; i <= MANY; i++) too_many[i] = tj_int(2);
  assert_fails(call(fn, too_many, MANY + 1), TJ_E_TOO_MANY_ARGUMENTS, "takes 600", "gave 601");
}

static void test_600_mixed(void **state) {
  (void)state;
  tj_function *fn = open_function("mixed");
  tj_arg args[MANY];
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (int i = 0; i < MANY; i++)
    args[i] = i % 3 == 0 ? tj_ptr(address_of((uintptr_t)i * 16), TJ_FP32) : tj_int(i % 100 + 2);
  /* A pointer and one byte take turns. */
  assert_int_equal(packed(fn, args, MANY, params), 16 * (MANY / 3) - 7);
  for (size_t i = 0; 16 * i + 9 <= TJ_NULL_PARAMS_MAX; i++) {
    uint64_t address;
    memcpy(&address, params + 16 * i, 8);
    assert_int_equal(address, 48 * i);
    assert_int_equal(params[16 * i + 8], (3 * i + 2) % 100 + 2);
  }
}

/* The last of many by keyword: both ways out of the fast path at once. */
static void test_600_parameters_by_keyword(void **state) {
  (void)state;
  tj_function *fn = open_function("many");
  tj_arg args[MANY], values[MANY];
  for (int i = 0; i < MANY; i++) args[i] = values[i] = tj_int(i + 2);
  tj_kernel *kernel = prepare_kernel(fn, args, MANY);
  for (int i = 0; i < MANY; i++)
    args[i] = tj_keyword((uint32_t)(MANY - 1 - i), &values[MANY - 1 - i]);
  assert_ptr_equal(prepare_kernel(fn, args, MANY), kernel);
  for (int i = 0; i < MANY / 2; i++) args[i] = values[i];
  for (int i = MANY / 2; i < MANY; i++) args[i] = tj_keyword((uint32_t)i, &values[i]);
  assert_ptr_equal(prepare_kernel(fn, args, MANY), kernel);
  args[MANY - 1] = args[MANY - 2];
  assert_fails(call(fn, args, MANY), TJ_E_DUPLICATE_ARGUMENT, "parameter 598 'p598'");
}

/* R019: a text of any length, by position and by keyword, alone and with others. */
static void test_long_strings(void **state) {
  (void)state;
  tj_function *fn = open_function("text");
  static const size_t sizes[] = {900, 960, 970, 980, 990, 1000, 1024, 10240, 1 << 20};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    size_t n = sizes[i];
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'x', n);
    tj_arg a = tj_int(2), s = tj_string(text, (uint32_t)n), b = tj_int(16);
    tj_kernel *kernel = prepare_kernel(fn, ARGS(a, s, b));
    assert_ptr_equal(prepare_kernel(fn, ARGS(a, s, tj_keyword(2, &b))), kernel);
    assert_ptr_equal(prepare_kernel(fn, ARGS(a, tj_keyword(2, &b), tj_keyword(1, &s))), kernel);
    assert_ptr_equal(
        prepare_kernel(fn, ARGS(tj_keyword(1, &s), tj_keyword(0, &a), tj_keyword(2, &b))), kernel);
    assert_status(call(fn, ARGS(a, s, tj_keyword(2, &b))), TJ_OK);
    assert_fails(call(open_function("texts"), ARGS(s, tj_keyword(2, &s), s)), TJ_E_INVALID,
                 "keywords come last");
    text[n - 1] = 'y'; /* one byte, at the end */
    assert_ptr_not_equal(prepare_kernel(fn, ARGS(a, s, b)), kernel);
    assert_fails(call(fn, ARGS(a, s, s)), TJ_E_UNSUPPORTED_ARGUMENT, "parameter 2 'b'");
    free(text);
  }
}

static void test_several_long_strings(void **state) {
  (void)state;
  tj_function *fn = open_function("texts");
  char *text = malloc(10240);
  assert_non_null(text);
  memset(text, 'z', 10240);
  tj_arg args[] = {tj_string(text, 400), tj_string(text, 500), tj_string(text, 10240)};
  tj_kernel *kernel = prepare_kernel(fn, args, 3);
  assert_ptr_equal(prepare_kernel(fn, args, 3), kernel);
  /* Where one ends and the next begins is part of the key. */
  args[0].aux = 401, args[1].aux = 499;
  assert_ptr_not_equal(prepare_kernel(fn, args, 3), kernel);
  free(text);
}

/* Large calls within large calls: the thread's scratch is a stack. */
static tj_status nested_grid(const tj_bound *bound, uint32_t grid[3], void *user) {
  int *depth = user;
  grid[0] = 1;
  const tj_arg *text = tj_bound_arg(bound, 1);
  assert_int_equal(text->aux, 10240);
  if (--*depth <= 0) return TJ_OK;
  tj_launch launch = one_program();
  launch.grid_fn = nested_grid;
  launch.grid_user = user;
  tj_arg a = tj_int(*depth + 2), b = tj_int(16), s = *text;
  tj_status status = tj_function_call(open_function("text"), &launch,
                                      ARGS(a, tj_keyword(2, &b), tj_keyword(1, &s)));
  assert_int_equal(tj_bound_arg(bound, 1)->aux, 10240);
  return status;
}

static void test_nested_large_calls(void **state) {
  (void)state;
  tj_function *fn = open_function("text");
  char *text = malloc(10240);
  assert_non_null(text);
  memset(text, 'n', 10240);
  for (int round = 0; round < 5; round++) {
    int depth = 6;
    tj_launch launch = one_program();
    launch.grid_fn = nested_grid;
    launch.grid_user = &depth;
    tj_arg b = tj_int(16);
    assert_status(
        tj_function_call(fn, &launch, ARGS(tj_int(2), tj_string(text, 10240), tj_keyword(2, &b))),
        TJ_OK);
    assert_int_equal(depth, 0);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_600_parameters, setup, teardown),
      cmocka_unit_test_setup_teardown(test_600_mixed, setup, teardown),
      cmocka_unit_test_setup_teardown(test_600_parameters_by_keyword, setup, teardown),
      cmocka_unit_test_setup_teardown(test_long_strings, setup, teardown),
      cmocka_unit_test_setup_teardown(test_several_long_strings, setup, teardown),
      cmocka_unit_test_setup_teardown(test_nested_large_calls, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.large_calls", tests, NULL, NULL);
}
