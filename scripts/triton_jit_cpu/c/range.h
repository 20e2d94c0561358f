/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the addresses that a tile touches; see nest/alias.py. */
/*@ tj_range */
/* All values lie in [low, high], and none wrapped around, if ok. */
typedef struct tj_range {
  int64_t low, high;
  bool ok;
} tj_range;
/*@ tj_range_of */
TJ_FN tj_range tj_range_of(int64_t value) { return (tj_range){value, value, true}; }
/*@ tj_range_fit */
TJ_FN tj_range tj_range_fit(tj_range r, int bits) {
  if (bits < 64) {
    const int64_t limit = INT64_C(1) << (bits - 1);
    r.ok = r.ok && r.low >= -limit && r.high < limit;
  }
  return r;
}
/*@ tj_range_add */
TJ_FN tj_range tj_range_add(tj_range a, tj_range b, int bits) {
  tj_range r;
  const bool low = __builtin_add_overflow(a.low, b.low, &r.low);
  const bool high = __builtin_add_overflow(a.high, b.high, &r.high);
  r.ok = a.ok && b.ok && !low && !high;
  return tj_range_fit(r, bits);
}
/*@ tj_range_sub */
TJ_FN tj_range tj_range_sub(tj_range a, tj_range b, int bits) {
  tj_range r;
  const bool low = __builtin_sub_overflow(a.low, b.high, &r.low);
  const bool high = __builtin_sub_overflow(a.high, b.low, &r.high);
  r.ok = a.ok && b.ok && !low && !high;
  return tj_range_fit(r, bits);
}
/*@ tj_range_mul */
TJ_FN tj_range tj_range_mul(tj_range a, tj_range b, int bits) {
  int64_t p[4];
  bool bad = __builtin_mul_overflow(a.low, b.low, &p[0]);
  bad = __builtin_mul_overflow(a.low, b.high, &p[1]) || bad;
  bad = __builtin_mul_overflow(a.high, b.low, &p[2]) || bad;
  bad = __builtin_mul_overflow(a.high, b.high, &p[3]) || bad;
  tj_range r = {p[0], p[0], a.ok && b.ok && !bad};
  for (int i = 1; i < 4; i++) {
    if (p[i] < r.low) r.low = p[i];
    if (p[i] > r.high) r.high = p[i];
  }
  return tj_range_fit(r, bits);
}
/*@ tj_range_rem */
TJ_FN tj_range tj_range_rem(tj_range b) {
  const int64_t far = b.high > -b.low ? b.high : -b.low;
  return (tj_range){-far, far, b.ok && b.low > 0};
}
/*@ tj_apart */
/* Do elements of these sizes at these addresses not overlap? */
TJ_FN bool tj_apart(tj_range a, int64_t a_size, tj_range b, int64_t b_size) {
  return a.ok && b.ok && (a.high + a_size <= b.low || b.high + b_size <= a.low);
}
/*@ tj_rows_apart */
/* Are i * a + j * b all different, for i < na and j < nb? */
TJ_FN bool tj_rows_apart(int64_t a, int64_t na, int64_t b, int64_t nb) {
  const int64_t pa = a < 0 ? -a : a, pb = b < 0 ? -b : b;
  return pa > 0 && pb > 0 && (pa / nb >= pb || pb / na >= pa);
}
