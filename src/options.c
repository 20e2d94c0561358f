/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/lock.h"
#include "base/map.h"
#include "triton_jit/function.h"

#define MAX_OPTIONS 1000
#define MAX_SETS (1u << 20)

/* Under TJ_LOCK_OPTIONS; entries never change once they are in. */
static tj_map ids; /* canonical text -> index + 1 */
static cJSON **sets;
static uint32_t n_sets, sets_capacity;

static tj_status bad_value(const char *name) {
  return tj_fail(
      TJ_E_OPTION_VALUE,
      "option '%s': its value must be none, a bool, an integer, a finite float, a string "
      "without a 0 byte, or a tuple of these",
      name);
}

static cJSON *number(const char *format, ...) TJ_PRINTF(1, 2);
static cJSON *number(const char *format, ...) {
  char text[40];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  for (char *at = text; *at; at++)
    if (*at == ',') *at = '.'; /* a locale's decimal point */
  return cJSON_CreateRaw(text);
}

/* Python tells 1.0 from 1, so a float keeps a sign of being one: from 1e17 on %.17g has an
   exponent. */
static cJSON *float_json(double value) {
  bool whole = value == floor(value) && fabs(value) < 1e17;
  return whole ? number("%.1f", value) : number("%.17g", value);
}

static tj_status option_json(const char *name, const tj_arg *value, int depth, cJSON **out) {
  cJSON *json = NULL;
  switch (value->kind) {
  case TJ_NONE: json = cJSON_CreateNull(); break;
  case TJ_BOOL: json = cJSON_CreateBool(value->v.i != 0); break;
  case TJ_INT: json = number("%" PRId64, value->v.i); break;
  case TJ_UINT: json = number("%" PRIu64, value->v.u); break;
  case TJ_FLOAT:
    if (!isfinite(value->v.f)) return bad_value(name);
    json = float_json(value->v.f);
    break;
  case TJ_SCALAR:
    if (tj_dtype_is_signed(value->dtype))
      json = number("%" PRId64, value->v.i);
    else if (tj_dtype_is_unsigned(value->dtype))
      json = number("%" PRIu64, value->v.u);
    else
      return bad_value(name);
    break;
  case TJ_STRING: {
    bool whole = value->aux == 0 || (value->v.obj && !memchr(value->v.obj, 0, value->aux));
    if (!whole) return bad_value(name); /* JSON's texts end at a 0 here */
    char *text = value->aux ? strndup(value->v.obj, value->aux) : strdup("");
    if (text) json = cJSON_CreateString(text);
    free(text);
    break;
  }
  case TJ_TUPLE: {
    const tj_arg *items = value->v.obj;
    if (depth > 8 || (items == NULL && value->aux)) return bad_value(name);
    json = cJSON_CreateArray();
    for (uint32_t i = 0; i < value->aux && json; i++) {
      cJSON *item = NULL;
      tj_status status = option_json(name, &items[i], depth + 1, &item);
      if (status != TJ_OK) {
        cJSON_Delete(json);
        return status;
      }
      cJSON_AddItemToArray(json, item);
    }
    break;
  }
  default: return bad_value(name);
  }
  if (json == NULL) return tj_fail_memory();
  *out = json;
  return TJ_OK;
}

