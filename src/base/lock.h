/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's global locks. They are held shortly, never across a compile, a load, a
 * callback or a driver call, and taken in the order of this list. tj_lock_acquire makes
 * them safe over fork(): the first use registers handlers that hold all of them while
 * the process forks, so that a child never inherits one that is locked by a thread it
 * does not have.
 */
#ifndef TJ_BASE_LOCK_H
#define TJ_BASE_LOCK_H

#include <pthread.h>

typedef enum tj_lock_id {
  TJ_LOCK_PREPARE,   /* queue of asynchronous prepares */
  TJ_LOCK_FUNCTIONS, /* registry of functions */
  TJ_LOCK_OPTIONS,   /* interned option sets */
  TJ_LOCK_TARGETS,   /* interned targets */
  TJ_LOCK_BACKENDS,  /* state of the backends */
  TJ_LOCK_FLIGHTS,   /* compiles under way, and publishing in the variant tables */
  TJ_LOCK_COMPILER,  /* choice of the compiler */
  TJ_LOCK_HOOKS,     /* log and hooks being replaced */
  TJ_LOCK_THREADS,   /* list of threads, and sums of their counts */
  TJ_LOCK_COUNT
} tj_lock_id;

void tj_lock_acquire(tj_lock_id id);
void tj_lock_release(tj_lock_id id);

/* Waits on `condition` with lock `id`, which the caller holds. */
void tj_lock_wait(tj_lock_id id, pthread_cond_t *condition);

/*
 * Runs `child` in every child process after a fork, on its only thread, with no lock
 * held, in the order of registration. For state that belongs to threads left behind.
 * At most a handful; call from under any lock but TJ_LOCK_THREADS, once a function.
 */
void tj_on_fork_child(void (*child)(void));

#endif /* TJ_BASE_LOCK_H */
