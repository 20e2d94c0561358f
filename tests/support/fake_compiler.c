/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_compiler.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/compiler.h"
#include "triton_jit/sys/backend.h"

#define FOREVER UINT32_MAX

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything but the counts */
static const fake_function *functions;
static size_t n_functions;
static fake_callbacks callbacks;
static struct {
  char op[16], status[40], message[512];
  uint32_t times;
} fault;
static tj_status death;
static uint32_t deaths;
static char *last_request;
static bool *known; /* by function: its snapshot is here */

static _Atomic uint32_t delay;
static _Atomic uint64_t describes, requests, compiles, busy, snapshots;

/* ---- control --------------------------------------------------------------------------------- */

void fake_delay(uint32_t milliseconds) { atomic_store(&delay, milliseconds); }
uint64_t fake_describes(void) { return atomic_load(&describes); }
uint64_t fake_requests(void) { return atomic_load(&requests); }
uint64_t fake_compiles(void) { return atomic_load(&compiles); }
uint64_t fake_busy(void) { return atomic_load(&busy); }
uint64_t fake_snapshots(void) { return atomic_load(&snapshots); }

void fake_fail(const char *op, const char *status, const char *message, uint32_t times) {
  pthread_mutex_lock(&lock);
  (void)snprintf(fault.op, sizeof fault.op, "%s", op);
  (void)snprintf(fault.status, sizeof fault.status, "%s", status);
  (void)snprintf(fault.message, sizeof fault.message, "%s", message);
  fault.times = times;
  pthread_mutex_unlock(&lock);
}

void fake_die(tj_status status, uint32_t times) {
  pthread_mutex_lock(&lock);
  death = status;
  deaths = times;
  pthread_mutex_unlock(&lock);
}

void fake_forget(void) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < n_functions; i++) known[i] = false;
  pthread_mutex_unlock(&lock);
}

void fake_set_callbacks(const fake_callbacks *wanted) {
  pthread_mutex_lock(&lock);
  callbacks = wanted ? *wanted : (fake_callbacks){0};
  pthread_mutex_unlock(&lock);
}

char *fake_last_request(void) {
  pthread_mutex_lock(&lock);
  char *copy = last_request ? strdup(last_request) : NULL;
  pthread_mutex_unlock(&lock);
  return copy;
}

static void nap(uint32_t milliseconds) {
  struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
  while (milliseconds > 0 && nanosleep(&time, &time) != 0) {
  }
}

/* ---- records --------------------------------------------------------------------------------- */

/* 64 hexadecimal digits made from texts: FNV-1a, mixed on. */
static void digest(const char *salt, const fake_function *f, char out[65]) {
  uint64_t hash = 14695981039346656037u;
  const char *texts[] = {salt, f->name, f->params, f->version ? f->version : ""};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (const char *at = texts[i]; *at; at++) hash = (hash ^ (uint8_t)*at) * 1099511628211u;
  for (int i = 0; i < 4; i++) {
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    (void)snprintf(out + (size_t)16 * (size_t)i, 17, "%016" PRIx64, hash);
  }
}

/* [items], with ' for ". */
static cJSON *array_of(const char *items) {
  size_t n = items ? strlen(items) : 0;
  char *text = malloc(n + 3);
  if (text == NULL) return NULL;
  text[0] = '[';
  for (size_t i = 0; i < n; i++) text[i + 1] = items[i] == '\'' ? '"' : items[i];
  memcpy(text + n + 1, "]", 2);
  cJSON *array = cJSON_Parse(text);
  if (array == NULL) (void)fprintf(stderr, "fake compiler: does not parse: %s\n", text);
  free(text);
  return array;
}

static int index_of_name(const char *name) {
  for (size_t i = 0; name && i < n_functions; i++)
    if (strcmp(functions[i].name, name) == 0) return (int)i;
  return -1;
}

static int index_of_id(const char *id) {
  for (size_t i = 0; id && i < n_functions; i++) {
    char own[65];
    digest("id", &functions[i], own);
    if (strcmp(own, id) == 0) return (int)i;
  }
  return -1;
}

/* The snapshot of a function is this text. */
static void snapshot_text(const fake_function *f, char out[128]) {
  (void)snprintf(out, 128, "snapshot of %s %s", f->name, f->version ? f->version : "");
}

