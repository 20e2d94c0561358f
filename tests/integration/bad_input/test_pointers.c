/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL for every pointer of every public function, and every struct_size that is too small.
 * exports.txt says which functions there are: one that no test here covers is a failure.
 */
#include "bad_input.h"

#include <stdio.h>
#include <stdlib.h>

#include "triton_jit/sys/backend.h"

static tj_kernel *kernel;
static tj_arg args[2];
static tj_launch launch = TJ_LAUNCH_INIT;
static int32_t value;

static int setup(void **state) {
  if (group_setup(state) != 0) return -1;
  args[0] = tj_ptr(&value, TJ_I32);
  args[1] = tj_int(3);
  return tj_function_prepare(good.defaults, &launch, args, 2, &kernel);
}

/* ---- which functions are covered ---------------------------------------------------------------- */

static char covered[128][64];
static size_t n_covered;

static void cover(const char *name) {
  for (size_t i = 0; i < n_covered; i++)
    if (strcmp(covered[i], name) == 0) return;
  assert_true(n_covered < COUNT(covered));
  (void)snprintf(covered[n_covered++], sizeof covered[0], "%s", name);
}

/* name(...) fails with TJ_E_NULL and a message that names the function and the argument. */
#define assert_null_argument(name, arguments, argument)                  \
  do {                                                                   \
    cover(#name);                                                        \
    assert_fails(name arguments, TJ_E_NULL, #name, argument, "is NULL"); \
  } while (0)

static void all_are_covered(void **state) {
  (void)state;
  const char *sources = getenv("TJ_TEST_SOURCE_DIR");
  char path[4096], line[256];
  (void)snprintf(path, sizeof path, "%s/tests/abi/exports.txt", sources ? sources : ".");
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  int missing = 0, n = 0;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "@\n")] = 0;
    if (strncmp(line, "tj_", 3) != 0) continue;
    n++;
    bool found = false;
    for (size_t i = 0; i < n_covered; i++) found |= strcmp(covered[i], line) == 0;
    if (!found) print_error("no test gives NULL to %s\n", line);
    missing += !found;
  }
  (void)fclose(file);
  assert_true(n > 40);
  assert_int_equal(missing, 0);
}

/* ---- functions ---------------------------------------------------------------------------------------- */

static void getting_functions(void **state) {
  (void)state;
  tj_function *function = UNTOUCHED;
  assert_null_argument(tj_function_get, (NULL, "k", &function), "source");
  assert_null_argument(tj_function_get, ("k.py", NULL, &function), "name");
  assert_null_argument(tj_function_get, ("k.py", "k", NULL), "out_fn");
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "k.py";
  desc.name = "k";
  assert_null_argument(tj_function_get_ex, (NULL, &function), "desc");
  assert_null_argument(tj_function_get_ex, (&desc, NULL), "out_fn");
  desc.flags = TJ_FUNCTION_TEXT;
  assert_null_argument(tj_function_get_ex, (&desc, &function), "desc->text");
  desc.flags = 0;
  desc.source = NULL;
  assert_null_argument(tj_function_get_ex, (&desc, &function), "desc->source");
  desc.source = "k.py";
  desc.name = NULL;
  assert_null_argument(tj_function_get_ex, (&desc, &function), "desc->name");
  assert_null_argument(tj_function_on, (NULL, "cpu", &function), "fn");
  assert_null_argument(tj_function_on, (good.add, "cpu", NULL), "out_fn");
  assert_null_argument(tj_function_on, (good.add, NULL, &function), "backend");
  assert_ptr_equal(function, UNTOUCHED);
}

