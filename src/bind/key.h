/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variant key: canonical bytes, free of pointers, that hold everything about a call
 * that changes the code. This folder writes them, key.c alone takes them apart.
 *
 *   tj_key_head, then for each parameter in order one item of two bytes {tag, aux}, some
 *   with a payload behind it:
 *
 *   run-time value      tag = dtype, or TJ_KEY_POINTER | dtype; aux = class (TJ_CLASS_*)
 *   tensor descriptor   tag = TJ_KEY_DESC | dtype; aux = rank; 8 bytes, tj_key_desc
 *   constant            tag >= TJ_KEY_CONST:
 *     NONE, TRUE, FALSE, DEFAULT (the parameter's own, if C cannot express it)
 *     INT      8 bytes, int64_t           (1 and True and 1.0 are three constants)
 *     UINT     8 bytes, uint64_t, from 2^63 on
 *     FLOAT    8 bytes, double; one NaN stands for all
 *     STRING   uint32_t size, bytes
 *     DTYPE    aux = dtype
 *     FUNCTION 32 bytes, digest of Triton's cache_key
 *   tuple               TJ_KEY_TUPLE, uint32_t count, items
 *
 * Two calls of a function share a variant if and only if their keys are equal. Numbers
 * are in the machine's byte order; option sets and targets are ids of this process.
 */
#ifndef TJ_BIND_KEY_H
#define TJ_BIND_KEY_H

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "bind/signature.h"
#include "triton_jit/sys/backend.h"

#define TJ_KEY_VERSION 1

typedef struct tj_key_head {
  uint8_t version;
  uint8_t reserved;
  uint16_t num_warps, num_stages, num_ctas; /* as asked for; 0: not */
  uint32_t options;                         /* id of the option set */
  uint32_t target;                          /* id of the target */
} tj_key_head;
_Static_assert(sizeof(tj_key_head) == 16, "no padding in a key");

enum {
  TJ_KEY_DESC = 0x20,
  TJ_KEY_POINTER = 0x40,
  TJ_KEY_CONST = 0x80,
  TJ_KEY_NONE = 0x80,
  TJ_KEY_TRUE,
  TJ_KEY_FALSE,
  TJ_KEY_DEFAULT,
  TJ_KEY_INT,
  TJ_KEY_UINT,
  TJ_KEY_FLOAT,
  TJ_KEY_STRING,
  TJ_KEY_DTYPE,
  TJ_KEY_FUNCTION,
  TJ_KEY_TUPLE
};

/* An item's two bytes as one number in memory order. */
static inline uint16_t tj_key_pair(uint8_t tag, uint8_t aux) {
  uint8_t bytes[2] = {tag, aux};
  uint16_t pair;
  memcpy(&pair, bytes, 2);
  return pair;
}

/* What else of a tensor descriptor chooses the code. */
typedef struct tj_key_desc {
  uint8_t log2_block[TJ_DESC_MAX_RANK]; /* 0 from the rank on */
  uint8_t n_flags;                      /* how many flags are packed with it: tj_signature's */
  uint8_t reserved[2];
} tj_key_desc;
_Static_assert(sizeof(tj_key_desc) == 8, "no padding in a key");

/* A block has at most so many elements, the most of a tensor of Triton's. */
#define TJ_DESC_MAX_LOG2_BLOCK 20

/* Bytes of the longest item of fixed size, FUNCTION apart. */
#define TJ_KEY_ITEM 10

/* Items of a key, one after the other. */
typedef struct tj_key_reader {
  const uint8_t *at, *end;
} tj_key_reader;

typedef struct tj_key_item {
  uint8_t tag, aux;
  uint32_t size; /* bytes of a string, count of a tuple */
  const uint8_t *payload;
} tj_key_item;

/* What a run-time item is. */
static inline bool tj_key_is_value(const tj_key_item *item) { return item->tag < TJ_KEY_CONST; }
static inline bool tj_key_is_pointer(const tj_key_item *item) { return item->tag & TJ_KEY_POINTER; }
static inline bool tj_key_is_desc(const tj_key_item *item) {
  return tj_key_is_value(item) && item->tag & TJ_KEY_DESC;
}

static inline tj_dtype tj_key_dtype(const tj_key_item *item) {
  return item->tag & ~(TJ_KEY_POINTER | TJ_KEY_DESC);
}

static inline tj_key_desc tj_key_desc_of(const tj_key_item *item) {
  tj_key_desc desc;
  memcpy(&desc, item->payload, sizeof desc);
  return desc;
}

/* The items, behind the head. */
static inline tj_key_reader tj_key_body(const void *key, size_t size) {
  const uint8_t *bytes = key;
  size_t head = size < sizeof(tj_key_head) ? size : sizeof(tj_key_head);
  return (tj_key_reader){bytes + head, bytes + size};
}

/* False at the end, and where the bytes are none of ours. */
bool tj_key_next(tj_key_reader *reader, tj_key_item *out_item);

/*
 * Where a run-time item's value is packed, the last one if it has several, when what is
 * before it ends at *end; moves *end behind it.
 */
uint32_t tj_key_place(const tj_key_item *item, uint32_t *end);

/* The `i`-th value of a run-time item, without its offset; false behind the last. */
bool tj_key_item_slot(const tj_key_item *item, uint32_t i, tj_slot *out_slot);

/*
 * The arguments that stand for the key's class of calls, one value (bind/value.h) a
 * parameter. `function_id` gives the id of the function with that digest.
 * NULL with the error recorded.
 */
typedef const char *(*tj_key_function_id)(const uint8_t digest[32]);
cJSON *tj_key_arguments(const tj_signature *signature, const void *key, size_t size,
                        tj_key_function_id function_id);

/* The same for a reader: "x=*fp32:16 n=i32 BLOCK=1024". */
void tj_key_describe(const tj_signature *signature, const void *key, size_t size, tj_str *out);

/*
 * Where the run-time values lie. At most `max` slots are written; returns their number,
 * and the packed size.
 */
uint32_t tj_key_slots(const void *key, size_t size, tj_slot *slots, uint32_t max,
                      uint32_t *out_params_size);

/* The first parameter whose item differs between two keys of one function, or -1. */
int64_t tj_key_difference(const tj_signature *signature, const void *a, size_t a_size,
                          const void *b, size_t b_size);

/* Triton's name of a slot's type: "*fp32", "i32". `buffer` has room for 16. */
const char *tj_slot_type(const tj_slot *slot, char buffer[16]);

#endif /* TJ_BIND_KEY_H */
