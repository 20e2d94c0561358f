/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dtype.h"

#include <string.h>

#include "triton_jit/arg.h"

static const struct {
  const char *name;
  uint8_t size;
} dtypes[] = {
    [TJ_DTYPE_NONE] = {"?", 0},
    [TJ_U1] = {"u1", 1},
    [TJ_I8] = {"i8", 1},
    [TJ_I16] = {"i16", 2},
    [TJ_I32] = {"i32", 4},
    [TJ_I64] = {"i64", 8},
    [TJ_U8] = {"u8", 1},
    [TJ_U16] = {"u16", 2},
    [TJ_U32] = {"u32", 4},
    [TJ_U64] = {"u64", 8},
    [TJ_FP16] = {"fp16", 2},
    [TJ_BF16] = {"bf16", 2},
    [TJ_FP32] = {"fp32", 4},
    [TJ_FP64] = {"fp64", 8},
    [TJ_FP8E4NV] = {"fp8e4nv", 1},
    [TJ_FP8E5] = {"fp8e5", 1},
    [TJ_FP8E4B8] = {"fp8e4b8", 1},
    [TJ_FP8E5B16] = {"fp8e5b16", 1},
    [TJ_FP8E4B15] = {"fp8e4b15", 1},
    [TJ_VOID] = {"void", 0},
};
_Static_assert(sizeof dtypes / sizeof *dtypes == TJ_DTYPE_COUNT, "a row for each dtype");

/* Other spellings: of triton.language, torch and NumPy (facts of triton/_utils.py). */
static const struct {
  const char *name;
  tj_dtype dtype;
} aliases[] = {
    {"bool", TJ_U1},
    {"int1", TJ_U1},
    {"uint1", TJ_U1},
    {"i1", TJ_U1},
    {"int8", TJ_I8},
    {"int16", TJ_I16},
    {"int", TJ_I32},
    {"int32", TJ_I32},
    {"int64", TJ_I64},
    {"uint8", TJ_U8},
    {"uint16", TJ_U16},
    {"uint32", TJ_U32},
    {"uint64", TJ_U64},
    {"half", TJ_FP16},
    {"float16", TJ_FP16},
    {"bfloat16", TJ_BF16},
    {"float", TJ_FP32},
    {"float32", TJ_FP32},
    {"double", TJ_FP64},
    {"float64", TJ_FP64},
    {"float8e4nv", TJ_FP8E4NV},
    {"float8_e4m3fn", TJ_FP8E4NV},
    {"float8e5", TJ_FP8E5},
    {"float8_e5m2", TJ_FP8E5},
    {"float8e4b8", TJ_FP8E4B8},
    {"float8_e4m3fnuz", TJ_FP8E4B8},
    {"float8e5b16", TJ_FP8E5B16},
    {"float8_e5m2fnuz", TJ_FP8E5B16},
    {"float8e4b15", TJ_FP8E4B15},
};

const char *tj_dtype_name(tj_dtype dtype) {
  return dtypes[dtype < TJ_DTYPE_COUNT ? dtype : TJ_DTYPE_NONE].name;
}

uint32_t tj_dtype_size(tj_dtype dtype) {
  return dtypes[dtype < TJ_DTYPE_COUNT ? dtype : TJ_DTYPE_NONE].size;
}

tj_dtype tj_dtype_from_name(const char *name) {
  if (name == NULL) return TJ_DTYPE_NONE;
  const char *dot = strrchr(name, '.');
  if (dot) name = dot + 1;
  for (unsigned d = 1; d < TJ_DTYPE_COUNT; d++)
    if (strcmp(dtypes[d].name, name) == 0) return (tj_dtype)d;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (strcmp(aliases[i].name, name) == 0) return aliases[i].dtype;
  return TJ_DTYPE_NONE;
}
