/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor descriptors from the host: class, packed values, every way of being none. */
#include "unit.h"

#include <stdio.h>

#include "cache/variant.h"

static const fake_function table[] = {
    {.name = "plain", .params = FAKE_PARAM("x")},
    {.name = "classes", .params = FAKE_PARAM("x")},
    {.name = "loose", .params = FAKE_WITH("x", "'specialize':false,'align':false")},
    {.name = "between",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_PARAM("x") FAKE_NEXT FAKE_PARAM("b")},
    {.name = "tuple", .params = FAKE_PARAM("t")},
    {.name = "typed", .params = FAKE_TYPED("x", "i64")},
    {.name = "pointer", .params = FAKE_TYPED("x", "*fp16")},
    {.name = "constexpr", .params = FAKE_CONSTEXPR("X")},
    {.name = "triton33", .params = FAKE_PARAM("x"), .triton = "3.3.1"},
    {.name = "triton34", .params = FAKE_PARAM("x"), .triton = "3.4.0"},
    {.name = "triton36", .params = FAKE_PARAM("x"), .triton = "3.6.0"},
    {.name = "triton39", .params = FAKE_PARAM("x"), .triton = "3.9.0"},
    {.name = "ten",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_PARAM("b") FAKE_NEXT FAKE_PARAM("c")
         FAKE_NEXT FAKE_PARAM("d") FAKE_NEXT FAKE_PARAM("e") FAKE_NEXT FAKE_PARAM("f")
             FAKE_NEXT FAKE_PARAM("g") FAKE_NEXT FAKE_PARAM("h") FAKE_NEXT FAKE_PARAM("i")
                 FAKE_NEXT FAKE_PARAM("j")},
};

FAKE_FIXTURE(table)

/* Of rank 3, all of it valid. */
static tj_tensor_desc good(void) {
  const int64_t shape[] = {5, 7, 100}, strides[] = {1 << 20, 128, 1};
  const uint32_t block[] = {1, 16, 32};
  return tj_tensor_desc_make(address_of(0x12340), TJ_FP16, 3, shape, strides, block);
}

/* ---- class ------------------------------------------------------------------------------------- */

static void test_what_chooses_the_variant(void **state) {
  (void)state;
  tj_function *fn = open_function("classes");
  tj_tensor_desc desc = good();
  tj_kernel *kernel = prepare_kernel(fn, ARGS(tj_desc(&desc)));
  assert_string_equal(variant_of(fn, ARGS(tj_desc(&desc))), "x=tensordesc<fp16[1, 16, 32]>");
  /* Run-time values, all of them. */
  desc.base = address_of(0x20);
  desc.shape[0] = 1;
  desc.shape[2] = 16;
  desc.strides[0] = 16;
  desc.strides[1] = -8;
  desc.padding = TJ_PADDING_NAN;
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_desc(&desc))), kernel);
  /* What lies behind the rank is nobody's business. */
  desc.shape[3] = -1;
  desc.strides[4] = 3;
  desc.block[3] = 3;
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_desc(&desc))), kernel);
  desc = good();
  for (int i = 0; i < 3; i++) {
    desc.block[i] *= 2;
    assert_ptr_not_equal(prepare_kernel(fn, ARGS(tj_desc(&desc))), kernel);
    desc.block[i] /= 2;
  }
  desc.dtype = TJ_BF16;
  assert_ptr_not_equal(prepare_kernel(fn, ARGS(tj_desc(&desc))), kernel);
  /* Block sizes of 1 at the end do not hide the rank. */
  desc = good();
  desc.block[2] = 1;
  tj_kernel *deep = prepare_kernel(fn, ARGS(tj_desc(&desc)));
  desc.rank = 2;
  desc.strides[1] = 1;
  assert_ptr_not_equal(prepare_kernel(fn, ARGS(tj_desc(&desc))), deep);
  assert_string_equal(variant_of(fn, ARGS(tj_desc(&desc))), "x=tensordesc<fp16[1, 16]>");
}

