/* SPDX-License-Identifier: Apache-2.0 */
/* The fp8 kinds, in software. */
/*@ tj_small_to_f32 */
/* The number of a magnitude in a format of `mantissa` bits whose smallest normal number is 2^low.
 * A subnormal one gets an implicit one like the others, which is then taken off. Never through
 * float's own subnormal numbers, which cost some processors a hundred cycles a vector. */
TJ_FN float tj_small_to_f32(uint32_t magnitude, int mantissa, int low) {
  const bool subnormal = magnitude >> mantissa == 0;
  const uint32_t one = (uint32_t)(127 + low) << 23;
  const uint32_t base = subnormal ? one : one - (1u << 23);
  const float implicit = tj_bits_f32(subnormal ? one : 0u);
  return tj_bits_f32((magnitude << (23 - mantissa)) + base) - implicit;
}
/*@ tj_fp8_to_f32 */
TJ_FN float tj_fp8_to_f32(uint8_t a, int mantissa, int low) {
  const float f = tj_small_to_f32(a & 0x7Fu, mantissa, low);
  return tj_bits_f32((uint32_t)tj_f32_bits(f) | (uint32_t)(a & 0x80u) << 24);
}
/*@ tj_e4m3_to_f32 */
TJ_FN float tj_e4m3_to_f32(uint8_t a) {
  const float f = tj_fp8_to_f32(a, 3, -6);
  return (a & 0x7Fu) == 0x7Fu ? tj_bits_f32(0x7FC00000u | (uint32_t)(a & 0x80u) << 24) : f;
}
/*@ tj_e5m2_to_f32 */
TJ_FN float tj_e5m2_to_f32(uint8_t a) {
  const float f = tj_fp8_to_f32(a, 2, -14);
  const uint32_t special = 0x7F800000u | (uint32_t)(a & 3u) << 21 | (uint32_t)(a & 0x80u) << 24;
  return (a & 0x7Fu) >= 0x7Cu ? tj_bits_f32(special) : f;
}
/*@ tj_e4m3fnuz_to_f32 */
TJ_FN float tj_e4m3fnuz_to_f32(uint8_t a) {
  const float f = tj_fp8_to_f32(a, 3, -7);
  return a == 0x80u ? TJ_NAN : f;
}
/*@ tj_e5m2fnuz_to_f32 */
TJ_FN float tj_e5m2fnuz_to_f32(uint8_t a) {
  const float f = tj_fp8_to_f32(a, 2, -15);
  return a == 0x80u ? TJ_NAN : f;
}
/*@ tj_f32_to_small */
/* Magnitude of a rounded to nearest even in a format of `mantissa` bits whose smallest normal
 * number is 2^low: the bits of exponent and mantissa, not limited at the top. */
TJ_FN uint32_t tj_f32_to_small(float a, int mantissa, int low) {
  const uint32_t m = (uint32_t)tj_f32_bits(a) & 0x7FFFFFFFu;
  const int drop = 23 - mantissa;
  const uint32_t base = (uint32_t)(127 + low - 1) << 23;
  const uint32_t normal = (m - base + ((1u << (drop - 1)) - 1u) + ((m >> drop) & 1u)) >> drop;
  /* One unit of `magic` is one unit of the subnormals. */
  const uint32_t magic = (uint32_t)(127 + low + drop) << 23;
  const uint32_t small = (uint32_t)tj_f32_bits(tj_bits_f32(m) + tj_bits_f32(magic)) - magic;
  return m < (uint32_t)(127 + low) << 23 ? small : normal;
}
/*@ tj_f32_to_KIND @ KIND,MANTISSA,LOW,MOST,LIMIT e4m3,3,-6,448.0f,0x43E00000u
 * e5m2,2,-14,57344.0f,0x47600000u */
/* To nearest even; beyond the largest number, infinity included, that number; NaN stays NaN. */
TJ_FN uint8_t tj_f32_to_KIND(float a) {
  const uint32_t sign = ((uint32_t)tj_f32_bits(a) >> 24) & 0x80u;
  const uint32_t m = (uint32_t)tj_f32_bits(a) & 0x7FFFFFFFu;
  const uint32_t r = tj_f32_to_small(m >= LIMIT ? MOST : a, MANTISSA, LOW);
  return (uint8_t)(sign | (m > 0x7F800000u ? 0x7Fu : r));
}
/*@ tj_f32_to_KIND @ KIND,MANTISSA,LOW,MOST,LIMIT e4m3fnuz,3,-7,240.0f,0x43700000u
 * e5m2fnuz,2,-15,57344.0f,0x47600000u */
/* The same without infinity and negative zero, whose code is NaN. */
TJ_FN uint8_t tj_f32_to_KIND(float a) {
  const uint32_t sign = ((uint32_t)tj_f32_bits(a) >> 24) & 0x80u;
  const uint32_t m = (uint32_t)tj_f32_bits(a) & 0x7FFFFFFFu;
  const uint32_t r = tj_f32_to_small(m >= LIMIT ? MOST : a, MANTISSA, LOW);
  return (uint8_t)(m > 0x7F800000u ? 0x80u : r == 0 ? 0u : sign | r);
}
/*@ tj_e4b15_to_f16 */
/* Triton's fp8e4b15: four exponent bits with fp16's bias, no infinity, no NaN. */
TJ_FN uint16_t tj_e4b15_to_f16(uint8_t a) {
  return (uint16_t)((uint32_t)(a & 0x7Fu) << 7 | (uint32_t)(a & 0x80u) << 8);
}
/*@ tj_f16_to_e4b15 */
/* Half up; 1.75 for all that is larger, and for NaN. */
TJ_FN uint8_t tj_f16_to_e4b15(uint16_t a) {
  const uint32_t m = a & 0x7FFFu;
  const uint32_t limited = m > 0x3F00u ? 0x3F00u : m;
  return (uint8_t)(((limited * 2u + 0x80u) >> 8) | ((uint32_t)(a & 0x8000u) >> 8));
}
/*@ tj_f32_to_KIND_rtz @ KIND,BITS f16,16 bf16,16 e4m3,8 e5m2,8 */
/* Towards zero. */
TJ_FN uintBITS_t tj_f32_to_KIND_rtz(float a) {
  const uintBITS_t r = tj_f32_to_KIND(a);
  const bool away = __builtin_fabsf(tj_KIND_to_f32(r)) > __builtin_fabsf(a);
  return (uintBITS_t)(away ? r - 1u : r);
}
/*@ tj_f32_to_KIND_rtz @ KIND e4m3fnuz e5m2fnuz */
/* Towards zero, which has no negative. */
TJ_FN uint8_t tj_f32_to_KIND_rtz(float a) {
  const uint32_t r = tj_f32_to_KIND(a);
  const uint32_t away = __builtin_fabsf(tj_KIND_to_f32((uint8_t)r)) > __builtin_fabsf(a);
  const uint32_t toward = r - away;
  return (uint8_t)(toward ^ (away & (toward == 0x80u)) << 7);
}
/*@ tj_e2m1_to_f32 */
/* The fp4 number in the low four bits. */
TJ_FN float tj_e2m1_to_f32(uint32_t a) {
  const float f = tj_small_to_f32(a & 7u, 1, 0);
  return a & 8u ? -f : f;
}
/*@ tj_e8m0_to_f32 */
/* A power of two by its exponent; 255 is NaN. */
TJ_FN float tj_e8m0_to_f32(uint8_t a) {
  const uint32_t exponent = a, bits = exponent == 0 ? 0x00400000u : exponent << 23;
  return tj_bits_f32(exponent == 255u ? 0x7FC00000u : bits);
}
