/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/scratch.h"
#include "bind/dlpack_view.h"
#include "bind/scalar.h"
#include "function.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define MAX_TUPLE_DEPTH 32

/* Why a first attempt stops; they never leave this file. */
#define NEEDS_ROOM ((tj_status)-1)   /* the buffers are too small */
#define HAS_KEYWORDS ((tj_status)-2) /* the arguments are not in the parameters' order */

/* Parameters whose fixed items fit the inline buffers. */
#define MAX_INLINE_PARAMS ((TJ_INLINE_KEY - sizeof(tj_key_head)) / TJ_KEY_ITEM)
_Static_assert(MAX_INLINE_PARAMS <= TJ_INLINE_PARAMS / 8, "packed values fit too");

/* ---- writing: room is ensured by the callers ------------------------------------------- */

static inline void put_item(tj_bound *b, uint8_t tag, uint8_t aux) {
  uint16_t pair = tj_key_pair(tag, aux);
  memcpy(b->key + b->key_size, &pair, 2);
  b->key_size += 2;
}

static inline void put_const8(tj_bound *b, uint8_t tag, uint64_t bits) {
  put_item(b, tag, 0);
  memcpy(b->key + b->key_size, &bits, 8);
  b->key_size += 8;
}

/* One run-time value: its item in the key, its bits in the parameters. */
static inline void put_value(tj_bound *b, uint8_t tag, uint8_t class_, uint64_t bits,
                             uint32_t size) {
  put_item(b, tag, class_);
  uint32_t at = (b->params_size + size - 1) & ~(size - 1);
  memcpy(b->params + at, &bits, 8);
  b->params_size = at + size;
}

/* Whether the key has room for `more` bytes beside what is reserved: an item of fixed size
   for each parameter, and for each element of the tuples so far. */
static bool key_has_room(const tj_bound *b, size_t more) {
  return b->key_capacity - b->key_size >= more + b->key_reserved;
}

/* ---- constants --------------------------------------------------------------------------- */

static void put_int(tj_bound *b, int64_t value) { put_const8(b, TJ_KEY_INT, (uint64_t)value); }

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
  if (!key_has_room(b, 6 + (size_t)arg->aux)) return NEEDS_ROOM;
  put_item(b, TJ_KEY_STRING, 0);
  memcpy(b->key + b->key_size, &arg->aux, 4);
  b->key_size += 4;
  if (arg->aux) memcpy(b->key + b->key_size, arg->v.obj, arg->aux);
  b->key_size += arg->aux;
  return TJ_OK;
}

static tj_status put_function(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  const tj_function *function = arg->v.obj;
  if (function == NULL) return tj_fail_at(TJ_E_NULL, place, "the tj_function is NULL");
  if (!key_has_room(b, 34)) return NEEDS_ROOM;
  put_item(b, TJ_KEY_FUNCTION, 0);
  memcpy(b->key + b->key_size, function->signature->digest, 32);
  b->key_size += 32;
  return TJ_OK;
}

static tj_status begin_tuple(tj_bound *b, const tj_arg *arg, const tj_place *place) {
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
    return NEEDS_ROOM;
  b->key_reserved += key;
  b->params_reserved += params;
  put_item(b, TJ_KEY_TUPLE, 0);
  memcpy(b->key + b->key_size, &arg->aux, 4);
  b->key_size += 4;
  return TJ_OK;
}

