/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TJ_BASE_CLOCK_H
#define TJ_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic, nanoseconds. */
static inline uint64_t tj_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif /* TJ_BASE_CLOCK_H */
