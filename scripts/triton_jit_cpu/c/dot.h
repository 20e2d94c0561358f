/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tiles: C (+)= A * B with operands in storage.
 *
 * B is packed panel by panel: TJ_DOT_N columns wide, all of its depth, zero-filled at the edge.
 * A micro-kernel then computes a few rows of a panel with all sums in registers. */
/*@ TJ_VECTOR_BYTES TJ_DOT_M */
#if defined(__AVX512F__)
#define TJ_VECTOR_BYTES 64
#define TJ_DOT_M 8
#elif defined(__AVX__)
#define TJ_VECTOR_BYTES 32
#define TJ_DOT_M 6
#elif defined(__aarch64__)
#define TJ_VECTOR_BYTES 16
#define TJ_DOT_M 8
#else
#define TJ_VECTOR_BYTES 16
#define TJ_DOT_M 4
#endif
/*@ tj_vec_f32 tj_muladd_f32 */
typedef float tj_vec_f32 __attribute__((vector_size(TJ_VECTOR_BYTES), aligned(4), may_alias));
TJ_FN tj_vec_f32 tj_muladd_f32(tj_vec_f32 a, tj_vec_f32 b, tj_vec_f32 c) {
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
/*@ tj_vec_f64 tj_muladd_f64 */
typedef double tj_vec_f64 __attribute__((vector_size(TJ_VECTOR_BYTES), aligned(8), may_alias));
TJ_FN tj_vec_f64 tj_muladd_f64(tj_vec_f64 a, tj_vec_f64 b, tj_vec_f64 c) {
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
/*@ tj_vec_i32 tj_muladd_i32 */
typedef int32_t tj_vec_i32 __attribute__((vector_size(TJ_VECTOR_BYTES), aligned(4), may_alias));
TJ_FN tj_vec_i32 tj_muladd_i32(tj_vec_i32 a, tj_vec_i32 b, tj_vec_i32 c) { return a * b + c; }
/*@ tj_dot_KIND @ KIND,TYPE f32,float f64,double i32,int32_t */
/* `rows` rows of C (row stride ldc) from rows of A and a packed panel of B, of which `width`
 * columns exist. */
TJ_FN __attribute__((always_inline)) void tj_rows_KIND(const int rows, int64_t depth, const TYPE *a,
                                                       int64_t am, int64_t ak, const TYPE *panel,
                                                       TYPE *c, int64_t ldc, int64_t width,
                                                       bool add) {
  enum { LANES = TJ_VECTOR_BYTES / sizeof(TYPE), WIDE = 2 * LANES };
  tj_vec_KIND sum[TJ_DOT_M][2];
  const bool whole = width == WIDE;
  TJ_UNROLL
  for (int r = 0; r < rows; r++) {
    if (add && whole) {
      sum[r][0] = *(const tj_vec_KIND *)(c + r * ldc);
      sum[r][1] = *(const tj_vec_KIND *)(c + r * ldc + LANES);
    } else {
      sum[r][0] = sum[r][1] = (tj_vec_KIND){0};
      if (add)
        for (int64_t j = 0; j < width; j++) sum[r][j / LANES][j % LANES] = c[r * ldc + j];
    }
  }
  for (int64_t k = 0; k < depth; k++) {
    const tj_vec_KIND b0 = *(const tj_vec_KIND *)(panel + k * WIDE);
    const tj_vec_KIND b1 = *(const tj_vec_KIND *)(panel + k * WIDE + LANES);
    TJ_UNROLL
    for (int r = 0; r < rows; r++) {
      const tj_vec_KIND x = a[r * am + k * ak] - (tj_vec_KIND){0};
      sum[r][0] = tj_muladd_KIND(x, b0, sum[r][0]);
      sum[r][1] = tj_muladd_KIND(x, b1, sum[r][1]);
    }
  }
  TJ_UNROLL
  for (int r = 0; r < rows; r++) {
    if (whole) {
      *(tj_vec_KIND *)(c + r * ldc) = sum[r][0];
      *(tj_vec_KIND *)(c + r * ldc + LANES) = sum[r][1];
    } else {
      for (int64_t j = 0; j < width; j++) c[r * ldc + j] = sum[r][j / LANES][j % LANES];
    }
  }
}

/* C[m][n] (+)= A * B; element (i, k) of A is a[i * am + k * ak], of B b[k * bk + j * bn]. */
TJ_CALL void tj_dot_KIND(int64_t m, int64_t n, int64_t depth, const TYPE *a, int64_t am, int64_t ak,
                         const TYPE *b, int64_t bk, int64_t bn, TYPE *c, bool add,
                         TYPE *restrict panel) {
  enum { WIDE = 2 * TJ_VECTOR_BYTES / sizeof(TYPE) };
  for (int64_t j = 0; j < n; j += WIDE) {
    const int64_t width = n - j < WIDE ? n - j : WIDE;
    if (width == WIDE && bn == 1) {
      for (int64_t k = 0; k < depth; k++)
        for (int64_t l = 0; l < WIDE; l++) panel[k * WIDE + l] = b[k * bk + j + l];
    } else {
      for (int64_t l = 0; l < WIDE; l++)
        for (int64_t k = 0; k < depth; k++)
          panel[k * WIDE + l] = l < width ? b[k * bk + (j + l) * bn] : 0;
    }
    int64_t i = 0;
    for (; i + TJ_DOT_M <= m; i += TJ_DOT_M)
      tj_rows_KIND(TJ_DOT_M, depth, a + i * am, am, ak, panel, c + i * n + j, n, width, add);
    for (; i + 4 <= m; i += 4)
      tj_rows_KIND(4, depth, a + i * am, am, ak, panel, c + i * n + j, n, width, add);
    for (; i + 2 <= m; i += 2)
      tj_rows_KIND(2, depth, a + i * am, am, ak, panel, c + i * n + j, n, width, add);
    for (; i < m; i++)
      tj_rows_KIND(1, depth, a + i * am, am, ak, panel, c + i * n + j, n, width, add);
  }
}
