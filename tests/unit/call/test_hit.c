/* SPDX-License-Identifier: Apache-2.0 */
/* A hit allocates, locks, formats and asks nothing; and what happens without memory. */
#include "unit.h"

#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/compiler.h"
#include "watch.h"

static const fake_function table[] = {
    {.name = "mix",
     .params = FAKE_PARAM("x") FAKE_NEXT FAKE_PARAM("n") FAKE_NEXT FAKE_CONSTEXPR("B")
         FAKE_NEXT FAKE_DEFAULT("f", "{'float':'0x1p+0'}")},
    {.name = "typed",
     .params = FAKE_TYPED("x", "*fp32") FAKE_NEXT FAKE_TYPED("n", "i64")
         FAKE_NEXT FAKE_TYPED("f", "fp16") FAKE_NEXT FAKE_TYPED("b", "u1")},
    {.name = "two", .params = FAKE_PARAM("x") FAKE_NEXT FAKE_CONSTEXPR("S")},
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

static tj_status small_grid(const tj_bound *bound, uint32_t grid[3], void *user) {
  int64_t n = 0;
  tj_status status = tj_bound_int(bound, *(uint32_t *)user, &n);
  grid[0] = (uint32_t)n;
  return status;
}

static void assert_quiet_hits(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                              size_t n) {
  for (int i = 0; i < 3; i++) /* the first compiles; a large one grows its scratch by steps */
    assert_status(tj_function_call(fn, launch, args, n), TJ_OK);
  watch_begin();
  tj_status status = TJ_OK;
  for (int i = 0; i < 100; i++) status |= tj_function_call(fn, launch, args, n);
  watch_counts counts = watch_end();
  assert_int_equal(status, TJ_OK);
  assert_int_equal(counts.allocations, 0);
  assert_int_equal(counts.frees, 0);
  assert_int_equal(counts.locks, 0);
  assert_int_equal(counts.formats, 0);
  assert_int_equal(counts.others, 0);
}

static _Alignas(16) char text[10240];

static void test_hits_are_quiet(void **state) {
  (void)state;
  tj_function *mix = open_function("mix"), *typed = open_function("typed"),
              *two = open_function("two");
  tj_launch launch = one_program();
  memset(text, 'x', sizeof text);
  tj_arg b = tj_int(64), items[300];
  for (size_t i = 0; i < COUNT(items); i++) items[i] = tj_int((int64_t)i);
  assert_quiet_hits(mix, &launch, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(5), tj_int(64)));
  assert_quiet_hits(mix, &launch, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(1), tj_int(64), tj_f64(1)));
  assert_quiet_hits(mix, &launch, ARGS(tj_none(), tj_bool(1), tj_string("relu", 4)));
  assert_quiet_hits(mix, &launch, ARGS(tj_tuple(items, 20), tj_uint(UINT64_MAX), tj_none()));
  assert_quiet_hits(mix, &launch, ARGS(tj_fn(two), tj_int(5), tj_fn(typed)));
  assert_quiet_hits(mix, &launch, ARGS(tj_int(2), tj_int(5), tj_keyword(2, &b)));
  assert_quiet_hits(typed, &launch, ARGS(tj_none(), tj_int(5), tj_float(1), tj_bool(1)));
  const int64_t shape[] = {2, 3, 4, 5, 16};
  const uint32_t block[] = {1, 1, 1, 1, 16};
  tj_tensor_desc desc = tj_tensor_desc_make(text, TJ_FP16, 5, shape, NULL, block);
  tj_arg d = tj_desc(&desc), descs[10] = {d, d, d, d, d, d, d, d, d, d};
  assert_quiet_hits(mix, &launch, ARGS(d, d, tj_int(64), tj_keyword(3, &d)));
  assert_quiet_hits(mix, &launch, ARGS(d, tj_tuple(descs, 2), tj_int(64)));
  /* Beyond the inline buffers too. */
  assert_quiet_hits(two, &launch, ARGS(tj_tuple(descs, 10), tj_int(64)));
  assert_quiet_hits(two, &launch, ARGS(tj_int(5), tj_string(text, sizeof text)));
  assert_quiet_hits(two, &launch, ARGS(tj_tuple(items, 300), tj_tuple(items, 300)));
  tj_arg s = tj_string(text, sizeof text);
  assert_quiet_hits(two, &launch, ARGS(tj_int(5), tj_keyword(1, &s)));
  /* With options, a grid callback, an empty grid, an explicit device. */
  uint32_t index = 1;
  launch.num_warps = 8;
  launch.device = 1;
  launch.grid_fn = small_grid;
  launch.grid_user = &index;
  assert_quiet_hits(mix, &launch, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(5), tj_int(64)));
  launch = tj_launch_grid(0, 1, 1);
  assert_quiet_hits(mix, &launch, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(5), tj_int(64)));
}