static void asking_functions(void **state) {
  (void)state;
  uint32_t index = 77;
  int flag = 77;
  tj_function_info info = {.struct_size = sizeof info};
  tj_param_info param = {.struct_size = sizeof param};
  tj_stats stats = TJ_STATS_INIT;
  assert_null_argument(tj_function_param_index, (NULL, "x", &index), "fn");
  assert_null_argument(tj_function_param_index, (good.add, NULL, &index), "param");
  assert_null_argument(tj_function_param_index, (good.add, "x", NULL), "out_index");
  assert_null_argument(tj_function_stale, (NULL, &flag), "fn");
  assert_null_argument(tj_function_stale, (good.add, NULL), "out_stale");
  assert_null_argument(tj_function_get_info, (NULL, &info), "fn");
  assert_null_argument(tj_function_get_info, (good.add, NULL), "out_info");
  assert_null_argument(tj_function_get_param, (NULL, 0, &param), "fn");
  assert_null_argument(tj_function_get_param, (good.add, 0, NULL), "out_info");
  assert_null_argument(tj_function_get_stats, (NULL, &stats), "fn");
  assert_null_argument(tj_function_get_stats, (good.add, NULL), "out_stats");
  assert_int_equal(index, 77);
  assert_int_equal(flag, 77);
}

static void calling(void **state) {
  (void)state;
  tj_kernel *out = NULL;
  int prepared = 77;
  assert_null_argument(tj_function_call, (NULL, &launch, args, 2), "fn");
  assert_null_argument(tj_function_call, (good.defaults, NULL, args, 2), "launch");
  assert_null_argument(tj_function_call, (good.defaults, &launch, NULL, 2), "args");
  assert_null_argument(tj_function_prepare, (NULL, &launch, args, 2, &out), "fn");
  assert_null_argument(tj_function_prepare, (good.defaults, NULL, args, 2, &out), "launch");
  assert_null_argument(tj_function_prepare, (good.defaults, &launch, NULL, 2, &out), "args");
  assert_ok(tj_function_prepare(good.defaults, &launch, args, 2, NULL)); /* need not be kept */
  assert_null_argument(tj_function_prepare_async, (NULL, &launch, args, 2, NULL, NULL), "fn");
  assert_null_argument(tj_function_prepare_async, (good.defaults, NULL, args, 2, NULL, NULL),
                       "launch");
  assert_null_argument(tj_function_prepare_async, (good.defaults, &launch, NULL, 2, NULL, NULL),
                       "args");
  assert_ok(tj_function_prepare_async(good.defaults, &launch, args, 2, NULL, NULL));
  assert_null_argument(tj_function_is_prepared, (NULL, &launch, args, 2, &prepared), "fn");
  assert_null_argument(tj_function_is_prepared, (good.defaults, NULL, args, 2, &prepared),
                       "launch");
  assert_null_argument(tj_function_is_prepared, (good.defaults, &launch, NULL, 2, &prepared),
                       "args");
  assert_null_argument(tj_function_is_prepared, (good.defaults, &launch, args, 2, NULL),
                       "out_prepared");
  assert_int_equal(prepared, 77);
  tj_target target = TJ_TARGET_INIT;
  tj_launch elsewhere = TJ_LAUNCH_INIT;
  elsewhere.target = &target;
  assert_fails(tj_function_prepare(good.defaults, &elsewhere, args, 2, NULL), TJ_E_NULL,
               "tj_target", "backend", "arch");
}

/* A handle that is NULL is a failure like any other: described where the launch says. */
static void null_handles_with_a_place_for_the_error(void **state) {
  (void)state;
  int flag;
  char text[200];
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  tj_launch mine = TJ_LAUNCH_INIT;
  mine.error = &error;
#define assert_delivered(expression)             \
  do {                                           \
    error.status = TJ_OK;                        \
    *text = 0;                                   \
    assert_fails(expression, TJ_E_NULL, "NULL"); \
    assert_int_equal(error.status, TJ_E_NULL);   \
    assert_string_equal(text, tj_last_error());  \
  } while (0)
  assert_delivered(tj_function_call(NULL, &mine, args, 2));
  assert_delivered(tj_function_call(good.defaults, &mine, NULL, 2));
  assert_delivered(tj_function_prepare(NULL, &mine, args, 2, NULL));
  assert_delivered(tj_function_prepare_async(NULL, &mine, args, 2, NULL, NULL));
  assert_delivered(tj_function_is_prepared(NULL, &mine, args, 2, &flag));
  assert_delivered(tj_kernel_launch(NULL, &mine, args, 2));
#undef assert_delivered
}

