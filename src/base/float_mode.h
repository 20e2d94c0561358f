/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's floating-point mode is none of ours: reading and writing numbers as text goes
 * by the default one, and leaves neither mode nor exception flags behind.
 */
#ifndef TJ_BASE_FLOAT_MODE_H
#define TJ_BASE_FLOAT_MODE_H

#include <fenv.h>

static inline void tj_float_mode_enter(fenv_t *host) {
  (void)fegetenv(host);
  (void)fesetenv(FE_DFL_ENV);
}

static inline void tj_float_mode_leave(const fenv_t *host) { (void)fesetenv(host); }

#endif /* TJ_BASE_FLOAT_MODE_H */
