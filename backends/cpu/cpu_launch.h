/* SPDX-License-Identifier: Apache-2.0 */
/* One launch on the CPU, as the files that run it share it. */
#ifndef TJ_CPU_LAUNCH_H
#define TJ_CPU_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cpu/cpu_module.h"
#include "cpu/sanitizer/turns.h"

/* On the stack of the thread that launches; every thread that takes part sees it. */
typedef struct tj_cpu_call {
  tj_cpu_module *module;
  const void *params;
  const uint32_t *grid;
  tj_cpu_host host;
  struct tj_cpu_session *session; /* of the sanitizers; set for host.wait by who replaces it */
  /* The first failure. Claimed by one thread, which then writes the rest; read when all
     threads are through. */
  _Atomic bool failed;
  tj_status status;
  int32_t kind;
  size_t text_size;
  char text[512];
} tj_cpu_call;

/* The vtable's launch. */
tj_status tj_cpu_launch(void *handle, const tj_backend_launch *launch);

/* Runs programs [first, last) on this thread. False: this launch has failed. */
bool tj_cpu_run_range(tj_cpu_call *call, void *scratch, uint64_t first, uint64_t last);

/* Records a failure of the library's own making, unless there is an earlier one. */
void tj_cpu_call_fail(tj_cpu_call *call, tj_status status, const char *text);

/* All programs at once, each on a thread of its own; or in turns if `turns` is not NULL. */
void tj_cpu_run_cooperative(tj_cpu_call *call, void *scratch, uint64_t total, tj_cpu_turns *turns);

#endif /* TJ_CPU_LAUNCH_H */
