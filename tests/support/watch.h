/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what this thread asks of the C library: a test program linked with tj_test_watch
 * has its calls, and those of the static library in it, wrapped by the linker.
 */
#ifndef TJ_TEST_WATCH_H
#define TJ_TEST_WATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct watch_counts {
  uint64_t allocations; /* malloc, calloc, realloc, strdup, aligned_alloc... */
  uint64_t frees;
  uint64_t locks;   /* pthread_mutex_lock, pthread_once, pthread_cond_wait */
  uint64_t formats; /* vsnprintf, snprintf, sprintf */
  uint64_t others;  /* getenv, clock_gettime, stat */
} watch_counts;

void watch_begin(void);
watch_counts watch_end(void);

/* From now on this thread's allocation number `n` (from 0), and no other, fails; -1: none. */
void watch_fail_allocation(int64_t n);
/* Allocations asked for since watch_fail_allocation. */
int64_t watch_allocations(void);

/* While paused nothing is counted, and nothing fails: for the test's own work. */
void watch_pause(bool now);

#endif /* TJ_TEST_WATCH_H */
