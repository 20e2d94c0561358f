/* SPDX-License-Identifier: Apache-2.0 */
/* A guest in a C host: the process is the same after a compile, and lives through bad kernels. */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <ucontext.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <cmocka.h>

#include "scenario.h"
#include "snapshot.h"

static void use(uint32_t mode) {
  tj_compiler_options options = TJ_COMPILER_OPTIONS_INIT;
  options.mode = mode;
  CHECK(tj_set_compiler(&options) == TJ_OK);
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
}

/* Describes and compiles a kernel of kernels/, for a GPU that need not be there. */
static tj_status compile(const char *file, const char *name, int64_t block) {
  char source[4096];
  snprintf(source, sizeof source, "%s/tests/integration/hosts/kernels/%s.py",
           getenv("TJ_TEST_SOURCE_DIR"), file);
  tj_function_desc desc = {.struct_size = sizeof desc, .source = source, .name = name};
  desc.backend = "null";
  tj_function *fn;
  tj_status status = tj_function_get_ex(&desc, &fn);
  if (status != TJ_OK) return status;
  tj_target target = TJ_TARGET_INIT;
  target.backend = "cuda";
  target.arch = "90";
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.target = &target;
  tj_arg pointer = tj_spec_ptr(TJ_FP32, 1);
  tj_arg args[] = {pointer, pointer, pointer, tj_spec(TJ_I32, 1), tj_int(block)};
  tj_kernel *kernel;
  return tj_function_prepare(fn, &launch, args, 5, &kernel);
}

/* ---- nothing is changed ---------------------------------------------------------------- */

static void on_signal(int number) { (void)number; }

/* A host with habits of its own. */
static void furnish(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaddset(&action.sa_mask, SIGUSR2);
  CHECK(sigaction(SIGINT, &action, NULL) == 0);
  CHECK(sigaction(SIGTERM, &action, NULL) == 0);
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  CHECK(setlocale(LC_NUMERIC, "C") != NULL);
  (void)setlocale(LC_CTYPE, "C");
  CHECK(setenv("LC_ALL", "C.UTF-8", 1) == 0); /* what Python would take */
  CHECK(chdir("/tmp") == 0);
  umask(027);
  CHECK(fesetround(FE_UPWARD) == 0);
#ifdef __SSE__
  _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
}

/* Sends the descriptor to a file, and gives that file's descriptor. */
static int redirect(int fd) {
  char name[] = "/tmp/tj_guest_XXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && unlink(name) == 0);
  int high = fcntl(file, F_DUPFD_CLOEXEC, 50);
  CHECK(high >= 0 && dup2(file, fd) == fd && close(file) == 0);
  return high;
}

static void check_guest(uint32_t mode) {
  furnish();
  use(mode);
  fflush(NULL);
  int err = fcntl(2, F_DUPFD_CLOEXEC, 60);
  int files[] = {redirect(1), redirect(2)};
  static snapshot before, after;
  take_snapshot(&before);
  tj_status status = compile("add", "add", 1024);
  take_snapshot(&after);
  off_t written = lseek(files[0], 0, SEEK_END) + lseek(files[1], 0, SEEK_END);
  CHECK(dup2(err, 2) == 2);
  CHECK(status == TJ_OK);
  CHECK(compare_snapshots(&before, &after) == 0);
  CHECK(after.high_descriptors - before.high_descriptors == (mode == TJ_COMPILER_WORKER ? 2 : 0));
  CHECK(written == 0);
  CHECK_CONTAINS(log_text, "printed to stdout");
  CHECK_CONTAINS(log_text, "printed to stderr");
  CHECK_CONTAINS(log_text, "UserWarning: warned");
  take_snapshot(&before);
  CHECK(compile("add", "add", 512) == TJ_OK);
  take_snapshot(&after);
  CHECK(compare_snapshots(&before, &after) == 0);
  CHECK(after.high_descriptors == before.high_descriptors);
}

