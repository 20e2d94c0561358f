/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address sanitizer: each access against the extents that the arguments carry.
 *
 * A pointer that comes from one parameter is checked against that argument's extent, even
 * where it hits the memory of another. One that comes from several (tl.where) or from
 * memory must be within some argument if all pointers have extents, and is not checked
 * otherwise. Accesses through an argument without an extent are counted.
 */
#ifndef TJ_CPU_ADDRESS_H
#define TJ_CPU_ADDRESS_H

#include "cpu/sanitizer/arguments.h"
#include "cpu/sanitizer/report.h"

typedef struct tj_cpu_address {
  const tj_cpu_arguments *arguments;
  uint64_t *unchecked; /* accesses, by argument; the last: through pointers of no one argument */
} tj_cpu_address;

/* NULL: no memory. */
tj_cpu_address *tj_cpu_address_new(const tj_cpu_arguments *arguments);
void tj_cpu_address_free(tj_cpu_address *state);

/* False: the access must be skipped, and is reported. */
bool tj_cpu_address_check(tj_cpu_address *state, tj_cpu_report *report, const tj_cpu_event *event,
                          uint64_t address);

/* Logs what was not checked. */
void tj_cpu_address_end(const tj_cpu_address *state, const char *function);

#endif /* TJ_CPU_ADDRESS_H */
