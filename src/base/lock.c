/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <stdatomic.h>
#include <stddef.h>

#define MAX_CHILD_HANDLERS 8

static pthread_mutex_t locks[TJ_LOCK_COUNT] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
_Static_assert(TJ_LOCK_COUNT == 9, "one initialiser for each lock");

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static void (*child_handlers[MAX_CHILD_HANDLERS])(void);
static atomic_int child_handler_count;

static void before_fork(void) {
  for (int i = 0; i < TJ_LOCK_COUNT; i++) pthread_mutex_lock(&locks[i]);
}

static void after_fork_in_parent(void) {
  for (int i = TJ_LOCK_COUNT; i-- > 0;) pthread_mutex_unlock(&locks[i]);
}

static void after_fork_in_child(void) {
  after_fork_in_parent();
  int n = atomic_load(&child_handler_count);
  for (int i = 0; i < n && i < MAX_CHILD_HANDLERS; i++) child_handlers[i]();
}

static void register_fork_handlers(void) {
  /* A failure (no memory) leaves forking while a lock is held unsafe; there is nothing
     better to do about it here. */
  (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void tj_lock_acquire(tj_lock_id id) {
  pthread_once(&fork_once, register_fork_handlers);
  pthread_mutex_lock(&locks[id]);
}

void tj_lock_release(tj_lock_id id) { pthread_mutex_unlock(&locks[id]); }

void tj_lock_wait(tj_lock_id id, pthread_cond_t *condition) {
  pthread_cond_wait(condition, &locks[id]);
}

void tj_on_fork_child(void (*child)(void)) {
  pthread_once(&fork_once, register_fork_handlers);
  tj_lock_acquire(TJ_LOCK_THREADS);
  int n = atomic_load(&child_handler_count);
  int known = 0;
  for (int i = 0; i < n; i++) known |= child_handlers[i] == child;
  if (!known && n < MAX_CHILD_HANDLERS) {
    child_handlers[n] = child;
    atomic_store(&child_handler_count, n + 1);
  }
  tj_lock_release(TJ_LOCK_THREADS);
}
