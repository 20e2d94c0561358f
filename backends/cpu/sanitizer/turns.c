/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/turns.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct seat {
  pthread_cond_t turn;
  bool over;
} seat;

struct tj_cpu_turns {
  pthread_mutex_t lock;
  uint32_t n, current;
  seat seats[];
};

tj_cpu_turns *tj_cpu_turns_new(uint32_t n) {
  tj_cpu_turns *turns = calloc(1, sizeof *turns + n * sizeof *turns->seats);
  if (turns == NULL) return NULL;
  pthread_mutex_init(&turns->lock, NULL);
  turns->n = n;
  for (uint32_t i = 0; i < n; i++) pthread_cond_init(&turns->seats[i].turn, NULL);
  return turns;
}

void tj_cpu_turns_free(tj_cpu_turns *turns) {
  for (uint32_t i = 0; i < turns->n; i++) pthread_cond_destroy(&turns->seats[i].turn);
  pthread_mutex_destroy(&turns->lock);
  free(turns);
}

static void wait_for(tj_cpu_turns *turns, uint32_t program) {
  while (turns->current != program) pthread_cond_wait(&turns->seats[program].turn, &turns->lock);
}

/* The next program that is not over; stays where it is if there is no other. */
static void give_on(tj_cpu_turns *turns) {
  for (uint32_t i = 1; i <= turns->n; i++) {
    uint32_t next = (turns->current + i) % turns->n;
    if (turns->seats[next].over) continue;
    turns->current = next;
    pthread_cond_signal(&turns->seats[next].turn);
    return;
  }
}

void tj_cpu_turns_enter(tj_cpu_turns *turns, uint32_t program) {
  pthread_mutex_lock(&turns->lock);
  wait_for(turns, program);
  pthread_mutex_unlock(&turns->lock);
}

void tj_cpu_turns_pass(tj_cpu_turns *turns) {
  pthread_mutex_lock(&turns->lock);
  uint32_t mine = turns->current;
  give_on(turns);
  wait_for(turns, mine);
  pthread_mutex_unlock(&turns->lock);
}

void tj_cpu_turns_leave(tj_cpu_turns *turns) {
  pthread_mutex_lock(&turns->lock);
  turns->seats[turns->current].over = true;
  give_on(turns);
  pthread_mutex_unlock(&turns->lock);
}
