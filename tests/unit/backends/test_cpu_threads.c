/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU backend: its threads among those of the host. The number of threads is read once
 * a process, so the program runs itself again with TRITON_JIT_CPU_THREADS set and the name
 * of a scenario as its argument.
 */
#include "cpu_artifact.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "cpu/cpu_pool.h"
#include "triton_jit/runtime.h"

/* ---- modules --------------------------------------------------------------------------------- */

/* Adds 1 to out[id], after n turns of work. */
static void *work_module(void) {
  return test_module(TEST_INFO, "",
                     "for (int64_t i = 0; i < p->n; i++) __asm__ volatile(\"\");"
                     "((uint32_t *)p->out)[id] += 1;");
}

/* Program i waits until program i - 1 has handed on: out[0] counts. */
static void *chain_module(void) {
  return test_module("TJ_CPU_ABI, TJ_CPU_ORDERED, 0, 16, 2", "#include <sched.h>",
                     "uint64_t *turn = p->out;"
                     "for (int64_t i = 0; i < p->n; i++) __asm__ volatile(\"\");"
                     "while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != id) sched_yield();"
                     "__atomic_store_n(turn, id + 1, __ATOMIC_RELEASE);");
}

/* Notes the threads that run programs, and whether SIGUSR1 and SIGSEGV are blocked there. */
typedef struct seen {
  int32_t threads[64]; /* thread ids; [0] is the caller's, 0: free */
  uint32_t wrong;      /* threads with the wrong signals blocked */
} seen;

static void *thread_module(void) {
  return test_module(TEST_INFO,
                     "#include <signal.h>\n#include <unistd.h>\n"
                     "typedef struct seen { int32_t threads[64]; uint32_t wrong; } seen;\n"
                     "static void note(seen *s) {\n"
                     "  int32_t self = gettid();\n"
                     "  for (int i = 0; i < 64; i++) {\n"
                     "    int32_t is = 0;\n"
                     "    if (__atomic_compare_exchange_n(&s->threads[i], &is, self, 0, 5, 5)) {\n"
                     "      sigset_t set;\n"
                     "      sigprocmask(SIG_BLOCK, 0, &set);\n"
                     "      if (!sigismember(&set, SIGUSR1) || sigismember(&set, SIGSEGV))\n"
                     "        __atomic_fetch_add(&s->wrong, 1, 5);\n"
                     "      return;\n"
                     "    }\n"
                     "    if (is == self) return;\n"
                     "  }\n"
                     "}\n",
                     "for (int64_t i = 0; i < p->n; i++) __asm__ volatile(\"\");"
                     "note(p->out);");
}

static bool check_work(void *module, uint32_t n, int64_t work) {
  uint32_t *out = calloc(n, sizeof *out);
  if (out == NULL) return false;
  bool ok = test_launch(module, n, 1, 1, out, work) == TJ_OK;
  for (uint32_t i = 0; i < n; i++) ok &= out[i] == 1;
  free(out);
  return ok;
}

/* ---- scenarios in a process of their own -------------------------------------------------------- */

static int scenario_chain(void) {
  void *module = chain_module();
  for (int round = 0; round < 10; round++) {
    uint64_t turn = 0;
    if (test_launch(module, 50, 5, 4, &turn, round % 2 ? 20000 : 0) != TJ_OK) return 1;
    if (turn != 1000) return 2;
  }
  tj_backend_cpu.unload(module);
  return 0;
}

static int scenario_size(const char *expected) {
  return tj_cpu_pool_size() == (uint32_t)strtoul(expected, NULL, 10) ? 0 : 1;
}

/* All threads take part: each program waits until as many threads as there should be came. */
static int scenario_threads(const char *expected) {
  void *module = thread_module();
  uint32_t size = (uint32_t)strtoul(expected, NULL, 10);
  seen s = {0};
  s.threads[0] = (int32_t)gettid();
  uint64_t end = tj_now() + 20000000000u;
  for (uint32_t count = 0; count < size;) {
    if (test_launch(module, 4096, 1, 1, &s, 200000) != TJ_OK) return 1;
    for (count = 0; count < 64 && s.threads[count] != 0;) count++;
    if (count > size) return 2; /* more threads than allowed */
    if (tj_now() > end) return 3;
  }
  tj_backend_cpu.unload(module);
  return s.wrong == 0 ? 0 : 4;
}

static void hear_warning(void *user, int level, const char *text) {
  if (level == TJ_LOG_WARNING && strstr(text, "TRITON_JIT_CPU_THREADS is \"many\""))
    atomic_fetch_add((atomic_int *)user, 1);
}

