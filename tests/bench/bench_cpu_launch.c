/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch on the CPU backend, without the stages above it: what an empty kernel costs
 * by the size of its grid, and how much faster a grid runs on the pool than on one thread,
 * by the time that it takes there.
 */
#include <stdio.h>

#include "bench.h"
#include "cpu/cpu_launch.h"
#include "cpu/cpu_pool.h"

/* A kernel in this program; `params` says how many turns a program does. */
static int32_t run(const void *params, const uint32_t grid[3], uint64_t first, uint64_t last,
                   void *scratch, const tj_cpu_host *host) {
  (void)grid, (void)scratch, (void)host;
  const uint64_t turns = *(const uint64_t *)params;
  for (uint64_t id = first; id < last; id++)
    for (uint64_t i = 0; i < turns; i++) __asm__ volatile("");
  return 0;
}

typedef struct subject {
  tj_cpu_module module;
  uint32_t grid;
  uint64_t turns;
  bool on_pool;
} subject;

static void launch(void *user, uint64_t n) {
  subject *s = user;
  _Alignas(16) uint64_t turns = s->turns;
  tj_backend_launch l = {.struct_size = sizeof l,
                         .grid = {s->grid, 1, 1},
                         .params = &turns,
                         .params_size = sizeof turns,
                         .n_slots = 1};
  for (uint64_t i = 0; i < n; i++) {
    if (!s->on_pool)
      (void)run(&turns, l.grid, 0, s->grid, NULL, NULL);
    else if (tj_cpu_launch(&s->module, &l) != TJ_OK)
      fprintf(stderr, "%s\n", tj_last_error());
  }
}

static subject make(uint32_t grid, uint64_t turns, bool on_pool) {
  return (subject){.module = {.run = run, .function = "bench"},
                   .grid = grid,
                   .turns = turns,
                   .on_pool = on_pool};
}

static void empty_kernels(bool smoke) {
  static const uint32_t grids[] = {1, 2, 16, 128, 1024};
  printf("empty kernel, ns a launch\n%8s %10s %18s %14s\n", "grid", "median", "10 to 90 %",
         "instructions");
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    subject s = make(grids[i], 0, true);
    bench_case c = {.name = "empty", .run = launch, .user = &s};
    bench_time(&c, 1, smoke ? 10 : 5000, smoke ? 3 : 101);
    printf("%8u %10.1f %8.1f %9.1f %14.0f\n", grids[i], c.median_ns, c.low_ns, c.high_ns,
           c.instructions);
    char name[64];
    (void)snprintf(name, sizeof name, "cpu launch, empty, grid %u", grids[i]);
    bench_report(name, c.median_ns, "ns");
  }
}

static void grids_on_the_pool(bool smoke) {
  static const uint64_t turns[] = {100, 300, 1000, 10000, 100000};
  printf("\ngrid of 256, on one thread and on %u, us\n%10s %10s %8s\n", tj_cpu_pool_size(), "one",
         "pool", "faster");
  for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
    subject subjects[2] = {make(256, turns[i], false), make(256, turns[i], true)};
    bench_case cases[2] = {{.name = "one", .run = launch, .user = &subjects[0]},
                           {.name = "pool", .run = launch, .user = &subjects[1]}};
    bench_time(cases, 2, smoke ? 1 : 1000000 / turns[i] / 100 + 1, smoke ? 3 : 21);
    double faster = cases[0].median_ns / cases[1].median_ns;
    printf("%10.1f %10.1f %8.2f\n", cases[0].median_ns / 1e3, cases[1].median_ns / 1e3, faster);
    char name[64];
    (void)snprintf(name, sizeof name, "cpu pool, 256 programs of %llu turns",
                   (unsigned long long)turns[i]);
    bench_report(name, faster, "x");
  }
}

int main(int argc, char **argv) {
  bench_options options = bench_parse(argc, argv);
  empty_kernels(options.smoke);
  grids_on_the_pool(options.smoke);
  return bench_finish(&options);
}
