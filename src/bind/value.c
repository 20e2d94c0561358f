/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MAX_DEPTH 64

static tj_status bad_value(const char *what) {
  return tj_fail(TJ_E_INTERNAL, "the signature record is damaged: %s", what);
}

/* An integer beyond 64 bits has no C form. */
static tj_status read_int(const char *text, tj_arg *out_arg, bool *out_opaque) {
  if (text == NULL) return bad_value("an integer is no text");
  char *end = NULL;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno == 0 && end != text && *end == 0) {
    *out_arg = tj_int(value);
    return TJ_OK;
  }
  errno = 0;
  unsigned long long large = strtoull(text, &end, 10);
  if (errno == 0 && end != text && *end == 0 && *text != '-')
    *out_arg = tj_uint(large);
  else
    *out_opaque = true;
  return TJ_OK;
}

/* C99's hexadecimal form has no decimal point that a locale could change: digits after
   "0x1." are read by hand. */
static tj_status read_float(const char *text, tj_arg *out_arg) {
  if (text == NULL) return bad_value("a float is no text");
  bool negative = *text == '-';
  const char *at = text + negative;
  double value = 0;
  if (strcmp(at, "inf") == 0) {
    value = INFINITY;
  } else if (strcmp(at, "nan") == 0) {
    value = NAN;
  } else if (at[0] == '0' && at[1] == 'x') {
    uint64_t bits = 0;
    int exponent = 0;
    bool fraction = false;
    for (at += 2; *at && *at != 'p'; at++) {
      if (*at == '.') {
        fraction = true;
        continue;
      }
      const char *digits = "0123456789abcdef", *digit = strchr(digits, *at);
      if (digit == NULL || bits >> 60) return bad_value("a float has too many digits");
      bits = bits << 4 | (uint64_t)(digit - digits);
      if (fraction) exponent -= 4;
    }
    if (*at != 'p') return bad_value("a float has no exponent");
    long power = strtol(at + 1, NULL, 10);
    if (power < -4000 || power > 4000) return bad_value("a float has no exponent");
    value = ldexp((double)bits, exponent + (int)power);
  } else {
    return bad_value("a float is not in hexadecimal form");
  }
  *out_arg = tj_float(negative ? -value : value);
  return TJ_OK;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

static tj_status read_string(const char *hex, tj_arg *out_arg) {
  size_t digits = hex ? strlen(hex) : 1;
  if (digits % 2 || digits / 2 > UINT32_MAX) return bad_value("a string is not in hexadecimal");
  char *bytes = malloc(digits / 2 + 1);
  if (bytes == NULL) return tj_fail_memory();
  for (size_t i = 0; i < digits / 2; i++) {
    int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      free(bytes);
      return bad_value("a string is not in hexadecimal");
    }
    bytes[i] = (char)(high << 4 | low);
  }
  bytes[digits / 2] = 0;
  *out_arg = tj_string(bytes, (uint32_t)(digits / 2));
  return TJ_OK;
}

static tj_status read_value(const cJSON *value, tj_arg *out_arg, bool *out_opaque, int depth);

static tj_status read_tuple(const cJSON *list, tj_arg *out_arg, bool *out_opaque, int depth) {
  if (!cJSON_IsArray(list)) return bad_value("a tuple is no list");
  size_t n = (size_t)cJSON_GetArraySize(list);
  tj_arg *items = calloc(n + 1, sizeof *items);
  if (items == NULL) return tj_fail_memory();
  tj_arg tuple = tj_tuple(items, 0);
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    tj_status status = read_value(item, &items[tuple.aux], out_opaque, depth + 1);
    if (status != TJ_OK || *out_opaque) {
      while (tuple.aux > 0) tj_value_free(&items[--tuple.aux]);
      free(items);
      return status;
    }
    tuple.aux++;
  }
  *out_arg = tuple;
  return TJ_OK;
}

