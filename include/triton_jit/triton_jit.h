/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtriton_jit: call Python-defined Triton kernels from C.
 *
 *   tj_function *add;
 *   tj_status status = tj_function_get("kernels/add.py", "add_kernel", &add);
 *
 *   tj_launch launch = tj_launch_grid((n + 1023) / 1024, 1, 1);
 *   tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(y, TJ_FP32), tj_ptr(out, TJ_FP32),
 *                    tj_int(n), tj_int(1024)};
 *   if (status == TJ_OK) status = tj_function_call(add, &launch, args, 5);
 *   if (status != TJ_OK) report(tj_last_error());
 *
 * This header brings all that most programs need. sys/backend.h is for authors of
 * backends.
 */
#ifndef TRITON_JIT_H
#define TRITON_JIT_H

#include "triton_jit/arg.h"      /* IWYU pragma: export */
#include "triton_jit/function.h" /* IWYU pragma: export */
#include "triton_jit/runtime.h"  /* IWYU pragma: export */
#include "triton_jit/status.h"   /* IWYU pragma: export */
#include "triton_jit/store.h"    /* IWYU pragma: export */
#include "triton_jit/version.h"  /* IWYU pragma: export */

#endif /* TRITON_JIT_H */
