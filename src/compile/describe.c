/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/describe.h"

#include "base/error.h"
#include "base/str.h"

/* Bytes of the UTF-8 character at `text`; 0 if it is none. */
static size_t character(const unsigned char *text) {
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
  for (size_t n = 0; n < sizeof forms / sizeof *forms; n++) {
    if ((text[0] & forms[n].mask) != forms[n].lead) continue;
    uint32_t code = text[0] & (unsigned char)~forms[n].mask;
    for (size_t i = 1; i <= n; i++) {
      if ((text[i] & 0xc0) != 0x80) return 0;
      code = code << 6 | (text[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < forms[n].least || code > 0x10ffff || surrogate ? 0 : n + 1;
  }
  return 0;
}

/* Requests are JSON, and Triton writes paths into its IR: both take UTF-8 only. */
static tj_status check_utf8(tj_status status, const char *what, const char *text) {
  tj_str shown = {0};
  bool good = true;
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    size_t n = character(c);
    if (n)
      tj_str_add(&shown, c, n);
    else
      tj_str_printf(&shown, "\\x%02x", *c);
    good &= n > 0;
    c += n ? n : 1;
  }
  if (!good)
    tj_fail(status, "the kernel's %s is not UTF-8: %s; rename it", what, tj_str_text(&shown));
  tj_str_free(&shown);
  return good ? TJ_OK : status;
}

tj_status tj_describe(const tj_describe_request *request, tj_message *out_reply) {
  tj_status checked = check_utf8(TJ_E_SOURCE_NOT_FOUND, "source", request->source);
  if (checked == TJ_OK) checked = check_utf8(TJ_E_KERNEL_NOT_FOUND, "name", request->name);
  if (checked != TJ_OK) return checked;
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
