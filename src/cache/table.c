/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/table.h"

#include <stdlib.h>

#include "base/error.h"

static void put(tj_slots *slots, tj_kernel *kernel) {
  size_t i = (size_t)kernel->hash;
  while (atomic_load_explicit(&slots->slot[i & slots->mask], memory_order_relaxed)) i++;
  atomic_store_explicit(&slots->slot[i & slots->mask], kernel, memory_order_release);
}

static tj_slots *grown(tj_slots *old) {
  size_t n = old ? (old->mask + 1) * 2 : 8;
  if (n > SIZE_MAX / 2 / sizeof(tj_kernel *)) return NULL;
  tj_slots *slots = calloc(1, sizeof *slots + n * sizeof *slots->slot);
  if (slots == NULL) return NULL;
  slots->before = old;
  slots->mask = n - 1;
  for (size_t i = 0; old && i <= old->mask; i++) {
    tj_kernel *kernel = atomic_load_explicit(&old->slot[i], memory_order_relaxed);
    if (kernel) put(slots, kernel);
  }
  return slots;
}

tj_status tj_table_reserve(tj_table *table, size_t more) {
  tj_slots *slots = atomic_load_explicit(&table->slots, memory_order_relaxed);
  size_t wanted = atomic_load_explicit(&table->count, memory_order_relaxed) + more;
  while (slots == NULL || wanted > (slots->mask + 1) / 2) {
    slots = grown(slots);
    if (slots == NULL) return tj_fail_memory();
    atomic_store_explicit(&table->slots, slots, memory_order_release);
  }
  return TJ_OK;
}

void tj_table_add(tj_table *table, tj_kernel *kernel) {
  put(atomic_load_explicit(&table->slots, memory_order_relaxed), kernel);
  atomic_fetch_add_explicit(&table->count, 1, memory_order_relaxed);
}

void tj_table_each(const tj_table *table, void (*visit)(tj_kernel *kernel, void *user),
                   void *user) {
  const tj_slots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);
  for (size_t i = 0; slots && i <= slots->mask; i++) {
    tj_kernel *kernel = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
    if (kernel) visit(kernel, user);
  }
}
