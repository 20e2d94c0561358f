/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a host process that a guest must leave as it was. */
#ifndef TJ_TEST_SNAPSHOT_H
#define TJ_TEST_SNAPSHOT_H

#include <signal.h>

typedef struct snapshot {
  struct sigaction handlers[65];
  sigset_t blocked;
  stack_t signal_stack;
  char locale[256];
  char folder[4096];
  char environment[65536];
  int rounding;
  unsigned mode; /* MXCSR where there is one: rounding, flush to zero, denormals are zero */
  unsigned file_mask;
  char descriptors[16384]; /* number and target of each below 100 */
  int high_descriptors;    /* number of those from 100 on */
} snapshot;

void take_snapshot(snapshot *out);

/* Says on stderr what differs; the number of differences. */
int compare_snapshots(const snapshot *before, const snapshot *after);

#endif /* TJ_TEST_SNAPSHOT_H */
