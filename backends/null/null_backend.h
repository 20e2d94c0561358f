/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests and benchmarks can make the null backend do, and ask it. Hidden symbols: only
 * what links the static library sees them. Thread-safe.
 */
#ifndef TJ_NULL_BACKEND_H
#define TJ_NULL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "triton_jit/sys/backend.h"

#define TJ_NULL_DEVICES 2
#define TJ_NULL_RING 64          /* launches remembered: the last ones */
#define TJ_NULL_PARAMS_MAX 1024u /* bytes remembered of a launch's parameters */

/* One recorded launch. Texts are those of the artifact. */
typedef struct tj_null_launch {
  const tj_artifact *artifact;
  const char *function;
  void *module;
  void *stream;
  int32_t device;
  uint32_t grid[3];
  uint32_t params_size; /* of the launch; at most TJ_NULL_PARAMS_MAX of them are kept */
  uint8_t params[TJ_NULL_PARAMS_MAX];
} tj_null_launch;

/* As a new process: default target, device 0, nothing recorded, no fault, counts at 0. */
void tj_null_reset(void);

/* Target of every device from now on; the texts are copied. Default: "cuda", "90", 32. */
void tj_null_set_target(const char *backend, const char *arch, uint32_t warp_size);

/* What current_device answers. */
void tj_null_set_device(int32_t device);

/* Recording is off at first: a launch then costs one load, the floor for benchmarks. */
void tj_null_record(bool on);

/* Copies up to `max` recorded launches, oldest first; returns how many were ever recorded. */
uint64_t tj_null_launches(tj_null_launch *out, size_t max);

/* Loads that succeeded, and unloads. */
uint64_t tj_null_loads(void);
uint64_t tj_null_unloads(void);

/* The next `times` loads or launches fail with `status`. */
void tj_null_fail_load(tj_status status, uint32_t times);
void tj_null_fail_launch(tj_status status, uint32_t times);

/* Every load takes this long. */
void tj_null_delay_load(uint32_t milliseconds);

/* ---- between null_backend.c and null_control.c ------------------------------------------ */

/* Not 0: tj_null_on_launch has something to do. */
extern _Atomic uint32_t tj_null_watching;

tj_status tj_null_on_load(void);
void tj_null_on_unload(void);
tj_status tj_null_on_launch(void *module, const tj_backend_launch *launch);
void tj_null_get_target(tj_target *out_target);
int32_t tj_null_get_device(void);

#endif /* TJ_NULL_BACKEND_H */
