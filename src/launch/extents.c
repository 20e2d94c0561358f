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
static void extent_of_tensor(const tj_dl_tensor *tensor, tj_extent *extent) {
  uint32_t size = ((uint32_t)tensor->bits * tensor->lanes + 7) / 8;
  uint64_t address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
  int64_t before = 0, behind = 0, stride = 1;
  bool empty = false;
  for (int32_t axis = tensor->ndim - 1; axis >= 0; axis--) {
    int64_t length = tensor->shape[axis];
    int64_t step = tensor->strides ? tensor->strides[axis] : stride;
    empty |= length <= 0;
    if (step < 0)
      before -= (length - 1) * step;
    else
      behind += (length - 1) * step;
    stride *= length;
  }
  *extent = (tj_extent){.known = 1,
                        .element_size = size,
                        .address = address,
                        .first = empty ? address + 1 : address - (uint64_t)before * size,
                        .last = empty ? address : address + (uint64_t)(behind + 1) * size - 1,
                        .rank = (uint32_t)tensor->ndim,
                        .shape = tensor->shape,
                        .strides = tensor->strides};
}

static void extent_of_buffer(const tj_buffer *buffer, tj_extent *extent) {
  uint64_t address = (uint64_t)(uintptr_t)buffer->ptr;
  bool empty = buffer->size == 0;
  *extent = (tj_extent){.known = 1,
                        .element_size = tj_dtype_size(buffer->dtype),
                        .address = address,
                        .first = empty ? address + 1 : address,
                        .last = empty ? address : address + (buffer->size - 1)};
}

/* One run-time value; `arg` is NULL for one whose argument is not known. */
static void put_extent(const tj_arg *arg, slots *out) {
  if (out->next == out->end) return;
  tj_extent *extent = out->next++;
  *extent = (tj_extent){0};
  if (arg == NULL) return;
  if (arg->kind == TJ_TENSOR) extent_of_tensor(arg->v.obj, extent);
  if (arg->kind == TJ_BUFFER) extent_of_buffer(arg->v.obj, extent);
  if (arg->kind == TJ_POINTER) extent->address = arg->v.u;
}

/* A parameter's item of the key; those of a tuple's elements follow it. */
static void put_item_extents(tj_key_reader *reader, const tj_arg *arg, slots *out) {
  tj_key_item item;
  if (!tj_key_next(reader, &item)) return;
  if (item.tag < TJ_KEY_CONST) put_extent(arg, out);
  if (item.tag != TJ_KEY_TUPLE) return;
  const tj_arg *items = arg && arg->kind == TJ_TUPLE ? arg->v.obj : NULL;
  for (uint32_t i = 0; i < item.size; i++)
    put_item_extents(reader, items && i < arg->aux ? &items[i] : NULL, out);
}

void tj_launch_extents(const tj_backend_launch *launch, tj_extent *out_extents) {
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
