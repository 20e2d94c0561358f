/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a kernel call.
 *
 * A call passes an array of tj_arg, the kernel's parameters in their Python order,
 * constexpr ones included. The inline makers below build them:
 *
 *   tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(out, TJ_FP32), tj_int(n), tj_int(1024)};
 *
 * Trailing parameters with defaults may be left out, TJ_DEFAULT (a zeroed tj_arg) skips
 * one in the middle, and tj_keyword() names one. An argument and whatever it points to
 * (tensor views, tuples, strings) are only read while the call runs.
 *
 * What an argument does to the choice of the variant is Triton's rule, that of the
 * installed Triton's JITFunction (python/triton/runtime/jit.py, and its specialisation
 * code): integers fold to a constant when they are 1 and are marked when a multiple of
 * 16, pointers are marked when 16-byte aligned, floats and booleans are not looked at.
 */
#ifndef TRITON_JIT_ARG_H
#define TRITON_JIT_ARG_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/status.h"

TJ_BEGIN_DECLS

typedef struct tj_function tj_function;

/*
 * Element and scalar types, all of Triton's. The comments give Triton's names
 * (python/triton/_utils.py). Values are frozen; 0 always means "unset".
 */
typedef uint16_t tj_dtype;
enum {
  TJ_DTYPE_NONE = 0,
  TJ_U1 = 1,        /* u1: one byte in memory, 0 or 1 (torch.bool) */
  TJ_I8 = 2,        /* i8 */
  TJ_I16 = 3,       /* i16 */
  TJ_I32 = 4,       /* i32 */
  TJ_I64 = 5,       /* i64 */
  TJ_U8 = 6,        /* u8 */
  TJ_U16 = 7,       /* u16 */
  TJ_U32 = 8,       /* u32 */
  TJ_U64 = 9,       /* u64 */
  TJ_FP16 = 10,     /* fp16 */
  TJ_BF16 = 11,     /* bf16 */
  TJ_FP32 = 12,     /* fp32 */
  TJ_FP64 = 13,     /* fp64 */
  TJ_FP8E4NV = 14,  /* fp8e4nv, torch.float8_e4m3fn */
  TJ_FP8E5 = 15,    /* fp8e5, torch.float8_e5m2 */
  TJ_FP8E4B8 = 16,  /* fp8e4b8, torch.float8_e4m3fnuz */
  TJ_FP8E5B16 = 17, /* fp8e5b16, torch.float8_e5m2fnuz */
  TJ_FP8E4B15 = 18, /* fp8e4b15 */
  TJ_VOID = 19      /* void: only as what a pointer points to */
};

/*
 * Triton's name of a dtype ("fp16"), or "?" for a number that is none. Static storage.
 * Thread-safe. Since 0.1.
 */
TJ_API const char *tj_dtype_name(tj_dtype dtype);

/*
 * The dtype of a name: Triton's ("fp16"), tl's and torch's ("float16", "tl.float16",
 * "torch.float8_e4m3fn"). TJ_DTYPE_NONE if it is none of them. Thread-safe. Since 0.1.
 */
TJ_API tj_dtype tj_dtype_from_name(const char *name);

/* Bytes of one element; 0 for TJ_VOID and for a number that is none. Since 0.1. */
TJ_API uint32_t tj_dtype_size(tj_dtype dtype);

/* Kinds of arguments. Values are frozen. */
enum {
  TJ_DEFAULT = 0, /* the parameter's own default */
  TJ_NONE,        /* Python's None: the parameter is absent at compile time */
  TJ_BOOL,        /* v.i is 0 or 1; never folded, a type of its own */
  TJ_INT,         /* v.i: Triton's value rule, i32 or i64 by value; 1 folds */
  TJ_UINT,        /* v.u: the same, and u64 from 2^63 on */
  TJ_FLOAT,       /* v.f: a Python float: fp32 in the kernel unless the parameter is annotated */
  TJ_SCALAR,      /* dtype: as if the parameter were annotated with it; v.i, v.u or v.f by dtype */
  TJ_POINTER,     /* v.ptr: device pointer to elements of dtype */
  TJ_BUFFER,      /* v.obj: const tj_buffer * */
  TJ_TENSOR,      /* v.obj: const DLTensor * (DLPack 0.6 or later), byte_offset is added */
  TJ_STRING,      /* v.obj: bytes, aux: their number; UTF-8; for constexpr parameters */
  TJ_DTYPE,       /* dtype as a value; for constexpr parameters */
  TJ_TUPLE,       /* v.obj: const tj_arg *, aux: their number */
  TJ_FUNCTION,    /* v.obj: tj_function *, a @triton.jit function as an argument */
  TJ_TENSOR_DESC, /* v.obj: const tj_tensor_desc * */
  TJ_SPEC,        /* type and class without data; only for tj_function_prepare */
  TJ_KEYWORD      /* v.obj: const tj_arg * of another kind; aux: the parameter's index */
};

