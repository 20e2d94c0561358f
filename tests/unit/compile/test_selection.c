/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiler, which Python, which scripts; and what the embedded one does with a script. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "process_test.h"
#include "unit.h"

#define ECHO "{\"op\":\"echo\"}"
#define OP(name) "{\"op\":\"" name "\"}"

/* A folder of this run for files that scenarios make. */
static char folder[] = "/tmp/tj_selection_XXXXXX";

static void make_program(const char *name, const char *text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
  CHECK(chmod(path, 0755) == 0);
}

/* Runs a shell command with FOLDER set. */
static void shell(const char *command) {
  CHECK(setenv("FOLDER", folder, 1) == 0);
  CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a test's own fixed text */
}

static void use_python(const char *name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  CHECK(setenv("TRITON_JIT_PYTHON", path, 1) == 0);
}

/* The text `name` of the reply to an echo is `expected`. */
static bool echo_says(const char *name, const char *expected) {
  tj_message reply;
  CHECK(ask(ECHO, &reply) == TJ_OK);
  const char *text = tj_json_text(reply.json, name);
  CHECK(text != NULL);
  bool same = strcmp(text, expected) == 0;
  if (!same) fprintf(stderr, "%s is '%s', not '%s'\n", name, text, expected);
  tj_message_free(&reply);
  return same;
}

static bool is_embedded(void) { return ask_number(ECHO, "pid") == getpid(); }

/* ---- tj_set_compiler ------------------------------------------------------------------- */

static void wrong_options(void) {
  CHECK(tj_set_compiler(NULL) == TJ_E_NULL);
  tj_compiler_options options = TJ_COMPILER_OPTIONS_INIT;
  options.struct_size = 4;
  CHECK(tj_set_compiler(&options) == TJ_E_STRUCT_SIZE);
  options.struct_size = sizeof options;
  options.mode = 3;
  CHECK(tj_set_compiler(&options) == TJ_E_INVALID);
  CHECK_CONTAINS(tj_last_error(), "mode is 3");
  use_stand_in(TJ_COMPILER_EMBEDDED);
  use_stand_in(TJ_COMPILER_WORKER); /* the last one counts */
  CHECK(!is_embedded());
  options.mode = TJ_COMPILER_AUTO;
  CHECK(tj_set_compiler(&options) == TJ_E_BUSY);
}

static void environment_says_worker(void) {
  CHECK(setenv("TRITON_JIT_COMPILER", "worker", 1) == 0);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(!is_embedded());
}

static void option_wins_over_environment(void) {
  CHECK(setenv("TRITON_JIT_COMPILER", "worker", 1) == 0);
  CHECK(setenv("TRITON_JIT_PYTHON", "/nowhere/python", 1) == 0);
  tj_compiler_options options = TJ_COMPILER_OPTIONS_INIT;
  char scripts[4096];
  snprintf(scripts, sizeof scripts, "%s/tests/unit/compile/stand_in", getenv("TJ_TEST_SOURCE_DIR"));
  options.mode = TJ_COMPILER_EMBEDDED;
  options.python = "python3";
  options.scripts = scripts;
  CHECK(tj_set_compiler(&options) == TJ_OK);
  CHECK(is_embedded());
}

static void environment_says_nonsense(void) {
  CHECK(setenv("TRITON_JIT_COMPILER", "nonsense", 1) == 0);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(ask_status(ECHO) == TJ_E_INVALID);
  CHECK_CONTAINS(tj_last_error(), "'nonsense'");
}

static tj_status answer_nothing(const void *request, size_t size, void **out_reply,
                                size_t *out_size) {
  (void)request, (void)size;
  *out_reply = NULL;
  *out_size = 0;
  return tj_fail(TJ_E_FROZEN, "nothing");
}

static void replaced(void) {
  static const tj_compiler nothing = {"nothing", answer_nothing};
  tj_compiler_replace(&nothing);
  CHECK(ask_status(ECHO) == TJ_E_FROZEN);
  tj_compiler_replace(NULL);
  use_stand_in(TJ_COMPILER_WORKER);
  CHECK(ask_status(ECHO) == TJ_OK);
}

