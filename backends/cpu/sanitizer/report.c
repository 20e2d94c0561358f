/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

void tj_cpu_report_begin(tj_cpu_report *report, const char *function) {
  report->function = function;
  report->status = TJ_OK;
  report->findings = 0;
  report->n_places = 0;
  report->elsewhere = false;
  report->text[0] = 0;
}

bool tj_cpu_report_counts(tj_cpu_report *report, const tj_cpu_site *one, const tj_cpu_site *other) {
  report->findings++;
  for (uint32_t i = 0; i < report->n_places; i++)
    if (report->places[i].one == one && report->places[i].other == other) return false;
  if (report->n_places == TJ_CPU_PLACES) {
    report->elsewhere = true;
    return false;
  }
  report->places[report->n_places].one = one;
  report->places[report->n_places].other = other;
  report->n_places++;
  return true;
}

void tj_cpu_report_say(tj_cpu_report *report, tj_status status, const char *format, ...) {
  char text[sizeof report->text];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  tj_log(TJ_LOG_ERROR, "kernel %s: %s", report->function, text);
  if (report->status != TJ_OK) return;
  report->status = status;
  (void)snprintf(report->text, sizeof report->text, "%s", text);
}

tj_status tj_cpu_report_end(const tj_cpu_report *report) {
  if (report->findings <= 1)
    return tj_fail(report->status, "kernel %s: %s", report->function, report->text);
  return tj_fail(report->status,
                 "kernel %s: %s\n(the first of %" PRIu64 " findings, at %s%u place%s; the first "
                 "at each goes to the log)",
                 report->function, report->text, report->findings,
                 report->elsewhere ? "more than " : "", report->n_places,
                 report->n_places == 1 ? "" : "s");
}
