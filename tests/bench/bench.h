/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks share: options, the median of interleaved batches, instructions,
 * and the table that they print and, with --json FILE, write.
 */
#ifndef TJ_BENCH_H
#define TJ_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_options {
  bool smoke;       /* show that it runs; the figures mean nothing */
  const char *json; /* file for the figures, or NULL */
  /* To be run under a tool that counts instructions (instructions.sh): only case `only`,
     `runs` times; -1: all of them. */
  long only;
  uint64_t runs;
} bench_options;

/* Ends the program with status 2 if the arguments are none of these. */
bench_options bench_parse(int argc, char **argv);

/* One thing to be timed: runs itself `n` times. */
typedef struct bench_case {
  const char *name;
  void (*run)(void *user, uint64_t n);
  void *user;
  double median_ns, low_ns, high_ns; /* out: of one run; 10 and 90 % */
  double instructions;               /* out: of one run, user mode; negative: not known */
} bench_case;

/*
 * Times all cases in turn, `batches` rounds of `n` runs each, so that a machine whose
 * speed drifts treats them alike.
 */
void bench_time(bench_case *cases, size_t n_cases, uint64_t n, unsigned batches);

/* One figure of the report. */
void bench_report(const char *name, double value, const char *unit);

/* Writes what was reported to options->json. Returns the program's exit status. */
int bench_finish(const bench_options *options);

#endif /* TJ_BENCH_H */
