/* SPDX-License-Identifier: Apache-2.0 */
/* Option sets: equal ones have one id, others have their own, and they arrive as given. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const fake_function table[] = {{.name = "kernel", .params = FAKE_PARAM("x")}};

FAKE_FIXTURE(table)

static uint32_t id_of(const tj_option *options, size_t n) {
  uint32_t id = 0;
  assert_status(tj_options_intern(options, n, &id), TJ_OK);
  return id;
}

static void test_identity(void **state) {
  (void)state;
  const tj_option a = {"maxnreg", tj_int(64)}, b = {"fast", tj_bool(1)}, c = {"name", tj_none()};
  const tj_option sets[][3] = {{a, b, c}, {c, b, a}, {b, c, a}, {b, a, c}};
  uint32_t id = id_of(sets[0], 3);
  assert_true(id != 0);
  for (size_t i = 0; i < COUNT(sets); i++) assert_int_equal(id_of(sets[i], 3), id);
  assert_int_not_equal(id_of(sets[0], 2), id);
  assert_int_equal(id_of(NULL, 0), 0);
  /* Nothing is read after it returns. */
  char name[] = "maxnreg";
  const tj_option own = {name, tj_int(64)};
  uint32_t of_a = id_of(&a, 1);
  assert_int_equal(id_of(&own, 1), of_a);
  name[0] = 'x';
  assert_int_equal(id_of(&a, 1), of_a);
}

/* R031: whatever looks alike is another set. */
static void test_no_collisions_R031(void **state) {
  (void)state;
  const tj_arg pair[] = {tj_int(1), tj_int(2)}, swapped[] = {tj_int(2), tj_int(1)};
  const tj_option values[] = {
      {"a", tj_int(1)},
      {"a", tj_int(0)},
      {"a", tj_bool(1)},
      {"a", tj_bool(0)},
      {"a", tj_float(1.0)},
      {"a", tj_float(0.0)},
      {"a", tj_none()},
      {"a", tj_string("1", 1)},
      {"a", tj_string("", 0)},
      {"a", tj_string("1;b=2", 5)},
      {"a", tj_string("1,\"b\":2", 7)},
      {"a", tj_string("true", 4)},
      {"a", tj_string("null", 4)},
      {"a", tj_string("\"", 1)},
      {"a", tj_string("\\", 1)},
      {"a", tj_string("\n", 1)},
      {"a", tj_int(INT64_MAX)},
      {"a", tj_uint(UINT64_MAX)},
      {"a", tj_float(1e15)},
      {"a", tj_int(1000000000000000)},
      {"a", tj_float(2e16)},
      {"a", tj_int(20000000000000000)},
      {"a", tj_float(0.1)},
      {"a", tj_float(1e300)},
      {"a", tj_tuple(pair, 2)},
      {"a", tj_tuple(swapped, 2)},
      {"a", tj_tuple(pair, 1)},
      {"a", tj_tuple(NULL, 0)},
      {"b", tj_int(1)},
      {"a\":1,\"b", tj_int(1)},
      {"A", tj_int(1)},
  };
  uint32_t ids[COUNT(values)];
  for (size_t i = 0; i < COUNT(values); i++) {
    ids[i] = id_of(&values[i], 1);
    assert_int_equal(id_of(&values[i], 1), ids[i]);
    for (size_t j = 0; j < i; j++)
      if (ids[i] == ids[j]) fail_msg("sets %zu and %zu are one", i, j);
  }
  const tj_option joined[] = {{"a", tj_string("1;b=2", 5)}};
  const tj_option apart[] = {{"a", tj_string("1", 1)}, {"b", tj_string("2", 1)}};
  assert_int_not_equal(id_of(joined, 1), id_of(apart, 2));
  /* The same number by another maker is the same. */
  const tj_option by_width = {"a", tj_i32(1)};
  assert_int_equal(id_of(&by_width, 1), ids[0]);
}

