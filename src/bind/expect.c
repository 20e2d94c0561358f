/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/expect.h"

#include <string.h>

#include "base/dtype.h"
#include "bind/put.h"

/* How an argument is compared and packed; the commonest first. */
enum tj_expect_how {
  MASKED,     /* the value, biased and masked, is the expected one: aligned pointers, multiples
                of 16 that fit 32 bits, constant integers */
  UNALIGNED,  /* the masked value is not 0: other pointers */
  INT32,      /* other integers of 32 bits by Triton's value rule */
  FLOAT32,    /* a C double for fp32 */
  DESCRIPTOR, /* a tensor descriptor */
  OTHERWISE   /* by the rules in full */
};

/* ---- make -------------------------------------------------------------------------------------- */

static uint32_t head_of(uint8_t kind, tj_dtype dtype) {
  tj_arg arg = tj_arg_make_(kind, dtype, 0);
  uint32_t head;
  memcpy(&head, &arg, 4);
  return head;
}

static void expect_pointer(const tj_param *param, const tj_key_item *item, tj_expect *e) {
  tj_dtype dtype = item->tag & ~TJ_KEY_POINTER;
  e->head = head_of(TJ_POINTER, dtype);
  e->how = MASKED;
  /* Both classes are the same where alignment does not matter. */
  if (param->classes[0] == param->classes[1]) return;
  e->mask = 15;
  if (item->aux != TJ_CLASS_16) e->how = UNALIGNED;
}

static void expect_int32(const tj_param *param, const tj_key_item *item, tj_expect *e) {
  if (item->aux == TJ_CLASS_ONE) return;
  bool alignment = param->classes[0] != param->classes[1];
  e->head = head_of(TJ_INT, TJ_DTYPE_NONE);
  /* With 2^31 added, an integer that fits has nothing in its upper half. */
  e->bias = (uint64_t)1 << 31;
  e->mask = ~(uint64_t)UINT32_MAX;
  e->how = MASKED;
  if (alignment && item->aux == TJ_CLASS_16)
    e->mask |= 15;
  else if (alignment || param->specialize) /* it must not be a multiple of 16, or not be 1 */
    e->how = INT32;
  e->excluded = alignment ? 15 : 0;
}

/* Parameters that are neither plain nor constant, and all that is rare, stay OTHERWISE. */
static void expect_item(const tj_param *param, const tj_key_item *item, tj_expect *e) {
  bool plain = param->rule == TJ_RULE_PLAIN, constexpr = param->rule == TJ_RULE_CONSTEXPR;
  if (plain && tj_key_is_value(item) && tj_key_is_pointer(item)) {
    expect_pointer(param, item, e);
  } else if (plain && tj_key_is_desc(item)) {
    e->how = DESCRIPTOR; /* rare enough to have no head: the others need not look for it */
  } else if (plain && item->tag == TJ_I32) {
    expect_int32(param, item, e);
  } else if (plain && item->tag == TJ_FP32) {
    e->head = head_of(TJ_FLOAT, TJ_DTYPE_NONE);
    e->how = FLOAT32;
  } else if ((plain || constexpr) && item->tag == TJ_KEY_INT) {
    e->head = head_of(TJ_INT, TJ_DTYPE_NONE);
    e->how = MASKED;
    e->mask = UINT64_MAX;
    memcpy(&e->value, item->payload, 8);
  }
}

/* Reads a parameter's item, its tuple elements included, and places what it packs. */
static bool skip_item(tj_key_reader *reader, tj_key_item *out_item, uint32_t *end,
                      uint32_t *out_offset) {
  if (!tj_key_next(reader, out_item)) return false;
  if (out_item->tag == TJ_KEY_TUPLE) {
    for (uint32_t i = 0; i < out_item->size; i++) {
      tj_key_item inner;
      if (!skip_item(reader, &inner, end, out_offset)) return false;
    }
  } else if (out_item->tag < TJ_KEY_CONST) {
    *out_offset = tj_key_place(out_item, end);
  }
  return true;
}

