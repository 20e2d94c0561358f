/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scratch.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/thread.h"

void *tj_scratch_take(size_t size) {
  tj_thread *thread = tj_thread_get();
  if (thread == NULL || size > SIZE_MAX / 4) return NULL;
  size = (size + 15) & ~(size_t)15;
  if (thread->scratch_used == 0 && thread->scratch_wanted > thread->scratch_capacity) {
    free(thread->scratch);
    thread->scratch = malloc(thread->scratch_wanted);
    thread->scratch_capacity = thread->scratch ? thread->scratch_wanted : 0;
  }
  if (size <= thread->scratch_capacity - thread->scratch_used) {
    uint8_t *memory = thread->scratch + thread->scratch_used;
    thread->scratch_used += size;
    return memory;
  }
  if (thread->scratch_used + size > thread->scratch_wanted)
    thread->scratch_wanted = thread->scratch_used + size;
  return malloc(size);
}

void tj_scratch_give(void *memory) {
  if (memory == NULL) return;
  tj_thread *thread = tj_thread_block; /* not null: something was taken */
  uintptr_t at = (uintptr_t)memory, block = (uintptr_t)thread->scratch;
  if (thread->scratch && at >= block && at < block + thread->scratch_capacity)
    thread->scratch_used = at - block;
  else
    free(memory);
}
