/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithms, inverse hyperbolic functions and powers, without branches; see exp.h. */
/*@ tj_log_parts tj_split_log */
/* a = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for normal and subnormal a > 0. */
typedef struct tj_log_parts {
  float f, e;
} tj_log_parts;
TJ_FN tj_log_parts tj_split_log(float a) {
  const bool tiny = a < 0x1p-126f;
  const int32_t bits = tj_f32_bits(tiny ? a * 0x1p23f : a);
  const int32_t k = (bits - 0x3F3504F3) >> 23;
  const float m = tj_bits_f32((uint32_t)bits - ((uint32_t)k << 23));
  return (tj_log_parts){m - 1.0f, (float)k - (tiny ? 23.0f : 0.0f)};
}
/*@ tj_log1p_poly */
/* log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
TJ_FN float tj_log1p_poly(float f) {
  float p = -7.631905e-02f;
  p = tj_fma32(p, f, 1.2761067e-01f);
  p = tj_fma32(p, f, -1.3160662e-01f);
  p = tj_fma32(p, f, 1.4201733e-01f);
  p = tj_fma32(p, f, -1.6623315e-01f);
  p = tj_fma32(p, f, 2.0001237e-01f);
  p = tj_fma32(p, f, -2.5000823e-01f);
  p = tj_fma32(p, f, 3.333333e-01f);
  return f * f * tj_fma32(p, f, -0.5f);
}
/*@ tj_log_edge */
/* y, but what a logarithm is at 0, below it, at infinity and for NaN. One choice after the other:
 * compilers make branches of nested ones, and gcc 13 then does not vectorise. */
