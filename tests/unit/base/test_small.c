/* SPDX-License-Identifier: Apache-2.0 */
/* The small parts: strings, maps, dtypes, JSON fields, scratch memory, the log. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/scratch.h"
#include "base/str.h"
#include "bind/value.h"

static void test_strings(void **state) {
  (void)state;
  tj_str str = {0};
  assert_string_equal(tj_str_text(&str), "");
  for (int i = 0; i < 1000; i++) tj_str_printf(&str, "%d,", i);
  assert_int_equal(str.size, 10 + 90 * 2 + 900 * 3 + 1000);
  assert_int_equal(strlen(tj_str_text(&str)), str.size);
  tj_str_add(&str, "a\0b", 3);
  assert_memory_equal(str.data + str.size - 3, "a\0b", 4);
  tj_str_add(&str, NULL, 0);
  char *taken = tj_str_take(&str);
  assert_non_null(taken);
  assert_int_equal(str.size, 0);
  free(taken);
  taken = tj_str_take(&str); /* an empty one is a text too */
  assert_string_equal(taken, "");
  free(taken);
  tj_str_add(&str, "x", SIZE_MAX / 2); /* more than there is: remembered, nothing done */
  assert_true(str.failed);
  tj_str_add_text(&str, "more");
  assert_string_equal(tj_str_text(&str), "");
  assert_null(tj_str_take(&str));
}

static void test_maps(void **state) {
  (void)state;
  tj_map map = {0};
  static int values[2000];
  assert_null(tj_map_get(&map, "a", 1));
  for (int i = 0; i < 2000; i++) assert_true(tj_map_set(&map, &i, sizeof i, &values[i]));
  for (int i = 0; i < 2000; i++) assert_ptr_equal(tj_map_get(&map, &i, sizeof i), &values[i]);
  assert_int_equal(map.count, 2000);
  int missing = 2000;
  assert_null(tj_map_get(&map, &missing, sizeof missing));
  assert_null(tj_map_get(&map, "", 0));
  assert_true(tj_map_set(&map, "", 0, &values[7])); /* the empty key is one */
  assert_ptr_equal(tj_map_get(&map, "", 0), &values[7]);
  /* Keys are bytes with a size, and copied. */
  char key[] = "a\0b";
  assert_true(tj_map_set(&map, key, 3, &values[1]));
  assert_true(tj_map_set(&map, key, 1, &values[2]));
  key[2] = 'c';
  assert_ptr_equal(tj_map_get(&map, "a\0b", 3), &values[1]);
  assert_null(tj_map_get(&map, key, 3));
  assert_true(tj_map_set(&map, "a", 1, NULL)); /* replaced */
  assert_null(tj_map_get(&map, "a", 1));
  for (size_t i = 0; i < map.capacity; i++) free(map.slots[i].key);
  free(map.slots);
}

