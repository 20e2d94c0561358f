/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Own cost of a call: everything but the driver, on the null backend, in nanoseconds and
 * in instructions, by number of arguments; and what a second thread adds.
 *
 * The floor is a direct call of the null backend's launch with a struct made by hand; it
 * is not taken off the figures.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench.h"
#include "fake_compiler.h"
#include "triton_jit/sys/backend.h"
#include "triton_jit/triton_jit.h"

/* Four kinds of calls, and a second function of 19 arguments for the threads. */
enum { MAX_ARGS = 58, MAX_DESCS = 3, N_CALLS = 4, N_SUBJECTS = 5 };
static const struct {
  size_t n_args, n_descs; /* the first ones are tensor descriptors */
} shapes[N_SUBJECTS] = {{5, 0}, {19, 0}, {MAX_ARGS, 0}, {7, MAX_DESCS}, {19, 0}};

extern const tj_backend tj_backend_null;

static void die(const char *what) {
  fprintf(stderr, "%s: %s\n", what, tj_last_error());
  exit(1);
}

/* ---- functions of so many parameters: descriptors, pointers, integers, a constexpr at the end -- */

typedef struct subject {
  size_t n, n_descs;
  char name[16], label[64], params[4096];
  tj_function *function;
  tj_kernel *kernel;
  tj_launch launch;
  tj_arg args[MAX_ARGS];
  tj_tensor_desc descs[MAX_DESCS];
} subject;

static subject subjects[N_SUBJECTS];
static _Alignas(16) char aligned[16];
static fake_function table[N_SUBJECTS];

static void describe_subject(subject *s, size_t n, size_t n_descs) {
  s->n = n;
  s->n_descs = n_descs;
  if (n_descs > 0)
    (void)snprintf(s->label, sizeof s->label, "%zu arguments, %zu descriptors", n, n_descs);
  else
    (void)snprintf(s->label, sizeof s->label, "%zu arguments", n);
  (void)snprintf(s->name, sizeof s->name, "kernel_%d", (int)(s - subjects));
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    int added = snprintf(s->params + at, sizeof s->params - at, "%s{'name':'p%zu'%s}", i ? "," : "",
                         i, i == n - 1 ? ",'constexpr':true" : "");
    if (added < 0 || (size_t)added >= sizeof s->params - at) die("too many parameters");
    at += (size_t)added;
  }
}

static void open_subject(subject *s) {
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = "bench";
  desc.name = s->name;
  desc.backend = "null";
  if (tj_function_get_ex(&desc, &s->function) != TJ_OK) die("tj_function_get_ex");
  for (size_t i = 0; i + 1 < s->n; i++) {
    if (i < s->n_descs) {
      const int64_t shape[] = {1000, 512};
      const uint32_t block[] = {64, 32};
      s->descs[i] = tj_tensor_desc_make(NULL, TJ_FP16, 2, shape, NULL, block);
      s->descs[i].base = aligned; /* nothing is read through it */
      s->args[i] = tj_desc(&s->descs[i]);
    } else if (i % 3 == 2) {
      s->args[i] = tj_int(1000 + (int64_t)i);
    } else {
      s->args[i] = tj_ptr(NULL, TJ_FP32);
      s->args[i].v.u = 0x10000 + 16 * i;
    }
  }
  s->args[s->n - 1] = tj_int(1024);
  s->launch = tj_launch_grid(16, 1, 1);
  if (tj_function_prepare(s->function, &s->launch, s->args, s->n, &s->kernel) != TJ_OK)
    die("tj_function_prepare");
}

/* ---- what is timed ------------------------------------------------------------------------------ */

static void run_floor(void *user, uint64_t n) {
  subject *s = user;
  tj_backend_launch launch = {.struct_size = sizeof launch, .grid = {16, 1, 1}, .params = s->args};
  for (uint64_t i = 0; i < n; i++)
    if (tj_backend_null.launch(NULL, &launch) != TJ_OK) die("launch");
}

static void run_call(void *user, uint64_t n) {
  subject *s = user;
  for (uint64_t i = 0; i < n; i++)
    if (tj_function_call(s->function, &s->launch, s->args, s->n) != TJ_OK) die("tj_function_call");
}

static void run_kernel(void *user, uint64_t n) {
  subject *s = user;
  for (uint64_t i = 0; i < n; i++)
    if (tj_kernel_launch(s->kernel, &s->launch, s->args, s->n) != TJ_OK) die("tj_kernel_launch");
}

static void run_unchecked(void *user, uint64_t n) {
  subject *s = user;
  tj_launch launch = s->launch;
  launch.flags = TJ_LAUNCH_UNCHECKED;
  for (uint64_t i = 0; i < n; i++)
    if (tj_kernel_launch(s->kernel, &launch, s->args, s->n) != TJ_OK) die("tj_kernel_launch");
}

static const struct {
  const char *name;
  void (*run)(void *user, uint64_t n);
} kinds[] = {{"null launch alone (floor)", run_floor},
             {"tj_function_call", run_call},
             {"tj_kernel_launch, checked", run_kernel},
             {"tj_kernel_launch, unchecked", run_unchecked}};

