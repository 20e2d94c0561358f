/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_module.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* More than a damaged number would be: no program has tiles of this size. */
#define SCRATCH_LIMIT ((uint64_t)1 << 40)

static bool is_cooperative(const char *metadata) {
  cJSON *json = metadata ? cJSON_Parse(metadata) : NULL;
  bool yes = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "launch_cooperative_grid"));
  cJSON_Delete(json);
  return yes;
}

/* A file that is kept if the host wants it; else a memory file; files that go again where the
   system or its policy has none for us to execute. */
static void *open_artifact(const tj_artifact *artifact) {
  char first[512], other[512];
  void *object = tj_cpu_open_kept(artifact->binary, artifact->binary_size, artifact->function);
  if (object) return object;
  object = tj_cpu_open_bytes(artifact->binary, artifact->binary_size, artifact->function, NULL,
                             first, sizeof first);
  const char *folders[] = {secure_getenv("TMPDIR"), "/tmp", "/dev/shm", "/var/tmp"};
  for (size_t i = 0; object == NULL && i < sizeof folders / sizeof *folders; i++) {
    if (folders[i] == NULL || *folders[i] == 0) continue;
    object = tj_cpu_open_bytes(artifact->binary, artifact->binary_size, artifact->function,
                               folders[i], other, sizeof other);
  }
  if (object == NULL)
    tj_fail(TJ_E_LOAD,
            "kernel %s: the dynamic loader refuses its shared object, from memory (%s) and from "
            "a file (%s)",
            artifact->function, first, other);
  return object;
}

/* Both sides of each promise that the artifact makes. */
static tj_status check_info(const tj_artifact *artifact, const tj_cpu_info *info) {
  const char *name = artifact->function;
  if (info->abi != TJ_CPU_ABI)
    return tj_fail(TJ_E_LOAD,
                   "kernel %s: its artifact was made for CPU ABI %u, and this library has %u; "
                   "use the library's own scripts to compile it",
                   name, info->abi, TJ_CPU_ABI);
  const uint32_t known = TJ_CPU_ORDERED | TJ_CPU_SANITIZED;
  if (info->flags & ~known)
    return tj_fail(TJ_E_LOAD, "kernel %s: its artifact has flags 0x%x, and this library knows 0x%x",
                   name, info->flags, known);
  if (info->params_size != artifact->params_size || info->n_params != artifact->n_slots)
    return tj_fail(TJ_E_LOAD,
                   "kernel %s: its code takes %u parameters of %u bytes together, but its "
                   "signature says %u of %u bytes",
                   name, info->n_params, info->params_size, artifact->n_slots,
                   artifact->params_size);
  if (info->flags & TJ_CPU_SANITIZED && info->params == NULL)
    return tj_fail(TJ_E_LOAD, "kernel %s: its artifact has sanitizers, but no parameter names",
                   name);
  if (info->scratch_size > SCRATCH_LIMIT)
    return tj_fail(TJ_E_LOAD,
                   "kernel %s: its artifact wants %llu bytes of scratch memory a program; more "
                   "than %llu cannot be meant",
                   name, (unsigned long long)info->scratch_size, (unsigned long long)SCRATCH_LIMIT);
  return TJ_OK;
}

static tj_status make_module(const tj_artifact *artifact, void *object, void **out_module) {
  const tj_cpu_info *info = dlsym(object, "tj_cpu_info_1");
  void *run = dlsym(object, "tj_cpu_run_1");
  if (info == NULL || run == NULL)
    return tj_fail(TJ_E_LOAD, "kernel %s: its shared object does not export %s", artifact->function,
                   info == NULL ? "tj_cpu_info_1" : "tj_cpu_run_1");
  tj_status status = check_info(artifact, info);
  if (status != TJ_OK) return status;

  /* Its size is a multiple of its alignment. */
  tj_cpu_module *module = aligned_alloc(_Alignof(tj_cpu_module), sizeof *module);
  if (module == NULL)
    return tj_fail(TJ_E_OUT_OF_MEMORY, "kernel %s: no memory to load it", artifact->function);
  memcpy(&module->run, &run, sizeof run); /* ISO C has no cast from object to function */
  module->scratch_size = info->scratch_size;
  module->ordered = (info->flags & TJ_CPU_ORDERED) != 0;
  module->cooperative = is_cooperative(artifact->metadata);
  module->sanitizers = info->flags & TJ_CPU_SANITIZED;
  module->params = info->params;
  module->function = artifact->function;
  module->object = object;
  atomic_init(&module->program_time, 0);
  *out_module = module;
  return TJ_OK;
}

tj_status tj_cpu_load(const tj_artifact *artifact, int32_t device, uint64_t context,
                      void **out_module) {
  (void)context;
  if (device != 0)
    return tj_fail(TJ_E_DEVICE, "cpu backend: there is no device %d; the CPU is device 0", device);
  if (artifact->target_backend && strcmp(artifact->target_backend, "cpu") != 0)
    return tj_fail(TJ_E_TARGET, "kernel %s was compiled for %s and cannot run on the CPU",
                   artifact->function, artifact->target_backend);
  char buffer[256];
  const char *fault =
      tj_cpu_elf_fault(artifact->binary, artifact->binary_size, buffer, sizeof buffer);
  if (fault)
    return tj_fail(TJ_E_LOAD, "kernel %s: its artifact does not load: %s", artifact->function,
                   fault);
  void *object = open_artifact(artifact);
  if (object == NULL) return TJ_E_LOAD;
  tj_status status = make_module(artifact, object, out_module);
  if (status != TJ_OK) dlclose(object);
  return status;
}

void tj_cpu_unload(void *handle) {
  tj_cpu_module *module = handle;
  dlclose(module->object);
  free(module);
}
