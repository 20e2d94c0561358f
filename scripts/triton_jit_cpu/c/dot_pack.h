/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing operands of products into the order that the micro-kernels read. */
/*@ tj_v8i TJ_SHUFFLE8 */
typedef int32_t tj_v8i __attribute__((vector_size(32), may_alias));
#if defined(__clang__) || __GNUC__ >= 12
#define TJ_SHUFFLE8(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TJ_SHUFFLE8(a, b, ...) __builtin_shuffle(a, b, (tj_v8i){__VA_ARGS__})
#endif
/*@ tj_turn_4 */
/* to[k][j] = from[j][k] for words of four bytes: all k below depth, all j below width. Both are
 * powers of two; `to` and `from` are rows in words. */
TJ_FN void tj_turn_8x8(int32_t *to, int64_t to_row, const int32_t *from, int64_t from_row) {
  tj_v8i x[8], y[8];
  TJ_UNROLL
  for (int i = 0; i < 8; i++) __builtin_memcpy(&x[i], from + i * from_row, 32);
  TJ_UNROLL
  for (int i = 0; i < 8; i += 2) { /* 2 x 2 blocks of words */
    y[i] = TJ_SHUFFLE8(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[i + 1] = TJ_SHUFFLE8(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  TJ_UNROLL
  for (int i = 0; i < 8; i += 4) { /* 4 x 4 blocks */
    x[i] = TJ_SHUFFLE8(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    x[i + 1] = TJ_SHUFFLE8(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    x[i + 2] = TJ_SHUFFLE8(y[i + 1], y[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    x[i + 3] = TJ_SHUFFLE8(y[i + 1], y[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  TJ_UNROLL
  for (int i = 0; i < 4; i++) {
    y[i] = TJ_SHUFFLE8(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    y[i + 4] = TJ_SHUFFLE8(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  TJ_UNROLL
  for (int i = 0; i < 8; i++) __builtin_memcpy(to + i * to_row, &y[i], 32);
}

TJ_FN void tj_turn_4(void *to_, int64_t to_row, const void *from_, int64_t from_row, int64_t depth,
                     int64_t width) {
  int32_t *const to = (int32_t *)to_;
  const int32_t *const from = (const int32_t *)from_;
  if (depth >= 8 && width >= 8) {
    for (int64_t j = 0; j < width; j += 8)
      for (int64_t k = 0; k < depth; k += 8)
        tj_turn_8x8(to + k * to_row + j, to_row, from + j * from_row + k, from_row);
  } else {
    for (int64_t j = 0; j < width; j++)
      for (int64_t k = 0; k < depth; k++) to[k * to_row + j] = from[j * from_row + k];
  }
}
/*@ tj_turn_8 */
/* The same for words of eight bytes. */
TJ_FN void tj_turn_8(void *to_, int64_t to_row, const void *from_, int64_t from_row, int64_t depth,
                     int64_t width) {
  double *const to = (double *)to_;
  const double *const from = (const double *)from_;
  for (int64_t k = 0; k < depth; k++)
    for (int64_t j = 0; j < width; j++) to[k * to_row + j] = from[j * from_row + k];
}
/*@ tj_zip */
/* Words from the elements below each other in `rows` rows: to[r][j] takes element j of row
 * 2 r, 2 r + 1 (elements of two bytes) or of rows 4 r to 4 r + 3 (of one byte). */
TJ_FN void tj_zip(uint32_t *restrict to, int64_t to_row, const void *restrict from,
                  int64_t from_row, int64_t rows, int64_t columns, int size) {
  for (int64_t r = 0; r < rows * size / 4; r++) {
    uint32_t *const out = to + r * to_row;
    if (size == 2) {
      const uint16_t *const x = (const uint16_t *)from + 2 * r * from_row, *const y = x + from_row;
      TJ_VECTOR
      for (int64_t j = 0; j < columns; j++) out[j] = x[j] | (uint32_t)y[j] << 16;
    } else {
      const uint8_t *const x = (const uint8_t *)from + 4 * r * from_row, *const y = x + from_row;
      const uint8_t *const z = y + from_row, *const w = z + from_row;
      TJ_VECTOR
      for (int64_t j = 0; j < columns; j++)
        out[j] = x[j] | (uint32_t)y[j] << 8 | (uint32_t)z[j] << 16 | (uint32_t)w[j] << 24;
    }
  }
}
/*@ tj_words tj_pack_words */
/* The operands of a product as words. */
typedef struct tj_words {
  const uint32_t *a, *b;
  int64_t depth, am, ak, bk; /* in words */
  bool a_turned, b_turned;   /* [k][m] and [n][k] */
} tj_words;

/* Makes words of elements of `size` bytes; moves *pack behind the memory that it takes. */
TJ_FN tj_words tj_pack_words(int64_t m, int64_t n, int64_t k, int size, const void *a, int64_t lda,
                             bool a_turned, const void *b, int64_t ldb, bool b_turned,
                             void **pack) {
  const int64_t depth = k * size / 4;
  tj_words w = {(const uint32_t *)a,
                (const uint32_t *)b,
                depth,
                lda * size / 4,
                1,
                ldb * size / 4,
                a_turned,
                b_turned};
  uint32_t *room = (uint32_t *)*pack;
  if (a_turned) {
    tj_zip(room, m, a, lda, k, m, size);
    w.a = room;
    w.am = 1;
    w.ak = m;
    room += m * depth;
  }
  if (!b_turned) {
    w.bk = n + 16; /* no power of two: its rows do not fall into the same cache sets */
    tj_zip(room, w.bk, b, ldb, k, n, size);
    w.b = room;
    room += w.bk * depth;
  }
  *pack = room;
  return w;
}
