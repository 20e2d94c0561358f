/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sanitizers of one launch have found. The first finding is the status and message
 * of the launch; the first of each place goes to the log, for TJ_CPU_PLACES of them; all
 * are counted.
 */
#ifndef TJ_CPU_REPORT_H
#define TJ_CPU_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "triton_jit/sys/backend.h"
#include "triton_jit_cpu/cpu_abi.h"

#define TJ_CPU_PLACES 8

typedef struct tj_cpu_report {
  const char *function; /* the kernel's name */
  tj_status status;     /* of the first finding; TJ_OK: there is none */
  uint64_t findings;
  uint32_t n_places;
  bool elsewhere; /* there are findings at more places */
  struct {
    const tj_cpu_site *one, *other;
  } places[TJ_CPU_PLACES];
  char text[2048]; /* the first finding */
} tj_cpu_report;

void tj_cpu_report_begin(tj_cpu_report *report, const char *function);

/* Counts a finding at a site, or between two. True: its text is wanted. */
bool tj_cpu_report_counts(tj_cpu_report *report, const tj_cpu_site *one, const tj_cpu_site *other);

/* The text of the finding just counted. */
void tj_cpu_report_say(tj_cpu_report *report, tj_status status, const char *format, ...)
    TJ_PRINTF(3, 4);

/* The launch's status, with the error recorded. */
tj_status tj_cpu_report_end(const tj_cpu_report *report);

#endif /* TJ_CPU_REPORT_H */
