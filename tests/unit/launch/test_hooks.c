/* SPDX-License-Identifier: Apache-2.0 */
/* The host's hooks: which, when, in which order, with what. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static const fake_function table[] = {
    {.name = "kernel", .params = FAKE_PARAM("x") FAKE_NEXT FAKE_CONSTEXPR("B")},
    {.name = "other", .params = FAKE_PARAM("x")},
};

/* What was seen: one letter a hook. */
static struct {
  char letters[64];
  size_t n;
  tj_event last[5]; /* enter, exit, compile, load, unload */
  char variant[5][64];
} seen;

static int setup(void **state) {
  (void)state;
  tj_null_reset();
  fake_install(table, COUNT(table));
  memset(&seen, 0, sizeof seen);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  assert_status(tj_set_hooks(NULL), TJ_OK);
  (void)tj_trim();
  fake_remove();
  return 0;
}

static void note(char letter, int index, const tj_event *event) {
  assert_int_equal(event->struct_size, sizeof *event);
  if (seen.n + 1 < sizeof seen.letters) seen.letters[seen.n++] = letter;
  seen.letters[seen.n] = 0;
  seen.last[index] = *event;
  (void)snprintf(seen.variant[index], 64, "%s", event->variant ? event->variant : "");
}

static void on_enter(void *user, const tj_event *event) { (void)user, note('e', 0, event); }
static void on_exit_(void *user, const tj_event *event) { (void)user, note('x', 1, event); }
static void on_compile(void *user, const tj_event *event) { (void)user, note('c', 2, event); }
static void on_load(void *user, const tj_event *event) { (void)user, note('l', 3, event); }
static void on_unload(void *user, const tj_event *event) { (void)user, note('u', 4, event); }

static void set_all(void) {
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.enter = on_enter;
  hooks.exit = on_exit_;
  hooks.compile = on_compile;
  hooks.load = on_load;
  hooks.unload = on_unload;
  assert_status(tj_set_hooks(&hooks), TJ_OK);
}

static void assert_seen(const char *letters) {
  assert_string_equal(seen.letters, letters);
  seen.n = 0;
  seen.letters[0] = 0;
}

static void test_order_and_content(void **state) {
  (void)state;
  set_all();
  tj_function *fn = open_function("kernel");
  tj_launch launch = tj_launch_grid(3, 2, 1);
  launch.device = 1;
  launch.stream = address_of(0x77);
  tj_null_delay_load(2);
  assert_status(tj_function_call(fn, &launch, ARGS(tj_int(2), tj_int(64))), TJ_OK);
  assert_seen("clex");
  for (int i = 0; i < 4; i++) {
    assert_ptr_equal(seen.last[i].function, fn);
    assert_string_equal(seen.last[i].name, "kernel");
    assert_int_equal(seen.last[i].status, TJ_OK);
    assert_int_equal(seen.last[i].device, 1);
    assert_ptr_equal(seen.last[i].kernel, seen.last[0].kernel);
  }
  assert_non_null(seen.last[0].kernel);
  assert_null(seen.last[0].variant);
  assert_null(seen.last[1].variant);
  assert_string_equal(seen.variant[2], "x=i32 B=64");
  assert_string_equal(seen.variant[3], "x=i32 B=64");
  assert_int_equal(seen.last[0].nanoseconds, 0);
  assert_true(seen.last[2].nanoseconds > 0);
  assert_true(seen.last[3].nanoseconds >= 2000000);
  for (int i = 0; i < 2; i++) {
    assert_ptr_equal(seen.last[i].stream, address_of(0x77));
    assert_int_equal(seen.last[i].grid[0], 3);
    assert_int_equal(seen.last[i].grid[1], 2);
    assert_int_equal(seen.last[i].grid[2], 1);
  }
  tj_kernel_info info = {.struct_size = sizeof info};
  assert_status(tj_kernel_get_info(seen.last[0].kernel, &info), TJ_OK);
  assert_string_equal(info.variant, "x=i32 B=64");

  /* A hit; an empty grid; a launch by kernel; another device; a trim. */
  assert_status(tj_function_call(fn, &launch, ARGS(tj_int(2), tj_int(64))), TJ_OK);
  assert_seen("ex");
  launch.grid[1] = 0;
  assert_status(tj_function_call(fn, &launch, ARGS(tj_int(2), tj_int(64))), TJ_OK);
  assert_seen("");
  launch = tj_launch_grid(1, 1, 1);
  assert_status(tj_kernel_launch(seen.last[0].kernel, &launch, ARGS(tj_int(2), tj_int(64))), TJ_OK);
  assert_seen("lex");
  assert_status(tj_trim(), TJ_OK);
  assert_seen("u");
  assert_ptr_equal(seen.last[4].kernel, seen.last[0].kernel);
  assert_status(tj_kernel_launch(seen.last[0].kernel, &launch, ARGS(tj_int(2), tj_int(64))), TJ_OK);
  assert_seen("lex");
}

