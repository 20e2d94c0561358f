/* SPDX-License-Identifier: Apache-2.0 */
/* Integer operations that C leaves undefined in corner cases. */
/*@ tj_divs8 */
/* Division by 0 gives 0; the most negative number by -1 wraps. */
TJ_FN int8_t tj_divs8(int8_t a, int8_t b) {
  return b == 0 ? 0 : b == -1 ? (int8_t)(0 - (uint8_t)a) : (int8_t)(a / b);
}
/*@ tj_rems8 */
TJ_FN int8_t tj_rems8(int8_t a, int8_t b) { return b == 0 || b == -1 ? 0 : (int8_t)(a % b); }
/*@ tj_divu8 */
TJ_FN uint8_t tj_divu8(uint8_t a, uint8_t b) { return b == 0 ? 0 : (uint8_t)(a / b); }
/*@ tj_remu8 */
TJ_FN uint8_t tj_remu8(uint8_t a, uint8_t b) { return b == 0 ? 0 : (uint8_t)(a % b); }
/*@ tj_floordivs8 */
TJ_FN int8_t tj_floordivs8(int8_t a, int8_t b) {
  const int8_t q = tj_divs8(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? (int8_t)(q - 1) : q;
}
/*@ tj_ceildivs8 */
TJ_FN int8_t tj_ceildivs8(int8_t a, int8_t b) {
  const int8_t q = tj_divs8(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) == (b < 0) ? (int8_t)(q + 1) : q;
}
/*@ tj_ceildivu8 */
TJ_FN uint8_t tj_ceildivu8(uint8_t a, uint8_t b) {
  return b == 0 ? 0 : (uint8_t)(a / b + (a % b != 0));
}
/*@ tj_ctpop8 */
TJ_FN int tj_ctpop8(uint8_t a) { return __builtin_popcountll(a); }
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
/*@ tj_divs16 */
/* Division by 0 gives 0; the most negative number by -1 wraps. */
TJ_FN int16_t tj_divs16(int16_t a, int16_t b) {
  return b == 0 ? 0 : b == -1 ? (int16_t)(0 - (uint16_t)a) : (int16_t)(a / b);
}
/*@ tj_rems16 */
TJ_FN int16_t tj_rems16(int16_t a, int16_t b) { return b == 0 || b == -1 ? 0 : (int16_t)(a % b); }
/*@ tj_divu16 */
TJ_FN uint16_t tj_divu16(uint16_t a, uint16_t b) { return b == 0 ? 0 : (uint16_t)(a / b); }
/*@ tj_remu16 */
TJ_FN uint16_t tj_remu16(uint16_t a, uint16_t b) { return b == 0 ? 0 : (uint16_t)(a % b); }
/*@ tj_floordivs16 */
TJ_FN int16_t tj_floordivs16(int16_t a, int16_t b) {
  const int16_t q = tj_divs16(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? (int16_t)(q - 1) : q;
}
/*@ tj_ceildivs16 */
TJ_FN int16_t tj_ceildivs16(int16_t a, int16_t b) {
  const int16_t q = tj_divs16(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) == (b < 0) ? (int16_t)(q + 1) : q;
}
/*@ tj_ceildivu16 */
TJ_FN uint16_t tj_ceildivu16(uint16_t a, uint16_t b) {
  return b == 0 ? 0 : (uint16_t)(a / b + (a % b != 0));
}
/*@ tj_ctpop16 */
TJ_FN int tj_ctpop16(uint16_t a) { return __builtin_popcountll(a); }
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
/*@ tj_divs32 */
/* Division by 0 gives 0; the most negative number by -1 wraps. */
TJ_FN int32_t tj_divs32(int32_t a, int32_t b) {
  return b == 0 ? 0 : b == -1 ? (int32_t)(0 - (uint32_t)a) : (int32_t)(a / b);
}
/*@ tj_rems32 */
TJ_FN int32_t tj_rems32(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : (int32_t)(a % b); }
/*@ tj_divu32 */
TJ_FN uint32_t tj_divu32(uint32_t a, uint32_t b) { return b == 0 ? 0 : (uint32_t)(a / b); }
/*@ tj_remu32 */
TJ_FN uint32_t tj_remu32(uint32_t a, uint32_t b) { return b == 0 ? 0 : (uint32_t)(a % b); }
/*@ tj_floordivs32 */
TJ_FN int32_t tj_floordivs32(int32_t a, int32_t b) {
  const int32_t q = tj_divs32(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? (int32_t)(q - 1) : q;
}
/*@ tj_ceildivs32 */
TJ_FN int32_t tj_ceildivs32(int32_t a, int32_t b) {
  const int32_t q = tj_divs32(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) == (b < 0) ? (int32_t)(q + 1) : q;
}
/*@ tj_ceildivu32 */
TJ_FN uint32_t tj_ceildivu32(uint32_t a, uint32_t b) {
  return b == 0 ? 0 : (uint32_t)(a / b + (a % b != 0));
}
/*@ tj_ctpop32 */
TJ_FN int tj_ctpop32(uint32_t a) { return __builtin_popcountll(a); }
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
/*@ tj_divs64 */
/* Division by 0 gives 0; the most negative number by -1 wraps. */
TJ_FN int64_t tj_divs64(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : (int64_t)(a / b);
}
/*@ tj_rems64 */
TJ_FN int64_t tj_rems64(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : (int64_t)(a % b); }
/*@ tj_divu64 */
TJ_FN uint64_t tj_divu64(uint64_t a, uint64_t b) { return b == 0 ? 0 : (uint64_t)(a / b); }
/*@ tj_remu64 */
TJ_FN uint64_t tj_remu64(uint64_t a, uint64_t b) { return b == 0 ? 0 : (uint64_t)(a % b); }
/*@ tj_floordivs64 */
TJ_FN int64_t tj_floordivs64(int64_t a, int64_t b) {
  const int64_t q = tj_divs64(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? (int64_t)(q - 1) : q;
}
/*@ tj_ceildivs64 */
TJ_FN int64_t tj_ceildivs64(int64_t a, int64_t b) {
  const int64_t q = tj_divs64(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) == (b < 0) ? (int64_t)(q + 1) : q;
}
/*@ tj_ceildivu64 */
TJ_FN uint64_t tj_ceildivu64(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : (uint64_t)(a / b + (a % b != 0));
}
/*@ tj_ctpop64 */
TJ_FN int tj_ctpop64(uint64_t a) { return __builtin_popcountll(a); }
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
