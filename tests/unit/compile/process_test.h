/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a stand-in script, through the compiler of this process. */
#ifndef TJ_TESTS_PROCESS_TEST_H
#define TJ_TESTS_PROCESS_TEST_H

#include <cjson/cJSON.h>

#include "compile/compiler.h"
#include "compile/message.h"
#include "scenario.h"

/* Sends `json` and gives the status and the decoded reply. */
static inline tj_status ask(const char *json, tj_message *out_reply) {
  cJSON *object = cJSON_Parse(json);
  CHECK(object != NULL);
  void *request = NULL, *reply = NULL;
  size_t request_size = 0, reply_size = 0;
  CHECK(tj_message_encode(object, NULL, 0, &request, &request_size) == TJ_OK);
  cJSON_Delete(object);
  tj_status status = tj_compiler_handle(request, request_size, &reply, &reply_size);
  free(request);
  memset(out_reply, 0, sizeof *out_reply);
  if (status == TJ_OK) status = tj_message_decode(reply, reply_size, out_reply);
  return status;
}

/* The number `name` of a reply that must come. */
static inline int ask_number(const char *json, const char *name) {
  tj_message reply;
  CHECK(ask(json, &reply) == TJ_OK);
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(reply.json, name);
  CHECK(cJSON_IsNumber(item));
  int number = item->valueint;
  tj_message_free(&reply);
  return number;
}

/* The status of a request whose reply does not matter. */
static inline tj_status ask_status(const char *json) {
  tj_message reply;
  tj_status status = ask(json, &reply);
  if (status == TJ_OK) tj_message_free(&reply);
  return status;
}

/* Sets up a compiler with the scripts of stand_in/. */
static inline void use_stand_in(uint32_t mode) {
  char scripts[4096];
  const char *source = getenv("TJ_TEST_SOURCE_DIR");
  CHECK(source != NULL);
  snprintf(scripts, sizeof scripts, "%s/tests/unit/compile/stand_in", source);
  tj_compiler_options options = TJ_COMPILER_OPTIONS_INIT;
  options.mode = mode;
  options.scripts = scripts;
  CHECK(tj_set_compiler(&options) == TJ_OK);
}

#endif /* TJ_TESTS_PROCESS_TEST_H */
