/* SPDX-License-Identifier: Apache-2.0 */
/* Options that the backend refuses, and kernels that do not compile. */
#include "bad_input.h"

#include <stdio.h>

#define HEAD "import triton\nimport triton.language as tl\n\n@triton.jit\n"

static tj_status call_with(uint32_t options, uint32_t num_warps, tj_function *fn, int32_t *out) {
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.options = options;
  launch.num_warps = num_warps;
  return tj_function_call(fn, &launch, ARGS(tj_ptr(out, TJ_I32), tj_int(3)));
}

static uint32_t intern(const char *name, tj_arg value) {
  uint32_t id = 0;
  const tj_option option = {name, value};
  assert_ok(tj_options_intern(&option, 1, &id));
  assert_int_not_equal(id, 0);
  return id;
}

/* ---- options ------------------------------------------------------------------------------------ */

static void unknown_option(void **state) {
  (void)state;
  int32_t out = 0;
  assert_fails(call_with(intern("num_wraps", tj_int(4)), 0, good.defaults, &out),
               TJ_E_UNKNOWN_OPTION, "defaults_kernel", "'num_wraps'", "Did you mean 'num_warps'",
               "num_stages");
  assert_fails(call_with(intern("value", tj_int(4)), 0, good.defaults, &out), TJ_E_UNKNOWN_OPTION,
               "'value'", "parameter of the kernel", "pass it as an argument");
  assert_fails(call_with(intern("grid", tj_int(4)), 0, good.defaults, &out), TJ_E_UNKNOWN_OPTION,
               "'grid'");
  assert_int_equal(out, 0);
  assert_ok(call_with(0, 0, good.defaults, &out));
  assert_int_equal(out, 6);
}

static void option_values(void **state) {
  (void)state;
  int32_t out = 0;
  assert_fails(call_with(intern("debug", tj_int(1)), 0, good.defaults, &out), TJ_E_OPTION_VALUE,
               "'debug'", "1", "true or false");
  assert_fails(call_with(intern("debug", tj_string("yes", 3)), 0, good.defaults, &out),
               TJ_E_OPTION_VALUE, "'debug'", "'yes'");
  uint32_t id = 77;
  const tj_option wrong[] = {
      {"a", tj_ptr(&out, TJ_I32)},      {"num_warps", tj_int(4)}, {"num_stages", tj_int(2)},
      {"num_ctas", tj_int(1)},          {"", tj_int(1)},          {"a", tj_type(TJ_FP32)},
      {"a", tj_tuple(&(tj_arg){0}, 1)},
  };
  static const char *const words[] = {"'a'",
                                      "'num_warps' is a field of tj_launch",
                                      "'num_stages' is a field",
                                      "'num_ctas' is a field",
                                      "no name",
                                      "'a'",
                                      "'a'"};
  for (size_t i = 0; i < COUNT(wrong); i++)
    assert_fails(tj_options_intern(&wrong[i], 1, &id), TJ_E_OPTION_VALUE, words[i]);
  const tj_option twice[] = {{"debug", tj_bool(1)}, {"debug", tj_bool(0)}};
  assert_fails(tj_options_intern(twice, 2, &id), TJ_E_OPTION_VALUE, "'debug'", "twice");
  assert_int_equal(id, 77);
  assert_still_works();
}

static void warps(void **state) {
  (void)state;
  int32_t out = 0;
  static const uint32_t wrong[] = {3, 6, 65535};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    char number[16];
    (void)snprintf(number, sizeof number, "%u", wrong[i]);
    assert_fails(call_with(0, wrong[i], good.defaults, &out), TJ_E_OPTION_VALUE,
                 "tj_launch.num_warps", number, "power of two");
  }
  assert_fails(call_with(0, 65536, good.defaults, &out), TJ_E_OPTION_VALUE, "num_warps", "65536");
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.num_ctas = 3;
  assert_fails(tj_function_call(good.defaults, &launch, ARGS(tj_ptr(&out, TJ_I32))),
               TJ_E_OPTION_VALUE, "tj_launch.num_ctas", "3", "power of two");
  launch.num_ctas = 0;
  launch.num_stages = 70000;
  assert_fails(tj_function_call(good.defaults, &launch, ARGS(tj_ptr(&out, TJ_I32))),
               TJ_E_OPTION_VALUE, "tj_launch.num_stages", "70000");
  assert_int_equal(out, 0);
  assert_ok(call_with(0, 2, good.defaults, &out));
  assert_int_equal(out, 6);
}

