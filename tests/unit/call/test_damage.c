/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies of a compiler that may be anything: every one is a status with a message, and
 * the library works on as before.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static const fake_function table[] = {
    {.name = "kernel", .params = FAKE_PARAM("x") FAKE_NEXT FAKE_CONSTEXPR("B")},
    /* Described as they are. */
    {.name = "pointer", .params = FAKE_PARAM("p") FAKE_NEXT FAKE_CONSTEXPR("F")},
    {.name = "argument", .params = FAKE_PARAM("y")},
};

FAKE_FIXTURE(table)

static int64_t number;

/* A call that compiles, and a request that describes. */
static tj_status compile_one(void) {
  return call(open_function("kernel"), ARGS(tj_int(2), tj_int(++number)));
}

static tj_status describe_one(void) {
  char source[64];
  (void)snprintf(source, sizeof source, "damaged/%lld.py", (long long)++number);
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = source;
  desc.name = "kernel";
  desc.backend = "null";
  tj_function *fn = NULL;
  tj_status status = tj_function_get_ex(&desc, &fn);
  assert_true((fn != NULL) == (status == TJ_OK));
  return status;
}

/* ---- JSON replaced at a path ------------------------------------------------------------------- */

typedef struct edit {
  const char *op, *path, *value; /* path: names and indices with dots; value: JSON, NULL: remove */
} edit;

static void apply(void *user, const char *op, cJSON *reply) {
  const edit *e = user;
  if (strcmp(op, e->op) != 0) return;
  char path[128];
  (void)snprintf(path, sizeof path, "%s", e->path);
  cJSON *at = reply;
  char *rest = path, *part = strsep(&rest, ".");
  for (; rest; part = strsep(&rest, "."))
    at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(part, NULL, 10))
                           : cJSON_GetObjectItemCaseSensitive(at, part);
  assert_non_null(at);
  cJSON *value = e->value ? cJSON_Parse(e->value) : NULL;
  assert_true(value != NULL || e->value == NULL);
  if (cJSON_IsArray(at)) {
    cJSON_DeleteItemFromArray(at, (int)strtol(part, NULL, 10));
    if (value) cJSON_InsertItemInArray(at, (int)strtol(part, NULL, 10), value);
  } else {
    cJSON_DeleteItemFromObjectCaseSensitive(at, part);
    if (value) cJSON_AddItemToObject(at, part, value);
  }
}

static void check_edits(const edit *edits, size_t n, tj_status (*step)(void)) {
  for (size_t i = 0; i < n; i++) {
    edit e = edits[i];
    fake_callbacks callbacks = {.user = &e, .reply = apply};
    fake_set_callbacks(&callbacks);
    tj_status status = step();
    fake_set_callbacks(NULL);
    if (status == TJ_OK)
      fail_msg("%s: %s = %s was taken", e.op, e.path, e.value ? e.value : "(removed)");
    if (*tj_last_error() == 0) fail_msg("%s: %s: no message", e.op, e.path);
    assert_status(step(), TJ_OK);
  }
}

static void test_compile_fields(void **state) {
  (void)state;
  static const edit edits[] = {
      {"compile", "status", NULL},
      {"compile", "status", "null"},
      {"compile", "status", "5"},
      {"compile", "status", "\"\""},
      {"compile", "status", "\"ok\""},
      {"compile", "status", "\"E_NO_SUCH_STATUS\""},
      {"compile", "status", "\"NEED_SNAPSHOT\""},
      {"compile", "status", "{\"OK\":1}"},
      {"compile", "hash", NULL},
      {"compile", "hash", "7"},
      {"compile", "name", NULL},
      {"compile", "name", "[]"},
      {"compile", "ext", NULL},
      {"compile", "ext", "\"cubin\""},
      {"compile", "ext", "1"},
      {"compile", "metadata", NULL},
      {"compile", "metadata", "[]"},
      {"compile", "metadata", "\"text\""},
      {"compile", "metadata", "null"},
      {"compile", "types", NULL},
      {"compile", "types", "[]"},
      {"compile", "types", "[\"i64\"]"},
      {"compile", "types", "[\"i32\",\"i32\"]"},
      {"compile", "types", "[\"*i32\"]"},
      {"compile", "types", "[7]"},
      {"compile", "types", "\"i32\""},
      {"compile", "types", "[\"i32,\"]"},
      {"compile", "types", "[null]"},
      {"compile", "types", "{\"a\":\"i32\"}"},
      {"compile", "sections", NULL},
      {"compile", "sections", "[]"},
      {"compile", "sections", "{}"},
      {"compile", "sections", "5"},
      {"compile", "sections", "[5]"},
      {"compile", "sections", "[{}]"},
      {"compile", "sections.0.name", NULL},
      {"compile", "sections.0.name", "5"},
      {"compile", "sections.0.name", "\"other\""},
      {"compile", "sections.0.size", NULL},
      {"compile", "sections.0.size", "-1"},
      {"compile", "sections.0.size", "1.5"},
      {"compile", "sections.0.size", "1e300"},
      {"compile", "sections.0.size", "4294967296"},
      {"compile", "sections.0.size", "18446744073709551615"},
      {"compile", "sections.0.size", "\"8\""},
      {"compile", "sections.0.size", "18"},
      {"compile", "sections.1.size", "10"},
  };
  check_edits(edits, COUNT(edits), compile_one);
  assert_int_equal(stats_of(open_function("kernel")).failures, COUNT(edits));
}

