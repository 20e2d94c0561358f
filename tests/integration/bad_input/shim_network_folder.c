/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: a folder (TJ_SHIM_FOLDER) that behaves as one on a network file system under load. Removing
 * a folder below it fails with EBUSY, and every file below it is not there when it is first opened for reading.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_below(const char *path) {
  const char *folder = getenv("TJ_SHIM_FOLDER");
  return path && folder && *folder && strncmp(path, folder, strlen(folder)) == 0;
}

/* True once for each path. */
static bool is_late(const char *path) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static char *seen[4096];
  static size_t n;
  bool late = true;
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < n && late; i++) late = strcmp(seen[i], path) != 0;
  if (late && n < sizeof seen / sizeof *seen) seen[n++] = strdup(path);
  pthread_mutex_unlock(&mutex);
  return late;
}

static void *next_of(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The system's own names for parameters are reserved ones. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

int rmdir(const char *path) {
  int (*next)(const char *);
  *(void **)&next = next_of("rmdir");
  if (!is_below(path)) return next(path);
  errno = EBUSY;
  return -1;
}

int unlinkat(int folder, const char *path, int flags) {
  int (*next)(int, const char *, int);
  *(void **)&next = next_of("unlinkat");
  if (!(flags & AT_REMOVEDIR) || !is_below(path)) return next(folder, path, flags);
  errno = EBUSY;
  return -1;
}

#define OPEN(name)                                                                   \
  int name(const char *path, int flags, ...) {                                       \
    int (*next)(const char *, int, ...);                                             \
    *(void **)&next = next_of(#name);                                                \
    va_list list;                                                                    \
    va_start(list, flags);                                                           \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;          \
    va_end(list);                                                                    \
    bool reads = (flags & O_ACCMODE) == O_RDONLY && !(flags & O_DIRECTORY);          \
    if (!reads || !is_below(path) || !is_late(path)) return next(path, flags, mode); \
    errno = ENOENT;                                                                  \
    return -1;                                                                       \
  }
OPEN(open)
OPEN(open64)
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
