/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "bind/value.h"

static bool is_good_desc(const tj_key_item *item) {
  tj_key_desc desc = tj_key_desc_of(item);
  uint32_t log2_block = 0;
  for (int i = 0; i < TJ_DESC_MAX_RANK; i++) {
    log2_block += desc.log2_block[i];
    if (i >= item->aux && desc.log2_block[i] > 0) return false;
  }
  if (desc.reserved[0] || desc.reserved[1]) return false;
  return item->aux >= 1 && item->aux <= TJ_DESC_MAX_RANK && log2_block <= TJ_DESC_MAX_LOG2_BLOCK &&
         desc.n_flags <= TJ_DESC_MAX_FLAGS;
}

bool tj_key_next(tj_key_reader *reader, tj_key_item *out_item) {
  size_t left = (size_t)(reader->end - reader->at);
  if (left < 2) return false;
  tj_key_item item = {reader->at[0], reader->at[1], 0, reader->at + 2};
  left -= 2;
  size_t size = 0;
  switch (item.tag) {
  case TJ_KEY_INT:
  case TJ_KEY_UINT:
  case TJ_KEY_FLOAT: size = 8; break;
  case TJ_KEY_FUNCTION: size = 32; break;
  case TJ_KEY_STRING:
  case TJ_KEY_TUPLE:
    if (left < 4) return false;
    memcpy(&item.size, item.payload, 4);
    item.payload += 4;
    left -= 4;
    if (item.tag == TJ_KEY_STRING) size = item.size;
    break;
  default:
    if (item.tag > TJ_KEY_TUPLE) return false;
    if (tj_key_is_desc(&item)) size = sizeof(tj_key_desc);
    break;
  }
  if (left < size || (tj_key_is_desc(&item) && !is_good_desc(&item))) return false;
  reader->at = item.payload + size;
  *out_item = item;
  return true;
}

static int64_t payload_int(const tj_key_item *item) {
  int64_t value;
  memcpy(&value, item->payload, 8);
  return value;
}

static double payload_float(const tj_key_item *item) {
  double value;
  memcpy(&value, item->payload, 8);
  return value;
}

/* ---- arguments that stand for the class -------------------------------------------------- */

static const char *class_text(uint8_t class_) {
  return class_ == TJ_CLASS_16 ? "D" : class_ == TJ_CLASS_ONE ? "1" : "";
}

static cJSON *typed_value(const char *kind, const tj_key_item *item) {
  cJSON *value = tj_value_text(kind, tj_dtype_name(tj_key_dtype(item)));
  if (value && !cJSON_AddStringToObject(value, "class", class_text(item->aux))) {
    cJSON_Delete(value);
    return NULL;
  }
  return value;
}

/* A small integer of the class, for a parameter whose annotation gives the width. */
static cJSON *annotated_int(const tj_param *param, uint8_t class_) {
  switch (class_) {
  case TJ_CLASS_16: return tj_value_int(16);
  case TJ_CLASS_ONE: return tj_value_int(1);
  case TJ_CLASS_NONE:
    /* Specialised and yet without a class: it was a bool. */
    return param->specialize ? tj_value_bool(true) : tj_value_int(3);
  default: return tj_value_int(3);
  }
}

static cJSON *desc_value(const tj_key_item *item) {
  tj_key_desc desc = tj_key_desc_of(item);
  cJSON *value = tj_value_text("tensordesc", tj_dtype_name(tj_key_dtype(item)));
  cJSON *block = value ? cJSON_AddArrayToObject(value, "block") : NULL;
  bool ok = block != NULL;
  for (int i = 0; i < item->aux && ok; i++) {
    cJSON *size = cJSON_CreateNumber(1u << desc.log2_block[i]);
    ok = size && cJSON_AddItemToArray(block, size);
    if (!ok) cJSON_Delete(size);
  }
  if (ok) return value;
  cJSON_Delete(value);
  return NULL;
}

