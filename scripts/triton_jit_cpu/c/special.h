/* SPDX-License-Identifier: Apache-2.0 */
/* Error functions (erf and erfc of float vectorise; see exp.h) and rarer functions. */
/*@ tj_erff */
/* 1.20 ulp. */
TJ_FN float tj_erff(float a) {
  const float x = __builtin_fabsf(a), z = x * x;
  float p = -6.098446e-04f;
  p = tj_fma32(p, z, 5.0134123e-03f);
  p = tj_fma32(p, z, -2.677972e-02f);
  p = tj_fma32(p, z, 1.1282153e-01f);
  p = tj_fma32(p, z, -3.7612522e-01f);
  p = tj_fma32(p, z, 1.2837915e-01f);
  const float near = tj_fma32(x, p, x);
  /* erfc(x) = e^-(x * g) */
  const float t = x > 3.95f ? 3.95f : x;
  float g = 1.013913e-05f;
  g = tj_fma32(g, t, -3.1191515e-04f);
  g = tj_fma32(g, t, 3.5983883e-03f);
  g = tj_fma32(g, t, -2.3669343e-02f);
  g = tj_fma32(g, t, 1.0612988e-01f);
  g = tj_fma32(g, t, 6.352156e-01f);
  g = tj_fma32(g, t, 1.1286328e+00f);
  const tj_exp_parts s = tj_exp_split(-t * g);
  const float power = tj_pow2i(s.k);
  const float far = 1.0f - tj_fma32(s.q, power, power);
  return __builtin_copysignf(x < 0.9f ? near : far, a);
}
/*@ tj_erfc_short */
/* erfc to 26 bits, 0 from 11 on: e^(-x * x) times a polynomial of (x - 2) / (x + 2). */
TJ_FN double tj_erfc_short(double a) {
  const double m = __builtin_fabs(a), x = m > 11.0 ? 11.0 : m;
  const double inverse = 1.0 / ((x + 2.0) * (1.0 + 2.0 * x));
  const double t = (x - 2.0) * (1.0 + 2.0 * x) * inverse;
  double p = -0.00040160703819290105;
  p = tj_fma64(p, t, -0.0012302925008761988);
  p = tj_fma64(p, t, 0.0013155327908946895);
  p = tj_fma64(p, t, 0.008632398450034738);
  p = tj_fma64(p, t, -0.008061000127117903);
  p = tj_fma64(p, t, -0.05420460106250095);
  p = tj_fma64(p, t, 0.1640555770892049);
  p = tj_fma64(p, t, -0.16603139655488514);
  p = tj_fma64(p, t, -0.09276399410227561);
  p = tj_fma64(p, t, 1.2769783939278692);
  const double y = tj_exp2_short(x * x * -0x1.71547652b82fep+0) * p * (x + 2.0) * inverse;
  return a < 0 ? 2.0 - y : y;
}
/*@ tj_erfcf */
/* 0.78 ulp. */
TJ_FN float tj_erfcf(float a) { return (float)tj_erfc_short((double)a); }
/*@ tj_ldexpf */
/* a * 2^n, one rounding: a float times 2^300 is still exact in double. */
TJ_FN float tj_ldexpf(float a, int32_t n) {
  return (float)((double)a * tj_pow2((double)(n < -300 ? -300 : n > 300 ? 300 : n)));
}
/*@ tj_norm */
/* The length of a vector of floats, which cannot overflow in double; infinity even beside NaN. */
TJ_FN double tj_norm(float a, float b, float c, float d) {
  const double x = (double)a, y = (double)b, z = (double)c, w = (double)d;
  const double r = __builtin_sqrt((x * x + y * y) + (z * z + w * w));
  const bool infinite = (__builtin_fabsf(a) == TJ_INF) | (__builtin_fabsf(b) == TJ_INF) |
                        (__builtin_fabsf(c) == TJ_INF) | (__builtin_fabsf(d) == TJ_INF);
  return infinite ? (double)TJ_INF : r;
}
/*@ tj_hypotf */
/* 0.51 ulp. */
TJ_FN float tj_hypotf(float a, float b) { return (float)tj_norm(a, b, 0.0f, 0.0f); }
/*@ tj_roundBITS @ BITS,TYPE,SUFFIX,HALF 32,float,f,0x1.fffffep-2f 64,double,,0x1.fffffffffffffp-2 */
/* To the nearest integer, halves away from 0: the number before 1/2 cannot carry past one. */
TJ_FN TYPE tj_roundBITS(TYPE a) {
  return __builtin_truncSUFFIX(a + __builtin_copysignSUFFIX(HALF, a));
}
/*@ tj_fdimBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_fdimBITS(TYPE a, TYPE b) { return a <= b ? 0 : a - b; }
/*@ tj_sinpi */
TJ_FN double tj_sinpi(double a) {
  const double r = a - 2.0 * rint(0.5 * a); /* exact, in [-1, 1] */
  return fabs(a) >= 0x1p53 ? (fabs(a) < (double)TJ_INF ? 0.0 * a : (double)TJ_NAN)
                           : sin(3.14159265358979323846 * r);
}
/*@ tj_cospi */
TJ_FN double tj_cospi(double a) {
  const double r = fabs(a - 2.0 * rint(0.5 * a));
  return fabs(a) < (double)TJ_INF ? (r == 0.5 ? 0.0 : cos(3.14159265358979323846 * r))
                                  : (double)TJ_NAN;
}
/*@ tj_erfinv */
/* A rational start (Giles), then two Newton steps on erf. */
TJ_FN double tj_erfinv(double a) {
  if (!(fabs(a) < 1.0)) return fabs(a) == 1.0 ? a * (double)TJ_INF : (double)TJ_NAN;
  double w = -log((1.0 - a) * (1.0 + a)), p;
  if (w < 5.0) {
    w -= 2.5;
    p = 2.81022636e-08;
    p = 3.43273939e-07 + p * w;
    p = -3.5233877e-06 + p * w;
    p = -4.39150654e-06 + p * w;
    p = 0.00021858087 + p * w;
    p = -0.00125372503 + p * w;
    p = -0.00417768164 + p * w;
    p = 0.246640727 + p * w;
    p = 1.50140941 + p * w;
  } else {
    w = sqrt(w) - 3.0;
    p = -0.000200214257;
    p = 0.000100950558 + p * w;
    p = 0.00134934322 + p * w;
    p = -0.00367342844 + p * w;
    p = 0.00573950773 + p * w;
    p = -0.0076224613 + p * w;
    p = 0.00943887047 + p * w;
    p = 1.00167406 + p * w;
    p = 2.83297682 + p * w;
  }
  double x = p * a;
  for (int i = 0; i < 2; i++) {
    /* erfc keeps the digits near 1. */
    const double error = x < 0 ? (a + 1.0) - erfc(-x) : erfc(x) - (1.0 - a);
    x += error * 0.88622692545275801365 * exp(x * x);
  }
  return x;
}
/*@ tj_erfcinv */
TJ_FN double tj_erfcinv(double a) {
  if (a > 0.0625) return tj_erfinv(1.0 - a);
  if (!(a >= 0.0)) return (double)TJ_NAN;
  if (a == 0.0) return (double)TJ_INF;
  double x = sqrt(-log(a * sqrt(-log(a)) * 1.77245385090551602730));
  for (int i = 0; i < 4; i++) x += (erfc(x) - a) * 0.88622692545275801365 * exp(x * x);
  return x;
}
/*@ tj_erfcx */
/* exp(a * a) * erfc(a). */
TJ_FN double tj_erfcx(double a) {
  if (a < 25.0) return exp(a * a) * erfc(a);
  const double s = 1.0 / (a * a);
  return 0.56418958354775628695 / a * (1.0 - s * (0.5 - s * (0.75 - s * 1.875)));
}
/*@ tj_bessel_i */
/* Modified Bessel function of order 0 or 1 by its series; the asymptotic one for large arguments. */
TJ_FN double tj_bessel_i(int order, double a) {
  const double x = fabs(a), q = 0.25 * x * x;
  double sum = 0.0;
  if (x < 40.0) {
    double term = order == 0 ? 1.0 : 0.5 * x;
    for (int k = 1; k < 300 && term > sum * 1e-17; k++) {
      sum += term;
      term *= q / ((double)k * (k + order));
    }
  } else {
    double term = 1.0;
    const double mu = 4.0 * order * order;
    for (int k = 1; k < 30; k++) {
      sum += term;
      term *= -(mu - (2.0 * k - 1.0) * (2.0 * k - 1.0)) / (k * 8.0 * x);
      if (fabs(term) < 1e-17 * sum) break;
    }
    sum *= exp(x) / sqrt(6.28318530717958647693 * x);
  }
  return order == 1 && a < 0 ? -sum : sum;
}
