/* SPDX-License-Identifier: Apache-2.0 */
/* Calls beyond the inline buffers, and calls with keywords. */
#include "base/error.h"
#include "base/scratch.h"
#include "bind/put.h"

/* Larger than anyone's call, and small enough for all sums of sizes here. */
#define MAX_ROOM (UINT32_MAX / 4)

static bool add_room(const tj_arg *arg, size_t *key, size_t *params, int depth) {
  size_t more = TJ_KEY_ITEM;
  if (arg->kind == TJ_STRING) more += 6 + (size_t)arg->aux;
  if (arg->kind == TJ_FUNCTION) more += 34;
  size_t items_room = 0, values_room = 8;
  if (arg->kind == TJ_TENSOR_DESC || arg->kind == TJ_SPEC) values_room = TJ_DESC_ROOM;
  if (arg->kind == TJ_TUPLE) {
    items_room = (size_t)arg->aux;
    more += 6 + items_room * TJ_KEY_ITEM;
  }
  if (__builtin_add_overflow(*key, more, key) ||
      __builtin_add_overflow(*params, values_room + items_room * 8, params) || *key > MAX_ROOM ||
      *params > MAX_ROOM)
    return false;
  if (arg->kind != TJ_TUPLE || arg->v.obj == NULL || depth > MAX_TUPLE_DEPTH) return true;
  const tj_arg *items = arg->v.obj;
  for (uint32_t i = 0; i < arg->aux; i++)
    if (!add_room(&items[i], key, params, depth + 1)) return false;
  return true;
}

/* An upper bound of what this call needs, what it reserves on its way included, taken from
   the thread's scratch. */
tj_status tj_bound_spill(tj_bound *b) {
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

/* There is a keyword; positional arguments come before it. */
tj_status tj_bound_reorder(tj_bound *b) {
  size_t first_keyword = 0;
  while (b->args[first_keyword].kind != TJ_KEYWORD) first_keyword++;
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

void tj_bound_release_spilled(tj_bound *bound) {
  tj_scratch_give(bound->spilled);
  tj_scratch_give(bound->reordered);
  bound->spilled = NULL;
  bound->reordered = NULL;
}
