/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cooperative grids: programs that wait for each other, also for later ones, so all of
 * them must be running. Threads are made for the launch, and no program starts before all
 * threads are there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_launch.h"
#include "cpu/cpu_scratch.h"
#include "cpu/cpu_thread.h"
#include "cpu/sanitizer/turns.h"

#define MAX_PROGRAMS 1024u

typedef struct start_gate {
  tj_cpu_call *call;
  tj_cpu_turns *turns; /* NULL: all run at the same time */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t ready; /* threads that have what they need */
  enum { CLOSED, OPEN, GIVEN_UP } state;
} start_gate;

typedef struct member {
  start_gate *gate;
  pthread_t thread;
  uint32_t program;
} member;

/* True: the gate is open. */
static bool pass(start_gate *gate, bool have_memory) {
  pthread_mutex_lock(&gate->lock);
  if (have_memory)
    gate->ready++;
  else
    gate->state = GIVEN_UP;
  pthread_cond_broadcast(&gate->changed);
  while (gate->state == CLOSED) pthread_cond_wait(&gate->changed, &gate->lock);
  bool open = gate->state == OPEN;
  pthread_mutex_unlock(&gate->lock);
  return open;
}

static void run_program(start_gate *gate, void *scratch, uint32_t program) {
  if (gate->turns) tj_cpu_turns_enter(gate->turns, program);
  (void)tj_cpu_run_range(gate->call, scratch, program, (uint64_t)program + 1);
  if (gate->turns) tj_cpu_turns_leave(gate->turns);
}

static void *run_member(void *argument) {
  member *self = argument;
  tj_cpu_call *call = self->gate->call;
  tj_cpu_thread_enter();
  uint64_t size = call->module->scratch_size;
  void *scratch = size ? tj_cpu_scratch_take(size) : NULL;
  if (pass(self->gate, size == 0 || scratch)) run_program(self->gate, scratch, self->program);
  if (scratch) tj_cpu_scratch_give(scratch);
  return NULL;
}

/* Opens the gate when `threads` of the `wanted` threads are there and ready. */
static bool open_gate(start_gate *gate, uint32_t threads, uint32_t wanted) {
  pthread_mutex_lock(&gate->lock);
  if (threads < wanted) gate->state = GIVEN_UP;
  while (gate->state == CLOSED && gate->ready < wanted)
    pthread_cond_wait(&gate->changed, &gate->lock);
  if (gate->state == CLOSED) gate->state = OPEN;
  bool open = gate->state == OPEN;
  pthread_cond_broadcast(&gate->changed);
  pthread_mutex_unlock(&gate->lock);
  return open;
}

void tj_cpu_run_cooperative(tj_cpu_call *call, void *scratch, uint64_t total, tj_cpu_turns *turns) {
  char text[256];
  if (total > MAX_PROGRAMS) {
    (void)snprintf(text, sizeof text,
                   "its grid is cooperative and has %llu programs; each needs a thread of its "
                   "own, and the limit is %u",
                   (unsigned long long)total, MAX_PROGRAMS);
    tj_cpu_call_fail(call, TJ_E_OUT_OF_RESOURCES, text);
    return;
  }
  uint32_t wanted = (uint32_t)total - 1, started = 0;
  member *members = calloc(wanted, sizeof *members);
  if (members == NULL) {
    tj_cpu_call_fail(call, TJ_E_OUT_OF_MEMORY, "no memory for the threads of a cooperative grid");
    return;
  }
  start_gate gate = {call, turns, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, CLOSED};
  int error = 0;
  for (; started < wanted; started++) {
    member *next = &members[started];
    *next = (member){.gate = &gate, .program = started + 1};
    error = tj_cpu_thread_start(run_member, next, &next->thread);
    if (error != 0) break;
  }
  if (open_gate(&gate, started, wanted)) {
    run_program(&gate, scratch, 0);
  } else if (error != 0) {
    (void)snprintf(text, sizeof text,
                   "its grid is cooperative: each of its %llu programs needs a thread of its own, "
                   "and the system gave %u (%s)",
                   (unsigned long long)total, started, strerror(error));
    tj_cpu_call_fail(call, TJ_E_OUT_OF_RESOURCES, text);
  } else {
    tj_cpu_call_fail(call, TJ_E_OUT_OF_MEMORY,
                     "no memory for the scratch of a cooperative grid, of which each program "
                     "needs its own");
  }
  for (uint32_t i = 0; i < started; i++) pthread_join(members[i].thread, NULL);
  free(members);
}
