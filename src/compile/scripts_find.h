/* SPDX-License-Identifier: Apache-2.0 */
/* Where the library's Python scripts lie. */
#ifndef TJ_COMPILE_SCRIPTS_FIND_H
#define TJ_COMPILE_SCRIPTS_FIND_H

#include "triton_jit/status.h"

/*
 * The absolute path of standalone_compile.py, to be freed: in `wanted` if that is not NULL,
 * else beside the library. TJ_E_NO_SCRIPTS tells what was tried.
 */
tj_status tj_scripts_find(const char *wanted, char **out_script);

#endif /* TJ_COMPILE_SCRIPTS_FIND_H */
