/* SPDX-License-Identifier: Apache-2.0 */
/* Reading fields of JSON that may be anything. */
#ifndef TJ_BASE_JSON_H
#define TJ_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdint.h>

/* The text field `name` of `object`, or NULL if there is none or it is no text. */
const char *tj_json_text(const cJSON *object, const char *name);

/* The field `name` if it is an array, else NULL, which has no items. */
const cJSON *tj_json_array(const cJSON *object, const char *name);

/* The field `name` if it is a whole number from 0 to `max`, else `otherwise`. */
uint64_t tj_json_uint(const cJSON *object, const char *name, uint64_t max, uint64_t otherwise);

#endif /* TJ_BASE_JSON_H */
