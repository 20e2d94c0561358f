/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/error.h"
#include "load/backends.h"

static tj_status load(const tj_backend *backend, tj_kernel *kernel, int32_t device,
                      uint64_t context, tj_module **out_module) {
  tj_module *module = calloc(1, sizeof *module);
  if (module == NULL) return tj_fail_memory();
  module->device = device;
  module->context = context;
  tj_status status = backend->load(&kernel->artifact, device, context, &module->handle);
  if (status != TJ_OK) {
    free(module);
    return status;
  }
  /* Only holders of the load lock change the list. */
  module->next = atomic_load_explicit(&kernel->modules, memory_order_relaxed);
  atomic_store_explicit(&kernel->modules, module, memory_order_release);
  *out_module = module;
  return TJ_OK;
}

tj_status tj_module_load(tj_backend_state *state, tj_kernel *kernel, int32_t device,
                         uint64_t context, tj_module **out_module) {
  pthread_mutex_lock(&state->load_lock);
  *out_module = tj_module_find(kernel, device, context);
  tj_status status = TJ_OK;
  if (*out_module == NULL) status = load(state->backend, kernel, device, context, out_module);
  pthread_mutex_unlock(&state->load_lock);
  return status;
}

void tj_module_unload_all(tj_backend_state *state, tj_kernel *kernel) {
  pthread_mutex_lock(&state->load_lock);
  tj_module *module = atomic_exchange_explicit(&kernel->modules, NULL, memory_order_acq_rel);
  while (module) {
    tj_module *next = module->next;
    state->backend->unload(module->handle);
    free(module);
    module = next;
  }
  pthread_mutex_unlock(&state->load_lock);
}
