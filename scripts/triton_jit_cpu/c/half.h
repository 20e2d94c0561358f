/* SPDX-License-Identifier: Apache-2.0 */
/* fp16 and bf16. Branch-free, so that loops over them vectorise on any machine. */
/*@ tj_bf16_to_f32 */
TJ_FN float tj_bf16_to_f32(uint16_t a) { return tj_bits_f32((uint32_t)a << 16); }
/*@ tj_f32_to_bf16 */
/* To nearest, ties to even; NaN stays NaN. */
TJ_FN uint16_t tj_f32_to_bf16(float a) {
  const uint32_t x = (uint32_t)tj_f32_bits(a);
  const uint32_t rounded = (x + 0x7FFFu + ((x >> 16) & 1u)) >> 16;
  return (uint16_t)((x & 0x7FFFFFFFu) > 0x7F800000u ? (x >> 16) | 0x40u : rounded);
}
/*@ tj_f16_to_f32 */
TJ_FN float tj_f16_to_f32(uint16_t a) {
  /* Exponent and mantissa moved into place, then scaled by 2^(127 - 15): right for subnormals too. */
  const uint32_t magnitude = (uint32_t)(a & 0x7FFFu) << 13;
  const uint32_t scaled = (uint32_t)tj_f32_bits(tj_bits_f32(magnitude) * 0x1p112f);
  const uint32_t special = magnitude | 0x7F800000u;
  return tj_bits_f32((magnitude >= 0x0F800000u ? special : scaled) | (uint32_t)(a & 0x8000u) << 16);
}
/*@ tj_f32_to_f16 */
/* To nearest, ties to even; too large is infinity; NaN keeps its upper payload. */
TJ_FN uint16_t tj_f32_to_f16(float a) {
  const uint32_t x = (uint32_t)tj_f32_bits(a);
  const uint32_t m = x & 0x7FFFFFFFu;
  const uint32_t sign = (x >> 16) & 0x8000u;
  /* Normal results: rebias the exponent and round at bit 13. */
  const uint32_t normal = (m - 0x38000000u + 0xFFFu + ((m >> 13) & 1u)) >> 13;
  /* Subnormal results: the addition puts the rounded mantissa at the bottom. */
  const uint32_t small = (uint32_t)tj_f32_bits(tj_bits_f32(m) + 0.5f) - 0x3F000000u;
  const uint32_t special = m > 0x7F800000u ? 0x7E00u | ((m >> 13) & 0x3FFu) : 0x7C00u;
  const uint32_t finite = m < 0x38800000u ? small : normal;
  return (uint16_t)(sign | (m >= 0x477FF000u ? special : finite));
}