static void test_arrive_as_given(void **state) {
  (void)state;
  const tj_arg items[] = {tj_string("x", 1), tj_int(2), tj_none(), tj_float(0.5)};
  const tj_option options[] = {
      {"b", tj_bool(0)},         {"f", tj_float(3.0)},       {"g", tj_float(2e16)},
      {"i", tj_int(-5)},         {"n", tj_none()},           {"s", tj_string("a\"b\\\n", 5)},
      {"t", tj_tuple(items, 4)}, {"u", tj_uint(UINT64_MAX)}, {"w", tj_u8(255)}};
  tj_launch launch = one_program();
  launch.options = id_of(options, COUNT(options));
  launch.num_warps = 8;
  const tj_arg arg = tj_int(2);
  assert_status(tj_function_call(open_function("kernel"), &launch, &arg, 1), TJ_OK);
  char *request = fake_last_request();
  cJSON *json = cJSON_Parse(request);
  const cJSON *given = cJSON_GetObjectItemCaseSensitive(json, "options");
  assert_int_equal(cJSON_GetArraySize(given), 10);
  assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(given, "b")));
  assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(given, "n")));
  assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(given, "s")),
                      "a\"b\\\n");
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(given, "t")), 4);
  assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(given, "num_warps")), 8);
  cJSON_Delete(json);
  free(request);
}

static void test_refused(void **state) {
  (void)state;
  uint32_t id = 77;
  const tj_option good = {"a", tj_int(1)}, twice[] = {good, {"b", tj_int(1)}, good};
  assert_fails(tj_options_intern(&good, 1, NULL), TJ_E_NULL, "out_id");
  assert_fails(tj_options_intern(NULL, 1, &id), TJ_E_NULL, "options");
  assert_fails(tj_options_intern(twice, 3, &id), TJ_E_OPTION_VALUE, "'a'", "twice");
  assert_fails(tj_options_intern(&good, 1001, &id), TJ_E_OPTION_VALUE, "1001", "1000");
  static const char *const fields[] = {"num_warps", "num_stages", "num_ctas"};
  for (size_t i = 0; i < COUNT(fields); i++) {
    const tj_option field = {fields[i], tj_int(4)};
    assert_fails(tj_options_intern(&field, 1, &id), TJ_E_OPTION_VALUE, fields[i], "tj_launch");
  }
  const tj_option unnamed = {NULL, tj_int(1)}, empty = {"", tj_int(1)};
  assert_fails(tj_options_intern(&unnamed, 1, &id), TJ_E_OPTION_VALUE, "no name");
  assert_fails(tj_options_intern(&empty, 1, &id), TJ_E_OPTION_VALUE, "no name");
  tj_arg self = tj_tuple(&self, 1);
  const tj_arg bad[] = {tj_ptr(NULL, TJ_FP32), tj_type(TJ_FP16),      tj_default(),
                        tj_float(INFINITY),    tj_float((double)NAN), tj_spec(TJ_I32, 0),
                        tj_tuple(NULL, 2),     tj_f16(1.0),           self,
                        tj_string("a\0b", 3),  tj_string(NULL, 3),    tj_keyword(0, &self)};
  for (size_t i = 0; i < COUNT(bad); i++) {
    const tj_option option = {"a", bad[i]};
    tj_status status = tj_options_intern(&option, 1, &id);
    if (status == TJ_OK) fail_msg("value %zu was taken", i);
    assert_int_equal(status, TJ_E_OPTION_VALUE);
    assert_message("option 'a'");
  }
  assert_int_equal(id, 77);
}

static void test_many(void **state) {
  (void)state;
  uint32_t first = 0;
  for (int64_t i = 0; i < 500; i++) {
    const tj_option option = {"number", tj_int(i)};
    uint32_t id = id_of(&option, 1);
    if (i == 0) first = id;
    assert_int_equal(id, first + i);
  }
  tj_option *large = calloc(1000, sizeof *large);
  char(*names)[16] = calloc(1000, sizeof *names);
  for (int i = 0; i < 1000; i++) {
    (void)snprintf(names[i], 16, "option%d", i);
    large[i] = (tj_option){names[i], tj_int(i)};
  }
  assert_true(id_of(large, 1000) != 0);
  free(large);
  free(names);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_collisions_R031, setup, teardown),
      cmocka_unit_test_setup_teardown(test_arrive_as_given, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many, setup, teardown),
  };
  return cmocka_run_group_tests_name("call.options", tests, NULL, NULL);
}