static cJSON *runtime_value(const tj_param *param, const tj_key_item *item) {
  if (tj_key_is_desc(item)) return desc_value(item);
  tj_dtype dtype = tj_key_dtype(item);
  bool aligned = item->aux == TJ_CLASS_16;
  if (tj_key_is_pointer(item)) {
    if (param->rule == TJ_RULE_POINTER && item->aux == TJ_CLASS_ONE) return tj_value_int(1);
    if (param->rule == TJ_RULE_POINTER && item->aux == TJ_CLASS_NONE && param->specialize)
      return tj_value_mark("none");
    return typed_value("ptr", item);
  }
  switch (param->rule) {
  case TJ_RULE_INT: return annotated_int(param, item->aux);
  case TJ_RULE_BOOL: return tj_value_bool(true);
  case TJ_RULE_FLOAT: return tj_value_float(0.5);
  case TJ_RULE_FP8: return typed_value("scalar", item);
  default: break;
  }
  bool one = item->aux == TJ_CLASS_ONE;
  switch (dtype) {
  case TJ_U1: return tj_value_bool(true);
  case TJ_FP32: return tj_value_float(0.5);
  case TJ_I32:
    if (!one) return tj_value_int(aligned ? 16 : 3);
    break;
  case TJ_I64:
    if (!one) return tj_value_int(aligned ? (int64_t)1 << 40 : ((int64_t)1 << 40) + 3);
    break;
  case TJ_U64:
    if (!one) return tj_value_uint(((uint64_t)1 << 63) + (aligned ? 0 : 3));
    break;
  default: break;
  }
  return typed_value("scalar", item);
}

static cJSON *item_value(const tj_param *param, const tj_key_item *item, tj_key_reader *reader,
                         tj_key_function_id function_id);

static cJSON *tuple_value(const tj_key_item *tuple, tj_key_reader *reader,
                          tj_key_function_id function_id) {
  cJSON *object = cJSON_CreateObject();
  cJSON *list = object ? cJSON_AddArrayToObject(object, "tuple") : NULL;
  bool ok = list != NULL;
  for (uint32_t i = 0; i < tuple->size && ok; i++) {
    tj_key_item item;
    cJSON *value = NULL;
    if (tj_key_next(reader, &item))
      value = item_value(&tj_param_of_element, &item, reader, function_id);
    ok = value && cJSON_AddItemToArray(list, value);
    if (!ok) cJSON_Delete(value);
  }
  if (ok) return object;
  cJSON_Delete(object);
  return NULL;
}

static cJSON *item_value(const tj_param *param, const tj_key_item *item, tj_key_reader *reader,
                         tj_key_function_id function_id) {
  if (tj_key_is_value(item)) return runtime_value(param, item);
  switch (item->tag) {
  case TJ_KEY_NONE: return tj_value_mark("none");
  case TJ_KEY_TRUE: return tj_value_bool(true);
  case TJ_KEY_FALSE: return tj_value_bool(false);
  case TJ_KEY_DEFAULT: return tj_value_mark("default");
  case TJ_KEY_INT: return tj_value_int(payload_int(item));
  case TJ_KEY_UINT: return tj_value_uint((uint64_t)payload_int(item));
  case TJ_KEY_FLOAT: return tj_value_float(payload_float(item));
  case TJ_KEY_STRING: return tj_value_string(item->payload, item->size);
  case TJ_KEY_DTYPE: return tj_value_text("dtype", tj_dtype_name(item->aux));
  case TJ_KEY_FUNCTION: {
    const char *id = function_id(item->payload);
    return id ? tj_value_text("function", id) : NULL;
  }
  case TJ_KEY_TUPLE: return tuple_value(item, reader, function_id);
  default: return NULL;
  }
}

cJSON *tj_key_arguments(const tj_signature *signature, const void *key, size_t size,
                        tj_key_function_id function_id) {
  tj_key_reader reader = tj_key_body(key, size);
  cJSON *list = cJSON_CreateArray();
  bool ok = list != NULL;
  for (uint32_t i = 0; i < signature->n_params && ok; i++) {
    tj_key_item item;
    cJSON *value = NULL;
    if (tj_key_next(&reader, &item))
      value = item_value(&signature->params[i], &item, &reader, function_id);
    ok = value && cJSON_AddItemToArray(list, value);
    if (!ok) cJSON_Delete(value);
  }
  if (ok) return list;
  cJSON_Delete(list);
  (void)tj_fail_memory();
  return NULL;
}

/* ---- in words ------------------------------------------------------------------------------ */

/* As Python writes it: a float is seen to be one, in every locale. */
static void describe_float(double value, tj_str *out) {
  char text[40];
  (void)snprintf(text, sizeof text, "%.17g", value);
  double back = strtod(text, NULL);
  for (int digits = 15; digits < 17; digits++) { /* as few digits as tell it from others */
    char shorter[40];
    (void)snprintf(shorter, sizeof shorter, "%.*g", digits, value);
    if (strtod(shorter, NULL) != back) continue;
    memcpy(text, shorter, sizeof text);
    break;
  }
  for (char *at = text; *at; at++)
    if (*at == ',') *at = '.';
  tj_str_printf(out, "%s%s", text, strspn(text, "-0123456789") == strlen(text) ? ".0" : "");
}