static const char *text_of(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static cJSON *error_reply(const char *status, const char *message) {
  cJSON *reply = cJSON_CreateObject();
  cJSON_AddNumberToObject(reply, "v", 1);
  cJSON_AddStringToObject(reply, "status", status);
  cJSON_AddStringToObject(reply, "message", message);
  return reply;
}

static void add_section(cJSON *reply, const char *name, const char *text) {
  cJSON *list = cJSON_GetObjectItemCaseSensitive(reply, "sections");
  if (list == NULL) list = cJSON_AddArrayToObject(reply, "sections");
  cJSON *item = cJSON_CreateObject();
  cJSON_AddStringToObject(item, "name", name);
  cJSON_AddNumberToObject(item, "size", (double)strlen(text));
  cJSON_AddItemToArray(list, item);
}

static const char *triton_of(const fake_function *f) { return f->triton ? f->triton : "3.6.0"; }

/* Of a tensor descriptor: 3.4 brought it, 3.5 the padding, 3.7 the rounding. Negative: none. */
static int descriptor_flags(const fake_function *f) {
  int minor = triton_of(f)[2] - '0';
  return minor < 4 ? -1 : minor < 5 ? 0 : minor < 7 ? 1 : 2;
}

static cJSON *describe(const cJSON *request, char sections[1024]) {
  pthread_mutex_lock(&lock);
  int i = index_of_name(text_of(request, "name"));
  if (i >= 0) known[i] = true;
  pthread_mutex_unlock(&lock);
  if (i < 0) return error_reply("E_KERNEL_NOT_FOUND", "the fake compiler has no such kernel");
  const fake_function *f = &functions[i];
  char id[65], cache_key[65];
  digest("id", f, id);
  digest("cache_key", f, cache_key);
  cJSON *record = cJSON_CreateObject();
  cJSON_AddStringToObject(record, "id", id);
  cJSON_AddStringToObject(record, "name", f->name);
  cJSON_AddStringToObject(record, "source", text_of(request, "source"));
  cJSON_AddStringToObject(record, "cache_key", cache_key);
  cJSON_AddStringToObject(record, "triton", triton_of(f));
  if (descriptor_flags(f) >= 0)
    cJSON_AddNumberToObject(record, "descriptor_flags", descriptor_flags(f));
  cJSON_AddItemToObject(record, "params", array_of(f->params));
  cJSON_AddItemToObject(record, "tuned", array_of(f->tuned));
  cJSON_AddItemToObject(record, "files", array_of(f->files));
  cJSON *reply = cJSON_CreateObject();
  cJSON_AddNumberToObject(reply, "v", 1);
  cJSON_AddStringToObject(reply, "status", "OK");
  cJSON_AddItemToObject(reply, "record", record);
  char snapshot[128];
  snapshot_text(f, snapshot);
  add_section(reply, "snapshot", snapshot);
  (void)snprintf(sections, 1024, "%s", snapshot);
  return reply;
}

/* ---- run-time types, by Triton's rules --------------------------------------------------------- */

static bool starts(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static void add_type(cJSON *types, const char *prefix, const char *name) {
  char text[64];
  (void)snprintf(text, sizeof text, "%s%s", prefix, name);
  cJSON_AddItemToArray(types, cJSON_CreateString(text));
}

/* Decimal text of any size. */
static const char *int_type(const char *text) {
  bool negative = *text == '-';
  char *end;
  unsigned long long magnitude = strtoull(text + negative, &end, 10);
  if (negative) return magnitude <= 1ull << 31 ? "i32" : "i64";
  if (magnitude < 1ull << 31) return "i32";
  return magnitude < 1ull << 63 ? "i64" : "u64";
}

static void add_times(cJSON *types, int n, const char *name) {
  for (int i = 0; i < n; i++) add_type(types, "", name);
}

/* Base, shape, strides, flags; shape and strides for the kernel's own use. */
static void add_descriptor(const fake_function *f, const cJSON *value, cJSON *types) {
  int rank = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(value, "block"));
  add_type(types, "*", text_of(value, "tensordesc"));
  add_times(types, 2 * rank, "i64");
  add_times(types, descriptor_flags(f), "u1");
  add_times(types, rank, "i32");
  add_times(types, rank, "i64");
}

static void add_types(const fake_function *f, const cJSON *param, const cJSON *value,
                      cJSON *types) {
  const cJSON *item = value->child;
  const char *kind = item->string, *annotation = text_of(param, "type");
  bool specialize = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(param, "specialize"));
  if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(param, "constexpr"))) return;
  if (strcmp(kind, "tuple") == 0) {
    const cJSON *inner;
    cJSON_ArrayForEach(inner, item) add_types(f, NULL, inner, types);
  } else if (annotation && !starts(kind, "default")) {
    add_type(types, "", annotation); /* it decides, whatever came */
  } else if (strcmp(kind, "int") == 0) {
    if (strcmp(item->valuestring, "1") != 0 || !specialize)
      add_type(types, "", int_type(item->valuestring));
  } else if (strcmp(kind, "float") == 0) {
    add_type(types, "", "fp32");
  } else if (strcmp(kind, "bool") == 0) {
    add_type(types, "", "u1");
  } else if (strcmp(kind, "ptr") == 0) {
    add_type(types, "*", item->valuestring);
  } else if (strcmp(kind, "scalar") == 0) {
    add_type(types, "", item->valuestring);
  } else if (strcmp(kind, "tensordesc") == 0) {
    add_descriptor(f, value, types);
  }
}

