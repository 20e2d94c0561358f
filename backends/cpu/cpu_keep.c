/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRITON_JIT_CPU_KEEP: the loaded object is a file in that folder, beside the C that the
 * compiler keeps there. Debuggers and profilers cannot read memory files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "cpu/cpu_module.h"
#include "triton_jit/runtime.h"

/* A name of the object's own: another object is another file, and a file never changes. */
static bool kept_path(const char *folder, const char *name, const void *bytes, size_t size,
                      char *path, size_t capacity) {
  char plain[80];
  size_t n = 0;
  for (; name[n] && n + 1 < sizeof plain; n++) {
    char c = name[n];
    bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    plain[n] = fine ? c : '_';
  }
  plain[n] = 0;
  int length = snprintf(path, capacity, "%s/%s-%016llx.so", folder, plain,
                        (unsigned long long)tj_hash(bytes, size));
  return length > 0 && (size_t)length < capacity;
}

/* Written under another name first: a process that opens the file finds all of it. */
static bool write_file(const char *path, const void *bytes, size_t size) {
  char other[4200];
  (void)snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
  int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (fd < 0) return false;
  bool written = tj_cpu_write_all(fd, bytes, size);
  int error = errno;
  written &= close(fd) == 0 && rename(other, path) == 0;
  if (written) return true;
  if (error == 0) error = errno;
  (void)unlink(other);
  errno = error;
  return false;
}

void *tj_cpu_open_kept(const void *bytes, size_t size, const char *name) {
  const char *folder = getenv("TRITON_JIT_CPU_KEEP");
  char path[4096];
  if (folder == NULL || *folder == 0) return NULL;
  (void)mkdir(folder, 0777); /* kernels from a cache have no compile that makes it */
  errno = 0;
  if (!kept_path(folder, name, bytes, size, path, sizeof path)) errno = ENAMETOOLONG;
  void *object = NULL;
  if (errno == 0 && write_file(path, bytes, size)) {
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object) return object;
    const char *reason = dlerror();
    tj_log(TJ_LOG_WARNING, "TRITON_JIT_CPU_KEEP: %s is not loaded: %s", path,
           reason ? reason : "dlopen failed");
    return NULL;
  }
  tj_log(TJ_LOG_WARNING, "TRITON_JIT_CPU_KEEP: cannot write an object to %s: %s", folder,
         strerror(errno));
  return NULL;
}
