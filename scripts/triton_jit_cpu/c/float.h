/* SPDX-License-Identifier: Apache-2.0 */
/* Bits, extremes and conversions of float and double: one text for both types. */
/*@ tj_fBITS_bits @ BITS,TYPE 32,float 64,double */
TJ_FN intBITS_t tj_fBITS_bits(TYPE a) {
  union {
    TYPE f;
    intBITS_t i;
  } u = {a};
  return u.i;
}
/*@ tj_bits_fBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_bits_fBITS(uintBITS_t a) {
  union {
    uintBITS_t i;
    TYPE f;
  } u = {a};
  return u.f;
}
/*@ tj_maxnumBITS @ BITS,TYPE 32,float 64,double */
/* The other operand where one is NaN. */
TJ_FN TYPE tj_maxnumBITS(TYPE a, TYPE b) { return ((b > a) | (a != a)) ? b : a; }
/*@ tj_minnumBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_minnumBITS(TYPE a, TYPE b) { return ((b < a) | (a != a)) ? b : a; }
/*@ tj_maximumBITS @ BITS,TYPE 32,float 64,double */
/* NaN where one operand is NaN; +0 is more than -0. */
TJ_FN TYPE tj_maximumBITS(TYPE a, TYPE b) {
  const TYPE c = ((b > a) | ((b == a) & (tj_fBITS_bits(a) < 0))) ? b : a;
  return a != a ? a : b != b ? b : c;
}
/*@ tj_minimumBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_minimumBITS(TYPE a, TYPE b) {
  const TYPE c = ((b < a) | ((b == a) & (tj_fBITS_bits(b) < 0))) ? b : a;
  return a != a ? a : b != b ? b : c;
}
/*@ tj_fBITS_to_sTO @ BITS,TYPE,TO,LIMIT 32,float,8,0x1p7f 32,float,16,0x1p15f
 * 32,float,32,0x1p31f 32,float,64,0x1p63f 64,double,8,0x1p7 64,double,16,0x1p15
 * 64,double,32,0x1p31 64,double,64,0x1p63 */
/* Towards zero; what does not fit is clamped, NaN is 0. */
TJ_FN intTO_t tj_fBITS_to_sTO(TYPE a) {
  const bool fits = (a > -LIMIT) & (a < LIMIT);
  const intTO_t r = (intTO_t)(fits ? a : 0);
  return fits ? r : a >= LIMIT ? INTTO_MAX : a <= -LIMIT ? INTTO_MIN : 0;
}
/*@ tj_fBITS_to_uTO @ BITS,TYPE,TO,LIMIT 32,float,8,0x1p8f 32,float,16,0x1p16f
 * 32,float,32,0x1p32f 32,float,64,0x1p64f 64,double,8,0x1p8 64,double,16,0x1p16
 * 64,double,32,0x1p32 64,double,64,0x1p64 */
TJ_FN uintTO_t tj_fBITS_to_uTO(TYPE a) {
  return !(a > 0) ? 0 : a >= LIMIT ? UINTTO_MAX : (uintTO_t)a;
}
/*@ tj_f64_to_odd */
/* double to float, rounded to odd: a second rounding to a narrower type is then exact. */
TJ_FN float tj_f64_to_odd(double a) {
  const float f = (float)a;
  const double back = (double)f;
  const uint32_t away = __builtin_fabs(back) > __builtin_fabs(a) ? 1u : 0u;
  return tj_bits_f32(((uint32_t)tj_f32_bits(f) - away) | (back != a ? 1u : 0u));
}