static tj_status bind_const(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  char words[128];
  switch (arg->kind) {
  case TJ_NONE: put_item(b, TJ_KEY_NONE, 0); return TJ_OK;
  case TJ_BOOL: put_item(b, arg->v.i ? TJ_KEY_TRUE : TJ_KEY_FALSE, 0); return TJ_OK;
  case TJ_INT: put_int(b, arg->v.i); return TJ_OK;
  case TJ_UINT: put_uint(b, arg->v.u); return TJ_OK;
  case TJ_FLOAT: put_float(b, arg->v.f); return TJ_OK;
  case TJ_SCALAR:
    if (tj_dtype_is_signed(arg->dtype)) {
      put_int(b, arg->v.i);
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
  case TJ_FUNCTION: return put_function(b, arg, place);
  case TJ_TUPLE: {
    tj_status status = begin_tuple(b, arg, place);
    const tj_arg *items = arg->v.obj;
    for (uint32_t i = 0; i < arg->aux && status == TJ_OK; i++) {
      tj_place inner = {b, place->param, i, place};
      status = bind_const(b, &items[i], &inner);
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

/* ---- run-time values ----------------------------------------------------------------------- */

static inline tj_status bind_address(tj_bound *b, const tj_param *param, tj_dtype dtype,
                                     uint64_t address, const tj_place *place) {
  if (param->rule == TJ_RULE_POINTER) dtype = param->type;
  if (UNLIKELY(dtype == TJ_DTYPE_NONE || dtype >= TJ_DTYPE_COUNT))
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                      "the pointer has no element type (dtype %u); give one, such as TJ_FP32",
                      (unsigned)dtype);
  put_value(b, (uint8_t)(TJ_KEY_POINTER | dtype), param->classes[(address & 15) == 0], address, 8);
  return TJ_OK;
}

static tj_status bind_tensor(tj_bound *b, const tj_param *param, const tj_arg *arg,
                             const tj_place *place) {
  const tj_dl_tensor *tensor = arg->v.obj;
  if (tensor == NULL) return tj_fail_at(TJ_E_NULL, place, "the DLTensor is NULL");
  const tj_backend *backend = b->backend;
  bool takes = backend->n_dlpack_types == 0;
  for (uint32_t i = 0; i < backend->n_dlpack_types; i++)
    takes |= backend->dlpack_types[i] == tensor->device_type;
  if (!takes)
    return tj_fail_at(TJ_E_DEVICE_MISMATCH, place,
                      "the tensor lives on DLPack device type %d, but the function is bound to the "
                      "backend '%s', which takes type %d",
                      tensor->device_type, backend->name, backend->dlpack_types[0]);
  tj_dtype dtype = tj_dl_dtype(tensor->code, tensor->bits, tensor->lanes);
  if (dtype == TJ_DTYPE_NONE && param->rule != TJ_RULE_POINTER)
    return tj_fail_at(TJ_E_UNSUPPORTED_ARGUMENT, place,
                      "Triton has no dtype for DLPack's {code %u, bits %u, lanes %u}", tensor->code,
                      tensor->bits, tensor->lanes);
  union {
    void *ptr;
    uint64_t bits;
  } address = {.bits = 0};
  address.ptr = tensor->data;
  return bind_address(b, param, dtype, address.bits + tensor->byte_offset, place);
}

static tj_status bind_buffer(tj_bound *b, const tj_param *param, const tj_arg *arg,
                             const tj_place *place) {
  const tj_buffer *buffer = arg->v.obj;
  if (buffer == NULL) return tj_fail_at(TJ_E_NULL, place, "the tj_buffer is NULL");
  if (buffer->struct_size < sizeof *buffer)
    return tj_fail_size("tj_buffer", buffer->struct_size, sizeof *buffer);
  return bind_address(b, param, buffer->dtype, (uint64_t)(uintptr_t)buffer->ptr, place);
}

/* An integer for a parameter without an annotation: the value decides. */
static inline void bind_plain_int(tj_bound *b, const tj_param *param, int64_t value) {
  if (value == 1 && param->specialize) {
    put_int(b, 1);
    return;
  }
  uint8_t class_ = param->classes[(value & 15) == 0];
  if (LIKELY(value == (int32_t)value))
    put_value(b, TJ_I32, class_, (uint64_t)value, 4);
  else
    put_value(b, TJ_I64, class_, (uint64_t)value, 8);
}

/* An integer for a parameter of a fixed integer type. `large`: it is 2^63 or more. */
static tj_status bind_typed_int(tj_bound *b, const tj_param *param, tj_dtype dtype, int64_t value,
                                bool large, const tj_place *place) {
  if (!tj_int_fits(dtype, value, large)) {
    if (large)
      return tj_fail_at(TJ_E_ARGUMENT_RANGE, place, "%llu does not fit %s",
                        (unsigned long long)value, tj_dtype_name(dtype));
    return tj_fail_at(TJ_E_ARGUMENT_RANGE, place, "%lld does not fit %s", (long long)value,
                      tj_dtype_name(dtype));
  }
  uint8_t class_ = param->classes[(value & 15) == 0];
  if (value == 1 && param->specialize) class_ = TJ_CLASS_ONE;
  put_value(b, (uint8_t)dtype, class_, (uint64_t)value, tj_dtype_size(dtype));
  return TJ_OK;
}

static tj_status bind_typed_float(tj_bound *b, tj_dtype dtype, double value,
                                  const tj_place *place) {
  uint64_t bits = 0;
  if (!tj_float_bits(dtype, value, &bits))
    return tj_fail_at(TJ_E_ARGUMENT_RANGE, place, "%g is beyond the range of %s (65504 at most)",
                      value, tj_dtype_name(dtype));
  put_value(b, (uint8_t)dtype, TJ_CLASS_NONE, bits, tj_dtype_size(dtype));
  return TJ_OK;
}

/* One byte that is an fp8 value, whatever maker it came from. */
static tj_status bind_fp8(tj_bound *b, tj_dtype dtype, const tj_arg *arg, const tj_place *place) {
  if (arg->kind != TJ_SCALAR || arg->dtype != dtype)
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                      "an fp8 scalar is passed by its byte: tj_f8(TJ_..., bits) with the dtype %s",
                      tj_dtype_name(dtype));
  if (arg->v.u > 255)
    return tj_fail_at(TJ_E_ARGUMENT_RANGE, place, "an fp8 scalar is one byte, not %llu",
                      (unsigned long long)arg->v.u);
  put_value(b, (uint8_t)dtype, TJ_CLASS_NONE, arg->v.u, 1);
  return TJ_OK;
}

/* The numeric argument `arg` for a parameter whose type `dtype` is fixed. */
static tj_status bind_typed(tj_bound *b, const tj_param *param, tj_dtype dtype, const tj_arg *arg,
                            const tj_place *place) {
  char words[128];
  if (tj_dtype_is_fp8(dtype)) return bind_fp8(b, dtype, arg, place);
  bool is_bool = arg->kind == TJ_BOOL || (arg->kind == TJ_SCALAR && arg->dtype == TJ_U1);
  bool is_signed =
      arg->kind == TJ_INT || (arg->kind == TJ_SCALAR && tj_dtype_is_signed(arg->dtype));
  bool is_unsigned =
      arg->kind == TJ_UINT || (arg->kind == TJ_SCALAR && tj_dtype_is_unsigned(arg->dtype));
  bool is_float =
      arg->kind == TJ_FLOAT || (arg->kind == TJ_SCALAR && tj_dtype_is_float(arg->dtype));
  if (tj_dtype_is_float(dtype)) {
    if (is_float) return bind_typed_float(b, dtype, arg->v.f, place);
    if (is_signed || is_bool) return bind_typed_float(b, dtype, (double)arg->v.i, place);
    if (is_unsigned) return bind_typed_float(b, dtype, (double)arg->v.u, place);
  } else if (is_bool) {
    put_value(b, (uint8_t)dtype, TJ_CLASS_NONE, arg->v.i != 0, tj_dtype_size(dtype));
    return TJ_OK;
  } else if (dtype == TJ_U1 && (is_signed || is_unsigned)) {
    if (arg->v.u > 1)
      return tj_fail_at(TJ_E_ARGUMENT_RANGE, place, "a bool is 0 or 1, not %lld",
                        (long long)arg->v.i);
    put_value(b, TJ_U1, TJ_CLASS_NONE, arg->v.u, 1);
    return TJ_OK;
  } else if (is_signed || is_unsigned) {
    return bind_typed_int(b, param, dtype, arg->v.i, is_unsigned && arg->v.u > INT64_MAX, place);
  }
  return tj_fail_at(TJ_E_ARGUMENT_TYPE, place, "the parameter is of type %s, which takes no %s",
                    param->rule == TJ_RULE_PLAIN ? tj_dtype_name(dtype) : param->type_text,
                    tj_arg_words(arg, words));
}

static tj_status bind_spec(tj_bound *b, const tj_param *param, const tj_arg *arg,
                           const tj_place *place) {
  if (!b->allow_spec)
    return tj_fail_at(TJ_E_UNSUPPORTED_ARGUMENT, place,
                      "TJ_SPEC has no data; only tj_function_prepare takes it");
  uint64_t stand_in = arg->flags & TJ_SPEC_ALIGNED ? 16 : 8;
  if (arg->flags & TJ_SPEC_POINTER) return bind_address(b, param, arg->dtype, stand_in, place);
  tj_dtype dtype = param->rule == TJ_RULE_PLAIN ? arg->dtype : param->type;
  if (dtype == TJ_DTYPE_NONE || dtype >= TJ_VOID || param->rule == TJ_RULE_POINTER)
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, place, "TJ_SPEC with dtype %u is no value for it",
                      (unsigned)arg->dtype);
  uint8_t class_ = TJ_CLASS_NONE;
  if (tj_dtype_is_int(dtype)) class_ = param->classes[(arg->flags & TJ_SPEC_ALIGNED) != 0];
  put_value(b, (uint8_t)dtype, class_, 0, tj_dtype_size(dtype));
  return TJ_OK;
}

static tj_status bind_value(tj_bound *b, const tj_param *param, const tj_arg *arg,
                            const tj_place *place);

static tj_status bind_tuple(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  tj_status status = begin_tuple(b, arg, place);
  const tj_arg *items = arg->v.obj;
  for (uint32_t i = 0; i < arg->aux && status == TJ_OK; i++) {
    tj_place inner = {b, place->param, i, place};
    status = bind_value(b, &tj_param_of_element, &items[i], &inner);
  }
  return status;
}

/* Arguments of parameters without an annotation. */
static tj_status bind_plain(tj_bound *b, const tj_param *param, const tj_arg *arg,
                            const tj_place *place) {
  char words[128];
  switch (arg->kind) {
  case TJ_NONE: put_item(b, TJ_KEY_NONE, 0); return TJ_OK;
  case TJ_BOOL: put_value(b, TJ_U1, TJ_CLASS_NONE, arg->v.i != 0, 1); return TJ_OK;
  case TJ_INT: bind_plain_int(b, param, arg->v.i); return TJ_OK;
  case TJ_UINT:
    if (arg->v.u <= INT64_MAX)
      bind_plain_int(b, param, arg->v.i);
    else
      put_value(b, TJ_U64, param->classes[(arg->v.u & 15) == 0], arg->v.u, 8);
    return TJ_OK;
  case TJ_FLOAT: return bind_typed_float(b, TJ_FP32, arg->v.f, place);
  case TJ_SCALAR:
    if (arg->dtype == TJ_DTYPE_NONE || arg->dtype >= TJ_VOID)
      return tj_fail_at(TJ_E_ARGUMENT_TYPE, place, "%u is no dtype of a scalar",
                        (unsigned)arg->dtype);
    return bind_typed(b, param, arg->dtype, arg, place);
  case TJ_FUNCTION: return put_function(b, arg, place);
  case TJ_TUPLE: return bind_tuple(b, arg, place);
  default: break;
  }
  return tj_fail_at(TJ_E_UNSUPPORTED_ARGUMENT, place,
                    "Triton cannot specialise %s; only a parameter annotated tl.constexpr takes it",
                    tj_arg_words(arg, words));
}

static tj_status bind_annotated_pointer(tj_bound *b, const tj_param *param, const tj_arg *arg,
                                        const tj_place *place) {
  char words[128];
  if (arg->kind == TJ_NONE) { /* a null pointer, as in Triton */
    put_value(b, (uint8_t)(TJ_KEY_POINTER | param->type), TJ_CLASS_NONE, 0, 8);
    return TJ_OK;
  }
  if (arg->kind == TJ_INT || arg->kind == TJ_UINT) { /* an address */
    uint8_t class_ = param->classes[(arg->v.u & 15) == 0];
    if (arg->v.u == 1 && param->specialize) class_ = TJ_CLASS_ONE;
    put_value(b, (uint8_t)(TJ_KEY_POINTER | param->type), class_, arg->v.u, 8);
    return TJ_OK;
  }
  return tj_fail_at(TJ_E_ARGUMENT_TYPE, place, "the parameter is of type %s, which takes no %s",
                    param->type_text, tj_arg_words(arg, words));
}

static tj_status bind_value(tj_bound *b, const tj_param *param, const tj_arg *arg,
                            const tj_place *place) {
  char words[128];
  switch (arg->kind) {
  case TJ_POINTER:
  case TJ_BUFFER:
  case TJ_TENSOR:
    if (UNLIKELY(param->rule != TJ_RULE_PLAIN && param->rule != TJ_RULE_POINTER))
      return tj_fail_at(TJ_E_ARGUMENT_TYPE, place, "the parameter is of type %s, which takes no %s",
                        param->type_text, tj_arg_words(arg, words));
    if (arg->kind == TJ_TENSOR) return bind_tensor(b, param, arg, place);
    if (arg->kind == TJ_BUFFER) return bind_buffer(b, param, arg, place);
    return bind_address(b, param, arg->dtype, arg->v.u, place);
  case TJ_SPEC: return bind_spec(b, param, arg, place);
  case TJ_TENSOR_DESC:
    return tj_fail_at(TJ_E_NOT_SUPPORTED, place,
                      "host-side tensor descriptors are not supported yet; make the descriptor "
                      "in the kernel with tl.make_tensor_descriptor");
  case TJ_KEYWORD:
    return tj_fail_at(TJ_E_INVALID, place,
                      "a keyword stands before another argument; keywords come last");
  default: break;
  }
  if (arg->kind > TJ_KEYWORD)
    return tj_fail_at(TJ_E_INVALID, place, "%u is no kind of argument", arg->kind);
  switch (param->rule) {
  case TJ_RULE_PLAIN: return bind_plain(b, param, arg, place);
  case TJ_RULE_POINTER: return bind_annotated_pointer(b, param, arg, place);
  default: return bind_typed(b, param, param->type, arg, place);
  }
}

/* ---- the parameters ------------------------------------------------------------------------ */

static tj_status bind_absent(tj_bound *b, uint32_t i, const tj_arg **out_arg) {
  const tj_param *param = &b->signature->params[i];
  tj_place place = {b, i, 0, NULL};
  *out_arg = NULL;
  if (param->default_kind == TJ_DEFAULT_VALUE) {
    *out_arg = &param->default_value;
    return TJ_OK;
  }
  if (param->default_kind == TJ_DEFAULT_OPAQUE) {
    put_item(b, TJ_KEY_DEFAULT, 0);
    return TJ_OK;
  }
  if (param->flags & TJ_PARAM_TUNED)
    return tj_fail_at(TJ_E_NEEDS_CONFIG, &place,
                      "it is tuned by @triton.autotune or @triton.heuristics, which is not done "
                      "yet: pass a value for it");
  if (param->rule == TJ_RULE_CONSTEXPR)
    return tj_fail_at(TJ_E_CONSTEXPR_MISSING, &place,
                      "this constexpr got no value and has no default; the kernel takes %u "
                      "arguments, constexprs included",
                      b->signature->n_params);
  return tj_fail_at(TJ_E_TOO_FEW_ARGUMENTS, &place,
                    "it got no argument and has no default; the kernel takes %u arguments, the "
                    "call gave %zu",
                    b->signature->n_params, b->n_args);
}

/* One parameter by the rules in full. */
static tj_status bind_param(tj_bound *b, uint32_t i) {
  const tj_param *param = &b->signature->params[i];
  const tj_arg *arg = i < b->n_args ? &b->args[i] : NULL;
  if (arg == NULL || arg->kind == TJ_DEFAULT) {
    tj_status status = bind_absent(b, i, &arg);
    if (status != TJ_OK || arg == NULL) return status;
  }
  if (UNLIKELY(arg->kind == TJ_KEYWORD)) return HAS_KEYWORDS;
  tj_place place = {b, i, 0, NULL};
  if (param->rule == TJ_RULE_CONSTEXPR) return bind_const(b, arg, &place);
  return bind_value(b, param, arg, &place);
}

/* All parameters; at most that many arguments. The common ones are written right here, with
   the cursors in registers; the others go the long way through memory. */
static tj_status bind_all(tj_bound *b, const tj_key_head *head) {
  const tj_param *param = b->signature->params;
  uint32_t n = b->signature->n_params, n_args = (uint32_t)b->n_args;
  b->key_reserved = (size_t)n * TJ_KEY_ITEM;
  b->params_reserved = (size_t)n * 8;
  memcpy(b->key, head, sizeof *head);
  uint8_t *key = b->key + sizeof *head, *params = b->params;
  uint32_t at = 0; /* in params */
  const tj_arg *arg = b->args;
  for (uint32_t i = 0; i < n_args; i++, param++, arg++) {
    uint64_t bits = arg->v.u;
    if (arg->kind == TJ_POINTER && param->rule == TJ_RULE_PLAIN &&
        arg->dtype - 1u < TJ_DTYPE_COUNT - 1u) {
      uint16_t item = param->pointer_item[(bits & 15) == 0] | tj_key_pair((uint8_t)arg->dtype, 0);
      at = (at + 7) & ~7u;
      memcpy(key, &item, 2);
      memcpy(params + at, &bits, 8);
      key += 2;
      at += 8;
    } else if (arg->kind == TJ_INT && param->rule == TJ_RULE_PLAIN && bits != 1 &&
               (int64_t)bits == (int32_t)bits) {
      at = (at + 3) & ~3u;
      memcpy(key, &param->int_item[(bits & 15) == 0], 2);
      memcpy(params + at, &bits, 8);
      key += 2;
      at += 4;
    } else if (arg->kind == TJ_INT && param->rule == TJ_RULE_CONSTEXPR) {
      uint16_t item = tj_key_pair(TJ_KEY_INT, 0);
      memcpy(key, &item, 2);
      memcpy(key + 2, &bits, 8);
      key += 10;
    } else {
      b->key_size = (uint32_t)(key - b->key);
      b->params_size = at;
      tj_status status = bind_param(b, i);
      if (UNLIKELY(status != TJ_OK)) return status;
      key = b->key + b->key_size;
      at = b->params_size;
    }
  }
  b->key_size = (uint32_t)(key - b->key);
  b->params_size = at;
  for (uint32_t i = n_args; i < n; i++) {
    tj_status status = bind_param(b, i);
    if (UNLIKELY(status != TJ_OK)) return status;
  }
  return TJ_OK;
}

/* ---- calls beyond the inline buffers, and keywords: the slow ways ---------------------------- */

static bool add_room(const tj_arg *arg, size_t *key, size_t *params, int depth) {
  size_t more = TJ_KEY_ITEM;
  if (arg->kind == TJ_STRING) more += 6 + (size_t)arg->aux;
  if (arg->kind == TJ_FUNCTION) more += 34;
  size_t items_room = 0;
  if (arg->kind == TJ_TUPLE) {
    items_room = (size_t)arg->aux;
    more += 6 + items_room * TJ_KEY_ITEM;
  }
  if (__builtin_add_overflow(*key, more, key) ||
      __builtin_add_overflow(*params, 8 + items_room * 8, params))
    return false;
  if (arg->kind != TJ_TUPLE || arg->v.obj == NULL || depth > MAX_TUPLE_DEPTH) return true;
  const tj_arg *items = arg->v.obj;
  for (uint32_t i = 0; i < arg->aux; i++)
    if (!add_room(&items[i], key, params, depth + 1)) return false;
  return *key <= UINT32_MAX / 4 && *params <= UINT32_MAX / 4;
}

/* An upper bound of what this call needs, what it reserves on its way included, taken from
   the thread's scratch. */
static tj_status spill(tj_bound *b) {
  uint32_t n = b->signature->n_params;
  size_t key = sizeof(tj_key_head) + (size_t)n * TJ_KEY_ITEM + TJ_KEY_ITEM;
  size_t params = (size_t)n * 8;
  for (uint32_t i = 0; i < n; i++) {
    const tj_param *param = &b->signature->params[i];
    const tj_arg *arg = i < b->n_args ? &b->args[i] : NULL;
    if (arg == NULL || arg->kind == TJ_DEFAULT) arg = &param->default_value;
    if (!add_room(arg, &key, &params, 0))
      return tj_fail(TJ_E_UNSUPPORTED_ARGUMENT, "the arguments of '%s' are too large",
                     b->signature->name);
  }
  key = (key + 15) & ~(size_t)15;
  uint8_t *memory = tj_scratch_take(key + params + 8 + TJ_PARAMS_SLACK);
  if (memory == NULL) return tj_fail_memory();
  b->spilled = memory;
  b->key = memory;
  b->key_capacity = (uint32_t)key;
  b->params = memory + key;
  b->params_capacity = (uint32_t)params + 8;
  return TJ_OK;
}

static tj_status place_keyword(tj_bound *b, const tj_arg *keyword, size_t n_positional) {
  uint32_t index = keyword->aux;
  const tj_arg *value = keyword->v.obj;
  if (index >= b->signature->n_params)
    return tj_fail(TJ_E_NO_SUCH_PARAMETER,
                   "a keyword names parameter %u, but '%s' has %u parameters", index,
                   b->signature->name, b->signature->n_params);
  tj_place place = {b, index, 0, NULL};
  if (value == NULL) return tj_fail_at(TJ_E_NULL, &place, "its keyword has no value");
  if (value->kind == TJ_KEYWORD)
    return tj_fail_at(TJ_E_INVALID, &place, "the value of a keyword is a keyword");
  if (index < n_positional || b->reordered[index].kind != TJ_DEFAULT)
    return tj_fail_at(TJ_E_DUPLICATE_ARGUMENT, &place, "it got two arguments");
  b->reordered[index] = *value;
  return TJ_OK;
}

/* Lays positional and keyword arguments out by parameter. */
static tj_status reorder(tj_bound *b, size_t first_keyword) {
  const tj_arg *given = b->args;
  size_t n_given = b->n_args, n = b->signature->n_params;
  if (first_keyword > n)
    return tj_fail(TJ_E_TOO_MANY_ARGUMENTS, "'%s' takes %zu arguments, the call gave %zu",
                   b->signature->name, n, n_given);
  b->reordered = tj_scratch_take((n + 1) * sizeof *b->reordered);
  if (b->reordered == NULL) return tj_fail_memory();
  for (size_t i = 0; i < n; i++) b->reordered[i] = i < first_keyword ? given[i] : tj_default();
  for (size_t i = first_keyword; i < n_given; i++) {
    if (given[i].kind != TJ_KEYWORD)
      return tj_fail(TJ_E_INVALID,
                     "argument %zu of '%s' is positional but follows a keyword; keywords come last",
                     i, b->signature->name);
    tj_status status = place_keyword(b, &given[i], first_keyword);
    if (status != TJ_OK) return status;
  }
  b->args = b->reordered;
  b->n_args = n;
  return TJ_OK;
}

/* Any call that the first attempt did not bind: `reason` is why. */
static tj_status bind_slowly(tj_bound *b, const tj_key_head *head, tj_status reason) {
  if (reason == HAS_KEYWORDS) {
    size_t first = 0;
    while (b->args[first].kind != TJ_KEYWORD) first++;
    reason = reorder(b, first);
    if (reason == TJ_OK) reason = bind_all(b, head);
  }
  if (reason == NEEDS_ROOM) {
    reason = spill(b);
    if (reason == TJ_OK) reason = bind_all(b, head);
  }
  if (reason == NEEDS_ROOM || reason == HAS_KEYWORDS) /* changed between two passes */
    reason = tj_fail(TJ_E_INVALID, "the arguments of '%s' changed while they were bound",
                     b->signature->name);
  if (reason != TJ_OK) tj_bound_release(b);
  return reason;
}

/* More arguments than parameters, which keywords may explain. */
static tj_status too_many(const tj_bound *b) {
  if (b->args[b->n_args - 1].kind == TJ_KEYWORD) return HAS_KEYWORDS;
  return tj_fail(TJ_E_TOO_MANY_ARGUMENTS,
                 "'%s' takes %u arguments, constexprs included; the call gave %zu",
                 b->signature->name, b->signature->n_params, b->n_args);
}

tj_status tj_bind(tj_bound *bound, const tj_key_head *head, const tj_arg *args, size_t n_args) {
  bound->args = args;
  bound->n_args = n_args;
  bound->reordered = NULL;
  bound->spilled = NULL;
  bound->key = bound->key_inline;
  bound->key_capacity = sizeof bound->key_inline;
  bound->params = bound->params_inline;
  bound->params_capacity = TJ_INLINE_PARAMS;

  uint32_t n = bound->signature->n_params;
  tj_status status;
  if (UNLIKELY(n_args > n))
    status = too_many(bound);
  else if (LIKELY(n <= MAX_INLINE_PARAMS))
    status = bind_all(bound, head);
  else
    status = NEEDS_ROOM;
  return LIKELY(status == TJ_OK) ? TJ_OK : bind_slowly(bound, head, status);
}

void tj_bound_release_spilled(tj_bound *bound) {
  tj_scratch_give(bound->spilled);
  tj_scratch_give(bound->reordered);
  bound->spilled = NULL;
  bound->reordered = NULL;
}

/* ---- what a grid callback asks ----------------------------------------------------------- */

uint32_t tj_bound_count(const tj_bound *bound) { return bound ? bound->signature->n_params : 0; }

const tj_launch *tj_bound_launch(const tj_bound *bound) { return bound ? bound->launch : NULL; }

const tj_arg *tj_bound_arg(const tj_bound *bound, uint32_t index) {
  if (bound == NULL || index >= bound->signature->n_params) return NULL;
  if (index < bound->n_args && bound->args[index].kind != TJ_DEFAULT) return &bound->args[index];
  const tj_param *param = &bound->signature->params[index];
  return param->default_kind == TJ_DEFAULT_VALUE ? &param->default_value : NULL;
}

tj_status tj_bound_int(const tj_bound *bound, uint32_t index, int64_t *out_value) {
  if (bound == NULL) return tj_fail_null("tj_bound_int", "bound");
  if (out_value == NULL) return tj_fail_null("tj_bound_int", "out_value");
  if (index >= bound->signature->n_params)
    return tj_fail(TJ_E_NO_SUCH_PARAMETER, "'%s' has %u parameters, there is no number %u",
                   bound->signature->name, bound->signature->n_params, index);
  const tj_arg *arg = tj_bound_arg(bound, index);
  bool is_int =
      arg && (arg->kind == TJ_INT || arg->kind == TJ_UINT || arg->kind == TJ_BOOL ||
              (arg->kind == TJ_SCALAR && (tj_dtype_is_int(arg->dtype) || arg->dtype == TJ_U1)));
  if (!is_int) {
    char words[128];
    tj_place place = {bound, index, 0, NULL};
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, &place, "the grid callback asks for an integer, it is %s",
                      arg ? tj_arg_words(arg, words) : "a default that C cannot express");
  }
  *out_value = arg->v.i;
  return TJ_OK;
}
