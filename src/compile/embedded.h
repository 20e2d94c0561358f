/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TJ_COMPILE_EMBEDDED_H
#define TJ_COMPILE_EMBEDDED_H

#include <stdbool.h>

#include "triton_jit/status.h"

/*
 * Makes the embedded compiler ready for this thread. A failure with *out_elsewhere set is
 * one that a worker process does not have; the error record says what it is.
 */
tj_status tj_embedded_start(bool *out_elsewhere);

#endif /* TJ_COMPILE_EMBEDDED_H */