static void kernels(void **state) {
  (void)state;
  tj_kernel_info info = {.struct_size = sizeof info};
  tj_kernel_param param = {.struct_size = sizeof param};
  const void *data = &param;
  size_t size = 77;
  assert_null_argument(tj_kernel_launch, (NULL, &launch, args, 2), "kernel");
  assert_null_argument(tj_kernel_launch, (kernel, NULL, args, 2), "launch");
  assert_null_argument(tj_kernel_launch, (kernel, &launch, NULL, 2), "args");
  assert_null_argument(tj_kernel_get_info, (NULL, &info), "kernel");
  assert_null_argument(tj_kernel_get_info, (kernel, NULL), "out_info");
  assert_null_argument(tj_kernel_get_param, (NULL, 0, &param), "kernel");
  assert_null_argument(tj_kernel_get_param, (kernel, 0, NULL), "out_param");
  assert_null_argument(tj_kernel_get_asm, (NULL, "ttir", &data, &size), "kernel");
  assert_null_argument(tj_kernel_get_asm, (kernel, NULL, &data, &size), "stage");
  assert_null_argument(tj_kernel_get_asm, (kernel, "ttir", NULL, &size), "out_data");
  assert_null_argument(tj_kernel_get_asm, (kernel, "ttir", &data, NULL), "out_size");
  assert_ptr_equal(data, &param);
  assert_int_equal(size, 77);
  memset(&value, 0, sizeof value);
  assert_ok(tj_kernel_launch(kernel, &launch, args, 2));
  assert_int_equal(value, 6);
}

/* ---- what a grid callback sees ------------------------------------------------------------------------- */

static tj_status look_around(const tj_bound *bound, uint32_t grid[3], void *user) {
  int64_t number = 77;
  assert_null_argument(tj_bound_int, (NULL, 0, &number), "bound");
  assert_null_argument(tj_bound_int, (bound, 1, NULL), "out_value");
  assert_fails(tj_bound_int(bound, 3, &number), TJ_E_NO_SUCH_PARAMETER, "3");
  assert_fails(tj_bound_int(bound, 0, &number), TJ_E_ARGUMENT_TYPE, "'out'");
  assert_int_equal(number, 77);
  cover("tj_bound_count");
  assert_int_equal(tj_bound_count(NULL), 0);
  cover("tj_bound_arg");
  assert_null(tj_bound_arg(NULL, 0));
  assert_null(tj_bound_arg(bound, 3));
  cover("tj_bound_launch");
  assert_null(tj_bound_launch(NULL));
  grid[0] = 1;
  *(int *)user += 1;
  return TJ_OK;
}

static void grid_callback(void **state) {
  (void)state;
  int called = 0;
  tj_launch with_callback = TJ_LAUNCH_INIT;
  with_callback.grid_fn = look_around;
  with_callback.grid_user = &called;
  assert_ok(tj_function_call(good.defaults, &with_callback, args, 2));
  assert_int_equal(called, 1);
}

/* ---- the process ------------------------------------------------------------------------------------------ */

static void process(void **state) {
  (void)state;
  const tj_option option = {"debug", tj_bool(1)}, nameless = {NULL, tj_bool(1)};
  uint32_t id = 77;
  assert_null_argument(tj_options_intern, (&option, 1, NULL), "out_id");
  assert_null_argument(tj_options_intern, (NULL, 1, &id), "options");
  assert_fails(tj_options_intern(&nameless, 1, &id), TJ_E_OPTION_VALUE, "no name");
  assert_int_equal(id, 77);
  assert_ok(tj_options_intern(NULL, 0, &id));
  assert_int_equal(id, 0);
  assert_null_argument(tj_set_compiler, (NULL), "options");
  assert_null_argument(tj_backend_get_info, (0, NULL), "out_info");
  assert_null_argument(tj_stats_get, (NULL), "out_stats");
  cover("tj_set_hooks"); /* NULL clears them */
  assert_ok(tj_set_hooks(NULL));
  cover("tj_set_log");
  tj_set_log(NULL, NULL, 0);
  cover("tj_set_scratch_allocator");
  assert_fails(tj_set_scratch_allocator(NULL, NULL, NULL), TJ_E_NOT_SUPPORTED,
               "tj_set_scratch_allocator");
}

