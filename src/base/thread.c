/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"

_Thread_local tj_thread *tj_thread_block __attribute__((tls_model("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

/* Under TJ_LOCK_THREADS. */
static tj_thread *threads;
static tj_count *ended; /* what ended threads had counted */
static uint32_t ended_capacity;

static bool grow(tj_count **counts, uint32_t *capacity, uint32_t index) {
  uint32_t wanted = *capacity ? *capacity : 64;
  while (wanted <= index) {
    if (wanted > UINT32_MAX / 2) return false;
    wanted *= 2;
  }
  tj_count *bigger = calloc(wanted, sizeof *bigger);
  if (bigger == NULL) return false;
  for (uint32_t i = 0; i < *capacity; i++) {
    atomic_init(&bigger[i].hits, atomic_load_explicit(&(*counts)[i].hits, memory_order_relaxed));
    atomic_init(&bigger[i].launches,
                atomic_load_explicit(&(*counts)[i].launches, memory_order_relaxed));
    bigger[i].last = (*counts)[i].last;
  }
  free(*counts);
  *counts = bigger;
  *capacity = wanted;
  return true;
}

static void add_to_ended(const tj_thread *thread) {
  for (uint32_t i = 0; i < thread->counts_capacity; i++) {
    uint64_t hits = atomic_load_explicit(&thread->counts[i].hits, memory_order_relaxed);
    uint64_t launches = atomic_load_explicit(&thread->counts[i].launches, memory_order_relaxed);
    if (hits == 0 && launches == 0) continue;
    if (i >= ended_capacity && !grow(&ended, &ended_capacity, i)) return;
    atomic_fetch_add_explicit(&ended[i].hits, hits, memory_order_relaxed);
    atomic_fetch_add_explicit(&ended[i].launches, launches, memory_order_relaxed);
  }
}

static void thread_ended(void *block) {
  tj_thread *thread = block;
  tj_lock_acquire(TJ_LOCK_THREADS);
  add_to_ended(thread);
  *thread->link = thread->next;
  if (thread->next) thread->next->link = thread->link;
  tj_lock_release(TJ_LOCK_THREADS);
  tj_thread_block = NULL;
  if (thread->error_text != thread->inline_text) free(thread->error_text);
  free(thread->scratch);
  free(thread->counts);
  free(thread);
}

static void make_key(void) { have_key = pthread_key_create(&key, thread_ended) == 0; }

tj_thread *tj_thread_get(void) {
  if (tj_thread_block) return tj_thread_block;
  tj_thread *thread = calloc(1, sizeof *thread);
  if (thread == NULL) return NULL;
  thread->error_text = thread->inline_text;
  thread->error_capacity = sizeof thread->inline_text;
  pthread_once(&key_once, make_key);
  /* Without a key the block outlives its thread: a small leak, no harm. */
  if (have_key) (void)pthread_setspecific(key, thread);
  tj_lock_acquire(TJ_LOCK_THREADS);
  thread->next = threads;
  thread->link = &threads;
  if (threads) threads->link = &thread->next;
  threads = thread;
  tj_lock_release(TJ_LOCK_THREADS);
  tj_thread_block = thread;
  return thread;
}

bool tj_thread_grow_counts(tj_thread *thread, uint32_t index) {
  if (index < thread->counts_capacity) return true;
  tj_lock_acquire(TJ_LOCK_THREADS); /* a reader may be summing over the old array */
  bool ok = grow(&thread->counts, &thread->counts_capacity, index);
  tj_lock_release(TJ_LOCK_THREADS);
  return ok;
}

static void add_counts(const tj_count *counts, uint32_t capacity, uint32_t first, uint32_t last,
                       uint64_t *hits, uint64_t *launches) {
  for (uint32_t i = first; i < last && i < capacity; i++) {
    *hits += atomic_load_explicit(&counts[i].hits, memory_order_relaxed);
    *launches += atomic_load_explicit(&counts[i].launches, memory_order_relaxed);
  }
}

void tj_thread_sum_counts(uint32_t first, uint32_t last, uint64_t *out_hits,
                          uint64_t *out_launches) {
  *out_hits = 0;
  *out_launches = 0;
  tj_lock_acquire(TJ_LOCK_THREADS);
  add_counts(ended, ended_capacity, first, last, out_hits, out_launches);
  for (const tj_thread *t = threads; t; t = t->next)
    add_counts(t->counts, t->counts_capacity, first, last, out_hits, out_launches);
  tj_lock_release(TJ_LOCK_THREADS);
}
