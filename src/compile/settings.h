/* SPDX-License-Identifier: Apache-2.0 */
/* What the host and the environment say about the compiler: fixed at the first use. */
#ifndef TJ_COMPILE_SETTINGS_H
#define TJ_COMPILE_SETTINGS_H

#include <stdint.h>

#include "triton_jit/runtime.h"

typedef struct tj_settings {
  uint32_t mode;       /* TJ_COMPILER_* */
  const char *python;  /* executable or virtual environment that was asked for, or NULL */
  const char *scripts; /* folder that was asked for, or NULL */
} tj_settings;

/* Lives as long as the process. Fails for a TRITON_JIT_COMPILER that means nothing. */
tj_status tj_settings_get(const tj_settings **out_settings);

#endif /* TJ_COMPILE_SETTINGS_H */
