/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race detector: two programs that write, or read and write, one location, with nothing
 * that orders them.
 *
 * Programs run one at a time, so memory is always what their order makes it. What would
 * order them on a device are atomics: a program that acquires a location has seen all that
 * programs did before they released it (happens-before, with a vector clock for each
 * running program and each released location). Relaxed atomics order nothing.
 *
 * For each 8 bytes of memory the accesses are kept that may still race with a later one:
 * all writes, and the latest TJ_CPU_READERS reads by programs that know nothing of each
 * other. Memory for this is limited; locations that are first touched beyond the limit are
 * not watched, and counted. Where what orders programs has no room, nothing more is watched,
 * since any race might be false.
 *
 * A compare-and-swap that fails counts as one that succeeds: a race may be missed, none made up.
 */
#ifndef TJ_CPU_RACE_H
#define TJ_CPU_RACE_H

#include "cpu/sanitizer/arguments.h"
#include "cpu/sanitizer/report.h"

#define TJ_CPU_READERS 4
#define TJ_CPU_RACE_BYTES ((size_t)512 << 20)

typedef struct tj_cpu_race tj_cpu_race;

/* `limit`: bytes of memory for what is known of locations. `programs` that run in turns are
   given by their number, at most 1024; 0: they run one after the other. NULL: no memory. */
tj_cpu_race *tj_cpu_race_new(const tj_cpu_arguments *arguments, size_t limit, uint32_t programs);
void tj_cpu_race_free(tj_cpu_race *race);

/* `id` is the linear number of the event's program. */
void tj_cpu_race_access(tj_cpu_race *race, tj_cpu_report *report, const tj_cpu_event *event,
                        uint64_t id, uint64_t address);

/* Logs what was not watched. */
void tj_cpu_race_end(const tj_cpu_race *race, const char *function);

#endif /* TJ_CPU_RACE_H */
