/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3, 64 bits, inlined. Not for anything that an enemy chooses: keys are compared whole. */
#ifndef TJ_BASE_HASH_H
#define TJ_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t tj_hash(const void *bytes, size_t size) { return XXH3_64bits(bytes, size); }

#endif /* TJ_BASE_HASH_H */
