/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would end the host if the compiler were a part of it. The worker promises a status, what the
 * process said last, and that the next call finds a compiler again.
 */
#include "bad_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "import os\nimport triton\nimport triton.language as tl\n\n"
#define KERNEL "@triton.jit\ndef k(out):\n    tl.store(out, 5)\n"

/* A variant that nobody has asked for yet: it needs the compiler. */
static void assert_compiles(void) {
  static int64_t next = 100;
  int64_t out = 0, number = next++;
  assert_ok(
      call(good.defaults, ARGS(tj_ptr(&out, TJ_I64), tj_signed(TJ_I64, 3), tj_int(number % 40))));
  assert_int_equal(out, (int64_t)3 << (number % 40));
}

/* The file's import ends the process; a mended file is fine. */
#define assert_dies_at_import(file, statement, ...)                                   \
  do {                                                                                \
    const char *path_ = write_text(file, HEAD statement "\n" KERNEL);                 \
    tj_function *function_ = UNTOUCHED;                                               \
    assert_fails(get(path_, "k", &function_), TJ_E_COMPILER_DIED, "compiler process", \
                 __VA_ARGS__);                                                        \
    assert_ptr_equal(function_, UNTOUCHED);                                           \
    assert_still_works();                                                             \
    assert_compiles();                                                                \
    (void)write_text(file, HEAD KERNEL);                                              \
    int32_t out_ = 0;                                                                 \
    assert_ok(call(open_kernel(path_, "k"), ARGS(tj_ptr(&out_, TJ_I32))));            \
    assert_int_equal(out_, 5);                                                        \
  } while (0)

static void abort_at_import(void **state) {
  (void)state;
  assert_dies_at_import("aborts.py", "os.write(2, b'last words')\nos.abort()", "SIGABRT",
                        "last words");
}

static void exit_at_import(void **state) {
  (void)state;
  assert_dies_at_import("exits.py", "os._exit(9)", "exited with status 9");
}

static void crash_at_import(void **state) {
  (void)state;
  assert_dies_at_import("crashes.py", "import ctypes\nctypes.string_at(0)", "SIGSEGV");
}

static void killed_at_import(void **state) {
  (void)state;
  assert_dies_at_import("killed.py", "os.kill(os.getpid(), 9)", "SIGKILL", "memory");
}

/* A file that meddles with the process's descriptors. */
static void closes_everything(void **state) {
  (void)state;
  const char *path = write_text("closes.py", HEAD "os.closerange(0, 256)\n" KERNEL);
  tj_function *function = UNTOUCHED;
  assert_fails(get(path, "k", &function), TJ_E_COMPILER_DIED, "compiler process");
  assert_ptr_equal(function, UNTOUCHED);
  assert_still_works();
  assert_compiles();
}

/* Twice the same: a failure of the process is not remembered as the kernel's. */
static void dies_in_the_compile(void **state) {
  (void)state;
  const char *flag = path_of("die");
  char script[8400];
  (void)snprintf(script, sizeof script,
                 "#!/bin/sh\nif [ -e '%s' ]; then kill -ABRT $PPID; exit 1; fi\nexec cc \"$@\"\n",
                 flag);
  const char *compiler = write_text("cc", script);
  assert_int_equal(chmod(compiler, 0755), 0);
  assert_int_equal(setenv("TRITON_JIT_CC", compiler, 1), 0); /* for the next worker */
  const char *path = write_text("dies.py", HEAD "os.abort()\n");
  tj_function *k = UNTOUCHED;
  assert_fails(get(path, "k", &k), TJ_E_COMPILER_DIED, "SIGABRT");
  k = open_kernel(write_text("dies.py", HEAD KERNEL), "k");
  (void)write_text("die", "");
  int32_t out = 0;
  for (int i = 0; i < 2; i++) {
    assert_fails(call(k, ARGS(tj_ptr(&out, TJ_I32))), TJ_E_COMPILER_DIED, "SIGABRT");
    assert_still_works();
  }
  assert_int_equal(unlink(flag), 0);
  assert_ok(call(k, ARGS(tj_ptr(&out, TJ_I32))));
  assert_int_equal(out, 5);
  assert_int_equal(unsetenv("TRITON_JIT_CC"), 0);
}

/* LLVM gives up on the kernel: Triton 3.6 leaves the process, 3.9 prints an error and goes on. */
static void llvm_gives_up(void **state) {
  (void)state;
  const char *path = write_text("constraint.py",
                                HEAD "@triton.jit\ndef k(out):\n"
                                     "    y = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=Q,Q', "
                                     "[tl.load(out)], dtype=tl.int32, is_pure=False, pack=1)\n"
                                     "    tl.store(out, y)\n");
  tj_target target = TJ_TARGET_INIT;
  target.backend = "cuda";
  target.arch = "90";
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.target = &target;
  tj_function *k = open_kernel(path, "k");
  tj_kernel *kernel = NULL;
  tj_status status = tj_function_prepare(k, &launch, ARGS(tj_spec_ptr(TJ_I32, 1)), &kernel);
  assert_true(status == TJ_E_COMPILER_DIED || status == TJ_E_COMPILE);
  assert_fails(status, status, "error:", "constraint");
  assert_null(kernel);
  assert_still_works();
  assert_compiles();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(abort_at_import, test_setup),
      cmocka_unit_test_setup(exit_at_import, test_setup),
      cmocka_unit_test_setup(crash_at_import, test_setup),
      cmocka_unit_test_setup(killed_at_import, test_setup),
      cmocka_unit_test_setup(closes_everything, test_setup),
      cmocka_unit_test_setup(dies_in_the_compile, test_setup),
      cmocka_unit_test_setup(llvm_gives_up, test_setup),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
