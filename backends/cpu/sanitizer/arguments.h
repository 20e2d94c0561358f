/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of one launch as sanitizers see them: names, addresses, extents. */
#ifndef TJ_CPU_ARGUMENTS_H
#define TJ_CPU_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "triton_jit/sys/backend.h"
#include "triton_jit_cpu/cpu_abi.h"

typedef struct tj_cpu_argument {
  const char *name;
  uint64_t address; /* what the kernel got; 0 for a number */
  bool pointer;
  bool dense; /* all bytes from the extent's first to its last belong to it */
  tj_extent extent;
} tj_cpu_argument;

typedef struct tj_cpu_arguments {
  uint32_t n;
  tj_cpu_argument *list;
} tj_cpu_arguments;

/* False: no memory. `names` has one for each slot. */
bool tj_cpu_arguments_make(const tj_backend_launch *launch, const char *const *names,
                           tj_cpu_arguments *out_arguments);
void tj_cpu_arguments_free(tj_cpu_arguments *arguments);

/* The argument that a site's pointer comes from: the one it says, or the one whose extent has
   the address. NULL: not known. */
const tj_cpu_argument *tj_cpu_argument_of(const tj_cpu_arguments *arguments,
                                          const tj_cpu_site *site, uint64_t address);

typedef enum tj_cpu_side {
  TJ_CPU_WITHIN,
  TJ_CPU_BEFORE,
  TJ_CPU_BEHIND,
  TJ_CPU_BETWEEN
} tj_cpu_side;

/* Where `size` bytes at `address` lie, for an argument with a known extent. */
tj_cpu_side tj_cpu_argument_side(const tj_cpu_argument *argument, uint64_t address, uint32_t size);

/* "element 1003 of 'x_ptr'", or as much of it as is known. */
void tj_cpu_argument_words(const tj_cpu_argument *argument, uint64_t address, uint32_t size,
                           char *buffer, size_t capacity);

/* "program (3, 0, 0), element (2, 17) of the tile". */
void tj_cpu_event_words(const tj_cpu_event *event, char *buffer, size_t capacity);

#endif /* TJ_CPU_ARGUMENTS_H */
