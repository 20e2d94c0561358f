/* SPDX-License-Identifier: Apache-2.0 */
/* Constexpr parameters: which values they take, and which of them are one variant. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const fake_function table[] = {
    {.name = "one", .params = FAKE_CONSTEXPR("X")},
    {.name = "other", .params = FAKE_CONSTEXPR("Y")},
    {.name = "block", .params = FAKE_PARAM("x") FAKE_NEXT FAKE_CONSTEXPR("BLOCK")},
    {.name = "plain", .params = FAKE_PARAM("x")},
    {.name = "nothing", .params = ""},
};

FAKE_FIXTURE(table)

/* What the compiler was asked for: the value of the last request's first argument, as text. */
static char *asked_for(tj_arg arg) {
  tj_function *fn = open_function("one");
  (void)prepare_kernel(fn, &arg, 1);
  char *request = fake_last_request();
  assert_non_null(request);
  cJSON *json = cJSON_Parse(request);
  free(request);
  char *text =
      cJSON_PrintUnformatted(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "args"), 0));
  cJSON_Delete(json);
  return text;
}

static void assert_asked(tj_arg arg, const char *expected) {
  char *text = asked_for(arg);
  assert_string_equal(text, expected);
  cJSON_free(text);
}

/* R029: the exact value reaches the compiler, and no type with it. */
static void test_values_reach_the_compiler_R029(void **state) {
  (void)state;
  assert_asked(tj_none(), "{\"none\":1}");
  assert_asked(tj_bool(1), "{\"bool\":true}");
  assert_asked(tj_bool(0), "{\"bool\":false}");
  assert_asked(tj_int(0), "{\"int\":\"0\"}");
  assert_asked(tj_int(1), "{\"int\":\"1\"}");
  assert_asked(tj_int(-((int64_t)1 << 31) - 1), "{\"int\":\"-2147483649\"}");
  assert_asked(tj_int((int64_t)1 << 31), "{\"int\":\"2147483648\"}");
  assert_asked(tj_int(((int64_t)1 << 32) - 1), "{\"int\":\"4294967295\"}");
  assert_asked(tj_int((int64_t)1 << 32), "{\"int\":\"4294967296\"}");
  assert_asked(tj_int(INT64_MIN), "{\"int\":\"-9223372036854775808\"}");
  assert_asked(tj_uint(1ull << 63), "{\"int\":\"9223372036854775808\"}");
  assert_asked(tj_uint(UINT64_MAX), "{\"int\":\"18446744073709551615\"}");
  assert_asked(tj_u32(UINT32_MAX - 1), "{\"int\":\"4294967294\"}");
  assert_asked(tj_i8(-1), "{\"int\":\"-1\"}");
  assert_asked(tj_type(TJ_FP8E4NV), "{\"dtype\":\"fp8e4nv\"}");
  assert_asked(tj_type(TJ_VOID), "{\"dtype\":\"void\"}");
  assert_asked(tj_string("", 0), "{\"str\":\"\"}");
  assert_asked(tj_string("a,b:16", 6), "{\"str\":\"612c623a3136\"}");
}

/* A float comes back bit for bit from its text. */
static void test_floats_are_exact(void **state) {
  (void)state;
  static const double values[] = {0.0,
                                  -0.0,
                                  1.0,
                                  0.1,
                                  -1.5,
                                  3.0,
                                  1e300,
                                  1e-5,
                                  0x1p-1074,
                                  -0x1p-1022,
                                  0x1.fffffffffffffp+1023,
                                  1.0 / 3,
                                  65504.0,
                                  1e15,
                                  1e22};
  for (size_t i = 0; i < COUNT(values); i++) {
    char *text = asked_for(tj_float(values[i]));
    assert_true(strncmp(text, "{\"float\":\"", 10) == 0);
    double back = strtod(text + 10, NULL);
    uint64_t bits, expected;
    memcpy(&bits, &back, 8);
    memcpy(&expected, &values[i], 8);
    if (bits != expected) fail_msg("%a came back as %a from %s", values[i], back, text);
    cJSON_free(text);
  }
  assert_asked(tj_float(INFINITY), "{\"float\":\"inf\"}");
  assert_asked(tj_float(-INFINITY), "{\"float\":\"-inf\"}");
  assert_asked(tj_float((double)NAN), "{\"float\":\"nan\"}");
  assert_ptr_equal(prepare_kernel(open_function("one"), ARGS(tj_float((double)NAN))),
                   prepare_kernel(open_function("one"), ARGS(tj_float(-(double)NAN))));
}

