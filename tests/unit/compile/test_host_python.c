/* SPDX-License-Identifier: Apache-2.0 */
/* A host with a Python of its own: adopted in whatever state it is, or left alone. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compile/python_find.h"
#include "process_test.h"

#define ECHO "{\"op\":\"echo\"}"
#define SLEEP "{\"op\":\"sleep\",\"seconds\":1}"

/* The host's own view of its Python. */
static void *library;
static char libpython[4096];

/* Where the address of that function is: ISO C has no cast from dlsym's result to a function. */
static void *symbol(const char *name) {
  static _Thread_local void *found;
  found = dlsym(library, name);
  CHECK(found != NULL);
  return &found;
}

/* A function of the host's Python, to be called. */
#define FUNCTION(result, name, parameters) (*(result(**) parameters)symbol(#name))

static void open_library(int flags) {
  library = dlopen(libpython, RTLD_NOW | flags);
  CHECK(library != NULL);
}

/* Its path, found by a process of its own, as the answer is kept. */
static void find_library(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t pid = fork();
  if (pid == 0) {
    const tj_python_info *info;
    CHECK(tj_python_find(NULL, &info) == TJ_OK);
    size_t size = strlen(info->libpython);
    _exit(write(ends[1], info->libpython, size) == (ssize_t)size ? 0 : 1);
  }
  close(ends[1]);
  CHECK(read(ends[0], libpython, sizeof libpython - 1) > 0);
  close(ends[0]);
  CHECK(waitpid(pid, NULL, 0) == pid);
}

static void run(const char *code) {
  CHECK(FUNCTION(int, PyRun_SimpleString, (const char *))(code) == 0);
}

/* This thread holds the GIL afterwards. */
static void start_python(int flags) {
  open_library(flags);
  FUNCTION(void, Py_InitializeEx, (int))(0);
}

static void *save_thread(void) { return FUNCTION(void *, PyEval_SaveThread, (void))(); }
static void restore_thread(void *thread) { FUNCTION(void, PyEval_RestoreThread, (void *))(thread); }

static bool is_embedded(void) { return ask_number(ECHO, "pid") == getpid(); }

static void *must_be_embedded(void *unused) {
  CHECK(is_embedded());
  return unused;
}

static void run_thread(void *(*function)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, function, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- adopted --------------------------------------------------------------------------- */

static void adopt(int flags) {
  start_python(flags);
  run("import sys; sys.argv = ['the host']; path_before = list(sys.path)");
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(is_embedded()); /* holding the GIL */
  tj_message reply;
  CHECK(ask(ECHO, &reply) == TJ_OK);
  const char *argv0 = tj_json_text(reply.json, "argv0");
  CHECK(argv0 && strcmp(argv0, "the host") == 0); /* it is the host's interpreter */
  tj_message_free(&reply);
  run("assert sys.path == path_before and sys.argv == ['the host']"); /* still holding it */
  void *thread = save_thread();
  CHECK(is_embedded()); /* not holding it */
  run_thread(must_be_embedded);
  restore_thread(thread);
  run("assert sys.path == path_before");
}

static void visible(void) { adopt(RTLD_GLOBAL); }

static void hidden(void) {
  adopt(RTLD_LOCAL);
  CHECK(dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL); /* visible now: modules need that */
}

static void first_use_without_gil(void) {
  start_python(RTLD_LOCAL);
  void *thread = save_thread();
  use_stand_in(TJ_COMPILER_AUTO);
  run_thread(must_be_embedded);
  CHECK(is_embedded());
  restore_thread(thread);
  run("pass");
}

static void *ask_with_gil(void *unused) {
  int state = FUNCTION(int, PyGILState_Ensure, (void))();
  for (int i = 0; i < 20; i++) CHECK(is_embedded());
  run("pass");
  FUNCTION(void, PyGILState_Release, (int))(state);
  return unused;
}

static void *ask_without_gil(void *unused) {
  for (int i = 0; i < 20; i++) CHECK(is_embedded());
  return unused;
}

static void small_stacks(void) { /* another thread works then, and needs the GIL */
  start_python(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_AUTO);
  void *thread = save_thread();
  pthread_attr_t attributes;
  pthread_t threads[4];
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&threads[i], &attributes, i % 2 ? ask_with_gil : ask_without_gil, NULL) ==
          0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  restore_thread(thread);
  run("pass");
}

static void many_threads(void) { /* the first use too is by all of them at once */
  start_python(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_AUTO);
  void *thread = save_thread();
  pthread_t threads[8];
  for (int i = 0; i < 8; i++)
    CHECK(pthread_create(&threads[i], NULL, i % 2 ? ask_with_gil : ask_without_gil, NULL) == 0);
  for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  restore_thread(thread);
  run("pass");
}

