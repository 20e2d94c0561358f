/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch of a kernel that was compiled with sanitizers (see include/triton_jit/runtime.h).
 * Its programs run one at a time, in order, on the thread that launches; those of a
 * cooperative grid take turns. So findings are the same on every run, and what the
 * detectors keep needs no locks.
 */
#ifndef TJ_CPU_SANITIZER_H
#define TJ_CPU_SANITIZER_H

#include "cpu/cpu_launch.h"

/* Runs the grid. The status is that of the launch, with the error recorded. */
tj_status tj_cpu_run_sanitized(tj_cpu_call *call, const tj_backend_launch *launch, void *scratch,
                               uint64_t total);

#endif /* TJ_CPU_SANITIZER_H */
