/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include "base/clock.h"
#include "base/error.h"
#include "launch/hooks.h"

static tj_status fail_grid(const tj_launch_plan *plan, const uint32_t grid[3], int axis) {
  return tj_fail(TJ_E_GRID,
                 "%s: grid (%u, %u, %u) is too large in %c: backend '%s' takes at most %u there",
                 plan->kernel->artifact.function, grid[0], grid[1], grid[2], "xyz"[axis],
                 plan -> backend -> name, plan -> backend -> max_grid[axis]);
}

static tj_status callback_grid(const tj_launch_plan *plan, uint32_t grid[3]) {
  const tj_launch *launch = plan->bound->launch;
  grid[0] = grid[1] = grid[2] = 1;
  uint64_t serial = tj_error_serial(); /* an old message must not be taken for the callback's */
  tj_status status = launch->grid_fn(plan->bound, grid, launch->grid_user);
  if (status == TJ_OK) return TJ_OK;
  if (tj_error_serial() != serial)
    return tj_fail_in(status, "%s: the grid callback failed: ", plan->kernel->artifact.function);
  return tj_fail(status, "%s: the grid callback returned %s (%d)", plan->kernel->artifact.function,
                 tj_status_name(status), status);
}

/* With hooks set: enter before, exit after, with the time that the driver took. */
static tj_status launch_with_hooks(const tj_hooks *hooks, const tj_launch_plan *plan,
                                   const tj_backend_launch *launch) {
  tj_event event = {.struct_size = sizeof event,
                    .function = plan->kernel->function,
                    .kernel = plan->kernel,
                    .name = plan->kernel->artifact.function,
                    .stream = launch->stream,
                    .device = launch->device,
                    .grid = {launch->grid[0], launch->grid[1], launch->grid[2]}};
  if (hooks->enter) hooks->enter(hooks->user, &event);
  uint64_t begin = tj_now();
  tj_status status = plan->backend->launch(plan->module->handle, launch);
  event.nanoseconds = tj_now() - begin;
  event.status = status;
  if (hooks->exit) tj_hook_call(hooks->exit, hooks->user, &event);
  return status;
}

tj_status tj_launch_slowly(const tj_launch_plan *plan, tj_backend_launch *launch,
                           bool *out_launched) {
  *out_launched = false;
  if (plan->bound->launch->grid_fn) {
    tj_status status = callback_grid(plan, launch->grid);
    if (status != TJ_OK) return status;
  }
  if (launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0) return TJ_OK;
  for (int axis = 0; axis < 3; axis++)
    if (launch->grid[axis] > plan->backend->max_grid[axis])
      return fail_grid(plan, launch->grid, axis);
  *out_launched = true;
  const tj_hooks *hooks = tj_hooks_get();
  if (hooks) return launch_with_hooks(hooks, plan, launch);
  return plan->backend->launch(plan->module->handle, launch);
}