static void embedded_is_a_guest(void) { check_guest(TJ_COMPILER_EMBEDDED); }
static void worker_is_a_guest(void) { check_guest(TJ_COMPILER_WORKER); }

/* The host may install its handlers while a compile runs: they stay. */
static void change_handlers(void *user, int level, const char *text) {
  (void)user, (void)level, (void)text;
  signal(SIGTERM, on_signal);
  signal(SIGHUP, SIG_IGN);
}

static void handlers_set_meanwhile_stay(void) {
  signal(SIGINT, SIG_DFL);
  use(TJ_COMPILER_EMBEDDED);
  tj_set_log(change_handlers, NULL, TJ_LOG_INFO);
  CHECK(compile("add", "add", 1024) == TJ_OK);
  CHECK(signal(SIGTERM, SIG_DFL) == on_signal);
  CHECK(signal(SIGHUP, SIG_DFL) == SIG_IGN);
  CHECK(signal(SIGINT, SIG_DFL) == SIG_DFL); /* LLVM's is gone */
}

/* ---- bad kernels, in the worker -------------------------------------------------------- */

static void llvm_gives_up(void) { /* it exits, or prints an error and returns broken code */
  use(TJ_COMPILER_WORKER);
  for (int i = 0; i < 2; i++) {
    tj_status status = compile("bad_asm", "bad_asm", 128);
    CHECK(status == TJ_E_COMPILER_DIED || status == TJ_E_COMPILE);
    CHECK_CONTAINS(tj_last_error(), "error: ");
    CHECK_CONTAINS(tj_last_error(), "constraint 'k'");
    CHECK(compile("add", "add", 128 << i) == TJ_OK);
  }
}

static void llvm_aborts(void) {
  use(TJ_COMPILER_WORKER);
  CHECK(compile("failed_assertion", "failed_assertion", 128) == TJ_E_COMPILER_DIED);
  CHECK_CONTAINS(tj_last_error(), "SIGABRT");
  CHECK_CONTAINS(tj_last_error(), "Assertion");
  CHECK(compile("add", "add", 128) == TJ_OK);
}

static void source_aborts(void) {
  use(TJ_COMPILER_WORKER);
  CHECK(compile("aborts", "add", 128) == TJ_E_COMPILER_DIED);
  CHECK_CONTAINS(tj_last_error(), "SIGABRT");
  CHECK_CONTAINS(tj_last_error(), "words before the end");
  CHECK(compile("add", "add", 128) == TJ_OK);
}

static void source_prints_by_c(void) {
  use(TJ_COMPILER_WORKER);
  int files[] = {redirect(1)};
  CHECK(compile("native_print", "add", 128) == TJ_OK);
  CHECK(lseek(files[0], 0, SEEK_END) == 0);
  CHECK_CONTAINS(log_text, "written by C to 1");
  CHECK_CONTAINS(log_text, "written by C to 2");
}

/* ---- forks and threads, with the real thing -------------------------------------------- */

static void *compile_another(void *block) {
  CHECK(compile("add", "add", (int64_t)(intptr_t)block) == TJ_OK);
  return NULL;
}

static void check_children(uint32_t mode) {
  use(mode);
  CHECK(compile("add", "add", 64) == TJ_OK);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, compile_another, (void *)128) == 0);
  usleep(50000); /* it is compiling now */
  pid_t pid = fork();
  if (pid == 0) {
    alarm(120);
    CHECK(compile("add", "add", 256) == TJ_OK);
    _exit(17);
  }
  CHECK(compile("add", "add", 512) == TJ_OK);
  CHECK(wait_for(pid) == 17);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void children_of_embedded(void) { check_children(TJ_COMPILER_AUTO); }
static void children_of_worker(void) { check_children(TJ_COMPILER_WORKER); }

