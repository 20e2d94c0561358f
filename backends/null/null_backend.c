/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend without hardware: it takes any artifact and runs nothing. Unit tests use it
 * for the stages above, and benchmarks for the library's own cost.
 *
 * It is also the template for a new backend. Copy this file to backends/<name>/, rename,
 * add the name to TJ_BACKENDS, and replace each body by what its comment says. What only
 * tests need is in null_control.c: leave it out.
 */
#include "null/null_backend.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What load hands out, and launch gets: whatever the driver's launch call needs. */
typedef struct null_module {
  const tj_artifact *artifact;
  int32_t device;
} null_module;

static tj_status check_device(int32_t device) {
  if (device >= 0 && device < TJ_NULL_DEVICES) return TJ_OK;
  return tj_fail(TJ_E_DEVICE, "null backend: there is no device %d; devices are 0 to %d", device,
                 TJ_NULL_DEVICES - 1);
}

/*
 * Open the driver's library with dlopen, look its functions up, initialise it, count the
 * devices. Called once; what went wrong is TJ_E_BACKEND_UNAVAILABLE with a message that
 * says which library or function was missing.
 */
static tj_status null_probe(int32_t *out_devices) {
  *out_devices = TJ_NULL_DEVICES;
  return TJ_OK;
}

/* Ask the driver which architecture the device is, in the spelling of Triton's GPUTarget. */
static tj_status null_target(int32_t device, tj_target *out_target) {
  tj_status status = check_device(device);
  if (status == TJ_OK) tj_null_get_target(out_target);
  return status;
}

/* Ask the driver; it is per thread on most. This is on the way of every call: be quick. */
static tj_status null_current_device(int32_t *out_device) {
  *out_device = tj_null_get_device();
  return TJ_OK;
}

/*
 * Give artifact->binary to the driver and get the entry point artifact->symbol. Check what
 * the kernel needs (artifact->shared, num_warps) against what the device has:
 * TJ_E_OUT_OF_RESOURCES with both numbers. Set what the driver wants set once a kernel,
 * such as the permission to use much shared memory, here rather than in launch.
 */
static tj_status null_load(const tj_artifact *artifact, int32_t device, uint64_t context,
                           void **out_module) {
  (void)context;
  tj_status status = check_device(device);
  if (status == TJ_OK) status = tj_null_on_load();
  if (status != TJ_OK) return status;
  null_module *module = malloc(sizeof *module);
  if (module == NULL) return tj_fail(TJ_E_OUT_OF_MEMORY, "null backend: no memory for a module");
  *module = (null_module){artifact, device};
  *out_module = module;
  return TJ_OK;
}

/* Undo load. The library promises that the module is not in use. */
static void null_unload(void *module) {
  tj_null_on_unload();
  free(module);
}

/*
 * Queue the kernel on launch->stream and return: no allocation, no lock, no look-up.
 * launch->params is packed as the kernel expects it, with room behind it for the hidden
 * parameters that some targets append; launch->artifact->slots says where each one lies.
 */
static tj_status null_launch(void *module, const tj_backend_launch *launch) {
  if (atomic_load_explicit(&tj_null_watching, memory_order_relaxed) == 0) return TJ_OK;
  return tj_null_on_launch(module, launch);
}

const tj_backend tj_backend_null = {
    .struct_size = sizeof(tj_backend),
    .api_version = TJ_BACKEND_API_VERSION,
    .name = "null",
    .flags = TJ_BACKEND_EXPLICIT, /* a real backend has 0 */
    .max_grid = {0x7fffffff, 65535, 65535},
    .dlpack_types = NULL, /* all; a real one lists the DLDeviceType codes of its memory */
    .n_dlpack_types = 0,
    .probe = null_probe,
    .target = null_target,
    .current_device = null_current_device,
    .context = NULL, /* a driver whose kernels belong to a context names the stream's here */
    .load = null_load,
    .unload = null_unload,
    .launch = null_launch,
};
