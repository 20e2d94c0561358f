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

#endif /* TJ_LAUNCH_HOOKS_H */