/* Numbers of the metadata that are none are taken as not said: the launch is the driver's. */
static void test_metadata_numbers(void **state) {
  (void)state;
  static const char *const values[] = {"-1", "1e300", "1.5", "\"4\"", "null", "[]", "4294967296"};
  for (size_t i = 0; i < COUNT(values); i++) {
    edit e = {"compile", "metadata.num_warps", values[i]};
    fake_callbacks callbacks = {.user = &e, .reply = apply};
    fake_set_callbacks(&callbacks);
    tj_kernel *kernel = prepare_kernel(open_function("kernel"), ARGS(tj_int(2), tj_int(++number)));
    fake_set_callbacks(NULL);
    tj_kernel_info info = {.struct_size = sizeof info};
    assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
    assert_int_equal(info.num_warps, 1);
  }
}

static void test_record_fields(void **state) {
  (void)state;
  static const edit edits[] = {
      {"describe", "record", NULL},
      {"describe", "record", "null"},
      {"describe", "record", "5"},
      {"describe", "record", "[]"},
      {"describe", "record", "{}"},
      {"describe", "record.id", NULL},
      {"describe", "record.id", "5"},
      {"describe", "record.name", NULL},
      {"describe", "record.name", "null"},
      {"describe", "record.source", NULL},
      {"describe", "record.cache_key", NULL},
      {"describe", "record.cache_key", "{}"},
      {"describe", "record.triton", NULL},
      {"describe", "record.params", NULL},
      {"describe", "record.params", "5"},
      {"describe", "record.params", "{\"name\":\"x\"}"},
      {"describe", "record.params.0", "5"},
      {"describe", "record.params.0", "null"},
      {"describe", "record.params.0", "{}"},
      {"describe", "record.params.0", "{\"name\":5}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"*\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"*k\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"**fp32\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"fp7\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"void\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"type\":\"nvTmaDesc\"}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":5}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":[]}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"int\":5}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"float\":0.5}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"float\":\"0.5\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"float\":\"0x\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"float\":\"0x1\"}}"},
      {"describe", "record.params.0",
       "{\"name\":\"x\",\"default\":{\"float\":\"0x1p-2147483648\"}}"},
      {"describe", "record.params.0",
       "{\"name\":\"x\",\"default\":{\"float\":\"0x0.1p-2147483648\"}}"},
      {"describe", "record.params.0",
       "{\"name\":\"x\",\"default\":{\"float\":\"0x1p99999999999999999999\"}}"},
      {"describe", "record.params.0",
       "{\"name\":\"x\",\"default\":{\"float\":\"0x11111111111111111p0\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"str\":5}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"str\":\"6\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"str\":\"6g\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"str\":\" 6\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"str\":\"+6\"}}"},
      {"describe", "record.params.0", "{\"name\":\"x\",\"default\":{\"tuple\":5}}"},
      {"describe", "record.params.0",
       "{\"name\":\"x\",\"default\":{\"tuple\":[{\"str\":\"61\"},{\"tuple\":[5]}]}}"},
      {"describe", "record.files", "[5]"},
      {"describe", "record.files", "[{}]"},
      {"describe", "record.files", "[{\"path\":\"a\",\"mtime_ns\":\"1\"}]"},
      {"describe", "record.files", "[{\"path\":5,\"mtime_ns\":\"1\",\"inode\":\"1\"}]"},
      {"describe", "status", "\"NEED_SNAPSHOT\""},
      {"describe", "sections.0.size", "99999"},
      {"describe", "sections.0.name", "null"},
  };
  check_edits(edits, COUNT(edits), describe_one);
}

