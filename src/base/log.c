/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"

typedef struct sink {
  tj_log_fn fn;
  void *user;
  int level;
  struct sink *before; /* kept: another thread may still be using it */
} sink;

static _Atomic(sink *) current;

void tj_set_log(tj_log_fn fn, void *user, int level) {
  sink *next = fn ? malloc(sizeof *next) : NULL;
  if (fn && next == NULL) return; /* keeps the old one */
  tj_lock_acquire(TJ_LOCK_HOOKS);
  static sink *all;
  if (next) {
    *next = (sink){fn, user, level, all};
    all = next;
  }
  atomic_store(&current, next);
  tj_lock_release(TJ_LOCK_HOOKS);
}

bool tj_log_wants(int level) {
  const sink *s = atomic_load_explicit(&current, memory_order_acquire);
  return s && level <= s->level;
}

void tj_log_text(int level, const char *text, size_t size) {
  const sink *s = atomic_load_explicit(&current, memory_order_acquire);
  if (s == NULL || level > s->level) return;
  char small[512];
  while (size > 0) {
    const char *end = memchr(text, '\n', size);
    size_t n = end ? (size_t)(end - text) : size;
    char *line = n < sizeof small ? small : malloc(n + 1);
    if (line) {
      memcpy(line, text, n);
      line[n] = 0;
      if (n > 0) s->fn(s->user, level, line);
      if (line != small) free(line);
    }
    n += end != NULL;
    text += n;
    size -= n;
  }
}

void tj_log(int level, const char *format, ...) {
  if (!tj_log_wants(level)) return;
  char small[512];
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  int n = vsnprintf(small, sizeof small, format, list);
  va_end(list);
  if (n >= (int)sizeof small) {
    char *whole = malloc((size_t)n + 1);
    if (whole) {
      (void)vsnprintf(whole, (size_t)n + 1, format, again);
      tj_log_text(level, whole, (size_t)n);
      free(whole);
    }
  } else if (n > 0) {
    tj_log_text(level, small, (size_t)n);
  }
  va_end(again);
}
