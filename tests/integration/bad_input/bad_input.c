/* SPDX-License-Identifier: Apache-2.0 */
#include "bad_input.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

good_kernels good;

static char folder[PATH_MAX];

const char *path_of(const char *name) {
  static char paths[16][PATH_MAX + 256];
  static unsigned next;
  char *path = paths[next++ % COUNT(paths)];
  (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

const char *write_bytes(const char *name, const void *bytes, size_t size) {
  const char *path = path_of(name);
  char parent[PATH_MAX + 256];
  (void)snprintf(parent, sizeof parent, "%s", path);
  *strrchr(parent, '/') = 0;
  (void)mkdir(parent, 0755);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  return path;
}

const char *write_text(const char *name, const char *text) {
  return write_bytes(name, text, strlen(text));
}

tj_status get(const char *source, const char *name, tj_function **out_fn) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = source;
  desc.name = name;
  desc.backend = "cpu";
  return tj_function_get_ex(&desc, out_fn);
}

tj_status get_text(const char *text, const char *name, tj_function **out_fn) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.flags = TJ_FUNCTION_TEXT;
  desc.source = "the_text";
  desc.name = name;
  desc.backend = "cpu";
  desc.text = text;
  desc.text_size = strlen(text);
  return tj_function_get_ex(&desc, out_fn);
}

tj_function *open_kernel(const char *source, const char *name) {
  tj_function *function = NULL;
  assert_ok(get(source, name, &function));
  return function;
}

tj_status call(tj_function *fn, const tj_arg *args, size_t n_args) {
  tj_launch launch = TJ_LAUNCH_INIT;
  return tj_function_call(fn, &launch, args, n_args);
}

void assert_fails_(tj_status got, tj_status expected, const char *expression, const char *file,
                   int line, const char *const *texts) {
  if (got != expected) {
    print_error("%s is %s, not %s; the last message:\n%s\n", expression, tj_status_name(got),
                tj_status_name(expected), tj_last_error());
    _fail(file, line);
  }
  if (tj_last_status() != expected) {
    print_error("%s: the recorded status is %s\n", expression, tj_status_name(tj_last_status()));
    _fail(file, line);
  }
  for (; *texts; texts++) {
    if (strstr(tj_last_error(), *texts)) continue;
    print_error("%s: the message does not say \"%s\":\n%s\n", expression, *texts, tj_last_error());
    _fail(file, line);
  }
}

void assert_ok_(tj_status got, const char *expression, const char *file, int line) {
  if (got == TJ_OK) return;
  print_error("%s is %s:\n%s\n", expression, tj_status_name(got), tj_last_error());
  _fail(file, line);
}

void assert_still_works_(const char *file, int line) {
  enum { N = 1000, BLOCK = 256 };
  static float x[N], y[N], out[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = 0.5f;
    out[i] = -1;
  }
  tj_launch launch = tj_launch_grid((N + BLOCK - 1) / BLOCK, 1, 1);
  assert_ok_(tj_function_call(good.add, &launch,
                              ARGS(tj_ptr(x, TJ_FP32), tj_ptr(y, TJ_FP32), tj_ptr(out, TJ_FP32),
                                   tj_int(N), tj_int(BLOCK))),
             "add_kernel", file, line);
  for (int i = 0; i < N; i++)
    if (out[i] != (float)i + 0.5f) {
      print_error("add_kernel: out[%d] is %g\n", i, (double)out[i]);
      _fail(file, line);
    }
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info, (void)kind, (void)at;
  return remove(path);
}

int group_setup(void **state) {
  (void)state;
  const char *temporary = getenv("TMPDIR");
  char name[PATH_MAX];
  (void)snprintf(name, sizeof name, "%s/tj-bad-input-XXXXXX", temporary ? temporary : "/tmp");
  if (mkdtemp(name) == NULL || realpath(name, folder) == NULL) return -1;
  /* A run of its own must not use, or fill, the user's cache. */
  if (getenv("TRITON_CACHE_DIR") == NULL) setenv("TRITON_CACHE_DIR", path_of("cache"), 1);
  const char *sources = getenv("TJ_TEST_SOURCE_DIR");
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/tests/integration/bad_input/kernels/good.py",
                 sources ? sources : ".");
  good = (good_kernels){open_kernel(path, "add_kernel"), open_kernel(path, "typed_kernel"),
                        open_kernel(path, "pair_kernel"), open_kernel(path, "defaults_kernel"),
                        open_kernel(path, "tuned_kernel")};
  assert_still_works();
  return 0;
}

int group_teardown(void **state) {
  (void)state;
  return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int test_setup(void **state) {
  (void)state;
  uint32_t index = 0;
  assert_fails(tj_function_param_index(good.add, "nobody", &index), TJ_E_NO_SUCH_PARAMETER, "");
  return 0;
}