static tj_status check_name(const char *name, const cJSON *set) {
  if (name == NULL || *name == 0) return tj_fail(TJ_E_OPTION_VALUE, "an option has no name");
  static const char *const fields[] = {"num_warps", "num_stages", "num_ctas"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (strcmp(name, fields[i]) == 0)
      return tj_fail(TJ_E_OPTION_VALUE, "option '%s' is a field of tj_launch: set it there", name);
  if (cJSON_GetObjectItemCaseSensitive(set, name))
    return tj_fail(TJ_E_OPTION_VALUE, "option '%s' is given twice", name);
  return TJ_OK;
}

static int by_name(const void *a, const void *b) {
  const tj_option *const *left = a, *const *right = b;
  const char *l = (*left)->name ? (*left)->name : "", *r = (*right)->name ? (*right)->name : "";
  return strcmp(l, r);
}

static tj_status build_set(const tj_option *options, size_t n, cJSON **out_set) {
  const tj_option *sorted[MAX_OPTIONS];
  for (size_t i = 0; i < n; i++) sorted[i] = &options[i];
  qsort(sorted, n, sizeof *sorted, by_name);
  cJSON *set = cJSON_CreateObject();
  tj_status status = set ? TJ_OK : tj_fail_memory();
  for (size_t i = 0; i < n && status == TJ_OK; i++) {
    cJSON *value = NULL;
    status = check_name(sorted[i]->name, set);
    if (status == TJ_OK) status = option_json(sorted[i]->name, &sorted[i]->value, 0, &value);
    if (status == TJ_OK && !cJSON_AddItemToObject(set, sorted[i]->name, value)) {
      cJSON_Delete(value);
      status = tj_fail_memory();
    }
  }
  if (status == TJ_OK)
    *out_set = set;
  else
    cJSON_Delete(set);
  return status;
}

static bool grow(void) {
  if (n_sets < sets_capacity) return true;
  uint32_t capacity = sets_capacity ? sets_capacity * 2 : 16;
  cJSON **bigger = n_sets < MAX_SETS ? realloc(sets, capacity * sizeof *sets) : NULL;
  if (bigger == NULL) return false;
  sets = bigger;
  sets_capacity = capacity;
  return true;
}

/* Takes over `set`. */
static tj_status intern(cJSON *set, const char *text, uint32_t *out_id) {
  tj_lock_acquire(TJ_LOCK_OPTIONS);
  uintptr_t id = (uintptr_t)tj_map_get(&ids, text, strlen(text));
  bool ok = id != 0;
  if (!ok && grow()) {
    /* Ids are small numbers kept in the map's pointers. */
    union {
      uintptr_t number;
      void *pointer;
    } next = {.number = n_sets + 1u};
    ok = tj_map_set(&ids, text, strlen(text), next.pointer);
    if (ok) {
      id = next.number;
      sets[n_sets++] = set;
      set = NULL;
    }
  }
  tj_lock_release(TJ_LOCK_OPTIONS);
  cJSON_Delete(set);
  if (!ok) return tj_fail_memory();
  *out_id = (uint32_t)id;
  return TJ_OK;
}

static tj_status intern_options(const tj_option *options, size_t n, uint32_t *out_id) {
  cJSON *set = NULL;
  tj_status status = build_set(options, n, &set);
  if (status != TJ_OK) return status;
  char *text = cJSON_PrintUnformatted(set);
  if (text == NULL) {
    cJSON_Delete(set);
    return tj_fail_memory();
  }
  status = intern(set, text, out_id);
  cJSON_free(text);
  return status;
}

tj_status tj_options_intern(const tj_option *options, size_t n, uint32_t *out_id) {
  if (out_id == NULL) return tj_fail_null("tj_options_intern", "out_id");
  if (n == 0) {
    *out_id = 0;
    return TJ_OK;
  }
  if (options == NULL) return tj_fail_null("tj_options_intern", "options");
  if (n > MAX_OPTIONS)
    return tj_fail(TJ_E_OPTION_VALUE, "%zu options; at most %d make sense", n, MAX_OPTIONS);
  fenv_t host;
  tj_float_mode_enter(&host);
  tj_status status = intern_options(options, n, out_id);
  tj_float_mode_leave(&host);
  return status;
}

const cJSON *tj_options_json(uint32_t id) {
  tj_lock_acquire(TJ_LOCK_OPTIONS);
  const cJSON *set = id > 0 && id <= n_sets ? sets[id - 1] : NULL;
  tj_lock_release(TJ_LOCK_OPTIONS);
  return set;
}
