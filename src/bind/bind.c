/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "bind/put.h"

/* ---- the common arguments: all that one of them adds, in registers ------------------------- */

typedef struct common {
  uint16_t item; /* for the key */
  uint8_t size;  /* of the value; 0: a constant, whose `bits` are part of the key */
  uint64_t bits;
} common;

/* False for all others, which go the long way (argument.c). */
static inline bool is_common(const tj_param *param, const tj_arg *arg, common *out) {
  uint64_t bits = arg->v.u;
  int aligned = (bits & 15) == 0;
  out->bits = bits;
  if (param->rule == TJ_RULE_PLAIN) {
    if (arg->kind == TJ_POINTER && arg->dtype - 1u < TJ_DTYPE_COUNT - 1u) {
      out->item = param->pointer_item[aligned] | tj_key_pair((uint8_t)arg->dtype, 0);
      out->size = 8;
      return true;
    }
    if (arg->kind == TJ_INT && bits != 1 && (int64_t)bits == (int32_t)bits) {
      out->item = param->int_item[aligned];
      out->size = 4;
      return true;
    }
    if (arg->kind == TJ_FLOAT) {
      float value = (float)arg->v.f;
      uint32_t single;
      memcpy(&single, &value, 4);
      out->item = tj_key_pair(TJ_FP32, TJ_CLASS_NONE);
      out->size = 4;
      out->bits = single;
      return true;
    }
  } else if (param->rule == TJ_RULE_CONSTEXPR && arg->kind == TJ_INT) {
    out->item = tj_key_pair(TJ_KEY_INT, 0);
    out->size = 0;
    return true;
  }
  return false;
}

/* Packs a common value behind `at` bytes; returns the new end. */
static inline uint32_t pack(uint8_t *params, uint32_t at, const common *c) {
  at = (at + c->size - 1) & ~(c->size - 1u);
  memcpy(params + at, &c->bits, 8);
  return at + c->size;
}

/* ---- bind ------------------------------------------------------------------------------------ */

/* All parameters; at most that many arguments. */
static tj_status bind_all(tj_bound *b, const tj_key_head *head) {
  const tj_param *param = b->signature->params;
  uint32_t n = b->signature->n_params, n_args = (uint32_t)b->n_args;
  b->key_reserved = (size_t)n * TJ_KEY_ITEM;
  b->params_reserved = (size_t)n * 8;
  memcpy(b->key, head, sizeof *head);
  uint8_t *key = b->key + sizeof *head;
  uint32_t at = 0; /* in the parameters */
  common c;
  for (uint32_t i = 0; i < n_args; i++) {
    if (LIKELY(is_common(&param[i], &b->args[i], &c))) {
      memcpy(key, &c.item, 2);
      key += 2;
      if (LIKELY(c.size)) {
        at = pack(b->params, at, &c);
      } else {
        memcpy(key, &c.bits, 8);
        key += 8;
      }
    } else {
      b->key_size = (uint32_t)(key - b->key);
      b->params_size = at;
      tj_status status = tj_bind_argument(b, i);
      if (UNLIKELY(status != TJ_OK)) return status;
      key = b->key + b->key_size;
      at = b->params_size;
    }
  }
  b->key_size = (uint32_t)(key - b->key);
  b->params_size = at;
  for (uint32_t i = n_args; i < n; i++) {
    tj_status status = tj_bind_argument(b, i);
    if (UNLIKELY(status != TJ_OK)) return status;
  }
  return TJ_OK;
}

static bool has_keywords(const tj_bound *b) {
  for (size_t i = 0; i < b->n_args; i++)
    if (b->args[i].kind == TJ_KEYWORD) return true;
  return false;
}

/* Any call that the first attempt did not bind: `reason` is why. */
static tj_status bind_slowly(tj_bound *b, const tj_key_head *head, tj_status reason) {
  /* Room is measured by parameter: keywords first. */
  if (reason == TJ_NEEDS_ROOM && has_keywords(b)) reason = TJ_HAS_KEYWORDS;
  if (reason == TJ_HAS_KEYWORDS) {
    reason = tj_bound_reorder(b);
    if (reason == TJ_OK)
      reason = b->signature->n_params <= TJ_MAX_INLINE_PARAMS ? bind_all(b, head) : TJ_NEEDS_ROOM;
  }
  if (reason == TJ_NEEDS_ROOM) {
    reason = tj_bound_spill(b);
    if (reason == TJ_OK) reason = bind_all(b, head);
  }
  if (reason == TJ_NEEDS_ROOM || reason == TJ_HAS_KEYWORDS) /* changed between two passes */
    reason = tj_fail(TJ_E_INVALID, "the arguments of '%s' changed while they were bound",
                     b->signature->name);
  if (reason != TJ_OK) tj_bound_release(b);
  return reason;
}

/* More arguments than parameters, which keywords may explain. */
static tj_status too_many(const tj_bound *b) {
  if (b->args[b->n_args - 1].kind == TJ_KEYWORD) return TJ_HAS_KEYWORDS;
  return tj_fail(TJ_E_TOO_MANY_ARGUMENTS,
                 "'%s' takes %u arguments, constexprs included; the call gave %zu",
                 b->signature->name, b->signature->n_params, b->n_args);
}

tj_status tj_bind(tj_bound *bound, const tj_key_head *head, const tj_arg *args, size_t n_args) {
  tj_bound_begin(bound, args, n_args);
  uint32_t n = bound->signature->n_params;
  tj_status status;
  if (UNLIKELY(n_args > n))
    status = too_many(bound);
  else if (LIKELY(n <= TJ_MAX_INLINE_PARAMS))
    status = bind_all(bound, head);
  else
    status = TJ_NEEDS_ROOM;
  return LIKELY(status == TJ_OK) ? TJ_OK : bind_slowly(bound, head, status);
}