static tj_status read_value(const cJSON *value, tj_arg *out_arg, bool *out_opaque, int depth) {
  const cJSON *item = cJSON_IsObject(value) ? value->child : NULL;
  if (item == NULL || depth > MAX_DEPTH) return bad_value("a default is no value");
  const char *kind = item->string, *text = cJSON_GetStringValue(item);
  if (strcmp(kind, "none") == 0) {
    *out_arg = tj_none();
  } else if (strcmp(kind, "bool") == 0) {
    *out_arg = tj_bool(cJSON_IsTrue(item));
  } else if (strcmp(kind, "int") == 0) {
    return read_int(text, out_arg, out_opaque);
  } else if (strcmp(kind, "float") == 0) {
    return read_float(text, out_arg);
  } else if (strcmp(kind, "str") == 0) {
    return read_string(text, out_arg);
  } else if (strcmp(kind, "dtype") == 0) {
    tj_dtype dtype = tj_dtype_from_name(text);
    if (dtype == TJ_DTYPE_NONE)
      *out_opaque = true;
    else
      *out_arg = tj_type(dtype);
  } else if (strcmp(kind, "tuple") == 0) {
    return read_tuple(item, out_arg, out_opaque, depth);
  } else { /* "opaque", "function", or something newer */
    *out_opaque = true;
  }
  return TJ_OK;
}

tj_status tj_value_read(const cJSON *value, tj_arg *out_arg, bool *out_opaque) {
  *out_opaque = false;
  return read_value(value, out_arg, out_opaque, 0);
}

void tj_value_free(tj_arg *arg) {
  /* Only tj_value_read's own arguments come here: the memory is not const. */
  union {
    const void *obj;
    tj_arg *items;
    void *memory;
  } owned = {.obj = arg->v.obj};
  if (arg->kind == TJ_TUPLE)
    for (uint32_t i = 0; i < arg->aux; i++) tj_value_free(&owned.items[i]);
  if (arg->kind == TJ_TUPLE || arg->kind == TJ_STRING) free(owned.memory);
  *arg = tj_default();
}

/* Takes over `item`. */
static cJSON *wrap(const char *kind, cJSON *item) {
  cJSON *object = cJSON_CreateObject();
  if (item && object && cJSON_AddItemToObject(object, kind, item)) return object;
  cJSON_Delete(item);
  cJSON_Delete(object);
  return NULL;
}

cJSON *tj_value_text(const char *kind, const char *text) {
  return wrap(kind, cJSON_CreateString(text));
}

cJSON *tj_value_mark(const char *kind) { return wrap(kind, cJSON_CreateNumber(1)); }

cJSON *tj_value_bool(bool value) { return wrap("bool", cJSON_CreateBool(value)); }

cJSON *tj_value_int(int64_t value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%" PRId64, value);
  return tj_value_text("int", text);
}

cJSON *tj_value_uint(uint64_t value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%" PRIu64, value);
  return tj_value_text("int", text);
}

cJSON *tj_value_float(double value) {
  if (isnan(value)) return tj_value_text("float", "nan");
  if (isinf(value)) return tj_value_text("float", value > 0 ? "inf" : "-inf");
  /* An integer mantissa: no decimal point for a locale to change. */
  int exponent = 0;
  double mantissa = frexp(fabs(value), &exponent);
  char text[64];
  (void)snprintf(text, sizeof text, "%s0x%" PRIx64 "p%d", signbit(value) ? "-" : "",
                 (uint64_t)ldexp(mantissa, 53), value == 0 ? 0 : exponent - 53);
  return tj_value_text("float", text);
}

cJSON *tj_value_string(const void *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  const uint8_t *at = bytes;
  char *hex = malloc(2 * size + 1);
  if (hex == NULL) return NULL;
  for (size_t i = 0; i < size; i++) {
    hex[2 * i] = digits[at[i] >> 4];
    hex[2 * i + 1] = digits[at[i] & 15];
  }
  hex[2 * size] = 0;
  cJSON *value = tj_value_text("str", hex);
  free(hex);
  return value;
}
