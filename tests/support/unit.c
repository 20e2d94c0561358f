/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <time.h>

void assert_status_(tj_status got, tj_status expected, const char *expression, const char *file,
                    int line) {
  if (got == expected) return;
  print_error("%s\n  is %s, expected %s\n  %s\n", expression, tj_status_name(got),
              tj_status_name(expected), got == TJ_OK ? "" : tj_last_error());
  _fail(file, line);
}

void assert_contains_(const char *text, const char *part, const char *file, int line) {
  if (text && strstr(text, part)) return;
  print_error("\"%s\"\n  lacks \"%s\"\n", text ? text : "(null)", part);
  _fail(file, line);
}

void assert_message_(const char *file, int line, const char *const *texts) {
  for (; *texts; texts++) assert_contains_(tj_last_error(), *texts, file, line);
}

tj_function *open_function(const char *name) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "kernels/fake.py";
  desc.name = name;
  desc.backend = "null";
  tj_function *fn = NULL;
  assert_status(tj_function_get_ex(&desc, &fn), TJ_OK);
  assert_non_null(fn);
  return fn;
}

tj_launch one_program(void) { return tj_launch_grid(1, 1, 1); }

tj_kernel *prepare_kernel(tj_function *fn, const tj_arg *args, size_t n_args) {
  tj_launch launch = one_program();
  tj_kernel *kernel = NULL;
  assert_status(tj_function_prepare(fn, &launch, args, n_args, &kernel), TJ_OK);
  assert_non_null(kernel);
  return kernel;
}

static tj_kernel_info info_of(tj_function *fn, const tj_arg *args, size_t n_args) {
  tj_kernel_info info = {.struct_size = sizeof info};
  assert_status(tj_kernel_get_info(prepare_kernel(fn, args, n_args), &info), TJ_OK);
  return info;
}

const char *variant_of(tj_function *fn, const tj_arg *args, size_t n_args) {
  return info_of(fn, args, n_args).variant;
}

const char *types_of(tj_function *fn, const tj_arg *args, size_t n_args) {
  return info_of(fn, args, n_args).types;
}

tj_status call(tj_function *fn, const tj_arg *args, size_t n_args) {
  tj_launch launch = one_program();
  return tj_function_call(fn, &launch, args, n_args);
}

uint32_t packed(tj_function *fn, const tj_arg *args, size_t n_args,
                uint8_t out[TJ_NULL_PARAMS_MAX]) {
  static tj_null_launch recorded[TJ_NULL_RING];
  tj_null_record(true);
  assert_status(call(fn, args, n_args), TJ_OK);
  uint64_t n = tj_null_launches(recorded, TJ_NULL_RING);
  tj_null_record(false);
  assert_true(n > 0);
  const tj_null_launch *last = &recorded[n < TJ_NULL_RING ? n - 1 : TJ_NULL_RING - 1];
  memcpy(out, last->params, TJ_NULL_PARAMS_MAX);
  return last->params_size;
}

tj_stats stats_of(tj_function *fn) {
  tj_stats stats = TJ_STATS_INIT;
  assert_status(tj_function_get_stats(fn, &stats), TJ_OK);
  return stats;
}

tj_stats stats_of_process(void) {
  tj_stats stats = TJ_STATS_INIT;
  assert_status(tj_stats_get(&stats), TJ_OK);
  return stats;
}

uint64_t test_milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void test_pause(void) {
  struct timespec t = {0, 100000};
  nanosleep(&t, NULL);
}
