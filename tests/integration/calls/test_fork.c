/* SPDX-License-Identifier: Apache-2.0 */
/* Forked processes: both sides go on, whatever was warm before. */
#include "calls.h"

static tj_function *copy, *sizes;

static void use_hot(float first) {
  for (int i = 0; i < 50; i++) {
    CHECK(copies(copy, 1024, 64, first + (float)i)); /* shared out to threads, which a fork loses */
    CHECK(writes(sizes, i));
  }
}

static void warm_up(void) {
  copy = find_kernel("elementwise", "copy");
  sizes = find_kernel("scalars", "sizes_unspecialized");
  CHECK(copy && copies(copy, 1024, 64, 0));
  CHECK(sizes && writes(sizes, 1));
}

static void use_cold(int64_t block) {
  CHECK(copies(copy, 512, block, 9));
  tj_function *helpers = find_kernel("language", "helpers");
  int32_t out[5] = {0};
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg args[] = {tj_ptr(out, TJ_I32), tj_i32(7), tj_i32(5)};
  CHECK(helpers && tj_function_call(helpers, &launch, args, COUNT(args)) == TJ_OK);
  CHECK(out[0] == 26);
}

static void fork_after_use(void) {
  warm_up();
  pid_t pid = fork();
  if (pid == 0) {
    use_hot(1000);
    use_cold(128);
    use_hot(2000);
    exit(0);
  }
  use_hot(3000);
  use_cold(256);
  CHECK(wait_for(pid) == 0);
  use_hot(4000);
}

static void fork_before_use(void) {
  pid_t pid = fork();
  warm_up();
  use_hot(pid == 0 ? 1 : 2);
  use_cold(128);
  if (pid == 0) exit(0);
  CHECK(wait_for(pid) == 0);
}

static void fork_of_a_fork(void) {
  warm_up();
  pid_t child = fork();
  if (child == 0) {
    use_hot(1);
    pid_t grandchild = fork();
    use_hot(2);
    if (grandchild == 0) {
      use_cold(128);
      exit(0);
    }
    CHECK(wait_for(grandchild) == 0);
    exit(0);
  }
  CHECK(wait_for(child) == 0);
  use_hot(3);
}

/* ---- forks while other threads call -------------------------------------------------------- */

static _Atomic int stop, wrong;

static void *call_all_the_time(void *number) {
  for (int i = 0; !stop; i++)
    if (!copies(copy, 1024, 64, (float)i + (float)(intptr_t)number)) wrong++;
  return NULL;
}

static void fork_while_threads_call(void) {
  warm_up();
  pthread_t threads[3];
  for (intptr_t i = 0; i < 3; i++)
    CHECK(pthread_create(&threads[i], NULL, call_all_the_time, (void *)(i * 1000)) == 0);
  for (int round = 0; round < 20; round++) {
    pid_t pid = fork();
    if (pid == 0) {
      use_hot(7);
      _exit(0); /* the other threads' memory is not this process's to end */
    }
    CHECK(wait_for(pid) == 0);
  }
  stop = 1;
  for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(wrong == 0);
  use_hot(8);
}

/* ThreadSanitizer cannot start threads in a child of a process that had some, and a child of
   AddressSanitizer's hangs if another thread was in its allocator during the fork. */
#ifdef HAVE_TSAN
enum { AFTER_THREADS = 0, AMONG_THREADS = 0 };
#elif defined HAVE_ASAN
enum { AFTER_THREADS = 1, AMONG_THREADS = 0 };

/* What belonged to threads that a fork left behind: their scratch memory. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:tj_cpu_scratch_take\n"; }
#else
enum { AFTER_THREADS = 1, AMONG_THREADS = 1 };
#endif

/* X(scenario, whether it can run here) */
#define FORKS(X)                   \
  X(fork_after_use, AFTER_THREADS) \
  X(fork_before_use, 1)            \
  X(fork_of_a_fork, AFTER_THREADS) \
  X(fork_while_threads_call, AMONG_THREADS)

#define FORK_TEST(name, possible)            \
  static void test_##name(void **state) {    \
    (void)state;                             \
    if (!(possible)) skip();                 \
    assert_int_equal(run_scenario(name), 0); \
  }
FORKS(FORK_TEST)

#define FORK_ENTRY(name, possible) cmocka_unit_test(test_##name),

int main(void) {
  const struct CMUnitTest tests[] = {FORKS(FORK_ENTRY)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
