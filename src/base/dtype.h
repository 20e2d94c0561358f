/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages ask of dtypes; names and sizes are public (triton_jit/arg.h). */
#ifndef TJ_BASE_DTYPE_H
#define TJ_BASE_DTYPE_H

#include <stdbool.h>

#include "triton_jit/arg.h"

#define TJ_DTYPE_COUNT (TJ_VOID + 1)

static inline bool tj_dtype_is_signed(tj_dtype d) { return d >= TJ_I8 && d <= TJ_I64; }
static inline bool tj_dtype_is_unsigned(tj_dtype d) { return d >= TJ_U8 && d <= TJ_U64; }
static inline bool tj_dtype_is_int(tj_dtype d) { return d >= TJ_I8 && d <= TJ_U64; }
static inline bool tj_dtype_is_fp8(tj_dtype d) { return d >= TJ_FP8E4NV && d <= TJ_FP8E4B15; }
/* fp16 to fp64: what a C double is converted to. */
static inline bool tj_dtype_is_float(tj_dtype d) { return d >= TJ_FP16 && d <= TJ_FP64; }

#endif /* TJ_BASE_DTYPE_H */
