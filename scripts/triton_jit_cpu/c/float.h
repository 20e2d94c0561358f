/* SPDX-License-Identifier: Apache-2.0 */
/* Bits, extremes and conversions of float and double. */
/*@ tj_f32_bits */
TJ_FN int32_t tj_f32_bits(float a) {
  union {
    float f;
    int32_t i;
  } u = {a};
  return u.i;
}
/*@ tj_bits_f32 */
TJ_FN float tj_bits_f32(uint32_t a) {
  union {
    uint32_t i;
    float f;
  } u = {a};
  return u.f;
}
/*@ tj_f64_bits */
TJ_FN int64_t tj_f64_bits(double a) {
  union {
    double f;
    int64_t i;
  } u = {a};
  return u.i;
}
/*@ tj_bits_f64 */
TJ_FN double tj_bits_f64(uint64_t a) {
  union {
    uint64_t i;
    double f;
  } u = {a};
  return u.f;
}
/*@ tj_maxnum32 */
/* The other operand where one is NaN. */
TJ_FN float tj_maxnum32(float a, float b) { return ((b > a) | (a != a)) ? b : a; }
/*@ tj_minnum32 */
TJ_FN float tj_minnum32(float a, float b) { return ((b < a) | (a != a)) ? b : a; }
/*@ tj_maximum32 */
/* NaN where one operand is NaN; +0 is more than -0. */
TJ_FN float tj_maximum32(float a, float b) {
  const float c = ((b > a) | ((b == a) & (tj_f32_bits(a) < 0))) ? b : a;
  return a != a ? a : b != b ? b : c;
}
/*@ tj_minimum32 */
TJ_FN float tj_minimum32(float a, float b) {
  const float c = ((b < a) | ((b == a) & (tj_f32_bits(b) < 0))) ? b : a;
  return a != a ? a : b != b ? b : c;
}
/*@ tj_f32_to_s8 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int8_t tj_f32_to_s8(float a) {
  return a != a ? 0 : a >= 128.0f ? INT8_MAX : a <= -128.0f ? INT8_MIN : (int8_t)a;
}
/*@ tj_f32_to_u8 */
TJ_FN uint8_t tj_f32_to_u8(float a) { return !(a > 0) ? 0 : a >= 256.0f ? UINT8_MAX : (uint8_t)a; }
/*@ tj_f32_to_s16 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int16_t tj_f32_to_s16(float a) {
  return a != a ? 0 : a >= 32768.0f ? INT16_MAX : a <= -32768.0f ? INT16_MIN : (int16_t)a;
}
/*@ tj_f32_to_u16 */
TJ_FN uint16_t tj_f32_to_u16(float a) {
  return !(a > 0) ? 0 : a >= 65536.0f ? UINT16_MAX : (uint16_t)a;
}
/*@ tj_f32_to_s32 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int32_t tj_f32_to_s32(float a) {
  return a != a ? 0 : a >= 2147483648.0f ? INT32_MAX : a <= -2147483648.0f ? INT32_MIN : (int32_t)a;
}
/*@ tj_f32_to_u32 */
TJ_FN uint32_t tj_f32_to_u32(float a) {
  return !(a > 0) ? 0 : a >= 4294967296.0f ? UINT32_MAX : (uint32_t)a;
}
/*@ tj_f32_to_s64 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int64_t tj_f32_to_s64(float a) {
  return a != a                         ? 0
         : a >= 9223372036854775808.0f  ? INT64_MAX
         : a <= -9223372036854775808.0f ? INT64_MIN
                                        : (int64_t)a;
}
/*@ tj_f32_to_u64 */
TJ_FN uint64_t tj_f32_to_u64(float a) {
  return !(a > 0) ? 0 : a >= 18446744073709551616.0f ? UINT64_MAX : (uint64_t)a;
}
/*@ tj_maxnum64 */
/* The other operand where one is NaN. */
TJ_FN double tj_maxnum64(double a, double b) { return ((b > a) | (a != a)) ? b : a; }
/*@ tj_minnum64 */
TJ_FN double tj_minnum64(double a, double b) { return ((b < a) | (a != a)) ? b : a; }
/*@ tj_maximum64 */
/* NaN where one operand is NaN; +0 is more than -0. */
TJ_FN double tj_maximum64(double a, double b) {
  const double c = ((b > a) | ((b == a) & (tj_f64_bits(a) < 0))) ? b : a;
  return a != a ? a : b != b ? b : c;
}
/*@ tj_minimum64 */
TJ_FN double tj_minimum64(double a, double b) {
  const double c = ((b < a) | ((b == a) & (tj_f64_bits(b) < 0))) ? b : a;
  return a != a ? a : b != b ? b : c;
}
/*@ tj_f64_to_s8 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int8_t tj_f64_to_s8(double a) {
  return a != a ? 0 : a >= 128.0 ? INT8_MAX : a <= -128.0 ? INT8_MIN : (int8_t)a;
}
/*@ tj_f64_to_u8 */
TJ_FN uint8_t tj_f64_to_u8(double a) { return !(a > 0) ? 0 : a >= 256.0 ? UINT8_MAX : (uint8_t)a; }
/*@ tj_f64_to_s16 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int16_t tj_f64_to_s16(double a) {
  return a != a ? 0 : a >= 32768.0 ? INT16_MAX : a <= -32768.0 ? INT16_MIN : (int16_t)a;
}
/*@ tj_f64_to_u16 */
TJ_FN uint16_t tj_f64_to_u16(double a) {
  return !(a > 0) ? 0 : a >= 65536.0 ? UINT16_MAX : (uint16_t)a;
}
/*@ tj_f64_to_s32 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int32_t tj_f64_to_s32(double a) {
  return a != a ? 0 : a >= 2147483648.0 ? INT32_MAX : a <= -2147483648.0 ? INT32_MIN : (int32_t)a;
}
/*@ tj_f64_to_u32 */
TJ_FN uint32_t tj_f64_to_u32(double a) {
  return !(a > 0) ? 0 : a >= 4294967296.0 ? UINT32_MAX : (uint32_t)a;
}
/*@ tj_f64_to_s64 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN int64_t tj_f64_to_s64(double a) {
  return a != a                        ? 0
         : a >= 9223372036854775808.0  ? INT64_MAX
         : a <= -9223372036854775808.0 ? INT64_MIN
                                       : (int64_t)a;
}
/*@ tj_f64_to_u64 */
TJ_FN uint64_t tj_f64_to_u64(double a) {
  return !(a > 0) ? 0 : a >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)a;
}
/*@ tj_f64_to_odd */
/* double to float, rounded to odd: a second rounding to a narrower type is then exact. */
TJ_FN float tj_f64_to_odd(double a) {
  const float f = (float)a;
  const double back = f;
  if (back == a || a != a) return f;
  int32_t bits = tj_f32_bits(f);
  if (bits & 1) return f;
  /* f is even and inexact: the odd neighbour on the other side of a. */
  const bool away = (back < 0 ? -back : back) > (a < 0 ? -a : a);
  if (f == 0) return tj_bits_f32((uint32_t)bits | 1u);
  return tj_bits_f32((uint32_t)(away ? bits - 1 : bits + 1));
}
/*@ tj_u64_to_odd */
/* Integer to float, rounded to odd. */
TJ_FN float tj_u64_to_odd(uint64_t a) {
  if (a < (UINT64_C(1) << 24)) return (float)a;
  const int shift = 40 - __builtin_clzll(a);
  const uint64_t kept = a >> shift;
  const uint64_t lost = (a & ((UINT64_C(1) << shift) - 1)) != 0;
  return (float)(kept | lost) * (float)(UINT64_C(1) << shift);
}
/*@ tj_s64_to_odd */
TJ_FN float tj_s64_to_odd(int64_t a) {
  const uint64_t m = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  const float f = tj_u64_to_odd(m);
  return a < 0 ? -f : f;
}
/*@ tj_f64_to_f32_rtz */
TJ_FN float tj_f64_to_f32_rtz(double a) {
  const float f = (float)a;
  const double back = f;
  const bool away = (back < 0 ? -back : back) > (a < 0 ? -a : a);
  return away ? tj_bits_f32((uint32_t)tj_f32_bits(f) - 1u) : f;
}
