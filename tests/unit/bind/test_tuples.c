/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples of run-time values (R017). */
#include "unit.h"

#include <stdlib.h>

static const fake_function table[] = {
    {.name = "plain", .params = FAKE_PARAM("t")},
    {.name = "between",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_PARAM("t") FAKE_NEXT FAKE_PARAM("b")},
    {.name = "constexpr", .params = FAKE_CONSTEXPR("T")},
    {.name = "typed", .params = FAKE_TYPED("t", "i32")},
};

FAKE_FIXTURE(table)

static void test_items_follow_their_own_rules_R017(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  const tj_arg first[] = {tj_float(0.5), tj_int(3)};
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(first, 2))), "t=(fp32, i32)");
  const tj_arg second[] = {tj_ptr(address_of(16), TJ_FP16),
                           tj_int(16),
                           tj_ptr(address_of(2), TJ_I8),
                           tj_int(1),
                           tj_bool(1),
                           tj_none(),
                           tj_i64(1)};
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(second, COUNT(second)))),
                      "t=(*fp16:16, i32:16, *i8, 1, u1, None, i64)");
  assert_string_equal(types_of(fn, ARGS(tj_tuple(second, COUNT(second)))), "*fp16,i32,*i8,u1,i64");
  const tj_arg inner[] = {tj_int(2), tj_tuple(first, 2)},
               nested[] = {tj_tuple(inner, 2), tj_int(5)};
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(nested, 2))), "t=((i32, (fp32, i32)), i32)");
  assert_string_equal(types_of(fn, ARGS(tj_tuple(nested, 2))), "i32,fp32,i32,i32");
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(NULL, 0))), "t=()");
  const tj_arg empty[] = {tj_tuple(NULL, 0), tj_tuple(NULL, 0)};
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(empty, 2))), "t=((), ())");
}

/* Grouping is part of the variant: (1, (2, 3)), ((1, 2), 3), (1, 2, 3) are three. */
static void test_grouping(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  const tj_arg leaves[] = {tj_int(2), tj_int(3), tj_int(4)};
  const tj_arg left[] = {tj_tuple(leaves, 2), leaves[2]};
  const tj_arg right[] = {leaves[0], tj_tuple(leaves + 1, 2)};
  tj_kernel *flat = prepare_kernel(fn, ARGS(tj_tuple(leaves, 3)));
  tj_kernel *a = prepare_kernel(fn, ARGS(tj_tuple(left, 2)));
  tj_kernel *b = prepare_kernel(fn, ARGS(tj_tuple(right, 2)));
  assert_ptr_not_equal(flat, a);
  assert_ptr_not_equal(flat, b);
  assert_ptr_not_equal(a, b);
}

static void test_values_lie_in_order(void **state) {
  (void)state;
  tj_function *fn = open_function("between");
  const tj_arg items[] = {tj_i8(7), tj_i64(-2), tj_bool(1), tj_f16(1.0)};
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(fn, ARGS(tj_i16(3), tj_tuple(items, 4), tj_int(5)), params), 24);
  static const uint8_t expected[24] = {3,    0,    7,    0,    0,    0,    0,    0,
                                       0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       1,    0,    0x00, 0x3c, 5,    0,    0,    0};
  /* Padding may hold anything. */
  static const uint8_t used[24] = {1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1,
                                   1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};
  for (size_t i = 0; i < sizeof expected; i++)
    if (used[i]) assert_int_equal(params[i], expected[i]);
}

/* `depth` tuples around one integer. */
static tj_arg nest(tj_arg *items, int depth) {
  items[0] = tj_int(5);
  for (int i = 1; i < depth; i++) items[i] = tj_tuple(&items[i - 1], 1);
  return tj_tuple(&items[depth - 1], 1);
}

static void test_depth(void **state) {
  (void)state;
  static const char *const names[] = {"plain", "constexpr"};
  for (size_t i = 0; i < COUNT(names); i++) {
    tj_function *fn = open_function(names[i]);
    tj_arg items[64];
    assert_status(call(fn, ARGS(nest(items, 31))), TJ_OK);
    assert_status(call(fn, ARGS(nest(items, 32))), TJ_OK);
    assert_fails(call(fn, ARGS(nest(items, 33))), TJ_E_UNSUPPORTED_ARGUMENT, names[i],
                 "parameter 0", "[0][0]", "more than 32 deep");
    assert_fails(call(fn, ARGS(nest(items, 60))), TJ_E_UNSUPPORTED_ARGUMENT, "more than 32 deep");
    /* One that holds itself ends too. */
    tj_arg self = tj_tuple(&self, 1);
    assert_fails(call(fn, &self, 1), TJ_E_UNSUPPORTED_ARGUMENT, "more than 32 deep");
  }
}

