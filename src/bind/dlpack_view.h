/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of DLPack's DLTensor that binding reads, as its ABI has it since version 0.6
 * (https://dmlc.github.io/dlpack/latest/c_api.html).
 */
#ifndef TJ_BIND_DLPACK_VIEW_H
#define TJ_BIND_DLPACK_VIEW_H

#include <stdint.h>

#include "triton_jit/arg.h"

typedef struct tj_dl_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
} tj_dl_tensor;

/* DLDataType {code, bits, lanes} as our dtype; TJ_DTYPE_NONE if Triton has none such. */
static inline tj_dtype tj_dl_dtype(uint8_t code, uint8_t bits, uint16_t lanes) {
  if (lanes != 1) return TJ_DTYPE_NONE;
  switch (code << 8 | bits) {
  case 0 << 8 | 8: return TJ_I8; /* kDLInt */
  case 0 << 8 | 16: return TJ_I16;
  case 0 << 8 | 32: return TJ_I32;
  case 0 << 8 | 64: return TJ_I64;
  case 1 << 8 | 1: return TJ_U1; /* kDLUInt */
  case 1 << 8 | 8: return TJ_U8;
  case 1 << 8 | 16: return TJ_U16;
  case 1 << 8 | 32: return TJ_U32;
  case 1 << 8 | 64: return TJ_U64;
  case 2 << 8 | 16: return TJ_FP16; /* kDLFloat */
  case 2 << 8 | 32: return TJ_FP32;
  case 2 << 8 | 64: return TJ_FP64;
  case 4 << 8 | 16: return TJ_BF16;     /* kDLBfloat */
  case 6 << 8 | 8: return TJ_U1;        /* kDLBool */
  case 10 << 8 | 8: return TJ_FP8E4NV;  /* kDLFloat8_e4m3fn */
  case 11 << 8 | 8: return TJ_FP8E4B8;  /* kDLFloat8_e4m3fnuz */
  case 12 << 8 | 8: return TJ_FP8E5;    /* kDLFloat8_e5m2 */
  case 13 << 8 | 8: return TJ_FP8E5B16; /* kDLFloat8_e5m2fnuz */
  default: return TJ_DTYPE_NONE;
  }
}

#endif /* TJ_BIND_DLPACK_VIEW_H */