/* ---- scripts --------------------------------------------------------------------------- */

static void scripts_not_where_they_should_be(void) {
  CHECK(setenv("TRITON_JIT_SCRIPTS", "/nowhere/at all", 1) == 0);
  CHECK(ask_status(ECHO) == TJ_E_NO_SCRIPTS);
  CHECK_CONTAINS(tj_last_error(), "/nowhere/at all/standalone_compile.py");
  CHECK_CONTAINS(tj_last_error(), "TRITON_JIT_SCRIPTS");
}

/* Run by a copy of this program, which lies in no installation. */
static int outside_of_installation(void) {
  CHECK(unsetenv("TRITON_JIT_SCRIPTS") == 0);
  CHECK(ask_status(ECHO) == TJ_E_NO_SCRIPTS);
  CHECK_CONTAINS(tj_last_error(), "/a/b/../share/triton_jit/scripts/standalone_compile.py");
  CHECK_CONTAINS(tj_last_error(), "/a/b/../../share/triton_jit/scripts/standalone_compile.py");
  return 17;
}

static void scripts_nowhere(void) {
  char own[4096];
  ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
  CHECK(n > 0);
  own[n] = 0;
  CHECK(setenv("OWN", own, 1) == 0);
  shell(
      "mkdir -p $FOLDER/a/b; cp \"$OWN\" $FOLDER/a/b/copy; $FOLDER/a/b/copy outside; [ $? = 17 ]");
}

static void scripts_that_do_not_load(void) {
  make_program("standalone_compile.py", "raise ValueError('spoiled')\n");
  CHECK(setenv("TRITON_JIT_SCRIPTS", folder, 1) == 0);
  CHECK(ask_status(ECHO) == TJ_E_NO_SCRIPTS);
  CHECK_CONTAINS(tj_last_error(), "ValueError: spoiled");
}

/* ---- which Python ---------------------------------------------------------------------- */

static void no_python(void) {
  CHECK(setenv("PATH", "", 1) == 0);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
  CHECK_CONTAINS(tj_last_error(), "no python3 on PATH");
  CHECK_CONTAINS(tj_last_error(), "TRITON_JIT_PYTHON");
}

static void no_python_for_the_worker(void) {
  CHECK(setenv("PATH", "relative:/nowhere", 1) == 0);
  use_stand_in(TJ_COMPILER_WORKER);
  CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
  CHECK_CONTAINS(tj_last_error(), "relative:/nowhere");
}

static void wrong_home(void) {
  CHECK(setenv("PYTHONHOME", "/dev/null", 1) == 0);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
  CHECK_CONTAINS(tj_last_error(), "encodings");
  CHECK_CONTAINS(tj_last_error(), "PYTHONHOME is '/dev/null'");
  CHECK(unsetenv("PYTHONHOME") == 0); /* a failure is not remembered */
  CHECK(is_embedded());
}

static void wrong_home_for_the_worker(void) {
  CHECK(setenv("PYTHONHOME", "/dev/null", 1) == 0);
  use_stand_in(TJ_COMPILER_WORKER);
  CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
  CHECK_CONTAINS(tj_last_error(), "encodings");
}

static void wanted_python_is_no_python(void) {
  static const struct {
    const char *path, *says;
  } cases[] = {
      {"/nowhere/python", "cannot be used: No such file"},
      {"/usr", "is a folder without"},
      {"no_such_python", "is not on PATH"},
      {"/etc/os-release", "cannot be started: Permission denied"},
      {"/bin/false", "exited with status 1"},
      {"/bin/echo", "import sys"}, /* its output */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pid_t pid = fork(); /* the environment is read once */
    if (pid == 0) {
      if (i == 1) { /* whatever /usr/bin has */
        CHECK(setenv("TRITON_JIT_PYTHON", folder, 1) == 0);
      } else {
        CHECK(setenv("TRITON_JIT_PYTHON", cases[i].path, 1) == 0);
      }
      use_stand_in(TJ_COMPILER_AUTO);
      CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
      CHECK_CONTAINS(tj_last_error(), cases[i].says);
      _exit(17);
    }
    CHECK(wait_for(pid) == 17);
  }
}

