/* SPDX-License-Identifier: Apache-2.0 */
/* The error record: whole messages, one a thread, and what a status is called. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

static void test_statuses(void **state) {
  (void)state;
  static const tj_status statuses[] = {
#define VALUE(name, value, text) TJ_##name,
      TJ_STATUS_MAP(VALUE)
#undef VALUE
  };
  for (size_t i = 0; i < COUNT(statuses); i++) {
    assert_true(strncmp(tj_status_name(statuses[i]), "TJ_", 3) == 0);
    assert_true(strlen(tj_status_text(statuses[i])) > 3);
    for (size_t j = 0; j < i; j++) {
      assert_int_not_equal(statuses[i], statuses[j]);
      assert_string_not_equal(tj_status_name(statuses[i]), tj_status_name(statuses[j]));
    }
  }
  assert_string_equal(tj_status_name(TJ_OK), "TJ_OK");
  assert_string_equal(tj_status_name(TJ_E_COMPILE), "TJ_E_COMPILE");
  static const tj_status unknown[] = {-1, 9999, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < COUNT(unknown); i++) {
    assert_string_equal(tj_status_name(unknown[i]), "TJ_E_?");
    assert_true(strlen(tj_status_text(unknown[i])) > 3);
  }
}

/* Values that programs were compiled with. */
static void test_frozen_values(void **state) {
  (void)state;
  assert_int_equal(TJ_OK, 0);
  assert_int_equal(TJ_E_NULL, 1);
  assert_int_equal(TJ_E_TOO_FEW_ARGUMENTS, 20);
  assert_int_equal(TJ_E_NEEDS_CONFIG, 30);
  assert_int_equal(TJ_E_SOURCE_NOT_FOUND, 40);
  assert_int_equal(TJ_E_COMPILE, 60);
  assert_int_equal(TJ_E_NO_PYTHON, 80);
  assert_int_equal(TJ_E_UNKNOWN_BACKEND, 100);
  assert_int_equal(TJ_E_DEVICE_LOST, 108);
}

static void test_record(void **state) {
  (void)state;
  assert_int_equal(tj_fail(TJ_E_INVALID, "%s is %d", "it", 5), TJ_E_INVALID);
  assert_string_equal(tj_last_error(), "it is 5");
  assert_int_equal(tj_last_status(), TJ_E_INVALID);
  assert_int_equal(tj_fail(4242, "a plugin's own"), 4242);
  assert_int_equal(tj_last_status(), 4242);
  assert_int_equal(tj_fail_text(TJ_E_IO, "cut here", 3), TJ_E_IO);
  assert_string_equal(tj_last_error(), "cut");
  assert_int_equal(tj_fail_in(TJ_E_COMPILE, "%s: ", "kernel"), TJ_E_COMPILE);
  assert_string_equal(tj_last_error(), "kernel: cut");
  assert_int_equal(tj_fail_memory(), TJ_E_OUT_OF_MEMORY);
  assert_string_equal(tj_last_error(), "out of memory");
}

/* Tracebacks are long: none is cut, at whatever size. */
static void test_long_messages(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 254, 255, 256, 257, 510, 511, 512, 513, 600, 5000, 1 << 20};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    size_t n = sizes[i];
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'a', n);
    text[n] = 0;
    tj_fail(TJ_E_COMPILE, "%s", text);
    assert_string_equal(tj_last_error(), text);
    tj_fail_text(TJ_E_COMPILE, text, n);
    assert_string_equal(tj_last_error(), text);
    tj_fail_in(TJ_E_COMPILE, "head %d: ", 7);
    assert_int_equal(strlen(tj_last_error()), n + 8);
    assert_string_equal(tj_last_error() + 8, text);
    tj_fail_in(TJ_E_COMPILE, "%s", text);
    assert_int_equal(strlen(tj_last_error()), 2 * n + 8);
    free(text);
  }
}

static void *other_thread(void *user) {
  bool *fresh = user;
  *fresh = *tj_last_error() == 0 && tj_last_status() == TJ_OK;
  tj_fail(TJ_E_LAUNCH, "the other's");
  *fresh = *fresh && strcmp(tj_last_error(), "the other's") == 0;
  return NULL;
}

static void test_each_thread_has_its_own(void **state) {
  (void)state;
  tj_fail(TJ_E_LOAD, "mine");
  for (int i = 0; i < 20; i++) {
    bool fresh = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &fresh), 0);
    pthread_join(thread, NULL);
    assert_true(fresh);
  }
  assert_string_equal(tj_last_error(), "mine");
  assert_int_equal(tj_last_status(), TJ_E_LOAD);
}

static void test_deliver(void **state) {
  (void)state;
  char text[8] = "xxxxxxx";
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  tj_fail(TJ_E_LOAD, "0123456789");
  assert_int_equal(tj_deliver(NULL, TJ_E_LOAD), TJ_E_LOAD);
  assert_int_equal(tj_deliver(&error, TJ_OK), TJ_OK);
  assert_string_equal(text, "xxxxxxx");
  assert_int_equal(tj_deliver(&error, TJ_E_LOAD), TJ_E_LOAD);
  assert_string_equal(text, "0123456");
  assert_int_equal(error.length, 10);
  assert_int_equal(error.status, TJ_E_LOAD);
}

static void test_version(void **state) {
  (void)state;
  assert_int_equal(tj_version(), TJ_VERSION);
  assert_string_equal(tj_version_string(), "0.1.0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_statuses),
      cmocka_unit_test(test_frozen_values),
      cmocka_unit_test(test_record),
      cmocka_unit_test(test_long_messages),
      cmocka_unit_test(test_each_thread_has_its_own),
      cmocka_unit_test(test_deliver),
      cmocka_unit_test(test_version),
  };
  return cmocka_run_group_tests_name("base.error", tests, NULL, NULL);
}