/* A default that nests deeper than any call may. */
static char deep_value[8192];
static void nest_default(int depth) {
  size_t at = (size_t)snprintf(deep_value, sizeof deep_value, "{\"name\":\"x\",\"default\":");
  for (int i = 0; i < depth; i++) at += (size_t)sprintf(deep_value + at, "{\"tuple\":[");
  at += (size_t)sprintf(deep_value + at, "{\"int\":\"5\"}");
  for (int i = 0; i < depth; i++) at += (size_t)sprintf(deep_value + at, "]}");
  (void)sprintf(deep_value + at, "}");
}

static void test_deep_defaults(void **state) {
  (void)state;
  static const int depths[] = {65, 100, 400};
  for (size_t i = 0; i < COUNT(depths); i++) {
    nest_default(depths[i]);
    const edit e = {"describe", "record.params.0", deep_value};
    check_edits(&e, 1, describe_one);
  }
}

/* ---- bytes ---------------------------------------------------------------------------------------- */

typedef struct damage {
  const char *op;
  uint64_t random;
  int kind; /* 0: cut at `at`; 1: one bit at `at`; 2: a run of random bytes; 3: `header` */
  size_t at;
  uint32_t header;
} damage;

static uint32_t next_random(damage *d) {
  d->random = d->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(d->random >> 33);
}

static void damage_bytes(void *user, const char *op, uint8_t **bytes, size_t *size) {
  damage *d = user;
  if (strcmp(op, d->op) != 0) return;
  if (d->kind == 0) {
    *size = d->at < *size ? d->at : *size;
    /* So that a sanitizer sees the end. */
    uint8_t *exact = malloc(*size ? *size : 1);
    memcpy(exact, *bytes, *size);
    free(*bytes);
    *bytes = exact;
  } else if (d->kind == 1) {
    if (d->at / 8 < *size) (*bytes)[d->at / 8] ^= (uint8_t)(1 << (d->at % 8));
  } else if (d->kind == 2) {
    for (uint32_t i = 0, n = 1 + next_random(d) % 8; i < n; i++)
      (*bytes)[next_random(d) % *size] = (uint8_t)next_random(d);
  } else {
    for (int i = 0; i < 4; i++) (*bytes)[i] = (uint8_t)(d->header >> (8 * i));
  }
}

/* Whatever comes of it, the next request is as good as ever. */
static void check_damage(damage d, tj_status (*step)(void), bool must_fail) {
  fake_callbacks callbacks = {.user = &d, .bytes = damage_bytes};
  fake_set_callbacks(&callbacks);
  tj_status status = step();
  fake_set_callbacks(NULL);
  if (must_fail && status == TJ_OK) fail_msg("kind %d at %zu was taken", d.kind, d.at);
  if (status != TJ_OK) assert_true(*tj_last_error() != 0);
}

static void test_cut_replies(void **state) {
  (void)state;
  for (size_t at = 0; at < 640; at++) {
    check_damage((damage){.op = "describe", .at = at}, describe_one, at < 200);
    check_damage((damage){.op = "compile", .at = at}, compile_one, at < 200);
  }
  assert_status(describe_one(), TJ_OK);
  assert_status(compile_one(), TJ_OK);
}

static void test_headers(void **state) {
  (void)state;
  static const uint32_t headers[] = {
      0, 1, 2, 0x7fffffff, 0x80000000, UINT32_MAX, UINT32_MAX - 3, 100000};
  for (size_t i = 0; i < COUNT(headers); i++) {
    check_damage((damage){.op = "describe", .kind = 3, .header = headers[i]}, describe_one, true);
    check_damage((damage){.op = "compile", .kind = 3, .header = headers[i]}, compile_one, true);
  }
}

