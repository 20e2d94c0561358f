/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that hold no kernel: where they are, what is in them, what they do when imported. */
#include "bad_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "import triton\nimport triton.language as tl\n\n"
#define KERNEL "@triton.jit\ndef k(out):\n    tl.store(out, 5)\n"

/* The get fails, gives no handle, and costs nothing. */
#define assert_no_kernel(source, name, expected, ...)                       \
  do {                                                                      \
    tj_function *function_ = UNTOUCHED;                                     \
    assert_fails(get((source), (name), &function_), expected, __VA_ARGS__); \
    assert_ptr_equal(function_, UNTOUCHED);                                 \
    assert_still_works();                                                   \
  } while (0)

/* The file holds a kernel by now: asking again finds it. */
static void assert_repaired(const char *path) {
  int32_t out = 0;
  assert_ok(call(open_kernel(path, "k"), ARGS(tj_ptr(&out, TJ_I32))));
  assert_int_equal(out, 5);
}

/* ---- where it is ---------------------------------------------------------------------------- */

static void missing_file(void **state) {
  (void)state;
  const char *path = path_of("not/there.py");
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, path, "No such file or directory");
  path = path_of("later.py");
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, path);
  assert_repaired(write_text("later.py", HEAD KERNEL));
}

static void folder(void **state) {
  (void)state;
  const char *path = path_of("folder.py/x");
  (void)write_text("folder.py/x", "");
  char parent[4096];
  (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
  assert_no_kernel(parent, "k", TJ_E_SOURCE_NOT_FOUND, parent, "folder", ".py file");
}

static void file_as_folder(void **state) {
  (void)state;
  (void)write_text("plain.py", HEAD KERNEL);
  const char *path = path_of("plain.py/inside.py");
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, path, "Not a directory");
}

static void unreadable_file(void **state) {
  (void)state;
  if (geteuid() == 0) skip(); /* root reads everything */
  const char *path = write_text("secret.py", HEAD KERNEL);
  assert_int_equal(chmod(path, 0), 0);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, path, "Permission denied");
  assert_int_equal(chmod(path, 0644), 0);
  assert_repaired(path);
}

static void link_that_leads_nowhere(void **state) {
  (void)state;
  const char *path = path_of("dangling.py");
  assert_int_equal(symlink("gone.py", path), 0);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, "gone.py");
  assert_repaired(write_text("gone.py", HEAD KERNEL) ? path : NULL);
}

static void link_loop(void **state) {
  (void)state;
  const char *path = path_of("loop.py");
  assert_int_equal(symlink("loop.py", path), 0);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, "loop.py", "symbolic links");
}

static void missing_module(void **state) {
  (void)state;
  assert_no_kernel("no_such_module", "k", TJ_E_SOURCE_NOT_FOUND, "no_such_module", "Searched");
  assert_no_kernel("json.no_such_part", "k", TJ_E_SOURCE_NOT_FOUND, "json.no_such_part");
  assert_no_kernel("what is this", "k", TJ_E_SOURCE_NOT_FOUND, "what is this", ".py path");
  assert_no_kernel("", "k", TJ_E_SOURCE_NOT_FOUND, "empty", ".py path");
}

/* ---- what is in it -------------------------------------------------------------------------- */

static void no_python_text(void **state) {
  (void)state;
  static const char elf[] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0";
  const char *path = write_bytes("elf.py", elf, sizeof elf);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_PYTHON, path, "shared object", ".py file");
  path = write_bytes("binary.py", "import triton\0\0", 15);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_PYTHON, path, "binary");
  path = write_text("latin.py", HEAD "# caf\xe9\n" KERNEL);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_PYTHON, path, "decod");
  assert_repaired(write_text("latin.py", "# coding: latin-1\n" HEAD "# caf\xe9\n" KERNEL));
}

static void compiled_code(void **state) {
  (void)state;
  static const char *const names[] = {"k.pyc", "k.so", "k.pyd"};
  for (size_t i = 0; i < COUNT(names); i++) {
    const char *path = write_text(names[i], "whatever");
    assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_PYTHON, path, ".py file");
  }
  assert_no_kernel("math", "k", TJ_E_SOURCE_NOT_PYTHON, "math");
}

static void other_text(void **state) {
  (void)state;
  const char *path = write_text("notes.md", "# A title\n\nThis is *no* Python.\n");
  assert_no_kernel(path, "k", TJ_E_SYNTAX, path, ":3", "This is *no* Python.");
}

