/* SPDX-License-Identifier: Apache-2.0 */
#include "load/backends.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/str.h"
#include "triton_jit/runtime.h"

#define TJ_BACKEND(name) extern const tj_backend tj_backend_##name;
#include "tj_backends.def"
#undef TJ_BACKEND

static tj_backend_state states[] = {
#define TJ_BACKEND(name) {.backend = &tj_backend_##name, .load_lock = PTHREAD_MUTEX_INITIALIZER},
#include "tj_backends.def"
#undef TJ_BACKEND
};
#define N_STATES (sizeof states / sizeof *states)

enum { UNKNOWN, PRESENT, ABSENT };

/* ---- presence ------------------------------------------------------------------------------ */

static void renew_load_locks_in_child(void) {
  pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  for (size_t i = 0; i < N_STATES; i++) states[i].load_lock = fresh;
}

static int probe(tj_backend_state *state) {
  int32_t devices = 0;
  tj_kept_error *kept = tj_error_keep(); /* looking is not failing */
  tj_status status = state->backend->probe(&devices);
  if (status == TJ_OK && devices <= 0)
    status = tj_fail(TJ_E_BACKEND_UNAVAILABLE, "its driver reports no device");
  if (status != TJ_OK) state->reason = strdup(tj_last_error());
  tj_error_put_back(kept);
  if (status != TJ_OK) return ABSENT;
  atomic_store_explicit(&state->devices, devices < TJ_MAX_DEVICES ? devices : TJ_MAX_DEVICES,
                        memory_order_release);
  return PRESENT;
}

static int presence(tj_backend_state *state) {
  int known = atomic_load_explicit(&state->probed, memory_order_acquire);
  if (known != UNKNOWN) return known;
  /* A driver takes its time to open: the backend's own lock is held, no global one. */
  tj_on_fork_child(renew_load_locks_in_child);
  pthread_mutex_lock(&state->load_lock);
  known = atomic_load_explicit(&state->probed, memory_order_relaxed);
  if (known == UNKNOWN) {
    known = probe(state);
    atomic_store_explicit(&state->probed, known, memory_order_release);
  }
  pthread_mutex_unlock(&state->load_lock);
  return known;
}

bool tj_backend_is_present(tj_backend_state *state) { return presence(state) == PRESENT; }

tj_status tj_backend_require(tj_backend_state *state) {
  if (tj_backend_is_present(state)) return TJ_OK;
  return tj_fail(TJ_E_BACKEND_UNAVAILABLE, "backend '%s' is not available here: %s",
                 state->backend->name, state->reason ? state->reason : "unknown reason");
}

static tj_status unknown_backend(const char *name) {
  tj_str names = {0};
  for (size_t i = 0; i < N_STATES; i++)
    tj_str_printf(&names, "%s%s", i ? ", " : "", states[i].backend->name);
  tj_status status = tj_fail(TJ_E_UNKNOWN_BACKEND, "no backend '%s'; this library has: %s", name,
                             tj_str_text(&names));
  tj_str_free(&names);
  return status;
}

static tj_backend_state *by_name(const char *name) {
  for (size_t i = 0; i < N_STATES; i++)
    if (strcmp(states[i].backend->name, name) == 0) return &states[i];
  return NULL;
}

tj_status tj_backend_find(const char *name, tj_backend_state **out_state) {
  tj_backend_state *found = NULL;
  if (name) {
    found = by_name(name);
    if (found == NULL) return unknown_backend(name);
  } else {
    for (size_t i = 0; i < N_STATES && found == NULL; i++) {
      bool candidate = !(states[i].backend->flags & TJ_BACKEND_EXPLICIT);
      if (candidate && presence(&states[i]) == PRESENT) found = &states[i];
    }
    if (found == NULL) found = by_name("cpu");
    if (found == NULL)
      return tj_fail(TJ_E_BACKEND_UNAVAILABLE,
                     "no backend that is built in is present on this machine; name one, or build "
                     "the library with the cpu backend");
  }
  *out_state = found;
  return TJ_OK;
}

uint32_t tj_backend_count(void) { return N_STATES; }

