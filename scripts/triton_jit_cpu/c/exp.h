/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials and hyperbolic functions, without branches, so that loops over them vectorise.
 *
 * "n ulp" is the largest error over all floats, with fused multiply-add or without
 * (tests/cpu/math_ulp.c measures it). Polynomials are minimax fits whose last digit is rounded to
 * the type. Adding 1.5 * 2^23 (2^52) rounds to an integer, which then stands in the low bits. */
/*@ tj_fmaBITS @ BITS,TYPE,BUILTIN 32,float,fmaf 64,double,fma */
/* a * b + c in one rounding where the machine has it (fma() would be a call elsewhere): for
 * polynomials, whose accuracy depends on it, but not their meaning. */
#if defined(__FMA__) || defined(__aarch64__)
TJ_FN TYPE tj_fmaBITS(TYPE a, TYPE b, TYPE c) { return __builtin_BUILTIN(a, b, c); }
#else
TJ_FN TYPE tj_fmaBITS(TYPE a, TYPE b, TYPE c) { return a * b + c; }
#endif
/*@ tj_pow2i */
/* 2^n for n in [-126, 128]; 2^128 is infinity. */
TJ_FN float tj_pow2i(int32_t n) { return tj_bits_f32((uint32_t)(n + 127) << 23); }
/*@ tj_scalef */
/* a * 2^n for n in [-252, 254], one rounding: in two halves, so that subnormal results are right. */
TJ_FN float tj_scalef(float a, int32_t n) { return a * tj_pow2i(n >> 1) * tj_pow2i(n - (n >> 1)); }
/*@ tj_expm1_poly */
/* e^r - 1 for r in [-ln2/2, ln2/2]. */
TJ_FN float tj_expm1_poly(float r) {
  float p = 1.3862748e-03f;
  p = tj_fma32(p, r, 8.367149e-03f);
  p = tj_fma32(p, r, 4.1667532e-02f);
  p = tj_fma32(p, r, 1.6666539e-01f);
  p = tj_fma32(p, r, 4.9999997e-01f);
  return tj_fma32(p, r * r, r);
}
/*@ tj_exp_parts tj_exp_split */
/* e^a = 2^k * (1 + q) for a in [-200, 200]; NaN makes q NaN. Beyond, both are any numbers. */
typedef struct tj_exp_parts {
  float q;
  int32_t k;
} tj_exp_parts;
TJ_FN tj_exp_parts tj_exp_split(float a) {
  const float t = tj_fma32(a, 1.44269504f, 12582912.0f);
  const float n = t - 12582912.0f;
  /* ln2 in two parts; n times the first is exact. */
  const float r = tj_fma32(n, -0x1.7f7d1cp-20f, tj_fma32(n, -0x1.62e4p-1f, a));
  return (tj_exp_parts){tj_expm1_poly(r), tj_f32_bits(t) - 0x4B400000};
}
/*@ tj_far_exp */
/* `e` unless |a| > far, where an exponential is 0 or infinity and `e` is any number. Limiting `a`
 * beforehand would be as right, but gcc then makes three copies of all that follows. */
