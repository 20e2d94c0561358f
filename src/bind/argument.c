/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for one argument of a parameter: its item in the key, its packed value. */
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "bind/dlpack_view.h"
#include "bind/put.h"
#include "bind/scalar.h"

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
    return tj_fail_size_at(place, "tj_buffer", buffer->struct_size, sizeof *buffer);
  return bind_address(b, param, buffer->dtype, (uint64_t)(uintptr_t)buffer->ptr, place);
}

/* An integer for a parameter without an annotation: the value decides. */
static inline void bind_plain_int(tj_bound *b, const tj_param *param, int64_t value) {
  if (value == 1 && param->specialize) {
    tj_put_int(b, 1);
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
  /* Only an annotation keeps 1 from folding; an element of a tuple stands for other numbers. */
  if (value == 1 && param->specialize && param != &tj_param_of_element) class_ = TJ_CLASS_ONE;
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

static tj_status bind_desc(tj_bound *b, const tj_param *param, const tj_arg *arg,
                           const tj_place *place) {
  if (param->rule == TJ_RULE_PLAIN) return tj_bind_desc(b, arg, place);
  return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                    "the parameter is of type %s, which takes no tensor descriptor",
                    param->type_text);
}

static tj_status bind_spec(tj_bound *b, const tj_param *param, const tj_arg *arg,
                           const tj_place *place) {
  if (!b->allow_spec)
    return tj_fail_at(TJ_E_UNSUPPORTED_ARGUMENT, place,
                      "TJ_SPEC has no data; only tj_function_prepare takes it");
  uint64_t stand_in = arg->flags & TJ_SPEC_ALIGNED ? 16 : 8;
  if (arg->flags & TJ_SPEC_DESC) return bind_desc(b, param, arg, place);
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
  tj_status status = tj_begin_tuple(b, arg, place);
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
  case TJ_FUNCTION: return tj_put_function(b, arg, place);
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
  case TJ_TENSOR_DESC: return bind_desc(b, param, arg, place);
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

tj_status tj_bind_argument(tj_bound *b, uint32_t i) {
  const tj_param *param = &b->signature->params[i];
  const tj_arg *arg = i < b->n_args ? &b->args[i] : NULL;
  if (arg == NULL || arg->kind == TJ_DEFAULT) {
    tj_status status = bind_absent(b, i, &arg);
    if (status != TJ_OK || arg == NULL) return status;
  }
  if (UNLIKELY(arg->kind == TJ_KEYWORD)) return TJ_HAS_KEYWORDS;
  tj_place place = {b, i, 0, NULL};
  if (param->rule == TJ_RULE_CONSTEXPR) return tj_bind_constant(b, arg, &place);
  return bind_value(b, param, arg, &place);
}
