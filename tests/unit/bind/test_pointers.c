/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers, buffers, DLPack tensors. */
#include "unit.h"

#include <stdio.h>

static const fake_function table[] = {
    {.name = "plain", .params = FAKE_PARAM("x")},
    {.name = "classes", .params = FAKE_PARAM("x")},
    {.name = "two", .params = FAKE_PARAM("x") FAKE_NEXT FAKE_PARAM("y")},
    {.name = "no_alignment", .params = FAKE_WITH("x", "'align':false")},
    {.name = "typed", .params = FAKE_TYPED("x", "*fp32")},
    {.name = "to_const", .params = FAKE_WITH("x", "'type':'*kfp16','const':true")},
    {.name = "typed_loose", .params = FAKE_WITH("x", "'type':'*fp32','specialize':false")},
    {.name = "int", .params = FAKE_TYPED("x", "i64")},
    {.name = "constexpr", .params = FAKE_CONSTEXPR("X")},
};

FAKE_FIXTURE(table)

static uint64_t packed_address(tj_function *fn, tj_arg arg) {
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(fn, &arg, 1, params), 8);
  uint64_t address;
  memcpy(&address, params, 8);
  return address;
}

/* R010, R011: every dtype is a pointer type of its own. */
static void test_every_dtype_R010_R011(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  tj_kernel *seen[TJ_VOID + 1] = {0};
  for (int number = 1; number <= TJ_VOID; number++) {
    tj_dtype dtype = (tj_dtype)number;
    char types[24], variant[32];
    (void)snprintf(types, sizeof types, "*%s", tj_dtype_name(dtype));
    (void)snprintf(variant, sizeof variant, "x=%s:16", types);
    tj_arg arg = tj_ptr(address_of(0x1000), dtype);
    assert_string_equal(types_of(fn, &arg, 1), types);
    assert_string_equal(variant_of(fn, &arg, 1), variant);
    seen[dtype] = prepare_kernel(fn, &arg, 1);
    for (tj_dtype other = 1; other < dtype; other++) assert_ptr_not_equal(seen[other], seen[dtype]);
  }
  assert_fails(call(fn, ARGS(tj_ptr(NULL, TJ_DTYPE_NONE))), TJ_E_ARGUMENT_TYPE,
               "plain: parameter 0 'x'", "no element type", "dtype 0");
  assert_fails(call(fn, ARGS(tj_ptr(NULL, TJ_VOID + 1))), TJ_E_ARGUMENT_TYPE, "dtype 20");
  assert_fails(call(fn, ARGS(tj_ptr(NULL, UINT16_MAX))), TJ_E_ARGUMENT_TYPE, "dtype 65535");
}

/* R028: the class follows the address that is passed. */
static void test_alignment_R028(void **state) {
  (void)state;
  tj_function *fn = open_function("classes"), *loose = open_function("no_alignment");
  for (uintptr_t offset = 0; offset <= 32; offset++) {
    tj_arg arg = tj_ptr(address_of(0x10000 + offset), TJ_FP32);
    assert_string_equal(variant_of(fn, &arg, 1), offset % 16 ? "x=*fp32" : "x=*fp32:16");
    assert_string_equal(variant_of(loose, &arg, 1), "x=*fp32");
    assert_true(packed_address(fn, arg) == 0x10000 + offset);
  }
  assert_int_equal(stats_of(fn).variants, 2);
  assert_int_equal(stats_of(loose).variants, 1);
  assert_true(packed_address(fn, tj_ptr(address_of(UINTPTR_MAX), TJ_I8)) == UINTPTR_MAX);
}

/* R028: preparing both classes of both pointers leaves nothing to compile. */
static void test_prepare_all_classes_R028(void **state) {
  (void)state;
  tj_function *fn = open_function("two");
  tj_launch launch = one_program();
  tj_kernel *kernel;
  for (int class_ = 0; class_ < 4; class_++)
    assert_status(tj_function_prepare(
                      fn, &launch,
                      ARGS(tj_spec_ptr(TJ_FP16, class_ & 1), tj_spec_ptr(TJ_FP16, class_ & 2)),
                      &kernel),
                  TJ_OK);
  assert_int_equal(fake_compiles(), 4);
  static const uintptr_t offsets[] = {0, 4, 8, 16, 20};
  for (size_t i = 0; i < COUNT(offsets); i++)
    for (size_t j = 0; j < COUNT(offsets); j++)
      assert_status(call(fn, ARGS(tj_ptr(address_of(0x1000 + offsets[i]), TJ_FP16),
                                  tj_ptr(address_of(0x2000 + offsets[j]), TJ_FP16))),
                    TJ_OK);
  assert_int_equal(fake_compiles(), 4);
}

