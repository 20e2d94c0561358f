/* SPDX-License-Identifier: Apache-2.0 */
/* Trigonometric functions and their inverses of float, without branches; see exp.h. */
/*@ tj_turn tj_turn_of */
/* a = (quarter + part) * pi/2 with part in [-1/2, 1/2] (a little more), exact for every float:
 * 2/pi is cut into pieces of 29, 29 and 53 bits, so that a (24 bits) times the first two is exact
 * in double. Pieces that give multiples of 4 with a large `a` are left out, the next ones used. */
typedef struct tj_turn {
  double part;
  uint32_t quarter; /* its low two bits count */
} tj_turn;
TJ_FN tj_turn tj_turn_of(float a) {
  const double x = (double)a;
  const double m = __builtin_fabs(x);
  const bool b = m >= 0x1p53, c = m >= 0x1p81, d = m >= 0x1p109;
  const double first = d   ? 0x1.f47d4d2p-86
                       : c ? 0x1.4fe13a8p-59
                       : b ? 0x1.c9c882ap-29
                           : 0x1.45f306dp-1;
  const double second = d   ? 0x1.77036d8p-114
                        : c ? 0x1.f47d4d3p-86
                        : b ? 0x1.4fe13aap-59
                            : 0x1.9391054p-30;
  const double third = d   ? 0x1.4acc9e21c820fp-143
                       : c ? 0x1.dc0db6295993cp-116
                       : b ? 0x1.e8fa9a6ee06dbp-87
                           : 0x1.4fe13abe8fa9ap-59;
  /* Adding 1.5 * 2^54 rounds to a multiple of 4. */
  double p = x * first, q = x * second;
  p -= (p + 0x1.8p54) - 0x1.8p54;
  q -= (q + 0x1.8p54) - 0x1.8p54;
  const double r = x * third, t = (p + q) + r + 0x1.8p52;
  return (tj_turn){((p - (t - 0x1.8p52)) + q) + r, (uint32_t)tj_f64_bits(t)};
}
/*@ tj_is_odd */
/* A comparison: compilers make `a & 1` a conversion to bool, which does not vectorise. */
TJ_FN bool tj_is_odd(uint32_t a) { return (int32_t)(a << 31) < 0; }
/*@ tj_wave */
/* sin(r), or cos(r), for r in [-pi/4, pi/4]. */
TJ_FN float tj_wave(float r, bool cosine) {
  const float z = r * r;
  float s = -1.9518408e-04f;
  s = tj_fma32(s, z, 8.33219e-03f);
  s = tj_fma32(s, z, -1.6666655e-01f);
  s = tj_fma32(r * z, s, r);
  float c = 2.4432542e-05f;
  c = tj_fma32(c, z, -1.3887311e-03f);
  c = tj_fma32(c, z, 4.1666646e-02f);
  c = tj_fma32(c, z, -0.5f);
  c = tj_fma32(c, z, 1.0f);
  return cosine ? c : s;
}
/*@ tj_sinf */
/* 1.56 ulp. */
TJ_FN float tj_sinf(float a) {
  const tj_turn t = tj_turn_of(a);
  const float w = tj_wave((float)(t.part * 0x1.921fb54442d18p+0), tj_is_odd(t.quarter));
  const float y = tj_bits_f32((uint32_t)tj_f32_bits(w) ^ ((t.quarter & 2u) << 30));
  return a == 0 ? a : y;
}
/*@ tj_cosf */
/* 1.56 ulp. */
TJ_FN float tj_cosf(float a) {
  const tj_turn t = tj_turn_of(a);
  const float w = tj_wave((float)(t.part * 0x1.921fb54442d18p+0), tj_is_odd(~t.quarter));
  return tj_bits_f32((uint32_t)tj_f32_bits(w) ^ (((t.quarter + 1u) & 2u) << 30));
}
/*@ tj_tanf */
/* 0.51 ulp: in double, since errors of sine and cosine add up. */
TJ_FN float tj_tanf(float a) {
  const tj_turn t = tj_turn_of(a);
  const double r = t.part * 0x1.921fb54442d18p+0, z = r * r;
  double s = 2.7182249035861556e-06;
  s = tj_fma64(s, z, -0.00019839325623953907);
  s = tj_fma64(s, z, 0.008333329356617753);
  s = tj_fma64(s, z, -0.16666666641364752);
  s = tj_fma64(r * z, s, r);
  double c = -2.7209506142322534e-07;
  c = tj_fma64(c, z, 2.479951120820376e-05);
  c = tj_fma64(c, z, -0.0013888883720293605);
  c = tj_fma64(c, z, 0.04166666662244734);
  c = tj_fma64(c, z, -0.5);
  c = tj_fma64(c, z, 1.0);
  const bool odd = tj_is_odd(t.quarter);
  return a == 0 ? a : (float)((odd ? -c : s) / (odd ? s : c));
}
/*@ tj_atan_poly */
/* atan(t) for t in [0, 1]. */
TJ_FN float tj_atan_poly(float t) {
  const float z = t * t;
  float p = 2.9184618e-03f;
  p = tj_fma32(p, z, -1.6359407e-02f);
  p = tj_fma32(p, z, 4.3198787e-02f);
  p = tj_fma32(p, z, -7.551188e-02f);
  p = tj_fma32(p, z, 1.0665572e-01f);
  p = tj_fma32(p, z, -1.4210962e-01f);
  p = tj_fma32(p, z, 1.9993764e-01f);
  p = tj_fma32(p, z, -3.3333153e-01f);
  return tj_fma32(t * z, p, t);
}
/*@ tj_atanf */
/* 1.68 ulp. */
TJ_FN float tj_atanf(float a) {
  const float x = __builtin_fabsf(a);
  const bool big = x > 1.0f;
  const float r = tj_atan_poly(big ? 1.0f / x : x);
  return __builtin_copysignf(big ? (0x1.921fb6p+0f - r) - 0x1.777a5cp-25f : r, a);
}
/*@ tj_atan2f */
/* The angle of (b, a), 1.76 ulp. */
TJ_FN float tj_atan2f(float a, float b) {
  const float y = __builtin_fabsf(a), x = __builtin_fabsf(b);
  const bool steep = y > x;
  const float less = steep ? x : y, more = steep ? y : x;
  /* 0 / 0 counts as 0, infinity / infinity as 1. */
  const float t = less == more ? (more == 0 ? 0.0f : 1.0f) : less / more;
  float r = tj_atan_poly(t);
  r = steep ? (0x1.921fb6p+0f - r) - 0x1.777a5cp-25f : r;
  r = tj_f32_bits(b) < 0 ? (0x1.921fb6p+1f - r) - 0x1.777a5cp-24f : r;
  return ((a != a) | (b != b)) ? TJ_NAN : __builtin_copysignf(r, a);
}
/*@ tj_asin_poly */
/* asin(s) for s in [0, 1/2] and z = s * s. */
TJ_FN float tj_asin_poly(float s, float z) {
  float p = 4.220758e-02f;
  p = tj_fma32(p, z, 2.415441e-02f);
  p = tj_fma32(p, z, 4.5475636e-02f);
  p = tj_fma32(p, z, 7.495254e-02f);
  p = tj_fma32(p, z, 1.6666754e-01f);
  return tj_fma32(s * z, p, s);
}
/*@ tj_asinf */
/* 1.93 ulp. Above 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). */
TJ_FN float tj_asinf(float a) {
  const float x = __builtin_fabsf(a);
  const bool big = x > 0.5f;
  const float z = big ? 0.5f - 0.5f * x : x * x;
  const float p = tj_asin_poly(big ? __builtin_sqrtf(z) : x, z);
  return __builtin_copysignf(big ? (0x1.921fb6p+0f - 2.0f * p) - 0x1.777a5cp-25f : p, a);
}
/*@ tj_acosf */
/* 1.28 ulp. */
TJ_FN float tj_acosf(float a) {
  const float x = __builtin_fabsf(a);
  const bool big = x > 0.5f;
  const float z = big ? 0.5f - 0.5f * x : x * x;
  const float p = tj_asin_poly(big ? __builtin_sqrtf(z) : x, z);
  const float far = a > 0 ? 2.0f * p : (0x1.921fb6p+1f - 2.0f * p) - 0x1.777a5cp-24f;
  return big ? far : (0x1.921fb6p+0f - __builtin_copysignf(p, a)) - 0x1.777a5cp-25f;
}
