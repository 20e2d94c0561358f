// SPDX-License-Identifier: Apache-2.0
/* The C++ layer: values of every kind as arguments, errors as exceptions, traits of one's own. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "triton_jit/triton_jit.hpp"

/* CMocka's own headers come after the C ones it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include <cmocka.h>
}

namespace tj = triton_jit;

namespace {

std::string path(const std::string &file) {
  const char *root = std::getenv("TJ_TEST_SOURCE_DIR");
  return std::string(root ? root : ".") + "/tests/integration/kernels/" + file + ".py";
}

tj::function kernel(const std::string &file, const std::string &name) {
  return tj::function(path(file), name, "cpu");
}

/* A half-precision type of one's own. */
struct half {
  std::uint16_t bits;
};

/* A container of one's own: a pointer, wherever a kernel wants one. */
template <class T> struct array { std::vector<T> values; };

/* Whether `body` throws an error of that status whose text has that part. */
bool throws(tj_status status, std::string_view part, const std::function<void()> &body) {
  try {
    body();
  } catch (const tj::error &error) {
    return error.status() == status &&
           std::string_view(error.what()).find(part) != std::string_view::npos;
  }
  return false;
}

} // namespace

namespace triton_jit {

template <> struct dtype_of<half> { static constexpr tj_dtype value = TJ_FP16; };

template <class T> struct argument<array<T>> {
  explicit argument(const array<T> &value) : pointer_(value.values.data()) {}
  tj_arg get() const { return tj_ptr(pointer_, dtype_of<T>::value); }

private:
  const T *pointer_;
};

} // namespace triton_jit

static void test_pointers_and_integers(void **) {
  tj::function copy = kernel("elementwise", "copy");
  alignas(64) float x[64], out[64] = {};
  for (int i = 0; i < 64; i++) x[i] = static_cast<float>(i) / 2;
  const float *from = x;
  copy(tj::grid(1), from, out, 64, 64);
  for (int i = 0; i < 64; i++) assert_true(out[i] == x[i]);

  /* The C++ type of an integer is not its type in the kernel: all of these are one variant. */
  tj_stats before = TJ_STATS_INIT, after = TJ_STATS_INIT;
  tj::check(tj_stats_get(&before));
  copy(tj::grid(1), x, out, std::int8_t{48}, 64L);
  copy(tj::grid(1), x, out, std::uint64_t{48}, static_cast<unsigned short>(64));
  copy(tj::grid(1), x, out, 48LL, std::size_t{64});
  tj::check(tj_stats_get(&after));
  assert_int_equal(before.compiles, after.compiles);
}

static void test_element_types(void **) {
  tj::function copy = kernel("elementwise", "copy");
  half halves[16], more[16] = {};
  for (std::uint16_t i = 0; i < 16; i++) halves[i].bits = static_cast<std::uint16_t>(0x3c00 + i);
  copy(tj::grid(1), halves, more, 15, 16);
  for (int i = 0; i < 15; i++) assert_int_equal(more[i].bits, halves[i].bits);
  assert_int_equal(more[15].bits, 0);

  array<double> a{{1, 2, 3, 4}}, b{{0, 0, 0, 0}};
  copy(tj::grid(1), a, b, 4, 16);
  assert_true(a.values == b.values);

  bool bits[3] = {true, false, true}, same[3] = {};
  copy(tj::grid(1), bits, same, 3, 16);
  assert_true(same[0] && !same[1] && same[2]);
}

static void test_scalars(void **) {
  float out = 0;
  kernel("scalars", "one")(tj::grid(1), &out, 0.1);
  assert_true(out == 0.1f);
  double wide = 0;
  kernel("scalars", "one")(tj::grid(1), &wide, tj_f64(0.1));
  assert_true(wide == 0.1);
  std::uint64_t half_of = 0;
  kernel("scalars", "half_of")(tj::grid(1), &half_of, UINT64_MAX);
  assert_true(half_of == UINT64_MAX >> 1);
  std::int32_t branch = 0;
  kernel("scalars", "branch")(tj::grid(1), &branch, false);
  assert_int_equal(branch, 20);
  kernel("scalars", "branch")(tj::grid(1), &branch, true);
  assert_int_equal(branch, 10);
}

static void test_none_optional_and_strings(void **) {
  tj::function bias = kernel("arguments", "optional_bias");
  alignas(16) float x[16], b[16], out[16];
  for (int i = 0; i < 16; i++) {
    x[i] = static_cast<float>(i);
    b[i] = 100;
  }
  bias(tj::grid(1), x, std::nullopt, out, 16, 16);
  assert_true(out[3] == 3);
  bias(tj::grid(1), x, std::optional<float *>(b), out, 16, 16);
  assert_true(out[3] == 103);
  bias(tj::grid(1), x, std::optional<float *>(), out, 16, 16);
  assert_true(out[3] == 3);

  tj::function activation = kernel("arguments", "activation");
  float one = -2.5F, told = 9;
  activation(tj::grid(1), &one, &told, "relu");
  assert_true(told == 0);
  activation(tj::grid(1), &one, &told, std::string("a,b:16"));
  assert_true(told == -1.5F);
  activation(tj::grid(1), &one, &told, std::string_view("relu and more", 4));
  assert_true(told == 0);
  activation(tj::grid(1), &one, &told, std::string("x\0y", 3));
  assert_true(told == 4.5F);
}