/* R014, R024: an absent argument is not a null pointer, which is 16-byte aligned. */
static void test_none_and_null_R014_R024(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  assert_string_equal(variant_of(fn, ARGS(tj_none())), "x=None");
  assert_string_equal(types_of(fn, ARGS(tj_none())), "");
  assert_string_equal(variant_of(fn, ARGS(tj_ptr(NULL, TJ_FP32))), "x=*fp32:16");
  assert_true(packed_address(fn, tj_ptr(NULL, TJ_FP32)) == 0);
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(fn, ARGS(tj_none()), params), 0);
  assert_status(call(fn, ARGS(tj_ptr(NULL, TJ_FP32))), TJ_OK);
}

static void test_annotated(void **state) {
  (void)state;
  tj_function *fn = open_function("typed");
  /* The annotation decides the element type. */
  assert_string_equal(variant_of(fn, ARGS(tj_ptr(address_of(16), TJ_I8))), "x=*fp32:16");
  assert_string_equal(variant_of(fn, ARGS(tj_ptr(address_of(4), TJ_DTYPE_NONE))), "x=*fp32");
  /* An address as an integer, and a null pointer as None, as Triton takes them. */
  assert_string_equal(variant_of(fn, ARGS(tj_int(0x1000))), "x=*fp32:16");
  assert_true(packed_address(fn, tj_uint(0xfffffffffffffff8)) == 0xfffffffffffffff8);
  assert_string_equal(variant_of(fn, ARGS(tj_int(1))), "x=*fp32:1");
  assert_true(packed_address(fn, tj_none()) == 0);
  assert_string_equal(types_of(fn, ARGS(tj_none())), "*fp32");
  assert_fails(call(fn, ARGS(tj_float(1.0))), TJ_E_ARGUMENT_TYPE, "type *fp32", "float 1");
  assert_fails(call(fn, ARGS(tj_bool(1))), TJ_E_ARGUMENT_TYPE, "type *fp32", "bool True");
  assert_fails(call(fn, ARGS(tj_i64(16))), TJ_E_ARGUMENT_TYPE, "scalar of type i64");
  tj_function *loose = open_function("typed_loose");
  assert_string_equal(variant_of(loose, ARGS(tj_ptr(address_of(16), TJ_FP32))), "x=*fp32");
  assert_string_equal(variant_of(loose, ARGS(tj_none())), "x=*fp32");
  /* A pointer to const lies in memory as any other. */
  assert_string_equal(types_of(open_function("to_const"), ARGS(tj_ptr(address_of(8), TJ_FP16))),
                      "*fp16");
}

static void test_pointer_for_something_else(void **state) {
  (void)state;
  assert_fails(call(open_function("int"), ARGS(tj_ptr(NULL, TJ_I64))), TJ_E_ARGUMENT_TYPE,
               "type i64", "pointer to i64");
  assert_fails(call(open_function("constexpr"), ARGS(tj_ptr(NULL, TJ_I64))), TJ_E_ARGUMENT_TYPE,
               "constexpr: parameter 0 'X'", "pointer to i64", "compile-time constant");
}

static void test_buffers(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  tj_buffer buffer = {.struct_size = sizeof buffer,
                      .dtype = TJ_BF16,
                      .ptr = address_of(0x20),
                      .size = 64,
                      .device = -1};
  assert_string_equal(variant_of(fn, ARGS(tj_buf(&buffer))), "x=*bf16:16");
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_buf(&buffer))),
                   prepare_kernel(fn, ARGS(tj_ptr(address_of(0x40), TJ_BF16))));
  assert_true(packed_address(fn, tj_buf(&buffer)) == 0x20);
  buffer.ptr = address_of(0x22);
  assert_string_equal(variant_of(fn, ARGS(tj_buf(&buffer))), "x=*bf16");
  buffer.dtype = 0;
  assert_fails(call(fn, ARGS(tj_buf(&buffer))), TJ_E_ARGUMENT_TYPE, "no element type");
  assert_string_equal(variant_of(open_function("typed"), ARGS(tj_buf(&buffer))), "x=*fp32");
  assert_fails(call(fn, ARGS(tj_buf(NULL))), TJ_E_NULL, "parameter 0 'x'", "tj_buffer is NULL");
  buffer.struct_size = sizeof buffer - 1;
  assert_fails(call(fn, ARGS(tj_buf(&buffer))), TJ_E_STRUCT_SIZE, "tj_buffer.struct_size");
}