static void test_every_dtype_and_rank(void **state) {
  (void)state;
  tj_function *fn = open_function("plain"), *loose = open_function("loose");
  for (int number = TJ_U1; number < TJ_VOID; number++) {
    tj_dtype dtype = (tj_dtype)number;
    for (uint8_t rank = 1; rank <= TJ_DESC_MAX_RANK; rank++) {
      const int64_t shape[] = {16, 16, 16, 16, 16};
      const uint32_t block[] = {2, 4, 1, 8, 16};
      tj_tensor_desc desc = tj_tensor_desc_make(address_of(16), dtype, rank, shape, NULL, block);
      static const char *const blocks[] = {"2", "2, 4", "2, 4, 1", "2, 4, 1, 8", "2, 4, 1, 8, 16"};
      char expected[64];
      (void)snprintf(expected, sizeof expected, "x=tensordesc<%s[%s]>", tj_dtype_name(dtype),
                     blocks[rank - 1]);
      assert_string_equal(variant_of(fn, ARGS(tj_desc(&desc))), expected);
      assert_string_equal(variant_of(loose, ARGS(tj_desc(&desc))), expected);
    }
  }
}

/* ---- values ------------------------------------------------------------------------------------ */

static int64_t wide_at(const uint8_t *params, size_t offset) {
  int64_t value;
  memcpy(&value, params + offset, 8);
  return value;
}

static int32_t narrow_at(const uint8_t *params, size_t offset) {
  int32_t value;
  memcpy(&value, params + offset, 4);
  return value;
}

/* Offsets worked out by hand, for one, two and no flags; rank 3. */
static void test_packed_by_version(void **state) {
  (void)state;
  static const struct {
    const char *name, *types;
    uint32_t flags, shape, strides;
  } rows[] = {
      {"triton34", "*fp32,i64,i64,i64,i64,i64,i64,i32,i32,i32,i64,i64,i64", 0, 56, 72},
      {"triton36", "*fp32,i64,i64,i64,i64,i64,i64,u1,i32,i32,i32,i64,i64,i64", 1, 60, 72},
      {"triton39", "*fp32,i64,i64,i64,i64,i64,i64,u1,u1,i32,i32,i32,i64,i64,i64", 2, 60, 72},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_function *fn = open_function(rows[i].name);
    tj_tensor_desc desc = good();
    desc.dtype = TJ_FP32;
    desc.strides[0] = -64;
    desc.padding = rows[i].flags > 0 ? TJ_PADDING_NAN : TJ_PADDING_ZERO;
    desc.flags = rows[i].flags > 1 ? TJ_DESC_ROUND_TF32 : 0;
    uint8_t params[TJ_NULL_PARAMS_MAX];
    assert_int_equal(packed(fn, ARGS(tj_desc(&desc)), params), rows[i].strides + 24);
    assert_string_equal(types_of(fn, ARGS(tj_desc(&desc))), rows[i].types);
    assert_int_equal(wide_at(params, 0), 0x12340);
    for (size_t d = 0; d < 3; d++) {
      assert_int_equal(wide_at(params, 8 + 8 * d), desc.shape[d]);
      assert_int_equal(wide_at(params, 32 + 8 * d), desc.strides[d]);
      assert_int_equal(narrow_at(params, rows[i].shape + 4 * d), desc.shape[d]);
      assert_int_equal(wide_at(params, rows[i].strides + 8 * d), desc.strides[d]);
    }
    for (uint32_t flag = 0; flag < rows[i].flags; flag++) assert_int_equal(params[56 + flag], 1);
  }
}

/* Which flag is which. */
static void test_packed_flags(void **state) {
  (void)state;
  tj_function *fn = open_function("triton39");
  tj_tensor_desc desc = good();
  desc.dtype = TJ_FP32;
  for (int flags = 0; flags < 4; flags++) {
    desc.padding = flags & 1 ? TJ_PADDING_NAN : TJ_PADDING_ZERO;
    desc.flags = flags & 2 ? TJ_DESC_ROUND_TF32 : 0;
    uint8_t params[TJ_NULL_PARAMS_MAX];
    assert_int_equal(packed(fn, ARGS(tj_desc(&desc)), params), 96);
    assert_int_equal(params[56], flags & 1);
    assert_int_equal(params[57], flags >> 1);
  }
}

