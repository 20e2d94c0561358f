/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing into a bound call: items of the key, and packed values. Room is ensured by the
 * callers. Included by the files of this folder only.
 */
#ifndef TJ_BIND_PUT_H
#define TJ_BIND_PUT_H

#include <string.h>

#include "base/likely.h"
#include "bind/bind.h"

/* Why an attempt to bind stops without an error; they never leave this folder. */
#define TJ_NEEDS_ROOM ((tj_status)-1)   /* the buffers are too small */
#define TJ_HAS_KEYWORDS ((tj_status)-2) /* the arguments are not in the parameters' order */

#define MAX_TUPLE_DEPTH 32

/* Room for the values of a tensor descriptor, wherever the ones before it end: they are written
   as if it were of the largest rank. */
#define TJ_DESC_ROOM (28 * TJ_DESC_MAX_RANK + 32)

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
static inline bool key_has_room(const tj_bound *b, size_t more) {
  return b->key_capacity - b->key_size >= more + b->key_reserved;
}

/* Parameters whose fixed items fit the inline buffers. */
#define TJ_MAX_INLINE_PARAMS ((TJ_INLINE_KEY - sizeof(tj_key_head)) / TJ_KEY_ITEM)
_Static_assert(TJ_MAX_INLINE_PARAMS <= TJ_INLINE_PARAMS / 8, "packed values fit too");

static inline void tj_bound_begin(tj_bound *bound, const tj_arg *args, size_t n_args) {
  bound->args = args;
  bound->n_args = n_args;
  bound->reordered = NULL;
  bound->spilled = NULL;
  bound->key = bound->key_inline;
  bound->key_capacity = sizeof bound->key_inline;
  bound->params = bound->params_inline;
  bound->params_capacity = TJ_INLINE_PARAMS;
}

/* constant.c: `arg` as a compile-time constant. */
tj_status tj_bind_constant(tj_bound *b, const tj_arg *arg, const tj_place *place);
void tj_put_int(tj_bound *b, int64_t value);
tj_status tj_put_function(tj_bound *b, const tj_arg *arg, const tj_place *place);
/* Checks and begins the tuple `arg`; its items follow. */
tj_status tj_begin_tuple(tj_bound *b, const tj_arg *arg, const tj_place *place);

/* descriptor.c: a TJ_TENSOR_DESC, or the TJ_SPEC of one. */
tj_status tj_bind_desc(tj_bound *b, const tj_arg *arg, const tj_place *place);

/* argument.c: parameter `i` by the rules in full. */
tj_status tj_bind_argument(tj_bound *b, uint32_t i);

/* uncommon.c: moves to larger buffers; lays keywords out by parameter. */
tj_status tj_bound_spill(tj_bound *b);
tj_status tj_bound_reorder(tj_bound *b);

#endif /* TJ_BIND_PUT_H */