static void names(void **state) {
  (void)state;
  cover("tj_dtype_from_name");
  assert_int_equal(tj_dtype_from_name(NULL), TJ_DTYPE_NONE);
  assert_int_equal(tj_dtype_from_name(""), TJ_DTYPE_NONE);
  assert_int_equal(tj_dtype_from_name("float17"), TJ_DTYPE_NONE);
  cover("tj_dtype_name");
  assert_string_equal(tj_dtype_name(TJ_DTYPE_NONE), "?");
  assert_string_equal(tj_dtype_name(UINT16_MAX), "?");
  cover("tj_dtype_size");
  assert_int_equal(tj_dtype_size(UINT16_MAX), 0);
  cover("tj_status_name");
  assert_string_equal(tj_status_name(INT32_MIN), "TJ_E_?");
  cover("tj_status_text");
  assert_non_null(tj_status_text(INT32_MAX));
}

static void reserved_places(void **state) {
  (void)state;
  size_t size = 0;
  cover("tj_store_open");
  assert_fails(tj_store_open(NULL, 0), TJ_E_NOT_SUPPORTED, "tj_store_open");
  cover("tj_bundle_open");
  assert_fails(tj_bundle_open(NULL, 0), TJ_E_NOT_SUPPORTED, "tj_bundle_open");
  cover("tj_kernel_export");
  assert_fails(tj_kernel_export(NULL, NULL, NULL), TJ_E_NOT_SUPPORTED, "tj_kernel_export");
  assert_fails(tj_kernel_export(kernel, NULL, &size), TJ_E_NOT_SUPPORTED, "tj_kernel_export");
  cover("tj_function_import");
  assert_fails(tj_function_import(NULL, NULL, 0, NULL), TJ_E_NOT_SUPPORTED, "tj_function_import");
  cover("tj_freeze");
  assert_fails(tj_freeze(1), TJ_E_NOT_SUPPORTED, "tj_freeze");
}

static void for_authors_of_backends(void **state) {
  (void)state;
  const char *volatile none = NULL; /* what no compiler lets through by its name */
  cover("tj_fail");
  assert_fails(tj_fail(TJ_E_LAUNCH, "%s", none ? none : "(null)"), TJ_E_LAUNCH, "null");
  cover("tj_log");
  tj_log(TJ_LOG_ERROR, "%s", none ? none : "(null)");
  cover("tj_launch_extents");
  tj_extent extent = {.known = 7};
  tj_launch_extents(NULL, &extent);
  assert_int_equal(extent.known, 7);
  tj_backend_launch bare = {.struct_size = sizeof bare, .n_slots = 1};
  tj_launch_extents(&bare, NULL);
  tj_launch_extents(&bare, &extent);
  assert_int_equal(extent.known, 0); /* nothing is known of arguments that are not there */
}

/* Functions without a pointer among their arguments; they answer, and that is all. */
static void without_pointers(void **state) {
  (void)state;
  cover("tj_backend_count");
  assert_true(tj_backend_count() > 0);
  cover("tj_version");
  assert_int_equal(tj_version(), TJ_VERSION);
  cover("tj_version_string");
  assert_non_null(tj_version_string());
  cover("tj_last_error");
  assert_non_null(tj_last_error());
  cover("tj_last_status");
  assert_int_not_equal(tj_last_status(), TJ_OK);
  cover("tj_trim");
  assert_ok(tj_trim());
  assert_still_works();
}

/* ---- struct_size --------------------------------------------------------------------------------------------- */

