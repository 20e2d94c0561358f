/* SPDX-License-Identifier: Apache-2.0 */
/* What a grid callback asks of a bound call. */
#include "base/dtype.h"
#include "base/error.h"
#include "bind/bind.h"

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
  bool is_unsigned =
      arg->kind == TJ_UINT || (arg->kind == TJ_SCALAR && tj_dtype_is_unsigned(arg->dtype));
  if (is_unsigned && arg->v.u > INT64_MAX) {
    tj_place place = {bound, index, 0, NULL};
    return tj_fail_at(TJ_E_ARGUMENT_RANGE, &place,
                      "the grid callback asks for an int64_t, it is %llu",
                      (unsigned long long)arg->v.u);
  }
  *out_value = arg->v.i;
  return TJ_OK;
}
