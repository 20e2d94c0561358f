/* SPDX-License-Identifier: Apache-2.0 */
/* Python and LLVM on a thread whose stack is large enough for them. */
#ifndef TJ_COMPILE_ROOMY_H
#define TJ_COMPILE_ROOMY_H

#include "triton_jit/status.h"

/*
 * work(argument): on this thread if it has room left on its stack, else on one made for it
 * (a host's threads may be small, and coroutines run on stacks of their own). The error
 * record ends up with the caller either way. The GIL is let go of if another thread works.
 */
tj_status tj_roomy_call(tj_status (*work)(void *argument), void *argument);

#endif /* TJ_COMPILE_ROOMY_H */