/* Names as Triton, tl and torch have them; sizes as in C. */
static void test_dtypes_R010(void **state) {
  (void)state;
  static const struct {
    tj_dtype dtype;
    const char *name;
    uint32_t size;
    const char *aliases[4];
  } rows[] = {
      {TJ_U1, "u1", 1, {"int1", "torch.bool", "tl.int1"}},
      {TJ_I8, "i8", 1, {"int8", "tl.int8", "torch.int8"}},
      {TJ_I16, "i16", 2, {"int16", "tl.int16"}},
      {TJ_I32, "i32", 4, {"int32", "tl.int32", "torch.int"}},
      {TJ_I64, "i64", 8, {"int64", "torch.int64"}},
      {TJ_U8, "u8", 1, {"uint8", "torch.uint8"}},
      {TJ_U16, "u16", 2, {"uint16"}},
      {TJ_U32, "u32", 4, {"uint32"}},
      {TJ_U64, "u64", 8, {"uint64"}},
      {TJ_FP16, "fp16", 2, {"float16", "half", "torch.float16"}},
      {TJ_BF16, "bf16", 2, {"bfloat16", "tl.bfloat16"}},
      {TJ_FP32, "fp32", 4, {"float32", "torch.float", "tl.float32"}},
      {TJ_FP64, "fp64", 8, {"float64", "double"}},
      {TJ_FP8E4NV, "fp8e4nv", 1, {"float8e4nv", "torch.float8_e4m3fn"}},
      {TJ_FP8E5, "fp8e5", 1, {"tl.float8e5", "torch.float8_e5m2"}},
      {TJ_FP8E4B8, "fp8e4b8", 1, {"float8e4b8", "torch.float8_e4m3fnuz"}},
      {TJ_FP8E5B16, "fp8e5b16", 1, {"float8e5b16", "torch.float8_e5m2fnuz"}},
      {TJ_FP8E4B15, "fp8e4b15", 1, {"float8e4b15"}},
      {TJ_VOID, "void", 0, {NULL}},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_int_equal(rows[i].dtype, i + 1); /* frozen */
    assert_string_equal(tj_dtype_name(rows[i].dtype), rows[i].name);
    assert_int_equal(tj_dtype_size(rows[i].dtype), rows[i].size);
    assert_int_equal(tj_dtype_from_name(rows[i].name), rows[i].dtype);
    for (int a = 0; a < 4 && rows[i].aliases[a]; a++)
      assert_int_equal(tj_dtype_from_name(rows[i].aliases[a]), rows[i].dtype);
  }
  static const char *const none[] = {"",      "f32", "fp",      "fp7",  "float8_e8m0fnu",  "FP16",
                                     "fp16 ", "?",   "complex", "*i32", "float4_e2m1fn_x2"};
  for (size_t i = 0; i < COUNT(none); i++)
    assert_int_equal(tj_dtype_from_name(none[i]), TJ_DTYPE_NONE);
  assert_int_equal(tj_dtype_from_name(NULL), TJ_DTYPE_NONE);
  static const tj_dtype bad[] = {0, 20, 255, 65535};
  for (size_t i = 0; i < COUNT(bad); i++) {
    assert_string_equal(tj_dtype_name(bad[i]), "?");
    assert_int_equal(tj_dtype_size(bad[i]), 0);
  }
}

static void test_json_numbers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t max, expected;
  } rows[] = {{"5", 10, 5},
              {"10", 10, 10},
              {"11", 10, 77},
              {"-1", 10, 77},
              {"0", 0, 0},
              {"1.5", 10, 77},
              {"1e2", 100, 100},
              {"1e400", UINT64_MAX, 77},
              {"\"5\"", 10, 77},
              {"null", 10, 77},
              {"9007199254740992", UINT64_MAX, 9007199254740992},
              {"9007199254740994", UINT64_MAX, 77},
              {"-0", 10, 0}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    char text[64];
    (void)snprintf(text, sizeof text, "{\"n\":%s}", rows[i].text);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    assert_true(tj_json_uint(json, "n", rows[i].max, 77) == rows[i].expected);
    assert_true(tj_json_uint(json, "other", rows[i].max, 77) == 77);
    cJSON_Delete(json);
  }
  assert_true(tj_json_uint(NULL, "n", 5, 77) == 77);
  assert_null(tj_json_text(NULL, "n"));
}

/* What is written is read back. */
static void check_value(cJSON *value, tj_arg expected) {
  tj_arg arg = tj_default();
  bool opaque = true;
  assert_non_null(value);
  assert_status(tj_value_read(value, &arg, &opaque), TJ_OK);
  assert_false(opaque);
  assert_int_equal(arg.kind, expected.kind);
  if (arg.kind == TJ_STRING) {
    assert_int_equal(arg.aux, expected.aux);
    if (arg.aux) assert_memory_equal(arg.v.obj, expected.v.obj, arg.aux);
  } else {
    assert_true(arg.v.u == expected.v.u);
  }
  tj_value_free(&arg);
  cJSON_Delete(value);
}

static void test_values(void **state) {
  (void)state;
  static const int64_t ints[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1ll << 53};
  for (size_t i = 0; i < COUNT(ints); i++) check_value(tj_value_int(ints[i]), tj_int(ints[i]));
  check_value(tj_value_uint(UINT64_MAX), tj_uint(UINT64_MAX));
  check_value(tj_value_uint(5), tj_int(5));
  static const double floats[] = {
      0.0,  -0.0, 1.0, 0.1, -1e300, 0x1p-1074, 0x1p-1060, 0x1p-1022, 0x1.fffffffffffffp+1023,
      1e-5, 3.0};
  for (size_t i = 0; i < COUNT(floats); i++)
    check_value(tj_value_float(floats[i]), tj_float(floats[i]));
  check_value(tj_value_bool(true), tj_bool(1));
  check_value(tj_value_bool(false), tj_bool(0));
  check_value(tj_value_mark("none"), tj_none());
  char bytes[256];
  for (int i = 0; i < 256; i++) bytes[i] = (char)i;
  check_value(tj_value_string(bytes, 256), tj_string(bytes, 256));
  check_value(tj_value_string(NULL, 0), tj_string(NULL, 0));
  /* What Python's float.hex writes. */
  static const struct {
    const char *text;
    double value;
  } hex[] = {{"0x1.8000000000000p+1", 3.0},
             {"-0x1.999999999999ap-4", -0.1},
             {"0x0.0p+0", 0.0},
             {"0x0.0000000000001p-1022", 0x1p-1074},
             {"0x1.fffffffffffffp+1023", 0x1.fffffffffffffp+1023}};
  for (size_t i = 0; i < COUNT(hex); i++)
    check_value(tj_value_text("float", hex[i].text), tj_float(hex[i].value));
}

