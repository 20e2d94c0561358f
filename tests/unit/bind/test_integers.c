/* SPDX-License-Identifier: Apache-2.0 */
/* Integers: the value rule, forced widths, annotations. */
#include "unit.h"

static const fake_function table[] = {
    {.name = "plain", .params = FAKE_PARAM("n")},
    {.name = "plain8", .params = FAKE_PARAM("x")},
    {.name = "no_specialize", .params = FAKE_WITH("n", "'specialize':false")},
    {.name = "no_alignment", .params = FAKE_WITH("n", "'align':false")},
    {.name = "none_of_them",
     .params = FAKE_WITH("a", "'specialize':false")
         FAKE_NEXT FAKE_WITH("b", "'specialize':false,'type':'i64'")},
    {.name = "i8", .params = FAKE_TYPED("n", "i8")},
    {.name = "i16", .params = FAKE_TYPED("n", "i16")},
    {.name = "i32", .params = FAKE_TYPED("n", "i32")},
    {.name = "i64", .params = FAKE_TYPED("n", "i64")},
    {.name = "u8", .params = FAKE_TYPED("n", "u8")},
    {.name = "u16", .params = FAKE_TYPED("n", "u16")},
    {.name = "u32", .params = FAKE_TYPED("n", "u32")},
    {.name = "u64", .params = FAKE_TYPED("n", "u64")},
    {.name = "u1", .params = FAKE_TYPED("n", "u1")},
    {.name = "i64_no_specialize", .params = FAKE_WITH("n", "'type':'i64','specialize':false")},
    {.name = "i64_no_alignment", .params = FAKE_WITH("n", "'type':'i64','align':false")},
};

FAKE_FIXTURE(table)

static uint64_t word(const uint8_t *bytes, uint32_t size) {
  uint64_t value = 0;
  memcpy(&value, bytes, size);
  return value;
}

/* R005, R025, R026: type and class by value, at every edge. */
static void test_value_rule(void **state) {
  (void)state;
  static const struct {
    int64_t value;
    const char *variant, *types;
  } rows[] = {
      {0, "n=i32:16", "i32"},
      {1, "n=1", ""},
      {2, "n=i32", "i32"},
      {-1, "n=i32", "i32"},
      {15, "n=i32", "i32"},
      {16, "n=i32:16", "i32"},
      {17, "n=i32", "i32"},
      {8, "n=i32", "i32"},
      {72, "n=i32", "i32"},
      {80, "n=i32:16", "i32"},
      {-16, "n=i32:16", "i32"},
      {-15, "n=i32", "i32"},
      {INT32_MAX, "n=i32", "i32"},
      {(int64_t)INT32_MAX + 1, "n=i64:16", "i64"},
      {INT32_MIN, "n=i32:16", "i32"},
      {(int64_t)INT32_MIN - 1, "n=i64", "i64"},
      {(int64_t)INT32_MAX + 2, "n=i64", "i64"},
      {((int64_t)1 << 31) + 16, "n=i64:16", "i64"},
      {INT64_MAX, "n=i64", "i64"},
      {INT64_MIN, "n=i64:16", "i64"},
  };
  tj_function *fn = open_function("plain");
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_string_equal(variant_of(fn, ARGS(tj_int(rows[i].value))), rows[i].variant);
    assert_string_equal(types_of(fn, ARGS(tj_int(rows[i].value))), rows[i].types);
    uint32_t size = packed(fn, ARGS(tj_int(rows[i].value)), params);
    assert_int_equal(size, strcmp(rows[i].types, "i64") == 0 ? 8 : *rows[i].types ? 4 : 0);
    uint64_t mask = size == 8 ? UINT64_MAX : size == 4 ? UINT32_MAX : 0;
    assert_int_equal(word(params, size), (uint64_t)rows[i].value & mask);
    if (rows[i].value >= 0) /* the same number by the other maker is the same variant */
      assert_ptr_equal(prepare_kernel(fn, ARGS(tj_int(rows[i].value))),
                       prepare_kernel(fn, ARGS(tj_uint((uint64_t)rows[i].value))));
  }
}

