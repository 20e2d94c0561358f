/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that do not fit the kernel, and launches that do not fit the machine. */
#include "bad_input.h"

#include <math.h>
#include <stdint.h>

/* A DLTensor, as https://dmlc.github.io/dlpack/latest/c_api.html lays it out. */
typedef struct dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

enum { DL_CPU = 1, DL_CUDA = 2, DL_INT = 0, DL_FLOAT = 2, DL_COMPLEX = 5 };

static float x[16], y[16], out[16];
#define X tj_ptr(x, TJ_FP32)
#define Y tj_ptr(y, TJ_FP32)
#define OUT tj_ptr(out, TJ_FP32)

/* add_kernel(x, y, out, n, BLOCK) refuses these, and is none the worse for it. */
#define assert_add_refuses(expected, arguments, ...)                              \
  do {                                                                            \
    memset(out, 0xff, sizeof out);                                                \
    assert_fails(call(good.add, arguments), expected, "add_kernel", __VA_ARGS__); \
    for (size_t i_ = 0; i_ < COUNT(out); i_++) assert_true(isnan(out[i_]));       \
    assert_still_works();                                                         \
  } while (0)

/* ---- how many --------------------------------------------------------------------------------- */

static void too_few(void **state) {
  (void)state;
  assert_add_refuses(TJ_E_TOO_FEW_ARGUMENTS, ARGS(X, Y, OUT), "parameter 3 'n'",
                     "takes 5 arguments", "gave 3");
  assert_fails(call(good.add, NULL, 0), TJ_E_TOO_FEW_ARGUMENTS, "parameter 0 'x'", "gave 0");
  assert_add_refuses(TJ_E_TOO_FEW_ARGUMENTS, ARGS(X, tj_default(), OUT, tj_int(16), tj_int(16)),
                     "parameter 1 'y'", "no default");
}

static void missing_constexpr(void **state) {
  (void)state;
  assert_add_refuses(TJ_E_CONSTEXPR_MISSING, ARGS(X, Y, OUT, tj_int(16)), "parameter 4 'BLOCK'",
                     "constexpr", "5 arguments");
  assert_add_refuses(TJ_E_CONSTEXPR_MISSING, ARGS(X, Y, OUT, tj_int(16), tj_default()), "'BLOCK'");
}

static void missing_tuned_parameter(void **state) {
  (void)state;
  int32_t values[4] = {0};
  assert_fails(call(good.tuned, ARGS(tj_ptr(values, TJ_I32), tj_int(4))), TJ_E_NEEDS_CONFIG,
               "tuned_kernel", "'BLOCK'", "pass a value");
  assert_ok(call(good.tuned, ARGS(tj_ptr(values, TJ_I32), tj_int(4), tj_int(16))));
  assert_int_equal(values[3], 3);
}

static void too_many(void **state) {
  (void)state;
  assert_add_refuses(TJ_E_TOO_MANY_ARGUMENTS, ARGS(X, Y, OUT, tj_int(16), tj_int(16), tj_int(0)),
                     "takes 5", "gave 6");
  static tj_arg many[5000];
  assert_fails(call(good.add, many, COUNT(many)), TJ_E_TOO_MANY_ARGUMENTS, "gave 5000");
}

static void keywords(void **state) {
  (void)state;
  tj_arg sixteen = tj_int(16), nested = tj_keyword(4, &sixteen);
  assert_add_refuses(TJ_E_DUPLICATE_ARGUMENT,
                     ARGS(X, Y, OUT, tj_int(16), tj_int(16), tj_keyword(3, &sixteen)), "'n'",
                     "two arguments");
  assert_add_refuses(TJ_E_DUPLICATE_ARGUMENT,
                     ARGS(X, Y, OUT, tj_keyword(3, &sixteen), tj_keyword(3, &sixteen)), "'n'");
  assert_fails(call(good.add, ARGS(X, Y, OUT, tj_int(16), tj_keyword(5, &sixteen))),
               TJ_E_NO_SUCH_PARAMETER, "parameter 5", "has 5");
  assert_add_refuses(TJ_E_INVALID, ARGS(X, Y, OUT, tj_keyword(4, &sixteen), tj_int(16)),
                     "keywords come last");
  assert_add_refuses(TJ_E_INVALID, ARGS(X, Y, OUT, tj_int(16), tj_keyword(4, &nested)), "'BLOCK'",
                     "keyword");
  assert_add_refuses(TJ_E_NULL, ARGS(X, Y, OUT, tj_int(16), tj_keyword(4, NULL)), "'BLOCK'");
  assert_add_refuses(TJ_E_CONSTEXPR_MISSING, ARGS(X, Y, OUT, tj_keyword(3, &sixteen)), "'BLOCK'");
}