bool tj_expect_make(const tj_signature *signature, const void *key, size_t size,
                    tj_expect *params) {
  const uint8_t *bytes = key;
  uint32_t n = signature->n_params, end = 0;
  if (size < sizeof(tj_key_head)) return false;
  tj_key_reader reader = {bytes + sizeof(tj_key_head), bytes + size};
  for (uint32_t i = 0; i < n; i++) {
    tj_expect *e = &params[i];
    *e = (tj_expect){.head = UINT32_MAX, .how = OTHERWISE, .end = end};
    e->item = (uint32_t)(reader.at - bytes);
    tj_key_item item;
    if (!skip_item(&reader, &item, &end, &e->offset)) return false;
    expect_item(&signature->params[i], &item, e);
  }
  params[n] = (tj_expect){.end = end, .item = (uint32_t)(reader.at - bytes)};
  for (uint32_t i = 0; i < n; i++)
    if (bytes[params[i].item] >= TJ_KEY_CONST) params[i].offset = end;
  return reader.at == reader.end && n <= TJ_MAX_INLINE_PARAMS && end <= TJ_INLINE_PARAMS;
}

/* ---- compare ------------------------------------------------------------------------------------- */

static inline void begin_item(tj_bound *b, const tj_expectation *expectation, const tj_expect *e) {
  b->key_size = 0; /* the inline key serves as scratch */
  b->key_reserved = 0;
  b->params_reserved = (size_t)expectation->signature->n_params * 8;
  b->params_size = e->end;
}

/* By the rules in full: whether they give the item that the key has. */
static bool is_argument(tj_bound *b, uint32_t i, const tj_expectation *expectation) {
  const tj_expect *e = &expectation->params[i];
  begin_item(b, expectation, e);
  if (tj_bind_argument(b, i) != TJ_OK) return false;
  uint32_t size = e[1].item - e->item;
  return b->key_size == size && b->params_size == e[1].end &&
         memcmp(b->key, expectation->key + e->item, size) == 0;
}

/* The same for a tensor descriptor, without the way there. */
static bool is_descriptor(tj_bound *b, const tj_arg *arg, const tj_expectation *expectation,
                          const tj_expect *e) {
  tj_place place = {b, (uint32_t)(e - expectation->params), 0, NULL};
  begin_item(b, expectation, e);
  return tj_bind_desc(b, arg, &place) == TJ_OK &&
         memcmp(b->key, expectation->key + e->item, TJ_KEY_ITEM) == 0;
}

static inline bool is_masked(const tj_expect *e, uint64_t bits) {
  return ((bits + e->bias) & e->mask) == e->value;
}

/* The value as it is packed, for all that is not MASKED. */
static inline bool is_expected(const tj_expect *e, uint64_t *bits) {
  uint64_t value = *bits;
  if (e->how == INT32) /* specialised: 1 is a constant, another variant */
    return is_masked(e, value) && value != 1 && (e->excluded == 0 || value & e->excluded);
  if (e->how == UNALIGNED) return value & e->mask;
  if (e->how != FLOAT32) return false; /* what looked like an OTHERWISE is no argument */
  double number;
  memcpy(&number, &value, 8);
  float rounded = (float)number;
  uint32_t single;
  memcpy(&single, &rounded, 4);
  *bits = single;
  return true;
}

bool tj_bind_expected(tj_bound *bound, const tj_expectation *expectation, const tj_arg *args,
                      size_t n_args) {
  uint32_t n = expectation->signature->n_params;
  if (UNLIKELY(n_args > n || expectation->params == NULL)) return false;
  tj_bound_begin(bound, args, n_args);
  uint8_t *params = bound->params_inline;
  const tj_expect *e = expectation->params;
  /* No argument may be a NULL array, to which C adds nothing, not even 0. */
  for (const tj_arg *arg = args, *end = n_args ? args + n_args : args; arg < end; arg++, e++) {
    uint64_t bits = arg->v.u;
    uint32_t head;
    memcpy(&head, arg, 4);
    if (UNLIKELY(head != e->head)) {
      bool same = e->how == DESCRIPTOR && arg->kind == TJ_TENSOR_DESC
                      ? is_descriptor(bound, arg, expectation, e)
                      : is_argument(bound, (uint32_t)(arg - args), expectation);
      if (!same) return false;
      continue;
    }
    bool fits = LIKELY(e->how == MASKED) ? is_masked(e, bits) : is_expected(e, &bits);
    if (UNLIKELY(!fits)) return false;
    memcpy(params + e->offset, &bits, 8);
  }
  for (uint32_t i = (uint32_t)n_args; i < n; i++)
    if (!is_argument(bound, i, expectation)) return false;
  bound->params_size = expectation->params_size;
  return true;
}
