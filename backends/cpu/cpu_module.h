/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded CPU artifact. */
#ifndef TJ_CPU_MODULE_H
#define TJ_CPU_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "triton_jit/sys/backend.h"
#include "triton_jit_cpu/cpu_abi.h"

typedef int32_t tj_cpu_run_fn(const void *params, const uint32_t grid[3], uint64_t first,
                              uint64_t last, void *scratch, const tj_cpu_host *host);

typedef struct tj_cpu_module {
  tj_cpu_run_fn *run;
  uint64_t scratch_size;
  bool ordered;              /* program ids start one by one */
  bool cooperative;          /* all programs run at once */
  uint32_t sanitizers;       /* TJ_CPU_ADDRESS... */
  const char *const *params; /* names; NULL without sanitizers */
  const char *function;      /* the Python name; the artifact's */
  void *object;              /* of dlopen */
  /* What one program took lately, in 1/256 ns; 0: not known. On a line of its own: threads
     that launch write it, now and then. */
  _Alignas(64) _Atomic uint64_t program_time;
} tj_cpu_module;

/* The vtable's load and unload. */
tj_status tj_cpu_load(const tj_artifact *artifact, int32_t device, uint64_t context,
                      void **out_module);
void tj_cpu_unload(void *handle);

/*
 * Why `size` bytes are not a whole shared object for this machine, or NULL if they are.
 * The dynamic loader trusts what it maps: a file cut short would kill the process.
 * A reason with numbers is written to `buffer`.
 */
const char *tj_cpu_elf_fault(const void *bytes, size_t size, char *buffer, size_t capacity);

/*
 * dlopen for bytes in memory: through a memory file, or through a private file in `folder`
 * if that is not NULL. NULL on failure, with the reason in `buffer`.
 */
void *tj_cpu_open_bytes(const void *bytes, size_t size, const char *name, const char *folder,
                        char *buffer, size_t capacity);

/* cpu_keep.c: the same through a file that stays in the folder TRITON_JIT_CPU_KEEP. NULL if that
   is not set, or, with a warning in the log, if it cannot be done. */
void *tj_cpu_open_kept(const void *bytes, size_t size, const char *name);

/* False with errno on failure. */
bool tj_cpu_write_all(int fd, const void *bytes, size_t size);

#endif /* TJ_CPU_MODULE_H */
