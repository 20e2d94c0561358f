/* SPDX-License-Identifier: Apache-2.0 */
/* Compile-time constants: what they add to the key. */
#include <math.h>

#include "base/dtype.h"
#include "base/error.h"
#include "bind/put.h"

void tj_put_int(tj_bound *b, int64_t value) { put_const8(b, TJ_KEY_INT, (uint64_t)value); }

static void put_uint(tj_bound *b, uint64_t value) {
  put_const8(b, value > INT64_MAX ? TJ_KEY_UINT : TJ_KEY_INT, value);
}

static void put_float(tj_bound *b, double value) {
  if (isnan(value)) value = (double)NAN;
  uint64_t bits;
  memcpy(&bits, &value, 8);
  put_const8(b, TJ_KEY_FLOAT, isnan(value) ? 0x7ff8000000000000ull : bits);
}

static tj_status put_string(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  if (arg->v.obj == NULL && arg->aux > 0)
    return tj_fail_at(TJ_E_NULL, place, "the string has %u bytes but its pointer is NULL",
                      arg->aux);
  if (!key_has_room(b, 6 + (size_t)arg->aux)) return TJ_NEEDS_ROOM;
  put_item(b, TJ_KEY_STRING, 0);
  memcpy(b->key + b->key_size, &arg->aux, 4);
  b->key_size += 4;
  if (arg->aux) memcpy(b->key + b->key_size, arg->v.obj, arg->aux);
  b->key_size += arg->aux;
  return TJ_OK;
}

tj_status tj_put_function(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  const tj_function *function = arg->v.obj;
  if (function == NULL) return tj_fail_at(TJ_E_NULL, place, "the tj_function is NULL");
  if (!key_has_room(b, 34)) return TJ_NEEDS_ROOM;
  put_item(b, TJ_KEY_FUNCTION, 0);
  memcpy(b->key + b->key_size, tj_function_signature(function)->digest, 32);
  b->key_size += 32;
  return TJ_OK;
}

tj_status tj_begin_tuple(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  if (arg->v.obj == NULL && arg->aux > 0)
    return tj_fail_at(TJ_E_NULL, place, "the tuple has %u items but its pointer is NULL", arg->aux);
  int depth = 0;
  for (const tj_place *p = place; p; p = p->outer) depth++;
  if (depth > MAX_TUPLE_DEPTH)
    return tj_fail_at(TJ_E_UNSUPPORTED_ARGUMENT, place, "tuples nest more than %d deep",
                      MAX_TUPLE_DEPTH);
  size_t key = (size_t)arg->aux * TJ_KEY_ITEM, params = (size_t)arg->aux * 8;
  if (!key_has_room(b, 6 + key) ||
      b->params_capacity - b->params_size < params + b->params_reserved)
    return TJ_NEEDS_ROOM;
  b->key_reserved += key;
  b->params_reserved += params;
  put_item(b, TJ_KEY_TUPLE, 0);
  memcpy(b->key + b->key_size, &arg->aux, 4);
  b->key_size += 4;
  return TJ_OK;
}

tj_status tj_bind_constant(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  char words[128];
  switch (arg->kind) {
  case TJ_NONE: put_item(b, TJ_KEY_NONE, 0); return TJ_OK;
  case TJ_BOOL: put_item(b, arg->v.i ? TJ_KEY_TRUE : TJ_KEY_FALSE, 0); return TJ_OK;
  case TJ_INT: tj_put_int(b, arg->v.i); return TJ_OK;
  case TJ_UINT: put_uint(b, arg->v.u); return TJ_OK;
  case TJ_FLOAT: put_float(b, arg->v.f); return TJ_OK;
  case TJ_SCALAR:
    if (tj_dtype_is_signed(arg->dtype)) {
      tj_put_int(b, arg->v.i);
    } else if (tj_dtype_is_unsigned(arg->dtype)) {
      put_uint(b, arg->v.u);
    } else if (tj_dtype_is_float(arg->dtype)) {
      put_float(b, arg->v.f);
    } else if (arg->dtype == TJ_U1) {
      put_item(b, arg->v.i ? TJ_KEY_TRUE : TJ_KEY_FALSE, 0);
    } else {
      break;
    }
    return TJ_OK;
  case TJ_STRING: return put_string(b, arg, place);
  case TJ_DTYPE:
    if (arg->dtype == TJ_DTYPE_NONE || arg->dtype >= TJ_DTYPE_COUNT)
      return tj_fail_at(TJ_E_ARGUMENT_TYPE, place, "%u is not a dtype", (unsigned)arg->dtype);
    put_item(b, TJ_KEY_DTYPE, (uint8_t)arg->dtype);
    return TJ_OK;
  case TJ_FUNCTION: return tj_put_function(b, arg, place);
  case TJ_TUPLE: {
    tj_status status = tj_begin_tuple(b, arg, place);
    const tj_arg *items = arg->v.obj;
    for (uint32_t i = 0; i < arg->aux && status == TJ_OK; i++) {
      tj_place inner = {b, place->param, i, place};
      status = tj_bind_constant(b, &items[i], &inner);
    }
    return status;
  }
  case TJ_KEYWORD:
    return tj_fail_at(TJ_E_INVALID, place,
                      "a keyword stands before another argument; keywords come last");
  default: break;
  }
  return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                    "%s cannot be a compile-time constant; a constexpr parameter takes none, "
                    "bool, int, float, string, dtype, function, or a tuple of these",
                    tj_arg_words(arg, words));
}
