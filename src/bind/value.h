/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as the compiler's messages spell them: {"int": "16"}, {"float": "0x1p-1"},
 * {"str": hex of UTF-8}, {"tuple": [...]}, {"tensordesc": "fp16", "block": [64, 32]}... Typed and
 * lossless, unlike plain JSON.
 */
#ifndef TJ_BIND_VALUE_H
#define TJ_BIND_VALUE_H

#include <stdbool.h>

#include "base/json.h"
#include "triton_jit/arg.h"

/*
 * A parameter's default. *out_opaque is set for a Python object that has no C form (and
 * *out_arg is then untouched). What the argument points to is its own: tj_value_free.
 */
tj_status tj_value_read(const cJSON *value, tj_arg *out_arg, bool *out_opaque);
void tj_value_free(tj_arg *arg);

/* One value; NULL without memory. */
cJSON *tj_value_int(int64_t value);
cJSON *tj_value_uint(uint64_t value);
cJSON *tj_value_float(double value);
cJSON *tj_value_bool(bool value);
cJSON *tj_value_string(const void *bytes, size_t size);
cJSON *tj_value_text(const char *kind, const char *text); /* {kind: text} */
cJSON *tj_value_mark(const char *kind);                   /* {kind: 1} */

#endif /* TJ_BIND_VALUE_H */