static void test_kernel_launches_are_quiet(void **state) {
  (void)state;
  tj_function *fn = open_function("mix");
  tj_launch launch = one_program();
  tj_kernel *kernel = prepare_kernel(fn, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(5), tj_int(64)));
  for (int flags = 0; flags < 2; flags++) {
    launch.flags = (uint32_t)flags;
    watch_begin();
    tj_status status = TJ_OK;
    for (int i = 0; i < 100; i++)
      status |=
          tj_kernel_launch(kernel, &launch, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(7), tj_int(64)));
    watch_counts counts = watch_end();
    assert_int_equal(status, TJ_OK);
    assert_int_equal(
        counts.allocations + counts.frees + counts.locks + counts.formats + counts.others, 0);
  }
}

/* Hooks that are set cost their clock, and no memory. */
static void ignore(void *user, const tj_event *event) { (void)user, (void)event; }
static void test_hooks_do_not_allocate(void **state) {
  (void)state;
  tj_function *fn = open_function("mix");
  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.enter = hooks.exit = ignore;
  assert_status(tj_set_hooks(&hooks), TJ_OK);
  assert_status(call(fn, ARGS(tj_int(2), tj_int(5), tj_int(64))), TJ_OK);
  watch_begin();
  tj_status status = TJ_OK;
  for (int i = 0; i < 100; i++) status |= call(fn, ARGS(tj_int(2), tj_int(5), tj_int(64)));
  watch_counts counts = watch_end();
  assert_int_equal(status, TJ_OK);
  assert_int_equal(counts.allocations + counts.locks + counts.formats, 0);
}

/* No system call at all: the kernel itself stops a child that makes one. */
static void test_no_system_calls(void **state) {
  (void)state;
  if (TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER) skip(); /* they make their own */
  tj_function *fn = open_function("mix");
  assert_status(call(fn, ARGS(tj_int(2), tj_int(5), tj_int(64))), TJ_OK);
  pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
    tj_status status = TJ_OK;
    for (int i = 0; i < 1000; i++) status |= call(fn, ARGS(tj_int(2), tj_int(5), tj_int(64)));
    (void)syscall(SYS_exit, status == TJ_OK ? 0 : 1);
  }
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  if (WIFEXITED(result) && WEXITSTATUS(result) == 77) skip(); /* not allowed here */
  assert_true(WIFEXITED(result));
  assert_int_equal(WEXITSTATUS(result), 0);
}

/* The fake compiler's own memory is not the library's. */
static tj_status handle_apart(const void *request, size_t size, void **out_reply,
                              size_t *out_size) {
  watch_pause(true);
  tj_status status = fake_compiler.handle(request, size, out_reply, out_size);
  watch_pause(false);
  return status;
}

static void *wrapped_malloc(size_t size) { return malloc(size); }
static void wrapped_free(void *memory) { free(memory); }

/* Calls `step` with every allocation failing in turn, until none is left to fail. It gets
   a new number each time, for a variant that is not there yet. */