/* R019, R031: these all look alike, and each is a variant of its own. */
static void test_distinct_values_R019_R031(void **state) {
  (void)state;
  tj_function *fn = open_function("one");
  const tj_arg pair[] = {tj_int(1), tj_int(2)}, nested[] = {tj_tuple(pair, 2)};
  const tj_arg strings[] = {tj_string("a", 1), tj_string("b", 1)};
  const tj_arg comma[] = {tj_string("a,b", 3)};
  const tj_arg values[] = {
      tj_none(),
      tj_bool(1),
      tj_bool(0),
      tj_int(1),
      tj_int(0),
      tj_int(-1),
      tj_float(1.0),
      tj_float(0.0),
      tj_float(-0.0),
      tj_uint(UINT64_MAX),
      tj_string("1", 1),
      tj_string("", 0),
      tj_string("True", 4),
      tj_string("None", 4),
      tj_string("relu", 4),
      tj_string("a,b:16", 6),
      tj_string("a\0b", 3),
      tj_string("a", 1),
      tj_string("fp16", 4),
      tj_string("'", 1),
      tj_string("\"", 1),
      tj_string("\\", 1),
      tj_string("\xc3\xa9", 2),
      tj_type(TJ_FP16),
      tj_type(TJ_I8),
      tj_tuple(NULL, 0),
      tj_tuple(pair, 1),
      tj_tuple(pair, 2),
      tj_tuple(nested, 1),
      tj_tuple(strings, 2),
      tj_tuple(comma, 1),
      tj_fn(open_function("other")),
      tj_fn(open_function("plain")),
  };
  tj_kernel *kernels[COUNT(values)];
  for (size_t i = 0; i < COUNT(values); i++) {
    kernels[i] = prepare_kernel(fn, &values[i], 1);
    assert_ptr_equal(prepare_kernel(fn, &values[i], 1), kernels[i]);
    for (size_t j = 0; j < i; j++)
      if (kernels[i] == kernels[j]) fail_msg("values %zu and %zu share a variant", i, j);
  }
}

/* The same value by another maker is the same variant. */
static void test_equal_values(void **state) {
  (void)state;
  tj_function *fn = open_function("one");
  tj_kernel *five = prepare_kernel(fn, ARGS(tj_int(5)));
  assert_ptr_equal(five, prepare_kernel(fn, ARGS(tj_uint(5))));
  assert_ptr_equal(five, prepare_kernel(fn, ARGS(tj_i8(5))));
  assert_ptr_equal(five, prepare_kernel(fn, ARGS(tj_u64(5))));
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_bool(1))),
                   prepare_kernel(fn, ARGS(tj_unsigned(TJ_U1, 1))));
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_float(2.5))), prepare_kernel(fn, ARGS(tj_f32(2.5))));
  char other[] = "relu";
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_string("relu", 4))),
                   prepare_kernel(fn, ARGS(tj_string(other, 4))));
}

