/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/flight.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"

struct tj_flight {
  tj_flight *next;
  tj_table *table;
  pthread_t owner;
  uint32_t references; /* the owner, and each that waits */
  bool ended, listed;
  tj_status status;
  tj_kernel *kernel;
  char *message; /* of a failure */
  pthread_cond_t ended_condition;
  uint64_t hash;
  size_t key_size;
  uint8_t key[];
};

/* A thread that waits; lives on its stack. */
typedef struct waiter {
  struct waiter *next;
  pthread_t thread;
  const tj_flight *flight;
} waiter;

/* Under TJ_LOCK_FLIGHTS. */
static tj_flight *flights;
static waiter *waiters;
static bool fork_handled;

/* The flights of other threads will never end here. They are not freed: their owners'
   memory is a copy that nobody uses. */
static void forget_in_child(void) {
  pthread_t self = pthread_self();
  tj_flight **link = &flights;
  while (*link) {
    tj_flight *flight = *link;
    if (pthread_equal(flight->owner, self)) {
      link = &flight->next;
    } else {
      flight->listed = false;
      *link = flight->next;
    }
  }
  waiters = NULL;
}

static void drop(tj_flight *flight) {
  if (--flight->references > 0) return;
  pthread_cond_destroy(&flight->ended_condition);
  free(flight->message);
  free(flight);
}

static tj_flight *find(const tj_table *table, const void *key, size_t size, uint64_t hash) {
  for (tj_flight *f = flights; f; f = f->next)
    if (f->table == table && f->hash == hash && f->key_size == size &&
        memcmp(f->key, key, size) == 0)
      return f;
  return NULL;
}

/* Whether waiting for `flight` would be waiting for this thread itself. */
static bool waits_for_me(const tj_flight *flight) {
  pthread_t self = pthread_self();
  while (flight) {
    if (pthread_equal(flight->owner, self)) return true;
    const waiter *w = waiters;
    while (w && !pthread_equal(w->thread, flight->owner)) w = w->next;
    flight = w ? w->flight : NULL;
  }
  return false;
}

static tj_status fail_recursion(const char *name) {
  return tj_fail(
      TJ_E_RECURSION,
      "a compile of '%s' needs the result of a call of the same variant; call it neither "
      "while its file is imported nor from a compile or load hook",
      name);
}

/* The room for its variant is taken now: what was compiled is never without a place. */
static tj_flight *begin(tj_table *table, const void *key, size_t size, uint64_t hash) {
  size_t under_way = 0;
  for (const tj_flight *f = flights; f; f = f->next) under_way += f->table == table;
  if (tj_table_reserve(table, under_way + 1) != TJ_OK) return NULL;
  tj_flight *flight = malloc(sizeof *flight + size);
  if (flight == NULL) return NULL;
  memset(flight, 0, sizeof *flight);
  if (pthread_cond_init(&flight->ended_condition, NULL) != 0) {
    free(flight);
    return NULL;
  }
  flight->table = table;
  flight->owner = pthread_self();
  flight->references = 1;
  flight->listed = true;
  flight->hash = hash;
  flight->key_size = size;
  memcpy(flight->key, key, size);
  flight->next = flights;
  flights = flight;
  return flight;
}

tj_join tj_flight_join(tj_table *table, const char *name, const void *key, size_t size,
                       uint64_t hash, tj_flight **out_flight, tj_kernel **out_kernel,
                       tj_status *out_status) {
  tj_join join = TJ_JOIN_FAILED;
  tj_lock_acquire(TJ_LOCK_FLIGHTS);
  if (!fork_handled) {
    fork_handled = true;
    tj_on_fork_child(forget_in_child);
  }
  tj_kernel *kernel = tj_table_find(table, key, size, hash);
  tj_flight *flight = kernel ? NULL : find(table, key, size, hash);
  if (kernel) {
    *out_kernel = kernel;
    join = TJ_JOIN_FOUND;
  } else if (flight == NULL) {
    *out_flight = begin(table, key, size, hash);
    if (*out_flight)
      join = TJ_JOIN_OWNED;
    else
      *out_status = tj_fail_memory();
  } else if (waits_for_me(flight)) {
    *out_status = fail_recursion(name);
  } else {
    flight->references++;
    *out_flight = flight;
    join = TJ_JOIN_WAIT;
  }
  tj_lock_release(TJ_LOCK_FLIGHTS);
  return join;
}

static void unlist(tj_flight *flight) {
  for (tj_flight **link = &flights; flight->listed && *link; link = &(*link)->next) {
    if (*link != flight) continue;
    *link = flight->next;
    break;
  }
  flight->listed = false;
}

void tj_flight_end(tj_flight *flight, tj_kernel *kernel, tj_status status) {
  char *message = kernel ? NULL : strdup(tj_last_error());
  tj_lock_acquire(TJ_LOCK_FLIGHTS);
  if (kernel) tj_table_add(flight->table, kernel);
  flight->ended = true;
  flight->kernel = kernel;
  flight->status = status;
  flight->message = message;
  unlist(flight);
  pthread_cond_broadcast(&flight->ended_condition);
  drop(flight);
  tj_lock_release(TJ_LOCK_FLIGHTS);
}

tj_status tj_flight_wait(tj_flight *flight, const char *name, tj_kernel **out_kernel) {
  tj_lock_acquire(TJ_LOCK_FLIGHTS);
  /* Since the join another thread may have begun to wait, for this one. */
  if (!flight->ended && waits_for_me(flight)) {
    tj_status status = fail_recursion(name);
    drop(flight);
    tj_lock_release(TJ_LOCK_FLIGHTS);
    return status;
  }
  waiter me = {waiters, pthread_self(), flight};
  waiters = &me;
  while (!flight->ended) tj_lock_wait(TJ_LOCK_FLIGHTS, &flight->ended_condition);
  waiter **link = &waiters;
  while (*link && *link != &me) link = &(*link)->next;
  if (*link) *link = me.next;
  tj_status status = flight->kernel ? TJ_OK : flight->status;
  if (status == TJ_OK)
    *out_kernel = flight->kernel;
  else
    tj_fail(status, "%s", flight->message ? flight->message : "out of memory");
  drop(flight);
  tj_lock_release(TJ_LOCK_FLIGHTS);
  return status;
}
