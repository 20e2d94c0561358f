/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from byte strings to pointers, for what is interned for the life of the
 * process. The caller's lock orders its use.
 */
#ifndef TJ_BASE_MAP_H
#define TJ_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tj_map_slot {
  void *key; /* a copy */
  size_t size;
  void *value;
} tj_map_slot;

typedef struct tj_map {
  tj_map_slot *slots;
  size_t count, capacity;
} tj_map;

/* NULL if there is none. */
void *tj_map_get(const tj_map *map, const void *key, size_t size);

/* Adds it, or replaces the value that is there. False: no memory, and nothing changed. */
bool tj_map_set(tj_map *map, const void *key, size_t size, void *value);

#endif /* TJ_BASE_MAP_H */
