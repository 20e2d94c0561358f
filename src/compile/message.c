/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/message.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compile/compiler.h"

static void put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool add_section_list(cJSON *json, const tj_section *sections, size_t n) {
  cJSON_DeleteItemFromObjectCaseSensitive(json, "sections");
  if (n == 0) return true;
  cJSON *list = cJSON_AddArrayToObject(json, "sections");
  if (list == NULL) return false;
  for (size_t i = 0; i < n; i++) {
    cJSON *item = cJSON_CreateObject();
    if (item == NULL) return false;
    if (!cJSON_AddItemToArray(list, item)) {
      cJSON_Delete(item);
      return false;
    }
    if (!cJSON_AddStringToObject(item, "name", sections[i].name) ||
        !cJSON_AddNumberToObject(item, "size", (double)sections[i].size))
      return false;
  }
  return true;
}

tj_status tj_message_encode(cJSON *json, const tj_section *sections, size_t n_sections,
                            void **out_bytes, size_t *out_size) {
  if (!add_section_list(json, sections, n_sections)) return tj_fail_memory();
  char *text = cJSON_PrintUnformatted(json);
  if (text == NULL) return tj_fail_memory();
  size_t text_size = strlen(text);
  size_t total = 4 + text_size;
  uint8_t *bytes = NULL;
  bool fits = text_size <= UINT32_MAX;
  for (size_t i = 0; i < n_sections && fits; i++)
    fits = !__builtin_add_overflow(total, sections[i].size, &total);
  if (fits) bytes = malloc(total);
  if (bytes == NULL) {
    free(text);
    return tj_fail_memory();
  }
  put_u32(bytes, (uint32_t)text_size);
  memcpy(bytes + 4, text, text_size);
  free(text);
  uint8_t *at = bytes + 4 + text_size;
  for (size_t i = 0; i < n_sections; i++) {
    if (sections[i].size) memcpy(at, sections[i].data, sections[i].size);
    at += sections[i].size;
  }
  *out_bytes = bytes;
  *out_size = total;
  return TJ_OK;
}

static tj_status bad_reply(tj_message *message, const char *what) {
  tj_message_free(message);
  return tj_fail(TJ_E_INTERNAL, "the compiler's reply is damaged: %s", what);
}

tj_status tj_message_decode(void *bytes, size_t size, tj_message *out_message) {
  tj_message message = {NULL, NULL, 0, bytes};
  if (size < 4) return bad_reply(&message, "it has no header");
  size_t json_size = get_u32(bytes);
  if (json_size > size - 4) return bad_reply(&message, "it ends within its JSON");
  message.json = cJSON_ParseWithLength((const char *)bytes + 4, json_size);
  if (!cJSON_IsObject(message.json)) return bad_reply(&message, "its JSON does not parse");

  const cJSON *list = tj_json_array(message.json, "sections");
  int n = cJSON_GetArraySize(list);
  if (n > 0) {
    message.sections = calloc((size_t)n, sizeof *message.sections);
    if (message.sections == NULL) {
      tj_message_free(&message);
      return tj_fail_memory();
    }
  }
  size_t left = size - 4 - json_size;
  const uint8_t *at = (const uint8_t *)bytes + 4 + json_size;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *name = tj_json_text(item, "name");
    uint64_t section_size = tj_json_uint(item, "size", left, UINT64_MAX);
    if (name == NULL || section_size == UINT64_MAX || message.sections == NULL)
      return bad_reply(&message, "a section has no name, or is larger than what follows");
    message.sections[message.n_sections++] = (tj_section){name, at, (size_t)section_size};
    at += section_size;
    left -= (size_t)section_size;
  }
  *out_message = message;
  return TJ_OK;
}

const tj_section *tj_message_section(const tj_message *message, const char *name) {
  for (size_t i = 0; i < message->n_sections; i++)
    if (strcmp(message->sections[i].name, name) == 0) return &message->sections[i];
  return NULL;
}

void tj_message_free(tj_message *message) {
  cJSON_Delete(message->json);
  free(message->sections);
  free(message->bytes);
  *message = (tj_message){NULL, NULL, 0, NULL};
}

static tj_status status_of_name(const char *name) {
  static const struct {
    const char *name;
    tj_status status;
  } table[] = {
#define ROW(name, value, text) {#name, value},
      TJ_STATUS_MAP(ROW)
#undef ROW
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(table[i].name, name) == 0) return table[i].status;
  return TJ_E_INTERNAL;
}

static tj_status fail_as_replied(const tj_message *message, const char *status_name) {
  const char *text = tj_json_text(message->json, "message");
  const char *traceback = tj_json_text(message->json, "traceback");
  bool more = traceback && *traceback;
  return tj_fail(status_of_name(status_name), "%s%s%s",
                 text ? text : "the compiler gave no message", more ? "\n" : "",
                 more ? traceback : "");
}

tj_status tj_message_ask(cJSON *json, const tj_section *sections, size_t n_sections,
                         tj_message *out_message, const char **out_missing) {
  *out_missing = NULL;
  void *request = NULL;
  size_t request_size = 0;
  tj_status status = tj_message_encode(json, sections, n_sections, &request, &request_size);
  if (status != TJ_OK) return status;
  void *reply = NULL;
  size_t reply_size = 0;
  tj_message message = {NULL, NULL, 0, NULL};
  status = tj_compiler_handle(request, request_size, &reply, &reply_size);
  free(request);
  if (status != TJ_OK) return status;

  status = tj_message_decode(reply, reply_size, &message);
  if (status != TJ_OK) return status;
  const char *name = tj_json_text(message.json, "status");
  if (name == NULL) return bad_reply(&message, "it has no status");
  if (strcmp(name, "NEED_SNAPSHOT") == 0) {
    *out_missing = tj_json_text(message.json, "id");
    if (*out_missing == NULL) return bad_reply(&message, "it does not say which snapshot");
  } else if (strcmp(name, "OK") != 0) {
    status = fail_as_replied(&message, name);
    tj_message_free(&message);
    return status;
  }
  *out_message = message;
  return TJ_OK;
}
