/* SPDX-License-Identifier: Apache-2.0 */
/* libm by its prototypes (math.h costs compile time), and functions of float that vectorise. */
/*@ exp */
double exp(double);
/*@ expf */
float expf(float);
/*@ exp2 */
double exp2(double);
/*@ exp2f */
float exp2f(float);
/*@ expm1 */
double expm1(double);
/*@ expm1f */
float expm1f(float);
/*@ log */
double log(double);
/*@ logf */
float logf(float);
/*@ log2 */
double log2(double);
/*@ log2f */
float log2f(float);
/*@ log10 */
double log10(double);
/*@ log10f */
float log10f(float);
/*@ log1p */
double log1p(double);
/*@ log1pf */
float log1pf(float);
/*@ sin */
double sin(double);
/*@ sinf */
float sinf(float);
/*@ cos */
double cos(double);
/*@ cosf */
float cosf(float);
/*@ tan */
double tan(double);
/*@ tanf */
float tanf(float);
/*@ asin */
double asin(double);
/*@ asinf */
float asinf(float);
/*@ acos */
double acos(double);
/*@ acosf */
float acosf(float);
/*@ atan */
double atan(double);
/*@ atanf */
float atanf(float);
/*@ sinh */
double sinh(double);
/*@ sinhf */
float sinhf(float);
/*@ cosh */
double cosh(double);
/*@ coshf */
float coshf(float);
/*@ tanh */
double tanh(double);
/*@ tanhf */
float tanhf(float);
/*@ asinh */
double asinh(double);
/*@ asinhf */
float asinhf(float);
/*@ acosh */
double acosh(double);
/*@ acoshf */
float acoshf(float);
/*@ atanh */
double atanh(double);
/*@ atanhf */
float atanhf(float);
/*@ erf */
double erf(double);
/*@ erff */
float erff(float);
/*@ erfc */
double erfc(double);
/*@ erfcf */
float erfcf(float);
/*@ cbrt */
double cbrt(double);
/*@ cbrtf */
float cbrtf(float);
/*@ floor */
double floor(double);
/*@ floorf */
float floorf(float);
/*@ ceil */
double ceil(double);
/*@ ceilf */
float ceilf(float);
/*@ trunc */
double trunc(double);
/*@ truncf */
float truncf(float);
/*@ round */
double round(double);
/*@ roundf */
float roundf(float);
/*@ rint */
double rint(double);
/*@ rintf */
float rintf(float);
/*@ fabs */
double fabs(double);
/*@ fabsf */
float fabsf(float);
/*@ sqrt */
double sqrt(double);
/*@ sqrtf */
float sqrtf(float);
/*@ lgamma */
double lgamma(double);
/*@ lgammaf */
float lgammaf(float);
/*@ tgamma */
double tgamma(double);
/*@ tgammaf */
float tgammaf(float);
/*@ exp10 */
double exp10(double);
/*@ exp10f */
float exp10f(float);
/*@ logb */
double logb(double);
/*@ logbf */
float logbf(float);
/*@ j0 */
double j0(double);
/*@ j0f */
float j0f(float);
/*@ j1 */
double j1(double);
/*@ j1f */
float j1f(float);
/*@ y0 */
double y0(double);
/*@ y0f */
float y0f(float);
/*@ y1 */
double y1(double);
/*@ y1f */
float y1f(float);
/*@ nearbyint */
double nearbyint(double);
/*@ nearbyintf */
float nearbyintf(float);
/*@ atan2 */
double atan2(double, double);
/*@ atan2f */
float atan2f(float, float);
/*@ pow */
double pow(double, double);
/*@ powf */
float powf(float, float);
/*@ fmod */
double fmod(double, double);
/*@ fmodf */
float fmodf(float, float);
/*@ copysign */
double copysign(double, double);
/*@ copysignf */
float copysignf(float, float);
/*@ hypot */
double hypot(double, double);
/*@ hypotf */
float hypotf(float, float);
/*@ fdim */
double fdim(double, double);
/*@ fdimf */
float fdimf(float, float);
/*@ nextafter */
double nextafter(double, double);
/*@ nextafterf */
float nextafterf(float, float);
/*@ remainder */
double remainder(double, double);
/*@ remainderf */
float remainderf(float, float);
/*@ fmax */
double fmax(double, double);
/*@ fmaxf */
float fmaxf(float, float);
/*@ fmin */
double fmin(double, double);
/*@ fminf */
float fminf(float, float);
/*@ fma */
double fma(double, double, double);
/*@ fmaf */
float fmaf(float, float, float);
/*@ ldexp */
double ldexp(double, int);
/*@ ldexpf */
float ldexpf(float, int);
/*@ tj_fma32 */
/* a * b + c in one rounding where the machine has it: accuracy, not meaning, depends on it. */
#if defined(__FMA__) || defined(__aarch64__)
TJ_FN float tj_fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
TJ_FN float tj_fma32(float a, float b, float c) { return a * b + c; }
#endif
/*@ tj_pow2i */
/* 2^n for n in [-126, 127]. */
TJ_FN float tj_pow2i(int32_t n) { return tj_bits_f32((uint32_t)(n + 127) << 23); }
/*@ tj_expf */
/* e^a within 1 ulp. 2^n times a polynomial on [-ln2/2, ln2/2]; n in two halves, so that
 * subnormal results are right. */
