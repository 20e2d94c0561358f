/* SPDX-License-Identifier: Apache-2.0 */
/* Where errors are delivered: the thread's record, or the caller's own. */
#include "calls.h"

static tj_function *copy, *checked;
static int32_t out;

static void setup(void) {
  copy = find_kernel("elementwise", "copy");
  checked = find_kernel("language", "checked");
  CHECK(copy && checked && copies(copy, 64, 64, 0));
}

/* Fails to compile, with a long message. */
static tj_status call_badly(tj_error *error) {
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.error = error;
  tj_arg args[] = {tj_ptr(&out, TJ_I32), tj_int(6)};
  return tj_function_call(checked, &launch, args, COUNT(args));
}

static void into_the_callers_buffer(void) {
  setup();
  static char large[65536], small[40];
  tj_error error = TJ_ERROR_INIT(large, sizeof large);
  for (int remembered = 0; remembered < 2; remembered++) {
    memset(large, 'x', sizeof large);
    CHECK(call_badly(&error) == TJ_E_COMPILE && error.status == TJ_E_COMPILE);
    CHECK(error.text == large && error.capacity == sizeof large && error.length == strlen(large));
    CHECK_CONTAINS(large, "multiple of four");
  }
  tj_error cut = TJ_ERROR_INIT(small, sizeof small);
  CHECK(call_badly(&cut) == TJ_E_COMPILE);
  CHECK(cut.length == error.length && strlen(small) == sizeof small - 1);
  CHECK(memcmp(small, large, sizeof small - 1) == 0);
  tj_error none = TJ_ERROR_INIT(NULL, 0);
  CHECK(call_badly(&none) == TJ_E_COMPILE);
  CHECK(none.status == TJ_E_COMPILE && none.length == error.length);
}

static void success_leaves_records_alone(void) {
  setup();
  char text[32] = "as it was";
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.error = &error;
  tj_arg args[] = {tj_ptr(&out, TJ_I32), tj_int(8)};
  CHECK(call_badly(NULL) == TJ_E_COMPILE);
  static char before[65536];
  (void)snprintf(before, sizeof before, "%s", tj_last_error());
  CHECK(tj_last_status() == TJ_E_COMPILE && before[0]);
  CHECK(tj_function_call(checked, &launch, args, COUNT(args)) == TJ_OK && out == 8);
  CHECK(strcmp(text, "as it was") == 0 && error.status == TJ_OK);
  CHECK(tj_last_status() == TJ_E_COMPILE && strcmp(tj_last_error(), before) == 0);
}

/* A task that moves: the call fails on one thread, its error is read on another. */
static void *fail_elsewhere(void *error) {
  CHECK(call_badly(error) == TJ_E_COMPILE);
  return NULL;
}

static void *fail_for_this_thread(void *unused) {
  (void)unused;
  CHECK(tj_last_status() == TJ_OK && tj_last_error()[0] == 0);
  tj_launch launch = TJ_LAUNCH_INIT;
  CHECK(tj_function_call(copy, &launch, NULL, 0) == TJ_E_TOO_FEW_ARGUMENTS);
  CHECK(tj_last_status() == TJ_E_TOO_FEW_ARGUMENTS);
  return NULL;
}

static void records_belong_to_threads(void) {
  setup();
  pthread_t thread;
  static char text[65536];
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, &error) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(error.status == TJ_E_COMPILE);
  CHECK_CONTAINS(text, "multiple of four");
  CHECK(tj_last_status() == TJ_OK);
  CHECK(call_badly(NULL) == TJ_E_COMPILE);
  CHECK(pthread_create(&thread, NULL, fail_for_this_thread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(tj_last_status() == TJ_E_COMPILE);
}

static void of_functions_and_kernels(void) {
  setup();
  static char text[65536];
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "/nowhere/at/all.py";
  desc.name = "kernel";
  desc.backend = "cpu";
  desc.error = &error;
  tj_function *untouched = copy;
  CHECK(tj_function_get_ex(&desc, &untouched) == TJ_E_SOURCE_NOT_FOUND && untouched == copy);
  CHECK(error.status == TJ_E_SOURCE_NOT_FOUND);
  CHECK_CONTAINS(text, "/nowhere/at/all.py");

  tj_launch launch = TJ_LAUNCH_INIT;
  launch.error = &error;
  tj_arg args[] = {tj_spec_ptr(TJ_FP32, 1), tj_spec_ptr(TJ_FP32, 1), tj_spec(TJ_I32, 1),
                   tj_int(64)};
  tj_kernel *kernel = NULL;
  CHECK(tj_function_prepare(copy, &launch, args, COUNT(args), &kernel) == TJ_OK);
  tj_arg others[] = {tj_ptr(&out, TJ_I32), tj_ptr(&out, TJ_I32), tj_int(16), tj_int(64)};
  CHECK(tj_kernel_launch(kernel, &launch, others, COUNT(others)) == TJ_E_VARIANT);
  CHECK(error.status == TJ_E_VARIANT);
  CHECK_CONTAINS(text, "'x'");
}

#define SCENARIOS(X)              \
  X(into_the_callers_buffer)      \
  X(success_leaves_records_alone) \
  X(records_belong_to_threads)    \
  X(of_functions_and_kernels)

SCENARIOS(SCENARIO_TEST)

int main(void) {
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