/* The place of a bad item is named. */
static void test_errors_name_the_item(void **state) {
  (void)state;
  tj_function *fn = open_function("between");
  const tj_arg bad[] = {tj_int(2), tj_string("x", 1)};
  const tj_arg outer[] = {tj_int(2), tj_int(2), tj_tuple(bad, 2)};
  assert_fails(call(fn, ARGS(tj_int(2), tj_tuple(outer, 3), tj_int(2))), TJ_E_UNSUPPORTED_ARGUMENT,
               "between: parameter 1 't'[2][1]: ", "string");
  const tj_arg range[] = {tj_signed(TJ_I8, 300)};
  assert_fails(call(fn, ARGS(tj_int(2), tj_tuple(range, 1), tj_int(2))), TJ_E_ARGUMENT_RANGE,
               "'t'[0]: 300 does not fit i8");
  assert_fails(call(fn, ARGS(tj_int(2), tj_tuple(NULL, 2), tj_int(2))), TJ_E_NULL,
               "parameter 1 't'", "2 items");
  tj_arg value = tj_int(1);
  const tj_arg keyword[] = {tj_keyword(0, &value)};
  assert_fails(call(fn, ARGS(tj_int(2), tj_tuple(keyword, 1), tj_int(2))), TJ_E_INVALID, "'t'[0]",
               "keyword");
  const tj_arg unset[] = {tj_default()};
  assert_fails(call(fn, ARGS(tj_int(2), tj_tuple(unset, 1), tj_int(2))), TJ_E_UNSUPPORTED_ARGUMENT,
               "'t'[0]", "default");
  tj_launch launch = one_program();
  int prepared;
  const tj_arg spec[] = {tj_spec_ptr(TJ_FP32, 1)};
  assert_status(
      tj_function_is_prepared(open_function("plain"), &launch, ARGS(tj_tuple(spec, 1)), &prepared),
      TJ_OK);
  assert_fails(call(open_function("typed"), ARGS(tj_tuple(outer, 1))), TJ_E_ARGUMENT_TYPE,
               "type i32", "tuple of 1 items");
}

/* Large tuples leave the inline buffers; nothing else changes. */
static void test_large(void **state) {
  (void)state;
  enum { N = 5000 };
  tj_arg *items = malloc(N * sizeof *items);
  assert_non_null(items);
  tj_function *fn = open_function("between"), *constexpr = open_function("constexpr");
  uint8_t params[TJ_NULL_PARAMS_MAX];
  static const uint32_t sizes[] = {10, 90, 100, 101, 120, 126, 127, 128, 129, 200, 1000, N};
  for (size_t s = 0; s < COUNT(sizes); s++) {
    uint32_t n = sizes[s];
    for (uint32_t i = 0; i < n; i++) items[i] = tj_int(i + 2);
    uint32_t size = packed(fn, ARGS(tj_i64(-1), tj_tuple(items, n), tj_i64(-2)), params);
    assert_int_equal(size, 8 + (4 * n + 7) / 8 * 8 + 8);
    for (uint32_t i = 0; i < n && 12 + 4 * i <= TJ_NULL_PARAMS_MAX; i++) {
      int32_t value;
      memcpy(&value, params + 8 + (size_t)4 * i, 4);
      assert_int_equal(value, i + 2);
    }
    tj_kernel *kernel = prepare_kernel(constexpr, ARGS(tj_tuple(items, n)));
    assert_ptr_equal(kernel, prepare_kernel(constexpr, ARGS(tj_tuple(items, n))));
    items[n - 1] = tj_int(-7);
    assert_ptr_not_equal(kernel, prepare_kernel(constexpr, ARGS(tj_tuple(items, n))));
  }
  free(items);
}

/* Every shape of nesting around the edge of the inline buffers. */
static void test_large_nested(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  tj_arg leaves[40], rows[40];
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (uint32_t i = 0; i < 40; i++) leaves[i] = tj_i64((int64_t)i + 2);
  for (uint32_t width = 1; width <= 40; width += 3) {
    for (uint32_t n = 1; n <= 40; n += 3) {
      for (uint32_t i = 0; i < n; i++) rows[i] = tj_tuple(leaves, width);
      assert_int_equal(packed(fn, ARGS(tj_tuple(rows, n)), params), 8 * width * n);
      for (uint32_t i = 0; i < width * n && 8 * i + 8 <= TJ_NULL_PARAMS_MAX; i++) {
        int64_t value;
        memcpy(&value, params + (size_t)8 * i, 8);
        assert_int_equal(value, i % width + 2);
      }
    }
  }
}

/* A size that nobody can have in memory is refused before anything is read. */
static void test_impossible_size(void **state) {
  (void)state;
  tj_arg item = tj_int(2);
  assert_fails(call(open_function("plain"), ARGS(tj_tuple(&item, UINT32_MAX))),
               TJ_E_UNSUPPORTED_ARGUMENT, "too large");
  assert_fails(call(open_function("constexpr"), ARGS(tj_tuple(&item, UINT32_MAX / 2))),
               TJ_E_UNSUPPORTED_ARGUMENT, "too large");
  assert_fails(call(open_function("constexpr"), ARGS(tj_string("x", UINT32_MAX))),
               TJ_E_UNSUPPORTED_ARGUMENT, "too large");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_items_follow_their_own_rules_R017, setup, teardown),
      cmocka_unit_test_setup_teardown(test_grouping, setup, teardown),
      cmocka_unit_test_setup_teardown(test_values_lie_in_order, setup, teardown),
      cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
      cmocka_unit_test_setup_teardown(test_errors_name_the_item, setup, teardown),
      cmocka_unit_test_setup_teardown(test_large, setup, teardown),
      cmocka_unit_test_setup_teardown(test_large_nested, setup, teardown),
      cmocka_unit_test_setup_teardown(test_impossible_size, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.tuples", tests, NULL, NULL);
}
