// SPDX-License-Identifier: Apache-2.0
/*
 * A thin C++17 layer over the C interface, header only: C++ values as arguments, errors
 * as exceptions. Nothing of it is in the library's ABI.
 *
 *   triton_jit::function add("kernels/add.py", "add_kernel");
 *   add(triton_jit::grid((n + 1023) / 1024), x, y, out, n, 1024);
 *
 * C++ value                     argument (triton_jit/arg.h)
 *   bool                          tj_bool
 *   any integer type              tj_int, tj_uint: Triton's value rule, not the C++ width
 *   float, double                 tj_float: fp32 in the kernel, as a Python float
 *   T *, const T *                tj_ptr with the dtype of T (dtype_of<T>)
 *   std::nullopt, std::optional   tj_none, or the value
 *   const char *, std::string...  tj_string
 *   std::tuple, std::pair         tj_tuple
 *   triton_jit::function          tj_fn
 *   tj_tensor_desc                tj_desc; tensor_desc() makes one
 *   tj_arg                        itself: forced widths, TJ_SPEC, keywords
 * Other types: specialise triton_jit::argument<T>. at::Tensor: triton_jit/torch.hpp.
 *
 * Thread-safety, blocking and errors are those of the C functions. Since 0.1.
 */
#ifndef TRITON_JIT_HPP
#define TRITON_JIT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "triton_jit/triton_jit.h"

namespace triton_jit {

/* A failed call: its status, and its message as what(). */
class error : public std::runtime_error {
public:
  error(tj_status status, const char *message)
      : std::runtime_error(std::string(tj_status_name(status)) + ": " + message), status_(status) {}
  tj_status status() const noexcept { return status_; }

private:
  tj_status status_;
};

/* Throws what this thread recorded, unless the status is TJ_OK. */
inline void check(tj_status status) {
  if (status != TJ_OK) throw error(status, tj_last_error());
}

/* The dtype of a C++ element type; TJ_DTYPE_NONE if it has none. Specialise it for your own
   half-precision types. */
template <class T> struct dtype_of {
  static constexpr tj_dtype value = std::is_same_v<T, bool>     ? TJ_U1
                                    : std::is_same_v<T, float>  ? TJ_FP32
                                    : std::is_same_v<T, double> ? TJ_FP64
                                    : !std::is_integral_v<T>    ? TJ_DTYPE_NONE
                                    : std::is_signed_v<T>       ? (sizeof(T) == 1   ? TJ_I8
                                                                   : sizeof(T) == 2 ? TJ_I16
                                                                   : sizeof(T) == 4 ? TJ_I32
                                                                                    : TJ_I64)
                                                                : (sizeof(T) == 1   ? TJ_U8
                                                                   : sizeof(T) == 2 ? TJ_U16
                                                                   : sizeof(T) == 4 ? TJ_U32
                                                                                    : TJ_U64);
};

/*
 * How a value of type T becomes an argument. A specialisation is constructed from the
 * value, lives as long as the call, and gives the argument by get(); it may own what the
 * argument points to.
 */
template <class T, class Enable = void> struct argument;

template <> struct argument<tj_arg> {
  explicit argument(const tj_arg &value) : arg(value) {}
  tj_arg get() const { return arg; }
  tj_arg arg;
};

template <class T> struct argument<T, std::enable_if_t<std::is_integral_v<T>>> {
  explicit argument(T value) : value_(value) {}
  tj_arg get() const {
    if constexpr (std::is_same_v<T, bool>)
      return tj_bool(value_);
    else if constexpr (std::is_signed_v<T>)
      return tj_int(value_);
    else
      return tj_uint(value_);
  }

private:
  T value_;
};

template <class T> struct argument<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  explicit argument(T value) : value_(static_cast<double>(value)) {}
  tj_arg get() const { return tj_float(value_); }

private:
  double value_;
};

template <class T>
struct argument<T *, std::enable_if_t<!std::is_same_v<std::remove_cv_t<T>, char>>> {
  static constexpr tj_dtype dtype = dtype_of<std::remove_cv_t<T>>::value;
  static_assert(
      dtype != TJ_DTYPE_NONE,
      "no Triton dtype for this pointer: specialise triton_jit::dtype_of, or pass tj_ptr");
  explicit argument(T *value) : value_(value) {}
  tj_arg get() const { return tj_ptr(value_, dtype); }

private:
  T *value_;
};

template <class T>
struct argument<T, std::enable_if_t<std::is_convertible_v<const T &, std::string_view>>> {
  explicit argument(const T &value) : text_(value) {}
  tj_arg get() const { return tj_string(text_.data(), static_cast<std::uint32_t>(text_.size())); }

private:
  std::string_view text_;
};

template <> struct argument<std::nullopt_t> {
  explicit argument(std::nullopt_t) {}
  tj_arg get() const { return tj_none(); }
};

template <class T> struct argument<std::optional<T>> {
  explicit argument(const std::optional<T> &value) {
    if (value) held_.emplace(*value);
  }
  tj_arg get() const { return held_ ? held_->get() : tj_none(); }

private:
  std::optional<argument<T>> held_;
};

template <class... T> struct argument<std::tuple<T...>> {
  explicit argument(const std::tuple<T...> &value)
      : held_(std::apply([](const T &...item) { return std::tuple<argument<T>...>(item...); },
                         value)),
        items_(std::apply(
            [](const auto &...item) { return std::array<tj_arg, sizeof...(T) + 1>{item.get()...}; },
            held_)) {}
  tj_arg get() const { return tj_tuple(items_.data(), sizeof...(T)); }

private:
  std::tuple<argument<T>...> held_;
  std::array<tj_arg, sizeof...(T) + 1> items_;
};

