/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The slot of `key`, or the free one where it would go. capacity is a power of two. */
static tj_map_slot *find(tj_map_slot *slots, size_t capacity, const void *key, size_t size) {
  size_t i = (size_t)tj_hash(key, size);
  for (;; i++) {
    tj_map_slot *slot = &slots[i & (capacity - 1)];
    if (slot->key == NULL) return slot;
    if (slot->size == size && memcmp(slot->key, key, size) == 0) return slot;
  }
}

void *tj_map_get(const tj_map *map, const void *key, size_t size) {
  if (map->count == 0) return NULL;
  return find(map->slots, map->capacity, key, size)->value;
}

static bool grow(tj_map *map) {
  size_t capacity = map->capacity ? map->capacity * 2 : 16;
  tj_map_slot *slots = calloc(capacity, sizeof *slots);
  if (slots == NULL) return false;
  for (size_t i = 0; i < map->capacity; i++) {
    const tj_map_slot *old = &map->slots[i];
    if (old->key) *find(slots, capacity, old->key, old->size) = *old;
  }
  free(map->slots);
  map->slots = slots;
  map->capacity = capacity;
  return true;
}

bool tj_map_set(tj_map *map, const void *key, size_t size, void *value) {
  if (map->count >= map->capacity / 2 && !grow(map)) return false;
  tj_map_slot *slot = find(map->slots, map->capacity, key, size);
  if (slot->key == NULL) {
    void *copy = malloc(size ? size : 1);
    if (copy == NULL) return false;
    if (size) memcpy(copy, key, size);
    slot->key = copy;
    slot->size = size;
    map->count++;
  }
  slot->value = value;
  return true;
}