static void check_threads(uint32_t mode) {
  use(mode);
  pthread_t threads[6];
  for (int i = 0; i < 6; i++) {
    intptr_t block = 64 << i / 2; /* two ask for the same */
    CHECK(pthread_create(&threads[i], NULL, compile_another, (void *)block) == 0);
  }
  for (int i = 0; i < 6; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void threads_of_embedded(void) { check_threads(TJ_COMPILER_EMBEDDED); }
static void threads_of_worker(void) { check_threads(TJ_COMPILER_WORKER); }

/* ---- small stacks ---------------------------------------------------------------------- */

static void *compile_on_small_stack(void *unused) {
  CHECK(compile("add", "no_such_kernel", 1) == TJ_E_KERNEL_NOT_FOUND);
  CHECK_CONTAINS(tj_last_error(), "no_such_kernel"); /* the record is this thread's */
  CHECK(compile("add", "add", 64) == TJ_OK);
  return unused;
}

static void check_small_stack(uint32_t mode) {
  use(mode);
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
  CHECK(pthread_create(&thread, &attributes, compile_on_small_stack, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void small_stack_embedded(void) { check_small_stack(TJ_COMPILER_EMBEDDED); }
static void small_stack_worker(void) { check_small_stack(TJ_COMPILER_WORKER); }

static ucontext_t main_context, coroutine_context;

static void coroutine(void) { (void)compile_on_small_stack(NULL); }

static void coroutine_embedded(void) {
  use(TJ_COMPILER_EMBEDDED);
  static char stack[64 << 10];
  CHECK(getcontext(&coroutine_context) == 0);
  coroutine_context.uc_stack.ss_sp = stack;
  coroutine_context.uc_stack.ss_size = sizeof stack;
  coroutine_context.uc_link = &main_context;
  makecontext(&coroutine_context, coroutine, 0);
  CHECK(swapcontext(&main_context, &coroutine_context) == 0);
}

/* ---- the end of the process ------------------------------------------------------------ */

static void *exit_here(void *unused) {
  (void)unused;
  exit(17);
}

static void *compile_and_end(void *unused) {
  CHECK(compile("add", "add", 256) == TJ_OK);
  return unused;
}

static void check_ends(uint32_t mode) {
  for (int i = 0; i < 4; i++) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
      use(mode);
      CHECK(compile("add", "add", 128) == TJ_OK);
      pthread_t thread;
      if (i == 0) exit(17);
      if (i == 1) quick_exit(17);
      CHECK(pthread_create(&thread, NULL, i == 2 ? exit_here : compile_and_end, NULL) == 0);
      pthread_join(thread, NULL);
      exit(17);
    }
    CHECK(wait_for(pid) == 17);
  }
}

static void ends_of_embedded(void) { check_ends(TJ_COMPILER_EMBEDDED); }
static void ends_of_worker(void) { check_ends(TJ_COMPILER_WORKER); }

/* ---------------------------------------------------------------------------------------- */

#define SCENARIOS(X)             \
  X(embedded_is_a_guest)         \
  X(worker_is_a_guest)           \
  X(handlers_set_meanwhile_stay) \
  X(llvm_gives_up)               \
  X(llvm_aborts)                 \
  X(source_aborts)               \
  X(source_prints_by_c)          \
  X(children_of_embedded)        \
  X(children_of_worker)          \
  X(threads_of_embedded)         \
  X(threads_of_worker)           \
  X(small_stack_embedded)        \
  X(small_stack_worker)          \
  X(coroutine_embedded)          \
  X(ends_of_embedded)            \
  X(ends_of_worker)

SCENARIOS(SCENARIO_TEST)

int main(void) {
  /* A cache of this run: another one would have nothing left to compile. */
  char cache[] = "/tmp/tj_guest_cache_XXXXXX";
  if (mkdtemp(cache) == NULL || setenv("TRITON_CACHE_DIR", cache, 1) != 0) return 1;
  unsetenv("TRITON_JIT_COMPILER");
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  int failed = cmocka_run_group_tests_name("integration.guest", tests, NULL, NULL);
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", cache);
  return system(command) == 0 ? failed : 1; /* NOLINT(cert-env33-c): a test's own fixed text */
}
