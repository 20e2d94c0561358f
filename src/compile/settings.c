/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"

/* Under TJ_LOCK_COMPILER until `fixed` is set, constant from then on. */
static uint32_t mode;
static char *python, *scripts;
static tj_settings settings;
static atomic_bool fixed;

/* A copy of `text`, NULL for none. False: no memory. */
static bool copy(const char *text, char **out) {
  *out = NULL;
  if (text == NULL || *text == 0) return true;
  *out = strdup(text);
  return *out != NULL;
}

tj_status tj_set_compiler(const tj_compiler_options *options) {
  if (options == NULL) return tj_fail_null("tj_set_compiler", "options");
  if (options->struct_size < sizeof *options)
    return tj_fail_size("tj_compiler_options", options->struct_size, sizeof *options);
  if (options->mode > TJ_COMPILER_WORKER)
    return tj_fail(TJ_E_INVALID,
                   "tj_compiler_options.mode is %u; it must be TJ_COMPILER_AUTO (0), "
                   "TJ_COMPILER_EMBEDDED (1) or TJ_COMPILER_WORKER (2)",
                   options->mode);
  char *new_python, *new_scripts;
  bool ok = copy(options->python, &new_python);
  ok = copy(options->scripts, &new_scripts) && ok;
  tj_lock_acquire(TJ_LOCK_COMPILER);
  bool busy = atomic_load_explicit(&fixed, memory_order_relaxed);
  if (ok && !busy) {
    char *old_python = python, *old_scripts = scripts;
    mode = options->mode;
    python = new_python;
    scripts = new_scripts;
    new_python = old_python;
    new_scripts = old_scripts;
  }
  tj_lock_release(TJ_LOCK_COMPILER);
  free(new_python);
  free(new_scripts);
  if (!ok) return tj_fail_memory();
  if (busy)
    return tj_fail(TJ_E_BUSY, "tj_set_compiler: the compiler is in use already; call it before "
                              "the first tj_function_get");
  return TJ_OK;
}

/* The environment's part. Under TJ_LOCK_COMPILER. */
static tj_status fix(void) {
  const char *wanted = getenv("TRITON_JIT_COMPILER");
  if (mode == TJ_COMPILER_AUTO && wanted && *wanted) {
    if (strcmp(wanted, "embedded") == 0) {
      mode = TJ_COMPILER_EMBEDDED;
    } else if (strcmp(wanted, "worker") == 0) {
      mode = TJ_COMPILER_WORKER;
    } else if (strcmp(wanted, "auto") != 0) {
      return tj_fail(TJ_E_INVALID,
                     "TRITON_JIT_COMPILER is '%s'; it must be embedded, worker or auto", wanted);
    }
  }
  /* Copies: the host may change its environment later. */
  bool ok = python || copy(getenv("TRITON_JIT_PYTHON"), &python);
  ok = (scripts || copy(getenv("TRITON_JIT_SCRIPTS"), &scripts)) && ok;
  if (!ok) return tj_fail_memory();
  settings = (tj_settings){mode, python, scripts};
  atomic_store_explicit(&fixed, true, memory_order_release);
  return TJ_OK;
}

tj_status tj_settings_get(const tj_settings **out_settings) {
  tj_status status = TJ_OK;
  if (!atomic_load_explicit(&fixed, memory_order_acquire)) {
    tj_lock_acquire(TJ_LOCK_COMPILER);
    if (!atomic_load_explicit(&fixed, memory_order_relaxed)) status = fix();
    tj_lock_release(TJ_LOCK_COMPILER);
  }
  if (status == TJ_OK) *out_settings = &settings;
  return status;
}