/* Strings with any bytes arrive unchanged. */
static void test_any_bytes_R019(void **state) {
  (void)state;
  char bytes[256], hex[2 * 256 + 16], expected[2 * 256 + 32];
  for (int i = 0; i < 256; i++) {
    bytes[i] = (char)i;
    (void)snprintf(hex + (size_t)2 * (size_t)i, 3, "%02x", (unsigned)i);
  }
  (void)snprintf(expected, sizeof expected, "{\"str\":\"%s\"}", hex);
  assert_asked(tj_string(bytes, 256), expected);
  /* Its description is text that a reader can tell apart from others. */
  tj_function *fn = open_function("one");
  assert_string_equal(variant_of(fn, ARGS(tj_string("relu", 4))), "X='relu'");
  assert_string_equal(variant_of(fn, ARGS(tj_string("a\0b\n", 4))), "X='a\\x00b\\x0a'");
  assert_string_equal(variant_of(fn, ARGS(tj_string("\xc3\xa9", 2))), "X='\xc3\xa9'");
  assert_string_equal(variant_of(fn, ARGS(tj_string("'\\", 2))), "X='\\'\\\\'");
  assert_string_equal(variant_of(fn, ARGS(tj_float(1.0))), "X=1.0");
  assert_string_equal(variant_of(fn, ARGS(tj_float(0.5))), "X=0.5");
  assert_string_equal(variant_of(fn, ARGS(tj_float(1e300))), "X=1e+300");
  assert_string_equal(variant_of(fn, ARGS(tj_int(1))), "X=1");
  assert_string_equal(variant_of(fn, ARGS(tj_none())), "X=None");
  assert_string_equal(variant_of(fn, ARGS(tj_bool(0))), "X=False");
  assert_string_equal(variant_of(fn, ARGS(tj_type(TJ_BF16))), "X=bf16");
}

/* R018: tuples of constants, nested ones too. */
static void test_tuples_R018(void **state) {
  (void)state;
  const tj_arg inner[] = {tj_int(2), tj_int(2)};
  const tj_arg items[] = {tj_int(8),     tj_tuple(inner, 2), tj_string("x", 1), tj_none(),
                          tj_float(0.5), tj_type(TJ_I32),    tj_tuple(NULL, 0)};
  assert_asked(tj_tuple(items, COUNT(items)),
               "{\"tuple\":[{\"int\":\"8\"},{\"tuple\":[{\"int\":\"2\"},{\"int\":\"2\"}]},"
               "{\"str\":\"78\"},{\"none\":1},{\"float\":\"0x10000000000000p-53\"},"
               "{\"dtype\":\"i32\"},{\"tuple\":[]}]}");
  tj_function *fn = open_function("one");
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(items, 2))), "X=(8, (2, 2))");
  /* 1 in a constexpr tuple is a constant as any other. */
  const tj_arg ones[] = {tj_int(1), tj_int(1)};
  assert_string_equal(variant_of(fn, ARGS(tj_tuple(ones, 2))), "X=(1, 1)");
  const tj_arg mixed[] = {tj_int(8), tj_ptr(NULL, TJ_FP32)};
  assert_fails(call(fn, ARGS(tj_tuple(mixed, 2))), TJ_E_ARGUMENT_TYPE, "parameter 0 'X'[1]",
               "pointer to fp32");
}

/* R027: one variant a value, and the second time is a hit. */
static void test_changing_constexpr_R027(void **state) {
  (void)state;
  tj_function *fn = open_function("block");
  static const int64_t blocks[] = {64, 128, 64, 256};
  tj_stats before = stats_of(fn);
  for (size_t i = 0; i < COUNT(blocks); i++)
    assert_status(call(fn, ARGS(tj_int(5), tj_int(blocks[i]))), TJ_OK);
  tj_stats after = stats_of(fn);
  assert_int_equal(after.variants - before.variants, 3);
  assert_int_equal(after.hits - before.hits, 1);
  assert_int_equal(fake_compiles(), 3);
}

/* R023: no run-time arguments, and no arguments at all. */
static void test_no_arguments_R023(void **state) {
  (void)state;
  uint8_t params[TJ_NULL_PARAMS_MAX];
  tj_function *fn = open_function("nothing");
  assert_status(call(fn, NULL, 0), TJ_OK);
  assert_int_equal(packed(fn, NULL, 0, params), 0);
  assert_string_equal(variant_of(fn, NULL, 0), "");
  assert_string_equal(types_of(fn, NULL, 0), "");
  assert_int_equal(packed(open_function("one"), ARGS(tj_int(64)), params), 0);
  assert_fails(call(fn, ARGS(tj_int(1))), TJ_E_TOO_MANY_ARGUMENTS, "'nothing'", "takes 0",
               "gave 1");
}