/* Both 0 and one byte too few are refused, naming the type, what it is and what it should be. */
#define assert_sizes_checked(type, variable, expression)                       \
  do {                                                                         \
    char words_[64];                                                           \
    static const uint32_t sizes_[] = {0, 1, (uint32_t)sizeof(type) - 1};       \
    for (size_t i_ = 0; i_ < COUNT(sizes_); i_++) {                            \
      (variable).struct_size = sizes_[i_];                                     \
      (void)snprintf(words_, sizeof words_, "is %u,", sizes_[i_]);             \
      assert_fails(expression, TJ_E_STRUCT_SIZE, #type ".struct_size", words_, \
                   "sizeof(" #type ")");                                       \
    }                                                                          \
    (void)snprintf(words_, sizeof words_, "at least %zu", sizeof(type));       \
    assert_non_null(strstr(tj_last_error(), words_));                          \
    (variable).struct_size = (uint32_t)sizeof(type);                           \
    structs_checked++;                                                         \
  } while (0)

static int structs_checked;

static void struct_sizes(void **state) {
  (void)state;
  tj_function *function = UNTOUCHED;
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "k.py";
  desc.name = "k";
  assert_sizes_checked(tj_function_desc, desc, tj_function_get_ex(&desc, &function));
  tj_error error = TJ_ERROR_INIT(NULL, 0);
  desc.error = &error;
  desc.backend = "abacus";
  assert_sizes_checked(tj_error, error, tj_function_get_ex(&desc, &function));
  assert_ptr_equal(function, UNTOUCHED);

  tj_launch mine = TJ_LAUNCH_INIT;
  tj_kernel *out = NULL;
  int flag;
  assert_sizes_checked(tj_launch, mine, tj_function_call(good.defaults, &mine, args, 2));
  assert_sizes_checked(tj_launch, mine, tj_function_prepare(good.defaults, &mine, args, 2, &out));
  assert_sizes_checked(tj_launch, mine,
                       tj_function_prepare_async(good.defaults, &mine, args, 2, NULL, NULL));
  assert_sizes_checked(tj_launch, mine,
                       tj_function_is_prepared(good.defaults, &mine, args, 2, &flag));
  assert_sizes_checked(tj_launch, mine, tj_kernel_launch(kernel, &mine, args, 2));
  assert_null(out);

  /* What lies beyond the size is not looked at, the place for the error neither. */
  mine.struct_size = offsetof(tj_launch, error);
  memset(&mine.error, 0x5a, sizeof mine.error);
  assert_fails(tj_function_call(good.defaults, &mine, args, 2), TJ_E_STRUCT_SIZE, "tj_launch");
  assert_fails(tj_function_prepare(good.defaults, &mine, args, 2, &out), TJ_E_STRUCT_SIZE,
               "tj_launch");
  assert_fails(tj_function_prepare_async(good.defaults, &mine, args, 2, NULL, NULL),
               TJ_E_STRUCT_SIZE, "tj_launch");
  assert_fails(tj_function_is_prepared(good.defaults, &mine, args, 2, &flag), TJ_E_STRUCT_SIZE,
               "tj_launch");
  assert_fails(tj_kernel_launch(kernel, &mine, args, 2), TJ_E_STRUCT_SIZE, "tj_launch");
  mine = (tj_launch)TJ_LAUNCH_INIT;

  tj_target target = TJ_TARGET_INIT;
  target.backend = "cpu";
  target.arch = "native";
  mine.target = &target;
  assert_sizes_checked(tj_target, target, tj_function_prepare(good.defaults, &mine, args, 2, NULL));

  tj_buffer buffer = {.struct_size = sizeof buffer, .dtype = TJ_I32, .ptr = &value, .size = 4};
  assert_sizes_checked(tj_buffer, buffer, call(good.defaults, ARGS(tj_buf(&buffer))));

  tj_function_info function_info;
  assert_sizes_checked(tj_function_info, function_info,
                       tj_function_get_info(good.add, &function_info));
  tj_param_info param_info;
  assert_sizes_checked(tj_param_info, param_info, tj_function_get_param(good.add, 0, &param_info));
  tj_kernel_info kernel_info;
  assert_sizes_checked(tj_kernel_info, kernel_info, tj_kernel_get_info(kernel, &kernel_info));
  tj_kernel_param kernel_param;
  assert_sizes_checked(tj_kernel_param, kernel_param,
                       tj_kernel_get_param(kernel, 0, &kernel_param));
  tj_stats stats;
  assert_sizes_checked(tj_stats, stats, tj_stats_get(&stats));
  assert_sizes_checked(tj_stats, stats, tj_function_get_stats(good.add, &stats));
  tj_backend_info backend_info;
  assert_sizes_checked(tj_backend_info, backend_info, tj_backend_get_info(0, &backend_info));
  tj_compiler_options options = TJ_COMPILER_OPTIONS_INIT;
  assert_sizes_checked(tj_compiler_options, options, tj_set_compiler(&options));
  tj_hooks hooks = TJ_HOOKS_INIT;
  assert_sizes_checked(tj_hooks, hooks, tj_set_hooks(&hooks));
  assert_int_equal(structs_checked, 18);
  assert_still_works();
}

/* A caller from a newer header: more fields, all unset, are no error; set ones are. */
static void larger_structs(void **state) {
  (void)state;
  struct {
    tj_launch launch;
    uint64_t more[4];
  } newer = {.launch = TJ_LAUNCH_INIT};
  newer.launch.struct_size = sizeof newer;
  assert_ok(tj_function_call(good.defaults, &newer.launch, args, 2));
  newer.more[2] = 1;
  assert_fails(tj_function_call(good.defaults, &newer.launch, args, 2), TJ_E_NOT_SUPPORTED,
               "tj_launch", "does not know");
  newer.launch.struct_size = UINT32_MAX; /* not even looked at */
  assert_fails(tj_function_call(good.defaults, &newer.launch, args, 2), TJ_E_NOT_SUPPORTED,
               "tj_launch");
  assert_still_works();
}

static void null_objects(void **state) {
  (void)state;
  assert_fails(call(good.defaults, ARGS(tj_buf(NULL))), TJ_E_NULL, "'out'", "tj_buffer");
  assert_fails(call(good.defaults, ARGS(tj_tensor(NULL))), TJ_E_NULL, "'out'", "DLTensor");
  assert_fails(call(good.defaults, ARGS(args[0], tj_fn(NULL))), TJ_E_NULL, "'value'",
               "tj_function");
  assert_fails(call(good.defaults, ARGS(args[0], tj_tuple(NULL, 1))), TJ_E_NULL, "'value'",
               "tuple");
  assert_fails(call(good.defaults, ARGS(args[0], args[1], tj_string(NULL, 1))), TJ_E_NULL,
               "'SHIFT'", "string");
  assert_fails(call(good.defaults, ARGS(args[0], args[1], tj_keyword(2, NULL))), TJ_E_NULL,
               "'SHIFT'");
  /* A null device pointer is a pointer like any other, as long as nothing reads it. */
  tj_launch none = tj_launch_grid(0, 1, 1);
  assert_ok(tj_function_call(good.defaults, &none, ARGS(tj_ptr(NULL, TJ_I32))));
  assert_still_works();
}

static void a_compiler_that_runs(void **state) {
  (void)state;
  tj_compiler_options options = TJ_COMPILER_OPTIONS_INIT;
  assert_fails(tj_set_compiler(&options), TJ_E_BUSY, "tj_function_get");
  options.mode = 9;
  assert_fails(tj_set_compiler(&options), TJ_E_INVALID, "9", "TJ_COMPILER_WORKER");
  assert_still_works();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(getting_functions, test_setup),
      cmocka_unit_test_setup(asking_functions, test_setup),
      cmocka_unit_test_setup(calling, test_setup),
      cmocka_unit_test_setup(null_handles_with_a_place_for_the_error, test_setup),
      cmocka_unit_test_setup(kernels, test_setup),
      cmocka_unit_test_setup(grid_callback, test_setup),
      cmocka_unit_test_setup(process, test_setup),
      cmocka_unit_test_setup(names, test_setup),
      cmocka_unit_test_setup(reserved_places, test_setup),
      cmocka_unit_test_setup(for_authors_of_backends, test_setup),
      cmocka_unit_test_setup(without_pointers, test_setup),
      cmocka_unit_test_setup(all_are_covered, test_setup), /* after the ones that cover */
      cmocka_unit_test_setup(struct_sizes, test_setup),
      cmocka_unit_test_setup(larger_structs, test_setup),
      cmocka_unit_test_setup(null_objects, test_setup),
      cmocka_unit_test_setup(a_compiler_that_runs, test_setup),
  };
  return cmocka_run_group_tests(tests, setup, group_teardown);
}
