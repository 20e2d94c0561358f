/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host program for the tests of this folder that are written in Python: they prepare an
 * environment, start this with the steps to take, and read what came of each.
 *
 *   bad_input_host RECORDS STEP [ARGUMENT...] STEP ...
 *
 * RECORDS becomes a file with a line of JSON for each step and each line of the library's log.
 * Nothing is written elsewhere: what stands on stdout or stderr is not from here. The exit status is
 * 0 if the program lived to take the last step, whatever came of it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "triton_jit/triton_jit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { N = 1000, MAX_THREADS = 64 };

static FILE *records;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static tj_function *function;

/* ---- records ------------------------------------------------------------------------------------ */

static void put_text(const char *text) {
  putc('"', records);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      fprintf(records, "\\%c", *c);
    else if (*c < 0x20)
      fprintf(records, "\\u%04x", *c);
    else
      putc(*c, records);
  }
  putc('"', records);
}

/* One step's outcome. `value` is what it found, or NULL. */
static void put_step(const char *step, tj_status status, const char *value) {
  pthread_mutex_lock(&writing);
  fputs("{\"step\": ", records);
  put_text(step);
  fputs(", \"status\": ", records);
  put_text(tj_status_name(status));
  fputs(", \"message\": ", records);
  put_text(status == TJ_OK ? "" : tj_last_error());
  fputs(", \"value\": ", records);
  put_text(value ? value : "");
  fputs("}\n", records);
  fflush(records);
  pthread_mutex_unlock(&writing);
}

static void put_log(void *user, int level, const char *text) {
  (void)user;
  pthread_mutex_lock(&writing);
  fprintf(records, "{\"log\": %d, \"text\": ", level);
  put_text(text);
  fputs("}\n", records);
  fflush(records);
  pthread_mutex_unlock(&writing);
}

static int number(const char *text) { return (int)strtol(text, NULL, 10); }

/* ---- steps: each takes its arguments from argv ------------------------------------------------------ */

static void get_on(const char *step, const char *backend, const char *source, const char *name) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = source;
  desc.name = name;
  desc.backend = backend;
  put_step(step, tj_function_get_ex(&desc, &function), NULL);
}

/* get SOURCE NAME */
static void step_get(char **argv) { get_on("get", "cpu", argv[0], argv[1]); }

/* get-on BACKEND SOURCE NAME */
static void step_get_on(char **argv) { get_on("get-on", argv[0], argv[1], argv[2]); }

static tj_status add(int block, const char **out_value) {
  static _Thread_local float x[N], y[N], out[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = 0.5f;
    out[i] = -1;
  }
  tj_launch launch = tj_launch_grid((uint32_t)((N + block - 1) / block), 1, 1);
  const tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(y, TJ_FP32), tj_ptr(out, TJ_FP32), tj_int(N),
                         tj_int(block)};
  tj_status status = tj_function_call(function, &launch, args, COUNT(args));
  *out_value = status == TJ_OK ? "right" : "none";
  for (int i = 0; i < N; i++)
    if (status == TJ_OK && out[i] != (float)i + 0.5f) *out_value = "wrong";
  return status;
}

/* add BLOCK: calls the function as add_kernel. */
static void step_add(char **argv) {
  const char *value = "";
  tj_status status = add(number(argv[0]), &value);
  put_step("add", status, value);
}

/* call: calls the function with one pointer to i32; the value is what it stored. */
static void step_call(char **argv) {
  (void)argv;
  int32_t out = -1;
  char value[16];
  tj_launch launch = TJ_LAUNCH_INIT;
  const tj_arg args[] = {tj_ptr(&out, TJ_I32)};
  tj_status status = tj_function_call(function, &launch, args, 1);
  (void)snprintf(value, sizeof value, "%d", out);
  put_step("call", status, value);
}

/* prepare BACKEND ARCH: compiles add_kernel for a target; the value names Triton's hash. */
static void step_prepare(char **argv) {
  tj_target target = TJ_TARGET_INIT;
  target.backend = argv[0];
  target.arch = argv[1];
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.target = &target;
  tj_arg args[] = {tj_spec_ptr(TJ_FP32, 1), tj_spec_ptr(TJ_FP32, 1), tj_spec_ptr(TJ_FP32, 1),
                   tj_spec(TJ_I32, 0), tj_int(256)};
  tj_kernel *kernel = NULL;
  tj_kernel_info info = {.struct_size = sizeof info};
  tj_status status = tj_function_prepare(function, &launch, args, COUNT(args), &kernel);
  if (status == TJ_OK) status = tj_kernel_get_info(kernel, &info);
  put_step("prepare", status, status == TJ_OK ? info.hash : NULL);
}

/* info: the version of Triton that read the function. */
static void step_info(char **argv) {
  (void)argv;
  tj_function_info info = {.struct_size = sizeof info};
  tj_status status = tj_function_get_info(function, &info);
  put_step("info", status, status == TJ_OK ? info.triton : NULL);
}