template <class A, class B> struct argument<std::pair<A, B>> {
  explicit argument(const std::pair<A, B> &value)
      : first_(value.first), second_(value.second), items_{first_.get(), second_.get()} {}
  tj_arg get() const { return tj_tuple(items_.data(), 2); }

private:
  argument<A> first_;
  argument<B> second_;
  std::array<tj_arg, 2> items_;
};

template <> struct argument<tj_tensor_desc> {
  explicit argument(const tj_tensor_desc &value) : desc_(value) {}
  tj_arg get() const { return tj_desc(&desc_); }

private:
  tj_tensor_desc desc_;
};

namespace detail {
/* Throws unless all lists have one entry for each dimension; there may be no strides. */
inline tj_tensor_desc make_desc(const void *base, tj_dtype dtype, std::size_t rank,
                                const std::int64_t *shape, std::size_t n_strides,
                                const std::int64_t *strides,
                                std::initializer_list<std::uint32_t> block) {
  if (rank > TJ_DESC_MAX_RANK || block.size() != rank || (n_strides != 0 && n_strides != rank))
    throw error(TJ_E_INVALID,
                ("tensor_desc: shape has " + std::to_string(rank) + " entries, block " +
                 std::to_string(block.size()) + " and strides " + std::to_string(n_strides) +
                 "; all have one for each dimension, 5 at most")
                    .c_str());
  return tj_tensor_desc_make(base, dtype, static_cast<std::uint8_t>(rank), shape,
                             n_strides == 0 ? nullptr : strides, block.begin());
}
} // namespace detail

/*
 * A tensor descriptor of the elements at `base`, padded with zeros; without `strides` they
 * lie densely. Throws error TJ_E_INVALID if the lists are not of one length, or too long.
 */
template <class T>
tj_tensor_desc tensor_desc(T *base, std::initializer_list<std::int64_t> shape,
                           std::initializer_list<std::uint32_t> block,
                           std::initializer_list<std::int64_t> strides = {}) {
  constexpr tj_dtype dtype = dtype_of<std::remove_cv_t<T>>::value;
  static_assert(dtype != TJ_DTYPE_NONE,
                "no Triton dtype for this pointer: specialise triton_jit::dtype_of");
  return detail::make_desc(base, dtype, shape.size(), shape.begin(), strides.size(),
                           strides.begin(), block);
}

/* A launch on the current device and default stream; further fields are tj_launch's. */
inline tj_launch grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
  return tj_launch_grid(x, y, z);
}
inline tj_launch grid(void *stream, std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
  tj_launch launch = tj_launch_grid(x, y, z);
  launch.stream = stream;
  return launch;
}

namespace detail {
/* Calls `call(args, n)` with the values as arguments. */
template <class Call, class... T> tj_status with_arguments(Call &&call, const T &...value) {
  const std::tuple<argument<std::decay_t<const T>>...> held(value...);
  const std::array<tj_arg, sizeof...(T) + 1> args = std::apply(
      [](const auto &...item) { return std::array<tj_arg, sizeof...(T) + 1>{item.get()...}; },
      held);
  return call(args.data(), sizeof...(T));
}
} // namespace detail

/* One compiled variant; a handle, cheap to copy. */
class kernel {
public:
  explicit kernel(tj_kernel *handle) : handle_(handle) {}
  tj_kernel *handle() const noexcept { return handle_; }

  template <class... T> void operator()(const tj_launch &launch, const T &...value) const {
    check(detail::with_arguments(
        [&](const tj_arg *args, std::size_t n) {
          return tj_kernel_launch(handle_, &launch, args, n);
        },
        value...));
  }

private:
  tj_kernel *handle_;
};

/* A Triton function; a handle, cheap to copy. */
class function {
public:
  explicit function(tj_function *handle) : handle_(handle) {}
  function(const std::string &source, const std::string &name) {
    check(tj_function_get(source.c_str(), name.c_str(), &handle_));
  }
  function(const std::string &source, const std::string &name, const std::string &backend) {
    tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
    desc.source = source.c_str();
    desc.name = name.c_str();
    desc.backend = backend.c_str();
    check(tj_function_get_ex(&desc, &handle_));
  }
  tj_function *handle() const noexcept { return handle_; }

  template <class... T> void operator()(const tj_launch &launch, const T &...value) const {
    check(detail::with_arguments(
        [&](const tj_arg *args, std::size_t n) {
          return tj_function_call(handle_, &launch, args, n);
        },
        value...));
  }

  template <class... T> kernel prepare(const tj_launch &launch, const T &...value) const {
    tj_kernel *out = nullptr;
    check(detail::with_arguments(
        [&](const tj_arg *args, std::size_t n) {
          return tj_function_prepare(handle_, &launch, args, n, &out);
        },
        value...));
    return kernel(out);
  }

  std::uint32_t param_index(const std::string &name) const {
    std::uint32_t index = 0;
    check(tj_function_param_index(handle_, name.c_str(), &index));
    return index;
  }

private:
  tj_function *handle_ = nullptr;
};

template <> struct argument<function> {
  explicit argument(const function &value) : handle_(value.handle()) {}
  tj_arg get() const { return tj_fn(handle_); }

private:
  tj_function *handle_;
};

} // namespace triton_jit

#endif // TRITON_JIT_HPP
