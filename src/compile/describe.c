/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/describe.h"

#include "base/error.h"

tj_status tj_describe(const tj_describe_request *request, tj_message *out_reply) {
  cJSON *json = cJSON_CreateObject();
  if (!cJSON_AddNumberToObject(json, "v", 1) || !cJSON_AddStringToObject(json, "op", "describe") ||
      !cJSON_AddStringToObject(json, "source", request->source) ||
      !cJSON_AddStringToObject(json, "name", request->name) ||
      !cJSON_AddStringToObject(json, "backend", request->backend) ||
      (request->text && !cJSON_AddTrueToObject(json, "text_section"))) {
    cJSON_Delete(json);
    return tj_fail_memory();
  }
  tj_section text = {"text", request->text, request->text_size};
  const char *missing = NULL;
  tj_status status = tj_message_ask(json, &text, request->text ? 1 : 0, out_reply, &missing);
  cJSON_Delete(json);
  if (status == TJ_OK &&
      (missing || !cJSON_GetObjectItemCaseSensitive(out_reply->json, "record"))) {
    tj_message_free(out_reply);
    status = tj_fail(TJ_E_INTERNAL, "the compiler described '%s' without a record", request->name);
  }
  return status;
}