TJ_FN float tj_expf(float a) {
  const float limited = a < -104.0f ? -104.0f : a > 89.0f ? 89.0f : a;
  const float n = (limited * 1.44269504f + 12582912.0f) - 12582912.0f;
  const float r = tj_fma32(n, -1.42860677e-6f, tj_fma32(n, -0.693145752f, limited));
  float p = 1.98412698e-4f;
  p = tj_fma32(p, r, 1.38888889e-3f);
  p = tj_fma32(p, r, 8.33333333e-3f);
  p = tj_fma32(p, r, 4.16666667e-2f);
  p = tj_fma32(p, r, 1.66666667e-1f);
  p = tj_fma32(p, r, 0.5f);
  p = tj_fma32(p, r * r, r) + 1.0f;
  const int32_t k = (int32_t)n;
  const float scaled = p * tj_pow2i(k >> 1) * tj_pow2i(k - (k >> 1));
  return a != a ? a : scaled;
}
/*@ tj_exp2f */
/* 2^a within 1 ulp. */
TJ_FN float tj_exp2f(float a) {
  const float limited = a < -151.0f ? -151.0f : a > 128.0f ? 128.0f : a;
  const float n = (limited + 12582912.0f) - 12582912.0f;
  const float r = limited - n;
  float p = 1.52527338e-5f;
  p = tj_fma32(p, r, 1.54035304e-4f);
  p = tj_fma32(p, r, 1.33335581e-3f);
  p = tj_fma32(p, r, 9.61812911e-3f);
  p = tj_fma32(p, r, 5.55041087e-2f);
  p = tj_fma32(p, r, 2.40226507e-1f);
  p = tj_fma32(p, r, 6.93147181e-1f);
  p = tj_fma32(p, r, 1.0f);
  const int32_t k = (int32_t)n;
  const float scaled = p * tj_pow2i(k >> 1) * tj_pow2i(k - (k >> 1));
  return a != a ? a : scaled;
}
/*@ tj_log_parts tj_split_log */
/* a = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for normal and subnormal a > 0. */
typedef struct tj_log_parts {
  float f, e;
} tj_log_parts;
TJ_FN tj_log_parts tj_split_log(float a) {
  const bool tiny = a < 0x1p-126f;
  const float b = tiny ? a * 0x1p23f : a;
  const int32_t bits = tj_f32_bits(b);
  const int32_t k = (bits - 0x3F3504F3) >> 23;
  const float m = tj_bits_f32((uint32_t)(bits - k * (1 << 23)));
  return (tj_log_parts){m - 1.0f, (float)k - (tiny ? 23.0f : 0.0f)};
}
/*@ tj_log_poly */
/* log(1 + f) - f + f*f/2 for f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
TJ_FN float tj_log_poly(float f) {
  const float s = f / (2.0f + f);
  const float z = s * s;
  const float w = z * z;
  const float t1 = w * tj_fma32(w, 0.24279078841f, 0.40000972152f);
  const float t2 = z * tj_fma32(w, 0.28498786688f, 0.66666662693f);
  const float half = 0.5f * f * f;
  return s * (half + t1 + t2);
}
/*@ tj_logf */
/* The natural logarithm within 1 ulp. */
TJ_FN float tj_logf(float a) {
  const tj_log_parts p = tj_split_log(a);
  const float half = 0.5f * p.f * p.f;
  const float r = tj_log_poly(p.f);
  const float y = p.e * 0.69313812256f - ((half - (r + p.e * 9.0580006145e-6f)) - p.f);
  return a > 0 ? (a == TJ_INF ? a : y) : a == 0 ? -TJ_INF : TJ_NAN;
}
/*@ tj_log2f */
/* The binary logarithm within 1 ulp. */
TJ_FN float tj_log2f(float a) {
  const tj_log_parts p = tj_split_log(a);
  const float half = 0.5f * p.f * p.f;
  const float r = tj_log_poly(p.f);
  /* f - half in two parts, the upper with few enough bits to be multiplied exactly. */
  const float high = tj_bits_f32((uint32_t)tj_f32_bits(p.f - half) & 0xFFFFF000u);
  const float low = (p.f - high) - half + r;
  const float y =
      ((low + high) * -1.7605285393e-4f + low * 1.4428710938f) + high * 1.4428710938f + p.e;
  return a > 0 ? (a == TJ_INF ? a : y) : a == 0 ? -TJ_INF : TJ_NAN;
}
/*@ jn */
double jn(int, double);
/*@ jnf */
float jnf(int, float);
/*@ yn */
double yn(int, double);
/*@ ynf */
float ynf(int, float);
/*@ ilogb */
int ilogb(double);
/*@ ilogbf */
int ilogbf(float);
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
