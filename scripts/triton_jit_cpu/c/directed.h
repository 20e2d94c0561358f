/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic rounded down (rd), up (ru) or towards zero (rz), exactly and without touching the
 * rounding mode, which compilers do not respect. From the result to nearest `r` and a number with
 * the sign of (exact - r), the neighbour follows.
 *
 * float: the exact result, or one rounded to odd, or (quotient, root) a rounded one that cannot
 * have reached a float that the exact one is not, stands in a double. double: the error of r
 * comes from error-free transformations, on operands scaled near 1. */
/*@ tj_nextBITS @ BITS,TYPE 32,float 64,double */
/* The next number up. */
TJ_FN TYPE tj_nextBITS(TYPE r) {
  const intBITS_t bits = tj_fBITS_bits(r);
  return r == 0 ? tj_bits_fBITS(1u) : tj_bits_fBITS((uintBITS_t)(r > 0 ? bits + 1 : bits - 1));
}
/*@ tj_rdBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_rdBITS(TYPE r, double error) { return error < 0 ? -tj_nextBITS(-r) : r; }
/*@ tj_ruBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_ruBITS(TYPE r, double error) { return error > 0 ? tj_nextBITS(r) : r; }
/*@ tj_rzBITS @ BITS,TYPE 32,float 64,double */
/* r has the sign of the exact result: past it means too large a magnitude. */
TJ_FN TYPE tj_rzBITS(TYPE r, double error) {
  const bool past = ((r > 0) & (error < 0)) | ((r < 0) & (error > 0));
  return tj_bits_fBITS((uintBITS_t)tj_fBITS_bits(r) - (past ? 1u : 0u));
}
/*@ tj_f64_to_f32_MODE @ MODE rd ru rz */
TJ_FN float tj_f64_to_f32_MODE(double a) {
  const float r = (float)a;
  return tj_MODE32(r, a - (double)r);
}
/*@ tj_sum_error */
/* a + b - r for r = a + b. */
TJ_FN double tj_sum_error(double a, double b, double r) {
  const double part = r - a;
  const double error = (a - (r - part)) + (b - part);
  const bool over = (__builtin_fabs(r) == (double)TJ_INF) & (__builtin_fabs(a) < (double)TJ_INF) &
                    (__builtin_fabs(b) < (double)TJ_INF);
  return over ? -r : error;
}
/*@ tj_sum_odd */
/* a + b rounded to odd: rounding that once more, to fewer bits (51 or less), is one rounding. */
TJ_FN double tj_sum_odd(double a, double b) {
  const double r = a + b, error = tj_sum_error(a, b, r);
  const double low = tj_rz64(r, error);
  return tj_bits_f64((uint64_t)tj_f64_bits(low) | ((error < 0) | (error > 0)));
}
/*@ tj_fma_odd */
/* a * b + c of narrow numbers or floats (the product is exact in double), rounded to odd. */
TJ_FN double tj_fma_odd(float a, float b, float c) {
  return tj_sum_odd((double)a * (double)b, (double)c);
}
/*@ tj_zero_rd */
/* r = a + b; a zero is negative if rounded down, unless both terms are +0. */
TJ_FN double tj_zero_rd(double a, double b, double r) {
  return ((r == 0) & ((tj_f64_bits(a) | tj_f64_bits(b)) < 0)) ? -0.0 : r;
}
/*@ tj_zero_MODE @ MODE ru rz */
TJ_FN double tj_zero_MODE(double a, double b, double r) {
  (void)a, (void)b;
  return r;
}
/*@ tj_fadd_MODE @ MODE rd ru rz */
TJ_FN float tj_fadd_MODE(float a, float b) {
  const double r = tj_sum_odd((double)a, (double)b);
  return tj_f64_to_f32_MODE(tj_zero_MODE((double)a, (double)b, r));
}
/*@ tj_fmul_MODE @ MODE rd ru rz */
TJ_FN float tj_fmul_MODE(float a, float b) { return tj_f64_to_f32_MODE((double)a * (double)b); }
/*@ tj_fdiv_MODE @ MODE rd ru rz */
TJ_FN float tj_fdiv_MODE(float a, float b) { return tj_f64_to_f32_MODE((double)a / (double)b); }
/*@ tj_fsqrt_MODE @ MODE rd ru rz */
TJ_FN float tj_fsqrt_MODE(float a) { return tj_f64_to_f32_MODE(__builtin_sqrt((double)a)); }
/*@ tj_fmaf_MODE @ MODE rd ru rz */
TJ_FN float tj_fmaf_MODE(float a, float b, float c) {
  const double r = tj_fma_odd(a, b, c);
  return tj_f64_to_f32_MODE(tj_zero_MODE((double)a * (double)b, (double)c, r));
}
/*@ tj_exponent */
/* The exponent of |a| as a double; 0 for 0, infinity and NaN. */
TJ_FN double tj_exponent(double a) {
  const double m = __builtin_fabs(a);
  const bool tiny = m < 0x1p-1022;
  const uint64_t bits = (uint64_t)tj_f64_bits(tiny ? m * 0x1p54 : m) >> 52;
  return ((m > 0) & (m < (double)TJ_INF)) ? (double)(int64_t)bits - (tiny ? 1077.0 : 1023.0) : 0.0;
}
/*@ tj_rescale */
/* a * 2^n for n in [-4000, 4000], exact where the result is near 1. */
TJ_FN double tj_rescale(double a, double n) {
  const double half = (0.5 * n + 0x1.8p52) - 0x1.8p52;
  return tj_scale(tj_scale(a, half), n - half);
}
/*@ tj_dadd_MODE @ MODE rd ru rz */
TJ_FN double tj_dadd_MODE(double a, double b) {
  const double r = a + b;
  return tj_MODE64(tj_zero_MODE(a, b, r), tj_sum_error(a, b, r));
}
/*@ tj_dmul_MODE @ MODE rd ru rz */
TJ_FN double tj_dmul_MODE(double a, double b) {
  const double i = tj_exponent(a), j = tj_exponent(b), r = a * b;
  const double x = tj_rescale(a, -i), y = tj_rescale(b, -j);
  return tj_MODE64(r, __builtin_fma(x, y, -tj_rescale(r, -i - j)));
}
/*@ tj_ddiv_MODE @ MODE rd ru rz */
TJ_FN double tj_ddiv_MODE(double a, double b) {
  const double i = tj_exponent(a), j = tj_exponent(b), r = a / b;
  const double x = tj_rescale(a, -i), y = tj_rescale(b, -j);
  /* a - r * b has the sign of (a / b - r) * b. */
  const double rest = __builtin_fma(-tj_rescale(r, j - i), y, x);
  return tj_MODE64(r, b < 0 ? -rest : rest);
}
/*@ tj_dsqrt_MODE @ MODE rd ru rz */
TJ_FN double tj_dsqrt_MODE(double a) {
  const double i = 2.0 * ((0.5 * tj_exponent(a) + 0x1.8p52) - 0x1.8p52), r = __builtin_sqrt(a);
  const double root = tj_rescale(r, -0.5 * i);
  return tj_MODE64(r, __builtin_fma(-root, root, tj_rescale(a, -i)));
}
/*@ tj_fma_error */
/* a * b + c - r for r = fma(a, b, c), in sign (Boldo and Muller's exact error, on operands scaled
 * such that the larger term is near 1; a term far below the other may grow, which keeps signs). */