static void test_tuples_functions_and_keywords(void **) {
  std::int64_t out[7] = {};
  kernel("arguments", "nested_tuple")(tj::grid(1), out,
                                      std::make_tuple(7, std::make_pair(std::int64_t{1} << 40, 1),
                                                      std::make_tuple(std::make_tuple(16), true)));
  assert_int_equal(out[0], 7);
  assert_int_equal(out[1], std::int64_t{1} << 40);
  assert_int_equal(out[2], 1);
  assert_int_equal(out[3], 16);
  assert_int_equal(out[4], 1);

  alignas(16) float x[16], y[16];
  for (int i = 0; i < 16; i++) x[i] = static_cast<float>(i);
  kernel("arguments", "apply")(tj::grid(1), x, y, 16, kernel("arguments", "square"));
  assert_true(y[5] == 25);

  tj::function defaults = kernel("arguments", "defaults");
  double told[7] = {};
  const tj_arg d = tj_int(8);
  defaults(tj::grid(1), told, 3, tj_default(), 4, tj_keyword(defaults.param_index("D"), &d));
  assert_true(told[0] == 3 && told[1] == 5 && told[2] == 4 && told[3] == 8);
}

static void test_prepared_kernels_and_streams(void **) {
  tj::function copy = kernel("elementwise", "copy");
  tj::kernel aligned = copy.prepare(tj::grid(1), tj_spec_ptr(TJ_I32, 1), tj_spec_ptr(TJ_I32, 1),
                                    tj_spec(TJ_I32, 1), 16);
  alignas(16) std::int32_t x[16], out[16] = {};
  for (int i = 0; i < 16; i++) x[i] = i;
  aligned(tj::grid(static_cast<void *>(nullptr), 1), x, out, 16, 16);
  assert_int_equal(out[15], 15);
  assert_true(throws(TJ_E_VARIANT, "'n'", [&] { aligned(tj::grid(1), x, out, 15, 16); }));
  std::int32_t ids[6] = {};
  kernel("elementwise", "grid_ids")(tj::grid(1, 1, 1), ids, 1, 1);
  assert_int_equal(ids[5], 1);
}

static void test_tensor_descriptors(void **) {
  alignas(16) std::int32_t x[9][16], out[9][16] = {};
  for (int i = 0; i < 9 * 16; i++) x[i / 16][i % 16] = i;
  tj::function twice = kernel("descriptors", "through_a_function");
  const tj_tensor_desc source = tj::tensor_desc(&x[0][0], {9, 13}, {8, 16}, {16, 1});
  twice(tj::grid(1), source, tj::tensor_desc(&out[0][0], {9, 16}, {8, 16}));
  for (int i = 0; i < 9 * 16; i++)
    assert_int_equal(out[i / 16][i % 16], i / 16 < 8 && i % 16 < 13 ? 2 * i : 0);
  tj::kernel prepared = twice.prepare(tj::grid(1), tj_spec_desc(&source), source);
  prepared(tj::grid(1), std::optional<tj_tensor_desc>(source), source);
  assert_int_equal(x[7][12], 2 * (7 * 16 + 12));
  assert_true(throws(TJ_E_INVALID, "block 1",
                     [&] { (void)tj::tensor_desc(&x[0][0], {9, 16}, {8}); }));
  assert_true(throws(TJ_E_INVALID, "strides 1",
                     [&] { (void)tj::tensor_desc(&x[0][0], {9, 16}, {8, 16}, {1}); }));
  assert_true(throws(TJ_E_ARGUMENT_RANGE, "rank 0",
                     [&] { twice(tj::grid(1), tj::tensor_desc(&x[0][0], {}, {}), source); }));
}

/* A pair's items are read where they are, not from a copy that is gone by the time of the call. */
static void test_strings_in_pairs(void **) {
  const std::string text(100, 'x');
  std::int32_t out = 0;
  tj::kernel made = kernel("arguments", "kind_of_constant")
                        .prepare(tj::grid(1), &out, std::make_pair(text, std::make_pair(2, text)));
  tj_kernel_info info = {};
  info.struct_size = sizeof info;
  tj::check(tj_kernel_get_info(made.handle(), &info));
  const std::string expected = "C=('" + text + "', (2, '" + text + "'))";
  assert_true(std::string(info.variant).find(expected) != std::string::npos);
}

static void test_errors_are_exceptions(void **) {
  tj::function checked = kernel("language", "checked");
  std::int32_t out = 0;
  assert_true(throws(TJ_E_COMPILE, "multiple of four", [&] { checked(tj::grid(1), &out, 6); }));
  assert_true(throws(TJ_E_TOO_FEW_ARGUMENTS, "'out'", [&] { checked(tj::grid(1)); }));
  assert_true(
      throws(TJ_E_SOURCE_NOT_FOUND, "nowhere.py", [] { tj::function("/nowhere.py", "k"); }));
  assert_true(throws(TJ_E_UNKNOWN_BACKEND, "no_such",
                     [] { tj::function(path("elementwise"), "copy", "no_such"); }));
  assert_true(throws(TJ_E_NO_SUCH_PARAMETER, "'none'", [&] { checked.param_index("none"); }));
  checked(tj::grid(1), &out, 8);
  assert_int_equal(out, 8);
}

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pointers_and_integers),
      cmocka_unit_test(test_element_types),
      cmocka_unit_test(test_scalars),
      cmocka_unit_test(test_none_optional_and_strings),
      cmocka_unit_test(test_tuples_functions_and_keywords),
      cmocka_unit_test(test_prepared_kernels_and_streams),
      cmocka_unit_test(test_tensor_descriptors),
      cmocka_unit_test(test_strings_in_pairs),
      cmocka_unit_test(test_errors_are_exceptions),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
