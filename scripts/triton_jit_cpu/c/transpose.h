/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing a tile in storage. */
/*@ TJ_MIX */
/* Elements of two vectors, chosen by their numbers. */
#ifdef __clang__
#define TJ_MIX(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TJ_MIX(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
#define TJ_LOW_2 0, 2
#define TJ_HIGH_2 1, 3
#define TJ_LOW_4 0, 4, 1, 5
#define TJ_HIGH_4 2, 6, 3, 7
#define TJ_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define TJ_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define TJ_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define TJ_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
/*@ tj_transpose_SIZE @ SIZE,TYPE,SIDE 1,uint8_t,16 2,uint16_t,8 4,uint32_t,4 8,uint64_t,2 */
/* to[j * rows + i] = from[i * columns + j], squares of SIDE at a time where they fit. */
TJ_FN void tj_transpose_SIZE(void *to_, const void *from_, int64_t rows, int64_t columns) {
  typedef TYPE tj_row __attribute__((vector_size(16)));
  TYPE *restrict const to = to_;
  const TYPE *restrict const from = from_;
  if (rows % SIDE || columns % SIDE) {
    for (int64_t j = 0; j < columns; j++)
      for (int64_t i = 0; i < rows; i++) to[j * rows + i] = from[i * columns + j];
    return;
  }
  for (int64_t j = 0; j < columns; j += SIDE) {
    for (int64_t i = 0; i < rows; i += SIDE) {
      tj_row a[SIDE], b[SIDE];
      for (int k = 0; k < SIDE; k++) __builtin_memcpy(&a[k], from + (i + k) * columns + j, 16);
      /* Interleaving row k with row k + SIDE / 2, log2(SIDE) times, turns the square. */
      for (int step = 1; step < SIDE; step *= 2) {
        for (int k = 0; k < SIDE / 2; k++) {
          b[2 * k] = TJ_MIX(tj_row, a[k], a[k + SIDE / 2], TJ_LOW_SIDE);
          b[2 * k + 1] = TJ_MIX(tj_row, a[k], a[k + SIDE / 2], TJ_HIGH_SIDE);
        }
        for (int k = 0; k < SIDE; k++) a[k] = b[k];
      }
      for (int k = 0; k < SIDE; k++) __builtin_memcpy(to + (j + k) * rows + i, &a[k], 16);
    }
  }
}
