/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/shadow.h"

#include <stdlib.h>

#define FIRST_CELLS ((size_t)1024)
#define FIRST_RECORDS 1024u

static size_t bytes_of(size_t cells, size_t records) {
  return cells * sizeof(tj_cpu_cell) + records * sizeof(tj_cpu_record);
}

static size_t place_of(const tj_cpu_cell *cells, size_t capacity, uint64_t key) {
  size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
  while (cells[at].key != 0 && cells[at].key != key) at = (at + 1) & (capacity - 1);
  return at;
}

/* Both tables are there while one takes the other's place. */
static bool grow_cells(tj_cpu_shadow *shadow) {
  size_t capacity = shadow->capacity ? 2 * shadow->capacity : FIRST_CELLS;
  if (bytes_of(capacity + shadow->capacity, shadow->room) > shadow->limit) return false;
  tj_cpu_cell *cells = calloc(capacity, sizeof *cells);
  if (cells == NULL) return false;
  for (size_t i = 0; i < shadow->capacity; i++)
    if (shadow->cells[i].key)
      cells[place_of(cells, capacity, shadow->cells[i].key)] = shadow->cells[i];
  free(shadow->cells);
  shadow->cells = cells;
  shadow->capacity = capacity;
  return true;
}

tj_cpu_cell *tj_cpu_shadow_cell(tj_cpu_shadow *shadow, uint64_t key) {
  if (shadow->n_cells * 2 >= shadow->capacity && !grow_cells(shadow)) {
    /* A table that cannot grow still serves the cells that it has. */
    if (shadow->capacity == 0) return NULL;
    tj_cpu_cell *known = &shadow->cells[place_of(shadow->cells, shadow->capacity, key)];
    return known->key ? known : NULL;
  }
  tj_cpu_cell *cell = &shadow->cells[place_of(shadow->cells, shadow->capacity, key)];
  if (cell->key == 0) {
    cell->key = key;
    shadow->n_cells++;
  }
  return cell;
}

static bool grow_records(tj_cpu_shadow *shadow) {
  uint32_t room = shadow->room ? shadow->room + shadow->room / 2 : FIRST_RECORDS;
  if (room > UINT32_MAX / 2 || bytes_of(shadow->capacity, room) > shadow->limit) return false;
  tj_cpu_record *records = realloc(shadow->records, room * sizeof *records);
  if (records == NULL) return false;
  shadow->records = records;
  shadow->room = room;
  if (shadow->n_records == 0) shadow->n_records = 1;
  return true;
}

tj_cpu_record *tj_cpu_shadow_add(tj_cpu_shadow *shadow, tj_cpu_cell *cell) {
  uint32_t number = shadow->unused;
  if (number) {
    shadow->unused = shadow->records[number].next;
  } else {
    if (shadow->n_records == shadow->room && !grow_records(shadow)) return NULL;
    number = shadow->n_records++;
  }
  tj_cpu_record *record = &shadow->records[number];
  record->next = cell->head;
  cell->head = number;
  return record;
}

void tj_cpu_shadow_drop(tj_cpu_shadow *shadow, uint32_t *link) {
  uint32_t number = *link;
  tj_cpu_record *record = &shadow->records[number];
  *link = record->next;
  record->next = shadow->unused;
  shadow->unused = number;
}

void tj_cpu_shadow_free(tj_cpu_shadow *shadow) {
  free(shadow->cells);
  free(shadow->records);
}
