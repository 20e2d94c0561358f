/* SPDX-License-Identifier: Apache-2.0 */
/* The host's log callback; tj_log itself is declared in triton_jit/sys/backend.h. */
#ifndef TJ_BASE_LOG_H
#define TJ_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "triton_jit/runtime.h"
#include "triton_jit/sys/backend.h"

/* Whether a message of `level` would reach anyone: ask before costly formatting. */
bool tj_log_wants(int level);

/* One message of `size` bytes, which may have several lines: one callback a line. */
void tj_log_text(int level, const char *text, size_t size);

#endif /* TJ_BASE_LOG_H */
