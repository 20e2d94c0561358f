/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/address.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "triton_jit/runtime.h"

/* No argument lies there: what a null pointer and an offset give. */
#define FIRST_PAGES 65536u

tj_cpu_address *tj_cpu_address_new(const tj_cpu_arguments *arguments) {
  tj_cpu_address *state = calloc(1, sizeof *state);
  if (state == NULL) return NULL;
  state->arguments = arguments;
  state->unchecked = calloc((size_t)arguments->n + 1, sizeof *state->unchecked);
  if (state->unchecked) return state;
  free(state);
  return NULL;
}

void tj_cpu_address_free(tj_cpu_address *state) {
  if (state == NULL) return;
  free(state->unchecked);
  free(state);
}

/* ---- words ------------------------------------------------------------------------------------- */

static const char *verb(const tj_cpu_site *site) {
  switch (site->flags & (TJ_CPU_READ | TJ_CPU_WRITE)) {
  case TJ_CPU_READ: return "reads";
  case TJ_CPU_WRITE: return "writes";
  default: return "reads and writes";
  }
}

static const char *mask_words(const tj_cpu_site *site) {
  return site->flags & TJ_CPU_MASKED ? "where its mask is true" : "without a mask";
}

static void where_words(const tj_cpu_argument *argument, tj_cpu_side side, uint64_t address,
                        uint32_t size, char *buffer, size_t capacity) {
  const tj_extent *extent = &argument->extent;
  if (extent->first > extent->last) {
    (void)snprintf(buffer, capacity, "which is empty");
    return;
  }
  int64_t low = ((int64_t)(extent->first - argument->address)) / (int64_t)size;
  int64_t high = ((int64_t)(extent->last + 1 - argument->address)) / (int64_t)size - 1;
  uint64_t far = 0;
  const char *how = "between two of them";
  if (side == TJ_CPU_BEFORE) {
    far = (extent->first - address + size - 1) / size;
    how = "before the first";
  } else if (side == TJ_CPU_BEHIND) {
    far = (address + size - 1 - extent->last + size - 1) / size;
    how = "past the last";
  }
  if (side == TJ_CPU_BETWEEN)
    (void)snprintf(buffer, capacity,
                   "which lies in a gap of the tensor: its strides skip it, though its elements "
                   "run from %" PRId64 " to %" PRId64,
                   low, high);
  else
    (void)snprintf(buffer, capacity,
                   "%" PRIu64 " %s: its elements run from %" PRId64 " to %" PRId64, far, how, low,
                   high);
}

static void say(tj_cpu_report *report, const tj_cpu_event *event, const char *what,
                const char *where) {
  const tj_cpu_site *site = event->site;
  char who[256];
  tj_cpu_event_words(event, who, sizeof who);
  tj_cpu_report_say(report, TJ_E_KERNEL_ACCESS, "%s: %s %s %s, %s; %s, %s%s%s", site->place,
                    site->operation, verb(site), what, where, who, mask_words(site),
                    *site->line ? "\n    " : "", site->line);
}

/* ---- checks ------------------------------------------------------------------------------------ */

static bool refuse(tj_cpu_report *report, const tj_cpu_event *event, uint64_t address,
                   const tj_cpu_argument *argument, tj_cpu_side side) {
  const tj_cpu_site *site = event->site;
  if (!tj_cpu_report_counts(report, site, NULL)) return false;
  char what[256], where[256];
  tj_cpu_argument_words(argument, address, site->size, what, sizeof what);
  where_words(argument, side, address, site->size, where, sizeof where);
  say(report, event, what, where);
  return false;
}

static bool refuse_stray(tj_cpu_report *report, const tj_cpu_event *event, uint64_t address,
                         const char *where) {
  if (!tj_cpu_report_counts(report, event->site, NULL)) return false;
  char what[256];
  tj_cpu_argument_words(NULL, address, event->site->size, what, sizeof what);
  say(report, event, what, where);
  return false;
}

/* A pointer of no one argument: whether it may be anywhere, since some argument has no end. */
static bool has_unknown_extent(const tj_cpu_arguments *arguments) {
  for (uint32_t i = 0; i < arguments->n; i++)
    if (arguments->list[i].pointer && !arguments->list[i].extent.known) return true;
  return false;
}

bool tj_cpu_address_check(tj_cpu_address *state, tj_cpu_report *report, const tj_cpu_event *event,
                          uint64_t address) {
  const tj_cpu_arguments *arguments = state->arguments;
  const tj_cpu_site *site = event->site;
  const tj_cpu_argument *argument = tj_cpu_argument_of(arguments, site, address);
  if (argument && argument->extent.known) {
    tj_cpu_side side = tj_cpu_argument_side(argument, address, site->size);
    if (side == TJ_CPU_WITHIN) return true;
    return refuse(report, event, address, argument, side);
  }
  if (address < FIRST_PAGES) return refuse_stray(report, event, address, "through a null pointer");
  if (argument == NULL && site->parameter == -1 && !has_unknown_extent(arguments))
    return refuse_stray(report, event, address, "which is in none of the arguments");
  state->unchecked[argument ? (size_t)(argument - arguments->list) : arguments->n]++;
  return true;
}

void tj_cpu_address_end(const tj_cpu_address *state, const char *function) {
  const tj_cpu_arguments *arguments = state->arguments;
  for (uint32_t i = 0; i <= arguments->n; i++) {
    if (state->unchecked[i] == 0) continue;
    if (i < arguments->n)
      tj_log(TJ_LOG_WARNING,
             "kernel %s: %" PRIu64 " accesses through '%s' were not checked: it is a pointer "
             "without an extent; a DLPack tensor or a tj_buffer has one",
             function, state->unchecked[i], arguments->list[i].name);
    else
      tj_log(TJ_LOG_WARNING,
             "kernel %s: %" PRIu64 " accesses through pointers that come from memory, or from "
             "several arguments, were not checked: they are in no argument that has an extent",
             function, state->unchecked[i]);
  }
}