/* Its neighbours lie where the slots say, and the first of its slots tells the rank. */
static void test_packed_between_others(void **state) {
  (void)state;
  tj_function *fn = open_function("between");
  for (uint8_t rank = 1; rank <= TJ_DESC_MAX_RANK; rank++) {
    const int64_t shape[] = {INT32_MAX, 32, 48, 64, 16};
    const uint32_t block[] = {1, 2, 4, 8, 16};
    tj_tensor_desc desc =
        tj_tensor_desc_make(address_of(0x7ffffff0), TJ_I8, rank, shape, NULL, block);
    const tj_arg args[] = {tj_i8(-3), tj_desc(&desc), tj_i8(-5)};
    uint8_t params[TJ_NULL_PARAMS_MAX];
    uint32_t size = packed(fn, args, 3, params);
    tj_kernel *kernel = prepare_kernel(fn, args, 3);
    tj_kernel_info info = {.struct_size = sizeof info};
    assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
    assert_int_equal(info.n_params, 4 * rank + 4);
    assert_int_equal(info.params_size, size);
    tj_kernel_param param = {.struct_size = sizeof param};
    int64_t expected[32] = {-3, 0x7ffffff0};
    for (int i = 0; i < rank; i++) {
      expected[2 + i] = expected[3 + 2 * rank + i] = shape[i];
      expected[2 + rank + i] = expected[3 + 3 * rank + i] = desc.strides[i];
    }
    expected[2 + 2 * rank] = 0;
    expected[3 + 4 * rank] = -5;
    for (uint32_t i = 0; i < info.n_params; i++) {
      assert_status(tj_kernel_get_param(kernel, i, &param), TJ_OK);
      assert_int_equal(param.pointer, i == 1);
      assert_int_equal(kernel->artifact.slots[i].rank, i == 1 ? rank : 0);
      assert_int_equal(param.offset % param.size, 0);
      int64_t value = param.size == 8   ? wide_at(params, param.offset)
                      : param.size == 4 ? narrow_at(params, param.offset)
                                        : (int8_t)params[param.offset];
      assert_int_equal(value, expected[i]);
    }
  }
}

static void test_dense_strides(void **state) {
  (void)state;
  const int64_t shape[] = {3, 5, 16};
  const uint32_t block[] = {1, 4, 16};
  tj_tensor_desc desc = tj_tensor_desc_make(address_of(64), TJ_U8, 3, shape, NULL, block);
  const int64_t expected[] = {80, 16, 1, 0, 0};
  assert_memory_equal(desc.strides, expected, sizeof expected);
  assert_int_equal(desc.struct_size, sizeof desc);
  assert_ptr_equal(desc.base, address_of(64));
  assert_int_equal(desc.block[2], 16);
  assert_int_equal(desc.block[3] + desc.padding + desc.flags, 0);
}

/* Ten of rank 5 are beyond the inline buffers; the values are as of those that are not. */
static void test_many(void **state) {
  (void)state;
  tj_function *fn = open_function("ten");
  tj_tensor_desc descs[10];
  tj_arg args[10];
  for (int i = 0; i < 10; i++) {
    const int64_t shape[] = {i + 1, 2, 3, 4, 16};
    const uint32_t block[] = {1, 1, 1, 1, 16};
    descs[i] =
        tj_tensor_desc_make(address_of(16 * (uintptr_t)(i + 1)), TJ_FP32, 5, shape, NULL, block);
    args[i] = tj_desc(&descs[i]);
  }
  const size_t size = 8 + 80 + 4 + 20 + 40; /* of each; a multiple of 8 */
  uint8_t params[TJ_NULL_PARAMS_MAX];
  for (int round = 0; round < 3; round++) { /* compiled, hit, hit by keyword */
    tj_arg given[10];
    memcpy(given, args, sizeof args);
    if (round == 2) given[9] = tj_keyword(9, &args[9]);
    assert_int_equal(packed(fn, given, 10, params), 10 * size);
    for (size_t i = 0; i < 10 && (i + 1) * size <= TJ_NULL_PARAMS_MAX; i++) {
      assert_int_equal(wide_at(params, i * size), 16 * (i + 1));
      assert_int_equal(wide_at(params, i * size + 8), i + 1);
      assert_int_equal(narrow_at(params, i * size + 92), i + 1);
      assert_int_equal(wide_at(params, i * size + 112 + 24), 16);
    }
  }
  /* Among elements of a tuple, too. */
  uint8_t nested[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(open_function("tuple"), ARGS(tj_tuple(args, 10)), nested), 10 * size);
  assert_int_equal(wide_at(nested, size), 32);
}

/* ---- refused ----------------------------------------------------------------------------------- */

