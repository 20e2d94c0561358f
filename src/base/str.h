/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string of bytes, always ended by a 0. Running out of memory marks it as
 * failed, and everything after that is ignored: check once, at the end.
 */
#ifndef TJ_BASE_STR_H
#define TJ_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

#include "triton_jit/version.h"

typedef struct tj_str {
  char *data; /* NULL while empty */
  size_t size, capacity;
  bool failed;
} tj_str;

void tj_str_add(tj_str *str, const void *bytes, size_t size);
void tj_str_add_text(tj_str *str, const char *text);
void tj_str_printf(tj_str *str, const char *format, ...) TJ_PRINTF(2, 3);

/* The text, "" while empty; still owned by `str`. */
const char *tj_str_text(const tj_str *str);

/* Hands the text over to the caller, to be freed; NULL if memory ran out. */
char *tj_str_take(tj_str *str);

void tj_str_free(tj_str *str);

#endif /* TJ_BASE_STR_H */