static void test_scratch(void **state) {
  (void)state;
  for (int round = 0; round < 4; round++) {
    void *taken[6];
    static const size_t sizes[] = {1, 100, 5000, 16, 100000, 3};
    for (int i = 0; i < 6; i++) {
      taken[i] = tj_scratch_take(sizes[i]);
      assert_non_null(taken[i]);
      assert_int_equal((uintptr_t)taken[i] % 16, 0);
      memset(taken[i], i + 1, sizes[i]);
    }
    for (int i = 5; i >= 0; i--) {
      const uint8_t *bytes = taken[i];
      for (size_t b = 0; b < sizes[i]; b++) assert_int_equal(bytes[b], i + 1);
      tj_scratch_give(taken[i]);
    }
  }
  tj_scratch_give(NULL);
  assert_null(tj_scratch_take(SIZE_MAX));
  assert_null(tj_scratch_take(SIZE_MAX - 15));
}

/* ---- log ------------------------------------------------------------------------------------------- */

static struct {
  int n, level;
  char text[16][64];
  size_t longest;
} logged;

static void on_log(void *user, int level, const char *text) {
  assert_ptr_equal(user, &logged);
  logged.level = level;
  if (strlen(text) > logged.longest) logged.longest = strlen(text);
  if (logged.n < 16) (void)snprintf(logged.text[logged.n], 64, "%s", text);
  logged.n++;
}

static void test_log(void **state) {
  (void)state;
  tj_log(TJ_LOG_ERROR, "nobody hears it");
  assert_false(tj_log_wants(TJ_LOG_ERROR));
  tj_set_log(on_log, &logged, TJ_LOG_WARNING);
  assert_true(tj_log_wants(TJ_LOG_ERROR));
  assert_true(tj_log_wants(TJ_LOG_WARNING));
  assert_false(tj_log_wants(TJ_LOG_INFO));
  tj_log(TJ_LOG_INFO, "too quiet");
  assert_int_equal(logged.n, 0);
  tj_log(TJ_LOG_WARNING, "%d %s", 5, "words");
  assert_int_equal(logged.n, 1);
  assert_int_equal(logged.level, TJ_LOG_WARNING);
  assert_string_equal(logged.text[0], "5 words");
  /* One callback a line, none for an empty one. */
  static const char lines[] = "one\n\ntwo\nthree\n";
  tj_log_text(TJ_LOG_ERROR, lines, sizeof lines - 1);
  assert_int_equal(logged.n, 4);
  assert_string_equal(logged.text[1], "one");
  assert_string_equal(logged.text[3], "three");
  tj_log_text(TJ_LOG_ERROR, "not all", 3);
  assert_string_equal(logged.text[4], "not");
  static const size_t sizes[] = {510, 511, 512, 513, 5000};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    char *text = malloc(sizes[i] + 1);
    assert_non_null(text);
    memset(text, 'l', sizes[i]);
    text[sizes[i]] = 0;
    tj_log(TJ_LOG_ERROR, "%s", text);
    assert_int_equal(logged.longest, sizes[i]);
    free(text);
  }
  int before = logged.n;
  tj_set_log(NULL, NULL, 0);
  tj_log(TJ_LOG_ERROR, "gone");
  assert_int_equal(logged.n, before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strings),     cmocka_unit_test(test_maps),
      cmocka_unit_test(test_dtypes_R010), cmocka_unit_test(test_json_numbers),
      cmocka_unit_test(test_values),      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_log),
  };
  return cmocka_run_group_tests_name("base.small", tests, NULL, NULL);
}
