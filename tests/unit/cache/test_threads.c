/* SPDX-License-Identifier: Apache-2.0 */
/* One compile a variant, whoever asks; nothing is seen before it is whole (R074, R076). */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const fake_function table[] = {
    {.name = "many", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
    {.name = "rounds", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
    {.name = "growing", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
    {.name = "failing", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
    {.name = "counted", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
    {.name = "devices", .params = FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")},
};

static int setup(void **state) {
  (void)state;
  tj_null_reset();
  fake_install(table, COUNT(table));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  (void)tj_set_hooks(NULL);
  fake_remove();
  return 0;
}

/* Asserting in another thread than the test's is not possible: workers count what failed. */
static atomic_int failed;
static pthread_barrier_t barrier;
static tj_function *fn;

static tj_status call_number(int64_t number) {
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg args[] = {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_INT, .v.i = number}};
  return tj_function_call(fn, &launch, args, 2);
}

static void run_threads(int n, void *(*body)(void *), void *user) {
  pthread_t threads[64];
  assert_true(n <= 64);
  atomic_store(&failed, 0);
  assert_int_equal(pthread_barrier_init(&barrier, NULL, (unsigned)n), 0);
  for (int i = 0; i < n; i++)
    assert_int_equal(
        pthread_create(&threads[i], NULL, body, user ? user : address_of((uintptr_t)i)), 0);
  for (int i = 0; i < n; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  pthread_barrier_destroy(&barrier);
  assert_int_equal(atomic_load(&failed), 0);
}

/* ---- 64 threads, 20 variants --------------------------------------------------------------------- */

static void *call_all_variants(void *user) {
  int64_t first = (int64_t)(uintptr_t)user;
  pthread_barrier_wait(&barrier);
  for (int64_t i = 0; i < 20; i++)
    if (call_number((first + i) % 20) != TJ_OK) atomic_fetch_add(&failed, 1);
  return NULL;
}

static void test_64_threads_20_variants_R076(void **state) {
  (void)state;
  fn = open_function("many");
  fake_delay(2);
  tj_stats before = stats_of(fn);
  run_threads(64, call_all_variants, NULL);
  tj_stats after = stats_of(fn);
  assert_int_equal(fake_compiles(), 20);
  assert_int_equal(tj_null_loads(), 20);
  assert_int_equal(after.compiles - before.compiles, 20);
  assert_int_equal(after.loads - before.loads, 20);
  assert_int_equal(after.variants - before.variants, 20);
  assert_int_equal(after.launches - before.launches, 64 * 20);
  /* Every call was one or the other. */
  assert_int_equal(after.hits - before.hits + after.misses - before.misses, 64 * 20);
  assert_true(after.misses - before.misses >= 20);
  assert_true(after.compile_ns > before.compile_ns);
  assert_int_equal(after.failures, before.failures);
}

/* ---- nothing half-made is seen -------------------------------------------------------------------- */

static atomic_int round_number, rounds_done;

/* Asks and launches as soon as it can. */
static void *chase_rounds(void *user) {
  (void)user;
  tj_launch launch = TJ_LAUNCH_INIT;
  while (!atomic_load(&rounds_done)) {
    int64_t number = atomic_load(&round_number);
    tj_arg args[] = {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_INT, .v.i = number}};
    int prepared = 0, after = 0;
    tj_status status = tj_function_is_prepared(fn, &launch, args, 2, &prepared);
    if (status == TJ_OK) status = call_number(number);
    if (status == TJ_OK) status = tj_function_is_prepared(fn, &launch, args, 2, &after);
    if (status != TJ_OK || !after) atomic_fetch_add(&failed, 1);
  }
  return NULL;
}

/* Each round a new variant, with a pause between its compile and its load; four threads
   call it at every moment of that. */
static void *lead_rounds(void *user) {
  (void)user;
  for (int i = 1; i <= 1000; i++) {
    atomic_store(&round_number, i);
    if (call_number(i) != TJ_OK) atomic_fetch_add(&failed, 1);
  }
  atomic_store(&rounds_done, 1);
  return NULL;
}

static void *round_body(void *user) {
  static atomic_int leaders;
  (void)user;
  int me = atomic_fetch_add(&leaders, 1);
  pthread_barrier_wait(&barrier);
  return me % 5 == 0 ? lead_rounds(NULL) : chase_rounds(NULL);
}

/* A hook that looks at the variant before it is loaded: nobody else must find it. */
static void look_before_load(void *user, const tj_event *event) {
  (void)user;
  if (event->status != TJ_OK) return;
  int prepared = 1;
  tj_launch launch = TJ_LAUNCH_INIT;
  const char *text = strstr(event->variant, " B=");
  int64_t number = text ? strtoll(text + 3, NULL, 10) : -1;
  tj_arg args[] = {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_INT, .v.i = number}};
  if (tj_function_is_prepared(event->function, &launch, args, 2, &prepared) != TJ_OK || prepared)
    atomic_fetch_add(&failed, 1);
  sched_yield();
}

static void test_1000_rounds(void **state) {
  (void)state;
  fn = open_function("rounds");
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.compile = look_before_load;
  assert_status(tj_set_hooks(&hooks), TJ_OK);
  atomic_store(&rounds_done, 0);
  atomic_store(&round_number, 1);
  tj_null_delay_load(1);
  run_threads(5, round_body, NULL);
  assert_int_equal(fake_compiles(), 1000);
  assert_int_equal(tj_null_loads(), 1000);
  assert_int_equal(stats_of(fn).variants, 1000);
  assert_int_equal(stats_of(fn).failures, 0);
}

/* ---- hits go on ------------------------------------------------------------------------------------ */

static atomic_int growing_done, compiler_held, compiler_let_go;

static void hold_compiler(void *user, const cJSON *request) {
  (void)user;
  char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(request, "args"));
  bool this_one = text && strstr(text, "\"777777\"");
  cJSON_free(text);
  if (!this_one) return;
  atomic_store(&compiler_held, 1);
  while (!atomic_load(&compiler_let_go)) test_pause();
}

static void *call_cold(void *user) {
  (void)user;
  if (call_number(777777) != TJ_OK) atomic_fetch_add(&failed, 1);
  return NULL;
}

static void *call_new_ones(void *user) {
  (void)user;
  for (int64_t i = 1; i <= 3000; i++)
    if (call_number(i) != TJ_OK) atomic_fetch_add(&failed, 1);
  atomic_store(&growing_done, 1);
  return NULL;
}

/* While one compile hangs and the table grows from 8 slots to 8192, hits and other misses
   make progress. */
static void test_hits_go_on_R076(void **state) {
  (void)state;
  fn = open_function("growing");
  assert_status(call_number(0), TJ_OK);
  atomic_store(&failed, 0);
  atomic_store(&growing_done, 0);
  atomic_store(&compiler_held, 0);
  atomic_store(&compiler_let_go, 0);
  fake_callbacks callbacks = {.compile = hold_compiler};
  fake_set_callbacks(&callbacks);
  pthread_t cold, grower;
  assert_int_equal(pthread_create(&cold, NULL, call_cold, NULL), 0);
  wait_until(atomic_load(&compiler_held));
  tj_stats before = stats_of(fn);
  for (int i = 0; i < 10000; i++) assert_status(call_number(0), TJ_OK); /* none of them waits */
  assert_int_equal(stats_of(fn).hits, before.hits + 10000);
  assert_int_equal(pthread_create(&grower, NULL, call_new_ones, NULL), 0);
  uint64_t hits = 0;
  while (!atomic_load(&growing_done) || hits < 1000) {
    assert_status(call_number(0), TJ_OK);
    hits++;
  }
  pthread_join(grower, NULL);
  assert_int_equal(stats_of(fn).variants, 3001);
  assert_int_equal(atomic_load(&compiler_held), 1);
  atomic_store(&compiler_let_go, 1);
  pthread_join(cold, NULL);
  assert_int_equal(atomic_load(&failed), 0);
  for (int64_t i = 0; i <= 3000; i++) assert_status(call_number(i), TJ_OK);
  assert_int_equal(fake_compiles(), 3002);
}

/* ---- failures --------------------------------------------------------------------------------------- */

static tj_status expected_failure;
static int64_t failing_number;

static void *expect_failure(void *user) {
  (void)user;
  pthread_barrier_wait(&barrier);
  if (call_number(failing_number) != expected_failure || strcmp(tj_last_error(), "the reason") != 0)
    atomic_fetch_add(&failed, 1);
  return NULL;
}

/* R076: a failure reaches every thread that waits, with its message; what may pass is tried
   again, what would come out the same is answered at once. */
static void test_failures_reach_every_waiter(void **state) {
  (void)state;
  fn = open_function("failing");
  static const struct {
    const char *name;
    tj_status status;
    bool lasting;
  } rows[] = {
      {"E_COMPILE", TJ_E_COMPILE, true},
      {"E_UNKNOWN_OPTION", TJ_E_UNKNOWN_OPTION, true},
      {"E_OPTION_VALUE", TJ_E_OPTION_VALUE, true},
      {"E_UNSUPPORTED_ARGUMENT", TJ_E_UNSUPPORTED_ARGUMENT, true},
      {"E_OUT_OF_RESOURCES", TJ_E_OUT_OF_RESOURCES, true},
      {"E_IO", TJ_E_IO, false},
      {"E_OUT_OF_MEMORY", TJ_E_OUT_OF_MEMORY, false},
      {"E_NO_C_COMPILER", TJ_E_NO_C_COMPILER, false},
      {"E_COMPILER_DIED", TJ_E_COMPILER_DIED, false},
      {"E_INTERNAL", TJ_E_INTERNAL, false},
      {"E_NO_XDSL", TJ_E_NO_XDSL, false},
      {"E_SOMETHING_NEW", TJ_E_INTERNAL, false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    expected_failure = rows[i].status;
    failing_number = (int64_t)i;
    fake_delay(10);
    fake_fail("compile", rows[i].name, "the reason", UINT32_MAX);
    uint64_t requests = fake_requests();
    run_threads(16, expect_failure, NULL);
    uint64_t asked = fake_requests() - requests;
    assert_true(asked >= 1 && asked <= 16);
    if (rows[i].lasting) assert_int_equal(asked, 1);
    fake_fail("compile", rows[i].name, "the reason", 0);
    fake_delay(0);
    requests = fake_requests();
    if (rows[i].lasting) {
      assert_fails(call_number(failing_number), rows[i].status, "the reason");
      assert_int_equal(fake_requests(), requests);
      int prepared = 1;
      tj_launch launch = one_program();
      assert_status(
          tj_function_is_prepared(fn, &launch, ARGS(tj_int(5), tj_int((int64_t)i)), &prepared),
          TJ_OK);
      assert_int_equal(prepared, 0);
    } else {
      assert_status(call_number(failing_number), TJ_OK);
      assert_int_equal(fake_requests(), requests + 1);
    }
  }
}

/* A compiler that gives no reply at all. */
static void test_dead_compiler_is_tried_again(void **state) {
  (void)state;
  fn = open_function("failing");
  fake_die(TJ_E_COMPILER_DIED, 2);
  assert_fails(call_number(100), TJ_E_COMPILER_DIED, "told to die");
  assert_fails(call_number(100), TJ_E_COMPILER_DIED, "told to die");
  assert_status(call_number(100), TJ_OK);
}

/* ---- recursion ---------------------------------------------------------------------------------------- */

static atomic_int recursion_status;

static void call_same(void *user, const cJSON *request) {
  (void)user, (void)request;
  atomic_store(&recursion_status, call_number(200));
}

static void test_recursion(void **state) {
  (void)state;
  fn = open_function("failing");
  fake_callbacks callbacks = {.compile = call_same};
  fake_set_callbacks(&callbacks);
  assert_status(call_number(200), TJ_OK); /* the compile itself goes on */
  assert_int_equal(atomic_load(&recursion_status), TJ_E_RECURSION);
  assert_message("'failing'");
  assert_message("hook");
}

/* Two threads, each compiling what the other's compile needs. */
static atomic_int both, recursions;
static _Thread_local int64_t mine, theirs;

static void call_theirs(void *user, const cJSON *request) {
  (void)user, (void)request;
  if (theirs == 0) return;
  int64_t other = theirs;
  theirs = 0;
  /* Both are under way before either asks for the other. */
  atomic_fetch_add(&both, 1);
  while (atomic_load(&both) % 2) sched_yield();
  tj_status status = call_number(other);
  if (status == TJ_E_RECURSION)
    atomic_fetch_add(&recursions, 1);
  else if (status != TJ_OK)
    atomic_fetch_add(&failed, 1);
}

static void *cross(void *user) {
  int64_t me = (int64_t)(uintptr_t)user;
  for (int64_t round = 0; round < 300; round++) {
    pthread_barrier_wait(&barrier);
    mine = 1000 + 2 * round + me;
    theirs = 1000 + 2 * round + (1 - me);
    if (call_number(mine) != TJ_OK) atomic_fetch_add(&failed, 1);
  }
  return NULL;
}

static void test_recursion_through_two_threads(void **state) {
  (void)state;
  fn = open_function("failing");
  fake_callbacks callbacks = {.compile = call_theirs};
  fake_set_callbacks(&callbacks);
  atomic_store(&both, 0);
  atomic_store(&recursions, 0);
  run_threads(2, cross, NULL);
  /* Each round one of them, and sometimes only one, is told. */
  assert_true(atomic_load(&recursions) >= 300 && atomic_load(&recursions) <= 600);
}

/* ---- counts ------------------------------------------------------------------------------------------- */

static void *call_hot(void *user) {
  (void)user;
  for (int i = 0; i < 500; i++)
    if (call_number(i % 3) != TJ_OK) atomic_fetch_add(&failed, 1);
  return NULL;
}

/* What a thread counted stays when it ends. */
static void test_ended_threads_are_counted(void **state) {
  (void)state;
  fn = open_function("counted");
  tj_stats process = stats_of_process();
  for (int64_t i = 0; i < 3; i++) assert_status(call_number(i), TJ_OK);
  for (int round = 0; round < 5; round++) run_threads(8, call_hot, &barrier);
  tj_stats own = stats_of(fn), now = stats_of_process();
  assert_int_equal(own.launches, 3 + 5 * 8 * 500);
  assert_int_equal(own.hits, 5 * 8 * 500);
  assert_int_equal(own.misses, 3);
  assert_int_equal(now.launches - process.launches, own.launches);
  assert_int_equal(now.hits - process.hits, own.hits);
  assert_int_equal(now.misses - process.misses, 3);
  assert_int_equal(now.compiles - process.compiles, 3);
  assert_int_equal(now.loads - process.loads, 3);
}

/* Statistics are read while threads come, count and go. */
static void *read_stats(void *user) {
  (void)user;
  uint64_t last = 0;
  for (int i = 0; i < 300; i++) {
    tj_stats stats = TJ_STATS_INIT;
    if (tj_function_get_stats(fn, &stats) != TJ_OK || stats.launches < last)
      atomic_fetch_add(&failed, 1);
    last = stats.launches;
  }
  return NULL;
}

static void test_stats_never_go_back(void **state) {
  (void)state;
  fn = open_function("counted");
  pthread_t reader;
  atomic_store(&failed, 0);
  assert_int_equal(pthread_create(&reader, NULL, read_stats, NULL), 0);
  for (int round = 0; round < 10; round++) run_threads(4, call_hot, &barrier);
  pthread_join(reader, NULL);
  assert_int_equal(atomic_load(&failed), 0);
}

/* ---- devices -------------------------------------------------------------------------------------------- */

static void *call_on_devices(void *user) {
  int start = (int)(uintptr_t)user;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 40; i++) {
    tj_launch launch = TJ_LAUNCH_INIT;
    launch.device = (start + i) & 1;
    tj_arg args[] = {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_INT, .v.i = i / 2 % 5}};
    if (tj_function_call(fn, &launch, args, 2) != TJ_OK) atomic_fetch_add(&failed, 1);
  }
  return NULL;
}

/* R075: loads are one at a time a device, and once each, whoever asks. */
static void test_loads_once_a_device_R075(void **state) {
  (void)state;
  fn = open_function("devices");
  tj_null_delay_load(1);
  run_threads(32, call_on_devices, NULL);
  assert_int_equal(fake_compiles(), 5);
  assert_int_equal(tj_null_loads(), 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_64_threads_20_variants_R076, setup, teardown),
      cmocka_unit_test_setup_teardown(test_1000_rounds, setup, teardown),
      cmocka_unit_test_setup_teardown(test_hits_go_on_R076, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failures_reach_every_waiter, setup, teardown),
      cmocka_unit_test_setup_teardown(test_dead_compiler_is_tried_again, setup, teardown),
      cmocka_unit_test_setup_teardown(test_recursion, setup, teardown),
      cmocka_unit_test_setup_teardown(test_recursion_through_two_threads, setup, teardown),
      cmocka_unit_test_setup_teardown(test_ended_threads_are_counted, setup, teardown),
      cmocka_unit_test_setup_teardown(test_stats_never_go_back, setup, teardown),
      cmocka_unit_test_setup_teardown(test_loads_once_a_device_R075, setup, teardown),
  };
  return cmocka_run_group_tests_name("cache.threads", tests, NULL, NULL);
}