/* tj_arg.flags of TJ_SPEC. Other kinds have no flags yet: 0. */
enum {
  TJ_SPEC_POINTER = 1, /* a pointer to dtype; otherwise a scalar of it */
  TJ_SPEC_ALIGNED = 2, /* a multiple of 16: an address or a value */
  TJ_SPEC_DESC = 4     /* a tensor descriptor; v.obj: const tj_tensor_desc *, without data */
};

/* One argument. Frozen: it grows only by new kinds. Unused bytes must be 0. */
typedef struct tj_arg {
  uint8_t kind;
  uint8_t flags;
  tj_dtype dtype;
  uint32_t aux;
  union {
    int64_t i;
    uint64_t u;
    double f;
    void *ptr;
    const void *obj;
  } v;
} tj_arg;

/*
 * Memory with a known end. The extent lets the CPU backend's checks name accesses
 * beyond it; the variant is that of a pointer.
 */
typedef struct tj_buffer {
  uint32_t struct_size; /* sizeof(tj_buffer) */
  tj_dtype dtype;
  uint16_t reserved; /* 0 */
  void *ptr;
  uint64_t size;     /* bytes */
  int32_t device;    /* ordinal, -1 for not said */
  int32_t reserved2; /* 0 */
} tj_buffer;

#define TJ_DESC_MAX_RANK 5

/* tj_tensor_desc.padding: what a load reads outside of the tensor. */
enum {
  TJ_PADDING_ZERO = 0,
  TJ_PADDING_NAN = 1 /* only for elements that have it: floating point, fp8e4b15 apart */
};

/* tj_tensor_desc.flags. */
enum {
  /* Loads round fp32 elements to tf32's precision. Triton 3.7 and later; fp32 only. */
  TJ_DESC_ROUND_TF32 = 1
};

/*
 * A tensor descriptor made on the host, Triton's TensorDescriptor
 * (triton/tools/tensor_descriptor.py): a tensor in memory, and the block of it that the
 * kernel loads or stores at a time.
 *
 *   tj_tensor_desc x = tj_tensor_desc_make(data, TJ_FP16, 2, (int64_t[]){m, n}, NULL,
 *                                          (uint32_t[]){64, 32});
 *   tj_arg args[] = {tj_desc(&x), ...};
 *
 * dtype, rank and block choose the variant; base, shape, strides, padding and flags are
 * run-time values. What Triton demands is checked at every call: TJ_E_NULL without a base;
 * TJ_E_ARGUMENT_RANGE for a rank, a block or a shape beyond its range; TJ_E_ARGUMENT_TYPE
 * for a dtype that is none, or not one for that padding or rounding; TJ_E_INVALID for
 * addresses, strides and block sizes that no descriptor can have. Whatever of it the
 * device cannot express in addition (negative strides, say) is its backend's error.
 *
 * Needs Triton 3.4 or later; as an element of a tuple 3.8 or later. The struct and its
 * memory are the caller's: the struct is read during the call only, the elements when
 * the kernel runs. Since 0.1.
 */
typedef struct tj_tensor_desc {
  uint32_t struct_size; /* sizeof(tj_tensor_desc) */
  tj_dtype dtype;       /* of the elements */
  uint8_t rank;         /* dimensions, 1 to TJ_DESC_MAX_RANK */
  uint8_t padding;      /* TJ_PADDING_ZERO or TJ_PADDING_NAN */
  void *base;           /* of the first element, on the device; a multiple of 16 */
  /* Elements in each dimension, 1 to 2^31 - 1. Entries from the rank on are not looked at,
     here and below. */
  int64_t shape[TJ_DESC_MAX_RANK];
  /* From an element to the next in each dimension, in elements. The last one is 1, the
     others are multiples of 16 bytes; 0 and negative ones are allowed. */
  int64_t strides[TJ_DESC_MAX_RANK];
  /* Elements of the block in each dimension: powers of two, 2^20 in all at most. */
  uint32_t block[TJ_DESC_MAX_RANK];
  uint32_t flags; /* TJ_DESC_ROUND_TF32, or 0 */
} tj_tensor_desc;

/* ---- makers: inline, no checks, no allocation -------------------------------------- */

static inline tj_arg tj_arg_make_(uint8_t kind, tj_dtype dtype, uint32_t aux) {
  tj_arg arg;
  arg.kind = kind;
  arg.flags = 0;
  arg.dtype = dtype;
  arg.aux = aux;
  arg.v.u = 0;
  return arg;
}