static void test_failures(void **state) {
  (void)state;
  set_all();
  tj_function *fn = open_function("kernel");
  fake_fail("compile", "E_COMPILE", "no", 1);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(1))), TJ_E_COMPILE);
  assert_seen("c");
  assert_int_equal(seen.last[2].status, TJ_E_COMPILE);
  assert_null(seen.last[2].kernel);
  assert_string_equal(seen.variant[2], "x=i32 B=1"); /* which one, is known all the same */
  tj_null_fail_load(TJ_E_LOAD, 1);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(2))), TJ_E_LOAD);
  assert_seen("cl");
  assert_int_equal(seen.last[3].status, TJ_E_LOAD);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(2))), TJ_OK);
  assert_contains(seen.letters, "lex");
  assert_seen(seen.letters);
  tj_null_fail_launch(TJ_E_LAUNCH, 1);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(2))), TJ_E_LAUNCH);
  assert_seen("ex");
  assert_int_equal(seen.last[1].status, TJ_E_LAUNCH);
  /* Argument errors reach no hook. */
  assert_status(call(fn, NULL, 0), TJ_E_TOO_FEW_ARGUMENTS);
  assert_seen("");
}

/* A handle that a hook was given stays good, also if the load then fails. */
static void test_handles_of_failed_loads_stay(void **state) {
  (void)state;
  set_all();
  tj_function *fn = open_function("kernel");
  static const tj_status statuses[] = {TJ_E_LOAD, TJ_E_OUT_OF_RESOURCES};
  for (size_t i = 0; i < COUNT(statuses); i++) {
    tj_null_fail_load(statuses[i], 1);
    assert_status(call(fn, ARGS(tj_int(2), tj_int(100 + (int64_t)i))), statuses[i]);
    tj_kernel_info info = {.struct_size = sizeof info};
    assert_non_null(seen.last[2].kernel);
    assert_status(tj_kernel_get_info(seen.last[2].kernel, &info), TJ_OK);
    assert_string_equal(info.types, "i32");
    assert_status(tj_kernel_get_info(seen.last[3].kernel, &info), TJ_OK);
  }
}

static void test_each_alone(void **state) {
  (void)state;
  tj_hooks hooks = TJ_HOOKS_INIT;
  tj_hook_fn *const places[] = {&hooks.enter, &hooks.exit, &hooks.compile, &hooks.load,
                                &hooks.unload};
  const tj_hook_fn fns[] = {on_enter, on_exit_, on_compile, on_load, on_unload};
  static const char *const letters[] = {"e", "x", "c", "l", "u"};
  tj_function *fn = open_function("kernel");
  for (int i = 0; i < 5; i++) {
    *places[i] = fns[i];
    assert_status(tj_set_hooks(&hooks), TJ_OK);
    assert_status(call(fn, ARGS(tj_int(2), tj_int(200 + i))), TJ_OK);
    assert_status(tj_trim(), TJ_OK);
    if (i == 4)
      assert_contains(seen.letters, "u");
    else
      assert_string_equal(seen.letters, letters[i]);
    seen.n = 0;
    *places[i] = NULL;
  }
  tj_hooks none = TJ_HOOKS_INIT;
  assert_status(tj_set_hooks(&none), TJ_OK);
  seen.letters[0] = 0;
  assert_status(call(fn, ARGS(tj_int(2), tj_int(300))), TJ_OK);
  assert_seen("");
}