static int fail_every_allocation(tj_status (*step)(int64_t number)) {
  static const tj_compiler apart = {"apart", handle_apart};
  static int64_t number;
  cJSON_Hooks hooks = {wrapped_malloc, wrapped_free};
  cJSON_InitHooks(&hooks);
  tj_compiler_replace(&apart);
  int failures = 0;
  for (int64_t n = 0;; n++) {
    number++;
    watch_fail_allocation(n);
    tj_status status = step(number);
    bool reached = watch_allocations() > n;
    watch_fail_allocation(-1);
    if (status != TJ_OK) {
      failures++;
      /* cJSON does not say why it does not parse. */
      if (status != TJ_E_INTERNAL) assert_status(status, TJ_E_OUT_OF_MEMORY);
      assert_true(*tj_last_error() != 0);
      assert_status(step(number), TJ_OK); /* nothing of it is remembered */
    }
    if (!reached) break;
  }
  cJSON_InitHooks(NULL);
  tj_compiler_replace(&fake_compiler);
  return failures;
}

static tj_status first_of_variant(int64_t number) {
  static tj_function *fn;
  watch_pause(true);
  fn = open_function("mix");
  watch_pause(false);
  return call(fn, ARGS(tj_ptr(NULL, TJ_FP32), tj_int(5), tj_int(number + 10000)));
}

static tj_status large_of_variant(int64_t number) {
  static tj_function *fn;
  watch_pause(true);
  fn = open_function("two");
  watch_pause(false);
  memcpy(text, &number, sizeof number);
  tj_arg s = tj_string(text, sizeof text);
  return call(fn, ARGS(tj_int(5), tj_keyword(1, &s)));
}

static tj_status new_function(int64_t number) {
  char source[64];
  (void)snprintf(source, sizeof source, "kernels/no_memory_%lld.py", (long long)number);
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = source;
  desc.name = "mix";
  desc.backend = "null";
  tj_function *fn = NULL;
  tj_status status = tj_function_get_ex(&desc, &fn);
  assert_true((fn != NULL) == (status == TJ_OK));
  return status;
}

static tj_status new_options(int64_t number) {
  const tj_arg items[] = {tj_int(number), tj_string("x", 1)};
  const tj_option options[] = {{"a", tj_int(number)}, {"b", tj_tuple(items, 2)}};
  uint32_t id = 0;
  tj_status status = tj_options_intern(options, 2, &id);
  assert_true((id != 0) == (status == TJ_OK));
  return status;
}

static tj_status new_target(int64_t number) {
  static tj_function *fn;
  char arch[32];
  watch_pause(true);
  fn = open_function("mix");
  watch_pause(false);
  (void)snprintf(arch, sizeof arch, "sm%lld", (long long)number);
  tj_target target = TJ_TARGET_INIT;
  target.backend = "cuda";
  target.arch = arch;
  tj_launch launch = one_program();
  launch.target = &target;
  tj_kernel *kernel = NULL;
  tj_status status =
      tj_function_prepare(fn, &launch, ARGS(tj_int(2), tj_int(5), tj_int(64)), &kernel);
  assert_true((kernel != NULL) == (status == TJ_OK));
  return status;
}

static void test_without_memory(void **state) {
  (void)state;
  memset(text, 'x', sizeof text);
  assert_true(fail_every_allocation(first_of_variant) > 20);
  assert_true(fail_every_allocation(large_of_variant) > 20);
  assert_true(fail_every_allocation(new_options) > 5);
  assert_true(fail_every_allocation(new_target) > 20);
}

static void test_functions_without_memory(void **state) {
  (void)state;
  assert_true(fail_every_allocation(new_function) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_hits_are_quiet, setup, teardown),
      cmocka_unit_test_setup_teardown(test_kernel_launches_are_quiet, setup, teardown),
      cmocka_unit_test_setup_teardown(test_hooks_do_not_allocate, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_system_calls, setup, teardown),
      cmocka_unit_test_setup_teardown(test_without_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(test_functions_without_memory, setup, teardown),
  };
  return cmocka_run_group_tests_name("call.hit", tests, NULL, NULL);
}
