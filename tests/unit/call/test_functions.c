/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: which requests are one, when a new one is made, what is asked of them. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char files[1024]; /* of "filed": its stamps */
static fake_function table[] = {
    {.name = "kernel", .params = FAKE_PARAM("x")},
    {.name = "other", .params = FAKE_PARAM("x")},
    {.name = "filed", .params = FAKE_PARAM("x"), .files = files, .version = "1"},
    {.name = "raced", .params = FAKE_PARAM("x")},
};

static int setup(void **state) {
  (void)state;
  tj_null_reset();
  table[2].version = "1";
  fake_install(table, COUNT(table));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fake_remove();
  return 0;
}

static tj_status get(const char *source, const char *name, uint32_t options, tj_function **out) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = source;
  desc.name = name;
  desc.backend = "null";
  desc.options = options;
  return tj_function_get_ex(&desc, out);
}

static tj_function *got(const char *source, const char *name, uint32_t options) {
  tj_function *fn = NULL;
  assert_status(get(source, name, options, &fn), TJ_OK);
  return fn;
}

static tj_status get_text(const char *text, size_t size, tj_function **out) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "memory";
  desc.name = "kernel";
  desc.backend = "null";
  desc.flags = TJ_FUNCTION_TEXT;
  desc.text = text;
  desc.text_size = size;
  return tj_function_get_ex(&desc, out);
}

static void test_identity(void **state) {
  (void)state;
  tj_function *fn = got("a/b.py", "kernel", 0);
  uint64_t describes = fake_describes();
  assert_ptr_equal(got("a/b.py", "kernel", 0), fn);
  assert_int_equal(fake_describes(), describes); /* no question asked */
  assert_ptr_not_equal(got("a/b.py", "other", 0), fn);
  /* The compiler says that another way to ask leads to the same snapshot. */
  assert_ptr_equal(got("package.b", "kernel", 0), fn);
  uint32_t options = 0;
  const tj_option option = {"fast", tj_bool(1)};
  assert_status(tj_options_intern(&option, 1, &options), TJ_OK);
  tj_function *with_options = got("a/b.py", "kernel", options);
  assert_ptr_not_equal(with_options, fn);
  assert_ptr_equal(got("a/b.py", "kernel", options), with_options);
}

/* Texts that lie next to each other in a request are not taken for one another. */
static void test_requests_do_not_collide_R031(void **state) {
  (void)state;
  tj_function *wrong = NULL;
  (void)got("d.py\nx", "kernel", 0);
  assert_status(get("d.py", "x\nkernel", 0, &wrong), TJ_E_KERNEL_NOT_FOUND);
  assert_null(wrong);
}

static void test_options_of_a_function(void **state) {
  (void)state;
  uint32_t a = 0, b = 0;
  const tj_option first = {"maxnreg", tj_int(64)}, second = {"maxnreg", tj_int(128)};
  assert_status(tj_options_intern(&first, 1, &a), TJ_OK);
  assert_status(tj_options_intern(&second, 1, &b), TJ_OK);
  tj_function *fn = got("a/b.py", "kernel", a);
  tj_launch launch = one_program();
  const tj_arg arg = tj_int(2);
  assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  char *request = fake_last_request();
  assert_contains(request, "\"options\":{\"maxnreg\":64}");
  free(request);
  launch.options = b; /* a call's own replace them */
  assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  request = fake_last_request();
  assert_contains(request, "\"options\":{\"maxnreg\":128}");
  free(request);
  launch.options = a; /* given twice, once meant */
  assert_status(tj_function_call(fn, &launch, &arg, 1), TJ_OK);
  assert_int_equal(fake_compiles(), 2);
  tj_function *untouched = fn;
  assert_fails(get("a/b.py", "kernel", UINT32_MAX, &untouched), TJ_E_OPTION_VALUE, "4294967295");
  assert_ptr_equal(untouched, fn);
}

static void test_from_memory(void **state) {
  (void)state;
  tj_function *a = NULL, *b = NULL;
  assert_status(get_text("x = 1", 5, &a), TJ_OK);
  uint64_t describes = fake_describes();
  assert_status(get_text("x = 1, and more", 5, &b), TJ_OK);
  assert_ptr_equal(a, b);
  assert_int_equal(fake_describes(), describes);
  assert_status(get_text("x = 2", 5, &b), TJ_OK);
  assert_int_equal(fake_describes(), describes + 1);
  assert_status(get_text("", 0, &b), TJ_OK);
  assert_fails(get_text(NULL, 0, &b), TJ_E_NULL, "text");
}