#define REFUSES(change, expected, ...)                     \
  do {                                                     \
    tj_tensor_desc desc = good();                          \
    (change);                                              \
    assert_fails(call(fn, ARGS(tj_desc(&desc))), expected, \
                 "plain: parameter 0 'x': ", __VA_ARGS__); \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  tj_tensor_desc valid = good();
  for (int hit = 0; hit < 2; hit++) { /* before there is a variant, and after */
    assert_fails(call(fn, ARGS(tj_desc(NULL))), TJ_E_NULL, "parameter 0 'x'",
                 "tj_tensor_desc is NULL");
    REFUSES(desc.struct_size = sizeof desc - 1, TJ_E_STRUCT_SIZE, "tj_tensor_desc.struct_size is",
            "119", "120");
    REFUSES(desc.dtype = 0, TJ_E_ARGUMENT_TYPE, "no element type", "dtype 0");
    REFUSES(desc.dtype = TJ_VOID, TJ_E_ARGUMENT_TYPE, "dtype 19");
    REFUSES(desc.dtype = UINT16_MAX, TJ_E_ARGUMENT_TYPE, "dtype 65535");
    REFUSES(desc.rank = 0, TJ_E_ARGUMENT_RANGE, "rank 0", "1 to 5");
    REFUSES(desc.rank = 6, TJ_E_ARGUMENT_RANGE, "rank 6");
    REFUSES(desc.rank = 255, TJ_E_ARGUMENT_RANGE, "rank 255");
    REFUSES(desc.block[1] = 0, TJ_E_INVALID, "block[1]", "is 0", "powers of two");
    REFUSES(desc.block[2] = 24, TJ_E_INVALID, "block[2]", "is 24");
    REFUSES(desc.block[0] = UINT32_MAX, TJ_E_INVALID, "block[0]", "4294967295");
    REFUSES(desc.block[0] = 1u << 12, TJ_E_ARGUMENT_RANGE, "2^21 elements", "2^20");
    REFUSES(desc.block[0] = 1u << 31, TJ_E_ARGUMENT_RANGE, "2^40 elements");
    REFUSES(desc.base = NULL, TJ_E_NULL, "base", "NULL");
    REFUSES(desc.base = address_of(0x12348), TJ_E_INVALID, "base", "0x12348", "16 bytes");
    REFUSES(desc.shape[0] = 0, TJ_E_ARGUMENT_RANGE, "shape[0]", "is 0", "1 to 2147483647");
    REFUSES(desc.shape[1] = -7, TJ_E_ARGUMENT_RANGE, "shape[1]", "is -7");
    REFUSES(desc.shape[2] = (int64_t)INT32_MAX + 1, TJ_E_ARGUMENT_RANGE, "shape[2]", "2147483648");
    REFUSES(desc.shape[2] = INT64_MIN, TJ_E_ARGUMENT_RANGE, "shape[2]");
    REFUSES(desc.strides[0] = 4, TJ_E_INVALID, "strides[0]", "4 elements of 2 bytes", "16 bytes");
    REFUSES(desc.strides[1] = -1, TJ_E_INVALID, "strides[1]", "-1 elements");
    REFUSES(desc.strides[2] = 0, TJ_E_INVALID, "strides[2]", "is 0", "last one is 1");
    REFUSES(desc.strides[2] = 8, TJ_E_INVALID, "strides[2]", "is 8");
    REFUSES(desc.padding = 2, TJ_E_INVALID, "padding", "is 2", "TJ_PADDING_NAN");
    REFUSES(desc.flags = 2, TJ_E_INVALID, "flags", "0x2", "TJ_DESC_ROUND_TF32");
    REFUSES(desc.flags = 0x80000001u, TJ_E_INVALID, "flags", "0x80000001");
    REFUSES((desc.padding = 1, desc.dtype = TJ_I16), TJ_E_ARGUMENT_TYPE, "i16", "NaN");
    REFUSES((desc.padding = 1, desc.dtype = TJ_U1), TJ_E_ARGUMENT_TYPE, "u1", "NaN");
    REFUSES((desc.padding = 1, desc.dtype = TJ_FP8E4B15), TJ_E_ARGUMENT_TYPE, "fp8e4b15", "NaN");
    REFUSES(desc.flags = 1, TJ_E_ARGUMENT_TYPE, "fp16", "tf32", "fp32");
    REFUSES((desc.flags = 1, desc.dtype = TJ_FP32), TJ_E_NOT_SUPPORTED, "3.6.0", "tf32", "3.7");
    assert_status(call(fn, ARGS(tj_desc(&valid))), TJ_OK);
  }
  /* The limits themselves are within. */
  valid.block[0] = 1u << 11;
  valid.shape[0] = INT32_MAX;
  valid.strides[0] = 0;
  valid.strides[1] = INT64_MIN;
  assert_status(call(fn, ARGS(tj_desc(&valid))), TJ_OK);
  for (int dtype = TJ_FP16; dtype < TJ_FP8E4B15; dtype++) {
    valid.dtype = (tj_dtype)dtype;
    valid.padding = TJ_PADDING_NAN;
    valid.strides[1] = 16;
    assert_status(call(fn, ARGS(tj_desc(&valid))), TJ_OK);
  }
}

