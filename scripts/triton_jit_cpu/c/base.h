/* SPDX-License-Identifier: Apache-2.0 */
/*@ * */
#define TJ_EXPORT __attribute__((visibility("default")))
#define TJ_FN static inline __attribute__((unused))
#define TJ_CALL static __attribute__((noinline, unused))
/* The iterations of the next loop touch different elements. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some loops cannot be vectorised: that is fine */
#define TJ_VECTOR _Pragma("clang loop vectorize(assume_safety)")
#define TJ_UNROLL _Pragma("clang loop unroll(full)")
#else
/* Not unrolled: gcc 12 loses the mask of loads in a short loop that it vectorises, then unrolls. */
#define TJ_VECTOR _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#define TJ_UNROLL _Pragma("GCC unroll 16")
#endif
#define TJ_INF __builtin_inff()
#define TJ_NAN __builtin_nanf("")

/* What a program knows about its place in the grid. */
typedef struct tj_program {
  uint32_t pid[3];
  uint32_t grid[3];
  const tj_cpu_host *host;
  bool streams; /* the grid stores so much that it goes past the caches (stream.h) */
} tj_program;
/*@ tj_min */
TJ_FN int64_t tj_min(int64_t a, int64_t b) { return a < b ? a : b; }
/*@ tj_limit */
/* How many j from 0 on have step * j < reach, at most n. */
TJ_FN int64_t tj_limit(int64_t reach, int64_t step, int64_t n) {
  const int64_t count = reach <= 0 ? 0 : (reach - 1) / step + 1;
  return count < n ? count : n;
}
/*@ tj_span */
/* Does first + step * j stay in [low, high] for all j up to last? */
TJ_FN bool tj_span(int64_t low, int64_t high, int64_t first, int64_t step, int64_t last) {
  int64_t end;
  return !__builtin_mul_overflow(step, last, &end) && !__builtin_add_overflow(first, end, &end) &&
         end >= low && end <= high;
}
/*@ tj_span64 */
/* The same for 64-bit values, with room for the difference of two of them. */
TJ_FN bool tj_span64(int64_t first, int64_t step, int64_t last) {
  const int64_t far = INT64_C(1) << 62;
  int64_t end;
  return first > -far && first < far && !__builtin_mul_overflow(step, last, &end) &&
         !__builtin_add_overflow(first, end, &end) && end > -far && end < far;
}
