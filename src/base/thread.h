/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library keeps for each thread: its error record, scratch memory for large
 * calls, and its share of the counters. Created at a thread's first need, given back
 * when the thread ends.
 */
#ifndef TJ_BASE_THREAD_H
#define TJ_BASE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "triton_jit/status.h"

/* What one thread keeps of one function; only that thread writes. */
typedef struct tj_count {
  _Atomic uint64_t hits;
  _Atomic uint64_t launches;
  void *last; /* the variant of its last call; read by nobody else */
} tj_count;

typedef struct tj_thread {
  tj_status error_status;
  uint64_t error_serial;
  char *error_text; /* inline_text, or memory of its own */
  size_t error_capacity;
  char inline_text[256];

  uint8_t *scratch; /* in use up to scratch_used; calls nest like a stack */
  size_t scratch_used, scratch_capacity, scratch_wanted;

  tj_count *counts; /* by the function's index */
  uint32_t counts_capacity;

  struct tj_thread *next, **link;
} tj_thread;

/* Null until the thread has its block. Initial-exec: one load on the hot path. */
extern _Thread_local tj_thread *tj_thread_block __attribute__((tls_model("initial-exec")));

/* This thread's block; NULL if there is no memory for it. */
tj_thread *tj_thread_get(void);

/* Makes room in counts for `index`. False: no memory. */
bool tj_thread_grow_counts(tj_thread *thread, uint32_t index);

/* Adds up what all threads, living and ended, have counted for functions [first, last). */
void tj_thread_sum_counts(uint32_t first, uint32_t last, uint64_t *out_hits,
                          uint64_t *out_launches);

static inline void tj_count_add(_Atomic uint64_t *counter) {
  /* One writer: a plain add, no locked instruction. */
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

/* The counts of function `index` for this thread, or NULL without memory. */
static inline tj_count *tj_thread_counts(uint32_t index) {
  tj_thread *thread = tj_thread_block;
  if (__builtin_expect(thread == NULL || index >= thread->counts_capacity, 0)) {
    thread = tj_thread_get();
    if (thread == NULL || !tj_thread_grow_counts(thread, index)) return NULL;
  }
  return &thread->counts[index];
}

#endif /* TJ_BASE_THREAD_H */