static int scenario_warning(void) {
  atomic_int heard = 0;
  tj_set_log(hear_warning, &heard, TJ_LOG_WARNING);
  uint32_t size = tj_cpu_pool_size();
  return size == tj_cpu_pool_size() && size >= 1 && atomic_load(&heard) == 1 ? 0 : 1;
}

static void *size_of_pool(void *out) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) *(uint32_t *)out = tj_cpu_pool_size();
  return NULL;
}

/* A host thread that is pinned to one CPU is not the measure of the machine. */
static int scenario_pinned(void) {
  cpu_set_t all;
  uint32_t size = 0;
  pthread_t thread;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return 1;
  if (pthread_create(&thread, NULL, size_of_pool, &size) != 0) return 2;
  pthread_join(thread, NULL);
  return size == (uint32_t)CPU_COUNT(&all) ? 0 : 3;
}

static int scenario_work(void) {
  void *module = work_module();
  for (uint32_t n = 1; n < 3000; n = n * 3 + 1)
    if (!check_work(module, n, 1000)) return 1;
  tj_backend_cpu.unload(module);
  return 0;
}

typedef struct long_launch {
  void *module;
  seen threads;
  atomic_bool over;
  tj_status status;
} long_launch;

static void *launch_long(void *argument) {
  long_launch *self = argument;
  self->status = test_launch(self->module, 4000, 1, 1, &self->threads, 400000);
  atomic_store(&self->over, true);
  return NULL;
}

/* All workers are in one launch; another that comes later gets one of them before it ends. */
static int scenario_fair(void) {
  void *module = thread_module();
  seen own = {0};
  own.threads[0] = (int32_t)gettid();
  /* Teaches the pool that programs are long, and starts its threads. */
  if (test_launch(module, 64, 1, 1, &own, 400000) != TJ_OK) return 1;
  long_launch other = {.module = module};
  pthread_t thread;
  if (pthread_create(&thread, NULL, launch_long, &other) != 0) return 2;
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  memset(&own, 0, sizeof own);
  own.threads[0] = (int32_t)gettid();
  tj_status status = test_launch(module, 600, 1, 1, &own, 400000);
  bool in_time = !atomic_load(&other.over);
  pthread_join(thread, NULL);
  tj_backend_cpu.unload(module);
  if (status != TJ_OK || other.status != TJ_OK) return 3;
  if (!in_time) return 4;
  return own.threads[1] != 0 ? 0 : 5;
}

static int run_scenario(const char *name, const char *argument) {
  if (strcmp(name, "chain") == 0) return scenario_chain();
  if (strcmp(name, "size") == 0) return scenario_size(argument);
  if (strcmp(name, "threads") == 0) return scenario_threads(argument);
  if (strcmp(name, "warning") == 0) return scenario_warning();
  if (strcmp(name, "pinned") == 0) return scenario_pinned();
  if (strcmp(name, "fair") == 0) return scenario_fair();
  if (strcmp(name, "work") == 0) return scenario_work();
  return 100;
}

/* The exit status of `pid`, or -1 if it was killed or had to be. */
static int wait_for(pid_t pid) {
  int status;
  for (int i = 0; i < 12000; i++) { /* two minutes */
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (got < 0 && errno != EINTR) return -1;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, &status, 0);
  return -1;
}

static int in_new_process(const char *threads, const char *scenario, const char *argument) {
  char *arguments[] = {"/proc/self/exe", (char *)scenario, (char *)argument, NULL};
  if (threads)
    (void)setenv("TRITON_JIT_CPU_THREADS", threads, 1);
  else
    (void)unsetenv("TRITON_JIT_CPU_THREADS");
  pid_t pid;
  assert_int_equal(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ), 0);
  (void)unsetenv("TRITON_JIT_CPU_THREADS");
  return wait_for(pid);
}

static void test_programs_that_wait(void **state) {
  (void)state;
  assert_int_equal(in_new_process("1", "chain", ""), 0);
  assert_int_equal(in_new_process("2", "chain", ""), 0);
  assert_int_equal(in_new_process("8", "chain", ""), 0);
}

static void test_pool_sizes(void **state) {
  (void)state;
  assert_int_equal(in_new_process("1", "work", ""), 0);
  assert_int_equal(in_new_process("7", "work", ""), 0);
  assert_int_equal(in_new_process("64", "work", ""), 0);
  assert_int_equal(in_new_process("1", "threads", "1"), 0);
  assert_int_equal(in_new_process("6", "threads", "6"), 0);
}

