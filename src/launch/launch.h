/* SPDX-License-Identifier: Apache-2.0 */
/* The last stage: grid, checks, and the backend's launch. Looks nothing up. */
#ifndef TJ_LAUNCH_LAUNCH_H
#define TJ_LAUNCH_LAUNCH_H

#include "bind/bind.h"
#include "cache/variant.h"

/* What to launch, and where. */
typedef struct tj_launch_plan {
  const tj_backend *backend;
  tj_kernel *kernel;
  const tj_module *module;
  const tj_bound *bound;
} tj_launch_plan;

/*
 * Computes the grid (the host's callback may run) and launches. A grid with a zero in it
 * launches nothing: *out_launched tells.
 */
tj_status tj_launch_run(const tj_launch_plan *plan, int *out_launched);

#endif /* TJ_LAUNCH_LAUNCH_H */
