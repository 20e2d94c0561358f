/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor descriptors from the host: the checks that Triton's TensorDescriptor makes, the class
 * for the key, and the parameters that Triton makes of one (key.c says which, in desc_slot).
 */
#include "base/dtype.h"
#include "base/error.h"
#include "bind/put.h"

/* ---- what chooses the code ------------------------------------------------------------------ */

static tj_status check_class(const tj_bound *b, const tj_tensor_desc *desc, const tj_place *place) {
  if (b->signature->desc_flags < 0)
    return tj_fail_at(TJ_E_NOT_SUPPORTED, place,
                      "triton %s has no tensor descriptors from the host that this library knows; "
                      "make the descriptor in the kernel with tl.make_tensor_descriptor",
                      b->signature->triton);
  if (desc->dtype == TJ_DTYPE_NONE || desc->dtype >= TJ_VOID)
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                      "the descriptor has no element type (dtype %u); give one, such as TJ_FP16",
                      (unsigned)desc->dtype);
  if (desc->rank == 0 || desc->rank > TJ_DESC_MAX_RANK)
    return tj_fail_at(TJ_E_ARGUMENT_RANGE, place,
                      "the descriptor has rank %u, but descriptors have 1 to %u dimensions",
                      desc->rank, TJ_DESC_MAX_RANK);
  return TJ_OK;
}

static tj_status make_class(const tj_bound *b, const tj_tensor_desc *desc, const tj_place *place,
                            tj_key_desc *out_class) {
  *out_class = (tj_key_desc){.n_flags = (uint8_t)b->signature->desc_flags};
  uint32_t log2_block = 0;
  for (uint32_t i = 0; i < desc->rank; i++) {
    uint32_t size = desc->block[i];
    if (UNLIKELY(size == 0 || size & (size - 1)))
      return tj_fail_at(TJ_E_INVALID, place,
                        "block[%u] of the descriptor is %u, but block sizes are powers of two", i,
                        size);
    out_class->log2_block[i] = (uint8_t)__builtin_ctz(size);
    log2_block += out_class->log2_block[i];
  }
  if (UNLIKELY(log2_block > TJ_DESC_MAX_LOG2_BLOCK))
    return tj_fail_at(TJ_E_ARGUMENT_RANGE, place,
                      "the block of the descriptor has 2^%u elements; Triton's limit is 2^%u",
                      log2_block, TJ_DESC_MAX_LOG2_BLOCK);
  return TJ_OK;
}

/* ---- what is passed at run time ------------------------------------------------------------- */

static bool has_nan(tj_dtype dtype) {
  return tj_dtype_is_float(dtype) || (tj_dtype_is_fp8(dtype) && dtype != TJ_FP8E4B15);
}

static tj_status check_flags(const tj_bound *b, const tj_tensor_desc *desc, const tj_place *place) {
  if (desc->padding > TJ_PADDING_NAN)
    return tj_fail_at(TJ_E_INVALID, place,
                      "padding of the descriptor is %u; it is TJ_PADDING_ZERO or TJ_PADDING_NAN",
                      desc->padding);
  if (desc->flags & ~(uint32_t)TJ_DESC_ROUND_TF32)
    return tj_fail_at(TJ_E_INVALID, place,
                      "flags of the descriptor are 0x%x; only TJ_DESC_ROUND_TF32 (0x1) is known",
                      desc->flags);
  if (desc->padding && !has_nan(desc->dtype))
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                      "a descriptor of %s cannot be padded with NaN, which that type does not have",
                      tj_dtype_name(desc->dtype));
  if (desc->flags && desc->dtype != TJ_FP32)
    return tj_fail_at(TJ_E_ARGUMENT_TYPE, place,
                      "a descriptor of %s cannot be rounded to tf32; only fp32 can",
                      tj_dtype_name(desc->dtype));
  if (b->signature->desc_flags < (desc->flags ? 2 : desc->padding ? 1 : 0))
    return tj_fail_at(
        TJ_E_NOT_SUPPORTED, place, "descriptors of triton %s have no %s", b->signature->triton,
        desc->flags ? "rounding to tf32 (3.7 and later have)" : "NaN padding (3.5 and later have)");
  return TJ_OK;
}

