/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tiles: C (+)= A * B, with operands in storage.
 *
 * Everything is done in words: a float, a double, two bf16 or int16, four int8. A row of words
 * of B is multiplied by one word of A at a time, with the sums of a block of C in registers.
 * So A may lie in any order, and B needs rows of words: where it is stored turned, or where a
 * word takes elements from several rows, it is packed first (dot_pack.h).
 *
 * Order of the sums, which never depends on the number of threads: each element of C starts
 * with its old value and takes one product after the other, k ascending, with one rounding
 * each (fused multiply-add; two roundings on machines without). bf16 in words: two chains, or
 * what the instruction does (see tj_madd_bf16). Integers are exact modulo 2^32. */
/*@ TJ_VECTOR_BYTES TJ_DOT_ROWS */
#if defined(__AVX512F__)
#define TJ_VECTOR_BYTES 64
#define TJ_DOT_ROWS 8
#elif defined(__AVX__)
#define TJ_VECTOR_BYTES 32
#define TJ_DOT_ROWS 6
#elif defined(__aarch64__)
#define TJ_VECTOR_BYTES 16
#define TJ_DOT_ROWS 8
#else
#define TJ_VECTOR_BYTES 16
#define TJ_DOT_ROWS 4
#endif
/*@ tj_vec_KIND @ KIND,TYPE f32,float f64,double i32,int32_t i16,int16_t */
typedef TYPE tj_vec_KIND __attribute__((vector_size(TJ_VECTOR_BYTES), may_alias));
/*@ tj_madd_f32 */
TJ_FN tj_vec_f32 tj_madd_f32(tj_vec_f32 c, tj_vec_f32 a, tj_vec_f32 b) {
#if defined(__AVX512F__)
  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif defined(__FMA__)
  return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__aarch64__)
  for (int i = 0; i < TJ_VECTOR_BYTES / 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}