/* The parameter's own default. */
static inline tj_arg tj_default(void) { return tj_arg_make_(TJ_DEFAULT, TJ_DTYPE_NONE, 0); }

/* Python's None. Not a null pointer: that is tj_ptr(NULL, dtype). */
static inline tj_arg tj_none(void) { return tj_arg_make_(TJ_NONE, TJ_DTYPE_NONE, 0); }

static inline tj_arg tj_bool(int value) {
  tj_arg arg = tj_arg_make_(TJ_BOOL, TJ_DTYPE_NONE, 0);
  arg.v.i = value != 0;
  return arg;
}

/* An integer by Triton's value rule, as a Python int would be. */
static inline tj_arg tj_int(int64_t value) {
  tj_arg arg = tj_arg_make_(TJ_INT, TJ_DTYPE_NONE, 0);
  arg.v.i = value;
  return arg;
}

static inline tj_arg tj_uint(uint64_t value) {
  tj_arg arg = tj_arg_make_(TJ_UINT, TJ_DTYPE_NONE, 0);
  arg.v.u = value;
  return arg;
}

/* A Python float: fp32 in the kernel, unless the parameter is annotated otherwise. */
static inline tj_arg tj_float(double value) {
  tj_arg arg = tj_arg_make_(TJ_FLOAT, TJ_DTYPE_NONE, 0);
  arg.v.f = value;
  return arg;
}

/*
 * Scalars of a forced type: as if the parameter were annotated with it, so 1 does not
 * fold and a float keeps its width. An annotation of the parameter itself wins.
 */
static inline tj_arg tj_signed(tj_dtype dtype, int64_t value) {
  tj_arg arg = tj_arg_make_(TJ_SCALAR, dtype, 0);
  arg.v.i = value;
  return arg;
}

static inline tj_arg tj_unsigned(tj_dtype dtype, uint64_t value) {
  tj_arg arg = tj_arg_make_(TJ_SCALAR, dtype, 0);
  arg.v.u = value;
  return arg;
}

static inline tj_arg tj_floating(tj_dtype dtype, double value) {
  tj_arg arg = tj_arg_make_(TJ_SCALAR, dtype, 0);
  arg.v.f = value;
  return arg;
}

static inline tj_arg tj_i8(int8_t value) { return tj_signed(TJ_I8, value); }
static inline tj_arg tj_i16(int16_t value) { return tj_signed(TJ_I16, value); }
static inline tj_arg tj_i32(int32_t value) { return tj_signed(TJ_I32, value); }
static inline tj_arg tj_i64(int64_t value) { return tj_signed(TJ_I64, value); }
static inline tj_arg tj_u8(uint8_t value) { return tj_unsigned(TJ_U8, value); }
static inline tj_arg tj_u16(uint16_t value) { return tj_unsigned(TJ_U16, value); }
static inline tj_arg tj_u32(uint32_t value) { return tj_unsigned(TJ_U32, value); }
static inline tj_arg tj_u64(uint64_t value) { return tj_unsigned(TJ_U64, value); }
/* Rounded to nearest even; out of fp16's range is TJ_E_ARGUMENT_RANGE. */
static inline tj_arg tj_f16(double value) { return tj_floating(TJ_FP16, value); }
/* Cut, not rounded, as Triton's launcher does. */
static inline tj_arg tj_bf16(double value) { return tj_floating(TJ_BF16, value); }
static inline tj_arg tj_f32(double value) { return tj_floating(TJ_FP32, value); }
static inline tj_arg tj_f64(double value) { return tj_floating(TJ_FP64, value); }
/* One of the five fp8 types, given by its byte. */
static inline tj_arg tj_f8(tj_dtype dtype, uint8_t bits) { return tj_unsigned(dtype, bits); }

/* A device pointer to elements of `dtype`. NULL is a pointer like any other. */
static inline tj_arg tj_ptr(const void *ptr, tj_dtype dtype) {
  tj_arg arg = tj_arg_make_(TJ_POINTER, dtype, 0);
  union {
    const void *in;
    void *out;
  } address;
  address.in = ptr;
  arg.v.ptr = address.out;
  return arg;
}

static inline tj_arg tj_buf(const tj_buffer *buffer) {
  tj_arg arg = tj_arg_make_(TJ_BUFFER, TJ_DTYPE_NONE, 0);
  arg.v.obj = buffer;
  return arg;
}

/*
 * A DLPack tensor (`const DLTensor *`, https://dmlc.github.io/dlpack/latest/c_api.html):
 * its data plus byte_offset, its dtype; shape and strides are not passed on. A tensor on
 * a device of another type than the function's backend is TJ_E_DEVICE_MISMATCH.
 */