/* A program that says of itself what its text has for the question, else is python3. */
#define FAKE(answer) "#!/bin/sh\n[ \"$1\" = -c ] || exec python3 \"$@\"\nprintf '" answer "'\n"

static void too_old(void) {
  make_program("old", FAKE("TJ<\\0003.8.10\\000/x/python\\000/x\\000/x\\000\\0000\\0001\\000>TJ"));
  use_python("old");
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
  CHECK_CONTAINS(tj_last_error(), "3.8.10, which is too old");
}

static void hostile_answers(void) {
  static const char *const answers[] = {
      FAKE("TJ<\\000>TJ"),
      FAKE("TJ<\\0003.11.2\\000/x\\000>TJ"),
      FAKE("TJ<\\0003.11.2"),
      FAKE("\\000>TJTJ<\\000"),
      FAKE("TJ<\\0003.11\\000a\\000b\\000c\\000d\\000e\\000f\\000g\\000h\\000>TJ"),
      FAKE("TJ<\\000x.y\\000/p\\000/x\\000/x\\000\\0000\\0001\\000>TJ"),
      FAKE("TJ<\\0003.11.2\\000\\000/x\\000/x\\000\\0000\\0001\\000>TJ")};
  use_python("hostile");
  use_stand_in(TJ_COMPILER_AUTO);
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    make_program("hostile", answers[i]);
    CHECK(ask_status(ECHO) == TJ_E_NO_PYTHON);
  }
}

/* The worker is then run by the program "real", which is python3. */
#define ANSWER(libpython, free_threaded)                                             \
  "#!/bin/sh\n[ \"$1\" = -c ] || exec python3 \"$@\"\n"                              \
  "printf 'TJ<\\0003.13.1\\000%s\\000/x\\000/x\\000" libpython "\\000" free_threaded \
  "\\0000\\000>TJ' \"$0\"\n"

static void goes_to_the_worker(const char *program, const char *reason, tj_status otherwise) {
  make_program("peculiar", program);
  use_python("peculiar");
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  pid_t pid = fork();
  if (pid == 0) {
    use_stand_in(TJ_COMPILER_EMBEDDED);
    CHECK(ask_status(ECHO) == otherwise);
    CHECK_CONTAINS(tj_last_error(), reason);
    _exit(17);
  }
  CHECK(wait_for(pid) == 17);
  use_stand_in(TJ_COMPILER_AUTO);
  tj_fail(TJ_E_GRID, "an error of before");
  CHECK(!is_embedded());
  CHECK(!is_embedded());
  CHECK(tj_last_status() == TJ_E_GRID); /* success leaves the record alone */
  CHECK(strcmp(tj_last_error(), "an error of before") == 0);
  CHECK_CONTAINS(log_text, "3 kernels are compiled in a worker process: ");
  CHECK_CONTAINS(log_text, reason);
  const char *first = strstr(log_text, "worker process");
  CHECK(strstr(first + 1, "worker process") == NULL); /* said once */
}

static void free_threaded(void) {
  goes_to_the_worker(ANSWER("/x/libpython3.13t.so", "1"), "free-threaded", TJ_E_NOT_SUPPORTED);
}

static void no_shared_library(void) {
  goes_to_the_worker(ANSWER("", "0"), "has no shared libpython", TJ_E_NO_PYTHON);
}

static void library_does_not_load(void) {
  goes_to_the_worker(ANSWER("/etc/os-release", "0"), "libpython does not load", TJ_E_NO_PYTHON);
}

static void library_is_another(void) { /* some library, but no Python */
  goes_to_the_worker(ANSWER("libcjson.so.1", "0"), "lacks functions", TJ_E_NO_PYTHON);
}

static void shim(void) {
  make_program("python3",
               "#!/bin/sh\necho a word from the shim\nPATH=$REAL_PATH exec python3 \"$@\"\n");
  const char *real = getenv("PATH");
  CHECK(real && setenv("REAL_PATH", real, 1) == 0);
  char path[8192];
  snprintf(path, sizeof path, "%s:%s", folder, real);
  CHECK(setenv("PATH", path, 1) == 0);
  use_stand_in(TJ_COMPILER_WORKER);
  tj_message reply;
  CHECK(ask(ECHO, &reply) == TJ_OK);
  const char *executable = tj_json_text(reply.json, "executable");
  CHECK(executable && executable[0] == '/' && strncmp(executable, folder, strlen(folder)) != 0);
  tj_message_free(&reply);
}