/* A function as an argument, of a constexpr or of another parameter. */
static void test_functions(void **state) {
  (void)state;
  tj_function *fn = open_function("plain"), *other = open_function("other");
  tj_kernel *kernel = prepare_kernel(fn, ARGS(tj_fn(other)));
  assert_ptr_equal(kernel, prepare_kernel(fn, ARGS(tj_fn(open_function("other")))));
  tj_kernel_info info = {.struct_size = sizeof info};
  assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
  assert_true(strncmp(info.variant, "x=<function ", 12) == 0);
  assert_string_equal(info.types, "");
  /* On another backend it is the same function. */
  tj_function *sibling;
  assert_status(tj_function_on(other, "cpu", &sibling), TJ_OK);
  assert_ptr_equal(kernel, prepare_kernel(fn, ARGS(tj_fn(sibling))));
  char *request = fake_last_request();
  assert_contains(request, "{\"function\":\"");
  free(request);
  assert_fails(call(fn, ARGS(tj_fn(NULL))), TJ_E_NULL, "parameter 0 'x'", "tj_function is NULL");
  assert_fails(call(open_function("one"), ARGS(tj_fn(NULL))), TJ_E_NULL, "parameter 0 'X'");
}

static void test_refused(void **state) {
  (void)state;
  tj_function *fn = open_function("one");
  tj_buffer buffer = {.struct_size = sizeof buffer};
  assert_fails(call(fn, ARGS(tj_buf(&buffer))), TJ_E_ARGUMENT_TYPE, "one: parameter 0 'X'",
               "buffer");
  assert_fails(call(fn, ARGS(tj_tensor(&buffer))), TJ_E_ARGUMENT_TYPE, "DLPack tensor");
  assert_fails(call(fn, ARGS(tj_desc(NULL))), TJ_E_ARGUMENT_TYPE, "tensor descriptor");
  assert_fails(call(fn, ARGS(tj_f8(TJ_FP8E5, 1))), TJ_E_ARGUMENT_TYPE, "scalar of type fp8e5");
  assert_fails(call(fn, ARGS(tj_type(TJ_DTYPE_NONE))), TJ_E_ARGUMENT_TYPE, "0 is not a dtype");
  assert_fails(call(fn, ARGS(tj_type(20))), TJ_E_ARGUMENT_TYPE, "20 is not a dtype");
  assert_fails(call(fn, ARGS(tj_string(NULL, 3))), TJ_E_NULL, "string has 3 bytes");
  assert_fails(call(fn, ARGS(tj_tuple(NULL, 3))), TJ_E_NULL, "tuple has 3 items");
  assert_status(call(fn, ARGS(tj_string(NULL, 0))), TJ_OK);
  tj_arg unknown = {.kind = 99};
  assert_fails(call(fn, &unknown, 1), TJ_E_ARGUMENT_TYPE, "unknown kind 99");
  assert_fails(call(fn, NULL, 0), TJ_E_CONSTEXPR_MISSING, "one: parameter 0 'X'", "no default",
               "1 argument");
  fn = open_function("plain");
  assert_fails(call(fn, ARGS(tj_string("a", 1))), TJ_E_UNSUPPORTED_ARGUMENT,
               "plain: parameter 0 'x'", "string of 1 bytes", "tl.constexpr");
  assert_fails(call(fn, ARGS(tj_type(TJ_FP16))), TJ_E_UNSUPPORTED_ARGUMENT, "dtype fp16");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_values_reach_the_compiler_R029, setup, teardown),
      cmocka_unit_test_setup_teardown(test_floats_are_exact, setup, teardown),
      cmocka_unit_test_setup_teardown(test_distinct_values_R019_R031, setup, teardown),
      cmocka_unit_test_setup_teardown(test_equal_values, setup, teardown),
      cmocka_unit_test_setup_teardown(test_any_bytes_R019, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tuples_R018, setup, teardown),
      cmocka_unit_test_setup_teardown(test_changing_constexpr_R027, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_arguments_R023, setup, teardown),
      cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.constants", tests, NULL, NULL);
}
