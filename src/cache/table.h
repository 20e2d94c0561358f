/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function's table of variants, from key to tj_kernel.
 *
 * Readers take no lock: they load one pointer to an array of slots and probe it; a slot
 * is empty or points to a whole variant. Writers hold TJ_LOCK_FLIGHTS: they fill an empty
 * slot, and before more than half of the slots are in use they build an array of twice the
 * size and publish it. A reader that still has the old array finds in it all that was there when
 * it began, so old arrays are kept (together they are smaller than the current one).
 */
#ifndef TJ_CACHE_TABLE_H
#define TJ_CACHE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "cache/variant.h"

typedef struct tj_slots {
  struct tj_slots *before; /* the array that this one replaced */
  size_t mask;             /* number of slots - 1; a power of two */
  _Atomic(tj_kernel *) slot[];
} tj_slots;

typedef struct tj_table {
  _Atomic(tj_slots *) slots; /* NULL while empty */
  _Atomic size_t count;
} tj_table;

/* The variant of that key, or NULL. Never blocks. */
static inline tj_kernel *tj_table_find(const tj_table *table, const void *key, size_t size,
                                       uint64_t hash) {
  const tj_slots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);
  if (slots == NULL) return NULL;
  for (size_t i = (size_t)hash;; i++) {
    tj_kernel *kernel = atomic_load_explicit(&slots->slot[i & slots->mask], memory_order_acquire);
    if (kernel == NULL) return NULL;
    if (kernel->hash == hash && kernel->key_size == size && memcmp(kernel->key, key, size) == 0)
      return kernel;
  }
}

/* Makes room for `more` variants; under TJ_LOCK_FLIGHTS. */
tj_status tj_table_reserve(tj_table *table, size_t more);

/* Adds a variant for which there is room, and whose key is not there yet; under
   TJ_LOCK_FLIGHTS. */
void tj_table_add(tj_table *table, tj_kernel *kernel);

/* Calls `visit` for each variant that was there when it began. Takes no lock. */
void tj_table_each(const tj_table *table, void (*visit)(tj_kernel *kernel, void *user), void *user);

#endif /* TJ_CACHE_TABLE_H */