/* Both ways to name a virtual environment, in both modes; its path has blanks and more. */
static void in_virtual_environment(uint32_t mode, const char *variable) {
  shell("[ -d \"$FOLDER/my venv é\" ] || python3 -m venv --without-pip \"$FOLDER/my venv é\"");
  char prefix[4200], executable[4300];
  snprintf(prefix, sizeof prefix, "%s/my venv é", folder);
  snprintf(executable, sizeof executable, "%s/bin/python3", prefix);
  CHECK(setenv(variable, prefix, 1) == 0);
  use_stand_in(mode);
  CHECK(echo_says("prefix", prefix));
  CHECK(echo_says("executable", executable));
  CHECK(is_embedded() == (mode == TJ_COMPILER_EMBEDDED));
}

static void wanted_environment_embedded(void) {
  in_virtual_environment(TJ_COMPILER_EMBEDDED, "TRITON_JIT_PYTHON");
}

static void wanted_environment_worker(void) {
  in_virtual_environment(TJ_COMPILER_WORKER, "TRITON_JIT_PYTHON");
}

static void active_environment_embedded(void) {
  in_virtual_environment(TJ_COMPILER_EMBEDDED, "VIRTUAL_ENV");
}

static void active_environment_worker(void) {
  in_virtual_environment(TJ_COMPILER_WORKER, "VIRTUAL_ENV");
}

static void active_environment_is_gone(void) {
  CHECK(setenv("VIRTUAL_ENV", "/nowhere", 1) == 0);
  tj_set_log(collect_log, NULL, TJ_LOG_WARNING);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(ask_status(ECHO) == TJ_OK);
  CHECK_CONTAINS(log_text, "2 VIRTUAL_ENV is '/nowhere'");
}

/* ---- the embedded one ------------------------------------------------------------------ */

static void embedded_answers(void) {
  use_stand_in(TJ_COMPILER_EMBEDDED);
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  CHECK(is_embedded());
  CHECK(echo_says("argv0", ""));
  CHECK(ask_number(ECHO, "utf8") == 1);
  CHECK(ask_status("{\"op\":\"log\",\"count\":2}") == TJ_OK);
  CHECK_CONTAINS(log_text, "3 log line 0\n3 log line 1\n2 two\n2 lines\n");
  CHECK(ask_status(OP("raise")) == TJ_E_INTERNAL);
  CHECK_CONTAINS(tj_last_error(), "RuntimeError: raised on request");
  CHECK(ask_status(ECHO) == TJ_OK);
  tj_message reply;
  CHECK(ask("{\"op\":\"big\",\"size\":40000000}", &reply) == TJ_OK);
  const tj_section *data = tj_message_section(&reply, "data");
  CHECK(data && data->size == 40000000);
  tj_message_free(&reply);
}

static void *ask_often(void *unused) {
  for (int i = 0; i < 50; i++) CHECK(is_embedded());
  return unused;
}

static void embedded_threads(void) { /* also at the start */
  use_stand_in(TJ_COMPILER_EMBEDDED);
  pthread_t thread[8];
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&thread[i], NULL, ask_often, NULL) == 0);
  for (int i = 0; i < 8; i++) CHECK(pthread_join(thread[i], NULL) == 0);
}

static void *start_it(void *unused) {
  CHECK(is_embedded());
  return unused;
}

static void thread_that_started_it_ends(void) {
  use_stand_in(TJ_COMPILER_EMBEDDED);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, start_it, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(is_embedded());
}

