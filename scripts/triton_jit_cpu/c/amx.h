/* SPDX-License-Identifier: Apache-2.0 */
/* Products on AMX: tiles of 16 rows of 16 words, eight of them. */
/*@ tj_amx_ready */
/* Linux gives a process the tile registers on request. Where it refuses (an old kernel, a
 * sandbox, a thread with a small alternate signal stack), the vector kernels do the work. */
TJ_FN bool tj_amx_ready(void) {
  static int known; /* 1: granted, 2: refused; two threads may both ask */
  int state = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (state == 0) {
    enum { ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    long result = ARCH_PRCTL;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA)
                     : "rcx", "r11", "memory");
    state = result == 0 ? 1 : 2;
    __atomic_store_n(&known, state, __ATOMIC_RELAXED);
  }
  return state == 1;
}
/*@ tj_amx_shape */
/* Configures the tiles for the whole product, whose sizes are powers of two, so all its blocks
 * have one shape. Tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B. */
TJ_FN void tj_amx_shape(int64_t m, int64_t n, int64_t depth) {
  struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } config = {.palette = 1};
  const int64_t rows = tj_min(m, 16), columns = tj_min(n, 16), words = tj_min(depth, 16);
  for (int t = 0; t < 8; t++) {
    config.rows[t] = (uint8_t)(t < 6 ? rows : words);
    config.row_bytes[t] = (uint16_t)(4 * (t == 4 || t == 5 ? words : columns));
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}
/*@ TJ_TILE_LOAD TJ_TILE_STORE TJ_TILE_ZERO */
#define TJ_TILE_LOAD(tile, from, row) \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"((int64_t)(row)) : "memory")
#define TJ_TILE_STORE(tile, to, row)                      \
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" \
                   :                                      \
                   : "r"(to), "r"((int64_t)(row))         \
                   : "memory")
#define TJ_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile : :)
/*@ tj_amx_KIND @ KIND,SUM,MULTIPLY bf16,float,tdpbf16ps i8,int32_t,tdpbssd */
/* One or two tiles of rows by one or two tiles of columns of C. */
TJ_FN __attribute__((always_inline)) void
tj_amx_block_KIND(const bool two_rows, const bool two_columns, int64_t depth, const uint32_t *a,
                  int64_t am, const uint32_t *b, int64_t bk, SUM *c, int64_t ldc, bool add) {
  const int64_t a_bytes = 4 * am, b_bytes = 4 * bk, c_bytes = 4 * ldc;
  SUM *const low = c + 16 * ldc;
  if (add) {
    TJ_TILE_LOAD(0, c, c_bytes);
    if (two_columns) TJ_TILE_LOAD(1, c + 16, c_bytes);
    if (two_rows) TJ_TILE_LOAD(2, low, c_bytes);
    if (two_rows && two_columns) TJ_TILE_LOAD(3, low + 16, c_bytes);
  } else {
    TJ_TILE_ZERO(0);
    TJ_TILE_ZERO(1);
    TJ_TILE_ZERO(2);
    TJ_TILE_ZERO(3);
  }
  for (int64_t k = 0; k < depth; k += 16) {
    TJ_TILE_LOAD(6, b + k * bk, b_bytes);
    TJ_TILE_LOAD(4, a + k, a_bytes);
    __asm__ volatile("MULTIPLY %%tmm6, %%tmm4, %%tmm0" : :);
    if (two_columns) {
      TJ_TILE_LOAD(7, b + k * bk + 16, b_bytes);
      __asm__ volatile("MULTIPLY %%tmm7, %%tmm4, %%tmm1" : :);
    }
    if (two_rows) {
      TJ_TILE_LOAD(5, a + 16 * am + k, a_bytes);
      __asm__ volatile("MULTIPLY %%tmm6, %%tmm5, %%tmm2" : :);
      if (two_columns) __asm__ volatile("MULTIPLY %%tmm7, %%tmm5, %%tmm3" : :);
    }
  }
  TJ_TILE_STORE(0, c, c_bytes);
  if (two_columns) TJ_TILE_STORE(1, c + 16, c_bytes);
  if (two_rows) TJ_TILE_STORE(2, low, c_bytes);
  if (two_rows && two_columns) TJ_TILE_STORE(3, low + 16, c_bytes);
}

TJ_FN void tj_amx_KIND(int64_t m, int64_t n, tj_words w, SUM *c, bool add, void *pack) {
  uint32_t *room = (uint32_t *)pack;
  if (w.a_turned) { /* tiles of A are rows of C */
    tj_turn_4(room, w.depth, w.a, w.ak, m, w.depth);
    w.a = room;
    w.am = w.depth;
    room += m * w.depth;
  }
  tj_amx_shape(m, n, w.depth);
  for (int64_t j = 0; j < n; j += 32) {
    const uint32_t *b = w.b + j;
    int64_t bk = w.bk;
    if (w.b_turned) {
      bk = tj_min(n, 32);
      tj_turn_4(room, bk, w.b + j * w.bk, w.bk, w.depth, bk);
      b = room;
    }
    for (int64_t i = 0; i < m; i += 32) {
      const uint32_t *const a = w.a + i * w.am;
      SUM *const to = c + i * n + j;
      if (n > 16 && m > 16)
        tj_amx_block_KIND(true, true, w.depth, a, w.am, b, bk, to, n, add);
      else if (n > 16)
        tj_amx_block_KIND(false, true, w.depth, a, w.am, b, bk, to, n, add);
      else
        tj_amx_block_KIND(m > 16, false, w.depth, a, w.am, b, bk, to, n, add);
    }
  }
  __asm__ volatile("tilerelease" : :);
}
