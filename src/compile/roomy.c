/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/roomy.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compile/compiler.h"

#define ENOUGH ((size_t)1 << 20)      /* a small kernel takes 0.1 MiB; large ones recurse more */
#define STACK_SIZE ((size_t)16 << 20) /* address space; only what is used becomes memory */

static bool has_room(void) {
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  int error = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = (uintptr_t)lowest;
  /* Outside: a coroutine's stack, about which nothing is known. */
  return error != 0 || (here >= low + ENOUGH && here - low < size);
}

typedef struct job {
  tj_status (*work)(void *argument);
  void *argument;
  tj_status status;
  char *message; /* of a failure: the record is the working thread's own */
} job;

static void *run(void *argument) {
  job *j = argument;
  j->status = j->work(j->argument);
  if (j->status != TJ_OK) j->message = strdup(tj_last_error());
  return NULL;
}

/* Starts it with all signals blocked: the host's handlers are not for this thread. */
static int start(pthread_t *out_thread, job *j) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return error;
  sigset_t all, before;
  sigfillset(&all);
  error = pthread_attr_setstacksize(&attributes, STACK_SIZE);
  if (error == 0) error = pthread_sigmask(SIG_SETMASK, &all, &before);
  if (error == 0) {
    error = pthread_create(out_thread, &attributes, run, j);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  pthread_attr_destroy(&attributes);
  return error;
}

tj_status tj_roomy_call(tj_status (*work)(void *argument), void *argument) {
  if (has_room()) return work(argument);
  void *token = tj_python_suspend();
  job j = {work, argument, TJ_OK, NULL};
  pthread_t thread;
  int error = start(&thread, &j);
  if (error == 0) pthread_join(thread, NULL);
  tj_python_resume(token);
  if (error)
    return tj_fail(TJ_E_OUT_OF_MEMORY,
                   "this thread's stack is too small for a compile, and another thread cannot be "
                   "started: %s",
                   strerror(error));
  if (j.status != TJ_OK) {
    if (j.message) {
      tj_fail_text(j.status, j.message, strlen(j.message));
    } else {
      tj_fail_memory();
    }
    free(j.message);
  }
  return j.status;
}
