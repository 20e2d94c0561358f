/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a compiler and its replies: a JSON object, and sections of bytes behind it.
 *
 *   u32 little endian: bytes of the JSON | the JSON, UTF-8 | sections, back to back
 *
 * The JSON's "sections" is an array of {"name": text, "size": bytes} in their order.
 * What comes back is read as if an enemy had written it.
 */
#ifndef TJ_COMPILE_MESSAGE_H
#define TJ_COMPILE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "triton_jit/status.h"

typedef struct tj_section {
  const char *name;
  const void *data;
  size_t size;
} tj_section;

typedef struct tj_message {
  cJSON *json;
  tj_section *sections; /* names and data lie in json and bytes */
  size_t n_sections;
  void *bytes; /* owned */
} tj_message;

/* Encodes `json` (to which "sections" is added) and `sections`; *out_bytes is to be freed. */
tj_status tj_message_encode(cJSON *json, const tj_section *sections, size_t n_sections,
                            void **out_bytes, size_t *out_size);

/* Decodes and takes over `bytes`, also on failure. */
tj_status tj_message_decode(void *bytes, size_t size, tj_message *out_message);

/* The section of that name, or NULL. */
const tj_section *tj_message_section(const tj_message *message, const char *name);

void tj_message_free(tj_message *message);

/*
 * Sends `json` and `sections` to the compiler of this process and decodes the answer.
 * A reply whose status is not OK becomes that status with its message; NEED_SNAPSHOT is
 * returned as TJ_OK with *out_missing set to the id (in the message) that it lacks.
 */
tj_status tj_message_ask(cJSON *json, const tj_section *sections, size_t n_sections,
                         tj_message *out_message, const char **out_missing);

#endif /* TJ_COMPILE_MESSAGE_H */