TJ_FN float tj_log_edge(float a, float y) {
  float r = a < TJ_INF ? y : a;
  r = a == 0 ? -TJ_INF : r;
  return a < 0 ? TJ_NAN : r;
}
/*@ tj_logf */
/* 0.94 ulp. */
TJ_FN float tj_logf(float a) {
  const tj_log_parts p = tj_split_log(a);
  const float low = tj_fma32(p.e, 0x1.7f7d1cp-20f, tj_log1p_poly(p.f));
  return tj_log_edge(a, tj_fma32(p.e, 0x1.62e4p-1f, p.f + low));
}
/*@ tj_log_sum tj_log1p_sum */
/* log(1 + f) in two parts, the upper with few enough bits to be multiplied exactly. */
typedef struct tj_log_sum {
  float high, low;
} tj_log_sum;
TJ_FN tj_log_sum tj_log1p_sum(float f) {
  const float s = tj_log1p_poly(f);
  const float high = tj_bits_f32((uint32_t)tj_f32_bits(f + s) & 0xFFFFF000u);
  return (tj_log_sum){high, (f - high) + s};
}
/*@ tj_log2f */
/* 1.01 ulp. */
TJ_FN float tj_log2f(float a) {
  const tj_log_parts p = tj_split_log(a);
  const tj_log_sum s = tj_log1p_sum(p.f);
  const float low = (s.high + s.low) * -0x1.7135a8p-13f + s.low * 0x1.716p+0f;
  return tj_log_edge(a, low + s.high * 0x1.716p+0f + p.e);
}
/*@ tj_log10f */
/* 0.92 ulp. */
TJ_FN float tj_log10f(float a) {
  const tj_log_parts p = tj_split_log(a);
  const tj_log_sum s = tj_log1p_sum(p.f);
  float low = (s.high + s.low) * -0x1.09d5b2p-15f + s.low * 0x1.bccp-2f;
  low = tj_fma32(p.e, 0x1.3509f8p-18f, low);
  return tj_log_edge(a, low + s.high * 0x1.bccp-2f + p.e * 0x1.344p-2f);
}
/*@ tj_log1pf */
/* log(1 + a), 1.54 ulp. */
TJ_FN float tj_log1pf(float a) {
  const int32_t k = (tj_f32_bits(1.0f + a) - 0x3F3504F3) >> 23;
  /* f = (1 + a) / 2^k - 1 without rounding 1 + a. */
  const float scaled = tj_bits_f32((uint32_t)tj_f32_bits(a) - ((uint32_t)k << 23));
  const float f = scaled + (tj_pow2i(k > 60 ? -60 : -k) - 1.0f);
  const float low = tj_fma32((float)k, 0x1.7f7d1cp-20f, tj_log1p_poly(f));
  const float y = tj_fma32((float)k, 0x1.62e4p-1f, f + low);
  float r = a < TJ_INF ? __builtin_copysignf(y, a) : a;
  r = a == -1.0f ? -TJ_INF : r;
  return a < -1.0f ? TJ_NAN : r;
}
/*@ tj_log_parts64 tj_split_log64 */
/* a = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for a positive normal double. */
typedef struct tj_log_parts64 {
  double f, e;
} tj_log_parts64;
TJ_FN tj_log_parts64 tj_split_log64(double a) {
  const uint64_t bits = (uint64_t)tj_f64_bits(a), top = UINT64_C(1) << 63;
  /* 2048 more than e, so that it is positive; the bits of 2^52 + k hold k. */
  const uint64_t k = (bits - UINT64_C(0x3FE6A09E667F3BCD) + top) >> 52;
  return (tj_log_parts64){tj_bits_f64(bits - (k << 52) + top) - 1.0,
                          tj_bits_f64(k | UINT64_C(0x4330000000000000)) - (0x1p52 + 2048)};
}
/*@ tj_log_normal */
/* log(a) - less * ln2 for a positive normal double. */
TJ_FN double tj_log_normal(double a, double less) {
  const tj_log_parts64 split = tj_split_log64(a);
  const double f = split.f, e = split.e - less;
  /* log(1 + f) = 2 atanh(s) */
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double p = 0.14811617484647718;
  p = tj_fma64(p, z, 0.15312560496014618);
  p = tj_fma64(p, z, 0.18183619440496257);
  p = tj_fma64(p, z, 0.2222219757638569);
  p = tj_fma64(p, z, 0.2857142875144166);
  p = tj_fma64(p, z, 0.3999999999937713);
  p = tj_fma64(p, z, 0.666666666666674);
  const double low = tj_fma64(s, tj_fma64(p, z, half), e * -0x1.718432a1b0e26p-35);
  return e * 0x1.62e42ffp-1 - ((half - low) - f);
}
/*@ tj_log */
/* The natural logarithm of a double, 0.84 ulp. */
TJ_FN double tj_log(double a) {
  const bool tiny = a < 0x1p-1022;
  const double y = tj_log_normal(tiny ? a * 0x1p54 : a, tiny ? 54.0 : 0.0);
  double r = a < (double)TJ_INF ? y : a;
  r = a == 0 ? -(double)TJ_INF : r;
  return a < 0 ? (double)TJ_NAN : r;
}
/*@ tj_asinhf */
/* 0.51 ulp. */
TJ_FN float tj_asinhf(float a) {
  const double x = (double)__builtin_fabsf(a);
  const double near = x - x * x * x * (1.0 / 6.0);
  const double far = tj_log_normal(x + __builtin_sqrt(x * x + 1.0), 0.0);
  const float y = __builtin_copysignf((float)(x < 0x1p-10 ? near : far), a);
  return __builtin_fabsf(a) < TJ_INF ? y : a;
}
/*@ tj_acoshf */
/* 0.51 ulp. */
TJ_FN float tj_acoshf(float a) {
  const double x = (double)a;
  const float y = (float)tj_log_normal(x + __builtin_sqrt(x * x - 1.0), 0.0);
  return a >= 1.0f ? (a < TJ_INF ? y : a) : TJ_NAN;
}
/*@ tj_atanhf */
/* 0.51 ulp. */
TJ_FN float tj_atanhf(float a) {
  const float m = __builtin_fabsf(a);
  const double x = (double)m, near = x + x * x * x * (1.0 / 3.0);
  const double far = 0.5 * tj_log_normal((1.0 + x) / (1.0 - x), 0.0);
  const float y = (float)(x < 0x1p-10 ? near : far);
  return __builtin_copysignf(m < 1.0f ? y : m == 1.0f ? TJ_INF : TJ_NAN, a);
}
/*@ tj_powf */
/* a^b, 0.54 ulp, by 2^(b * log2(a)) in double; the special cases of C's pow. */
TJ_FN float tj_powf(float a, float b) {
  const float x = __builtin_fabsf(a), y = __builtin_fabsf(b);
  const tj_log_parts64 split = tj_split_log64((double)x);
  const double s = split.f / (2.0 + split.f), z = s * s;
  double p = 0.34094490385490916;
  p = tj_fma64(p, z, 0.41166153448398873);
  p = tj_fma64(p, z, 0.5770837636854956);
  p = tj_fma64(p, z, 0.9617966724485296);
  p = tj_fma64(p, z, 2.885390081790773);
  const float power = (float)tj_exp2_short((double)b * tj_fma64(p, s, split.e));
  const bool outer = (x == 0) | (x == TJ_INF);
  const float edge = (b < 0 ? -1.0f : 1.0f) * (x - 1.0f) > 0 ? TJ_INF : 0.0f;
  /* Floats from 2^24 on are even integers. */
  const int32_t integer = (int32_t)(y < 0x1p24f ? y : 0x1p24f);
  const bool whole = ((float)integer == y) | (y > 0x1p24f);
  const uint32_t sign = (uint32_t)tj_f32_bits(a) & ((uint32_t)integer << 31);
  const float r = tj_bits_f32((uint32_t)tj_f32_bits(outer ? edge : power) | (whole ? sign : 0u));
  const bool one = (a == 1.0f) | (b == 0) | ((x == 1.0f) & (y == TJ_INF));
  const bool nan = (a != a) | (b != b) | ((a < 0) & !outer & !whole);
  return one ? 1.0f : nan ? TJ_NAN : r;
}
/*@ tj_cbrtf */
/* 0.52 ulp. */
TJ_FN float tj_cbrtf(float a) {
  const float x = __builtin_fabsf(a);
  const bool tiny = x < 0x1p-126f;
  const float b = tiny ? x * 0x1p24f : x;
  /* 1 / cbrt(b): dividing the bits by 3 divides the exponent; then two cubic iterations. */
  double y = (double)tj_bits_f32(0x54A21D2Au - (uint32_t)tj_f32_bits(b) / 3u);
  const double d = (double)b;
  TJ_UNROLL
  for (int i = 0; i < 2; i++) {
    const double h = 1.0 - d * y * y * y;
    y += y * h * (1.0 / 3.0 + h * (2.0 / 9.0));
  }
  const float r = (float)(d * y * y * (tiny ? 0x1p-8 : 1.0));
  return ((x > 0) & (x < TJ_INF)) ? __builtin_copysignf(r, a) : a;
}
/*@ tj_rsqrtf */
/* 1 / sqrt(a), 1.50 ulp. */
TJ_FN float tj_rsqrtf(float a) { return 1.0f / __builtin_sqrtf(a); }
