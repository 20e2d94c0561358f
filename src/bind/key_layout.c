/* SPDX-License-Identifier: Apache-2.0 */
/* Where the run-time values of a key lie in the packed parameters. */
#include <stdio.h>

#include "base/dtype.h"
#include "bind/key.h"

static tj_slot slot_of(tj_dtype dtype) {
  uint32_t size = tj_dtype_size(dtype);
  /* No key of ours has a void value. */
  return (tj_slot){.dtype = dtype, .size = (uint8_t)(size ? size : 1)};
}

/* The parameters that Triton makes of a descriptor: the pointer, the shape and the strides, the
   flags; and for what the kernel asks of the descriptor, shape and strides once more. */
static bool desc_slot(const tj_key_item *item, uint32_t i, tj_slot *out) {
  uint32_t rank = item->aux, n_flags = tj_key_desc_of(item).n_flags;
  if (i == 0)
    *out = (tj_slot){.dtype = tj_key_dtype(item), .pointer = 1, .size = 8, .rank = (uint8_t)rank};
  else if (i <= 2 * rank)
    *out = slot_of(TJ_I64);
  else if (i <= 2 * rank + n_flags)
    *out = slot_of(TJ_U1);
  else if (i <= 3 * rank + n_flags)
    *out = slot_of(TJ_I32);
  else
    *out = slot_of(TJ_I64);
  return i <= 4 * rank + n_flags;
}

bool tj_key_item_slot(const tj_key_item *item, uint32_t i, tj_slot *out) {
  if (tj_key_is_desc(item)) return desc_slot(item, i, out);
  *out = slot_of(tj_key_dtype(item));
  if (tj_key_is_pointer(item))
    *out = (tj_slot){.dtype = tj_key_dtype(item), .pointer = 1, .size = 8};
  return i == 0;
}

/* Gives the value its place behind *end. */
static void place(tj_slot *slot, uint32_t *end) {
  slot->offset = (*end + slot->size - 1) & ~(slot->size - 1u);
  *end = slot->offset + slot->size;
}

uint32_t tj_key_place(const tj_key_item *item, uint32_t *end) {
  uint32_t offset = 0;
  tj_slot slot;
  for (uint32_t i = 0; tj_key_item_slot(item, i, &slot); i++) {
    place(&slot, end);
    offset = slot.offset;
  }
  return offset;
}

uint32_t tj_key_slots(const void *key, size_t size, tj_slot *slots, uint32_t max,
                      uint32_t *out_params_size) {
  tj_key_reader reader = tj_key_body(key, size);
  tj_key_item item;
  uint32_t n = 0, end = 0;
  /* A tuple's elements simply follow it. */
  while (tj_key_next(&reader, &item)) {
    if (!tj_key_is_value(&item)) continue;
    tj_slot slot;
    for (uint32_t i = 0; tj_key_item_slot(&item, i, &slot); i++) {
      place(&slot, &end);
      if (n < max) slots[n] = slot;
      n++;
    }
  }
  *out_params_size = end;
  return n;
}

const char *tj_slot_type(const tj_slot *slot, char buffer[16]) {
  (void)snprintf(buffer, 16, "%s%s", slot->pointer ? "*" : "", tj_dtype_name(slot->dtype));
  return buffer;
}
