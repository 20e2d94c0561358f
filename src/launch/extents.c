/* SPDX-License-Identifier: Apache-2.0 */
/* The extents of a launch's arguments, slot by slot. */
#include <stddef.h>

#include "base/dtype.h"
#include "bind/bind.h"
#include "bind/dlpack_view.h"
#include "cache/variant.h"

typedef struct slots {
  tj_extent *next, *end;
} slots;

/* A tensor without elements has no bytes. */
static tj_extent extent_of_layout(uint64_t address, uint32_t size, uint32_t rank,
                                  const int64_t *shape, const int64_t *strides) {
  /* Unsigned: lengths and strides that make no sense may wrap around, but must not trap. */
  uint64_t before = 0, behind = 0, step = 1;
  bool empty = false;
  for (uint32_t axis = rank; axis-- > 0;) {
    uint64_t length = (uint64_t)shape[axis];
    uint64_t reach = (length - 1) * (strides ? (uint64_t)strides[axis] : step);
    empty |= shape[axis] <= 0;
    if (reach >> 63)
      before -= reach;
    else
      behind += reach;
    step *= length;
  }
  return (tj_extent){.known = 1,
                     .element_size = size,
                     .address = address,
                     .first = empty ? address + 1 : address - before * size,
                     .last = empty ? address : address + (behind + 1) * size - 1,
                     .rank = rank,
                     .shape = shape,
                     .strides = strides};
}

static tj_extent extent_of_tensor(const tj_dl_tensor *tensor) {
  return extent_of_layout((uint64_t)(uintptr_t)tensor->data + tensor->byte_offset,
                          ((uint32_t)tensor->bits * tensor->lanes + 7) / 8, (uint32_t)tensor->ndim,
                          tensor->shape, tensor->strides);
}

static tj_extent extent_of_desc(const tj_tensor_desc *desc) {
  return extent_of_layout((uint64_t)(uintptr_t)desc->base, tj_dtype_size(desc->dtype), desc->rank,
                          desc->shape, desc->strides);
}

static tj_extent extent_of_buffer(const tj_buffer *buffer) {
  uint64_t address = (uint64_t)(uintptr_t)buffer->ptr;
  bool empty = buffer->size == 0;
  return (tj_extent){.known = 1,
                     .element_size = tj_dtype_size(buffer->dtype),
                     .address = address,
                     .first = empty ? address + 1 : address,
                     .last = empty ? address : address + (buffer->size - 1)};
}

static tj_extent extent_of(const tj_arg *arg) {
  switch (arg->kind) {
  case TJ_TENSOR: return extent_of_tensor(arg->v.obj);
  case TJ_BUFFER: return extent_of_buffer(arg->v.obj);
  case TJ_TENSOR_DESC: return extent_of_desc(arg->v.obj);
  default: return (tj_extent){0};
  }
}

/* The values of one item. Of several only the first is a pointer. */
static void put_extents(const tj_key_item *item, const tj_arg *arg, slots *out) {
  tj_slot slot;
  for (uint32_t i = 0; tj_key_item_slot(item, i, &slot) && out->next < out->end; i++)
    *out->next++ = arg && slot.pointer ? extent_of(arg) : (tj_extent){0};
}

/* A parameter's item of the key; those of a tuple's elements follow it. */
static void put_item_extents(tj_key_reader *reader, const tj_arg *arg, slots *out) {
  tj_key_item item;
  if (!tj_key_next(reader, &item)) return;
  if (item.tag < TJ_KEY_CONST) put_extents(&item, arg, out);
  if (item.tag != TJ_KEY_TUPLE) return;
  const tj_arg *items = arg && arg->kind == TJ_TUPLE ? arg->v.obj : NULL;
  for (uint32_t i = 0; i < item.size; i++)
    put_item_extents(reader, items && i < arg->aux ? &items[i] : NULL, out);
}

void tj_launch_extents(const tj_backend_launch *launch, tj_extent *out_extents) {
  if (launch == NULL || out_extents == NULL) return;
  for (uint32_t i = 0; i < launch->n_slots; i++) out_extents[i] = (tj_extent){0};
  const tj_bound *bound = launch->bound;
  if (bound == NULL) return;
  const tj_kernel *kernel =
      (const tj_kernel *)((const char *)launch->artifact - offsetof(tj_kernel, artifact));
  tj_key_reader reader = {kernel->key + sizeof(tj_key_head), kernel->key + kernel->key_size};
  slots out = {out_extents, out_extents + launch->n_slots};
  for (uint32_t i = 0; i < bound->signature->n_params; i++) {
    const tj_arg *arg = i < bound->n_args ? &bound->args[i] : NULL;
    if (arg == NULL || arg->kind == TJ_DEFAULT) arg = &bound->signature->params[i].default_value;
    put_item_extents(&reader, arg, &out);
  }
}
