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

#define TJ_CPU_ABI 2u

enum {
  /* Program ids must start in increasing order: a program may wait for an earlier one
   * (atomics, volatile loads). */
  TJ_CPU_ORDERED = 1u,
  /* The code calls host->sanitizer, for these detectors. Its programs must run one at a time,
   * in order. */
  TJ_CPU_ADDRESS = 2u,
  TJ_CPU_RACE = 4u,
  TJ_CPU_NUMERIC = 8u,
  TJ_CPU_SANITIZED = 14u
};

enum {
  TJ_CPU_FAIL_ASSERT = 1, /* a device_assert did not hold */
  TJ_CPU_FAIL_TRAP = 2    /* the program cannot go on for another reason */
};

/* ---- sanitizers ----------------------------------------------------------------------------- */

/* What a site does: TJ_CPU_READ, TJ_CPU_WRITE or both, and more bits. */
enum {
  TJ_CPU_READ = 1u,
  TJ_CPU_WRITE = 2u,
  TJ_CPU_ATOMIC = 4u,   /* no race with other atomic accesses */
  TJ_CPU_ACQUIRE = 8u,  /* what the last release of the location saw is seen from here on */
  TJ_CPU_RELEASE = 16u, /* what was done up to here is seen by who acquires the location */
  TJ_CPU_MASKED = 32u   /* the access has a mask, which held where the sanitizer is called */
};

#define TJ_CPU_MAX_RANK 8

/* One operation of the kernel's source. */
typedef struct tj_cpu_site {
  uint32_t flags;    /* TJ_CPU_READ and so on; 0: arithmetic */
  uint32_t size;     /* bytes of an element */
  int32_t parameter; /* that the pointer comes from: its number, or -1 where it has several */
  uint32_t rank;     /* of the tile; 0: a scalar */
  uint32_t shape[TJ_CPU_MAX_RANK];
  const char *operation; /* "tl.load" */
  const char *place;     /* "/path/kernel.py:12" */
  const char *line;      /* the text there, or "" */
} tj_cpu_site;

/* Who speaks: the operation, the program, and the element of the tile in row-major order. */
typedef struct tj_cpu_event {
  const tj_cpu_site *site;
  uint32_t pid[3];
  uint64_t element;
} tj_cpu_event;

/* Called in program order, by one thread at a time. */
typedef struct tj_cpu_sanitizer {
  void *ctx;
  /* An element is about to be accessed. Not 0: it must be skipped. */
  int32_t (*access)(void *ctx, const tj_cpu_event *event, const volatile void *address);
  /* NaN or an infinity came out of n operands that have none. Returns what stands for the
   * event from here on, never 0. */
  uint32_t (*born)(void *ctx, const tj_cpu_event *event, double result, const double *operands,
                   uint32_t n);
  /* A value that was born at `origin` is written to memory. */
  void (*escapes)(void *ctx, const tj_cpu_event *event, uint32_t origin);
} tj_cpu_sanitizer;

/* ---- the library to the program ---------------------------------------------------------------- */

/* What the library gives a program. The functions may be called from any worker thread. */
typedef struct tj_cpu_host {
  void *ctx;
  /* One whole line of device_print, without the newline. */
  void (*print)(void *ctx, const char *text, size_t size);
  /* The first failure of a launch wins; the program then returns 1. */
  void (*fail)(void *ctx, int32_t kind, const char *text, size_t size);
  /* Called now and then by a program in a loop that may wait for another program: gives way
   * to others. Not 0: the launch has failed, and the program returns 1. */
  int32_t (*wait)(void *ctx);
  const tj_cpu_sanitizer *sanitizer; /* NULL unless TJ_CPU_SANITIZED */
} tj_cpu_host;

/* ---- the program to the library ------------------------------------------------------------------ */

typedef struct tj_cpu_info {
  uint32_t abi;   /* TJ_CPU_ABI; stands here in all versions */
  uint32_t flags; /* TJ_CPU_ORDERED... */
  uint64_t
      scratch_size; /* bytes that one running program needs; 64-byte aligned, contents undefined */
  uint32_t params_size; /* bytes of the packed parameters */
  uint32_t n_params;
  const char *const *params; /* their names; NULL unless TJ_CPU_SANITIZED */
} tj_cpu_info;

extern const tj_cpu_info tj_cpu_info_1;

/* Runs the programs [first, last) of the grid in order; the linear id is
 * x + grid[0] * (y + grid[1] * z). `params` is 16-byte aligned and holds the run-time
 * arguments in order with natural alignment. Returns 0; or 1 after host->fail, or when
 * host->wait says so. */
int32_t tj_cpu_run_1(const void *params, const uint32_t grid[3], uint64_t first, uint64_t last,
                     void *scratch, const tj_cpu_host *host);

#endif
