/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(tj_str *str, size_t more) {
  if (str->failed || more >= SIZE_MAX / 2 - str->size) return !(str->failed = true);
  size_t needed = str->size + more + 1;
  if (needed <= str->capacity) return true;
  size_t capacity = str->capacity ? str->capacity : 64;
  while (capacity < needed) capacity *= 2;
  char *data = realloc(str->data, capacity);
  if (data == NULL) return !(str->failed = true);
  str->data = data;
  str->capacity = capacity;
  return true;
}

void tj_str_add(tj_str *str, const void *bytes, size_t size) {
  if (!reserve(str, size)) return;
  if (size) memcpy(str->data + str->size, bytes, size);
  str->size += size;
  str->data[str->size] = 0;
}

void tj_str_add_text(tj_str *str, const char *text) { tj_str_add(str, text, strlen(text)); }

void tj_str_printf(tj_str *str, const char *format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  int n = vsnprintf(NULL, 0, format, list);
  va_end(list);
  if (n >= 0 && reserve(str, (size_t)n)) {
    (void)vsnprintf(str->data + str->size, (size_t)n + 1, format, again);
    str->size += (size_t)n;
  }
  va_end(again);
}

const char *tj_str_text(const tj_str *str) { return str->data ? str->data : ""; }

char *tj_str_take(tj_str *str) {
  tj_str_add(str, "", 0); /* an empty one too has its 0 */
  char *text = str->data;
  if (str->failed) {
    free(text);
    text = NULL;
  }
  *str = (tj_str){0};
  return text;
}

void tj_str_free(tj_str *str) {
  free(str->data);
  *str = (tj_str){0};
}
