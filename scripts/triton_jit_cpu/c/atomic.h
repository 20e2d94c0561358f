/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations that the compiler has no builtin for. Their order is always acquire-release,
 * which is at least the one asked for. Floating-point numbers are compared by their bits, as the
 * hardware does. */
/*@ tj_atomic_KINDBITS @ KIND,FIRST,SECOND,TYPE,BITS max,v,old,int,8 max,v,old,int,16 max,v,old,int,32 max,v,old,int,64 min,old,v,int,8 min,old,v,int,16 min,old,v,int,32 min,old,v,int,64 umax,v,old,uint,8 umax,v,old,uint,16 umax,v,old,uint,32 umax,v,old,uint,64 umin,old,v,uint,8 umin,old,v,uint,16 umin,old,v,uint,32 umin,old,v,uint,64 */
TJ_FN intBITS_t tj_atomic_KINDBITS(intBITS_t *p, intBITS_t v, int order) {
  (void)order;
  intBITS_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (TYPEBITS_t)FIRST > (TYPEBITS_t)SECOND ? v : old,
                                      true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_casBITS @ BITS 8 16 32 64 */
TJ_FN uintBITS_t tj_atomic_casBITS(void *p, uintBITS_t compare, uintBITS_t v, int order) {
  (void)order;
  __atomic_compare_exchange_n((uintBITS_t *)p, &compare, v, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return compare;
}
/*@ tj_pause */
TJ_FN void tj_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
/*@ tj_now */
/* Nanoseconds of a clock that never goes back. */
typedef struct tj_timespec {
  long seconds, nanoseconds;
} tj_timespec;
int clock_gettime(int, void *);
TJ_FN uint64_t tj_now(void) {
  tj_timespec t;
  return clock_gettime(1, &t) == 0
             ? (uint64_t)t.seconds * UINT64_C(1000000000) + (uint64_t)t.nanoseconds
             : 0;
}
/*@ tj_atomic_pollBITS @ BITS 8 16 32 64 */
/* Waits until *p is the expected number; false if `timeout` nanoseconds pass first, or the launch
   has failed. */
TJ_FN bool tj_atomic_pollBITS(const tj_program *pg, intBITS_t *p, intBITS_t expected,
                              uint64_t timeout) {
  const uint64_t start = timeout == UINT64_MAX ? 0 : tj_now();
  for (uint32_t iterations = 0;;) {
    if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == expected) return true;
    if (timeout != UINT64_MAX && tj_now() - start >= timeout) return false;
    if (tj_stopped(pg, &iterations)) return false;
    tj_pause();
  }
}
/*@ tj_atomic_fadd_fBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_atomic_fadd_fBITS(TYPE *p, TYPE v, int order) {
  (void)order;
  intBITS_t old = __atomic_load_n((intBITS_t *)p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((intBITS_t *)p, &old,
                                      tj_fBITS_bits(tj_bits_fBITS((uintBITS_t)old) + v), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return tj_bits_fBITS((uintBITS_t)old);
}
/*@ tj_atomic_fadd_KIND @ KIND f16 bf16 */
TJ_FN uint16_t tj_atomic_fadd_KIND(uint16_t *p, float v, int order) {
  (void)order;
  uint16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, tj_f32_to_KIND(tj_KIND_to_f32(old) + v), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_xchgBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_atomic_xchgBITS(TYPE *p, TYPE v, int order) {
  (void)order;
  return tj_bits_fBITS(
      (uintBITS_t)__atomic_exchange_n((intBITS_t *)p, tj_fBITS_bits(v), __ATOMIC_ACQ_REL));
}
/*@ tj_atomic_casfBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_atomic_casfBITS(TYPE *p, TYPE compare, TYPE v, int order) {
  (void)order;
  intBITS_t old = tj_fBITS_bits(compare);
  __atomic_compare_exchange_n((intBITS_t *)p, &old, tj_fBITS_bits(v), false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return tj_bits_fBITS((uintBITS_t)old);
}
/*@ tj_atomic_load_fBITS @ BITS,TYPE 32,float 64,double */
TJ_FN TYPE tj_atomic_load_fBITS(TYPE *p, int order) {
  (void)order;
  return tj_bits_fBITS((uintBITS_t)__atomic_load_n((intBITS_t *)p, __ATOMIC_ACQUIRE));
}
/*@ tj_atomic_store_fBITS @ BITS,TYPE 32,float 64,double */
TJ_FN void tj_atomic_store_fBITS(TYPE *p, TYPE v, int order) {
  (void)order;
  __atomic_store_n((intBITS_t *)p, tj_fBITS_bits(v), __ATOMIC_RELEASE);
}