static void child_of_embedded(void) {
  use_stand_in(TJ_COMPILER_AUTO);
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  CHECK(is_embedded());
  CHECK(strstr(log_text, "worker process") == NULL);
  pid_t pid = fork();
  if (pid == 0) {
    CHECK(!is_embedded());
    CHECK(ask_number(ECHO, "parent") == getpid());
    CHECK_CONTAINS(log_text, "forked from one that had embedded Python");
    void *token = tj_python_suspend();
    CHECK(token == NULL);
    tj_python_resume(token);
    _exit(17);
  }
  CHECK(wait_for(pid) == 17);
  CHECK(is_embedded());
}

static void *ask_slowly(void *unused) {
  CHECK(ask_status("{\"op\":\"sleep\",\"seconds\":1}") == TJ_OK);
  return unused;
}

static void child_during_embedded(void) { /* asked for by name: a child cannot have it anyway */
  use_stand_in(TJ_COMPILER_EMBEDDED);
  CHECK(is_embedded());
  pthread_t slow;
  CHECK(pthread_create(&slow, NULL, ask_slowly, NULL) == 0);
  usleep(200000);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    CHECK(!is_embedded());
    _exit(17);
  }
  CHECK(wait_for(pid) == 17);
  CHECK(pthread_join(slow, NULL) == 0);
}

__attribute__((unused)) static void child_while_it_starts(void) {
  for (int i = 0; i < 10; i++) {
    pid_t host = fork();
    if (host == 0) {
      alarm(120);
      use_stand_in(TJ_COMPILER_AUTO);
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, start_it, NULL) == 0);
      usleep((useconds_t)(i * 8000)); /* asking takes about 30 ms, starting 10 */
      pid_t pid = fork();
      if (pid == 0) {
        alarm(60);
        CHECK(ask_status(ECHO) == TJ_OK);
        _exit(17);
      }
      CHECK(wait_for(pid) == 17);
      CHECK(pthread_join(thread, NULL) == 0);
      _exit(17);
    }
    CHECK(wait_for(host) == 17);
  }
}

static void suspend_without_python(void) {
  CHECK(tj_python_suspend() == NULL);
  tj_python_resume(NULL);
}

/* ---------------------------------------------------------------------------------------- */

/* A child of a sanitizer's process hangs if another thread was in its allocator during the fork: this one is left out
   there, and not counted. */
#if TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER
#define CHILD_WHILE_IT_STARTS(X)
#else
#define CHILD_WHILE_IT_STARTS(X) X(child_while_it_starts)
#endif

#define SCENARIOS(X)                  \
  X(wrong_options)                    \
  X(environment_says_worker)          \
  X(option_wins_over_environment)     \
  X(environment_says_nonsense)        \
  X(replaced)                         \
  X(scripts_not_where_they_should_be) \
  X(scripts_nowhere)                  \
  X(scripts_that_do_not_load)         \
  X(no_python)                        \
  X(no_python_for_the_worker)         \
  X(wrong_home)                       \
  X(wrong_home_for_the_worker)        \
  X(wanted_python_is_no_python)       \
  X(too_old)                          \
  X(hostile_answers)                  \
  X(free_threaded)                    \
  X(no_shared_library)                \
  X(library_does_not_load)            \
  X(library_is_another)               \
  X(shim)                             \
  X(wanted_environment_embedded)      \
  X(wanted_environment_worker)        \
  X(active_environment_embedded)      \
  X(active_environment_worker)        \
  X(active_environment_is_gone)       \
  X(embedded_answers)                 \
  X(embedded_threads)                 \
  X(thread_that_started_it_ends)      \
  X(child_of_embedded)                \
  X(child_during_embedded)            \
  CHILD_WHILE_IT_STARTS(X)            \
  X(suspend_without_python)

SCENARIOS(SCENARIO_TEST)

int main(int count, char **arguments) {
  /* What the person who runs this has set up does not matter here. */
  static const char *const variables[] = {"TRITON_JIT_COMPILER", "TRITON_JIT_PYTHON", "VIRTUAL_ENV",
                                          "PYTHONHOME"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  if (count > 1 && strcmp(arguments[1], "outside") == 0) return outside_of_installation();
  if (mkdtemp(folder) == NULL) return 1;
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  int failed = cmocka_run_group_tests_name("unit.compile.selection", tests, NULL, NULL);
  shell("rm -rf \"$FOLDER\"");
  return failed;
}
