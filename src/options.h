/* SPDX-License-Identifier: Apache-2.0 */
/* Interned sets of compile options; tj_options_intern is public (triton_jit/function.h). */
#ifndef TJ_OPTIONS_H
#define TJ_OPTIONS_H

#include "base/json.h"

/* The set of that id as JSON, {"maxnreg": 128}; NULL for 0 and for an id that is none. */
const cJSON *tj_options_json(uint32_t id);

#endif /* TJ_OPTIONS_H */