/* DLTensor, by the DLPack specification and not by the library's own view of it. */
typedef struct dl_tensor {
  void *data;
  struct {
    int32_t device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} dl_tensor;

static void test_tensors(void **state) {
  (void)state;
  static const struct {
    uint8_t code, bits;
    const char *type;
  } rows[] = {{0, 8, "*i8"},       {0, 16, "*i16"},     {0, 32, "*i32"},     {0, 64, "*i64"},
              {1, 8, "*u8"},       {1, 16, "*u16"},     {1, 32, "*u32"},     {1, 64, "*u64"},
              {2, 16, "*fp16"},    {2, 32, "*fp32"},    {2, 64, "*fp64"},    {4, 16, "*bf16"},
              {6, 8, "*u1"},       {10, 8, "*fp8e4nv"}, {11, 8, "*fp8e4b8"}, {12, 8, "*fp8e5"},
              {13, 8, "*fp8e5b16"}};
  tj_function *fn = open_function("plain");
  dl_tensor tensor = {.data = address_of(0x1000), .device = {2, 0}, .ndim = 0, .dtype = {2, 32, 1}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    tensor.dtype.code = rows[i].code;
    tensor.dtype.bits = rows[i].bits;
    assert_string_equal(types_of(fn, ARGS(tj_tensor(&tensor))), rows[i].type);
  }
  tensor.dtype.code = 2;
  tensor.dtype.bits = 32;
  static const uint64_t offsets[] = {0, 4, 16, 100};
  for (size_t i = 0; i < COUNT(offsets); i++) {
    tensor.byte_offset = offsets[i];
    assert_true(packed_address(fn, tj_tensor(&tensor)) == 0x1000 + offsets[i]);
    assert_string_equal(variant_of(fn, ARGS(tj_tensor(&tensor))),
                        offsets[i] % 16 ? "x=*fp32" : "x=*fp32:16");
  }
  /* R024: a tensor without elements. */
  tensor.data = NULL;
  tensor.byte_offset = 0;
  assert_string_equal(variant_of(fn, ARGS(tj_tensor(&tensor))), "x=*fp32:16");
}

static void test_bad_tensors(void **state) {
  (void)state;
  tj_function *fn = open_function("plain");
  assert_fails(call(fn, ARGS(tj_tensor(NULL))), TJ_E_NULL, "parameter 0 'x'", "DLTensor is NULL");
  static const struct {
    uint8_t code, bits;
    uint16_t lanes;
    const char *words;
  } rows[] = {{2, 32, 4, "{code 2, bits 32, lanes 4}"},
              {2, 32, 0, "lanes 0"},
              {5, 64, 1, "code 5"}, /* complex */
              {3, 64, 1, "code 3"}, /* opaque handle */
              {0, 4, 1, "bits 4"},
              {2, 8, 1, "bits 8"},
              {99, 8, 1, "code 99"},
              {17, 4, 1, "code 17"}, /* packed fp4 */
              {0, 0, 1, "bits 0"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    dl_tensor tensor = {.device = {2, 0}, .dtype = {rows[i].code, rows[i].bits, rows[i].lanes}};
    assert_fails(call(fn, ARGS(tj_tensor(&tensor))), TJ_E_UNSUPPORTED_ARGUMENT, "parameter 0 'x'",
                 rows[i].words);
    /* Where the parameter says what it points to, that counts. */
    assert_status(call(open_function("typed"), ARGS(tj_tensor(&tensor))), TJ_OK);
  }
  dl_tensor good = {.device = {2, 0}, .dtype = {2, 32, 1}};
  assert_fails(call(open_function("int"), ARGS(tj_tensor(&good))), TJ_E_ARGUMENT_TYPE,
               "DLPack tensor");
}

/* A tensor of another device type names both. */
static void test_tensor_of_another_device(void **state) {
  (void)state;
  tj_function *fn;
  assert_status(tj_function_on(open_function("plain"), "cpu", &fn), TJ_OK);
  dl_tensor tensor = {.device = {2, 0}, .dtype = {2, 32, 1}};
  tj_launch launch = one_program();
  int prepared = 0;
  assert_fails(tj_function_is_prepared(fn, &launch, ARGS(tj_tensor(&tensor)), &prepared),
               TJ_E_DEVICE_MISMATCH, "parameter 0 'x'", "device type 2", "'cpu'", "type 1");
  tensor.device.device_type = 1;
  assert_status(tj_function_is_prepared(fn, &launch, ARGS(tj_tensor(&tensor)), &prepared), TJ_OK);
}

static void test_spec(void **state) {
  (void)state;
  tj_function *fn = open_function("plain"), *typed = open_function("typed");
  static const struct {
    tj_dtype dtype;
    const char *plain, *aligned;
  } rows[] = {{TJ_I32, "x=i32", "x=i32:16"}, {TJ_I64, "x=i64", "x=i64:16"},
              {TJ_U64, "x=u64", "x=u64:16"}, {TJ_FP32, "x=fp32", "x=fp32"},
              {TJ_U1, "x=u1", "x=u1"},       {TJ_I8, "x=i8", "x=i8:16"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_string_equal(variant_of(fn, ARGS(tj_spec(rows[i].dtype, 0))), rows[i].plain);
    assert_string_equal(variant_of(fn, ARGS(tj_spec(rows[i].dtype, 1))), rows[i].aligned);
  }
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_spec(TJ_I32, 1))),
                   prepare_kernel(fn, ARGS(tj_int(48))));
  assert_ptr_equal(prepare_kernel(fn, ARGS(tj_spec_ptr(TJ_FP16, 0))),
                   prepare_kernel(fn, ARGS(tj_ptr(address_of(2), TJ_FP16))));
  assert_string_equal(variant_of(typed, ARGS(tj_spec_ptr(0, 1))), "x=*fp32:16");
  assert_string_equal(variant_of(open_function("int"), ARGS(tj_spec(0, 1))), "x=i64:16");
  tj_launch launch = one_program();
  tj_kernel *kernel;
  assert_fails(tj_function_prepare(typed, &launch, ARGS(tj_spec(TJ_FP32, 0)), &kernel),
               TJ_E_ARGUMENT_TYPE, "TJ_SPEC");
  assert_fails(tj_function_prepare(fn, &launch, ARGS(tj_spec(TJ_VOID, 0)), &kernel),
               TJ_E_ARGUMENT_TYPE, "TJ_SPEC", "19");
  assert_fails(tj_function_prepare(fn, &launch, ARGS(tj_spec(0, 0)), &kernel), TJ_E_ARGUMENT_TYPE,
               "TJ_SPEC");
  assert_fails(
      tj_function_prepare(open_function("constexpr"), &launch, ARGS(tj_spec(TJ_I32, 0)), &kernel),
      TJ_E_ARGUMENT_TYPE, "compile-time constant");
  assert_fails(call(fn, ARGS(tj_spec(TJ_I32, 0))), TJ_E_UNSUPPORTED_ARGUMENT, "TJ_SPEC",
               "tj_function_prepare");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_every_dtype_R010_R011, setup, teardown),
      cmocka_unit_test_setup_teardown(test_alignment_R028, setup, teardown),
      cmocka_unit_test_setup_teardown(test_prepare_all_classes_R028, setup, teardown),
      cmocka_unit_test_setup_teardown(test_none_and_null_R014_R024, setup, teardown),
      cmocka_unit_test_setup_teardown(test_annotated, setup, teardown),
      cmocka_unit_test_setup_teardown(test_pointer_for_something_else, setup, teardown),
      cmocka_unit_test_setup_teardown(test_buffers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tensors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bad_tensors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tensor_of_another_device, setup, teardown),
      cmocka_unit_test_setup_teardown(test_spec, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.pointers", tests, NULL, NULL);
}
