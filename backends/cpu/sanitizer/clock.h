/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector clocks: how far of each program has been seen. Programs that wait for each other
 * mostly see whole ranges of earlier ones at the same point, so a clock is a sorted list of
 * runs, and stays short for grids of any size.
 */
#ifndef TJ_CPU_CLOCK_H
#define TJ_CPU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tj_cpu_run {
  uint64_t first, last; /* programs */
  uint32_t time;        /* of each; 0 is that of programs in no run */
} tj_cpu_run;

typedef struct tj_cpu_clock {
  tj_cpu_run *runs;
  uint32_t n, capacity;
} tj_cpu_clock;

uint32_t tj_cpu_clock_of(const tj_cpu_clock *clock, uint64_t program);

/* Makes each program's time that of the later one. False: no memory; `into` is as it was. */
bool tj_cpu_clock_join(tj_cpu_clock *into, const tj_cpu_clock *other);

/* The same for one program. */
bool tj_cpu_clock_set(tj_cpu_clock *clock, uint64_t program, uint32_t time);

/* Nothing is seen. Keeps the memory. */
void tj_cpu_clock_clear(tj_cpu_clock *clock);
void tj_cpu_clock_free(tj_cpu_clock *clock);

static inline size_t tj_cpu_clock_bytes(const tj_cpu_clock *clock) {
  return clock->capacity * sizeof *clock->runs;
}

#endif /* TJ_CPU_CLOCK_H */
