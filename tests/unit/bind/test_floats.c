/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of every width: how they are rounded, and what a kernel gets. */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "bind/scalar.h"

static const fake_function table[] = {
    {.name = "plain", .params = FAKE_PARAM("x")},
    {.name = "fp16", .params = FAKE_TYPED("x", "fp16")},
    {.name = "bf16", .params = FAKE_TYPED("x", "bf16")},
    {.name = "fp32", .params = FAKE_TYPED("x", "fp32")},
    {.name = "fp64", .params = FAKE_TYPED("x", "fp64")},
    {.name = "u1", .params = FAKE_TYPED("x", "u1")},
    {.name = "fp8e4nv", .params = FAKE_TYPED("x", "fp8e4nv")},
    {.name = "fp8e5", .params = FAKE_TYPED("x", "fp8e5")},
    {.name = "fp8e4b8", .params = FAKE_TYPED("x", "fp8e4b8")},
    {.name = "fp8e5b16", .params = FAKE_TYPED("x", "fp8e5b16")},
    {.name = "fp8e4b15", .params = FAKE_TYPED("x", "fp8e4b15")},
};

FAKE_FIXTURE(table)

static double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, 8);
  return value;
}

/* ---- fp16, against a reference that only compares ------------------------------------------- */

/* The value of a magnitude in fp16; 0x7c00 as if the exponents went on. Exact. */
static double half_value(uint32_t bits) {
  uint32_t exponent = bits >> 10, fraction = bits & 0x3ff;
  return exponent == 0 ? ldexp((double)fraction, -24)
                       : ldexp((double)(fraction + 1024), (int)exponent - 25);
}

/* Round to nearest even by search; 0x7c00 where it is beyond the range. No rounding happens
   on the way: a midpoint of two fp16 values is a double. */
static uint32_t reference_half(double value) {
  uint32_t sign = signbit(value) ? 0x8000 : 0;
  double magnitude = fabs(value);
  if (magnitude >= 65536.0) return sign | 0x7c00;
  uint32_t low = 0, high = 0x7c00; /* half_value(low) <= magnitude < half_value(high) */
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (half_value(middle) <= magnitude)
      low = middle;
    else
      high = middle;
  }
  double midpoint = (half_value(low) + half_value(low + 1)) / 2;
  bool up = magnitude > midpoint || (magnitude == midpoint && (low & 1));
  return sign | (low + up);
}

static void check_half(double value) {
  uint64_t bits = 0;
  bool fits = tj_float_bits(TJ_FP16, value, &bits);
  uint32_t expected = reference_half(value);
  if (fits != ((expected & 0x7fff) != 0x7c00))
    fail_msg("%a: fits %d, expected bits %04x", value, fits, expected);
  if (fits && bits != expected)
    fail_msg("%a: %04x, expected %04x", value, (unsigned)bits, expected);
}

