/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floating-point environment of a kernel: round to nearest, no flush to zero, no
 * traps. The host may have set another (-ffast-math start-up code does): it gets its own
 * back after the launch, exception flags included. The registers are used directly where
 * they are known, since fegetenv and fesetenv take 40 ns on x86, and the x87 unit that
 * makes them slow is not used by kernels.
 */
#ifndef TJ_CPU_FENV_H
#define TJ_CPU_FENV_H

#include <stdint.h>

#if defined(__SSE2__)

#include <xmmintrin.h>

typedef uint32_t tj_cpu_fenv;
#define TJ_CPU_MXCSR_DEFAULT 0x1f80u

static inline tj_cpu_fenv tj_cpu_fenv_enter(void) {
  tj_cpu_fenv saved = _mm_getcsr();
  if (saved != TJ_CPU_MXCSR_DEFAULT) _mm_setcsr(TJ_CPU_MXCSR_DEFAULT);
  return saved;
}

static inline void tj_cpu_fenv_leave(tj_cpu_fenv saved) {
  if (_mm_getcsr() != saved) _mm_setcsr(saved);
}

#elif defined(__aarch64__)

/* FPCR and FPSR; all zeros is the default of both. */
typedef struct tj_cpu_fenv {
  uint64_t control, status;
} tj_cpu_fenv;

static inline tj_cpu_fenv tj_cpu_fenv_enter(void) {
  tj_cpu_fenv saved;
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved.control));
  __asm__ volatile("mrs %0, fpsr" : "=r"(saved.status));
  if (saved.control != 0) __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
  return saved;
}

static inline void tj_cpu_fenv_leave(tj_cpu_fenv saved) {
  if (saved.control != 0) __asm__ volatile("msr fpcr, %0" : : "r"(saved.control) : "memory");
  __asm__ volatile("msr fpsr, %0" : : "r"(saved.status) : "memory");
}

#else

#include <fenv.h>

typedef fenv_t tj_cpu_fenv;

static inline tj_cpu_fenv tj_cpu_fenv_enter(void) {
  tj_cpu_fenv saved;
  (void)fegetenv(&saved);
  (void)fesetenv(FE_DFL_ENV);
  return saved;
}

static inline void tj_cpu_fenv_leave(tj_cpu_fenv saved) { (void)fesetenv(&saved); }

#endif

#endif /* TJ_CPU_FENV_H */
