/* SPDX-License-Identifier: Apache-2.0 */
/* Integer operations that C leaves undefined in corner cases. */
/*@ tj_divsBITS @ BITS 8 16 32 64 */
/* Division by 0 gives 0; the most negative number by -1 wraps. */
TJ_FN intBITS_t tj_divsBITS(intBITS_t a, intBITS_t b) {
  return b == 0 ? 0 : b == -1 ? (intBITS_t)(0 - (uintBITS_t)a) : (intBITS_t)(a / b);
}
/*@ tj_remsBITS @ BITS 8 16 32 64 */
TJ_FN intBITS_t tj_remsBITS(intBITS_t a, intBITS_t b) {
  return b == 0 || b == -1 ? 0 : (intBITS_t)(a % b);
}
/*@ tj_divuBITS @ BITS 8 16 32 64 */
TJ_FN uintBITS_t tj_divuBITS(uintBITS_t a, uintBITS_t b) {
  return b == 0 ? 0 : (uintBITS_t)(a / b);
}
/*@ tj_remuBITS @ BITS 8 16 32 64 */
TJ_FN uintBITS_t tj_remuBITS(uintBITS_t a, uintBITS_t b) {
  return b == 0 ? 0 : (uintBITS_t)(a % b);
}
/*@ tj_floordivsBITS @ BITS 8 16 32 64 */
TJ_FN intBITS_t tj_floordivsBITS(intBITS_t a, intBITS_t b) {
  const intBITS_t q = tj_divsBITS(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? (intBITS_t)(q - 1) : q;
}
/*@ tj_ceildivsBITS @ BITS 8 16 32 64 */
TJ_FN intBITS_t tj_ceildivsBITS(intBITS_t a, intBITS_t b) {
  const intBITS_t q = tj_divsBITS(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) == (b < 0) ? (intBITS_t)(q + 1) : q;
}
/*@ tj_ceildivuBITS @ BITS 8 16 32 64 */
TJ_FN uintBITS_t tj_ceildivuBITS(uintBITS_t a, uintBITS_t b) {
  return b == 0 ? 0 : (uintBITS_t)(a / b + (a % b != 0));
}
/*@ tj_ctpopBITS @ BITS 8 16 32 64 */
TJ_FN int tj_ctpopBITS(uintBITS_t a) { return __builtin_popcountll(a); }
/*@ tj_ctlz8 */
TJ_FN int tj_ctlz8(uint8_t a) { return a == 0 ? 8 : __builtin_clzll(a) - 56; }
/*@ tj_cttz8 */
TJ_FN int tj_cttz8(uint8_t a) { return a == 0 ? 8 : __builtin_ctzll(a); }
/*@ tj_mulhiu8 */
TJ_FN uint8_t tj_mulhiu8(int8_t a, int8_t b) {
  return (uint8_t)(((uint16_t)(uint8_t)a * (uint8_t)b) >> 8);
}
/*@ tj_mulhis8 */
TJ_FN int8_t tj_mulhis8(int8_t a, int8_t b) { return (int8_t)(((int16_t)a * b) >> 8); }
/*@ tj_ctlz16 */
TJ_FN int tj_ctlz16(uint16_t a) { return a == 0 ? 16 : __builtin_clzll(a) - 48; }
/*@ tj_cttz16 */
TJ_FN int tj_cttz16(uint16_t a) { return a == 0 ? 16 : __builtin_ctzll(a); }
/*@ tj_mulhiu16 */
TJ_FN uint16_t tj_mulhiu16(int16_t a, int16_t b) {
  return (uint16_t)(((uint32_t)(uint16_t)a * (uint16_t)b) >> 16);
}
/*@ tj_mulhis16 */
TJ_FN int16_t tj_mulhis16(int16_t a, int16_t b) { return (int16_t)(((int32_t)a * b) >> 16); }
/*@ tj_ctlz32 */
TJ_FN int tj_ctlz32(uint32_t a) { return a == 0 ? 32 : __builtin_clzll(a) - 32; }
/*@ tj_cttz32 */
TJ_FN int tj_cttz32(uint32_t a) { return a == 0 ? 32 : __builtin_ctzll(a); }
/*@ tj_mulhiu32 */
TJ_FN uint32_t tj_mulhiu32(int32_t a, int32_t b) {
  return (uint32_t)(((uint64_t)(uint32_t)a * (uint32_t)b) >> 32);
}
/*@ tj_mulhis32 */
TJ_FN int32_t tj_mulhis32(int32_t a, int32_t b) { return (int32_t)(((int64_t)a * b) >> 32); }
/*@ tj_ctlz64 */
TJ_FN int tj_ctlz64(uint64_t a) { return a == 0 ? 64 : __builtin_clzll(a) - 0; }
/*@ tj_cttz64 */
TJ_FN int tj_cttz64(uint64_t a) { return a == 0 ? 64 : __builtin_ctzll(a); }
/*@ tj_mulhiu64 */
TJ_FN uint64_t tj_mulhiu64(int64_t a, int64_t b) {
  return (uint64_t)(((unsigned __int128)(uint64_t)a * (uint64_t)b) >> 64);
}
/*@ tj_mulhis64 */
TJ_FN int64_t tj_mulhis64(int64_t a, int64_t b) { return (int64_t)(((__int128)a * b) >> 64); }
/*@ tj_ipow */
TJ_FN int64_t tj_ipow(int64_t a, int64_t b) {
  int64_t r = 1;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  for (; b; b >>= 1, a *= a)
    if (b & 1) r *= a;
  return r;
}
/*@ tj_brev32 */
TJ_FN uint32_t tj_brev32(uint32_t a) {
  a = (a & 0x55555555u) << 1 | (a >> 1 & 0x55555555u);
  a = (a & 0x33333333u) << 2 | (a >> 2 & 0x33333333u);
  a = (a & 0x0F0F0F0Fu) << 4 | (a >> 4 & 0x0F0F0F0Fu);
  return __builtin_bswap32(a);
}
/*@ tj_brev64 */
TJ_FN uint64_t tj_brev64(uint64_t a) {
  return (uint64_t)tj_brev32((uint32_t)a) << 32 | tj_brev32((uint32_t)(a >> 32));
}
/*@ tj_byte_perm */
TJ_FN uint32_t tj_byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int i = 0; i < 4; i++)
    r |= (uint32_t)(both >> (8 * (selector >> (4 * i) & 7u)) & 0xFFu) << (8 * i);
  return r;
}
