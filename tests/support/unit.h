/* SPDX-License-Identifier: Apache-2.0 */
/* What unit tests share: CMocka in its order, arguments as lists, checks of status and message. */
#ifndef TJ_TEST_UNIT_H
#define TJ_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after the four above */

#include <stdbool.h>
#include <string.h>

#include "fake_compiler.h"
#include "null/null_backend.h"
#include "triton_jit/sys/backend.h"
#include "triton_jit/triton_jit.h"

/* Which sanitizer this was compiled with: some tests are beyond one's powers. */
#ifdef __has_feature
#define TEST_HAS_(feature) __has_feature(feature)
#else
#define TEST_HAS_(feature) 0
#endif
#ifdef __SANITIZE_THREAD__
#define TEST_THREAD_SANITIZER 1
#else
#define TEST_THREAD_SANITIZER TEST_HAS_(thread_sanitizer)
#endif
#ifdef __SANITIZE_ADDRESS__
#define TEST_ADDRESS_SANITIZER 1
#else
#define TEST_ADDRESS_SANITIZER TEST_HAS_(address_sanitizer)
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* setup() and teardown() of tests of functions that stand in a table, on a fresh null backend. */
#define FAKE_FIXTURE(table)            \
  static int setup(void **state) {     \
    (void)state;                       \
    tj_null_reset();                   \
    fake_install(table, COUNT(table)); \
    return 0;                          \
  }                                    \
  static int teardown(void **state) {  \
    (void)state;                       \
    fake_remove();                     \
    return 0;                          \
  }

/* An argument list where a call wants `args, n_args`. */
#define ARGS(...) ((tj_arg[]){__VA_ARGS__}), COUNT(((tj_arg[]){__VA_ARGS__}))

/* An address of that alignment; nothing is read through it. */
static inline void *address_of(uintptr_t number) {
  union {
    uintptr_t number;
    void *pointer;
  } address = {.number = number};
  return address.pointer;
}

#define assert_status(expression, expected) \
  assert_status_((expression), (expected), #expression, __FILE__, __LINE__)
void assert_status_(tj_status got, tj_status expected, const char *expression, const char *file,
                    int line);

/* The last error's message has each of these texts in it. */
#define assert_message(...) \
  assert_message_(__FILE__, __LINE__, (const char *const[]){__VA_ARGS__, NULL})
void assert_message_(const char *file, int line, const char *const *texts);

/* The call fails with that status, and its message has these texts in it. */
#define assert_fails(expression, expected, ...) \
  do {                                          \
    assert_status(expression, expected);        \
    assert_message(__VA_ARGS__);                \
  } while (0)

#define assert_contains(text, part) assert_contains_((text), (part), __FILE__, __LINE__)
void assert_contains_(const char *text, const char *part, const char *file, int line);

/* The function of the fake compiler's table, on the null backend. */
tj_function *open_function(const char *name);

/* The variant that these arguments choose; fails the test if there is none. */
tj_kernel *prepare_kernel(tj_function *fn, const tj_arg *args, size_t n_args);

/* Its description ("x=*fp32:16 n=i32"), or its run-time types ("*fp32,i32"). */
const char *variant_of(tj_function *fn, const tj_arg *args, size_t n_args);
const char *types_of(tj_function *fn, const tj_arg *args, size_t n_args);

/* The parameters that a launch with these arguments hands to the driver, and their size. */
uint32_t packed(tj_function *fn, const tj_arg *args, size_t n_args,
                uint8_t out[TJ_NULL_PARAMS_MAX]);

/* A launch of one program. */
tj_launch one_program(void);
tj_status call(tj_function *fn, const tj_arg *args, size_t n_args);

tj_stats stats_of(tj_function *fn);
tj_stats stats_of_process(void);

/* Waits, yielding, until `condition`; fails the test after half a minute. */
#define wait_until(condition)                                                                   \
  do {                                                                                          \
    for (uint64_t begin_ = test_milliseconds(); !(condition);) {                                \
      if (test_milliseconds() - begin_ > 30000) fail_msg("waited in vain for: %s", #condition); \
      test_pause();                                                                             \
    }                                                                                           \
  } while (0)
uint64_t test_milliseconds(void);
void test_pause(void);

#endif /* TJ_TEST_UNIT_H */