static void test_bad_requests(void **state) {
  (void)state;
  tj_function *fn = NULL;
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  assert_fails(tj_function_get(NULL, "kernel", &fn), TJ_E_NULL, "source");
  assert_fails(tj_function_get("a.py", NULL, &fn), TJ_E_NULL, "name");
  assert_fails(tj_function_get("a.py", "kernel", NULL), TJ_E_NULL, "out_fn");
  assert_fails(tj_function_get_ex(NULL, &fn), TJ_E_NULL, "desc");
  assert_fails(tj_function_get_ex(&desc, NULL), TJ_E_NULL, "out_fn");
  assert_fails(tj_function_get_ex(&desc, &fn), TJ_E_NULL, "source");
  desc.source = "a.py";
  desc.name = "kernel";
  desc.backend = "no_such";
  assert_fails(tj_function_get_ex(&desc, &fn), TJ_E_UNKNOWN_BACKEND, "'no_such'", "cpu", "null");
  desc.backend = "null";
  desc.flags = 6;
  assert_fails(tj_function_get_ex(&desc, &fn), TJ_E_INVALID, "0x6");
  desc.flags = 0;
  desc.struct_size = 8;
  assert_fails(tj_function_get_ex(&desc, &fn), TJ_E_STRUCT_SIZE, "tj_function_desc");
  desc.struct_size = sizeof desc;
  char text[128];
  tj_error error = TJ_ERROR_INIT(text, sizeof text);
  desc.error = &error;
  desc.name = "missing";
  assert_fails(tj_function_get_ex(&desc, &fn), TJ_E_KERNEL_NOT_FOUND, "no such kernel");
  assert_int_equal(error.status, TJ_E_KERNEL_NOT_FOUND);
  assert_contains(text, "no such kernel");
  assert_null(fn);
}

static void test_describe_failures_are_not_remembered(void **state) {
  (void)state;
  tj_function *fn = NULL;
  static const struct {
    const char *name;
    tj_status status;
  } rows[] = {{"E_SYNTAX", TJ_E_SYNTAX},
              {"E_IMPORT", TJ_E_IMPORT},
              {"E_SOURCE_NOT_FOUND", TJ_E_SOURCE_NOT_FOUND},
              {"E_NO_TRITON", TJ_E_NO_TRITON},
              {"E_CONTRADICTION", TJ_E_CONTRADICTION}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    fake_fail("describe", rows[i].name, "as it is", 1);
    assert_fails(get("fresh.py", "kernel", 0, &fn), rows[i].status, "as it is");
  }
  fake_die(TJ_E_COMPILER_DIED, 1);
  assert_fails(get("fresh.py", "kernel", 0, &fn), TJ_E_COMPILER_DIED, "told to die");
  assert_null(fn);
  assert_status(get("fresh.py", "kernel", 0, &fn), TJ_OK);
}

static void test_on(void **state) {
  (void)state;
  tj_function *fn = got("a/b.py", "kernel", 0), *on = NULL, *back = NULL;
  uint64_t describes = fake_describes();
  assert_status(tj_function_on(fn, "cpu", &on), TJ_OK);
  assert_ptr_not_equal(on, fn);
  assert_status(tj_function_on(on, "null", &back), TJ_OK);
  assert_ptr_equal(back, fn);
  assert_int_equal(fake_describes(), describes); /* the same snapshot */
  tj_function_info info = {.struct_size = sizeof info};
  assert_status(tj_function_get_info(on, &info), TJ_OK);
  assert_string_equal(info.backend, "cpu");
  assert_string_equal(info.name, "kernel");
  assert_fails(tj_function_on(fn, NULL, &on), TJ_E_NULL, "backend");
  assert_fails(tj_function_on(fn, "cuda9", &on), TJ_E_UNKNOWN_BACKEND, "'cuda9'");
  assert_fails(tj_function_on(NULL, "cpu", &on), TJ_E_NULL, "fn");
  assert_fails(tj_function_on(fn, "cpu", NULL), TJ_E_NULL, "out_fn");
}

static void test_info(void **state) {
  (void)state;
  tj_function *fn = got("a/b.py", "kernel", 0);
  tj_function_info info = {.struct_size = sizeof info};
  assert_status(tj_function_get_info(fn, &info), TJ_OK);
  assert_int_equal(info.n_params, 1);
  assert_string_equal(info.source, "a/b.py");
  assert_string_equal(info.backend, "null");
  assert_int_equal(strlen(info.cache_key), 64);
  assert_string_equal(info.triton, "3.6.0");
  assert_fails(tj_function_get_info(NULL, &info), TJ_E_NULL, "fn");
  assert_fails(tj_function_get_info(fn, NULL), TJ_E_NULL, "out_info");
  info.struct_size = 1;
  assert_fails(tj_function_get_info(fn, &info), TJ_E_STRUCT_SIZE, "tj_function_info");
}