static void test_half_table(void **state) {
  (void)state;
  static const struct {
    double value;
    uint32_t bits;
  } rows[] = {
      {0.0, 0x0000},
      {-0.0, 0x8000},
      {1.0, 0x3c00},
      {-2.0, 0xc000},
      {0.1, 0x2e66},
      {65504.0, 0x7bff},
      {65519.99, 0x7bff},
      {-65519.99, 0xfbff},
      {0x1p-14, 0x0400},          /* smallest normal */
      {0x1.ff8p-15, 0x03ff},      /* largest subnormal */
      {0x1.ffcp-15, 0x0400},      /* a tie that becomes normal */
      {0x1p-24, 0x0001},          /* smallest subnormal */
      {0x1p-25, 0x0000},          /* a tie with zero: even */
      {0x1.0000000000001p-25, 1}, /* just above it */
      {-0x1p-25, 0x8000},
      {0x1.8p-24, 0x0002}, /* a tie between 1 and 2 */
      {0x1.8p-23, 0x0003},
      {0x1.4p-23, 0x0002}, /* a tie between 2 and 3 */
      {0x1p-26, 0x0000},
      {0x1p-1074, 0x0000}, /* a subnormal double */
      {-0x1p-1074, 0x8000},
      {1.0 + 0x1p-11, 0x3c00}, /* ties to even */
      {1.0 + 0x1.8p-10, 0x3c02},
      {1.0 + 0x1.0000000001p-11, 0x3c01},
      {2047.5, 0x6800}, /* a carry into the exponent */
      {INFINITY, 0x7c00},
      {-INFINITY, 0xfc00},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    uint64_t bits = 0;
    assert_true(tj_float_bits(TJ_FP16, rows[i].value, &bits));
    if (bits != rows[i].bits)
      fail_msg("%a: %04x, expected %04x", rows[i].value, (unsigned)bits, rows[i].bits);
    if (isfinite(rows[i].value)) check_half(rows[i].value);
  }
  static const double beyond[] = {65520.0, -65520.0, 65536.0, 1e5, 1e300, DBL_MAX, -DBL_MAX};
  for (size_t i = 0; i < COUNT(beyond); i++) {
    uint64_t bits = 0;
    assert_false(tj_float_bits(TJ_FP16, beyond[i], &bits));
  }
  static const uint64_t nans[] = {0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001,
                                  0x7fffffffffffffff};
  for (size_t i = 0; i < COUNT(nans); i++) {
    uint64_t bits = 0;
    assert_true(tj_float_bits(TJ_FP16, from_bits(nans[i]), &bits));
    assert_int_equal(bits & 0x7e00, 0x7e00); /* quiet */
    assert_int_equal(bits >> 15, nans[i] >> 63);
    assert_true(bits <= 0xffff);
  }
}

/* Every fp16 value comes back, and so does every tie between two, and its neighbours. */
static void test_half_everywhere(void **state) {
  (void)state;
  for (uint32_t half = 0; half < 0x7c00; half++) {
    double value = half_value(half), tie = (value + half_value(half + 1)) / 2;
    uint64_t bits = 1;
    assert_true(tj_float_bits(TJ_FP16, value, &bits));
    if (bits != half) fail_msg("%04x came back as %04x", half, (unsigned)bits);
    const double around[] = {tie, nextafter(tie, 0), nextafter(tie, 1e9), nextafter(value, 1e9)};
    for (size_t i = 0; i < COUNT(around); i++) {
      check_half(around[i]);
      check_half(-around[i]);
    }
  }
}

static void test_half_random(void **state) {
  (void)state;
  uint64_t random = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 300000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint64_t exponent = 1023 - 30 + (random >> 33) % 50;
    check_half(from_bits((random & 0x800fffffffffffffu) | exponent << 52));
  }
}

/* ---- the others ------------------------------------------------------------------------------- */

static uint64_t bits_of(tj_dtype dtype, double value) {
  uint64_t bits = 0;
  assert_true(tj_float_bits(dtype, value, &bits));
  return bits;
}

/* Cut, not rounded: the upper half of fp32, which itself is rounded. */
static void test_bf16_is_cut(void **state) {
  (void)state;
  assert_int_equal(bits_of(TJ_BF16, 1.0), 0x3f80);
  assert_int_equal(bits_of(TJ_BF16, -0.0), 0x8000);
  assert_int_equal(bits_of(TJ_BF16, 0x1.feffffp+0), 0x3fff);
  assert_int_equal(bits_of(TJ_BF16, 0x1.01fffep+0), 0x3f80);   /* to nearest: 3f81 */
  assert_int_equal(bits_of(TJ_BF16, 0x1.01ffffffp+0), 0x3f81); /* fp32 rounds up first */
  assert_int_equal(bits_of(TJ_BF16, (double)FLT_MAX), 0x7f7f);
  assert_int_equal(bits_of(TJ_BF16, 1e300), 0x7f80);
  assert_int_equal(bits_of(TJ_BF16, -INFINITY), 0xff80);
  assert_int_equal(bits_of(TJ_BF16, (double)NAN) & 0x7fc0, 0x7fc0);
  assert_int_equal(bits_of(TJ_BF16, 0x1p-133), 0x0001); /* subnormals stay */
  assert_int_equal(bits_of(TJ_BF16, 3.14159265), 0x4049);
}