TJ_FN double tj_fma_error(double a, double b, double c, double r) {
  const double i = tj_exponent(a), j = tj_exponent(b), k = tj_exponent(c);
  const bool product = a != 0 && b != 0;
  const double top = !product || (c != 0 && k > i + j) ? k : i + j;
  const double low = -300.0;
  const double p = i + j - top < low ? low : i + j - top, q = k - top < low ? low : k - top;
  const double x = tj_scale(tj_rescale(a, -i), product ? p : 0.0), y = tj_rescale(b, -j);
  const double z = tj_scale(tj_rescale(c, -k), c == 0 ? 0.0 : q);
  const double s = tj_rescale(r, -top);
  const double high = x * y, rest = __builtin_fma(x, y, -high);
  const double a1 = z + rest, a2 = tj_sum_error(z, rest, a1);
  const double b1 = high + a1, b2 = tj_sum_error(high, a1, b1);
  return ((b1 - s) + b2) + a2;
}
/*@ tj_dma_MODE @ MODE rd ru rz */
TJ_FN double tj_dma_MODE(double a, double b, double c) {
  const double r = __builtin_fma(a, b, c);
  const double error = tj_fma_error(a, b, c, r);
  return tj_MODE64(error == 0 ? tj_zero_MODE(a * b, c, r) : r, error);
}
/*@ tj_u64_sum_MODE @ MODE rd ru rz */
TJ_FN double tj_u64_sum_MODE(double high, uint32_t low) {
  const double r = high + (double)low;
  return tj_MODE64(r, tj_sum_error(high, (double)low, r));
}
/*@ tj_s64_to_f64_MODE @ MODE rd ru rz */
TJ_FN double tj_s64_to_f64_MODE(int64_t a) {
  return tj_u64_sum_MODE((double)(int32_t)(a >> 32) * 0x1p32, (uint32_t)a);
}
/*@ tj_u64_to_f64_MODE @ MODE rd ru rz */
TJ_FN double tj_u64_to_f64_MODE(uint64_t a) {
  return tj_u64_sum_MODE((double)(uint32_t)(a >> 32) * 0x1p32, (uint32_t)a);
}
/*@ tj_s64_to_odd */
/* Integers rounded to odd in double: rounding once more, to float or less, is one rounding. */
TJ_FN double tj_s64_to_odd(int64_t a) {
  return tj_sum_odd((double)(int32_t)(a >> 32) * 0x1p32, (double)(uint32_t)a);
}
/*@ tj_u64_to_odd */
TJ_FN double tj_u64_to_odd(uint64_t a) {
  return tj_sum_odd((double)(uint32_t)(a >> 32) * 0x1p32, (double)(uint32_t)a);
}
