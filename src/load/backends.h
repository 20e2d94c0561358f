/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backends that are built in: which are present, their devices and targets, and the
 * loading of variants into their contexts.
 */
#ifndef TJ_LOAD_BACKENDS_H
#define TJ_LOAD_BACKENDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/variant.h"
#include "triton_jit/sys/backend.h"

#define TJ_MAX_DEVICES 256

typedef struct tj_backend_state {
  const tj_backend *backend;
  pthread_mutex_t load_lock; /* loads and unloads, one at a time */
  _Atomic int probed;        /* 0: not yet, 1: there, 2: not there */
  _Atomic int32_t devices;
  char *reason;                                /* why it is not there */
  _Atomic uint32_t target_ids[TJ_MAX_DEVICES]; /* 0: not asked yet */
} tj_backend_state;

/* The backend of that name, or, if NULL, the first that is present, else "cpu". */
tj_status tj_backend_find(const char *name, tj_backend_state **out_state);

/* Whether its driver is there; opens it if it is not open. Records no error. */
bool tj_backend_is_present(tj_backend_state *state);

/* The same as a status; TJ_E_BACKEND_UNAVAILABLE with the reason. */
tj_status tj_backend_require(tj_backend_state *state);

/* The device that a launch means, checked: `device`, or the current one if it is negative. */
tj_status tj_backend_check_device(tj_backend_state *state, int32_t device, int32_t *out_device);

static inline tj_status tj_backend_device(tj_backend_state *state, int32_t device,
                                          int32_t *out_device) {
  /* `devices` is 0 until the backend was found to be present. */
  uint32_t devices = (uint32_t)atomic_load_explicit(&state->devices, memory_order_acquire);
  *out_device = device;
  if (device < 0 && (devices == 0 || state->backend->current_device(out_device) != TJ_OK))
    return tj_backend_check_device(state, device, out_device);
  return (uint32_t)*out_device < devices ? TJ_OK
                                         : tj_backend_check_device(state, device, out_device);
}

/* Target ids: small numbers for {backend, arch, warp size}, 0 for none. */
tj_status tj_target_intern(const tj_target *target, uint32_t *out_id);
const tj_target *tj_target_of(uint32_t id);

/* The target id of a device of the backend: asked once. */
tj_status tj_backend_ask_target(tj_backend_state *state, int32_t device, uint32_t *out_id);

static inline tj_status tj_backend_target(tj_backend_state *state, int32_t device,
                                          uint32_t *out_id) {
  *out_id = atomic_load_explicit(&state->target_ids[device], memory_order_relaxed);
  return *out_id ? TJ_OK : tj_backend_ask_target(state, device, out_id);
}

/* The variant's module for a context of a device, or NULL if it is not loaded there. */
static inline tj_module *tj_module_find(const tj_kernel *kernel, int32_t device, uint64_t context) {
  tj_module *module = atomic_load_explicit(&kernel->modules, memory_order_acquire);
  while (module && (module->device != device || module->context != context)) module = module->next;
  return module;
}

/* The context of a stream of a device: 0 if the backend has no notion of it. */
static inline tj_status tj_backend_context(const tj_backend *backend, int32_t device, void *stream,
                                           uint64_t *out_context) {
  *out_context = 0;
  return backend->context ? backend->context(device, stream, out_context) : TJ_OK;
}

/* Loads the variant there, or finds that another thread has. May be slow. */
tj_status tj_module_load(tj_backend_state *state, tj_kernel *kernel, int32_t device,
                         uint64_t context, tj_module **out_module);

/* Unloads all modules of a variant. Nothing may be using them. */
void tj_module_unload_all(tj_backend_state *state, tj_kernel *kernel);

#endif /* TJ_LOAD_BACKENDS_H */