static void test_single_and_double(void **state) {
  (void)state;
  static const double values[] = {0.0,     -0.0,   0.1,      1.5,      1e-30,           1e300,
                                  -1e300,  1e-300, 0x1p-149, 0x1p-150, (double)FLT_MAX, DBL_MAX,
                                  INFINITY};
  for (size_t i = 0; i < COUNT(values); i++) {
    float single = (float)values[i];
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &single, 4);
    memcpy(&bits64, &values[i], 8);
    assert_true(bits_of(TJ_FP32, values[i]) == bits32);
    assert_true(bits_of(TJ_FP64, values[i]) == bits64);
  }
}

/* R006, R007: a double for an unannotated parameter is fp32, as a Python float is; an
   annotation, or a maker of that width, decides otherwise. Converted, never reinterpreted. */
static void test_widths_R006_R007(void **state) {
  (void)state;
  static const struct {
    const char *function;
    tj_arg arg;
    const char *variant;
    uint32_t size;
    uint64_t bits;
  } rows[] = {
      {"plain", {.kind = TJ_FLOAT, .v.f = 0.1}, "x=fp32", 4, 0x3dcccccd},
      {"plain", {.kind = TJ_FLOAT, .v.f = 1e300}, "x=fp32", 4, 0x7f800000},
      {"plain", {.kind = TJ_FLOAT, .v.f = 1.0}, "x=fp32", 4, 0x3f800000},
      {"plain", {.kind = TJ_SCALAR, .dtype = TJ_FP32, .v.f = 0.1}, "x=fp32", 4, 0x3dcccccd},
      {"plain", {.kind = TJ_SCALAR, .dtype = TJ_FP64, .v.f = 0.1}, "x=fp64", 8, 0x3fb999999999999a},
      {"plain", {.kind = TJ_SCALAR, .dtype = TJ_FP16, .v.f = 0.1}, "x=fp16", 2, 0x2e66},
      {"plain", {.kind = TJ_SCALAR, .dtype = TJ_BF16, .v.f = 0.1}, "x=bf16", 2, 0x3dcc},
      {"fp16", {.kind = TJ_FLOAT, .v.f = 0.1}, "x=fp16", 2, 0x2e66},
      {"bf16", {.kind = TJ_FLOAT, .v.f = 0.1}, "x=bf16", 2, 0x3dcc},
      {"fp32", {.kind = TJ_FLOAT, .v.f = 1e-30}, "x=fp32", 4, 0x0da24260},
      {"fp64", {.kind = TJ_FLOAT, .v.f = 0.1}, "x=fp64", 8, 0x3fb999999999999a},
      /* An annotation wins over the maker, and takes integers and bools. */
      {"fp64", {.kind = TJ_SCALAR, .dtype = TJ_FP32, .v.f = 0.1}, "x=fp64", 8, 0x3fb999999999999a},
      {"fp32", {.kind = TJ_INT, .v.i = 1}, "x=fp32", 4, 0x3f800000},
      {"fp64", {.kind = TJ_INT, .v.i = -3}, "x=fp64", 8, 0xc008000000000000},
      {"fp64", {.kind = TJ_UINT, .v.u = UINT64_MAX}, "x=fp64", 8, 0x43f0000000000000},
      {"fp32", {.kind = TJ_BOOL, .v.i = 1}, "x=fp32", 4, 0x3f800000},
      {"fp16", {.kind = TJ_SCALAR, .dtype = TJ_I8, .v.i = -2}, "x=fp16", 2, 0xc000},
  };
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_function *fn = open_function(rows[i].function);
    assert_string_equal(variant_of(fn, &rows[i].arg, 1), rows[i].variant);
    assert_int_equal(packed(fn, &rows[i].arg, 1, params), rows[i].size);
    uint64_t bits = 0;
    memcpy(&bits, params, rows[i].size);
    if (bits != rows[i].bits)
      fail_msg("row %zu: %llx, expected %llx", i, (unsigned long long)bits,
               (unsigned long long)rows[i].bits);
  }
  tj_function *fn = open_function("plain");
  assert_fails(call(fn, ARGS(tj_f16(65520.0))), TJ_E_ARGUMENT_RANGE, "plain: parameter 0 'x'",
               "65520", "fp16", "65504");
  assert_fails(call(open_function("fp16"), ARGS(tj_int(100000))), TJ_E_ARGUMENT_RANGE, "100000",
               "fp16");
  assert_fails(call(open_function("u1"), ARGS(tj_float(1.0))), TJ_E_ARGUMENT_TYPE, "type u1");
  assert_fails(call(open_function("fp32"), ARGS(tj_ptr(NULL, TJ_FP32))), TJ_E_ARGUMENT_TYPE,
               "type fp32", "pointer to fp32");
  assert_fails(call(open_function("fp32"), ARGS(tj_none())), TJ_E_ARGUMENT_TYPE, "None");
  /* Values share a variant: floats are not looked at. */
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_float(0.0))),
                   prepare_kernel(fn, ARGS(tj_float((double)NAN))));
}