/* R005: 2^63 and beyond keep their 64 bits as u64. */
static void test_unsigned_range(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  static const struct {
    uint64_t value;
    const char *variant;
  } rows[] = {{1ull << 63, "n=u64:16"},
              {(1ull << 63) + 1, "n=u64"},
              {UINT64_MAX, "n=u64"},
              {UINT64_MAX - 15, "n=u64:16"},
              {INT64_MAX, "n=i64"}};
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_string_equal(variant_of(fn, ARGS(tj_uint(rows[i].value))), rows[i].variant);
    assert_int_equal(packed(fn, ARGS(tj_uint(rows[i].value)), params), 8);
    assert_true(word(params, 8) == rows[i].value);
  }
}

/* R002: one integer has exactly three variants, or one where it is not to be specialised. */
static void test_three_variants_R002(void **state) {
  (void)state;
  static const fake_function own[] = {
      {.name = "three", .params = FAKE_PARAM("n")},
      {.name = "one", .params = FAKE_WITH("n", "'specialize':false")},
      {.name = "two", .params = FAKE_WITH("n", "'align':false")}};
  fake_install(own, COUNT(own));
  static const int64_t values[] = {1, 3, 16, 32, 48, 7, 1};
  static const struct {
    const char *name;
    uint64_t variants;
  } rows[] = {{"three", 3}, {"one", 1}, {"two", 2}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_function *fn = open_function(rows[i].name);
    uint64_t before = fake_compiles();
    for (size_t v = 0; v < COUNT(values); v++)
      assert_status(call(fn, ARGS(tj_int(values[v]))), TJ_OK);
    assert_int_equal(fake_compiles() - before, rows[i].variants);
    assert_int_equal(stats_of(fn).variants, rows[i].variants);
  }
}

static void test_do_not_specialize(void **state) {
  (void)state;
  tj_function *fn = open_function("no_specialize");
  assert_string_equal(variant_of(fn, ARGS(tj_int(1))), "n=i32");
  assert_string_equal(variant_of(fn, ARGS(tj_int(16))), "n=i32");
  assert_string_equal(variant_of(fn, ARGS(tj_int((int64_t)1 << 40))), "n=i64");
  assert_string_equal(variant_of(fn, ARGS(tj_uint(1ull << 63))), "n=u64");
  assert_string_equal(variant_of(fn, ARGS(tj_ptr(address_of(16), TJ_FP32))), "n=*fp32");
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_int(1))), prepare_kernel(fn, ARGS(tj_int(32))));
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(fn, ARGS(tj_int(1)), params), 4); /* it is passed, not folded */
  assert_int_equal(word(params, 4), 1);
}

static void test_do_not_specialize_on_alignment(void **state) {
  (void)state;
  tj_function *fn = open_function("no_alignment");
  assert_string_equal(variant_of(fn, ARGS(tj_int(1))), "n=1");
  assert_string_equal(variant_of(fn, ARGS(tj_int(16))), "n=i32");
  assert_string_equal(variant_of(fn, ARGS(tj_ptr(address_of(16), TJ_FP32))), "n=*fp32");
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_int(16))), prepare_kernel(fn, ARGS(tj_int(17))));
}

/* R016: nothing to specialise, and everything folded. */
static void test_no_hints_R016(void **state) {
  (void)state;
  tj_function *fn = open_function("none_of_them");
  assert_string_equal(variant_of(fn, ARGS(tj_int(16), tj_int(1))), "a=i32 b=i64");
  assert_status(call(fn, ARGS(tj_int(1), tj_int(1))), TJ_OK);
  assert_status(call(open_function("plain"), ARGS(tj_int(1))), TJ_OK);
}

