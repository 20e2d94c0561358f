/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/numeric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu/sanitizer/arguments.h"

#define OPERANDS 3u

typedef struct birth {
  tj_cpu_event event;
  double result, operands[OPERANDS];
  uint32_t n;
} birth;

struct tj_cpu_numeric {
  birth *births; /* of the running program, and of those that take turns with it */
  uint32_t n, capacity;
};

tj_cpu_numeric *tj_cpu_numeric_new(void) { return calloc(1, sizeof(tj_cpu_numeric)); }

void tj_cpu_numeric_free(tj_cpu_numeric *numeric) {
  if (numeric == NULL) return;
  free(numeric->births);
  free(numeric);
}

static bool has_room(tj_cpu_numeric *numeric) {
  if (numeric->n < numeric->capacity) return true;
  if (numeric->capacity >= TJ_CPU_BIRTHS) return false;
  uint32_t capacity = numeric->capacity ? 2 * numeric->capacity : 64;
  birth *births = realloc(numeric->births, capacity * sizeof *births);
  if (births == NULL) return false;
  numeric->births = births;
  numeric->capacity = capacity;
  return true;
}

uint32_t tj_cpu_numeric_born(tj_cpu_numeric *numeric, const tj_cpu_event *event, double result,
                             const double *operands, uint32_t n) {
  if (!has_room(numeric)) return numeric->n ? numeric->n : 1;
  birth *made = &numeric->births[numeric->n++];
  made->event = *event;
  made->result = result;
  made->n = n < OPERANDS ? n : OPERANDS;
  for (uint32_t i = 0; i < made->n; i++) made->operands[i] = operands[i];
  return numeric->n;
}

static void value_words(double value, char *buffer, size_t capacity) {
  if (isnan(value))
    (void)snprintf(buffer, capacity, "NaN");
  else
    (void)snprintf(buffer, capacity, "%.9g", value);
}

void tj_cpu_numeric_escapes(const tj_cpu_numeric *numeric, tj_cpu_report *report,
                            const tj_cpu_event *event, uint32_t origin) {
  if (origin == 0 || origin > numeric->n) return;
  const birth *of = &numeric->births[origin - 1];
  const tj_cpu_site *site = of->event.site, *end = event->site;
  if (!tj_cpu_report_counts(report, site, end)) return;
  char result[32], operands[OPERANDS * 32 + 16] = "", who[256], who_end[256];
  value_words(of->result, result, sizeof result);
  size_t at = 0;
  for (uint32_t i = 0; i < of->n; i++) {
    char value[32];
    value_words(of->operands[i], value, sizeof value);
    at += (size_t)snprintf(operands + at, sizeof operands - at, "%s%s", i ? ", " : "(", value);
  }
  if (at) (void)snprintf(operands + at, sizeof operands - at, ")");
  tj_cpu_event_words(&of->event, who, sizeof who);
  tj_cpu_event_words(event, who_end, sizeof who_end);
  tj_cpu_report_say(report, TJ_E_KERNEL_NUMERIC,
                    "%s: %s%s gives %s, the first in this value's history, in %s%s%s\n"
                    "%s: %s writes it to memory in %s%s%s",
                    site->place, site->operation, operands, result, who,
                    *site->line ? "\n    " : "", site->line, end->place, end->operation, who_end,
                    *end->line ? "\n    " : "", end->line);
}

void tj_cpu_numeric_next_program(tj_cpu_numeric *numeric) { numeric->n = 0; }