/* ---- what Triton cannot specialise --------------------------------------------------------------- */

static void no_run_time_value(void **state) {
  (void)state;
  assert_add_refuses(TJ_E_UNSUPPORTED_ARGUMENT, ARGS(X, Y, OUT, tj_string("abc", 3), tj_int(16)),
                     "parameter 3 'n'", "string of 3 bytes", "tl.constexpr");
  assert_add_refuses(TJ_E_UNSUPPORTED_ARGUMENT, ARGS(X, Y, OUT, tj_type(TJ_FP16), tj_int(16)),
                     "'n'", "dtype fp16");
  assert_add_refuses(TJ_E_UNSUPPORTED_ARGUMENT, ARGS(X, Y, OUT, tj_spec(TJ_I32, 1), tj_int(16)),
                     "'n'", "tj_function_prepare");
  tj_tensor_desc desc = {.struct_size = sizeof desc};
  assert_add_refuses(TJ_E_ARGUMENT_TYPE, ARGS(tj_desc(&desc), Y, OUT, tj_int(16), tj_int(16)),
                     "'x'", "descriptor has no element type");
  tj_arg unknown = tj_int(1);
  unknown.kind = 200;
  assert_add_refuses(TJ_E_INVALID, ARGS(unknown, Y, OUT, tj_int(16), tj_int(16)), "'x'", "200");
}

static void no_constant(void **state) {
  (void)state;
  assert_add_refuses(TJ_E_ARGUMENT_TYPE, ARGS(X, Y, OUT, tj_int(16), X), "parameter 4 'BLOCK'",
                     "pointer to fp32", "compile-time constant");
  assert_add_refuses(TJ_E_ARGUMENT_TYPE, ARGS(X, Y, OUT, tj_int(16), tj_spec(TJ_I32, 0)),
                     "'BLOCK'");
  assert_add_refuses(TJ_E_ARGUMENT_TYPE, ARGS(X, Y, OUT, tj_int(16), tj_signed(TJ_VOID, 1)),
                     "'BLOCK'");
}

static void pointers_without_a_type(void **state) {
  (void)state;
  assert_add_refuses(TJ_E_ARGUMENT_TYPE,
                     ARGS(X, tj_ptr(y, TJ_DTYPE_NONE), OUT, tj_int(16), tj_int(16)),
                     "parameter 1 'y'", "no element type", "dtype 0", "TJ_FP32");
  assert_add_refuses(TJ_E_ARGUMENT_TYPE, ARGS(X, tj_ptr(y, 999), OUT, tj_int(16), tj_int(16)),
                     "'y'", "999");
  assert_add_refuses(TJ_E_ARGUMENT_TYPE, ARGS(X, Y, OUT, tj_signed(999, 1), tj_int(16)), "'n'",
                     "999");
}

static void tensors(void **state) {
  (void)state;
  int64_t shape = 16;
  dl_tensor tensor = {x, DL_CUDA, 0, 1, DL_FLOAT, 32, 1, &shape, NULL, 0};
  assert_add_refuses(TJ_E_DEVICE_MISMATCH, ARGS(tj_tensor(&tensor), Y, OUT, tj_int(16), tj_int(16)),
                     "'x'", "type 2", "'cpu'");
  tensor.device_type = DL_CPU;
  tensor.code = DL_COMPLEX;
  assert_add_refuses(TJ_E_UNSUPPORTED_ARGUMENT,
                     ARGS(tj_tensor(&tensor), Y, OUT, tj_int(16), tj_int(16)), "'x'", "code 5",
                     "bits 32");
  tensor.code = DL_INT;
  tensor.bits = 4;
  assert_add_refuses(TJ_E_UNSUPPORTED_ARGUMENT,
                     ARGS(tj_tensor(&tensor), Y, OUT, tj_int(16), tj_int(16)), "bits 4");
  assert_add_refuses(TJ_E_NULL, ARGS(tj_tensor(NULL), Y, OUT, tj_int(16), tj_int(16)), "'x'",
                     "DLTensor");
}