#define N_KINDS (sizeof kinds / sizeof *kinds)
#define N_CASES (N_KINDS * N_CALLS)

static void time_calls(uint64_t n, unsigned batches) {
  bench_case cases[N_CASES];
  for (size_t k = 0; k < N_KINDS; k++)
    for (size_t c = 0; c < N_CALLS; c++)
      cases[k * N_CALLS + c] = (bench_case){kinds[k].name, kinds[k].run, &subjects[c], 0, 0, 0, -1};
  bench_time(cases, N_CASES, n, batches);
  printf("%-30s %-27s %10s %18s %13s\n", "own cost of a call", "with", "ns, median", "10 to 90 %",
         "instructions");
  for (size_t i = 0; i < N_CASES; i++) {
    const bench_case *c = &cases[i];
    const subject *s = c->user;
    char instructions[32] = "not counted", name[96];
    if (c->instructions >= 0)
      (void)snprintf(instructions, sizeof instructions, "%.0f", c->instructions);
    printf("%-30s %-27s %10.1f %8.1f to %6.1f %13s\n", c->name, s->label, c->median_ns, c->low_ns,
           c->high_ns, instructions);
    (void)snprintf(name, sizeof name, "%s, %s", c->name, s->label);
    bench_report(name, c->median_ns, "ns");
    if (c->instructions >= 0) bench_report(name, c->instructions, "instructions");
  }
}

/* ---- two threads ---------------------------------------------------------------------------------- */

typedef struct racer {
  subject *s;
  uint64_t n, begin, end;
  _Atomic unsigned *waiting; /* threads that are not ready yet */
} racer;

static void *race(void *user) {
  racer *r = user;
  run_call(r->s, r->n / 10 + 1);
  /* Spinning: waking up from a barrier takes longer than many calls. */
  atomic_fetch_sub(r->waiting, 1);
  while (atomic_load(r->waiting) > 0) continue;
  r->begin = tj_now();
  run_call(r->s, r->n);
  r->end = tj_now();
  return NULL;
}

/* Calls a nanosecond of `n_threads` threads together. */
static double rate(subject *const *s, unsigned n_threads, uint64_t n) {
  _Atomic unsigned waiting = n_threads;
  pthread_t threads[2];
  racer racers[2];
  for (unsigned i = 0; i < n_threads; i++) {
    racers[i] = (racer){s[i], n, 0, 0, &waiting};
    if (pthread_create(&threads[i], NULL, race, &racers[i]) != 0) die("pthread_create");
  }
  uint64_t begin = UINT64_MAX, end = 0;
  for (unsigned i = 0; i < n_threads; i++) {
    pthread_join(threads[i], NULL);
    if (racers[i].begin < begin) begin = racers[i].begin;
    if (racers[i].end > end) end = racers[i].end;
  }
  return (double)n * n_threads / (double)(end - begin);
}

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static void time_threads(const char *name, subject *first, subject *second, uint64_t n,
                         unsigned rounds) {
  double ratios[100];
  for (unsigned i = 0; i < rounds; i++) {
    subject *both[] = {first, second}, *one[] = {first}, *other[] = {second};
    double alone = rate(one, 1, n), alone_too = first == second ? alone : rate(other, 1, n);
    ratios[i] = rate(both, 2, n) / ((alone + alone_too) / 2);
  }
  qsort(ratios, rounds, sizeof *ratios, by_value);
  printf("%-40s %.2f x one thread (%.2f to %.2f)\n", name, ratios[rounds / 2], ratios[rounds / 10],
         ratios[rounds - 1 - rounds / 10]);
  bench_report(name, ratios[rounds / 2], "x one thread");
}

int main(int argc, char **argv) {
  bench_options options = bench_parse(argc, argv);
  for (size_t i = 0; i < N_SUBJECTS; i++) {
    describe_subject(&subjects[i], shapes[i].n_args, shapes[i].n_descs);
    table[i] = (fake_function){.name = subjects[i].name, .params = subjects[i].params};
  }
  fake_install(table, N_SUBJECTS);
  for (size_t i = 0; i < N_SUBJECTS; i++) open_subject(&subjects[i]);

  if (options.only >= 0) {
    if ((size_t)options.only >= N_CASES) return 2;
    subject *s = &subjects[options.only % N_CALLS];
    kinds[options.only / N_CALLS].run(s, options.runs);
    printf("%s, %s\n", kinds[options.only / N_CALLS].name, s->label);
    return 0;
  }
  time_calls(options.smoke ? 100 : 20000, options.smoke ? 3 : 101);
  printf("\n");
  uint64_t n = options.smoke ? 1000 : 4000000;
  unsigned rounds = options.smoke ? 1 : 21;
  time_threads("two threads, the same function", &subjects[1], &subjects[1], n, rounds);
  time_threads("two threads, different functions", &subjects[1], &subjects[4], n, rounds);
  return bench_finish(&options);
}