static void syntax_error(void **state) {
  (void)state;
  const char *path = write_text("syntax.py", HEAD "def k(out:\n    pass\n");
  char place[4200];
  (void)snprintf(place, sizeof place, "%s:4: SyntaxError", path);
  assert_no_kernel(path, "k", TJ_E_SYNTAX, place, "def k(out:", "^");
  path = write_text("indent.py", HEAD "def k(out):\nx = 1\n");
  assert_no_kernel(path, "k", TJ_E_SYNTAX, "IndentationError", "x = 1");
  assert_repaired(write_text("syntax.py", HEAD KERNEL));
}

static void text_from_memory(void **state) {
  (void)state;
  tj_function *function = UNTOUCHED;
  assert_fails(get_text("def k(:\n", "k", &function), TJ_E_SYNTAX, "the_text:1", "def k(:");
  assert_fails(get_text("1 / 0\n", "k", &function), TJ_E_SOURCE_RAISED, "the_text:1",
               "ZeroDivisionError");
  assert_fails(get_text("", "k", &function), TJ_E_KERNEL_NOT_FOUND, "'k'", "the_text");
  assert_fails(get_text("\xff\xfe", "k", &function), TJ_E_SOURCE_NOT_PYTHON, "the_text");
  assert_ptr_equal(function, UNTOUCHED);
  int32_t out = 0;
  assert_ok(get_text(HEAD KERNEL, "k", &function));
  assert_ok(call(function, ARGS(tj_ptr(&out, TJ_I32))));
  assert_int_equal(out, 5);
}

/* ---- what it does when it is imported ----------------------------------------------------------- */

static void import_error(void **state) {
  (void)state;
  const char *path = write_text("imports.py", HEAD "import nowhere_to_be_found\n" KERNEL);
  char place[4200];
  (void)snprintf(place, sizeof place, "%s:4", path);
  assert_no_kernel(path, "k", TJ_E_IMPORT, place, "import nowhere_to_be_found",
                   "install the module 'nowhere_to_be_found'", "PYTHONPATH");
  (void)write_text("nowhere_to_be_found.py", "x = 1\n"); /* next to the file, as the message says */
  assert_repaired(path);
  path = write_text("imports_name.py", "from math import no_such_function\n");
  assert_no_kernel(path, "k", TJ_E_IMPORT, "no_such_function", "math");
}

static void error_in_a_helper(void **state) {
  (void)state;
  const char *helper = write_text("broken_helper.py", "x = 1\ny = x +\n");
  const char *path = write_text("uses_helper.py", HEAD "import broken_helper\n" KERNEL);
  char place[4200];
  (void)snprintf(place, sizeof place, "%s:2", helper);
  assert_no_kernel(path, "k", TJ_E_SYNTAX, place, "y = x +");
  (void)write_text("broken_helper.py", "raise ValueError('from the helper')\n");
  (void)snprintf(place, sizeof place, "%s:1", helper);
  assert_no_kernel(path, "k", TJ_E_SOURCE_RAISED, place, "from the helper", path);
  (void)write_text("broken_helper.py", "x = 1\n");
  assert_repaired(path);
}

static void exception(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"raise ValueError('broken on purpose')", "ValueError: broken on purpose"},
      {"{}['missing']", "KeyError"},
      {"assert 1 == 2, 'no luck'", "AssertionError: no luck"},
      {"import sys; sys.exit(7)", "SystemExit: 7"},
      {"exit()", "SystemExit"},
      {"raise KeyboardInterrupt", "KeyboardInterrupt"},
      {"def f(): f()\nf()", "RecursionError"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char text[512], name[32];
    (void)snprintf(text, sizeof text, HEAD "%s\n" KERNEL, cases[i][0]);
    (void)snprintf(name, sizeof name, "raises%zu.py", i);
    const char *path = write_text(name, text);
    assert_no_kernel(path, "k", TJ_E_SOURCE_RAISED, path, cases[i][1]);
    assert_repaired(write_text(name, HEAD KERNEL));
  }
}

static void out_of_memory(void **state) {
  (void)state;
  const char *path = write_text("memory.py", HEAD "raise MemoryError\n" KERNEL);
  assert_no_kernel(path, "k", TJ_E_OUT_OF_MEMORY, path);
}

/* ---- the name ----------------------------------------------------------------------------------- */

static void kernel_not_found(void **state) {
  (void)state;
  const char *path = write_text("names.py", HEAD KERNEL
                                "@triton.jit\ndef softmax_kernel(out):\n    tl.store(out, 1)\n");
  assert_no_kernel(path, "softmax_kernal", TJ_E_KERNEL_NOT_FOUND, "softmax_kernal", path,
                   "Did you mean 'softmax_kernel'");
  assert_no_kernel(path, "other", TJ_E_KERNEL_NOT_FOUND, "softmax_kernel", "k");
  assert_no_kernel(path, "", TJ_E_KERNEL_NOT_FOUND, path);
  assert_no_kernel(path, "k.inner", TJ_E_KERNEL_NOT_FOUND, "k.inner");
  assert_repaired(path);
  path = write_text("empty.py", "");
  assert_no_kernel(path, "k", TJ_E_KERNEL_NOT_FOUND, path, "no @triton.jit function");
}