/* More warps than a block of the target can have. */
static void too_many_warps(void **state) {
  (void)state;
  tj_target target = TJ_TARGET_INIT;
  target.backend = "cuda";
  target.arch = "90";
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.target = &target;
  launch.num_warps = 64;
  assert_fails(tj_function_prepare(good.defaults, &launch, ARGS(tj_spec_ptr(TJ_I32, 1)), NULL),
               TJ_E_OPTION_VALUE, "'num_warps'", "64", "1024");
  launch.num_warps = 4;
  launch.options = intern("maxnreg", tj_int(-5));
  assert_fails(tj_function_prepare(good.defaults, &launch, ARGS(tj_spec_ptr(TJ_I32, 1)), NULL),
               TJ_E_OPTION_VALUE, "'maxnreg'", "-5");
}

/* ---- kernels ------------------------------------------------------------------------------------ */

static uint64_t compiles_failed(tj_function *fn) {
  tj_stats stats = TJ_STATS_INIT;
  assert_ok(tj_function_get_stats(fn, &stats));
  return stats.failures;
}

/* A kernel whose body's second line is `line` does not compile; the message says why and where, and
   the second call says the same without compiling again. */
#define assert_does_not_compile(file, line, ...)                                                \
  do {                                                                                          \
    const char *path_ = write_text(file, HEAD "def k(out, B: tl.constexpr):\n"                  \
                                              "    x = tl.arange(0, 4)\n    " line "\n"         \
                                              "    tl.store(out, B)\n");                        \
    char place_[4200];                                                                          \
    (void)snprintf(place_, sizeof place_, "%s:7", path_);                                       \
    tj_function *k_ = open_kernel(path_, "k");                                                  \
    int32_t out_ = 0;                                                                           \
    assert_fails(call(k_, ARGS(tj_ptr(&out_, TJ_I32), tj_int(8))), TJ_E_COMPILE, "'k'", place_, \
                 line, __VA_ARGS__);                                                            \
    assert_int_equal(compiles_failed(k_), 1);                                                   \
    assert_fails(call(k_, ARGS(tj_ptr(&out_, TJ_I32), tj_int(8))), TJ_E_COMPILE, "'k'", place_, \
                 line, __VA_ARGS__);                                                            \
    assert_int_equal(compiles_failed(k_), 1);                                                   \
    assert_int_equal(out_, 0);                                                                  \
    assert_still_works();                                                                       \
    (void)write_text(file, HEAD "def k(out, B: tl.constexpr):\n    tl.store(out, B)\n");        \
    assert_ok(call(open_kernel(path_, "k"), ARGS(tj_ptr(&out_, TJ_I32), tj_int(8))));           \
    assert_int_equal(out_, 8);                                                                  \
  } while (0)

static void undefined_name(void **state) {
  (void)state;
  assert_does_not_compile("undefined.py", "y = x + nothing_here", "nothing_here is not defined");
}

static void no_power_of_two(void **state) {
  (void)state;
  assert_does_not_compile("range.py", "y = tl.arange(0, 3)", "power of 2");
}

static void types_that_do_not_meet(void **state) {
  (void)state;
  assert_does_not_compile("shapes.py", "y = x + tl.arange(0, 8)", "ncompatible");
}

static void static_assert_fails(void **state) {
  (void)state;
  assert_does_not_compile("assert.py", "tl.static_assert(B == 9, 'nine is wanted')",
                          "nine is wanted", "CompileTimeAssertionFailure");
}

static void statement_that_triton_lacks(void **state) {
  (void)state;
  assert_does_not_compile("statement.py", "y = lambda: x", "unsupported AST node type: Lambda");
}

