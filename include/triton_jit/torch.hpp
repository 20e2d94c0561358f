// SPDX-License-Identifier: Apache-2.0
/*
 * at::Tensor and c10::Scalar as arguments of triton_jit.hpp's calls. For code that is
 * built against libtorch; the library itself knows nothing of it.
 *
 *   add(triton_jit::grid(stream, blocks), x, y, out, x.numel(), 1024);
 *
 * A tensor is passed as a pointer to its first element, with its dtype; an undefined one
 * as None. Shape and strides are the kernel's business, unless it takes a descriptor:
 *
 *   matmul(triton_jit::grid(stream, blocks), triton_jit::tensor_desc(a, {64, 32}), ...);
 *
 * Since 0.1.
 */
#ifndef TRITON_JIT_TORCH_HPP
#define TRITON_JIT_TORCH_HPP

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "triton_jit/triton_jit.hpp"

namespace triton_jit {

/* The dtype of a tensor's elements; throws error TJ_E_UNSUPPORTED_ARGUMENT, naming the type,
   if Triton has none such. */
inline tj_dtype dtype_of_scalar_type(c10::ScalarType type) {
  switch (type) {
  case c10::ScalarType::Bool: return TJ_U1;
  case c10::ScalarType::Char: return TJ_I8;
  case c10::ScalarType::Short: return TJ_I16;
  case c10::ScalarType::Int: return TJ_I32;
  case c10::ScalarType::Long: return TJ_I64;
  case c10::ScalarType::Byte: return TJ_U8;
  case c10::ScalarType::UInt16: return TJ_U16;
  case c10::ScalarType::UInt32: return TJ_U32;
  case c10::ScalarType::UInt64: return TJ_U64;
  case c10::ScalarType::Half: return TJ_FP16;
  case c10::ScalarType::BFloat16: return TJ_BF16;
  case c10::ScalarType::Float: return TJ_FP32;
  case c10::ScalarType::Double: return TJ_FP64;
  case c10::ScalarType::Float8_e4m3fn: return TJ_FP8E4NV;
  case c10::ScalarType::Float8_e5m2: return TJ_FP8E5;
  case c10::ScalarType::Float8_e4m3fnuz: return TJ_FP8E4B8;
  case c10::ScalarType::Float8_e5m2fnuz: return TJ_FP8E5B16;
  default: break;
  }
  throw error(TJ_E_UNSUPPORTED_ARGUMENT,
              (std::string("Triton has no dtype for tensors of ") + c10::toString(type)).c_str());
}

template <> struct argument<at::Tensor> {
  explicit argument(const at::Tensor &value)
      : arg_(value.defined() ? tj_ptr(value.data_ptr(), dtype_of_scalar_type(value.scalar_type()))
                             : tj_none()) {}
  tj_arg get() const { return arg_; }

private:
  tj_arg arg_;
};

/* A descriptor of the whole tensor, padded with zeros, as TensorDescriptor.from_tensor makes it.
   Throws error TJ_E_INVALID if `block` has not one size for each dimension. */
inline tj_tensor_desc tensor_desc(const at::Tensor &tensor,
                                  std::initializer_list<std::uint32_t> block) {
  return detail::make_desc(tensor.data_ptr(), dtype_of_scalar_type(tensor.scalar_type()),
                           tensor.sizes().size(), tensor.sizes().data(), tensor.strides().size(),
                           tensor.strides().data(), block);
}

template <> struct argument<c10::Scalar> {
  explicit argument(const c10::Scalar &value)
      : arg_(value.isBoolean()         ? tj_bool(value.toBool())
             : value.isFloatingPoint() ? tj_float(value.toDouble())
                                       : tj_int(value.toLong())) {}
  tj_arg get() const { return arg_; }

private:
  tj_arg arg_;
};

} // namespace triton_jit

#endif // TRITON_JIT_TORCH_HPP
