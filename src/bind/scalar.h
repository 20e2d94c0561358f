/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as Triton's launcher hands them to a kernel. */
#ifndef TJ_BIND_SCALAR_H
#define TJ_BIND_SCALAR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "triton_jit/arg.h"

/*
 * The bits of `value` in fp16, bf16, fp32 or fp64. fp16 rounds to nearest even, and a
 * finite value beyond its range is an error (false). bf16 is fp32 cut to its upper half;
 * fp32 rounds, beyond its range to infinity.
 */
static inline bool tj_float_bits(tj_dtype dtype, double value, uint64_t *out_bits) {
  if (dtype == TJ_FP64) {
    memcpy(out_bits, &value, 8);
    return true;
  }
  if (dtype == TJ_FP16) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    uint32_t sign = (uint32_t)(bits >> 48) & 0x8000;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & 0xfffffffffffffull;
    if (exponent == 1024) { /* infinity, NaN */
      *out_bits = sign | 0x7c00 | (fraction ? 0x200 | (uint32_t)(fraction >> 42) : 0);
      return true;
    }
    if (exponent < -25) { /* below half of the smallest: zero */
      *out_bits = sign;
      return true;
    }
    /* The significand, of which `drop` bits are lost; more for fp16's subnormals. */
    uint64_t whole = fraction | 1ull << 52;
    int drop = exponent < -14 ? 42 + (-14 - exponent) : 42;
    uint64_t kept = whole >> drop, lost = whole & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (lost > half || (lost == half && (kept & 1))) kept++;
    /* For normal numbers the hidden bit, and a carry, add to the exponent. */
    uint32_t magnitude =
        exponent < -14 ? (uint32_t)kept : (uint32_t)kept + ((uint32_t)(exponent + 14) << 10);
    *out_bits = sign | magnitude;
    return magnitude < 0x7c00;
  }
  float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, 4);
  *out_bits = dtype == TJ_BF16 ? bits >> 16 : bits;
  return true;
}

/* Whether the integer (unsigned from 2^63 on if `large`) fits `dtype`. */
static inline bool tj_int_fits(tj_dtype dtype, int64_t value, bool large) {
  switch (dtype) {
  case TJ_U1: return !large && (value == 0 || value == 1);
  case TJ_I8: return !large && value == (int8_t)value;
  case TJ_I16: return !large && value == (int16_t)value;
  case TJ_I32: return !large && value == (int32_t)value;
  case TJ_I64: return !large;
  case TJ_U8: return !large && value == (uint8_t)value;
  case TJ_U16: return !large && value == (uint16_t)value;
  case TJ_U32: return !large && value == (uint32_t)value;
  case TJ_U64: return large || value >= 0;
  default: return false;
  }
}

#endif /* TJ_BIND_SCALAR_H */