TJ_FN float tj_far_exp(float a, float far, float e) {
  const float end = a > 0 ? TJ_INF : 0.0f;
  return __builtin_fabsf(a) > far ? end : e;
}
/*@ tj_expf */
/* e^a, 1.05 ulp. */
TJ_FN float tj_expf(float a) {
  const tj_exp_parts s = tj_exp_split(a);
  return tj_far_exp(a, 104.0f, tj_scalef(1.0f + s.q, s.k));
}
/*@ tj_exp2f */
/* 2^a, 1.05 ulp. */
TJ_FN float tj_exp2f(float a) {
  const float t = a + 12582912.0f;
  const float q = tj_expm1_poly((a - (t - 12582912.0f)) * 0.693147182f);
  return tj_far_exp(a, 151.0f, tj_scalef(1.0f + q, tj_f32_bits(t) - 0x4B400000));
}
/*@ tj_exp10f */
/* 10^a, 1.30 ulp. */
TJ_FN float tj_exp10f(float a) {
  const float t = tj_fma32(a, 3.32192802f, 12582912.0f);
  const float n = t - 12582912.0f;
  const float r = tj_fma32(n, -0x1.3509f8p-18f, tj_fma32(n, -0x1.344p-2f, a));
  const float q = tj_expm1_poly(r * 2.30258512f);
  return tj_far_exp(a, 46.0f, tj_scalef(1.0f + q, tj_f32_bits(t) - 0x4B400000));
}
/*@ tj_expm1f */
/* e^a - 1, 1.66 ulp. */
TJ_FN float tj_expm1f(float a) {
  const tj_exp_parts s = tj_exp_split(a);
  const float half = tj_pow2i(s.k - 1); /* 2^k itself may be too large */
  const float away = 2.0f * tj_fma32(s.q, half, half - 0.5f);
  const float e = __builtin_copysignf(s.k == 0 ? s.q : away, a);
  return a < -20.0f ? -1.0f : tj_far_exp(a, 89.0f, e);
}
/*@ tj_sinhf */
/* 1.63 ulp. */
TJ_FN float tj_sinhf(float a) {
  const float x = __builtin_fabsf(a), z = x * x;
  float p = 2.7856968e-06f;
  p = tj_fma32(p, z, 1.9842369e-04f);
  p = tj_fma32(p, z, 8.333312e-03f);
  p = tj_fma32(p, z, 1.6666667e-01f);
  const float near = tj_fma32(x * z, p, x);
  const tj_exp_parts s = tj_exp_split(x > 90.0f ? 90.0f : x);
  const float half = tj_scalef(1.0f + s.q, s.k - 1); /* e^x / 2 */
  return __builtin_copysignf(x < 1.0f ? near : half - 0.25f / half, a);
}
/*@ tj_coshf */
/* 1.52 ulp. */
TJ_FN float tj_coshf(float a) {
  const float x = __builtin_fabsf(a);
  const tj_exp_parts s = tj_exp_split(x > 90.0f ? 90.0f : x);
  const float half = tj_scalef(1.0f + s.q, s.k - 1); /* e^x / 2 */
  return half + 0.25f / half;
}
/*@ tj_tanhf */
/* 1.35 ulp. */
TJ_FN float tj_tanhf(float a) {
  const float x = __builtin_fabsf(a), z = x * x;
  float p = -5.900179e-03f;
  p = tj_fma32(p, z, 2.0800317e-02f);
  p = tj_fma32(p, z, -5.3785123e-02f);
  p = tj_fma32(p, z, 1.333194e-01f);
  p = tj_fma32(p, z, -3.33333e-01f);
  const float near = tj_fma32(x * z, p, x);
  const tj_exp_parts s = tj_exp_split(x > 10.0f ? 20.0f : 2.0f * x);
  const float power = tj_pow2i(s.k);
  const float far = 1.0f - 2.0f / (tj_fma32(s.q, power, power) + 1.0f);
  return __builtin_copysignf(x < 0.6f ? near : far, a);
}
/*@ tj_pow2 */
/* 2^n for an integer n in [-1022, 1023]. */
TJ_FN double tj_pow2(double n) {
  return tj_bits_f64((uint64_t)tj_f64_bits(n + 0x1.80000000003ffp52) << 52);
}
/*@ tj_scale */
/* a * 2^n for n in [-2044, 2046], one rounding. */
TJ_FN double tj_scale(double a, double n) {
  const double half = (0.5 * n + 0x1.8p52) - 0x1.8p52;
  return a * tj_pow2(half) * tj_pow2(n - half);
}
/*@ tj_expm1_poly64 */
/* e^r - 1 for r in [-ln2/2, ln2/2]. */
TJ_FN double tj_expm1_poly64(double r) {
  double p = 2.51152864728176e-08;
  p = tj_fma64(p, r, 2.763197805965027e-07);
  p = tj_fma64(p, r, 2.755722479099459e-06);
  p = tj_fma64(p, r, 2.480148810979107e-05);
  p = tj_fma64(p, r, 0.00019841269907383517);
  p = tj_fma64(p, r, 0.0013888888948649048);
  p = tj_fma64(p, r, 0.008333333333312123);
  p = tj_fma64(p, r, 0.041666666666509804);
  p = tj_fma64(p, r, 0.1666666666666669);
  p = tj_fma64(p, r, 0.5000000000000013);
  return tj_fma64(p, r * r, r);
}
/*@ tj_exp_parts64 tj_exp_split64 */
/* e^a = 2^n * (1 + q) for a in [-1000, 1000]. */
typedef struct tj_exp_parts64 {
  double q, n;
} tj_exp_parts64;
TJ_FN tj_exp_parts64 tj_exp_split64(double a) {
  const double n = tj_fma64(a, 0x1.71547652b82fep+0, 0x1.8p52) - 0x1.8p52;
  const double r = tj_fma64(n, 0x1.718432a1b0e26p-35, tj_fma64(n, -0x1.62e42ffp-1, a));
  return (tj_exp_parts64){tj_expm1_poly64(r), n};
}
/*@ tj_exp */
/* e^a, 1.02 ulp (in samples, as all of double). */
TJ_FN double tj_exp(double a) {
  const tj_exp_parts64 s = tj_exp_split64(a < -746.0 ? -746.0 : a > 710.0 ? 710.0 : a);
  return tj_scale(1.0 + s.q, s.n);
}
/*@ tj_exp2 */
/* 2^a, 1.09 ulp. */
TJ_FN double tj_exp2(double a) {
  const double limited = a < -1076.0 ? -1076.0 : a > 1024.0 ? 1024.0 : a;
  const double n = (limited + 0x1.8p52) - 0x1.8p52;
  return tj_scale(1.0 + tj_expm1_poly64((limited - n) * 0x1.62e42fefa39efp-1), n);
}
/*@ tj_exp2_short */
/* 2^a to 29 bits; no less than 2^-200, no more than 2^200. */
TJ_FN double tj_exp2_short(double a) {
  const double limited = a < -200.0 ? -200.0 : a > 200.0 ? 200.0 : a;
  const double n = (limited + 0x1.8p52) - 0x1.8p52, r = limited - n;
  double p = 0.00015343718504604617;
  p = tj_fma64(p, r, 0.001339993436096106);
  p = tj_fma64(p, r, 0.009618496414479942);
  p = tj_fma64(p, r, 0.05550328781677459);
  p = tj_fma64(p, r, 0.2402264683012693);
  p = tj_fma64(p, r, 0.6931472057258178);
  p = tj_fma64(p, r, 1.0000000005555392);
  return p * tj_pow2(n);
}
/*@ tj_tanh */
/* 1.38 ulp. */
TJ_FN double tj_tanh(double a) {
  const double x = __builtin_fabs(a), z = x * x;
  double p = -1.7202550817563387e-05;
  p = tj_fma64(p, z, 7.936102975528183e-05);
  p = tj_fma64(p, z, -0.00023043694400140695);
  p = tj_fma64(p, z, 0.0005872077111526581);
  p = tj_fma64(p, z, -0.0014552211167809144);
  p = tj_fma64(p, z, 0.0035920384770541888);
  p = tj_fma64(p, z, -0.008863226911190682);
  p = tj_fma64(p, z, 0.021869488012617865);
  p = tj_fma64(p, z, -0.05396825394972817);
  p = tj_fma64(p, z, 0.13333333333300576);
  p = tj_fma64(p, z, -0.3333333333333313);
  const double near = tj_fma64(x * z, p, x);
  const tj_exp_parts64 s = tj_exp_split64(x > 20.0 ? 40.0 : 2.0 * x);
  const double power = tj_pow2(s.n);
  const double far = 1.0 - 2.0 / (tj_fma64(s.q, power, power) + 1.0);
  return __builtin_copysign(x < 0.6 ? near : far, a);
}