tj_status tj_backend_get_info(uint32_t index, tj_backend_info *out_info) {
  if (out_info == NULL) return tj_fail_null("tj_backend_get_info", "out_info");
  if (out_info->struct_size < sizeof *out_info)
    return tj_fail_size("tj_backend_info", out_info->struct_size, sizeof *out_info);
  if (index >= N_STATES)
    return tj_fail(TJ_E_INVALID, "tj_backend_get_info: index %u, but there are %zu backends", index,
                   N_STATES);
  tj_backend_state *state = &states[index];
  int32_t available = presence(state) == PRESENT;
  out_info->available = available;
  out_info->devices = available ? state->devices : 0;
  out_info->reserved = 0;
  out_info->name = state->backend->name;
  out_info->reason = available || state->reason == NULL ? "" : state->reason;
  return TJ_OK;
}

tj_status tj_backend_check_device(tj_backend_state *state, int32_t device, int32_t *out_device) {
  if (__builtin_expect(atomic_load_explicit(&state->probed, memory_order_acquire) != PRESENT, 0)) {
    tj_status status = tj_backend_require(state);
    if (status != TJ_OK) return status;
  }
  if (device < 0) {
    tj_status status = state->backend->current_device(&device);
    if (status != TJ_OK) return status;
  }
  if (__builtin_expect((uint32_t)device >= (uint32_t)state->devices, 0))
    return tj_fail(TJ_E_DEVICE, "device %d of backend '%s' does not exist: it has %d, from 0 to %d",
                   device, state->backend->name, state->devices, state->devices - 1);
  *out_device = device;
  return TJ_OK;
}

/* ---- targets ------------------------------------------------------------------------------- */

/* Under TJ_LOCK_TARGETS; entries never change once they are in. */
static tj_map target_ids;
static tj_target *targets[4096];
static uint32_t n_targets;

static tj_target *copy_target(const tj_target *target) {
  size_t backend = strlen(target->backend) + 1, arch = strlen(target->arch) + 1;
  tj_target *copy = malloc(sizeof *copy + backend + arch);
  if (copy == NULL) return NULL;
  char *text = (char *)(copy + 1);
  memcpy(text, target->backend, backend);
  memcpy(text + backend, target->arch, arch);
  *copy = (tj_target){sizeof *copy, target->warp_size, text, text + backend};
  return copy;
}

static uint32_t add_target(const tj_target *target, const tj_str *text) {
  if (n_targets == sizeof targets / sizeof *targets) return 0;
  tj_target *copy = copy_target(target);
  union {
    uintptr_t number;
    void *pointer;
  } id = {.number = n_targets + 1u};
  if (copy == NULL || !tj_map_set(&target_ids, text->data, text->size, id.pointer)) {
    free(copy);
    return 0;
  }
  targets[n_targets++] = copy;
  return n_targets;
}

tj_status tj_target_intern(const tj_target *target, uint32_t *out_id) {
  if (target->struct_size < sizeof *target)
    return tj_fail_size("tj_target", target->struct_size, sizeof *target);
  if (target->backend == NULL || target->arch == NULL)
    return tj_fail(TJ_E_NULL, "a tj_target needs backend and arch, like {\"cuda\", \"90\"}");
  tj_str text = {0};
  tj_str_printf(&text, "%zu %u %s%s", strlen(target->backend), target->warp_size, target->backend,
                target->arch);
  uint32_t id = 0;
  if (!text.failed) {
    tj_lock_acquire(TJ_LOCK_TARGETS);
    id = (uint32_t)(uintptr_t)tj_map_get(&target_ids, text.data, text.size);
    if (id == 0) id = add_target(target, &text);
    tj_lock_release(TJ_LOCK_TARGETS);
  }
  tj_str_free(&text);
  if (id == 0) return tj_fail_memory();
  *out_id = id;
  return TJ_OK;
}

const tj_target *tj_target_of(uint32_t id) {
  tj_lock_acquire(TJ_LOCK_TARGETS);
  const tj_target *target = id > 0 && id <= n_targets ? targets[id - 1] : NULL;
  tj_lock_release(TJ_LOCK_TARGETS);
  return target;
}

tj_status tj_backend_ask_target(tj_backend_state *state, int32_t device, uint32_t *out_id) {
  tj_target target = TJ_TARGET_INIT;
  tj_status status = state->backend->target(device, &target);
  if (status == TJ_OK) status = tj_target_intern(&target, out_id);
  if (status == TJ_OK)
    atomic_store_explicit(&state->target_ids[device], *out_id, memory_order_relaxed);
  return status;
}
