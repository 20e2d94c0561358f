/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of null_backend.h. Not part of the template. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "null/null_backend.h"

_Atomic uint32_t tj_null_watching;

/* Targets that were set, kept: what `target` hands out must stay valid. */
#define MAX_TARGETS 64
typedef struct target {
  char backend[16], arch[32];
  uint32_t warp_size;
} target;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything below */
static target targets[MAX_TARGETS] = {{"cuda", "90", 32}};
static uint32_t target_count = 1, current_target;
static bool recording;
static tj_null_launch ring[TJ_NULL_RING];
static uint64_t recorded, loads, unloads;
static tj_status load_status, launch_status;
static uint32_t load_faults, launch_faults, load_delay;

static _Atomic int32_t current_device; /* alone: it is read on the way of every call */

/* Under the lock. */
static void update_watching(void) {
  atomic_store(&tj_null_watching, (uint32_t)(recording || launch_faults > 0));
}

void tj_null_reset(void) {
  pthread_mutex_lock(&lock);
  current_target = 0;
  recording = false;
  recorded = loads = unloads = 0;
  load_faults = launch_faults = load_delay = 0;
  atomic_store(&current_device, 0);
  update_watching();
  pthread_mutex_unlock(&lock);
}

void tj_null_set_target(const char *backend, const char *arch, uint32_t warp_size) {
  target wanted = {.warp_size = warp_size};
  (void)snprintf(wanted.backend, sizeof wanted.backend, "%s", backend);
  (void)snprintf(wanted.arch, sizeof wanted.arch, "%s", arch);
  pthread_mutex_lock(&lock);
  uint32_t i = 0;
  while (i < target_count &&
         (strcmp(targets[i].backend, wanted.backend) != 0 ||
          strcmp(targets[i].arch, wanted.arch) != 0 || targets[i].warp_size != wanted.warp_size))
    i++;
  if (i == target_count && target_count < MAX_TARGETS) targets[target_count++] = wanted;
  if (i < target_count) current_target = i;
  pthread_mutex_unlock(&lock);
}

void tj_null_get_target(tj_target *out_target) {
  pthread_mutex_lock(&lock);
  const target *t = &targets[current_target];
  *out_target = (tj_target){(uint32_t)sizeof *out_target, t->warp_size, t->backend, t->arch};
  pthread_mutex_unlock(&lock);
}

void tj_null_set_device(int32_t device) { atomic_store(&current_device, device); }

int32_t tj_null_get_device(void) {
  return atomic_load_explicit(&current_device, memory_order_relaxed);
}

void tj_null_record(bool on) {
  pthread_mutex_lock(&lock);
  recording = on;
  update_watching();
  pthread_mutex_unlock(&lock);
}

uint64_t tj_null_launches(tj_null_launch *out, size_t max) {
  pthread_mutex_lock(&lock);
  uint64_t total = recorded;
  uint64_t kept = total < TJ_NULL_RING ? total : TJ_NULL_RING;
  uint64_t n = kept < max ? kept : max;
  for (uint64_t i = 0; i < n; i++) out[i] = ring[(total - kept + i) % TJ_NULL_RING];
  pthread_mutex_unlock(&lock);
  return total;
}

static uint64_t locked_read(const uint64_t *count) {
  pthread_mutex_lock(&lock);
  uint64_t value = *count;
  pthread_mutex_unlock(&lock);
  return value;
}

uint64_t tj_null_loads(void) { return locked_read(&loads); }
uint64_t tj_null_unloads(void) { return locked_read(&unloads); }

void tj_null_fail_load(tj_status status, uint32_t times) {
  pthread_mutex_lock(&lock);
  load_status = status;
  load_faults = times;
  pthread_mutex_unlock(&lock);
}

void tj_null_fail_launch(tj_status status, uint32_t times) {
  pthread_mutex_lock(&lock);
  launch_status = status;
  launch_faults = times;
  update_watching();
  pthread_mutex_unlock(&lock);
}

void tj_null_delay_load(uint32_t milliseconds) {
  pthread_mutex_lock(&lock);
  load_delay = milliseconds;
  pthread_mutex_unlock(&lock);
}

tj_status tj_null_on_load(void) {
  pthread_mutex_lock(&lock);
  uint32_t delay = load_delay;
  tj_status status = TJ_OK;
  if (load_faults > 0) {
    load_faults--;
    status = load_status;
  } else {
    loads++;
  }
  pthread_mutex_unlock(&lock);
  struct timespec time = {delay / 1000, (long)(delay % 1000) * 1000000};
  while (delay > 0 && nanosleep(&time, &time) != 0) {
  }
  if (status == TJ_OK) return TJ_OK;
  return tj_fail(status, "null backend: this load was told to fail");
}

void tj_null_on_unload(void) {
  pthread_mutex_lock(&lock);
  unloads++;
  pthread_mutex_unlock(&lock);
}

tj_status tj_null_on_launch(void *module, const tj_backend_launch *launch) {
  pthread_mutex_lock(&lock);
  tj_status status = TJ_OK;
  if (launch_faults > 0) {
    launch_faults--;
    status = launch_status;
    update_watching();
  } else if (recording) {
    tj_null_launch *entry = &ring[recorded++ % TJ_NULL_RING];
    uint32_t size = launch->params_size;
    *entry = (tj_null_launch){.artifact = launch->artifact,
                              .function = launch->artifact ? launch->artifact->function : NULL,
                              .module = module,
                              .stream = launch->stream,
                              .device = launch->device,
                              .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                              .params_size = size};
    if (size > 0)
      memcpy(entry->params, launch->params, size < TJ_NULL_PARAMS_MAX ? size : TJ_NULL_PARAMS_MAX);
  }
  pthread_mutex_unlock(&lock);
  if (status == TJ_OK) return TJ_OK;
  return tj_fail(status, "null backend: this launch was told to fail");
}