static tj_status check_layout(const tj_tensor_desc *desc, const tj_place *place) {
  uint64_t address = (uint64_t)(uintptr_t)desc->base, element = tj_dtype_size(desc->dtype);
  uint32_t last = desc->rank - 1u;
  if (UNLIKELY(address == 0))
    return tj_fail_at(TJ_E_NULL, place, "the base of the descriptor is NULL");
  if (UNLIKELY(address & 15))
    return tj_fail_at(TJ_E_INVALID, place,
                      "the base of the descriptor, 0x%llx, is not a multiple of 16 bytes",
                      (unsigned long long)address);
  for (uint32_t i = 0; i <= last; i++) {
    if (UNLIKELY(desc->shape[i] < 1 || desc->shape[i] > INT32_MAX))
      return tj_fail_at(TJ_E_ARGUMENT_RANGE, place,
                        "shape[%u] of the descriptor is %lld; sizes are 1 to 2147483647", i,
                        (long long)desc->shape[i]);
    if (UNLIKELY(i < last && ((uint64_t)desc->strides[i] * element) & 15))
      return tj_fail_at(TJ_E_INVALID, place,
                        "strides[%u] of the descriptor is %lld elements of %u bytes, which is not "
                        "a multiple of 16 bytes",
                        i, (long long)desc->strides[i], (unsigned)element);
  }
  if (UNLIKELY(desc->strides[last] != 1))
    return tj_fail_at(TJ_E_INVALID, place,
                      "strides[%u] of the descriptor is %lld; the last one is 1: the elements of "
                      "the last dimension lie side by side",
                      last, (long long)desc->strides[last]);
  return TJ_OK;
}

/* All entries, those from the rank on included: what is packed next covers them, or they lie in
   the room behind. So the copies are of fixed size. Returns the end of those that count. */
static inline uint8_t *put_wide(uint8_t *at, const int64_t values[TJ_DESC_MAX_RANK],
                                uint32_t rank) {
  memcpy(at, values, sizeof(int64_t[TJ_DESC_MAX_RANK]));
  return at + rank * sizeof *values;
}

/* At a multiple of 8 bytes; returns the end. */
static inline uint8_t *put_values(uint8_t *at, const tj_tensor_desc *desc, uint32_t n_flags) {
  const uint8_t flags[4] = {desc->padding, (uint8_t)desc->flags};
  uint64_t address = (uint64_t)(uintptr_t)desc->base;
  uint32_t rank = desc->rank;
  int32_t sizes[TJ_DESC_MAX_RANK];
  for (int i = 0; i < TJ_DESC_MAX_RANK; i++) sizes[i] = (int32_t)desc->shape[i];
  memcpy(at, &address, 8);
  at = put_wide(at + 8, desc->shape, rank);
  at = put_wide(at, desc->strides, rank);
  memcpy(at, flags, 4);
  at += n_flags ? 4 : 0;
  memcpy(at, sizes, sizeof sizes);
  /* Flags take the room of a size; 8-byte values follow at a multiple of their size. */
  at += (rank + ((n_flags ? rank + 1 : rank) & 1)) * sizeof *sizes;
  return put_wide(at, desc->strides, rank);
}

/* ---- bind ------------------------------------------------------------------------------------ */

tj_status tj_bind_desc(tj_bound *b, const tj_arg *arg, const tj_place *place) {
  const tj_tensor_desc *desc = arg->v.obj;
  tj_tensor_desc without_data;
  tj_key_desc class_;
  if (desc == NULL) return tj_fail_at(TJ_E_NULL, place, "the tj_tensor_desc is NULL");
  if (desc->struct_size < sizeof *desc)
    return tj_fail_size_at(place, "tj_tensor_desc", desc->struct_size, sizeof *desc);
  tj_status status = check_class(b, desc, place);
  if (status == TJ_OK) status = make_class(b, desc, place, &class_);
  if (status == TJ_OK && arg->kind == TJ_SPEC) {
    without_data = (tj_tensor_desc){.rank = desc->rank, .dtype = desc->dtype};
    desc = &without_data;
  } else if (status == TJ_OK) {
    if (UNLIKELY(desc->padding | desc->flags)) status = check_flags(b, desc, place);
    if (status == TJ_OK) status = check_layout(desc, place);
  }
  if (UNLIKELY(status != TJ_OK)) return status;
  if (UNLIKELY(b->params_capacity - b->params_size < TJ_DESC_ROOM + b->params_reserved))
    return TJ_NEEDS_ROOM;
  put_item(b, (uint8_t)(TJ_KEY_DESC | desc->dtype), desc->rank);
  memcpy(b->key + b->key_size, &class_, sizeof class_);
  b->key_size += (uint32_t)sizeof class_;
  uint8_t *begin = b->params + ((b->params_size + 7) & ~7u);
  b->params_size = (uint32_t)(put_values(begin, desc, class_.n_flags) - b->params);
  return TJ_OK;
}