/* ---- the GIL of threads that wait ------------------------------------------------------ */

static void suspend(void) {
  start_python(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_AUTO);
  void *token = tj_python_suspend();
  CHECK(token != NULL);
  CHECK(FUNCTION(int, PyGILState_Check, (void))() == 0);
  CHECK(tj_python_suspend() == NULL); /* it does not hold it any more */
  run_thread(ask_with_gil);
  tj_python_resume(token);
  CHECK(FUNCTION(int, PyGILState_Check, (void))() == 1);
  void *thread = save_thread();
  CHECK(tj_python_suspend() == NULL);
  restore_thread(thread);
}

static atomic_bool held, done;

static void *hold_gil(void *unused) {
  int state = FUNCTION(int, PyGILState_Ensure, (void))();
  atomic_store(&held, true);
  while (!atomic_load(&done)) usleep(1000);
  FUNCTION(void, PyGILState_Release, (int))(state);
  return unused;
}

static void suspend_while_another_thread_holds_it(void) {
  start_python(RTLD_LOCAL);
  void *thread = save_thread();
  pthread_t other;
  CHECK(pthread_create(&other, NULL, hold_gil, NULL) == 0);
  while (!atomic_load(&held)) usleep(1000);
  CHECK(tj_python_suspend() == NULL); /* until 3.11 the current state is the other thread's */
  atomic_store(&done, true);
  CHECK(pthread_join(other, NULL) == 0);
  restore_thread(thread);
  run("pass");
}

static atomic_bool asking;

static void *ask_slowly(void *unused) {
  atomic_store(&asking, true);
  CHECK(ask_status(SLEEP) == TJ_OK);
  atomic_store(&done, true);
  return unused;
}

static void worker_lets_python_go_on(void) {
  start_python(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_WORKER);
  CHECK(ask_status(ECHO) == TJ_OK);
  void *thread = save_thread();
  pthread_t slow;
  CHECK(pthread_create(&slow, NULL, ask_slowly, NULL) == 0);
  while (!atomic_load(&asking)) usleep(1000);
  usleep(300000); /* it is in the queue by then */
  restore_thread(thread);
  CHECK(ask_status(ECHO) == TJ_OK); /* waits for the slow one, holding the GIL when it came */
  CHECK(pthread_join(slow, NULL) == 0);
  CHECK(atomic_load(&done));
  run("pass");
}

/* ---- not adopted ----------------------------------------------------------------------- */

static void sub_interpreter(void) {
  start_python(RTLD_GLOBAL);
  use_stand_in(TJ_COMPILER_AUTO);
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  void *main_state = FUNCTION(void *, PyThreadState_Get, (void))();
  void *sub_state = FUNCTION(void *, Py_NewInterpreter, (void))();
  CHECK(sub_state != NULL);
  CHECK(!is_embedded()); /* as the first use */
  CHECK_CONTAINS(log_text, "sub-interpreter");
  (void)FUNCTION(void *, PyThreadState_Swap, (void *))(main_state);
  CHECK(is_embedded());
  run("pass");
  (void)FUNCTION(void *, PyThreadState_Swap, (void *))(sub_state);
  CHECK(!is_embedded()); /* as a later one */
  run("pass");
  FUNCTION(void, Py_EndInterpreter, (void *))(sub_state);
  (void)FUNCTION(void *, PyThreadState_Swap, (void *))(main_state);
  CHECK(is_embedded());
  void *thread = save_thread();
  run_thread(must_be_embedded);
  restore_thread(thread);
}

static void *in_own_sub_interpreter(void *unused) {
  int state = FUNCTION(int, PyGILState_Ensure, (void))();
  void *main_state = FUNCTION(void *, PyThreadState_Get, (void))();
  void *sub_state = FUNCTION(void *, Py_NewInterpreter, (void))();
  CHECK(sub_state != NULL);
  for (int i = 0; i < 5; i++) CHECK(!is_embedded());
  FUNCTION(void, Py_EndInterpreter, (void *))(sub_state);
  (void)FUNCTION(void *, PyThreadState_Swap, (void *))(main_state);
  FUNCTION(void, PyGILState_Release, (int))(state);
  return unused;
}

/* Until 3.11 a thread cannot always tell, and is then served by the worker. */
static void *ask_without_gil_any(void *unused) {
  for (int i = 0; i < 20; i++) CHECK(ask_status(ECHO) == TJ_OK);
  return unused;
}

