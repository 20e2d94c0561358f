/* SPDX-License-Identifier: Apache-2.0 */
/* Every way for a host to end: status 0, nothing on stdout or stderr. With two versions of
   Triton that is ten times each. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef RUNS
#define RUNS 5
#endif

typedef struct run {
  pid_t pid;
  int output;
} run;

static run start(const char *program, const char *style) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    if (dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0) _exit(126);
    close(ends[0]);
    close(ends[1]);
    alarm(120);
    execl(program, program, style, EXIT_LIBRARY, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  return (run){pid, ends[0]};
}

static void finish(run of, const char *style) {
  char text[4096];
  size_t used = 0;
  ssize_t got = 0;
  while (used < sizeof text - 1 && (got = read(of.output, text + used, sizeof text - 1 - used)) > 0)
    used += (size_t)got;
  text[used] = 0;
  close(of.output);
  int status = 0;
  assert_int_equal(waitpid(of.pid, &status, 0), of.pid);
  if (status != 0 || used > 0) {
    if (WIFSIGNALED(status))
      fail_msg("%s: ended by signal %d; it printed: %s", style, WTERMSIG(status), text);
    fail_msg("%s: status %d; it printed: %s", style, WEXITSTATUS(status), text);
  }
}

static void run_often(const char *program, const char *style) {
  for (int i = 0; i < RUNS; i++) finish(start(program, style), style);
}

/* X(style, program, the reports that ask for it) */
#define EXITS(X)                                            \
  X(return, linked, EXIT_LINKED_PROGRAM) /* R088, R096 */   \
  X(exit, linked, EXIT_LINKED_PROGRAM)                      \
  X(quick_exit, linked, EXIT_LINKED_PROGRAM)                \
  X(thread_exit, linked, EXIT_LINKED_PROGRAM)               \
  X(thread_used, linked, EXIT_LINKED_PROGRAM)               \
  X(busy, linked, EXIT_LINKED_PROGRAM)                      \
  X(return, loaded, EXIT_LOADED_PROGRAM)                    \
  X(exit, loaded, EXIT_LOADED_PROGRAM)                      \
  X(thread_exit, loaded, EXIT_LOADED_PROGRAM)               \
  X(close, loaded, EXIT_LOADED_PROGRAM)          /* R095 */ \
  X(close_and_open, loaded, EXIT_LOADED_PROGRAM) /* R095 */ \
  X(thread_and_close, loaded, EXIT_LOADED_PROGRAM)

#define EXIT_TEST(style, how, program)                            \
  static void test_R088_R095_R096_##style##_##how(void **state) { \
    (void)state;                                                  \
    run_often(program, #style);                                   \
  }
EXITS(EXIT_TEST)

#define EXIT_ENTRY(style, how, program) cmocka_unit_test(test_R088_R095_R096_##style##_##how),

int main(void) {
  const struct CMUnitTest tests[] = {EXITS(EXIT_ENTRY)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