/* In quotes; a text may hold any bytes. */
static void describe_string(const uint8_t *bytes, uint32_t size, tj_str *out) {
  tj_str_add_text(out, "'");
  for (uint32_t i = 0; i < size; i++) {
    if (bytes[i] == '\'' || bytes[i] == '\\')
      tj_str_printf(out, "\\%c", bytes[i]);
    else if (bytes[i] < 32 || bytes[i] == 127)
      tj_str_printf(out, "\\x%02x", bytes[i]);
    else
      tj_str_add(out, &bytes[i], 1);
  }
  tj_str_add_text(out, "'");
}

/* As Triton's signature has it. */
static void describe_desc(const tj_key_item *item, tj_str *out) {
  tj_key_desc desc = tj_key_desc_of(item);
  tj_str_printf(out, "tensordesc<%s[", tj_dtype_name(tj_key_dtype(item)));
  for (int i = 0; i < item->aux; i++)
    tj_str_printf(out, "%s%u", i > 0 ? ", " : "", 1u << desc.log2_block[i]);
  tj_str_add_text(out, "]>");
}

static void describe_item(const tj_key_item *item, tj_key_reader *reader, tj_str *out) {
  if (tj_key_is_desc(item)) {
    describe_desc(item, out);
    return;
  }
  if (tj_key_is_value(item)) {
    const char *suffix = item->aux == TJ_CLASS_16 ? ":16" : item->aux == TJ_CLASS_ONE ? ":1" : "";
    tj_str_printf(out, "%s%s%s", tj_key_is_pointer(item) ? "*" : "",
                  tj_dtype_name(tj_key_dtype(item)), suffix);
    return;
  }
  switch (item->tag) {
  case TJ_KEY_NONE: tj_str_add_text(out, "None"); break;
  case TJ_KEY_TRUE: tj_str_add_text(out, "True"); break;
  case TJ_KEY_FALSE: tj_str_add_text(out, "False"); break;
  case TJ_KEY_DEFAULT: tj_str_add_text(out, "<default>"); break;
  case TJ_KEY_INT: tj_str_printf(out, "%" PRId64, payload_int(item)); break;
  case TJ_KEY_UINT: tj_str_printf(out, "%" PRIu64, (uint64_t)payload_int(item)); break;
  case TJ_KEY_FLOAT: describe_float(payload_float(item), out); break;
  case TJ_KEY_DTYPE: tj_str_add_text(out, tj_dtype_name(item->aux)); break;
  case TJ_KEY_STRING: describe_string(item->payload, item->size, out); break;
  case TJ_KEY_FUNCTION:
    tj_str_add_text(out, "<function ");
    for (int i = 0; i < 4; i++) tj_str_printf(out, "%02x", item->payload[i]);
    tj_str_add_text(out, ">");
    break;
  case TJ_KEY_TUPLE:
    tj_str_add_text(out, "(");
    for (uint32_t i = 0; i < item->size; i++) {
      tj_key_item inner;
      if (!tj_key_next(reader, &inner)) break;
      if (i > 0) tj_str_add_text(out, ", ");
      describe_item(&inner, reader, out);
    }
    tj_str_add_text(out, ")");
    break;
  default: tj_str_add_text(out, "?"); break;
  }
}

void tj_key_describe(const tj_signature *signature, const void *key, size_t size, tj_str *out) {
  tj_key_reader reader = tj_key_body(key, size);
  for (uint32_t i = 0; i < signature->n_params; i++) {
    tj_key_item item;
    if (!tj_key_next(&reader, &item)) break;
    tj_str_printf(out, "%s%s=", i > 0 ? " " : "", signature->params[i].name);
    describe_item(&item, &reader, out);
  }
}

/* ---- compare ----------------------------------------------------------------------------- */

/* One parameter's bytes, its tuple elements included. */
static bool skip(tj_key_reader *reader) {
  tj_key_item item;
  if (!tj_key_next(reader, &item)) return false;
  if (item.tag == TJ_KEY_TUPLE)
    for (uint32_t i = 0; i < item.size; i++)
      if (!skip(reader)) return false;
  return true;
}

int64_t tj_key_difference(const tj_signature *signature, const void *a, size_t a_size,
                          const void *b, size_t b_size) {
  tj_key_reader left = tj_key_body(a, a_size), right = tj_key_body(b, b_size);
  for (uint32_t i = 0; i < signature->n_params; i++) {
    const uint8_t *left_at = left.at, *right_at = right.at;
    if (!skip(&left) || !skip(&right)) return i;
    size_t n = (size_t)(left.at - left_at);
    if (n != (size_t)(right.at - right_at) || memcmp(left_at, right_at, n) != 0) return i;
  }
  return -1;
}