static void test_refused_by_version(void **state) {
  (void)state;
  tj_tensor_desc desc = good();
  assert_fails(call(open_function("triton33"), ARGS(tj_desc(&desc))), TJ_E_NOT_SUPPORTED,
               "parameter 0 'x'", "triton 3.3.1", "tl.make_tensor_descriptor");
  assert_status(call(open_function("triton34"), ARGS(tj_desc(&desc))), TJ_OK);
  desc.padding = TJ_PADDING_NAN;
  assert_fails(call(open_function("triton34"), ARGS(tj_desc(&desc))), TJ_E_NOT_SUPPORTED,
               "triton 3.4.0", "NaN padding", "3.5");
  desc.dtype = TJ_FP32;
  desc.flags = TJ_DESC_ROUND_TF32;
  assert_status(call(open_function("triton39"), ARGS(tj_desc(&desc))), TJ_OK);
}

static void test_refused_by_the_parameter(void **state) {
  (void)state;
  tj_tensor_desc desc = good();
  assert_fails(call(open_function("typed"), ARGS(tj_desc(&desc))), TJ_E_ARGUMENT_TYPE,
               "parameter 0 'x'", "type i64", "tensor descriptor");
  assert_fails(call(open_function("pointer"), ARGS(tj_desc(&desc))), TJ_E_ARGUMENT_TYPE,
               "type *fp16", "tensor descriptor");
  assert_fails(call(open_function("constexpr"), ARGS(tj_desc(&desc))), TJ_E_ARGUMENT_TYPE,
               "parameter 0 'X'", "tensor descriptor", "compile-time constant");
  desc.base = NULL;
  const tj_arg items[] = {tj_int(2), tj_desc(&desc)};
  const tj_arg outer[] = {tj_tuple(items, 2)};
  assert_fails(call(open_function("tuple"), ARGS(tj_tuple(outer, 1))), TJ_E_NULL,
               "parameter 0 't'[0][1]", "base");
}

/* ---- prepare ----------------------------------------------------------------------------------- */

static void test_spec(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  tj_tensor_desc desc = good();
  tj_kernel *kernel = prepare_kernel(fn, ARGS(tj_desc(&desc)));
  tj_tensor_desc spec = {
      .struct_size = sizeof spec, .dtype = TJ_FP16, .rank = 3, .block = {1, 16, 32}};
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_spec_desc(&spec))), kernel);
  tj_launch launch = one_program();
  int prepared = 0;
  assert_status(tj_function_is_prepared(fn, &launch, ARGS(tj_spec_desc(&spec)), &prepared), TJ_OK);
  assert_int_equal(prepared, 1);
  assert_fails(call(fn, ARGS(tj_spec_desc(&spec))), TJ_E_UNSUPPORTED_ARGUMENT, "TJ_SPEC");
  tj_kernel *none;
  spec.block[0] = 3;
  assert_fails(tj_function_prepare(fn, &launch, ARGS(tj_spec_desc(&spec)), &none), TJ_E_INVALID,
               "block[0]");
  assert_fails(tj_function_prepare(fn, &launch, ARGS(tj_spec_desc(NULL)), &none), TJ_E_NULL,
               "tj_tensor_desc is NULL");
  assert_fails(
      tj_function_prepare(open_function("typed"), &launch, ARGS(tj_spec_desc(&spec)), &none),
      TJ_E_ARGUMENT_TYPE, "type i64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_what_chooses_the_variant, setup, teardown),
      cmocka_unit_test_setup_teardown(test_every_dtype_and_rank, setup, teardown),
      cmocka_unit_test_setup_teardown(test_packed_by_version, setup, teardown),
      cmocka_unit_test_setup_teardown(test_packed_flags, setup, teardown),
      cmocka_unit_test_setup_teardown(test_packed_between_others, setup, teardown),
      cmocka_unit_test_setup_teardown(test_dense_strides, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused_by_version, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused_by_the_parameter, setup, teardown),
      cmocka_unit_test_setup_teardown(test_spec, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.descriptors", tests, NULL, NULL);
}