static void tuples(void **state) {
  (void)state;
  int32_t sum = 0;
  const tj_arg numbers[] = {tj_int(3), tj_int(4)}, words[] = {tj_int(3), tj_string("four", 4)};
  assert_fails(call(good.pair, ARGS(tj_ptr(&sum, TJ_I32), tj_tuple(words, 2))),
               TJ_E_UNSUPPORTED_ARGUMENT, "parameter 1 'pair'[1]", "string of 4 bytes");
  assert_fails(call(good.pair, ARGS(tj_ptr(&sum, TJ_I32), tj_tuple(NULL, 2))), TJ_E_NULL, "'pair'",
               "2 items");
  tj_arg deep[64];
  deep[0] = tj_int(1);
  for (size_t i = 1; i < COUNT(deep); i++) deep[i] = tj_tuple(&deep[i - 1], 1);
  assert_fails(call(good.pair, ARGS(tj_ptr(&sum, TJ_I32), deep[COUNT(deep) - 1])),
               TJ_E_UNSUPPORTED_ARGUMENT, "'pair'", "deep");
  assert_int_equal(sum, 0);
  assert_ok(call(good.pair, ARGS(tj_ptr(&sum, TJ_I32), tj_tuple(numbers, 2))));
  assert_int_equal(sum, 7);
}

/* ---- annotated parameters -------------------------------------------------------------------------- */

static int64_t result;
#define RESULT tj_ptr(&result, TJ_I64)

/* typed_kernel(out: *i64, small: i8, natural: u32, wide: i64, half: fp16, flag: u1) */
#define assert_typed_refuses(expected, arguments, ...)                                            \
  do {                                                                                            \
    result = -1;                                                                                  \
    assert_fails(call(good.typed, arguments), expected, "typed_kernel", __VA_ARGS__);             \
    assert_int_equal(result, -1);                                                                 \
    assert_ok(call(good.typed, ARGS(RESULT, tj_int(-8), tj_int(100), tj_int(1000), tj_float(2.0), \
                                    tj_bool(1))));                                                \
    assert_int_equal(result, 1095);                                                               \
  } while (0)

#define SMALL tj_int(1)
#define NATURAL tj_int(1)
#define WIDE tj_int(1)
#define HALF tj_float(1)
#define FLAG tj_bool(0)

static void wrong_kind(void **state) {
  (void)state;
  static const char text[] = "abc";
  const tj_arg item = tj_int(1);
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE, ARGS(tj_float(1), SMALL, NATURAL, WIDE, HALF, FLAG),
                       "parameter 0 'out'", "*i64", "float 1");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE, ARGS(RESULT, RESULT, NATURAL, WIDE, HALF, FLAG),
                       "parameter 1 'small'", "i8", "pointer to i64");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE, ARGS(RESULT, tj_float(1.5), NATURAL, WIDE, HALF, FLAG),
                       "'small'", "i8", "float 1.5");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE,
                       ARGS(RESULT, SMALL, tj_string(text, 3), WIDE, HALF, FLAG),
                       "parameter 2 'natural'", "u32", "string of 3 bytes");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE, ARGS(RESULT, SMALL, NATURAL, tj_none(), HALF, FLAG),
                       "parameter 3 'wide'", "i64", "None");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE, ARGS(RESULT, SMALL, NATURAL, WIDE, RESULT, FLAG),
                       "parameter 4 'half'", "fp16", "pointer");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE,
                       ARGS(RESULT, SMALL, NATURAL, WIDE, HALF, tj_tuple(&item, 1)),
                       "parameter 5 'flag'", "u1", "tuple of 1 items");
  assert_typed_refuses(TJ_E_ARGUMENT_TYPE, ARGS(RESULT, SMALL, NATURAL, WIDE, HALF, tj_float(1)),
                       "'flag'", "u1", "float 1");
}

static void out_of_range(void **state) {
  (void)state;
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE, ARGS(RESULT, tj_int(128), NATURAL, WIDE, HALF, FLAG),
                       "parameter 1 'small'", "128", "i8");
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE, ARGS(RESULT, tj_int(-129), NATURAL, WIDE, HALF, FLAG),
                       "'small'", "-129", "i8");
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE, ARGS(RESULT, SMALL, tj_int(-1), WIDE, HALF, FLAG),
                       "parameter 2 'natural'", "-1", "u32");
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE,
                       ARGS(RESULT, SMALL, tj_int(4294967296), WIDE, HALF, FLAG), "'natural'",
                       "4294967296", "u32");
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE,
                       ARGS(RESULT, SMALL, NATURAL, tj_uint(9223372036854775808u), HALF, FLAG),
                       "parameter 3 'wide'", "9223372036854775808", "i64");
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE, ARGS(RESULT, SMALL, NATURAL, WIDE, tj_float(1e6), FLAG),
                       "parameter 4 'half'", "1e+06", "fp16", "65504");
  assert_typed_refuses(TJ_E_ARGUMENT_RANGE, ARGS(RESULT, SMALL, NATURAL, WIDE, HALF, tj_int(2)),
                       "parameter 5 'flag'", "2");
}