static void test_fairness(void **state) {
  (void)state;
  assert_int_equal(in_new_process("4", "fair", ""), 0);
}

static void test_number_of_threads(void **state) {
  (void)state;
  cpu_set_t mask;
  char expected[16];
  assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
  (void)snprintf(expected, sizeof expected, "%d", CPU_COUNT(&mask));
  assert_int_equal(in_new_process(NULL, "size", expected), 0);
  assert_int_equal(in_new_process("", "size", expected), 0);
  assert_int_equal(in_new_process("3", "size", "3"), 0);
  assert_int_equal(in_new_process("1024", "size", "1024"), 0);
  static const char *const bad[] = {"0", "-2", "4x", "1025", "99999999999999999999", "many"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(in_new_process(bad[i], "size", expected), 0);
  assert_int_equal(in_new_process("many", "warning", ""), 0);
  assert_int_equal(in_new_process(NULL, "pinned", ""), 0);
}

/* ---- several host threads ---------------------------------------------------------------------- */

#define HOSTS 8

typedef struct host_thread {
  void *modules[2]; /* work, chain */
  uint32_t seed;
  int failures;
} host_thread;

static void *launch_many(void *argument) {
  host_thread *self = argument;
  for (uint32_t i = 0; i < 60; i++) {
    uint32_t n = 1 + (i * 37 + self->seed * 101) % 400;
    if (!check_work(self->modules[0], n, (int64_t)(i + self->seed) % 5 * 500)) self->failures++;
    uint64_t turn = 0;
    if (i % 6 == 0 && (test_launch(self->modules[1], n, 1, 1, &turn, 300) != TJ_OK || turn != n))
      self->failures++;
  }
  return NULL;
}

static void test_many_host_threads(void **state) {
  (void)state;
  void *work = work_module(), *chain = chain_module();
  host_thread hosts[HOSTS];
  pthread_t threads[HOSTS];
  for (uint32_t i = 0; i < HOSTS; i++) {
    hosts[i] = (host_thread){{work, chain}, i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &hosts[i]), 0);
  }
  for (int i = 0; i < HOSTS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < HOSTS; i++) assert_int_equal(hosts[i].failures, 0);
  tj_backend_cpu.unload(work);
  tj_backend_cpu.unload(chain);
}

/* A kernel within this program, which a thread sanitizer sees: plain writes on every thread
   that takes part, of parameters that the caller wrote and to memory that it reads after. */
static int32_t run_here(const void *params, const uint32_t grid[3], uint64_t first, uint64_t last,
                        void *scratch, const tj_cpu_host *host) {
  (void)host;
  const test_params *p = params;
  for (uint64_t id = first; id < last; id++) {
    for (int64_t i = 0; i < p->n; i++) __asm__ volatile("");
    if (scratch) *(uint64_t *)scratch = id;
    ((uint64_t *)p->out)[id] = (scratch ? *(uint64_t *)scratch : id) + grid[0];
  }
  return 0;
}

static void test_writes_are_seen(void **state) {
  (void)state;
  tj_cpu_module module = {.run = run_here, .scratch_size = 64, .function = "here"};
  uint64_t out[300];
  for (int round = 0; round < 200; round++) {
    module.ordered = round % 2;
    memset(out, 0, sizeof out);
    assert_int_equal(test_launch(&module, 300, 1, 1, out, 1000), TJ_OK);
    for (uint64_t id = 0; id < 300; id++) assert_int_equal(out[id], id + 300);
  }
}

static void *launch_on_small_stack(void *argument) {
  void **module = argument;
  bool ok = check_work(*module, 1, 0) && check_work(*module, 500, 5000);
  if (!ok) *module = NULL;
  return NULL;
}

static void test_small_stack(void **state) {
  (void)state;
  void *module = work_module(), *argument = module;
  pthread_attr_t attributes;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)64 << 10), 0);
  assert_int_equal(pthread_create(&thread, &attributes, launch_on_small_stack, &argument), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  assert_ptr_equal(argument, module);
  tj_backend_cpu.unload(module);
}

/* ---- fork --------------------------------------------------------------------------------------- */

static void test_fork(void **state) {
  (void)state;
  void *module = work_module();
  for (int i = 0; i < 10; i++) assert_true(check_work(module, 1000, 2000)); /* there is a pool */
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    bool ok = true;
    for (int i = 0; i < 10; i++) ok &= check_work(module, 1000, 2000);
    pid_t grandchild = fork();
    if (grandchild == 0) _exit(check_work(module, 1000, 2000) ? 0 : 1);
    _exit(ok && wait_for(grandchild) == 0 ? 0 : 1);
  }
  assert_int_equal(wait_for(pid), 0);
  assert_true(check_work(module, 1000, 2000)); /* and in the parent it still works */
  tj_backend_cpu.unload(module);
}

