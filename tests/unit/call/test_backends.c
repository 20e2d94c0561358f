/* SPDX-License-Identifier: Apache-2.0 */
/* The list of backends, and what the null backend says of itself through it. */
#include "unit.h"

static void test_list(void **state) {
  (void)state;
  uint32_t n = tj_backend_count();
  assert_true(n >= 2);
  bool null_seen = false, cpu_seen = false;
  for (uint32_t i = 0; i < n; i++) {
    tj_backend_info info = {.struct_size = sizeof info};
    assert_status(tj_backend_get_info(i, &info), TJ_OK);
    assert_non_null(info.name);
    assert_int_equal(info.available, *info.reason == 0);
    assert_true(info.available ? info.devices > 0 : info.devices == 0);
    if (strcmp(info.name, "null") == 0) {
      null_seen = true;
      assert_int_equal(info.devices, TJ_NULL_DEVICES);
    }
    if (strcmp(info.name, "cpu") == 0) {
      cpu_seen = true;
      assert_int_equal(info.devices, 1);
    }
  }
  assert_true(null_seen && cpu_seen);
}

static void test_bad_questions(void **state) {
  (void)state;
  tj_backend_info info = {.struct_size = sizeof info};
  assert_fails(tj_backend_get_info(tj_backend_count(), &info), TJ_E_INVALID, "index");
  assert_fails(tj_backend_get_info(UINT32_MAX, &info), TJ_E_INVALID, "4294967295");
  assert_fails(tj_backend_get_info(0, NULL), TJ_E_NULL, "out_info");
  info.struct_size = 8;
  assert_fails(tj_backend_get_info(0, &info), TJ_E_STRUCT_SIZE, "tj_backend_info");
  assert_fails(tj_stats_get(NULL), TJ_E_NULL, "out_stats");
  assert_fails(tj_function_get_stats(NULL, &(tj_stats)TJ_STATS_INIT), TJ_E_NULL, "fn");
  tj_stats stats = {.struct_size = 4};
  assert_fails(tj_stats_get(&stats), TJ_E_STRUCT_SIZE, "tj_stats");
}

/* Without a name it is the first that is present, and never one that must be asked for. */
static void test_default_backend(void **state) {
  (void)state;
  static const fake_function table[] = {{.name = "kernel", .params = FAKE_PARAM("x")}};
  fake_install(table, 1);
  tj_function *fn = NULL;
  assert_status(tj_function_get("default.py", "kernel", &fn), TJ_OK);
  tj_function_info info = {.struct_size = sizeof info};
  assert_status(tj_function_get_info(fn, &info), TJ_OK);
  assert_string_equal(info.backend, "cpu");
  fake_remove();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_bad_questions),
      cmocka_unit_test(test_default_backend),
  };
  return cmocka_run_group_tests_name("call.backends", tests, NULL, NULL);
}