static void forced_width_out_of_range(void **state) {
  (void)state;
  static const struct {
    tj_dtype dtype;
    int64_t value;
    const char *words[2];
  } cases[] = {{TJ_I8, 300, {"300", "i8"}},
               {TJ_I16, -40000, {"-40000", "i16"}},
               {TJ_I32, 2147483648, {"2147483648", "i32"}},
               {TJ_U8, 256, {"256", "u8"}},
               {TJ_U16, 65536, {"65536", "u16"}},
               {TJ_U32, 4294967296, {"4294967296", "u32"}}};
  for (size_t i = 0; i < COUNT(cases); i++)
    assert_add_refuses(TJ_E_ARGUMENT_RANGE,
                       ARGS(X, Y, OUT, tj_signed(cases[i].dtype, cases[i].value), tj_int(16)),
                       "'n'", cases[i].words[0], cases[i].words[1]);
  assert_add_refuses(TJ_E_ARGUMENT_RANGE, ARGS(X, Y, OUT, tj_f16(70000), tj_int(16)), "'n'",
                     "70000", "fp16");
  assert_add_refuses(TJ_E_ARGUMENT_RANGE, ARGS(X, Y, OUT, tj_unsigned(TJ_FP8E5, 256), tj_int(16)),
                     "'n'", "256", "one byte");
}

/* ---- the launch ------------------------------------------------------------------------------------- */

static tj_arg args[5];

static void make_args(void) {
  tj_arg made[5] = {X, Y, OUT, tj_int(16), tj_int(16)};
  memcpy(args, made, sizeof args);
}

static void devices(void **state) {
  (void)state;
  make_args();
  static const int32_t numbers[] = {1, 4096, INT32_MAX};
  for (size_t i = 0; i < COUNT(numbers); i++) {
    tj_launch launch = TJ_LAUNCH_INIT;
    launch.device = numbers[i];
    assert_fails(tj_function_call(good.add, &launch, args, 5), TJ_E_DEVICE, "'cpu'",
                 i == 0   ? "device 1 "
                 : i == 1 ? "device 4096"
                          : "device 2147483647");
    assert_still_works();
  }
}

static void backends(void **state) {
  (void)state;
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "x.py";
  desc.name = "k";
  desc.backend = "abacus";
  tj_function *function = UNTOUCHED;
  assert_fails(tj_function_get_ex(&desc, &function), TJ_E_UNKNOWN_BACKEND, "'abacus'", "cpu");
  desc.backend = "";
  assert_fails(tj_function_get_ex(&desc, &function), TJ_E_UNKNOWN_BACKEND, "''", "cpu");
  desc.backend = "CPU";
  assert_fails(tj_function_get_ex(&desc, &function), TJ_E_UNKNOWN_BACKEND, "'CPU'", "cpu");
  assert_fails(tj_function_on(good.add, "abacus", &function), TJ_E_UNKNOWN_BACKEND, "'abacus'");
  assert_ptr_equal(function, UNTOUCHED);
  tj_backend_info info = {.struct_size = sizeof info};
  assert_fails(tj_backend_get_info(tj_backend_count(), &info), TJ_E_INVALID, "index");
  assert_still_works();
}

