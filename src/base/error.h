/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error record: of the calling thread, set by tj_fail (sys/backend.h) and by
 * nothing else. A stage that fails calls tj_fail once, where it knows the most; those
 * above it pass the status on, or add what they know with tj_fail_in.
 */
#ifndef TJ_BASE_ERROR_H
#define TJ_BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/status.h"
#include "triton_jit/sys/backend.h"

/* Records `text` of `size` bytes as it stands. Returns `status`. */
tj_status tj_fail_text(tj_status status, const char *text, size_t size);

/* Puts a formatted prefix before the recorded message. Returns `status`. */
tj_status tj_fail_in(tj_status status, const char *format, ...) TJ_PRINTF(2, 3);

tj_status tj_fail_memory(void);

/* Goes up with each failure recorded on this thread: tells whether somebody recorded one. */
uint64_t tj_error_serial(void);

/*
 * Around an attempt whose failure is none of the caller's: the record as it was, to be
 * given to tj_error_put_back. NULL, for no record, is fine.
 */
typedef struct tj_kept_error tj_kept_error;
tj_kept_error *tj_error_keep(void);
void tj_error_put_back(tj_kept_error *kept);

/*
 * Ends a public call: copies the thread's record to the caller's own, if it gave one and
 * the call failed. Returns `status`.
 */
tj_status tj_deliver(tj_error *error, tj_status status);

/* TJ_E_NULL for the argument `name` of the function `call`. */
tj_status tj_fail_null(const char *call, const char *name);

/* TJ_E_STRUCT_SIZE for a struct that the caller gave. */
tj_status tj_fail_size(const char *type, size_t got, size_t expected);

#endif /* TJ_BASE_ERROR_H */
