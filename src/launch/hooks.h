/* SPDX-License-Identifier: Apache-2.0 */
/* The host's hooks; tj_set_hooks is public (triton_jit/runtime.h). */
#ifndef TJ_LAUNCH_HOOKS_H
#define TJ_LAUNCH_HOOKS_H

#include <stdatomic.h>

#include "triton_jit/runtime.h"

extern _Atomic(const tj_hooks *) tj_hooks_current;

/* NULL, as almost always, if none are set. */
static inline const tj_hooks *tj_hooks_get(void) {
  return atomic_load_explicit(&tj_hooks_current, memory_order_acquire);
}

/* Calls the hook. What it does leaves the recorded error of a failed event in place. */
void tj_hook_call(tj_hook_fn hook, void *user, const tj_event *event);

#endif /* TJ_LAUNCH_HOOKS_H */