/* R003: the annotation gives the width; 1 keeps its slot but has a class of its own. */
static void test_annotated_int64_R003(void **state) {
  (void)state;
  tj_function *fn = open_function("i64");
  uint8_t params[TJ_NULL_PARAMS_MAX];
  static const struct {
    int64_t value;
    const char *variant;
  } rows[] = {{1, "n=i64:1"},
              {2, "n=i64"},
              {16, "n=i64:16"},
              {(int64_t)1 << 40, "n=i64:16"},
              {-1, "n=i64"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_arg makers[] = {tj_int(rows[i].value), tj_i64(rows[i].value)};
    for (size_t m = 0; m < COUNT(makers); m++) {
      assert_string_equal(variant_of(fn, &makers[m], 1), rows[i].variant);
      assert_string_equal(types_of(fn, &makers[m], 1), "i64");
      assert_int_equal(packed(fn, &makers[m], 1, params), 8);
      assert_true(word(params, 8) == (uint64_t)rows[i].value);
    }
  }
  fn = open_function("i64_no_specialize");
  assert_string_equal(variant_of(fn, ARGS(tj_i32(1))), "n=i64");
  assert_string_equal(variant_of(fn, ARGS(tj_i32(16))), "n=i64");
  fn = open_function("i64_no_alignment");
  assert_string_equal(variant_of(fn, ARGS(tj_int(1))), "n=i64:1");
  assert_string_equal(variant_of(fn, ARGS(tj_int(16))), "n=i64");
}

/* Each integer type's first and last value fit, and their neighbours are refused. */
static void test_ranges(void **state) {
  (void)state;
  static const struct {
    const char *type;
    int64_t first, last;
    uint32_t size;
  } rows[] = {{"i8", INT8_MIN, INT8_MAX, 1},
              {"i16", INT16_MIN, INT16_MAX, 2},
              {"i32", INT32_MIN, INT32_MAX, 4},
              {"u8", 0, UINT8_MAX, 1},
              {"u16", 0, UINT16_MAX, 2},
              {"u32", 0, UINT32_MAX, 4},
              {"u1", 0, 1, 1}};
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_function *typed = open_function(rows[i].type), *plain = open_function("plain8");
    tj_dtype dtype = tj_dtype_from_name(rows[i].type);
    const int64_t inside[] = {rows[i].first, rows[i].last};
    const int64_t outside[] = {rows[i].first - 1, rows[i].last + 1, INT64_MIN, INT64_MAX};
    for (size_t v = 0; v < COUNT(inside); v++) {
      uint64_t bits = (uint64_t)inside[v] & (UINT64_MAX >> (64 - 8 * rows[i].size));
      assert_int_equal(packed(typed, ARGS(tj_int(inside[v])), params), rows[i].size);
      assert_true(word(params, rows[i].size) == bits);
      /* The same by force where nothing is annotated. */
      assert_int_equal(packed(plain, ARGS(tj_signed(dtype, inside[v])), params), rows[i].size);
      assert_true(word(params, rows[i].size) == bits);
    }
    for (size_t v = 0; v < COUNT(outside); v++) {
      assert_fails(call(typed, ARGS(tj_int(outside[v]))), TJ_E_ARGUMENT_RANGE, rows[i].type,
                   "parameter 0 'n'");
      if (dtype != TJ_U1) /* by force anything but 0 is true, as for tj_bool */
        assert_fails(call(plain, ARGS(tj_signed(dtype, outside[v]))), TJ_E_ARGUMENT_RANGE,
                     "parameter 0 'x'");
    }
    assert_fails(call(typed, ARGS(tj_uint(UINT64_MAX))), TJ_E_ARGUMENT_RANGE, rows[i].type);
  }
  assert_fails(call(open_function("i8"), ARGS(tj_int(128))), TJ_E_ARGUMENT_RANGE,
               "128 does not fit i8");
  assert_fails(call(open_function("i64"), ARGS(tj_uint(1ull << 63))), TJ_E_ARGUMENT_RANGE,
               "9223372036854775808 does not fit i64");
  assert_fails(call(open_function("u64"), ARGS(tj_int(-1))), TJ_E_ARGUMENT_RANGE,
               "-1 does not fit u64");
  assert_fails(call(open_function("u1"), ARGS(tj_int(2))), TJ_E_ARGUMENT_RANGE, "0 or 1", "2");
  assert_int_equal(packed(open_function("i64"), ARGS(tj_int(INT64_MIN)), params), 8);
  assert_int_equal(packed(open_function("i64"), ARGS(tj_int(INT64_MAX)), params), 8);
  assert_int_equal(packed(open_function("u64"), ARGS(tj_uint(UINT64_MAX)), params), 8);
  assert_true(word(params, 8) == UINT64_MAX);
  assert_string_equal(variant_of(open_function("u64"), ARGS(tj_uint(UINT64_MAX - 15))), "n=u64:16");
}

