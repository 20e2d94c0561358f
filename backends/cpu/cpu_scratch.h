/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch memory of the thread that runs a program. Each thread keeps one block, grown on
 * demand. A launch takes it away from the thread while it runs and gives it back after,
 * so a launch within a launch (a print callback that calls a kernel) gets another one.
 */
#ifndef TJ_CPU_SCRATCH_H
#define TJ_CPU_SCRATCH_H

#include <stdint.h>

/* At least `size` bytes (not 0), 64-byte aligned, contents undefined; NULL: no memory. */
void *tj_cpu_scratch_take(uint64_t size);

void tj_cpu_scratch_give(void *scratch);

#endif /* TJ_CPU_SCRATCH_H */
