/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static _Thread_local bool watching, paused;
static _Thread_local watch_counts counts;
static _Thread_local int64_t failing = -1, asked;

void watch_begin(void) {
  counts = (watch_counts){0};
  watching = true;
}

watch_counts watch_end(void) {
  watching = false;
  return counts;
}

void watch_fail_allocation(int64_t n) {
  failing = n;
  asked = 0;
}

int64_t watch_allocations(void) { return asked; }

void watch_pause(bool now) { paused = now; }

static bool allocation_fails(void) {
  if (paused) return false;
  if (watching) counts.allocations++;
  return asked++ == failing;
}

/* Made by the linker's --wrap: __real_x is x, and every call of x comes to __wrap_x. The
   names are its, reserved or not. */
#define WRAP_ALLOCATION(name, parameters, arguments)                                \
  extern void *__real_##name parameters; /* NOLINT(bugprone-reserved-identifier) */ \
  void *__wrap_##name parameters;        /* NOLINT(bugprone-reserved-identifier) */ \
  void *__wrap_##name parameters { return allocation_fails() ? NULL : __real_##name arguments; }

WRAP_ALLOCATION(malloc, (size_t size), (size))
WRAP_ALLOCATION(calloc, (size_t n, size_t size), (n, size))
WRAP_ALLOCATION(realloc, (void *old, size_t size), (old, size))
WRAP_ALLOCATION(strdup, (const char *text), (text))
WRAP_ALLOCATION(strndup, (const char *text, size_t size), (text, size))
WRAP_ALLOCATION(aligned_alloc, (size_t alignment, size_t size), (alignment, size))

#define WRAP_COUNTED(type, name, counter, parameters, arguments)                   \
  extern type __real_##name parameters; /* NOLINT(bugprone-reserved-identifier) */ \
  type __wrap_##name parameters;        /* NOLINT(bugprone-reserved-identifier) */ \
  type __wrap_##name parameters {                                                  \
    if (watching && !paused) counts.counter++;                                     \
    return __real_##name arguments;                                                \
  }

void __real_free(void *memory); /* NOLINT(bugprone-reserved-identifier) */
void __wrap_free(void *memory); /* NOLINT(bugprone-reserved-identifier) */
void __wrap_free(void *memory) {
  if (watching && !paused) counts.frees++;
  __real_free(memory);
}

WRAP_COUNTED(int, pthread_mutex_lock, locks, (pthread_mutex_t * mutex), (mutex))
WRAP_COUNTED(int, pthread_once, locks, (pthread_once_t * once, void (*f)(void)), (once, f))
WRAP_COUNTED(int, vsnprintf, formats, (char *to, size_t size, const char *format, va_list list),
             (to, size, format, list))
WRAP_COUNTED(char *, getenv, others, (const char *name), (name))
WRAP_COUNTED(int, clock_gettime, others, (clockid_t clock, struct timespec *t), (clock, t))
WRAP_COUNTED(int, stat, others, (const char *path, struct stat *out), (path, out))

/* NOLINTBEGIN(bugprone-reserved-identifier) */
int __wrap_snprintf(char *to, size_t size, const char *format, ...);
int __wrap_snprintf(char *to, size_t size, const char *format, ...) {
  if (watching && !paused) counts.formats++;
  va_list list;
  va_start(list, format);
  int n = __real_vsnprintf(to, size, format, list);
  va_end(list);
  return n;
}
/* NOLINTEND(bugprone-reserved-identifier) */
