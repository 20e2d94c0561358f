/* SPDX-License-Identifier: Apache-2.0 */
/* fork() while other threads are inside the library: the child works on its own. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const fake_function table[] = {
    {.name = "kernel", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
};

static tj_function *fn;
static atomic_int failed, stop;

static int setup(void **state) {
  (void)state;
  tj_null_reset();
  fake_install(table, COUNT(table));
  fn = open_function("kernel");
  atomic_store(&failed, 0);
  atomic_store(&stop, 0);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fake_remove();
  return 0;
}

static tj_status call_number(int64_t number) {
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg args[] = {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_INT, .v.i = number}};
  return tj_function_call(fn, &launch, args, 2);
}

/* Runs `body` in a child; it must end with 0, and soon. */
static void in_child(int (*body)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(60); /* a child that hangs is a failure */
    _exit(body());
  }
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
    fail_msg("the child ended with %x", (unsigned)result);
}

/* ---- another thread compiles ---------------------------------------------------------------------- */

static atomic_int held, let_go;
static pid_t parent;

static void hold_in_parent(void *user, const cJSON *request) {
  (void)user, (void)request;
  if (getpid() != parent) return;
  atomic_store(&held, 1);
  while (!atomic_load(&let_go)) test_pause();
}

static void *call_one(void *user) {
  if (call_number((int64_t)(uintptr_t)user) != TJ_OK) atomic_fetch_add(&failed, 1);
  return NULL;
}

/* The variant under way in the parent, a new one, an old one; statistics, options. */
static int child_compiles_it_itself(void) {
  uint64_t before = fake_compiles();
  if (call_number(1) != TJ_OK) return 1;
  if (fake_compiles() != before + 1) return 2;
  if (call_number(2) != TJ_OK) return 3;
  if (call_number(0) != TJ_OK) return 4;
  if (fake_compiles() != before + 2) return 5;
  tj_stats stats = TJ_STATS_INIT;
  if (tj_function_get_stats(fn, &stats) != TJ_OK || stats.variants != 3) return 6;
  uint32_t id = 0;
  const tj_option option = {"child", tj_int(1)};
  if (tj_options_intern(&option, 1, &id) != TJ_OK) return 7;
  return tj_trim() == TJ_OK && call_number(1) == TJ_OK ? 0 : 8;
}

static void test_while_another_thread_compiles(void **state) {
  (void)state;
  parent = getpid();
  atomic_store(&held, 0);
  atomic_store(&let_go, 0);
  assert_status(call_number(0), TJ_OK);
  fake_callbacks callbacks = {.compile = hold_in_parent};
  fake_set_callbacks(&callbacks);
  pthread_t compiling, waiting;
  assert_int_equal(pthread_create(&compiling, NULL, call_one, address_of(1)), 0);
  wait_until(atomic_load(&held));
  uint64_t misses = stats_of(fn).misses;
  assert_int_equal(pthread_create(&waiting, NULL, call_one, address_of(1)), 0);
  wait_until(stats_of(fn).misses > misses); /* it has joined */
  in_child(child_compiles_it_itself);
  in_child(child_compiles_it_itself);
  atomic_store(&let_go, 1);
  pthread_join(compiling, NULL);
  pthread_join(waiting, NULL);
  assert_int_equal(atomic_load(&failed), 0);
  assert_int_equal(fake_compiles(), 2); /* the children's are theirs */
}

/* ---- another thread loads ------------------------------------------------------------------------- */

static int child_loads_it_itself(void) {
  tj_null_delay_load(0);
  return call_number(3) == TJ_OK && call_number(4) == TJ_OK ? 0 : 1;
}

static void test_while_another_thread_loads(void **state) {
  (void)state;
  tj_null_delay_load(300);
  pthread_t loading;
  assert_int_equal(pthread_create(&loading, NULL, call_one, address_of(3)), 0);
  wait_until(tj_null_loads() == 1); /* counted when it begins */
  in_child(child_loads_it_itself);
  pthread_join(loading, NULL);
  assert_int_equal(atomic_load(&failed), 0);
}

/* ---- asynchronous prepares ------------------------------------------------------------------------- */

static atomic_int told;
static void on_prepared(void *user, tj_status status, tj_kernel *kernel, const char *message) {
  (void)user, (void)kernel, (void)message;
  if (status != TJ_OK) atomic_fetch_add(&failed, 1);
  atomic_fetch_add(&told, 1);
}

static int child_prepares(void) {
  int before = atomic_load(&told);
  fake_delay(0);
  tj_launch launch = one_program();
  tj_arg args[] = {tj_int(5), tj_int(17)};
  if (tj_function_prepare_async(fn, &launch, args, 2, on_prepared, NULL) != TJ_OK) return 1;
  for (int i = 0; i < 300000 && atomic_load(&told) == before; i++) test_pause();
  /* Its own, and none of the parent's. */
  if (atomic_load(&told) != before + 1) return 2;
  return call_number(10) == TJ_OK ? 0 : 3;
}

static void test_while_prepares_are_queued(void **state) {
  (void)state;
  if (TEST_THREAD_SANITIZER) skip(); /* it cannot follow threads that a forked child starts */
  tj_launch launch = one_program();
  fake_delay(100);
  atomic_store(&told, 0);
  for (int64_t i = 10; i < 16; i++)
    assert_status(
        tj_function_prepare_async(fn, &launch, ARGS(tj_int(5), tj_int(i)), on_prepared, NULL),
        TJ_OK);
  wait_until(fake_busy() == 2); /* both threads are there */
  in_child(child_prepares);
  wait_until(atomic_load(&told) == 6);
  assert_int_equal(atomic_load(&failed), 0);
}

/* ---- everything at once ----------------------------------------------------------------------------- */

static int child_calls(void) {
  for (int64_t i = 0; i < 50; i++)
    if (call_number(6000 + i) != TJ_OK || call_number(i) != TJ_OK) return 1;
  return 0;
}

/* Hits only: the fake and the null backend have locks of their own, which a fork does not
   renew. Statistics take the library's, which it does. */
static void *call_hits_for_ever(void *user) {
  (void)user;
  while (!atomic_load(&stop))
    for (int64_t i = 0; i < 64; i++)
      if (call_number(i) != TJ_OK || tj_stats_get(&(tj_stats)TJ_STATS_INIT) != TJ_OK)
        atomic_fetch_add(&failed, 1);
  return NULL;
}

static void test_many_forks(void **state) {
  (void)state;
  for (int64_t i = 0; i < 64; i++) assert_status(call_number(i), TJ_OK);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_hits_for_ever, NULL), 0);
  for (int i = 0; i < 20; i++) in_child(child_calls);
  atomic_store(&stop, 1);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&failed), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_while_another_thread_compiles, setup, teardown),
      cmocka_unit_test_setup_teardown(test_while_another_thread_loads, setup, teardown),
      cmocka_unit_test_setup_teardown(test_while_prepares_are_queued, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many_forks, setup, teardown),
  };
  return cmocka_run_group_tests_name("cache.fork", tests, NULL, NULL);
}
