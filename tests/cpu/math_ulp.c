/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the math helpers of generated C against libm's next wider type.
 *
 * test_math_ulp.py puts the helpers where HELPERS is included and compiles this with the flags of
 * generated code. Usage: math_ulp ulp STEP [name...]   every STEP-th float; STEP 1 is all of them
 *                        math_ulp speed [name...]      elements/ns, ours and libm's
 * A line of "ulp": name, largest error in ulp, the argument(s) that have it. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include HELPERS

enum { N = 4096 };

typedef void one32(float *restrict y, const float *restrict x);
typedef void two32(float *restrict y, const float *restrict a, const float *restrict b);
typedef void one64(double *restrict y, const double *restrict x);

/* name, exact function of the wider type, range of arguments for "speed" */
#define ONE32(X)           \
  X(exp, exp, -10, 10)     \
  X(exp2, exp2, -10, 10)   \
  X(exp10, pow10, -10, 10) \
  X(expm1, expm1, -10, 10) \
  X(sinh, sinh, -10, 10)   \
  X(cosh, cosh, -10, 10)   \
  X(tanh, tanh, -10, 10)   \
  X(log, log, 0, 100)      \
  X(log2, log2, 0, 100)    \
  X(log10, log10, 0, 100)  \
  X(log1p, log1p, -1, 100) \
  X(asinh, asinh, -10, 10) \
  X(acosh, acosh, 1, 100)  \
  X(atanh, atanh, -1, 1)   \
  X(cbrt, cbrt, -10, 10)   \
  X(sin, sin, -10, 10)     \
  X(cos, cos, -10, 10)     \
  X(tan, tan, -10, 10)     \
  X(atan, atan, -10, 10)   \
  X(asin, asin, -1, 1)     \
  X(acos, acos, -1, 1)     \
  X(erf, erf, -4, 4)       \
  X(erfc, erfc, -4, 8)     \
  X(rsqrt, rsqrt, 0, 100)
#define TWO32(X)           \
  X(pow, pow, 0, 10)       \
  X(atan2, atan2, -10, 10) \
  X(hypot, hypot, -10, 10)
#define ONE64(X)          \
  X(exp, expl, -10, 10)   \
  X(exp2, exp2l, -10, 10) \
  X(log, logl, 0, 100)    \
  X(tanh, tanhl, -10, 10)

#define rsqrt(x) (1.0 / sqrt(x))
#define rsqrtf(x) (1.0f / sqrtf(x))
#define pow10(x) exp10(x)
extern double exp10(double);
extern float exp10f(float);

#define LOOP32(name, exact, low, high)                                    \
  static void ours32_##name(float *restrict y, const float *restrict x) { \
    for (int i = 0; i < N; i++) y[i] = tj_##name##f(x[i]);                \
  }                                                                       \
  static void libm32_##name(float *restrict y, const float *restrict x) { \
    for (int i = 0; i < N; i++) y[i] = name##f(x[i]);                     \
  }                                                                       \
  static double exact32_##name(double x) { return exact(x); }
ONE32(LOOP32)
#define LOOPTWO(name, exact, low, high)                                                            \
  static void ours32_##name(float *restrict y, const float *restrict a, const float *restrict b) { \
    for (int i = 0; i < N; i++) y[i] = tj_##name##f(a[i], b[i]);                                   \
  }                                                                                                \
  static void libm32_##name(float *restrict y, const float *restrict a, const float *restrict b) { \
    for (int i = 0; i < N; i++) y[i] = name##f(a[i], b[i]);                                        \
  }
TWO32(LOOPTWO)
#define LOOP64(name, exact, low, high)                                      \
  static void ours64_##name(double *restrict y, const double *restrict x) { \
    for (int i = 0; i < N; i++) y[i] = tj_##name(x[i]);                     \
  }                                                                         \
  static void libm64_##name(double *restrict y, const double *restrict x) { \
    for (int i = 0; i < N; i++) y[i] = name(x[i]);                          \
  }
ONE64(LOOP64)

