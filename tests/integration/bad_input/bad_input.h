/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of bad input share: kernel files in a folder of the test's own, checks of
 * status and message, and the check that nothing was lost.
 */
#ifndef TJ_TEST_BAD_INPUT_H
#define TJ_TEST_BAD_INPUT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after the four above */

#include <stdbool.h>
#include <string.h>

#include "triton_jit/triton_jit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* An argument list where a call wants `args, n_args`. */
#define ARGS(...) ((tj_arg[]){__VA_ARGS__}), COUNT(((tj_arg[]){__VA_ARGS__}))

/* The whole group's: a folder, a cache, and the kernels of kernels/good.py on the cpu backend. */
int group_setup(void **state);
int group_teardown(void **state);

typedef struct good_kernels {
  tj_function *add, *typed, *pair, *defaults, *tuned;
} good_kernels;
extern good_kernels good;

/* Each test begins with this: no error recorded but a well-known one. */
int test_setup(void **state);

/* <folder of the test>/<name>; static storage for the last 16 of them. */
const char *path_of(const char *name);
/* Writes a file there, and gives its path. */
const char *write_text(const char *name, const char *text);
const char *write_bytes(const char *name, const void *bytes, size_t size);

/* tj_function_get_ex on the cpu backend. */
tj_status get(const char *source, const char *name, tj_function **out_fn);
tj_status get_text(const char *text, const char *name, tj_function **out_fn);
/* The same, and a failed test if there is none. */
tj_function *open_kernel(const char *source, const char *name);

/* A call of one program on the current device. */
tj_status call(tj_function *fn, const tj_arg *args, size_t n_args);

/* add_kernel gives the right sums, with the handle that was opened at the start. */
#define assert_still_works() assert_still_works_(__FILE__, __LINE__)
void assert_still_works_(const char *file, int line);

/* The call fails with that status, and its message has each of these texts in it. */
#define assert_fails(expression, expected, ...)                            \
  assert_fails_((expression), (expected), #expression, __FILE__, __LINE__, \
                (const char *const[]){__VA_ARGS__, NULL})
void assert_fails_(tj_status got, tj_status expected, const char *expression, const char *file,
                   int line, const char *const *texts);

#define assert_ok(expression) assert_ok_((expression), #expression, __FILE__, __LINE__)
void assert_ok_(tj_status got, const char *expression, const char *file, int line);

/* A handle that a failed call must leave alone. */
#define UNTOUCHED ((tj_function *)&good)

#endif /* TJ_TEST_BAD_INPUT_H */
