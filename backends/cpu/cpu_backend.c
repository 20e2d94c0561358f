/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU as a device. A kernel is a shared object of generated C; a launch runs its grid
 * on the library's own threads and returns when it is over, so the stream is ignored.
 *
 *   cpu_object.c       bytes -> dlopen handle
 *   cpu_keep.c         the same, for debuggers and profilers
 *   cpu_module.c       artifact -> checked module
 *   cpu_launch.c       one launch
 *   cpu_cooperative.c  one launch whose programs all run at once
 *   cpu_pool.c         the threads
 *   sanitizer/         one launch with sanitizers, programs one by one
 */
#include "cpu/cpu_launch.h"
#include "cpu/cpu_module.h"

static tj_status cpu_probe(int32_t *out_devices) {
  *out_devices = 1;
  return TJ_OK;
}

static tj_status cpu_target(int32_t device, tj_target *out_target) {
  if (device != 0)
    return tj_fail(TJ_E_DEVICE, "cpu backend: there is no device %d; the CPU is device 0", device);
  *out_target = (tj_target){(uint32_t)sizeof *out_target, 1, "cpu", "native"};
  return TJ_OK;
}

static tj_status cpu_current_device(int32_t *out_device) {
  *out_device = 0;
  return TJ_OK;
}

/* kDLCPU, and the pinned host memory of CUDA and ROCm, which is ordinary memory here. */
static const int32_t dlpack_types[] = {1, 3, 11};

const tj_backend tj_backend_cpu = {
    .struct_size = sizeof(tj_backend),
    .api_version = TJ_BACKEND_API_VERSION,
    .name = "cpu",
    .flags = 0,
    .max_grid = {0x7fffffff, 0x7fffffff, 0x7fffffff},
    .dlpack_types = dlpack_types,
    .n_dlpack_types = sizeof dlpack_types / sizeof *dlpack_types,
    .probe = cpu_probe,
    .target = cpu_target,
    .current_device = cpu_current_device,
    .context = NULL,
    .load = tj_cpu_load,
    .unload = tj_cpu_unload,
    .launch = tj_cpu_launch,
};
