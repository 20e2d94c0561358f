/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single flight: one compile a variant, whoever asks.
 *
 * A flight is a compile under way, for one key of one table. The thread that begins it
 * owns it and must end it; others that want the key wait for it. A variant is put into
 * the table when its flight ends, so the table never shows a half-made one. All of this
 * is ordered by TJ_LOCK_FLIGHTS, which is never held during a compile or a load.
 *
 * A thread that would wait for itself (a kernel file that, while it is imported, calls
 * the variant being compiled), also through other threads that wait in turn, is told so
 * instead. In a forked child the flights of threads that it does not have are forgotten.
 */
#ifndef TJ_CACHE_FLIGHT_H
#define TJ_CACHE_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "cache/table.h"
#include "triton_jit/status.h"

typedef struct tj_flight tj_flight;

typedef enum tj_join {
  TJ_JOIN_FOUND, /* the table has it by now: *out_kernel */
  TJ_JOIN_OWNED, /* compile it, then tj_flight_end */
  TJ_JOIN_WAIT,  /* another thread compiles it: tj_flight_wait */
  TJ_JOIN_FAILED /* the error is recorded */
} tj_join;

/* `name` is the function's, for messages. */
tj_join tj_flight_join(tj_table *table, const char *name, const void *key, size_t size,
                       uint64_t hash, tj_flight **out_flight, tj_kernel **out_kernel,
                       tj_status *out_status);

/*
 * Ends an owned flight: puts `kernel` into the table (also one that holds a remembered
 * failure), or, if it is NULL, tells those who wait about `status` and the message that
 * this thread has recorded.
 */
void tj_flight_end(tj_flight *flight, tj_kernel *kernel, tj_status status);

/*
 * Waits until the flight has ended: TJ_OK and its variant, or its failure, recorded for
 * this thread. TJ_E_RECURSION if by now its owner waits for this thread.
 */
tj_status tj_flight_wait(tj_flight *flight, const char *name, tj_kernel **out_kernel);

#endif /* TJ_CACHE_FLIGHT_H */