typedef struct stream_of_launches {
  void *module;
  atomic_bool stop;
  int failures;
} stream_of_launches;

static void *launch_until_told(void *argument) {
  stream_of_launches *self = argument;
  while (!atomic_load(&self->stop))
    if (!check_work(self->module, 700, 300)) self->failures++;
  return NULL;
}

/* The fork finds the pool's lock and the jobs of other threads in whatever state. */
static void test_fork_while_others_launch(void **state) {
  (void)state;
  void *module = work_module();
  stream_of_launches streams[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    streams[i] = (stream_of_launches){.module = module};
    assert_int_equal(pthread_create(&threads[i], NULL, launch_until_told, &streams[i]), 0);
  }
  int failures = 0;
  for (int i = 0; i < 30; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      bool ok = true;
      for (int k = 0; k < 5; k++) ok &= check_work(module, 500, 2000);
      _exit(ok ? 0 : 1);
    }
    failures += pid < 0 || wait_for(pid) != 0;
  }
  for (int i = 0; i < 3; i++) atomic_store(&streams[i].stop, true);
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    failures += streams[i].failures;
  }
  assert_int_equal(failures, 0);
  tj_backend_cpu.unload(module);
}

/* A log callback forks on the thread that launches, while a worker runs a program. */
typedef struct fork_within {
  pthread_t host;
  pid_t child; /* 0: this is the child */
  atomic_bool worker_is_in, go_on;
} fork_within;

static fork_within within;

static void wait_until(atomic_bool *flag) {
  uint64_t end = tj_now() + 20000000000u;
  while (!atomic_load(flag) && tj_now() < end) sched_yield();
}

static int32_t run_and_fork(const void *params, const uint32_t grid[3], uint64_t first,
                            uint64_t last, void *scratch, const tj_cpu_host *host) {
  (void)grid;
  (void)scratch;
  if (pthread_equal(pthread_self(), within.host)) {
    wait_until(&within.worker_is_in);
    if (within.child < 0) host->print(host->ctx, "fork now", 8);
    atomic_store(&within.go_on, true);
  } else {
    atomic_store(&within.worker_is_in, true);
    wait_until(&within.go_on);
  }
  for (uint64_t id = first; id < last; id++) ((uint32_t *)((const test_params *)params)->out)[id]++;
  return 0;
}

static void fork_now(void *user, int level, const char *text) {
  (void)user;
  (void)level;
  (void)text;
  within.child = fork();
}

/* The child comes back from the launch, and is told what it lacks. */
static void test_fork_within_a_launch(void **state) {
  (void)state;
  if (tj_cpu_pool_size() < 2) skip();
  tj_cpu_module module = {.run = run_and_fork, .function = "here"};
  atomic_init(&module.program_time, 256000000); /* a millisecond: worth a worker */
  uint32_t out[64] = {0};
  within.host = pthread_self();
  within.child = -1;
  tj_set_log(fork_now, NULL, TJ_LOG_INFO);
  tj_status status = test_launch(&module, 64, 1, 1, out, 0);
  tj_set_log(NULL, NULL, 0);
  if (within.child == 0) {
    bool told = status == TJ_E_LAUNCH && strstr(tj_last_error(), "forked") != NULL;
    module.run = run_here;
    uint64_t again[64];
    _exit(told && test_launch(&module, 64, 1, 1, again, 0) == TJ_OK ? 0 : 1);
  }
  assert_true(atomic_load(&within.worker_is_in));
  assert_true(within.child > 0);
  assert_int_equal(status, TJ_OK);
  for (int i = 0; i < 64; i++) assert_int_equal(out[i], 1);
  assert_int_equal(wait_for(within.child), 0);
}

int main(int argc, char **argv) {
  if (argc > 2) return run_scenario(argv[1], argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_programs_that_wait),
      cmocka_unit_test(test_pool_sizes),
      cmocka_unit_test(test_fairness),
      cmocka_unit_test(test_number_of_threads),
      cmocka_unit_test(test_many_host_threads),
      cmocka_unit_test(test_writes_are_seen),
      cmocka_unit_test(test_small_stack),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_fork_while_others_launch),
      cmocka_unit_test(test_fork_within_a_launch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
