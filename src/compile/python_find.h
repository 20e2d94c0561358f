/* SPDX-License-Identifier: Apache-2.0 */
/* Which Python compiles: found by running it, so that shims and wrappers answer for themselves. */
#ifndef TJ_COMPILE_PYTHON_FIND_H
#define TJ_COMPILE_PYTHON_FIND_H

#include <stdbool.h>

#include "base/str.h"
#include "triton_jit/status.h"

#define TJ_PYTHON_VERSION(major, minor) ((major) << 8 | (minor))
#define TJ_PYTHON_OLDEST TJ_PYTHON_VERSION(3, 10)

typedef struct tj_python_info {
  const char *executable; /* what sys.executable says */
  const char *prefix, *base_prefix;
  const char *libpython; /* its shared library, "" if it has none */
  const char *version_text;
  int version; /* TJ_PYTHON_VERSION */
  bool free_threaded;
  bool has_triton;
  char *memory; /* what the texts lie in */
} tj_python_info;

/*
 * Runs `wanted` (an executable or a virtual environment), or if that is NULL the one of
 * VIRTUAL_ENV, else python3 on PATH. The answer is kept for the life of the process; a
 * failure (TJ_E_NO_PYTHON) is not. Blocks for some 30 ms the first time.
 */
tj_status tj_python_find(const char *wanted, const tj_python_info **out_info);

/*
 * How to install Python, or the shared library of `version`, on this distribution: one
 * sentence in `out`.
 */
void tj_python_advise(tj_str *out);
void tj_python_advise_shared(tj_str *out, int version);

#endif /* TJ_COMPILE_PYTHON_FIND_H */