static void sub_interpreter_beside_others(void) {
  start_python(RTLD_GLOBAL);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(is_embedded());
  void *thread = save_thread();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&threads[i], NULL, i % 2 ? in_own_sub_interpreter : ask_without_gil_any,
                         NULL) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  restore_thread(thread);
  run("pass");
}

static void finalised_by_the_host(void) {
  start_python(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(is_embedded());
  CHECK(FUNCTION(int, Py_FinalizeEx, (void))() == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(ask_status(ECHO) == TJ_E_PYTHON_FINALIZED);
    CHECK_CONTAINS(tj_last_error(), "finalised");
    CHECK(tj_python_suspend() == NULL);
  }
}

static void ours_finalised_by_the_host(void) {
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(is_embedded());
  open_library(RTLD_GLOBAL);
  (void)FUNCTION(int, PyGILState_Ensure, (void))();
  CHECK(FUNCTION(int, Py_FinalizeEx, (void))() == 0);
  CHECK(ask_status(ECHO) == TJ_E_PYTHON_FINALIZED);
}

static void loaded_but_not_started(void) {
  open_library(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_AUTO);
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  CHECK(!is_embedded());
  CHECK_CONTAINS(log_text, "has not started");
  CHECK(FUNCTION(int, Py_IsInitialized, (void))() == 0);
  FUNCTION(void, Py_InitializeEx, (int))(0); /* now it has */
  CHECK(is_embedded());
  run("pass");
}

static void loaded_but_not_started_and_asked_for(void) {
  open_library(RTLD_LOCAL);
  use_stand_in(TJ_COMPILER_EMBEDDED);
  CHECK(is_embedded());
  CHECK(FUNCTION(int, Py_IsInitialized, (void))() == 1);
}

static void host_starts_it_after_us(void) { /* Py_Initialize does nothing then */
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(is_embedded());
  open_library(RTLD_GLOBAL);
  FUNCTION(void, Py_InitializeEx, (int))(0);
  run_thread(ask_with_gil);
  CHECK(is_embedded());
}

static void another_one_was_asked_for(void) {
  char folder[] = "/tmp/tj_host_python_XXXXXX", command[256];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(command, sizeof command, "python3 -m venv --without-pip %s/venv", folder);
  CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a test's own fixed text */
  start_python(RTLD_LOCAL);
  snprintf(command, sizeof command, "%s/venv", folder);
  CHECK(setenv("TRITON_JIT_PYTHON", command, 1) == 0);
  void *thread = save_thread();
  pid_t pid = fork();
  if (pid == 0) {
    use_stand_in(TJ_COMPILER_EMBEDDED);
    CHECK(ask_status(ECHO) == TJ_E_PYTHON_MISMATCH);
    CHECK_CONTAINS(tj_last_error(), folder);
    _exit(17);
  }
  CHECK(wait_for(pid) == 17);
  use_stand_in(TJ_COMPILER_AUTO);
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  CHECK(!is_embedded());
  CHECK_CONTAINS(log_text, "is not the one that was asked for");
  tj_message reply;
  CHECK(ask(ECHO, &reply) == TJ_OK);
  CHECK_CONTAINS(tj_json_text(reply.json, "prefix"), folder);
  tj_message_free(&reply);
  restore_thread(thread);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0); /* NOLINT(cert-env33-c) */
}

static void the_same_was_asked_for(void) {
  start_python(RTLD_LOCAL);
  CHECK(setenv("TRITON_JIT_PYTHON", "python3", 1) == 0);
  use_stand_in(TJ_COMPILER_AUTO);
  CHECK(is_embedded());
}

/* ---------------------------------------------------------------------------------------- */

#define SCENARIOS(X)                       \
  X(visible)                               \
  X(hidden)                                \
  X(first_use_without_gil)                 \
  X(many_threads)                          \
  X(small_stacks)                          \
  X(suspend)                               \
  X(suspend_while_another_thread_holds_it) \
  X(worker_lets_python_go_on)              \
  X(sub_interpreter)                       \
  X(sub_interpreter_beside_others)         \
  X(finalised_by_the_host)                 \
  X(ours_finalised_by_the_host)            \
  X(loaded_but_not_started)                \
  X(loaded_but_not_started_and_asked_for)  \
  X(host_starts_it_after_us)               \
  X(another_one_was_asked_for)             \
  X(the_same_was_asked_for)

SCENARIOS(SCENARIO_TEST)

int main(void) {
  static const char *const variables[] = {"TRITON_JIT_COMPILER", "TRITON_JIT_PYTHON", "VIRTUAL_ENV",
                                          "PYTHONHOME"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  find_library();
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  return cmocka_run_group_tests_name("unit.compile.host_python", tests, NULL, NULL);
}
