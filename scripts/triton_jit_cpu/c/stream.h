/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that go past the caches: a grid that stores far more than they hold need not read each
 * line before it writes it, which is a quarter of all traffic of out = a + b. */
/*@ TJ_STREAM_BYTES tj_streams */
/* What the last caches of today's machines hold, give or take a factor of four. */
#define TJ_STREAM_BYTES 0x1p25
/* Does a grid whose programs store `bytes` each store that much? */
TJ_FN bool tj_streams(const uint32_t grid[3], double bytes) {
  return (double)grid[0] * grid[1] * grid[2] * bytes >= TJ_STREAM_BYTES;
}
/*@ tj_lead */
/* Elements in front of the first whole cache line, at most `n`; `n` if the grid does not stream. */
TJ_FN int64_t tj_lead(const tj_program *pg, const void *to, int64_t size, int64_t n) {
  return pg->streams ? tj_min((int64_t)(-(uintptr_t)to & 63) / size, n) : n;
}
/*@ tj_stream */
/* memcpy past the caches, but for the end of the last line; `from` is aligned. */
TJ_FN void tj_stream(void *to, const void *from, int64_t bytes) {
  int64_t at = 0;
#if defined(__SSE2__)
  typedef float vec __attribute__((vector_size(16), may_alias));
  const int64_t lines = ((uintptr_t)to & 15) == 0 ? bytes & ~(int64_t)63 : 0;
  for (; at < lines; at += 16) {
    const vec value = *(const vec *)((const char *)from + at);
#if defined(__clang__)
    __builtin_nontemporal_store(value, (vec *)((char *)to + at));
#else
    __builtin_ia32_movntps((float *)((char *)to + at), value);
#endif
  }
#endif
  __builtin_memcpy((char *)to + at, (const char *)from + at, (uint64_t)(bytes - at));
}
/*@ tj_stream_end */
/* Such stores are not ordered with those by which a thread says that it is done. */
TJ_FN void tj_stream_end(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
