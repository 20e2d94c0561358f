/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange with a process on a socket: a request frame out, a reply frame back, log
 * frames in between. A frame is a u32 size, little endian, and a message (message.h).
 */
#ifndef TJ_COMPILE_FRAME_H
#define TJ_COMPILE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "triton_jit/status.h"

#define TJ_FRAME_MAX ((size_t)1 << 30)

typedef enum tj_exchange {
  TJ_EXCHANGE_OK,
  TJ_EXCHANGE_CLOSED,  /* the other side is gone */
  TJ_EXCHANGE_GARBAGE, /* it sent what is no frame; `reason` says what */
  TJ_EXCHANGE_MEMORY
} tj_exchange;

/*
 * Sends and receives on `socket` and meanwhile collects the last of what arrives on
 * `diagnostics` (not blocking; below 0: none) in `tail`. Blocks without a limit.
 */
tj_exchange tj_frame_exchange(int socket, int diagnostics, const void *request, size_t size,
                              tj_str *tail, void **out_reply, size_t *out_size,
                              const char **out_reason);

/* Adds what waits on `diagnostics` to `tail` without blocking. False: it is at its end. */
bool tj_frame_drain(int diagnostics, tj_str *tail);

#endif /* TJ_COMPILE_FRAME_H */