static void not_a_jit_function(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"def k(out): pass\n", "function"},  {"k = 5\n", "int"},
      {"class k: pass\n", "type"},         {"k = None\n", "NoneType"},
      {"k = lambda out: 0\n", "function"}, {"import math as k\n", "module"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "not_jit%zu.py", i);
    const char *path = write_text(name, cases[i][0]);
    assert_no_kernel(path, "k", TJ_E_NOT_JIT, "'k'", path, cases[i][1], "@triton.jit");
    assert_repaired(write_text(name, HEAD KERNEL));
  }
}

static void declarations(void **state) {
  (void)state;
  const char *path =
      write_text("contradiction.py", HEAD "@triton.jit(do_not_specialize=['B'])\n"
                                          "def k(out, B: tl.constexpr):\n    tl.store(out, B)\n");
  assert_no_kernel(path, "k", TJ_E_CONTRADICTION, "'B'", "do_not_specialize", "constexpr");
  path = write_text("star.py", HEAD "@triton.jit\ndef k(out, *rest):\n    tl.store(out, 5)\n");
  assert_no_kernel(path, "k", TJ_E_UNSUPPORTED_ARGUMENT, "'*rest'", "tuple");
}

/* ---- what belongs to the host ----------------------------------------------------------------------- */

static void where_the_caller_wants_it(void **state) {
  (void)state;
  char text[64];
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = path_of("not/there.py");
  desc.name = "k";
  desc.backend = "cpu";
  desc.error = &error;
  tj_function *function = UNTOUCHED;
  assert_int_equal(tj_function_get_ex(&desc, &function), TJ_E_SOURCE_NOT_FOUND);
  assert_int_equal(error.status, TJ_E_SOURCE_NOT_FOUND);
  assert_int_equal(strlen(text), sizeof text - 1);
  assert_true(error.length > strlen(text));
  desc.source = write_text("now_there.py", HEAD KERNEL);
  error.status = 77;
  assert_ok(tj_function_get_ex(&desc, &function));
  assert_int_equal(error.status, 77);
}

/* An old handle keeps the old code while its file is broken. */
static void a_handle_outlives_its_file(void **state) {
  (void)state;
  const char *path = write_text("outlives.py", HEAD KERNEL);
  tj_function *function = open_kernel(path, "k");
  (void)write_text("outlives.py", HEAD "syntax error\n");
  assert_no_kernel(path, "k", TJ_E_SYNTAX, path);
  assert_int_equal(unlink(path), 0);
  int stale = 0;
  assert_ok(tj_function_stale(function, &stale));
  assert_int_equal(stale, 1);
  assert_no_kernel(path, "k", TJ_E_SOURCE_NOT_FOUND, path);
  int32_t out = 0;
  assert_ok(call(function, ARGS(tj_ptr(&out, TJ_I32))));
  assert_int_equal(out, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(missing_file, test_setup),
      cmocka_unit_test_setup(folder, test_setup),
      cmocka_unit_test_setup(file_as_folder, test_setup),
      cmocka_unit_test_setup(unreadable_file, test_setup),
      cmocka_unit_test_setup(link_that_leads_nowhere, test_setup),
      cmocka_unit_test_setup(link_loop, test_setup),
      cmocka_unit_test_setup(missing_module, test_setup),
      cmocka_unit_test_setup(no_python_text, test_setup),
      cmocka_unit_test_setup(compiled_code, test_setup),
      cmocka_unit_test_setup(other_text, test_setup),
      cmocka_unit_test_setup(syntax_error, test_setup),
      cmocka_unit_test_setup(text_from_memory, test_setup),
      cmocka_unit_test_setup(import_error, test_setup),
      cmocka_unit_test_setup(error_in_a_helper, test_setup),
      cmocka_unit_test_setup(exception, test_setup),
      cmocka_unit_test_setup(out_of_memory, test_setup),
      cmocka_unit_test_setup(kernel_not_found, test_setup),
      cmocka_unit_test_setup(not_a_jit_function, test_setup),
      cmocka_unit_test_setup(declarations, test_setup),
      cmocka_unit_test_setup(where_the_caller_wants_it, test_setup),
      cmocka_unit_test_setup(a_handle_outlives_its_file, test_setup),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
