/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations that the compiler has no builtin for. */
/*@ tj_atomic_max8 */
TJ_FN int8_t tj_atomic_max8(int8_t *p, int8_t v, int order) {
  (void)order;
  int8_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int8_t)v > (int8_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_min8 */
TJ_FN int8_t tj_atomic_min8(int8_t *p, int8_t v, int order) {
  (void)order;
  int8_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int8_t)v < (int8_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umax8 */
TJ_FN int8_t tj_atomic_umax8(int8_t *p, int8_t v, int order) {
  (void)order;
  int8_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint8_t)v > (uint8_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umin8 */
TJ_FN int8_t tj_atomic_umin8(int8_t *p, int8_t v, int order) {
  (void)order;
  int8_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint8_t)v < (uint8_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_cas8 */
TJ_FN uint8_t tj_atomic_cas8(void *p, uint8_t compare, uint8_t v, int order) {
  (void)order;
  __atomic_compare_exchange_n((uint8_t *)p, &compare, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
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
/*@ tj_atomic_poll8 */
/* Waits until *p is the expected number; false if `timeout` nanoseconds pass first, or the launch
   has failed. */
TJ_FN bool tj_atomic_poll8(const tj_program *pg, int8_t *p, int8_t expected, uint64_t timeout) {
  const uint64_t start = timeout == UINT64_MAX ? 0 : tj_now();
  for (uint32_t iterations = 0;;) {
    if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == expected) return true;
    if (timeout != UINT64_MAX && tj_now() - start >= timeout) return false;
    if (tj_stopped(pg, &iterations)) return false;
    tj_pause();
  }
}
/*@ tj_atomic_max16 */
TJ_FN int16_t tj_atomic_max16(int16_t *p, int16_t v, int order) {
  (void)order;
  int16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int16_t)v > (int16_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_min16 */
TJ_FN int16_t tj_atomic_min16(int16_t *p, int16_t v, int order) {
  (void)order;
  int16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int16_t)v < (int16_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umax16 */
TJ_FN int16_t tj_atomic_umax16(int16_t *p, int16_t v, int order) {
  (void)order;
  int16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint16_t)v > (uint16_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umin16 */
TJ_FN int16_t tj_atomic_umin16(int16_t *p, int16_t v, int order) {
  (void)order;
  int16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint16_t)v < (uint16_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_cas16 */
TJ_FN uint16_t tj_atomic_cas16(void *p, uint16_t compare, uint16_t v, int order) {
  (void)order;
  __atomic_compare_exchange_n((uint16_t *)p, &compare, v, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return compare;
}
/*@ tj_atomic_poll16 */
/* Waits until *p is the expected number; false if `timeout` nanoseconds pass first, or the launch
   has failed. */
TJ_FN bool tj_atomic_poll16(const tj_program *pg, int16_t *p, int16_t expected, uint64_t timeout) {
  const uint64_t start = timeout == UINT64_MAX ? 0 : tj_now();
  for (uint32_t iterations = 0;;) {
    if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == expected) return true;
    if (timeout != UINT64_MAX && tj_now() - start >= timeout) return false;
    if (tj_stopped(pg, &iterations)) return false;
    tj_pause();
  }
}
/*@ tj_atomic_max32 */
TJ_FN int32_t tj_atomic_max32(int32_t *p, int32_t v, int order) {
  (void)order;
  int32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int32_t)v > (int32_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_min32 */
TJ_FN int32_t tj_atomic_min32(int32_t *p, int32_t v, int order) {
  (void)order;
  int32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int32_t)v < (int32_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umax32 */
TJ_FN int32_t tj_atomic_umax32(int32_t *p, int32_t v, int order) {
  (void)order;
  int32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint32_t)v > (uint32_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umin32 */
TJ_FN int32_t tj_atomic_umin32(int32_t *p, int32_t v, int order) {
  (void)order;
  int32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint32_t)v < (uint32_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_cas32 */
TJ_FN uint32_t tj_atomic_cas32(void *p, uint32_t compare, uint32_t v, int order) {
  (void)order;
  __atomic_compare_exchange_n((uint32_t *)p, &compare, v, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return compare;
}
/*@ tj_atomic_poll32 */
/* Waits until *p is the expected number; false if `timeout` nanoseconds pass first, or the launch
   has failed. */
TJ_FN bool tj_atomic_poll32(const tj_program *pg, int32_t *p, int32_t expected, uint64_t timeout) {
  const uint64_t start = timeout == UINT64_MAX ? 0 : tj_now();
  for (uint32_t iterations = 0;;) {
    if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == expected) return true;
    if (timeout != UINT64_MAX && tj_now() - start >= timeout) return false;
    if (tj_stopped(pg, &iterations)) return false;
    tj_pause();
  }
}
/*@ tj_atomic_max64 */
TJ_FN int64_t tj_atomic_max64(int64_t *p, int64_t v, int order) {
  (void)order;
  int64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int64_t)v > (int64_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_min64 */
TJ_FN int64_t tj_atomic_min64(int64_t *p, int64_t v, int order) {
  (void)order;
  int64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (int64_t)v < (int64_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umax64 */
TJ_FN int64_t tj_atomic_umax64(int64_t *p, int64_t v, int order) {
  (void)order;
  int64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint64_t)v > (uint64_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_umin64 */
TJ_FN int64_t tj_atomic_umin64(int64_t *p, int64_t v, int order) {
  (void)order;
  int64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, (uint64_t)v < (uint64_t)old ? v : old, true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_cas64 */
TJ_FN uint64_t tj_atomic_cas64(void *p, uint64_t compare, uint64_t v, int order) {
  (void)order;
  __atomic_compare_exchange_n((uint64_t *)p, &compare, v, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return compare;
}
/*@ tj_atomic_poll64 */
/* Waits until *p is the expected number; false if `timeout` nanoseconds pass first, or the launch
   has failed. */
TJ_FN bool tj_atomic_poll64(const tj_program *pg, int64_t *p, int64_t expected, uint64_t timeout) {
  const uint64_t start = timeout == UINT64_MAX ? 0 : tj_now();
  for (uint32_t iterations = 0;;) {
    if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == expected) return true;
    if (timeout != UINT64_MAX && tj_now() - start >= timeout) return false;
    if (tj_stopped(pg, &iterations)) return false;
    tj_pause();
  }
}
/*@ tj_atomic_fadd_f32 */
TJ_FN float tj_atomic_fadd_f32(float *p, float v, int order) {
  (void)order;
  int32_t old = __atomic_load_n((int32_t *)p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((int32_t *)p, &old,
                                      tj_f32_bits(tj_bits_f32((uint32_t)old) + v), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return tj_bits_f32((uint32_t)old);
}
/*@ tj_atomic_xchg32 */
TJ_FN float tj_atomic_xchg32(float *p, float v, int order) {
  (void)order;
  return tj_bits_f32((uint32_t)__atomic_exchange_n((int32_t *)p, tj_f32_bits(v), __ATOMIC_ACQ_REL));
}
/*@ tj_atomic_casf32 */
/* Compares bits, as the hardware does. */
TJ_FN float tj_atomic_casf32(float *p, float compare, float v, int order) {
  (void)order;
  int32_t old = tj_f32_bits(compare);
  __atomic_compare_exchange_n((int32_t *)p, &old, tj_f32_bits(v), false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return tj_bits_f32((uint32_t)old);
}
/*@ tj_atomic_load_f32 */
TJ_FN float tj_atomic_load_f32(float *p, int order) {
  (void)order;
  return tj_bits_f32((uint32_t)__atomic_load_n((int32_t *)p, __ATOMIC_ACQUIRE));
}
/*@ tj_atomic_store_f32 */
TJ_FN void tj_atomic_store_f32(float *p, float v, int order) {
  (void)order;
  __atomic_store_n((int32_t *)p, tj_f32_bits(v), __ATOMIC_RELEASE);
}
/*@ tj_atomic_fadd_f64 */
TJ_FN double tj_atomic_fadd_f64(double *p, double v, int order) {
  (void)order;
  int64_t old = __atomic_load_n((int64_t *)p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((int64_t *)p, &old,
                                      tj_f64_bits(tj_bits_f64((uint64_t)old) + v), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return tj_bits_f64((uint64_t)old);
}
/*@ tj_atomic_xchg64 */
TJ_FN double tj_atomic_xchg64(double *p, double v, int order) {
  (void)order;
  return tj_bits_f64((uint64_t)__atomic_exchange_n((int64_t *)p, tj_f64_bits(v), __ATOMIC_ACQ_REL));
}
/*@ tj_atomic_casf64 */
/* Compares bits, as the hardware does. */
TJ_FN double tj_atomic_casf64(double *p, double compare, double v, int order) {
  (void)order;
  int64_t old = tj_f64_bits(compare);
  __atomic_compare_exchange_n((int64_t *)p, &old, tj_f64_bits(v), false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return tj_bits_f64((uint64_t)old);
}
/*@ tj_atomic_load_f64 */
TJ_FN double tj_atomic_load_f64(double *p, int order) {
  (void)order;
  return tj_bits_f64((uint64_t)__atomic_load_n((int64_t *)p, __ATOMIC_ACQUIRE));
}
/*@ tj_atomic_store_f64 */
TJ_FN void tj_atomic_store_f64(double *p, double v, int order) {
  (void)order;
  __atomic_store_n((int64_t *)p, tj_f64_bits(v), __ATOMIC_RELEASE);
}
/*@ tj_atomic_fadd_f16 */
TJ_FN uint16_t tj_atomic_fadd_f16(uint16_t *p, float v, int order) {
  (void)order;
  uint16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, tj_f32_to_f16(tj_f16_to_f32(old) + v), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
/*@ tj_atomic_fadd_bf16 */
TJ_FN uint16_t tj_atomic_fadd_bf16(uint16_t *p, float v, int order) {
  (void)order;
  uint16_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, tj_f32_to_bf16(tj_bf16_to_f32(old) + v), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