/* ---- compiles ----------------------------------------------------------------------------------- */

/* Whether the request brings the right snapshot of function `i`. */
static bool brings_snapshot(const cJSON *request, const uint8_t *bytes, size_t size, int i) {
  char id[65], wanted[128], name[80];
  digest("id", &functions[i], id);
  snapshot_text(&functions[i], wanted);
  (void)snprintf(name, sizeof name, "snapshot:%s", id);
  size_t at = 0;
  const cJSON *section;
  cJSON_ArrayForEach(section, cJSON_GetObjectItemCaseSensitive(request, "sections")) {
    size_t n = (size_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(section, "size"));
    if (at + n > size) return false;
    if (strcmp(text_of(section, "name"), name) == 0)
      return n == strlen(wanted) && memcmp(bytes + at, wanted, n) == 0;
    at += n;
  }
  return false;
}

/* Whether function `id` is known by now. */
static bool knows(const char *id, const cJSON *request, const uint8_t *bytes, size_t size) {
  pthread_mutex_lock(&lock);
  int i = index_of_id(id);
  if (i >= 0 && !known[i] && brings_snapshot(request, bytes, size, i)) {
    known[i] = true;
    atomic_fetch_add(&snapshots, 1);
  }
  bool yes = i >= 0 && known[i];
  pthread_mutex_unlock(&lock);
  return yes;
}

static cJSON *need(const char *id) {
  cJSON *reply = cJSON_CreateObject();
  cJSON_AddStringToObject(reply, "status", "NEED_SNAPSHOT");
  cJSON_AddStringToObject(reply, "id", id);
  return reply;
}

static double option(const cJSON *request, const char *name, double otherwise) {
  const cJSON *options = cJSON_GetObjectItemCaseSensitive(request, "options");
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(options, name);
  return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static cJSON *artifact(const cJSON *request, const fake_function *f, char sections[1024]) {
  cJSON *reply = cJSON_CreateObject(), *metadata = cJSON_CreateObject();
  cJSON *params = array_of(f->params), *types = cJSON_CreateArray();
  const cJSON *args = cJSON_GetObjectItemCaseSensitive(request, "args"), *param;
  const cJSON *arg = args ? args->child : NULL;
  cJSON_ArrayForEach(param, params) {
    if (arg == NULL) break;
    add_types(f, param, arg, types);
    arg = arg->next;
  }
  cJSON_Delete(params);
  char *text = cJSON_PrintUnformatted(request);
  char hash[65];
  fake_function as_text = {.name = f->name, .params = text};
  digest("hash", &as_text, hash);
  free(text);
  cJSON_AddNumberToObject(metadata, "num_warps", option(request, "num_warps", 4));
  cJSON_AddNumberToObject(metadata, "num_stages", option(request, "num_stages", 3));
  cJSON_AddNumberToObject(metadata, "num_ctas", option(request, "num_ctas", 1));
  cJSON_AddNumberToObject(metadata, "shared", option(request, "shared", 0));
  cJSON_AddStringToObject(metadata, "name", f->name);
  cJSON_AddItemToObject(metadata, "target",
                        cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(request, "target"), true));
  cJSON_AddStringToObject(reply, "status", "OK");
  cJSON_AddStringToObject(reply, "hash", hash);
  cJSON_AddStringToObject(reply, "ext", "bin");
  cJSON_AddStringToObject(reply, "name", f->name);
  cJSON_AddItemToObject(reply, "metadata", metadata);
  cJSON_AddItemToObject(reply, "types", types);
  add_section(reply, "bin", "artifact");
  add_section(reply, "ttir", "module {}");
  (void)snprintf(sections, 1024, "artifactmodule {}");
  return reply;
}

static cJSON *compile(const cJSON *request, const uint8_t *bytes, size_t size,
                      char sections[1024]) {
  pthread_mutex_lock(&lock);
  fake_callbacks told = callbacks;
  free(last_request);
  last_request = cJSON_PrintUnformatted(request);
  pthread_mutex_unlock(&lock);
  atomic_fetch_add(&requests, 1);
  const char *id = text_of(request, "id");
  pthread_mutex_lock(&lock);
  int i = index_of_id(id);
  pthread_mutex_unlock(&lock);
  if (i < 0) return error_reply("E_INTERNAL", "the fake compiler never gave that id");
  if (!knows(id, request, bytes, size)) return need(id);
  const cJSON *arg;
  cJSON_ArrayForEach(arg, cJSON_GetObjectItemCaseSensitive(request, "args")) {
    const char *function = text_of(arg, "function");
    if (function && !knows(function, request, bytes, size)) return need(function);
  }
  atomic_fetch_add(&busy, 1);
  if (told.compile) told.compile(told.user, request);
  nap(atomic_load(&delay));
  atomic_fetch_sub(&busy, 1);
  return artifact(request, &functions[i], sections);
}