/* ---- files ---------------------------------------------------------------------------------------- */

static char path[] = "/tmp/tj_test_functions_XXXXXX";

/* Writes the file, dates it a while back, and makes the fake describe it as it is. */
static void write_file(const char *content, int seconds_ago) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(content, file) >= 0);
  assert_int_equal(fclose(file), 0);
  struct timespec now, times[2];
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= seconds_ago;
  times[0] = times[1] = now;
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void stamp_file(void) {
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  (void)snprintf(files, sizeof files, "{'path':'%s','size':%lld,'mtime_ns':'%lld','inode':'%llu'}",
                 path, (long long)s.st_size,
                 (long long)s.st_mtim.tv_sec * 1000000000 + (long long)s.st_mtim.tv_nsec,
                 (unsigned long long)s.st_ino);
}

static int is_stale(tj_function *fn) {
  int stale = -1;
  assert_status(tj_function_stale(fn, &stale), TJ_OK);
  return stale;
}

/* A changed file gives a new function; the old handle keeps the old code. */
static void test_changed_files(void **state) {
  (void)state;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  write_file("first", 100);
  stamp_file();
  tj_function *first = got(path, "filed", 0);
  assert_int_equal(is_stale(first), 0);
  uint64_t describes = fake_describes();
  assert_ptr_equal(got(path, "filed", 0), first);
  assert_int_equal(fake_describes(), describes);

  write_file("other", 50); /* the same size */
  assert_int_equal(is_stale(first), 1);
  table[2].version = "2";
  stamp_file();
  tj_function *second = got(path, "filed", 0);
  assert_ptr_not_equal(second, first);
  assert_int_equal(is_stale(second), 0);
  assert_int_equal(is_stale(first), 1);
  assert_ptr_equal(got(path, "filed", 0), second);
  assert_status(call(first, ARGS(tj_int(2))), TJ_E_INTERNAL); /* the fake lost its version */
  assert_status(call(second, ARGS(tj_int(2))), TJ_OK);

  /* Touched and not changed: described again, and found to be the same. */
  write_file("other", 20);
  stamp_file();
  describes = fake_describes();
  assert_ptr_equal(got(path, "filed", 0), second);
  assert_int_equal(fake_describes(), describes + 1);

  assert_int_equal(unlink(path), 0);
  assert_int_equal(is_stale(second), 1);
  assert_fails(tj_function_stale(NULL, &(int){0}), TJ_E_NULL, "fn");
  assert_fails(tj_function_stale(second, NULL), TJ_E_NULL, "out_stale");
}

/* A file written a moment ago may change without a trace: it is read again. */
static void test_fresh_files_are_not_trusted(void **state) {
  (void)state;
  (void)snprintf(path + strlen(path) - 6, 7, "XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  write_file("fresh", 0);
  stamp_file();
  tj_function *fn = got(path, "filed", 0);
  uint64_t describes = fake_describes();
  assert_ptr_equal(got(path, "filed", 0), fn);
  assert_int_equal(fake_describes(), describes + 1);
  assert_int_equal(unlink(path), 0);
}

/* ---- threads --------------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

static void *get_one(void *user) {
  tj_function **out = user;
  pthread_barrier_wait(&barrier);
  if (get("raced.py", "raced", 0, out) != TJ_OK) *out = NULL;
  return NULL;
}

static void test_many_threads_get_one_handle(void **state) {
  (void)state;
  enum { N = 32 };
  pthread_t threads[N];
  tj_function *got_by[N] = {0};
  pthread_barrier_init(&barrier, NULL, N);
  for (int i = 0; i < N; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, get_one, &got_by[i]), 0);
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
  assert_non_null(got_by[0]);
  for (int i = 1; i < N; i++) assert_ptr_equal(got_by[i], got_by[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
      cmocka_unit_test_setup_teardown(test_requests_do_not_collide_R031, setup, teardown),
      cmocka_unit_test_setup_teardown(test_options_of_a_function, setup, teardown),
      cmocka_unit_test_setup_teardown(test_from_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bad_requests, setup, teardown),
      cmocka_unit_test_setup_teardown(test_describe_failures_are_not_remembered, setup, teardown),
      cmocka_unit_test_setup_teardown(test_on, setup, teardown),
      cmocka_unit_test_setup_teardown(test_info, setup, teardown),
      cmocka_unit_test_setup_teardown(test_changed_files, setup, teardown),
      cmocka_unit_test_setup_teardown(test_fresh_files_are_not_trusted, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many_threads_get_one_handle, setup, teardown),
  };
  return cmocka_run_group_tests_name("call.functions", tests, NULL, NULL);
}
