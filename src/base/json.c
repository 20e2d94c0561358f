/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

const char *tj_json_text(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

const cJSON *tj_json_array(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsArray(item) ? item : NULL;
}

uint64_t tj_json_uint(const cJSON *object, const char *name, uint64_t max, uint64_t otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!cJSON_IsNumber(item)) return otherwise;
  double value = item->valuedouble;
  if (!(value >= 0 && value <= 9007199254740992.0)) return otherwise; /* 2^53: exact */
  uint64_t whole = (uint64_t)value;
  return (double)whole == value && whole <= max ? whole : otherwise;
}
