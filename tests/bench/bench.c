/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <cjson/cJSON.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define MAX_BATCHES 1000

static cJSON *report;

bench_options bench_parse(int argc, char **argv) {
  bench_options options = {.only = -1};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--smoke") == 0) {
      options.smoke = true;
    } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
      options.json = argv[++i];
    } else if (strcmp(argv[i], "--only") == 0 && i + 2 < argc) {
      options.only = strtol(argv[++i], NULL, 10);
      options.runs = strtoull(argv[++i], NULL, 10);
    } else {
      fprintf(stderr, "usage: %s [--smoke] [--json FILE] [--only CASE RUNS]\n", argv[0]);
      exit(2);
    }
  }
  return options;
}

/* A counter of this thread's instructions in user mode; -1 where the kernel or the machine
   has none. */
static int open_counter(void) {
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                 .size = sizeof attr,
                                 .config = PERF_COUNT_HW_INSTRUCTIONS,
                                 .disabled = 1,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double count_instructions(const bench_case *c, uint64_t n) {
  int counter = open_counter();
  if (counter < 0) return -1;
  uint64_t count = 0;
  ioctl(counter, PERF_EVENT_IOC_RESET, 0);
  ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
  c->run(c->user, n);
  ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
  bool ok = read(counter, &count, sizeof count) == (ssize_t)sizeof count && count > 0;
  close(counter);
  return ok ? (double)count / (double)n : -1;
}

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

void bench_time(bench_case *cases, size_t n_cases, uint64_t n, unsigned batches) {
  if (batches > MAX_BATCHES) batches = MAX_BATCHES;
  double *times = malloc(n_cases * batches * sizeof *times);
  if (times == NULL) exit(1);
  for (size_t i = 0; i < n_cases; i++) cases[i].run(cases[i].user, n); /* warm */
  for (unsigned batch = 0; batch < batches; batch++) {
    for (size_t i = 0; i < n_cases; i++) {
      uint64_t begin = tj_now();
      cases[i].run(cases[i].user, n);
      times[i * batches + batch] = (double)(tj_now() - begin) / (double)n;
    }
  }
  for (size_t i = 0; i < n_cases; i++) {
    double *own = times + i * batches;
    qsort(own, batches, sizeof *own, by_value);
    cases[i].median_ns = own[batches / 2];
    cases[i].low_ns = own[batches / 10];
    cases[i].high_ns = own[batches - 1 - batches / 10];
    cases[i].instructions = count_instructions(&cases[i], n);
  }
  free(times);
}

void bench_report(const char *name, double value, const char *unit) {
  if (report == NULL) report = cJSON_CreateArray();
  cJSON *item = cJSON_CreateObject();
  if (report == NULL || item == NULL || !cJSON_AddStringToObject(item, "name", name) ||
      !cJSON_AddNumberToObject(item, "value", value) ||
      !cJSON_AddStringToObject(item, "unit", unit) || !cJSON_AddItemToArray(report, item)) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
}

int bench_finish(const bench_options *options) {
  int status = 0;
  if (options->json) {
    char *text = cJSON_Print(report);
    FILE *file = fopen(options->json, "w");
    if (text == NULL || file == NULL || fputs(text, file) < 0 || fputc('\n', file) < 0) {
      perror(options->json);
      status = 1;
    }
    if (file && fclose(file) != 0) status = 1;
    free(text);
  }
  cJSON_Delete(report);
  report = NULL;
  return status;
}
