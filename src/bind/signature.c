/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/signature.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "bind/key.h"
#include "bind/value.h"

#define MAX_PARAMS 4096

const tj_param tj_param_of_element = {.rule = TJ_RULE_PLAIN,
                                      .specialize = 1,
                                      .classes = {TJ_CLASS_PLAIN, TJ_CLASS_16},
                                      .name = "",
                                      .type_text = ""};

static bool is_true(const cJSON *object, const char *name, bool otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

static tj_status bad_record(const char *what) {
  return tj_fail(TJ_E_INTERNAL, "the signature record is damaged: %s", what);
}

/* "i64", "*fp32", "*kfp32" -> rule and dtype. */
static tj_status read_type(tj_param *param) {
  const char *text = param->type_text;
  bool pointer = *text == '*';
  if (pointer) text += text[1] == 'k' ? 2 : 1;
  param->type = tj_dtype_from_name(text);
  if (param->type == TJ_DTYPE_NONE || (param->type == TJ_VOID && !pointer))
    return tj_fail(TJ_E_UNSUPPORTED_ARGUMENT,
                   "parameter '%s' is annotated with the type '%s', which this library does not "
                   "know",
                   param->name, param->type_text);
  if (pointer)
    param->rule = TJ_RULE_POINTER;
  else if (tj_dtype_is_int(param->type))
    param->rule = TJ_RULE_INT;
  else if (param->type == TJ_U1)
    param->rule = TJ_RULE_BOOL;
  else if (tj_dtype_is_fp8(param->type))
    param->rule = TJ_RULE_FP8;
  else
    param->rule = TJ_RULE_FLOAT;
  return TJ_OK;
}

static tj_status read_default(const cJSON *item, tj_param *param) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "default");
  if (value == NULL || cJSON_IsNull(value)) return TJ_OK;
  param->flags |= TJ_PARAM_DEFAULT;
  bool opaque = false;
  tj_status status = tj_value_read(value, &param->default_value, &opaque);
  if (status != TJ_OK) return status;
  param->default_kind = opaque ? TJ_DEFAULT_OPAQUE : TJ_DEFAULT_VALUE;
  return TJ_OK;
}

static tj_status read_param(const cJSON *item, tj_param *param) {
  param->name = tj_json_text(item, "name");
  if (param->name == NULL) return bad_record("a parameter has no name");
  const char *type = tj_json_text(item, "type");
  param->type_text = type ? type : "";
  param->specialize = is_true(item, "specialize", true);
  bool align = is_true(item, "align", true);
  if (!param->specialize) param->flags |= TJ_PARAM_NO_SPECIALIZE;
  if (!align) param->flags |= TJ_PARAM_NO_ALIGNMENT;
  if (is_true(item, "const", false)) param->flags |= TJ_PARAM_CONST;
  param->classes[0] = param->specialize ? TJ_CLASS_PLAIN : TJ_CLASS_NONE;
  param->classes[1] = param->specialize && align ? TJ_CLASS_16 : param->classes[0];
  for (int i = 0; i < 2; i++) {
    param->pointer_item[i] = tj_key_pair(TJ_KEY_POINTER, param->classes[i]);
    param->int_item[i] = tj_key_pair(TJ_I32, param->classes[i]);
  }
  if (is_true(item, "constexpr", false)) {
    param->rule = TJ_RULE_CONSTEXPR;
    param->flags |= TJ_PARAM_CONSTEXPR;
  } else if (type) {
    tj_status status = read_type(param);
    if (status != TJ_OK) return status;
  }
  return read_default(item, param);
}

static tj_status read_params(tj_signature *signature, const cJSON *record) {
  const cJSON *list = tj_json_array(record, "params");
  int n = cJSON_GetArraySize(list);
  if (list == NULL || n > MAX_PARAMS)
    return bad_record("its parameters are no list, or too long a one");
  signature->params = calloc((size_t)n + 1, sizeof *signature->params);
  if (signature->params == NULL) return tj_fail_memory();
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    tj_status status = read_param(item, &signature->params[signature->n_params]);
    if (status != TJ_OK) return status;
    signature->n_params++;
  }
  const cJSON *tuned;
  cJSON_ArrayForEach(tuned, tj_json_array(record, "tuned")) {
    const char *name = cJSON_GetStringValue(tuned);
    int64_t i = name ? tj_signature_index(signature, name) : -1;
    if (i >= 0) signature->params[i].flags |= TJ_PARAM_TUNED;
  }
  return TJ_OK;
}