/* R009, R010: each of the five fp8 types takes its byte as it is, and only as that. */
static void test_fp8_bytes_R009_R010(void **state) {
  (void)state;
  static const tj_dtype dtypes[] = {TJ_FP8E4NV, TJ_FP8E5, TJ_FP8E4B8, TJ_FP8E5B16, TJ_FP8E4B15};
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (size_t i = 0; i < COUNT(dtypes); i++) {
    const char *name = tj_dtype_name(dtypes[i]);
    tj_function *typed = open_function(name), *plain = open_function("plain");
    static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t b = 0; b < COUNT(bytes); b++) {
      assert_int_equal(packed(typed, ARGS(tj_f8(dtypes[i], bytes[b])), params), 1);
      assert_int_equal(params[0], bytes[b]);
      assert_int_equal(packed(plain, ARGS(tj_f8(dtypes[i], bytes[b])), params), 1);
      assert_int_equal(params[0], bytes[b]);
    }
    assert_string_equal(types_of(typed, ARGS(tj_f8(dtypes[i], 1))), name);
    assert_string_equal(types_of(plain, ARGS(tj_f8(dtypes[i], 1))), name);
    assert_fails(call(typed, ARGS(tj_float(1.0))), TJ_E_ARGUMENT_TYPE, name, "tj_f8");
    assert_fails(call(typed, ARGS(tj_int(1))), TJ_E_ARGUMENT_TYPE, name);
    tj_dtype other = dtypes[(i + 1) % COUNT(dtypes)];
    assert_fails(call(typed, ARGS(tj_f8(other, 1))), TJ_E_ARGUMENT_TYPE, name);
    assert_fails(call(plain, ARGS(tj_unsigned(dtypes[i], 256))), TJ_E_ARGUMENT_RANGE, "one byte",
                 "256");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_half_table),
      cmocka_unit_test(test_half_everywhere),
      cmocka_unit_test(test_half_random),
      cmocka_unit_test(test_bf16_is_cut),
      cmocka_unit_test(test_single_and_double),
      cmocka_unit_test_setup_teardown(test_widths_R006_R007, setup, teardown),
      cmocka_unit_test_setup_teardown(test_fp8_bytes_R009_R010, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.floats", tests, NULL, NULL);
}
