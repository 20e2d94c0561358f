/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: of many threads, each with a program of its own, one runs. */
#ifndef TJ_CPU_TURNS_H
#define TJ_CPU_TURNS_H

#include <stdint.h>

typedef struct tj_cpu_turns tj_cpu_turns;

/* For programs 0 to n - 1; the first turn is that of 0. NULL: no memory. */
tj_cpu_turns *tj_cpu_turns_new(uint32_t n);
void tj_cpu_turns_free(tj_cpu_turns *turns);

/* Waits for the program's first turn. */
void tj_cpu_turns_enter(tj_cpu_turns *turns, uint32_t program);

/* Lets all others have a turn before the running program goes on. */
void tj_cpu_turns_pass(tj_cpu_turns *turns);

/* The running program is over. */
void tj_cpu_turns_leave(tj_cpu_turns *turns);

#endif /* TJ_CPU_TURNS_H */
