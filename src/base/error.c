/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

static const char no_memory[] = "out of memory";

/* Room for `size` bytes and a 0; the old text may be lost. Falls back to the inline text. */
static size_t make_room(tj_thread *thread, size_t size) {
  if (size < thread->error_capacity) return size;
  if (size == SIZE_MAX) return thread->error_capacity - 1;
  char *bigger = malloc(size + 1);
  if (bigger == NULL) return thread->error_capacity - 1;
  if (thread->error_text != thread->inline_text) free(thread->error_text);
  thread->error_text = bigger;
  thread->error_capacity = size + 1;
  return size;
}

static void record(tj_thread *thread, tj_status status, const char *text, size_t size) {
  thread->error_status = status;
  thread->error_serial++;
  size_t room = make_room(thread, size);
  memcpy(thread->error_text, text, room);
  thread->error_text[room] = 0;
}

tj_status tj_fail_text(tj_status status, const char *text, size_t size) {
  tj_thread *thread = tj_thread_get();
  if (thread) record(thread, status, text, size);
  return status;
}

static tj_status record_formatted(tj_status status, const char *suffix, const char *format,
                                  va_list list) TJ_PRINTF(3, 0);
static tj_status record_formatted(tj_status status, const char *suffix, const char *format,
                                  va_list list) {
  char small[512];
  va_list again;
  va_copy(again, list);
  int n = vsnprintf(small, sizeof small, format, list);
  size_t head = n > 0 ? (size_t)n : 0;
  size_t tail = strlen(suffix);
  char *whole = small;
  if (head + tail >= sizeof small) {
    whole = malloc(head + tail + 1);
    if (whole) {
      (void)vsnprintf(whole, head + 1, format, again);
    } else { /* cut it */
      whole = small;
      head = head < sizeof small ? head : sizeof small - 1;
      tail = tail < sizeof small - 1 - head ? tail : sizeof small - 1 - head;
    }
  }
  va_end(again);
  memcpy(whole + head, suffix, tail);
  tj_fail_text(status, whole, head + tail);
  if (whole != small) free(whole);
  return status;
}

tj_status tj_fail(tj_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  record_formatted(status, "", format, list);
  va_end(list);
  return status;
}

tj_status tj_fail_in(tj_status status, const char *format, ...) {
  char *old = strdup(tj_last_error());
  va_list list;
  va_start(list, format);
  record_formatted(status, old ? old : "", format, list);
  va_end(list);
  free(old);
  return status;
}

uint64_t tj_error_serial(void) { return tj_thread_block ? tj_thread_block->error_serial : 0; }

struct tj_kept_error {
  tj_status status;
  uint64_t serial;
  char text[];
};

tj_kept_error *tj_error_keep(void) {
  const char *text = tj_last_error();
  size_t size = strlen(text) + 1;
  tj_kept_error *kept = malloc(sizeof *kept + size);
  if (kept == NULL) return NULL;
  kept->status = tj_last_status();
  kept->serial = tj_error_serial();
  memcpy(kept->text, text, size);
  return kept;
}

void tj_error_put_back(tj_kept_error *kept) {
  if (kept && kept->serial != tj_error_serial())
    tj_fail_text(kept->status, kept->text, strlen(kept->text));
  free(kept);
}

tj_status tj_fail_memory(void) {
  return tj_fail_text(TJ_E_OUT_OF_MEMORY, no_memory, sizeof no_memory - 1);
}

tj_status tj_fail_null(const char *call, const char *name) {
  return tj_fail(TJ_E_NULL, "%s: %s is NULL; it must point to something", call, name);
}

tj_status tj_fail_size(const char *type, size_t got, size_t expected) {
  return tj_fail(TJ_E_STRUCT_SIZE,
                 "%s.struct_size is %zu, but this library (%s) expects at least %zu; set it to "
                 "sizeof(%s), as the INIT macro does",
                 type, got, tj_version_string(), expected, type);
}

tj_status tj_deliver(tj_error *error, tj_status status) {
  if (status == TJ_OK || error == NULL) return status;
  if (error->struct_size < sizeof *error)
    return tj_fail_size("tj_error", error->struct_size, sizeof *error);
  const char *text = tj_last_error();
  error->status = status;
  error->length = strlen(text);
  if (error->text && error->capacity) {
    size_t n = error->length < error->capacity - 1 ? error->length : error->capacity - 1;
    memcpy(error->text, text, n);
    error->text[n] = 0;
  }
  return status;
}

const char *tj_last_error(void) {
  const tj_thread *thread = tj_thread_block;
  return thread ? thread->error_text : "";
}

tj_status tj_last_status(void) {
  const tj_thread *thread = tj_thread_block;
  return thread ? thread->error_status : TJ_OK;
}

const char *tj_status_name(tj_status status) {
  switch (status) {
#define NAME(name, value, text) \
  case value: return "TJ_" #name;
    TJ_STATUS_MAP(NAME)
#undef NAME
  default: return "TJ_E_?";
  }
}

const char *tj_status_text(tj_status status) {
  switch (status) {
#define TEXT(name, value, text) \
  case value: return text;
    TJ_STATUS_MAP(TEXT)
#undef TEXT
  default: return "a status that this library does not know";
  }
}

uint32_t tj_version(void) { return TJ_VERSION; }

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

const char *tj_version_string(void) {
  return QUOTE(TJ_VERSION_MAJOR) "." QUOTE(TJ_VERSION_MINOR) "." QUOTE(TJ_VERSION_PATCH);
}
