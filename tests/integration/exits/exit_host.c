/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that calls a kernel and ends: exit_host STYLE [LIBRARY]. Built twice, linked
 * with the library (EXIT_LINKED), and opening LIBRARY with dlopen. Prints nothing and ends
 * with status 0, whatever the style.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "triton_jit/triton_jit.h"

static tj_status (*get)(const tj_function_desc *, tj_function **);
static tj_status (*call)(tj_function *, const tj_launch *, const tj_arg *, size_t);
static const char *(*last_error)(void);

#ifdef EXIT_LINKED

static void open_library(const char *path) {
  (void)path;
  get = tj_function_get_ex;
  call = tj_function_call;
  last_error = tj_last_error;
}
static void close_library(void) {}

#else

#include <dlfcn.h>

static void *library;

static void *symbol(const char *name) {
  void *address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(3);
  }
  return address;
}

static void open_library(const char *path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(3);
  }
  *(void **)&get = symbol("tj_function_get_ex");
  *(void **)&call = symbol("tj_function_call");
  *(void **)&last_error = symbol("tj_last_error");
}

static void close_library(void) {
  if (dlclose(library) != 0) _exit(4);
  library = NULL;
}

#endif

/* Calls elementwise.copy with enough programs for the library's own threads. */
static void use(void) {
  static float x[4096] __attribute__((aligned(64))), out[4096] __attribute__((aligned(64)));
  char path[PATH_MAX];
  const char *root = getenv("TJ_TEST_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/integration/kernels/elementwise.py", root ? root : ".");
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = path;
  desc.name = "copy";
  desc.backend = "cpu";
  tj_function *copy = NULL;
  for (int i = 0; i < 4096; i++) {
    x[i] = (float)i;
    out[i] = 0;
  }
  tj_launch launch = tj_launch_grid(64, 1, 1);
  tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(out, TJ_FP32), tj_int(4096), tj_int(64)};
  int right = get(&desc, &copy) == TJ_OK && call(copy, &launch, args, 4) == TJ_OK;
  for (int i = 0; i < 4096; i++) right = right && x[i] == out[i];
  if (!right) {
    fprintf(stderr, "%s\n", last_error());
    _exit(5);
  }
}

static void *use_and_exit(void *unused) {
  (void)unused;
  use();
  exit(0);
}

static void *use_and_end(void *unused) {
  (void)unused;
  use();
  return NULL;
}

static volatile int stop; /* never set: the process ends under this thread */

static void *call_all_the_time(void *unused) {
  (void)unused;
  while (!stop) use();
  return NULL;
}

static void start(void *(*body)(void *), int wait) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) _exit(6);
  if (wait && pthread_join(thread, NULL) != 0) _exit(6);
}

int main(int argc, char **argv) {
  const char *style = argc > 1 ? argv[1] : "";
  open_library(argc > 2 ? argv[2] : NULL);
  if (strcmp(style, "thread_exit") == 0) { /* exit() by a thread that is not the first */
    start(use_and_exit, 1);
    _exit(7);
  }
  if (strcmp(style, "thread_used") == 0) { /* only a thread that has ended used the library */
    start(use_and_end, 1);
    return 0;
  }
  use();
  if (strcmp(style, "return") == 0) return 0;
  if (strcmp(style, "exit") == 0) exit(0);
  if (strcmp(style, "quick_exit") == 0) quick_exit(0);
  if (strcmp(style, "busy") == 0) { /* while another thread calls */
    start(call_all_the_time, 0);
    usleep(20000);
    exit(0);
  }
  if (strcmp(style, "close") == 0) {
    close_library();
    return 0;
  }
  if (strcmp(style, "close_and_open") == 0) {
    close_library();
    open_library(argv[2]);
    use();
    close_library();
    exit(0);
  }
  if (strcmp(style, "thread_and_close") == 0) { /* the thread's own data outlives the handle */
    start(use_and_end, 1);
    close_library();
    start(use_and_end, 1);
    exit(0);
  }
  return 9;
}