static void test_flipped_bits(void **state) {
  (void)state;
  for (size_t at = 0; at < (size_t)8 * 640; at++) {
    check_damage((damage){.op = "compile", .kind = 1, .at = at}, compile_one, false);
    check_damage((damage){.op = "describe", .kind = 1, .at = at}, describe_one, false);
  }
  assert_status(compile_one(), TJ_OK);
}

static void test_random_bytes(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 3000; i++) {
    check_damage((damage){.op = "compile", .kind = 2, .random = i}, compile_one, false);
    check_damage((damage){.op = "describe", .kind = 2, .random = i}, describe_one, false);
  }
  assert_status(compile_one(), TJ_OK);
}

/* ---- snapshots -------------------------------------------------------------------------------------- */

/* A fresh worker asks for what it does not know, of functions among the arguments too. */
static void test_snapshots_are_sent(void **state) {
  (void)state;
  tj_function *pointer = open_function("pointer"), *kernel = open_function("argument");
  fake_forget();
  assert_status(call(pointer, ARGS(tj_ptr(NULL, TJ_FP32), tj_fn(kernel))), TJ_OK);
  assert_int_equal(fake_snapshots(), 2);
  assert_int_equal(fake_requests(), 3);
  assert_int_equal(fake_compiles(), 1);
  assert_status(call(pointer, ARGS(tj_ptr(NULL, TJ_I8), tj_fn(kernel))), TJ_OK);
  assert_int_equal(fake_snapshots(), 2);
}

static void ask_for(void *user, const char *op, cJSON *reply) {
  if (strcmp(op, "compile") != 0) return;
  cJSON_DeleteItemFromObjectCaseSensitive(reply, "status");
  cJSON_DeleteItemFromObjectCaseSensitive(reply, "id");
  cJSON_AddStringToObject(reply, "status", "NEED_SNAPSHOT");
  cJSON_AddStringToObject(reply, "id", user);
}

static void test_endless_asking(void **state) {
  (void)state;
  assert_status(compile_one(), TJ_OK);
  char *request = fake_last_request();
  cJSON *json = cJSON_Parse(request);
  char id[65];
  (void)snprintf(id, sizeof id, "%s",
                 cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "id")));
  cJSON_Delete(json);
  free(request);
  fake_callbacks callbacks = {.user = id, .reply = ask_for};
  fake_set_callbacks(&callbacks);
  uint64_t requests = fake_requests();
  assert_fails(compile_one(), TJ_E_INTERNAL, "again");
  assert_int_equal(fake_requests() - requests, 2);
  char unknown[] = "nobody's";
  callbacks.user = unknown;
  fake_set_callbacks(&callbacks);
  assert_fails(compile_one(), TJ_E_INTERNAL, "nobody's");
}

/* The compiler's own message and traceback arrive whole. */
static void test_messages(void **state) {
  (void)state;
  fake_fail("compile", "E_COMPILE", "file.py:3: %s%n 100%", 1);
  assert_fails(compile_one(), TJ_E_COMPILE, "file.py:3: %s%n 100%");
  edit e = {"compile", "traceback", "\"Traceback:\\n  here\""};
  fake_callbacks callbacks = {.user = &e, .reply = apply};
  fake_set_callbacks(&callbacks);
  fake_fail("compile", "E_COMPILE", "why", 1);
  assert_fails(compile_one(), TJ_E_COMPILE, "why\nTraceback:\n  here");
  e = (edit){"compile", "message", NULL};
  fake_fail("compile", "E_COMPILE", "why", 1);
  assert_fails(compile_one(), TJ_E_COMPILE, "no message");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_compile_fields, setup, teardown),
      cmocka_unit_test_setup_teardown(test_metadata_numbers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_record_fields, setup, teardown),
      cmocka_unit_test_setup_teardown(test_deep_defaults, setup, teardown),
      cmocka_unit_test_setup_teardown(test_cut_replies, setup, teardown),
      cmocka_unit_test_setup_teardown(test_headers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_flipped_bits, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_bytes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_snapshots_are_sent, setup, teardown),
      cmocka_unit_test_setup_teardown(test_endless_asking, setup, teardown),
      cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
  };
  return cmocka_run_group_tests_name("call.damage", tests, NULL, NULL);
}