/* ---- the interface ------------------------------------------------------------------------------- */

static cJSON *faulty_reply(const char *op) {
  cJSON *reply = NULL;
  pthread_mutex_lock(&lock);
  if (fault.times > 0 && strcmp(fault.op, op) == 0) {
    if (fault.times != FOREVER) fault.times--;
    reply = error_reply(fault.status, fault.message);
  }
  pthread_mutex_unlock(&lock);
  return reply;
}

static tj_status dies(void) {
  pthread_mutex_lock(&lock);
  bool now = deaths > 0;
  tj_status status = death;
  if (now && deaths != FOREVER) deaths--;
  pthread_mutex_unlock(&lock);
  return now ? tj_fail(status, "the fake compiler was told to die") : TJ_OK;
}

static void encode(const cJSON *reply, const char *sections, uint8_t **out_bytes,
                   size_t *out_size) {
  char *text = cJSON_PrintUnformatted(reply);
  size_t n = strlen(text), more = strlen(sections);
  uint8_t *bytes = malloc(4 + n + more + 1);
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(n >> (8 * i));
  memcpy(bytes + 4, text, n);
  memcpy(bytes + 4 + n, sections, more);
  free(text);
  *out_bytes = bytes;
  *out_size = 4 + n + more;
}

static tj_status handle(const void *request, size_t size, void **out_reply, size_t *out_size) {
  tj_status status = dies();
  if (status != TJ_OK) return status;
  const uint8_t *bytes = request;
  if (size < 4) return tj_fail(TJ_E_INTERNAL, "fake compiler: a request without a header");
  size_t n = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
  cJSON *json = n <= size - 4 ? cJSON_ParseWithLength((const char *)bytes + 4, n) : NULL;
  const char *op = text_of(json, "op");
  if (op == NULL) {
    cJSON_Delete(json);
    return tj_fail(TJ_E_INTERNAL, "fake compiler: a request without an op");
  }
  char sections[1024] = "";
  bool is_compile = strcmp(op, "compile") == 0;
  if (!is_compile) atomic_fetch_add(&describes, 1);
  cJSON *reply = faulty_reply(op);
  bool faulty = reply != NULL;
  if (faulty && is_compile) {
    atomic_fetch_add(&requests, 1);
    atomic_fetch_add(&busy, 1);
    nap(atomic_load(&delay));
    atomic_fetch_sub(&busy, 1);
  }
  if (reply == NULL)
    reply = is_compile ? compile(json, bytes + 4 + n, size - 4 - n, sections)
                       : describe(json, sections);
  if (is_compile && !faulty && cJSON_GetObjectItemCaseSensitive(reply, "hash"))
    atomic_fetch_add(&compiles, 1);
  pthread_mutex_lock(&lock);
  fake_callbacks told = callbacks;
  pthread_mutex_unlock(&lock);
  uint8_t *encoded = NULL;
  if (told.reply) told.reply(told.user, op, reply);
  encode(reply, sections, &encoded, out_size);
  if (told.bytes) told.bytes(told.user, op, &encoded, out_size);
  *out_reply = encoded;
  cJSON_Delete(reply);
  cJSON_Delete(json);
  return TJ_OK;
}

const tj_compiler fake_compiler = {"fake", handle};

void fake_install(const fake_function *table, size_t n) {
  pthread_mutex_lock(&lock);
  functions = table;
  n_functions = n;
  free(known);
  known = calloc(n ? n : 1, sizeof *known);
  for (size_t i = 0; known && i < n; i++) known[i] = true;
  callbacks = (fake_callbacks){0};
  fault.times = deaths = 0;
  free(last_request);
  last_request = NULL;
  pthread_mutex_unlock(&lock);
  atomic_store(&delay, 0);
  atomic_store(&describes, 0);
  atomic_store(&requests, 0);
  atomic_store(&compiles, 0);
  atomic_store(&snapshots, 0);
  tj_compiler_replace(&fake_compiler);
}

void fake_remove(void) {
  tj_compiler_replace(NULL);
  fake_set_callbacks(NULL);
  pthread_mutex_lock(&lock);
  n_functions = 0;
  free(known);
  known = NULL;
  free(last_request);
  last_request = NULL;
  pthread_mutex_unlock(&lock);
}