static uint64_t state = 88172645463325252u;
static uint64_t random64(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static float float_of(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

/* Error in ulp of a format of `digits` bits with exponents from `low` to `high`; 1e9 if the kind
 * (NaN, infinity, sign of zero) is wrong. */
static long double error(long double got, long double want, int digits, int low, int high) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e9L;
  if (want == 0) return got == 0 && signbit(got) == signbit(want) ? 0 : 1e9L;
  if (signbit(got) != signbit(want)) return 1e9L;
  const long double top = ldexpl(1, high);
  got = fabsl(got) > top ? top : fabsl(got);
  want = fabsl(want) > top ? top : fabsl(want);
  int exponent;
  frexpl(want, &exponent);
  if (exponent > high) exponent = high;
  const int unit = exponent < low ? low - digits : exponent - digits;
  return fabsl(got - want) / ldexpl(1, unit);
}

static float in[2][N], out[N];
static double in64[N], out64[N];

static void ulp32(const char *name, one32 *ours, double (*exact)(double), uint32_t step) {
  long double worst = 0;
  float at = 0;
  uint64_t next = 0;
  while (next < UINT64_C(1) << 32) {
    for (int i = 0; i < N; i++, next += step)
      in[0][i] = float_of((uint32_t)(next >> 32 ? 0 : next));
    ours(out, in[0]);
    for (int i = 0; i < N; i++) {
      const double want = exact((double)in[0][i]);
      if ((float)want == out[i]) {
        /* Within 1/2 ulp, but for zeros. */
        if (want != 0 && worst >= 0.5L) continue;
      }
      const long double e = error((long double)out[i], (long double)want, 24, -125, 128);
      if (e > worst) worst = e, at = in[0][i];
    }
  }
  printf("%sf %.3Lf %a\n", name, worst, (double)at);
}

/* All pairs of special numbers, and random ones near 1 and everywhere. */
static void ulp_two(const char *name, two32 *ours, double (*exact)(double, double), uint32_t step) {
  static const float special[] = {0.0f,          1.0f,        2.0f,
                                  3.0f,          0.5f,        1.5f,
                                  1e-45f,        1e-39f,      1.17549435e-38f,
                                  3.4028235e38f, 16777216.0f, 16777215.0f,
                                  1e10f,         1.00000012f, 0.99999994f,
                                  INFINITY,      NAN};
  enum { S = sizeof special / sizeof *special };
  long double worst = 0;
  float at[2] = {0, 0};
  const int blocks = step > 1 ? 64 + (int)(200000000 / (uint64_t)step / N) : 100000;
  for (int block = 0; block < blocks; block++) {
    for (int i = 0; i < N; i++) {
      const uint64_t r = random64();
      float a = float_of((uint32_t)r), b = float_of((uint32_t)(r >> 32));
      if (block & 1)
        a = (float)exp(((double)(uint32_t)r - 2147483648.0) / 3e8),
        b = (float)((double)(int32_t)(r >> 32) / 5e7);
      if (block == 0) {
        a = special[i / 2 % S], b = special[i / 2 / S % S];
        if (i & 1) a = -a;
        if (i / (2 * S * S) & 1) b = -b;
      }
      in[0][i] = a, in[1][i] = b;
    }
    ours(out, in[0], in[1]);
    for (int i = 0; i < N; i++) {
      const double want = exact((double)in[0][i], (double)in[1][i]);
      const long double e = error((long double)out[i], (long double)want, 24, -125, 128);
      if (e > worst) worst = e, at[0] = in[0][i], at[1] = in[1][i];
    }
  }
  printf("%sf %.3Lf %a %a\n", name, worst, (double)at[0], (double)at[1]);
}

static void ulp64(const char *name, one64 *ours, long double (*exact)(long double), uint32_t step) {
  static const double special[] = {
      0.0, 1.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, INFINITY, NAN};
  enum { S = sizeof special / sizeof *special };
  long double worst = 0;
  double at = 0;
  const int blocks = step > 1 ? 64 + (int)(200000000 / (uint64_t)step / N) : 20000;
  for (int block = 0; block < blocks; block++) {
    for (int i = 0; i < N; i++) {
      const uint64_t r = random64();
      double a;
      memcpy(&a, &r, 8);
      if (block % 3 == 1) a = (double)(int64_t)r * 0x1p-63 * 800;
      if (block % 3 == 2) a = (double)(int64_t)r * 0x1p-63 * 3;
      if (block == 0 && i < 2 * S) a = i & 1 ? -special[i / 2] : special[i / 2];
      in64[i] = a;
    }
    ours(out64, in64);
    for (int i = 0; i < N; i++) {
      const long double e =
          error((long double)out64[i], exact((long double)in64[i]), 53, -1021, 1024);
      if (e > worst) worst = e, at = in64[i];
    }
  }
  printf("%s %.3Lf %a\n", name, worst, at);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Elements/ns, the best of several rounds. */
#define RATE(call)                             \
  ({                                           \
    double best = 1e30;                        \
    for (int round = 0; round < 40; round++) { \
      const double start = now();              \
      call;                                    \
      __asm__ volatile("" ::: "memory");       \
      const double took = now() - start;       \
      best = took < best ? took : best;        \
    }                                          \
    N / best;                                  \
  })

static void fill(double low, double high) {
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < N; i++) {
      in64[i] = low + (high - low) * (double)(random64() >> 11) * 0x1p-53;
      in[k][i] = (float)in64[i];
    }
}

static void speed(const char *name, double ours, double libm) {
  printf("%-8s %6.3f %6.3f %5.1f\n", name, ours, libm, ours / libm);
}

static bool wanted(const char *name, char **names, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return count <= 0;
}

int main(int argc, char **argv) {
  const bool fast = argc > 1 && strcmp(argv[1], "speed") == 0;
  const uint32_t step = argc > 2 && !fast ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
  char **const names = argv + (fast ? 2 : 3);
  const int count = argc - (fast ? 2 : 3);
#define RUN32(name, exact, low, high)                                                     \
  if (wanted(#name "f", names, count)) {                                                  \
    if (fast) {                                                                           \
      fill(low, high);                                                                    \
      speed(#name "f", RATE(ours32_##name(out, in[0])), RATE(libm32_##name(out, in[0]))); \
    } else {                                                                              \
      ulp32(#name, ours32_##name, exact32_##name, step);                                  \
    }                                                                                     \
  }
#define RUNTWO(name, exact, low, high)                         \
  if (wanted(#name "f", names, count)) {                       \
    if (fast) {                                                \
      fill(low, high);                                         \
      speed(#name "f", RATE(ours32_##name(out, in[0], in[1])), \
            RATE(libm32_##name(out, in[0], in[1])));           \
    } else {                                                   \
      ulp_two(#name, ours32_##name, exact, step);              \
    }                                                          \
  }
#define RUN64(name, exact, low, high)                                                   \
  if (wanted(#name, names, count)) {                                                    \
    if (fast) {                                                                         \
      fill(low, high);                                                                  \
      speed(#name, RATE(ours64_##name(out64, in64)), RATE(libm64_##name(out64, in64))); \
    } else {                                                                            \
      ulp64(#name, ours64_##name, exact, step);                                         \
    }                                                                                   \
  }
  ONE32(RUN32)
  TWO32(RUNTWO)
  ONE64(RUN64)
  return 0;
}
