/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the length of one call, from the thread's block: taken and given back like
 * a stack, so that a grid callback may call the library again. A block that was too small
 * is larger the next time, so that repeated calls do not allocate.
 */
#ifndef TJ_BASE_SCRATCH_H
#define TJ_BASE_SCRATCH_H

#include <stddef.h>

/* `size` bytes, 16-byte aligned; NULL without memory. */
void *tj_scratch_take(size_t size);

/* Gives back what was taken last. NULL is allowed. */
void tj_scratch_give(void *memory);

#endif /* TJ_BASE_SCRATCH_H */