/* A forced width does not fold 1, and is another variant than the value rule's. */
static void test_forced_widths(void **state) {
  (void)state;
  tj_function *fn = open_function("plain8");
  static const struct {
    tj_dtype dtype;
    const char *one, *sixteen, *other;
  } rows[] = {{TJ_I8, "x=i8:1", "x=i8:16", "x=i8"},     {TJ_I16, "x=i16:1", "x=i16:16", "x=i16"},
              {TJ_I32, "x=i32:1", "x=i32:16", "x=i32"}, {TJ_I64, "x=i64:1", "x=i64:16", "x=i64"},
              {TJ_U8, "x=u8:1", "x=u8:16", "x=u8"},     {TJ_U16, "x=u16:1", "x=u16:16", "x=u16"},
              {TJ_U32, "x=u32:1", "x=u32:16", "x=u32"}, {TJ_U64, "x=u64:1", "x=u64:16", "x=u64"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_string_equal(variant_of(fn, ARGS(tj_signed(rows[i].dtype, 1))), rows[i].one);
    assert_string_equal(variant_of(fn, ARGS(tj_signed(rows[i].dtype, 16))), rows[i].sixteen);
    assert_string_equal(variant_of(fn, ARGS(tj_signed(rows[i].dtype, 3))), rows[i].other);
  }
  assert_ptr_not_equal(prepare_kernel(fn, ARGS(tj_i32(1))), prepare_kernel(fn, ARGS(tj_int(1))));
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_i32(5))), prepare_kernel(fn, ARGS(tj_int(5))));
  /* The makers keep their value's sign. */
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(fn, ARGS(tj_i8(-1)), params), 1);
  assert_int_equal(params[0], 0xff);
  assert_int_equal(packed(fn, ARGS(tj_u8(255)), params), 1);
  assert_int_equal(packed(fn, ARGS(tj_i16(-2)), params), 2);
  assert_int_equal(word(params, 2), 0xfffe);
  assert_int_equal(packed(fn, ARGS(tj_u16(65535)), params), 2);
  assert_int_equal(packed(fn, ARGS(tj_u32(UINT32_MAX)), params), 4);
  assert_int_equal(packed(fn, ARGS(tj_u64(UINT64_MAX)), params), 8);
}

/* R012: a bool is a type of its own, never folded, in any order. */
static void test_bool_R012(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_string_equal(variant_of(fn, ARGS(tj_bool(1))), "n=u1");
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_bool(1))), prepare_kernel(fn, ARGS(tj_bool(0))));
  assert_string_equal(variant_of(fn, ARGS(tj_int(1))), "n=1");
  assert_string_equal(variant_of(fn, ARGS(tj_int(0))), "n=i32:16");
  assert_int_equal(packed(fn, ARGS(tj_bool(7)), params), 1);
  assert_int_equal(params[0], 1);
  assert_int_equal(packed(fn, ARGS(tj_bool(0)), params), 1);
  assert_int_equal(params[0], 0);
  /* Given to an annotated integer it is 0 or 1, not specialised. */
  assert_string_equal(variant_of(open_function("i64"), ARGS(tj_bool(1))), "n=i64");
  assert_int_equal(packed(open_function("i64"), ARGS(tj_bool(1)), params), 8);
  assert_true(word(params, 8) == 1);
  /* A forced u1 is the same thing. */
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_unsigned(TJ_U1, 1))),
                   prepare_kernel(fn, ARGS(tj_bool(0))));
  assert_string_equal(variant_of(open_function("u1"), ARGS(tj_int(1))), "n=u1");
}

