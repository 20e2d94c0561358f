/* SPDX-License-Identifier: Apache-2.0 */
/* The last stage: grid, checks, and the backend's launch. Looks nothing up. */
#ifndef TJ_LAUNCH_LAUNCH_H
#define TJ_LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "bind/bind.h"
#include "cache/variant.h"
#include "launch/hooks.h"

/* What to launch, and where. */
typedef struct tj_launch_plan {
  const tj_backend *backend;
  tj_kernel *kernel;
  const tj_module *module;
  const tj_bound *bound;
} tj_launch_plan;

/* With hooks set, a grid callback, or a grid that is empty or too large. */
tj_status tj_launch_slowly(const tj_launch_plan *plan, tj_backend_launch *launch,
                           bool *out_launched);

static inline int tj_grid_is_plain(const uint32_t grid[3], const uint32_t max[3]) {
  /* One comparison for both ends: 0 - 1 is the largest number. */
  return grid[0] - 1 < max[0] && grid[1] - 1 < max[1] && grid[2] - 1 < max[2];
}

/*
 * Computes the grid (the host's callback may run) and launches. A grid with a zero in it
 * launches nothing: *out_launched tells.
 */
static inline tj_status tj_launch_run(const tj_launch_plan *plan, bool *out_launched) {
  const tj_launch *asked = plan->bound->launch;
  const tj_backend *backend = plan->backend;
  tj_backend_launch launch = {.struct_size = sizeof launch,
                              .grid = {asked->grid[0], asked->grid[1], asked->grid[2]},
                              .device = plan->module->device,
                              .stream = asked->stream,
                              .params = plan->bound->params,
                              .params_size = plan->bound->params_size,
                              .n_slots = plan->kernel->artifact.n_slots,
                              .artifact = &plan->kernel->artifact,
                              .bound = plan->bound};
  if (__builtin_expect(asked->grid_fn != NULL || tj_hooks_get() != NULL ||
                           !tj_grid_is_plain(launch.grid, backend->max_grid),
                       0))
    return tj_launch_slowly(plan, &launch, out_launched);
  *out_launched = true;
  return backend->launch(plan->module->handle, &launch);
}

#endif /* TJ_LAUNCH_LAUNCH_H */
