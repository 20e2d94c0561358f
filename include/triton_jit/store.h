/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Persistent variants: their places are reserved. Every function here returns
 * TJ_E_NOT_SUPPORTED in this version; the declarations are final.
 *
 * A store is a folder that holds, for every variant, the artifact, its metadata and the
 * signature of its function, so that a warm start needs no Python. A bundle is one file
 * with the variants of many kernels for many targets. Triton's own disk cache is in use
 * in any case, shared with Python.
 */
#ifndef TRITON_JIT_STORE_H
#define TRITON_JIT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/function.h"
#include "triton_jit/status.h"

TJ_BEGIN_DECLS

/*
 * Opens the store in `folder` (NULL: $XDG_CACHE_HOME/triton_jit) for the process.
 * Errors: TJ_E_NOT_SUPPORTED. Since 0.1.
 */
TJ_API tj_status tj_store_open(const char *folder, uint32_t flags);

/* Adds the variants of the bundle file `path`. Errors: TJ_E_NOT_SUPPORTED. Since 0.1. */
TJ_API tj_status tj_bundle_open(const char *path, uint32_t flags);

/*
 * From now on a miss is TJ_E_FROZEN, naming the variant, instead of a compile; 0 allows
 * compiles again. Errors: TJ_E_NOT_SUPPORTED. Since 0.1.
 */
TJ_API tj_status tj_freeze(int frozen);

/*
 * One variant as bytes, to be kept by the host: *inout_size is the room at `buffer` and
 * becomes what is needed; a NULL buffer only asks. Errors: TJ_E_NOT_SUPPORTED. Since 0.1.
 */
TJ_API tj_status tj_kernel_export(tj_kernel *kernel, void *buffer, size_t *inout_size);

/*
 * The other way: adds a variant to its function. The bytes are treated as hostile.
 * Errors: TJ_E_NOT_SUPPORTED. Since 0.1.
 */
TJ_API tj_status tj_function_import(tj_function *fn, const void *bytes, size_t size,
                                    tj_kernel **out_kernel);

TJ_END_DECLS

#endif /* TRITON_JIT_STORE_H */
