/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each 8 bytes of memory: a list of accesses. Memory is limited. */
#ifndef TJ_CPU_SHADOW_H
#define TJ_CPU_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "triton_jit_cpu/cpu_abi.h"

/* One access that a later one may race with. */
typedef struct tj_cpu_record {
  uint64_t program, element;
  const tj_cpu_site *site;
  uint32_t pid[3];
  uint32_t time; /* of the program */
  uint32_t next; /* the next of the same 8 bytes; 0: none */
  uint8_t bytes; /* which of the 8 */
} tj_cpu_record;

typedef struct tj_cpu_cell {
  uint64_t key;  /* address / 8; 0: free */
  uint32_t head; /* the latest record; 0: none */
} tj_cpu_cell;

typedef struct tj_cpu_shadow {
  size_t limit; /* bytes */
  tj_cpu_cell *cells;
  size_t n_cells, capacity; /* capacity is a power of two, or 0 */
  tj_cpu_record *records;   /* [0] is not used */
  uint32_t n_records, room;
  uint32_t unused; /* list of records that were given back */
} tj_cpu_shadow;

/* The cell of the 8 bytes at `key` * 8. NULL: it is new and there is no room for it. */
tj_cpu_cell *tj_cpu_shadow_cell(tj_cpu_shadow *shadow, uint64_t key);

/* A record at the head of a cell. NULL: there is no room. Moves the other records. */
tj_cpu_record *tj_cpu_shadow_add(tj_cpu_shadow *shadow, tj_cpu_cell *cell);

/* Takes the record that `link` says (a head or a next) off its list. */
void tj_cpu_shadow_drop(tj_cpu_shadow *shadow, uint32_t *link);

void tj_cpu_shadow_free(tj_cpu_shadow *shadow);

#endif /* TJ_CPU_SHADOW_H */
