/* SPDX-License-Identifier: Apache-2.0 */
/* "describe": a kernel's source file -> its signature record and snapshot. */
#ifndef TJ_COMPILE_DESCRIBE_H
#define TJ_COMPILE_DESCRIBE_H

#include <stddef.h>

#include "compile/message.h"

typedef struct tj_describe_request {
  const char *source; /* path or dotted module; only a name if there is text */
  const char *name;
  const char *backend;
  const char *text; /* source from memory, or NULL */
  size_t text_size;
} tj_describe_request;

/* The reply: its field "record", and its section "snapshot". To be freed. May take long. */
tj_status tj_describe(const tj_describe_request *request, tj_message *out_reply);

#endif /* TJ_COMPILE_DESCRIBE_H */