/* The struct is copied; a wrong size is refused and changes nothing. */
static void test_set(void **state) {
  (void)state;
  set_all();
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.struct_size = sizeof hooks - 1;
  assert_fails(tj_set_hooks(&hooks), TJ_E_STRUCT_SIZE, "tj_hooks.struct_size");
  tj_function *fn = open_function("other");
  assert_status(call(fn, ARGS(tj_int(2))), TJ_OK);
  assert_seen("clex");
  assert_status(tj_set_hooks(NULL), TJ_OK);
  assert_status(call(fn, ARGS(tj_int(2))), TJ_OK);
  assert_seen("");
}

static atomic_ullong entered, left;
static void count_enter(void *user, const tj_event *event) {
  (void)event;
  atomic_fetch_add((atomic_ullong *)user, 1);
}
static void count_exit(void *user, const tj_event *event) {
  (void)user, (void)event;
  atomic_fetch_add(&left, 1);
}

/* 10,000 launches are 10,000 callbacks, from several threads too. */
static void *launch_many(void *user) {
  tj_function *fn = user;
  tj_launch launch = TJ_LAUNCH_INIT;
  tj_arg arg = tj_int(2);
  uintptr_t failed = 0;
  for (int i = 0; i < 2500; i++) failed += tj_function_call(fn, &launch, &arg, 1) != TJ_OK;
  return address_of(failed);
}

static void test_every_launch_is_told(void **state) {
  (void)state;
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.user = &entered;
  hooks.enter = count_enter;
  hooks.exit = count_exit;
  atomic_store(&entered, 0);
  atomic_store(&left, 0);
  tj_function *fn = open_function("other");
  assert_status(tj_set_hooks(&hooks), TJ_OK);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_many, fn), 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(atomic_load(&entered), 10000);
  assert_int_equal(atomic_load(&left), 10000);
}

/* Set and cleared by another thread under way: every launch sees a whole set or none. */
static atomic_int stop;
static void *toggle(void *user) {
  (void)user;
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.user = &entered;
  hooks.enter = count_enter;
  hooks.exit = count_exit;
  uintptr_t failed = 0;
  while (!atomic_load(&stop)) {
    failed += tj_set_hooks(&hooks) != TJ_OK;
    failed += tj_set_hooks(NULL) != TJ_OK;
  }
  return address_of(failed);
}

static void test_set_and_cleared_elsewhere(void **state) {
  (void)state;
  tj_function *fn = open_function("other");
  assert_status(call(fn, ARGS(tj_int(2))), TJ_OK);
  atomic_store(&stop, 0);
  atomic_store(&entered, 0);
  atomic_store(&left, 0);
  pthread_t thread;
  void *failed;
  assert_int_equal(pthread_create(&thread, NULL, toggle, NULL), 0);
  for (int i = 0; i < 20000; i++) assert_status(call(fn, ARGS(tj_int(2))), TJ_OK);
  atomic_store(&stop, 1);
  pthread_join(thread, &failed);
  assert_null(failed);
  assert_int_equal(atomic_load(&entered), atomic_load(&left));
}

/* A hook that launches is told of that launch too; it guards itself. */
static int depth;
static void launch_again(void *user, const tj_event *event) {
  (void)event;
  if (depth >= 3) return;
  depth++;
  assert_status(call(user, ARGS(tj_int(2), tj_int(400 + depth))), TJ_OK);
  depth--;
  atomic_fetch_add(&entered, 1);
}

static void test_hooks_may_launch(void **state) {
  (void)state;
  tj_function *fn = open_function("kernel");
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.user = fn;
  hooks.enter = hooks.exit = hooks.compile = hooks.load = launch_again;
  atomic_store(&entered, 0);
  assert_status(tj_set_hooks(&hooks), TJ_OK);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(400))), TJ_OK);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(400))), TJ_OK);
  assert_true(atomic_load(&entered) > 4);
  assert_int_equal(depth, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_order_and_content, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
      cmocka_unit_test_setup_teardown(test_handles_of_failed_loads_stay, setup, teardown),
      cmocka_unit_test_setup_teardown(test_each_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_set, setup, teardown),
      cmocka_unit_test_setup_teardown(test_every_launch_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(test_set_and_cleared_elsewhere, setup, teardown),
      cmocka_unit_test_setup_teardown(test_hooks_may_launch, setup, teardown),
  };
  return cmocka_run_group_tests_name("launch.hooks", tests, NULL, NULL);
}
