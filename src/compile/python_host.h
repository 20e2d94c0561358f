/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPython inside this process: the host's own if it has one, else a libpython that is
 * opened here. It is never finalised.
 */
#ifndef TJ_COMPILE_PYTHON_HOST_H
#define TJ_COMPILE_PYTHON_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "compile/settings.h"

#define TJ_PYTHON_FILE 1024

typedef struct tj_python {
#define FIELD(result, name, arguments) result(*name) arguments;
#define REQUIRED FIELD
#define OPTIONAL FIELD
#include "compile/python_symbols.def"
#undef FIELD
#undef REQUIRED
#undef OPTIONAL
  int *Py_UTF8Mode;          /* a variable, until 3.14 */
  int version;               /* TJ_PYTHON_VERSION */
  bool ours;                 /* started by this library */
  char file[TJ_PYTHON_FILE]; /* libpython's path, or "": its symbols are visible to all */
} tj_python;

/*
 * The interpreter to compile with, ready for PyGILState_Ensure on this thread. Starts it if
 * the process has none; the caller then lets no second thread in here. A failure with
 * *out_elsewhere set is one that a worker process does not have.
 */
tj_status tj_python_start(const tj_settings *settings, const tj_python **out_python,
                          bool *out_elsewhere);

/*
 * Whether this thread can use `python` now, which tj_python_start gave: TJ_OK, or a status
 * as above (finalised, a sub-interpreter's thread, a forked child).
 */
tj_status tj_python_check(const tj_python *python, bool *out_elsewhere);

/* Whether this process was forked from one that compiled with its interpreter. */
bool tj_python_is_inherited(void);

#endif /* TJ_COMPILE_PYTHON_HOST_H */