static void error_in_a_callee(void **state) {
  (void)state;
  const char *helper =
      write_text("callee.py", HEAD "def inner(x):\n    return x + tl.arange(0, 5)\n");
  const char *path = write_text("caller.py", "from callee import inner\n" HEAD
                                             "def k(out):\n    tl.store(out, inner(1))\n");
  char inner[4200], outer[4200];
  (void)snprintf(inner, sizeof inner, "%s:6", helper);
  (void)snprintf(outer, sizeof outer, "%s:7", path);
  int32_t out = 0;
  assert_fails(call(open_kernel(path, "k"), ARGS(tj_ptr(&out, TJ_I32))), TJ_E_COMPILE, inner, outer,
               "return x + tl.arange(0, 5)", "power of 2");
  assert_still_works();
}

/* Another variant of the same function is not touched by the failure of one. */
static void one_variant_fails(void **state) {
  (void)state;
  const char *path = write_text("half.py", HEAD "def k(out, B: tl.constexpr):\n"
                                                "    tl.store(out + tl.arange(0, B), B)\n");
  tj_function *k = open_kernel(path, "k");
  int32_t out[8] = {0};
  assert_ok(call(k, ARGS(tj_ptr(out, TJ_I32), tj_int(4))));
  assert_fails(call(k, ARGS(tj_ptr(out, TJ_I32), tj_int(5))), TJ_E_COMPILE, path, "power of 2");
  assert_fails(call(k, ARGS(tj_ptr(out, TJ_I32), tj_string("x", 1))), TJ_E_COMPILE, path);
  assert_ok(call(k, ARGS(tj_ptr(out, TJ_I32), tj_int(4))));
  assert_ok(call(k, ARGS(tj_ptr(out, TJ_I32), tj_int(8))));
  assert_int_equal(out[3], 8);
  assert_int_equal(out[7], 8);
}

static void beyond_the_cpu(void **state) {
  (void)state;
  const char *path =
      write_text("asm.py", HEAD "def k(out):\n"
                                "    y = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [5], "
                                "dtype=tl.int32, is_pure=False, pack=1)\n"
                                "    tl.store(out, y)\n");
  char place[4200];
  (void)snprintf(place, sizeof place, "%s:6", path);
  int32_t out = 0;
  assert_fails(call(open_kernel(path, "k"), ARGS(tj_ptr(&out, TJ_I32))), TJ_E_COMPILE, "'k'", place,
               "CPU backend", "inline_asm_elementwise", "mov.b32");
  assert_int_equal(out, 0);
  assert_still_works();
}

/* ptxas, a program of its own, refuses it. */
static void refused_by_the_assembler(void **state) {
  (void)state;
  const char *path = write_text(
      "ptx.py", HEAD "def k(out):\n"
                     "    y = tl.inline_asm_elementwise('no.such.instruction $0, $1;', '=r,r', "
                     "[tl.load(out)], dtype=tl.int32, is_pure=False, pack=1)\n"
                     "    tl.store(out, y)\n");
  tj_target target = TJ_TARGET_INIT;
  target.backend = "cuda";
  target.arch = "90";
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.target = &target;
  assert_fails(
      tj_function_prepare(open_kernel(path, "k"), &launch, ARGS(tj_spec_ptr(TJ_I32, 1)), NULL),
      TJ_E_COMPILE, "'k'", path, "ptxas", "Not a name of any known instruction");
  assert_still_works();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(unknown_option, test_setup),
      cmocka_unit_test_setup(option_values, test_setup),
      cmocka_unit_test_setup(warps, test_setup),
      cmocka_unit_test_setup(too_many_warps, test_setup),
      cmocka_unit_test_setup(undefined_name, test_setup),
      cmocka_unit_test_setup(no_power_of_two, test_setup),
      cmocka_unit_test_setup(types_that_do_not_meet, test_setup),
      cmocka_unit_test_setup(static_assert_fails, test_setup),
      cmocka_unit_test_setup(statement_that_triton_lacks, test_setup),
      cmocka_unit_test_setup(error_in_a_callee, test_setup),
      cmocka_unit_test_setup(one_variant_fails, test_setup),
      cmocka_unit_test_setup(beyond_the_cpu, test_setup),
      cmocka_unit_test_setup(refused_by_the_assembler, test_setup),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