static inline tj_arg tj_tensor(const void *dl_tensor) {
  tj_arg arg = tj_arg_make_(TJ_TENSOR, TJ_DTYPE_NONE, 0);
  arg.v.obj = dl_tensor;
  return arg;
}

/* `size` bytes of UTF-8; they need no ending 0. */
static inline tj_arg tj_string(const char *bytes, uint32_t size) {
  tj_arg arg = tj_arg_make_(TJ_STRING, TJ_DTYPE_NONE, size);
  arg.v.obj = bytes;
  return arg;
}

/* A dtype as a value, like tl.float16 given to a constexpr parameter. */
static inline tj_arg tj_type(tj_dtype dtype) { return tj_arg_make_(TJ_DTYPE, dtype, 0); }

static inline tj_arg tj_tuple(const tj_arg *items, uint32_t n) {
  tj_arg arg = tj_arg_make_(TJ_TUPLE, TJ_DTYPE_NONE, n);
  arg.v.obj = items;
  return arg;
}

static inline tj_arg tj_fn(const tj_function *function) {
  tj_arg arg = tj_arg_make_(TJ_FUNCTION, TJ_DTYPE_NONE, 0);
  arg.v.obj = function;
  return arg;
}

/*
 * A descriptor without flags and padded with zeros; `shape`, `strides` and `block` have
 * `rank` entries. `strides` may be NULL: dense, the last dimension varies fastest.
 */
static inline tj_tensor_desc tj_tensor_desc_make(const void *base, tj_dtype dtype, uint8_t rank,
                                                 const int64_t *shape, const int64_t *strides,
                                                 const uint32_t *block) {
  tj_tensor_desc desc;
  union {
    const void *in;
    void *out;
  } address;
  uint64_t dense = 1;
  address.in = base;
  desc.struct_size = (uint32_t)sizeof desc;
  desc.dtype = dtype;
  desc.rank = rank;
  desc.padding = TJ_PADDING_ZERO;
  desc.base = address.out;
  desc.flags = 0;
  for (int i = TJ_DESC_MAX_RANK - 1; i >= 0; i--) {
    desc.shape[i] = i < rank ? shape[i] : 0;
    desc.block[i] = i < rank ? block[i] : 0;
    desc.strides[i] = i >= rank ? 0 : strides ? strides[i] : (int64_t)dense;
    if (i < rank) dense *= (uint64_t)shape[i];
  }
  return desc;
}

/* A tensor descriptor; it must live until the call returns. */
static inline tj_arg tj_desc(const tj_tensor_desc *desc) {
  tj_arg arg = tj_arg_make_(TJ_TENSOR_DESC, TJ_DTYPE_NONE, 0);
  arg.v.obj = desc;
  return arg;
}

/*
 * Type and class of a pointer without an address, for tj_function_prepare: the variant
 * of 16-byte aligned pointers (`aligned` not 0), or of others.
 */
static inline tj_arg tj_spec_ptr(tj_dtype dtype, int aligned) {
  tj_arg arg = tj_arg_make_(TJ_SPEC, dtype, 0);
  arg.flags = (uint8_t)(TJ_SPEC_POINTER | (aligned ? TJ_SPEC_ALIGNED : 0));
  return arg;
}

/*
 * The same for a run-time scalar: TJ_I32, TJ_I64 and TJ_U64 as the value rule gives
 * them (not 1: pass tj_int(1) for that), TJ_FP32, TJ_U1 for a bool.
 */
static inline tj_arg tj_spec(tj_dtype dtype, int multiple_of_16) {
  tj_arg arg = tj_arg_make_(TJ_SPEC, dtype, 0);
  arg.flags = (uint8_t)(multiple_of_16 ? TJ_SPEC_ALIGNED : 0);
  return arg;
}

/* The same for a tensor descriptor: of it only struct_size, dtype, rank and block are read. */
static inline tj_arg tj_spec_desc(const tj_tensor_desc *desc) {
  tj_arg arg = tj_arg_make_(TJ_SPEC, TJ_DTYPE_NONE, 0);
  arg.flags = TJ_SPEC_DESC;
  arg.v.obj = desc;
  return arg;
}

/*
 * `value` for the parameter `index` (tj_function_param_index). Keywords come after all
 * positional arguments; `value` must live until the call returns.
 */
static inline tj_arg tj_keyword(uint32_t index, const tj_arg *value) {
  tj_arg arg = tj_arg_make_(TJ_KEYWORD, TJ_DTYPE_NONE, index);
  arg.v.obj = value;
  return arg;
}

TJ_END_DECLS

#endif /* TRITON_JIT_ARG_H */
