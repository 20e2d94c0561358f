/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/str.h"
#include "bind/bind.h"

static void add_place(tj_str *out, const tj_place *place) {
  if (place->outer == NULL) {
    const tj_signature *signature = place->bound->signature;
    tj_str_printf(out, "%s: parameter %u '%s'", signature->name, place->param,
                  signature->params[place->param].name);
    return;
  }
  add_place(out, place->outer);
  tj_str_printf(out, "[%u]", place->item);
}

tj_status tj_fail_at(tj_status status, const tj_place *place, const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  tj_str message = {0};
  add_place(&message, place);
  tj_str_add_text(&message, ": ");
  tj_str_add_text(&message, text);
  tj_fail_text(status, tj_str_text(&message), message.size);
  tj_str_free(&message);
  return status;
}

tj_status tj_fail_size_at(const tj_place *place, const char *type, uint32_t got, size_t expected) {
  return tj_fail_at(TJ_E_STRUCT_SIZE, place,
                    "%s.struct_size is %u, but this library (%s) expects at least %zu; set it to "
                    "sizeof(%s)",
                    type, got, tj_version_string(), expected, type);
}

const char *tj_arg_words(const tj_arg *arg, char buffer[128]) {
  switch (arg->kind) {
  case TJ_DEFAULT: return "default";
  case TJ_NONE: return "None";
  case TJ_BOOL: return arg->v.i ? "bool True" : "bool False";
  case TJ_INT: (void)snprintf(buffer, 128, "integer %lld", (long long)arg->v.i); break;
  case TJ_UINT: (void)snprintf(buffer, 128, "integer %llu", (unsigned long long)arg->v.u); break;
  case TJ_FLOAT: (void)snprintf(buffer, 128, "float %g", arg->v.f); break;
  case TJ_SCALAR:
    (void)snprintf(buffer, 128, "scalar of type %s", tj_dtype_name(arg->dtype));
    break;
  case TJ_POINTER: (void)snprintf(buffer, 128, "pointer to %s", tj_dtype_name(arg->dtype)); break;
  case TJ_BUFFER: return "buffer";
  case TJ_TENSOR: return "DLPack tensor";
  case TJ_STRING: (void)snprintf(buffer, 128, "string of %u bytes", arg->aux); break;
  case TJ_DTYPE: (void)snprintf(buffer, 128, "dtype %s", tj_dtype_name(arg->dtype)); break;
  case TJ_TUPLE: (void)snprintf(buffer, 128, "tuple of %u items", arg->aux); break;
  case TJ_FUNCTION: return "function";
  case TJ_TENSOR_DESC: return "tensor descriptor";
  case TJ_SPEC: return "TJ_SPEC";
  case TJ_KEYWORD: return "keyword";
  default: (void)snprintf(buffer, 128, "argument of unknown kind %u", arg->kind); break;
  }
  return buffer;
}
