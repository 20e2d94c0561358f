/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library, that run kernels. */
#ifndef TJ_CPU_THREAD_H
#define TJ_CPU_THREAD_H

#include <pthread.h>
#include <stdint.h>

/*
 * Starts one: small stack, no signals but those of its own faults (so the host's handlers
 * run on the host's threads, and its crash handler still sees a crash in a kernel).
 * `out_thread` NULL: detached. Returns an errno value.
 */
int tj_cpu_thread_start(void *(*run)(void *), void *argument, pthread_t *out_thread);

/*
 * Lets the calling thread run on all CPUs of the process, wherever the thread that started
 * it is pinned to; gives it a name, and the floating-point environment of kernels.
 */
void tj_cpu_thread_enter(void);

/* CPUs that the process may run on, at least 1. */
uint32_t tj_cpu_thread_cpus(void);

/* A hint for the processor within a loop that waits. */
static inline void tj_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" : : : "memory");
#endif
}

#endif /* TJ_CPU_THREAD_H */