/* sh COMMAND: something happens to the machine. */
static void step_sh(char **argv) {
  int status = system(argv[0]); /* NOLINT(cert-env33-c): the test's own command */
  put_step("sh", TJ_OK, status == 0 ? "done" : "failed");
}

/* maps TEXT: the lines of /proc/self/maps with the text in them. */
static void step_maps(char **argv) {
  char line[8192], found[16384] = "";
  size_t used = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, argv[0]) && used + strlen(line) < sizeof found)
      used += (size_t)snprintf(found + used, sizeof found - used, "%s", line);
  if (maps) (void)fclose(maps);
  put_step("maps", TJ_OK, found);
}

/* global LIBRARY: its symbols become the process's. */
static void step_global(char **argv) {
  put_step("global", TJ_OK, dlopen(argv[0], RTLD_NOW | RTLD_GLOBAL) ? "open" : dlerror());
}

/* nproc N: no more than so many processes and threads of this user. */
static void step_nproc(char **argv) {
  struct rlimit limit = {(rlim_t)number(argv[0]), (rlim_t)number(argv[0])};
  put_step("nproc", TJ_OK, setrlimit(RLIMIT_NPROC, &limit) == 0 ? "set" : "failed");
}

/* ---- threads ---------------------------------------------------------------------------------------- */

typedef struct job {
  int number;
  tj_status status;
  char message[1024];
} job;

/* A variant of add_kernel that no other number has. */
static void *prepare_one(void *user) {
  static const tj_dtype dtypes[] = {TJ_FP32, TJ_I32, TJ_FP64, TJ_I64,
                                    TJ_I16,  TJ_I8,  TJ_FP16, TJ_U32};
  job *mine = user;
  tj_error error = TJ_ERROR_INIT(mine->message, sizeof mine->message);
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.error = &error;
  tj_dtype dtype = dtypes[mine->number % 8];
  tj_arg args[] = {tj_spec_ptr(dtype, 1), tj_spec_ptr(dtype, 1), tj_spec_ptr(dtype, 1),
                   tj_spec(TJ_I32, 0), tj_int(2 << (mine->number / 8))};
  mine->status = tj_function_prepare(function, &launch, args, COUNT(args), NULL);
  return NULL;
}

/* Starts them, waits, and records one line; the value says how many went well. */
static void run_threads(const char *step, int n) {
  static job jobs[MAX_THREADS];
  pthread_t threads[MAX_THREADS];
  int started = 0, good = 0;
  tj_status status = TJ_OK;
  for (int i = 0; i < n && i < MAX_THREADS; i++) {
    jobs[i].number = i;
    jobs[i].status = TJ_E_BUSY; /* not started */
    if (pthread_create(&threads[started], NULL, prepare_one, &jobs[i]) == 0) started++;
  }
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < n && i < MAX_THREADS; i++) {
    good += jobs[i].status == TJ_OK;
    if (jobs[i].status != TJ_OK) put_step("thread", jobs[i].status, jobs[i].message);
  }
  char value[64];
  (void)snprintf(value, sizeof value, "%d of %d", good, started);
  put_step(step, status, value);
}

/* threads N: so many threads prepare a variant each, at the same time. */
static void step_threads(char **argv) { run_threads("threads", number(argv[0])); }

static atomic_bool enough;
static atomic_int loads;

static void *load_again_and_again(void *user) {
  while (!atomic_load(&enough)) {
    void *handle = dlopen(user, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) break;
    dlclose(handle);
    atomic_fetch_add(&loads, 1);
  }
  return NULL;
}

/* loader LIBRARY N: N threads prepare while another one loads and unloads a library. */
static void step_loader(char **argv) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, load_again_and_again, argv[0]) != 0) return;
  run_threads("loader", number(argv[1]));
  atomic_store(&enough, 1);
  pthread_join(thread, NULL);
  put_step("loads", TJ_OK, atomic_load(&loads) > 0 ? "some" : "none");
}

/* ---- main ------------------------------------------------------------------------------------------ */

typedef struct step {
  const char *name;
  int n_arguments;
  void (*take)(char **argv);
} step;

static const step steps[] = {
    {"get", 2, step_get},     {"get-on", 3, step_get_on},   {"add", 1, step_add},
    {"call", 0, step_call},   {"prepare", 2, step_prepare}, {"info", 0, step_info},
    {"sh", 1, step_sh},       {"maps", 1, step_maps},       {"global", 1, step_global},
    {"nproc", 1, step_nproc}, {"threads", 1, step_threads}, {"loader", 2, step_loader},
};

int main(int argc, char **argv) {
  records = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (records == NULL) return 2;
  tj_set_log(put_log, NULL, TJ_LOG_INFO);
  for (int at = 2; at < argc;) {
    const step *next = NULL;
    for (size_t i = 0; i < COUNT(steps); i++)
      if (strcmp(steps[i].name, argv[at]) == 0) next = &steps[i];
    if (next == NULL || at + next->n_arguments >= argc) return 2;
    next->take(&argv[at + 1]);
    at += 1 + next->n_arguments;
  }
  return 0;
}
