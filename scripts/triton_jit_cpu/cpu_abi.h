/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CPU artifact and the library agree on. A CPU artifact is an ELF shared object
 * that exports tj_cpu_info_1 and tj_cpu_run_1 and nothing else. This file is the one
 * definition: the CPU backend includes it and the code generator pastes it into the C
 * that it writes. Plain C11, no other project header.
 */
#ifndef TJ_CPU_ABI_H
#define TJ_CPU_ABI_H

#include <stddef.h>
#include <stdint.h>

#define TJ_CPU_ABI 1u

enum {
  /* Program ids must start in increasing order: a program may wait for an earlier one
   * (atomics, volatile loads). */
  TJ_CPU_ORDERED = 1u
};

enum {
  TJ_CPU_FAIL_ASSERT = 1, /* a device_assert did not hold */
  TJ_CPU_FAIL_TRAP = 2    /* the program cannot go on for another reason */
};

/* What the library gives a program. The functions may be called from any worker thread. */
typedef struct tj_cpu_host {
  void *ctx;
  /* One whole line of device_print, without the newline. */
  void (*print)(void *ctx, const char *text, size_t size);
  /* The first failure of a launch wins; the program then returns 1. */
  void (*fail)(void *ctx, int32_t kind, const char *text, size_t size);
} tj_cpu_host;

typedef struct tj_cpu_info {
  uint32_t abi;   /* TJ_CPU_ABI */
  uint32_t flags; /* TJ_CPU_ORDERED */
  uint64_t
      scratch_size; /* bytes that one running program needs; 64-byte aligned, contents undefined */
  uint32_t params_size; /* bytes of the packed parameters */
  uint32_t n_params;
} tj_cpu_info;

extern const tj_cpu_info tj_cpu_info_1;

/* Runs the programs [first, last) of the grid in order; the linear id is
 * x + grid[0] * (y + grid[1] * z). `params` is 16-byte aligned and holds the run-time
 * arguments in order with natural alignment. Returns 0, or 1 after host->fail. */
int32_t tj_cpu_run_1(const void *params, const uint32_t grid[3], uint64_t first, uint64_t last,
                     void *scratch, const tj_cpu_host *host);

#endif
