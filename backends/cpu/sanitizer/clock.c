/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/clock.h"

#include <stdlib.h>
#include <string.h>

uint32_t tj_cpu_clock_of(const tj_cpu_clock *clock, uint64_t program) {
  uint32_t low = 0, high = clock->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (clock->runs[middle].last < program)
      low = middle + 1;
    else
      high = middle;
  }
  return low < clock->n && clock->runs[low].first <= program ? clock->runs[low].time : 0;
}

/* Behind the last run; joined with it where it goes on at the same time. */
static void append(tj_cpu_clock *clock, uint64_t first, uint64_t last, uint32_t time) {
  tj_cpu_run *end = clock->n ? &clock->runs[clock->n - 1] : NULL;
  if (end && end->time == time && end->last + 1 == first)
    end->last = last;
  else
    clock->runs[clock->n++] = (tj_cpu_run){first, last, time};
}

/* Takes the piece from `at` on in which neither clock changes, and appends the later time. */
static uint64_t append_piece(tj_cpu_clock *into, const tj_cpu_run **a, const tj_cpu_run *a_end,
                             const tj_cpu_run **b, const tj_cpu_run *b_end, uint64_t at) {
  while (*a < a_end && (*a)->last < at) ++*a;
  while (*b < b_end && (*b)->last < at) ++*b;
  uint64_t stop = UINT64_MAX;
  uint32_t time = 0;
  const tj_cpu_run *ends[] = {a_end, b_end}, *runs[] = {*a, *b};
  for (int i = 0; i < 2; i++) {
    if (runs[i] == ends[i]) continue;
    bool inside = runs[i]->first <= at;
    uint64_t change = inside ? runs[i]->last : runs[i]->first - 1;
    if (change < stop) stop = change;
    if (inside && runs[i]->time > time) time = runs[i]->time;
  }
  if (time > 0) append(into, at, stop, time);
  return stop;
}

bool tj_cpu_clock_join(tj_cpu_clock *into, const tj_cpu_clock *other) {
  if (other->n == 0) return true;
  /* Each run begins and ends at most one piece. */
  uint32_t most = 2 * (into->n + other->n) + 1;
  tj_cpu_clock made = {malloc(most * sizeof *made.runs), 0, most};
  if (made.runs == NULL) return false;
  const tj_cpu_run *a = into->runs, *a_end = a ? a + into->n : a;
  const tj_cpu_run *b = other->runs, *b_end = b + other->n;
  for (uint64_t at = 0;;) {
    uint64_t stop = append_piece(&made, &a, a_end, &b, b_end, at);
    if (stop == UINT64_MAX) break;
    at = stop + 1;
  }
  if (made.n * 2 < made.capacity) {
    tj_cpu_run *smaller = realloc(made.runs, made.n * sizeof *made.runs);
    if (smaller) {
      made.runs = smaller;
      made.capacity = made.n;
    }
  }
  free(into->runs);
  *into = made;
  return true;
}

bool tj_cpu_clock_set(tj_cpu_clock *clock, uint64_t program, uint32_t time) {
  tj_cpu_run run = {program, program, time};
  const tj_cpu_clock one = {&run, 1, 1};
  return tj_cpu_clock_join(clock, &one);
}

void tj_cpu_clock_clear(tj_cpu_clock *clock) { clock->n = 0; }

void tj_cpu_clock_free(tj_cpu_clock *clock) {
  free(clock->runs);
  *clock = (tj_cpu_clock){0};
}
