/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous prepares: a queue, and a few threads that live while there is work in it.
 * The queue is under TJ_LOCK_PREPARE; a job belongs to whoever has taken it out. A
 * forked child begins with an empty queue: its parent's jobs are its parent's.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "call.h"

/* Compiles hold Python's lock for most of their time: more threads would only wait. */
#define MAX_THREADS 2

typedef struct job {
  struct job *next;
  tj_want want; /* its key lies behind the job */
  tj_prepared_fn done;
  void *user;
} job;

static job *first, **last = &first;
static int threads;
static int fork_handled;

static void forget_in_child(void) {
  first = NULL;
  last = &first;
  threads = 0;
}

static job *take(void) {
  tj_lock_acquire(TJ_LOCK_PREPARE);
  job *next = first;
  if (next) {
    first = next->next;
    if (first == NULL) last = &first;
  } else {
    threads--;
  }
  tj_lock_release(TJ_LOCK_PREPARE);
  return next;
}

static void *work(void *unused) {
  (void)unused;
  for (job *next = take(); next; next = take()) {
    tj_kernel *kernel = NULL;
    tj_module *module = NULL;
    tj_status status = tj_want_get(&next->want, &kernel, &module);
    if (next->done) next->done(next->user, status, kernel, status == TJ_OK ? "" : tj_last_error());
    free(next);
  }
  return NULL;
}

/* The host's signals are not for our threads. */
static int start_thread(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int error = pthread_create(&thread, NULL, work, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) pthread_detach(thread);
  return error;
}

static tj_status enqueue(job *next) {
  tj_status status = TJ_OK;
  tj_lock_acquire(TJ_LOCK_PREPARE);
  if (!fork_handled) {
    fork_handled = 1;
    tj_on_fork_child(forget_in_child);
  }
  if (threads < MAX_THREADS) {
    if (start_thread() == 0)
      threads++;
    else if (threads == 0)
      status = tj_fail(TJ_E_OUT_OF_MEMORY, "no thread can be started for an asynchronous prepare");
  }
  if (status == TJ_OK) {
    *last = next;
    last = &next->next;
  }
  tj_lock_release(TJ_LOCK_PREPARE);
  return status;
}

static tj_status prepare_async(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                               size_t n_args, tj_prepared_fn done, void *user) {
  tj_bound bound;
  tj_want want;
  tj_status status = tj_want_bind(fn, launch, args, n_args, true, &bound, &want);
  if (status != TJ_OK) return status;
  job *next = calloc(1, sizeof *next + want.key_size);
  if (next) {
    memcpy(next + 1, want.key, want.key_size);
    next->want = want;
    next->want.key = next + 1;
    next->done = done;
    next->user = user;
    status = enqueue(next);
    if (status != TJ_OK) free(next);
  } else {
    status = tj_fail_memory();
  }
  tj_bound_release(&bound);
  return status;
}

tj_status tj_function_prepare_async(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                                    size_t n_args, tj_prepared_fn done, void *user) {
  tj_status status;
  if (fn == NULL)
    status = tj_fail_null("tj_function_prepare_async", "fn");
  else if (launch == NULL)
    status = tj_fail_null("tj_function_prepare_async", "launch");
  else if (args == NULL && n_args > 0)
    status = tj_fail_null("tj_function_prepare_async", "args (with n_args > 0)");
  else
    status = prepare_async(fn, launch, args, n_args, done, user);
  return tj_launch_deliver(launch, status);
}