/* R022: variants are shared, values are not. */
static void test_value_is_current_R022(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  uint8_t params[TJ_NULL_PARAMS_MAX];
  static const int64_t values[] = {32, 1024, 32};
  for (size_t i = 0; i < COUNT(values); i++) {
    packed(fn, ARGS(tj_int(values[i])), params);
    assert_int_equal(word(params, 4), values[i]);
  }
}

static void test_wrong_kinds(void **state) {
  (void)state;
  tj_function *fn = open_function("i32");
  tj_arg item = tj_int(1);
  assert_fails(call(fn, ARGS(tj_float(1.0))), TJ_E_ARGUMENT_TYPE, "i32: parameter 0 'n'",
               "of type i32", "float 1");
  assert_fails(call(fn, ARGS(tj_f16(1.0))), TJ_E_ARGUMENT_TYPE, "scalar of type fp16");
  assert_fails(call(fn, ARGS(tj_none())), TJ_E_ARGUMENT_TYPE, "None");
  assert_fails(call(fn, ARGS(tj_string("a", 1))), TJ_E_ARGUMENT_TYPE, "string of 1 bytes");
  assert_fails(call(fn, ARGS(tj_ptr(NULL, TJ_FP32))), TJ_E_ARGUMENT_TYPE, "pointer to fp32");
  assert_fails(call(fn, ARGS(tj_tuple(&item, 1))), TJ_E_ARGUMENT_TYPE, "tuple of 1 items");
  assert_fails(call(fn, ARGS(tj_type(TJ_FP16))), TJ_E_ARGUMENT_TYPE, "dtype fp16");
  assert_fails(call(fn, ARGS(tj_fn(fn))), TJ_E_ARGUMENT_TYPE, "function");
  assert_fails(call(fn, ARGS(tj_f8(TJ_FP8E5, 1))), TJ_E_ARGUMENT_TYPE, "scalar of type fp8e5");
  fn = open_function("plain");
  assert_fails(call(fn, ARGS(tj_signed(TJ_DTYPE_NONE, 1))), TJ_E_ARGUMENT_TYPE, "0 is no dtype");
  assert_fails(call(fn, ARGS(tj_signed(TJ_VOID, 1))), TJ_E_ARGUMENT_TYPE, "19 is no dtype");
  assert_fails(call(fn, ARGS(tj_signed(999, 1))), TJ_E_ARGUMENT_TYPE, "999 is no dtype");
  tj_arg unknown = {.kind = 200};
  assert_fails(call(fn, &unknown, 1), TJ_E_INVALID, "200 is no kind of argument");
  assert_fails(call(open_function("i32"), &unknown, 1), TJ_E_INVALID, "200");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_value_rule, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unsigned_range, setup, teardown),
      cmocka_unit_test_setup_teardown(test_three_variants_R002, setup, teardown),
      cmocka_unit_test_setup_teardown(test_do_not_specialize, setup, teardown),
      cmocka_unit_test_setup_teardown(test_do_not_specialize_on_alignment, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_hints_R016, setup, teardown),
      cmocka_unit_test_setup_teardown(test_annotated_int64_R003, setup, teardown),
      cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
      cmocka_unit_test_setup_teardown(test_forced_widths, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bool_R012, setup, teardown),
      cmocka_unit_test_setup_teardown(test_value_is_current_R022, setup, teardown),
      cmocka_unit_test_setup_teardown(test_wrong_kinds, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.integers", tests, NULL, NULL);
}
