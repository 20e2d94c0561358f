/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that need a process of their own: what the library decides once for a process, and
 * what it could do to a process. Each scenario runs in a child of one that has never used
 * the library.
 */
#ifndef TJ_TEST_SCENARIO_H
#define TJ_TEST_SCENARIO_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "triton_jit/triton_jit.h"

/* Ends the scenario as failed. */
#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              tj_last_error());                                                                \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

#define CHECK_CONTAINS(text, part) CHECK(strstr(text, part) != NULL)

/* Waits for a child; its exit status, or 128 and more: the signal that ended it. */
static inline int wait_for(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The exit status, as above, of `scenario` run in a child. */
static inline int run_scenario(void (*scenario)(void)) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    scenario();
    exit(0);
  }
  return wait_for(pid);
}

/* SCENARIOS(X) lists X(function): a CMocka test of each, and its entry in a list of tests. */
#define SCENARIO_TEST(name)                  \
  static void test_##name(void **state) {    \
    (void)state;                             \
    assert_int_equal(run_scenario(name), 0); \
  }
#define SCENARIO_ENTRY(name) cmocka_unit_test(test_##name),

/* A log callback that collects "<level> <line>\n" in `log_text`. */
static char log_text[65536];

static inline void collect_log(void *user, int level, const char *text) {
  (void)user;
  size_t used = strlen(log_text);
  snprintf(log_text + used, sizeof log_text - used, "%d %s\n", level, text);
}

#endif /* TJ_TEST_SCENARIO_H */