/*@ tj_madd_f64 */
TJ_FN tj_vec_f64 tj_madd_f64(tj_vec_f64 c, tj_vec_f64 a, tj_vec_f64 b) {
#if defined(__AVX512F__)
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
#elif defined(__FMA__)
  return __builtin_ia32_vfmaddpd256(a, b, c);
#elif defined(__aarch64__)
  for (int i = 0; i < TJ_VECTOR_BYTES / 8; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
#else
  return a * b + c;
#endif
}
/*@ tj_madd_i32 */
TJ_FN tj_vec_i32 tj_madd_i32(tj_vec_i32 c, tj_vec_i32 a, tj_vec_i32 b) { return a * b + c; }
/*@ tj_madd_i16 */
/* Words of two int16; their two products added to int32, modulo 2^32. */
TJ_FN tj_vec_i32 tj_madd_i16(tj_vec_i32 c, tj_vec_i32 a, tj_vec_i32 b) {
#if defined(__AVX512VNNI__)
  __asm__("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
#elif defined(__AVX512BW__)
  tj_vec_i32 both;
  __asm__("vpmaddwd %2, %1, %0" : "=v"(both) : "v"(a), "v"(b));
  return c + both;
#elif defined(__AVXVNNI__)
  __asm__("%{vex%} vpdpwssd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
  return c;
#elif defined(__AVX2__)
  return c + (tj_vec_i32)__builtin_ia32_pmaddwd256((tj_vec_i16)a, (tj_vec_i16)b);
#elif defined(__SSE2__) && !defined(__AVX__)
  return c + (tj_vec_i32)__builtin_ia32_pmaddwd128((tj_vec_i16)a, (tj_vec_i16)b);
#else
  return c + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}
/*@ TJ_DOT_AMX TJ_DOT_PACKED */
/* Packed: bf16 and int8 operands are stored as they are, for instructions that multiply them.
 * Else they are stored as float and int16. */
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__)
#define TJ_DOT_AMX 1
#endif
#if defined(TJ_DOT_AMX) || defined(__AVX512BF16__)
#define TJ_DOT_PACKED 1
#endif
/*@ tj_operand_f32 */
typedef float tj_operand_f32;
/*@ tj_operand_f64 */
typedef double tj_operand_f64;
/*@ tj_operand_i32 */
typedef int32_t tj_operand_i32;
/*@ tj_operand_i8 */
#ifdef TJ_DOT_PACKED
typedef int8_t tj_operand_i8;
#else
typedef int16_t tj_operand_i8;
#endif
/*@ tj_operand_bf16 tj_operand_bf16_bits tj_operand_bf16_value */
/* An operand's element from the bits of a bf16, and from a float that is a bf16 number. */
#ifdef TJ_DOT_PACKED
typedef uint16_t tj_operand_bf16;
TJ_FN tj_operand_bf16 tj_operand_bf16_bits(uint16_t a) { return a; }
TJ_FN tj_operand_bf16 tj_operand_bf16_value(float a) {
  return (uint16_t)((uint32_t)tj_f32_bits(a) >> 16);
}
#else
typedef float tj_operand_bf16;
TJ_FN tj_operand_bf16 tj_operand_bf16_bits(uint16_t a) { return tj_bf16_to_f32(a); }
TJ_FN tj_operand_bf16 tj_operand_bf16_value(float a) { return a; }
#endif
/*@ tj_madd_i8 */
/* Words of four int8 (packed) or of two int16. */
TJ_FN tj_vec_i32 tj_madd_i8(tj_vec_i32 c, tj_vec_i32 a, tj_vec_i32 b) {
#ifdef TJ_DOT_PACKED
  const tj_vec_i16 x = (tj_vec_i16)a, y = (tj_vec_i16)b;
  c = tj_madd_i16(c, (tj_vec_i32)(x << 8 >> 8), (tj_vec_i32)(y << 8 >> 8));
  return tj_madd_i16(c, (tj_vec_i32)(x >> 8), (tj_vec_i32)(y >> 8));
#else
  return tj_madd_i16(c, a, b);
#endif
}
/*@ tj_madd_bf16 */
/* Words of two bf16, the product of the lower halves first.
 *
 * vdpbf16ps (and AMX) round each product's addition to nearest as float does, but take numbers
 * below 2^-126 for zero, in operands and sums. For a product that costs at most 2^-126 times the
 * other operand, which is less than the rounding of a float sum unless all of a row or column
 * is below 2^-100: within what any sum of bf16 products in float promises. */
TJ_FN tj_vec_f32 tj_madd_bf16(tj_vec_f32 c, tj_vec_i32 a, tj_vec_i32 b) {
#if defined(__AVX512BF16__)
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
#else
  c = tj_madd_f32(c, (tj_vec_f32)(a << 16), (tj_vec_f32)(b << 16));
  return tj_madd_f32(c, (tj_vec_f32)(a & -65536), (tj_vec_f32)(b & -65536));
#endif
}
/*@ tj_panels_KIND @ KIND,WORD,SUM,WIDTH f32,f32,f32,4 f64,f64,f64,8 i32,i32,i32,4 i8,i32,i32,4 bf16,i32,f32,4 */
typedef tj_operand_WORD tj_word_KIND __attribute__((may_alias));
typedef tj_operand_SUM tj_sum_KIND;

/* `rows` rows of C, one or two vectors wide, of which `width` columns exist. */
TJ_FN __attribute__((always_inline)) void
tj_rows_KIND(const int rows, const int vectors, int64_t depth, const tj_word_KIND *a, int64_t am,
             int64_t ak, const tj_word_KIND *b, int64_t bk, tj_sum_KIND *c, int64_t ldc,
             int64_t width, bool add) {
  enum { LANES = TJ_VECTOR_BYTES / WIDTH };
  const uint64_t bytes = vectors == 2 || width == LANES ? TJ_VECTOR_BYTES : (uint64_t)width * WIDTH;
  tj_vec_SUM sum[TJ_DOT_ROWS][2];
  TJ_UNROLL
  for (int r = 0; r < rows; r++) {
    TJ_UNROLL
    for (int v = 0; v < vectors; v++) {
      sum[r][v] = (tj_vec_SUM){0};
      if (add) __builtin_memcpy(&sum[r][v], c + r * ldc + v * LANES, bytes);
    }
  }
  for (int64_t k = 0; k < depth; k++) {
    tj_vec_WORD y[2];
    TJ_UNROLL
    for (int v = 0; v < vectors; v++)
      __builtin_memcpy(&y[v], b + k * bk + v * LANES, TJ_VECTOR_BYTES);
    TJ_UNROLL
    for (int r = 0; r < rows; r++) {
      const tj_vec_WORD x = a[r * am + k * ak] - (tj_vec_WORD){0};
      TJ_UNROLL
      for (int v = 0; v < vectors; v++) sum[r][v] = tj_madd_KIND(sum[r][v], x, y[v]);
    }
  }
  TJ_UNROLL
  for (int r = 0; r < rows; r++) {
    TJ_UNROLL
    for (int v = 0; v < vectors; v++) __builtin_memcpy(c + r * ldc + v * LANES, &sum[r][v], bytes);
  }
}

/* A panel of C: all its rows. */
TJ_FN __attribute__((always_inline)) void tj_panel_KIND(const int vectors, int64_t m, int64_t depth,
                                                        const tj_word_KIND *a, int64_t am,
                                                        int64_t ak, const tj_word_KIND *b,
                                                        int64_t bk, tj_sum_KIND *c, int64_t ldc,
                                                        int64_t width, bool add) {
  int64_t i = 0;
  /* 8 = 4 + 4 is better than 6 + 2. */
  for (; m - i >= TJ_DOT_ROWS && (TJ_DOT_ROWS != 6 || m - i != 8); i += TJ_DOT_ROWS)
    tj_rows_KIND(TJ_DOT_ROWS, vectors, depth, a + i * am, am, ak, b, bk, c + i * ldc, ldc, width,
                 add);
  for (; m - i >= 4; i += 4)
    tj_rows_KIND(4, vectors, depth, a + i * am, am, ak, b, bk, c + i * ldc, ldc, width, add);
  for (; m - i >= 2; i += 2)
    tj_rows_KIND(2, vectors, depth, a + i * am, am, ak, b, bk, c + i * ldc, ldc, width, add);
  for (; i < m; i++)
    tj_rows_KIND(1, vectors, depth, a + i * am, am, ak, b, bk, c + i * ldc, ldc, width, add);
}

/* C[m][n] from words: word (i, k) of A is a[i * am + k * ak]; word (k, j) of B is
 * b[k * bk + j], or b[j * bk + k] if it is turned. n is a power of two. */
TJ_FN __attribute__((always_inline)) void tj_panels_KIND(int64_t m, int64_t n, int64_t depth,
                                                         const tj_word_KIND *a, int64_t am,
                                                         int64_t ak, const tj_word_KIND *b,
                                                         int64_t bk, bool turned, tj_sum_KIND *c,
                                                         bool add, void *pack) {
  enum { LANES = TJ_VECTOR_BYTES / WIDTH };
  const int64_t wide = n > LANES ? 2 * LANES : LANES;
  tj_word_KIND *const panel = (tj_word_KIND *)pack;
  for (int64_t j = 0; j < n; j += wide) {
    const tj_word_KIND *part = b + j;
    const int64_t width = n < wide ? n : wide;
    if (turned) {
      tj_turn_WIDTH(panel, wide, b + j * bk, bk, depth, width);
      part = panel;
    }
    if (n > LANES)
      tj_panel_KIND(2, m, depth, a, am, ak, part, turned ? wide : bk, c + j, n, width, add);
    else
      tj_panel_KIND(1, m, depth, a, am, ak, part, turned ? wide : bk, c + j, n, width, add);
  }
}
/*@ tj_dot_KIND @ KIND f32 f64 i32 */
/* C[m][n] (+)= A * B. A is stored as [m][k] with rows `lda` apart, or turned as [k][m]; B as
 * [k][n] with rows `ldb` apart, or turned as [n][k]. Rows of B that is not turned have at least
 * a vector of memory. */
TJ_CALL void tj_dot_KIND(int64_t m, int64_t n, int64_t k, const tj_operand_KIND *a, int64_t lda,
                         bool a_turned, const tj_operand_KIND *b, int64_t ldb, bool b_turned,
                         tj_operand_KIND *c, bool add, void *pack) {
  if (a_turned)
    tj_panels_KIND(m, n, k, a, 1, lda, b, ldb, b_turned, c, add, pack);
  else
    tj_panels_KIND(m, n, k, a, lda, 1, b, ldb, b_turned, c, add, pack);
}
/*@ tj_dot_bf16 */
/* The same for bf16, with sums in float. */
TJ_CALL void tj_dot_bf16(int64_t m, int64_t n, int64_t k, const tj_operand_bf16 *a, int64_t lda,
                         bool a_turned, const tj_operand_bf16 *b, int64_t ldb, bool b_turned,
                         float *c, bool add, void *pack) {
#ifdef TJ_DOT_PACKED
  const tj_words w = tj_pack_words(m, n, k, 2, a, lda, a_turned, b, ldb, b_turned, &pack);
#ifdef TJ_DOT_AMX
  if (tj_amx_ready()) {
    tj_amx_bf16(m, n, w, c, add, pack);
    return;
  }
#endif
  tj_panels_bf16(m, n, w.depth, (const tj_word_bf16 *)w.a, w.am, w.ak, (const tj_word_bf16 *)w.b,
                 w.bk, b_turned, c, add, pack);
#else
  tj_dot_f32(m, n, k, a, lda, a_turned, b, ldb, b_turned, c, add, pack);
#endif
}
/*@ tj_dot_i8 */
/* The same for int8, with sums in int32. */
TJ_CALL void tj_dot_i8(int64_t m, int64_t n, int64_t k, const tj_operand_i8 *a, int64_t lda,
                       bool a_turned, const tj_operand_i8 *b, int64_t ldb, bool b_turned,
                       int32_t *c, bool add, void *pack) {
  const tj_words w = tj_pack_words(m, n, k, sizeof(*a), a, lda, a_turned, b, ldb, b_turned, &pack);
#ifdef TJ_DOT_AMX
  if (tj_amx_ready()) {
    tj_amx_i8(m, n, w, c, add, pack);
    return;
  }
#endif
  tj_panels_i8(m, n, w.depth, (const tj_word_i8 *)w.a, w.am, w.ak, (const tj_word_i8 *)w.b, w.bk,
               b_turned, c, add, pack);
}