static tj_status read_files(tj_signature *signature, const cJSON *record) {
  const cJSON *list = tj_json_array(record, "files");
  int n = cJSON_GetArraySize(list);
  signature->files = calloc((size_t)n + 1, sizeof *signature->files);
  if (signature->files == NULL) return tj_fail_memory();
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    tj_file_stamp *file = &signature->files[signature->n_files];
    file->path = tj_json_text(item, "path");
    const char *mtime = tj_json_text(item, "mtime_ns"), *inode = tj_json_text(item, "inode");
    if (file->path == NULL || mtime == NULL || inode == NULL)
      return bad_record("a file lacks its path, time or inode");
    file->size = tj_json_uint(item, "size", UINT64_MAX, UINT64_MAX);
    file->mtime_ns = strtoll(mtime, NULL, 10);
    file->inode = strtoull(inode, NULL, 10);
    signature->n_files++;
  }
  return TJ_OK;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/* 64 hexadecimal digits, as Triton's cache_key has them from 3.5 on; other forms are cut or
   padded with zeros, which still tells functions apart by the digits that fit. */
static void read_digest(const char *text, uint8_t digest[32]) {
  for (size_t i = 0; i < 32 && text[2 * i] && text[2 * i + 1]; i++) {
    int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return;
    digest[i] = (uint8_t)(high << 4 | low);
  }
}

static tj_status read_texts(tj_signature *signature, const cJSON *record) {
  signature->id = tj_json_text(record, "id");
  signature->name = tj_json_text(record, "name");
  signature->source = tj_json_text(record, "source");
  signature->cache_key = tj_json_text(record, "cache_key");
  signature->triton = tj_json_text(record, "triton");
  if (!signature->id || !signature->name || !signature->source || !signature->cache_key ||
      !signature->triton)
    return bad_record("it lacks id, name, source, cache_key or triton");
  read_digest(signature->cache_key, signature->digest);
  uint64_t desc_flags = tj_json_uint(record, "descriptor_flags", TJ_DESC_MAX_FLAGS, UINT64_MAX);
  signature->desc_flags = desc_flags <= TJ_DESC_MAX_FLAGS ? (int8_t)desc_flags : -1;
  return TJ_OK;
}

tj_status tj_signature_read(cJSON *record, const void *snapshot, size_t snapshot_size,
                            tj_signature **out_signature) {
  tj_signature *signature = calloc(1, sizeof *signature);
  if (signature == NULL) {
    cJSON_Delete(record);
    return tj_fail_memory();
  }
  signature->json = record;
  tj_status status = read_texts(signature, record);
  if (status == TJ_OK) status = read_params(signature, record);
  if (status == TJ_OK) status = read_files(signature, record);
  if (status == TJ_OK && snapshot_size > 0) {
    signature->snapshot = malloc(snapshot_size);
    if (signature->snapshot) {
      memcpy(signature->snapshot, snapshot, snapshot_size);
      signature->snapshot_size = snapshot_size;
    } else {
      status = tj_fail_memory();
    }
  }
  if (status != TJ_OK) {
    tj_signature_free(signature);
    return status;
  }
  *out_signature = signature;
  return TJ_OK;
}

void tj_signature_free(tj_signature *signature) {
  if (signature == NULL) return;
  for (uint32_t i = 0; i < signature->n_params; i++)
    tj_value_free(&signature->params[i].default_value);
  free(signature->params);
  free(signature->files);
  free(signature->snapshot);
  cJSON_Delete(signature->json);
  free(signature);
}

int64_t tj_signature_index(const tj_signature *signature, const char *name) {
  for (uint32_t i = 0; i < signature->n_params; i++)
    if (strcmp(signature->params[i].name, name) == 0) return i;
  return -1;
}
