/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define ALIGNMENT ((size_t)64)
/* A block larger than this goes back to the system after its launch: a guest should not
   sit on much memory, and next to such a launch an allocation costs nothing. */
#define KEEP_MAX ((uint64_t)16 << 20)

/* Lies before the memory handed out, and takes ALIGNMENT bytes. */
typedef struct block {
  uint64_t size; /* bytes handed out */
} block;

static _Thread_local block *own __attribute__((tls_model("initial-exec")));
static _Thread_local bool watched __attribute__((tls_model("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

/* The key's value only says that this thread has to be looked after. */
static void thread_ended(void *value) {
  (void)value;
  free(own);
  own = NULL;
  watched = false; /* another destructor may still launch something */
}

static void make_key(void) { have_key = pthread_key_create(&key, thread_ended) == 0; }

static block *make_block(uint64_t size) {
  if (size > SIZE_MAX - 2 * ALIGNMENT) return NULL;
  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  block *made = aligned_alloc(ALIGNMENT, (size_t)size + ALIGNMENT);
  if (made) made->size = size;
  return made;
}

void *tj_cpu_scratch_take(uint64_t size) {
  block *taken = own;
  own = NULL;
  if (__builtin_expect(taken == NULL || taken->size < size, 0)) {
    free(taken);
    taken = make_block(size);
    if (taken == NULL) return NULL;
  }
  return (char *)taken + ALIGNMENT;
}

void tj_cpu_scratch_give(void *scratch) {
  block *given = (block *)((char *)scratch - ALIGNMENT);
  if (__builtin_expect(given->size > KEEP_MAX || own != NULL, 0)) {
    free(given);
    return;
  }
  own = given;
  if (__builtin_expect(!watched, 0)) {
    pthread_once(&key_once, make_key);
    /* Without a key the block outlives its thread: a leak, no harm. */
    watched = true;
    if (have_key) (void)pthread_setspecific(key, &watched);
  }
}