static void targets(void **state) {
  (void)state;
  make_args();
  static const struct {
    const char *backend, *arch;
    uint32_t warp_size;
    const char *words;
  } cases[] = {
      {"abacus", "1", 0, "'abacus'"}, {"cuda", "hopper", 0, "'hopper'"}, {"", "", 0, "''"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    tj_target target = TJ_TARGET_INIT;
    target.backend = cases[i].backend;
    target.arch = cases[i].arch;
    target.warp_size = cases[i].warp_size;
    tj_launch launch = TJ_LAUNCH_INIT;
    launch.target = &target;
    assert_fails(tj_function_prepare(good.add, &launch, args, 5, NULL), TJ_E_NOT_SUPPORTED,
                 cases[i].words);
    assert_fails(tj_function_call(good.add, &launch, args, 5), TJ_E_INVALID, "target",
                 "tj_function_prepare");
    assert_still_works();
  }
}

static void fields(void **state) {
  (void)state;
  make_args();
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.flags = 0x80;
  assert_fails(tj_function_call(good.add, &launch, args, 5), TJ_E_INVALID, "flags", "0x80");
  launch = (tj_launch)TJ_LAUNCH_INIT;
  launch.tuned = &launch;
  assert_fails(tj_function_call(good.add, &launch, args, 5), TJ_E_NOT_SUPPORTED, "tuned");
  launch = (tj_launch)TJ_LAUNCH_INIT;
  launch.options = 999999;
  assert_fails(tj_function_call(good.add, &launch, args, 5), TJ_E_OPTION_VALUE, "999999",
               "tj_options_intern");
  assert_still_works();
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "x.py";
  desc.name = "k";
  desc.flags = 0x40;
  tj_function *function = UNTOUCHED;
  assert_fails(tj_function_get_ex(&desc, &function), TJ_E_INVALID, "0x40");
  desc.flags = 0;
  desc.options = 999999;
  assert_fails(tj_function_get_ex(&desc, &function), TJ_E_OPTION_VALUE, "999999");
  assert_ptr_equal(function, UNTOUCHED);
}

static tj_status failing_grid(const tj_bound *bound, uint32_t grid[3], void *user) {
  grid[0] = 1;
  int64_t value;
  if (user) return 1234;
  return tj_bound_int(bound, 0, &value); /* a pointer */
}

static void grids(void **state) {
  (void)state;
  make_args();
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.grid_fn = failing_grid;
  assert_fails(tj_function_call(good.add, &launch, args, 5), TJ_E_ARGUMENT_TYPE, "grid callback",
               "'x'");
  launch.grid_user = &launch;
  assert_fails(tj_function_call(good.add, &launch, args, 5), 1234, "grid callback", "1234");
  launch = tj_launch_grid(UINT32_MAX, 1, 1);
  launch.grid[0] = 0; /* nothing to run: no error either */
  assert_ok(tj_function_call(good.add, &launch, args, 5));
  assert_still_works();
}

static void another_variant(void **state) {
  (void)state;
  make_args();
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_kernel *kernel = NULL;
  assert_ok(tj_function_prepare(good.add, &launch, args, 5, &kernel));
  args[4] = tj_int(32);
  assert_fails(tj_kernel_launch(kernel, &launch, args, 5), TJ_E_VARIANT, "add_kernel",
               "parameter 4 'BLOCK'", "32", "16");
  args[4] = tj_int(16);
  args[0] = tj_ptr(x, TJ_FP16);
  assert_fails(tj_kernel_launch(kernel, &launch, args, 5), TJ_E_VARIANT, "'x'", "fp16", "fp32");
  assert_fails(tj_kernel_launch(kernel, &launch, args, 3), TJ_E_TOO_FEW_ARGUMENTS, "'n'");
  args[0] = X;
  launch.device = 7;
  assert_fails(tj_kernel_launch(kernel, &launch, args, 5), TJ_E_DEVICE, "7");
  launch.device = 0;
  assert_ok(tj_kernel_launch(kernel, &launch, args, 5));
  const void *data = &data;
  size_t size = 1;
  assert_fails(tj_kernel_get_asm(kernel, "ptx", &data, &size), TJ_E_INVALID, "'ptx'", "ttir", "so");
  assert_ptr_equal(data, &data);
  tj_kernel_param param = {.struct_size = sizeof param};
  assert_fails(tj_kernel_get_param(kernel, 4, &param), TJ_E_NO_SUCH_PARAMETER, "4");
  tj_param_info info = {.struct_size = sizeof info};
  assert_fails(tj_function_get_param(good.add, 5, &info), TJ_E_NO_SUCH_PARAMETER, "add_kernel",
               "5");
  uint32_t index = 99;
  assert_fails(tj_function_param_index(good.add, "block", &index), TJ_E_NO_SUCH_PARAMETER,
               "'block'", "BLOCK");
  assert_int_equal(index, 99);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(too_few, test_setup),
      cmocka_unit_test_setup(missing_constexpr, test_setup),
      cmocka_unit_test_setup(missing_tuned_parameter, test_setup),
      cmocka_unit_test_setup(too_many, test_setup),
      cmocka_unit_test_setup(keywords, test_setup),
      cmocka_unit_test_setup(no_run_time_value, test_setup),
      cmocka_unit_test_setup(no_constant, test_setup),
      cmocka_unit_test_setup(pointers_without_a_type, test_setup),
      cmocka_unit_test_setup(tensors, test_setup),
      cmocka_unit_test_setup(tuples, test_setup),
      cmocka_unit_test_setup(wrong_kind, test_setup),
      cmocka_unit_test_setup(out_of_range, test_setup),
      cmocka_unit_test_setup(forced_width_out_of_range, test_setup),
      cmocka_unit_test_setup(devices, test_setup),
      cmocka_unit_test_setup(backends, test_setup),
      cmocka_unit_test_setup(targets, test_setup),
      cmocka_unit_test_setup(fields, test_setup),
      cmocka_unit_test_setup(grids, test_setup),
      cmocka_unit_test_setup(another_variant, test_setup),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
