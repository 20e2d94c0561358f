/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU backend's sanitizers are made of: vector clocks, layouts, shadow memory, turns. */
#include "cpu_artifact.h"

#include <pthread.h>

#include "cpu/sanitizer/arguments.h"
#include "cpu/sanitizer/clock.h"
#include "cpu/sanitizer/race.h"
#include "cpu/sanitizer/turns.h"
#include "triton_jit/runtime.h"

/* ---- vector clocks ------------------------------------------------------------------------- */

#define PROGRAMS 64u

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

static void check_clock(const tj_cpu_clock *clock, const uint32_t *expected) {
  for (uint32_t i = 0; i < PROGRAMS; i++) assert_int_equal(tj_cpu_clock_of(clock, i), expected[i]);
  for (uint32_t i = 1; i < clock->n; i++) { /* sorted, and runs that could be one are one */
    const tj_cpu_run *left = &clock->runs[i - 1], *right = &clock->runs[i];
    assert_true(left->last < right->first);
    assert_false(left->last + 1 == right->first && left->time == right->time);
  }
}

static void test_clocks_against_arrays(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (int round = 0; round < 200; round++) {
    tj_cpu_clock clocks[2] = {{0}, {0}};
    uint32_t expected[2][PROGRAMS] = {{0}, {0}};
    for (int step = 0; step < 60; step++) {
      uint32_t which = next_random(&seed) >> 31, program = (next_random(&seed) >> 8) % PROGRAMS;
      uint32_t time = 1 + (next_random(&seed) >> 8) % 4;
      assert_true(tj_cpu_clock_set(&clocks[which], program, time));
      if (expected[which][program] < time) expected[which][program] = time;
      check_clock(&clocks[which], expected[which]);
    }
    assert_true(tj_cpu_clock_join(&clocks[0], &clocks[1]));
    for (uint32_t i = 0; i < PROGRAMS; i++)
      if (expected[0][i] < expected[1][i]) expected[0][i] = expected[1][i];
    check_clock(&clocks[0], expected[0]);
    tj_cpu_clock_free(&clocks[0]);
    tj_cpu_clock_free(&clocks[1]);
  }
}

static void test_a_range_of_programs_is_one_run(void **state) {
  (void)state;
  tj_cpu_clock clock = {0};
  for (uint64_t i = 0; i < 10000; i++) assert_true(tj_cpu_clock_set(&clock, i, 2));
  assert_int_equal(clock.n, 1);
  assert_true(clock.capacity <= 8);
  assert_int_equal(tj_cpu_clock_of(&clock, 9999), 2);
  assert_int_equal(tj_cpu_clock_of(&clock, 10000), 0);
  tj_cpu_clock_free(&clock);
}

/* ---- layouts -------------------------------------------------------------------------------- */

/* Every position of a layout against a list of all its elements. */
static void check_layout(uint32_t rank, const int64_t *shape, const int64_t *strides) {
  enum { BASE = 1 << 20, SPAN = 400, SIZE = 4 };
  bool inside[2 * SPAN] = {false};
  int64_t low = 0, high = 0, count = 1;
  for (uint32_t axis = 0; axis < rank; axis++) {
    int64_t reach = (shape[axis] - 1) * strides[axis];
    low += reach < 0 ? reach : 0;
    high += reach > 0 ? reach : 0;
    count *= shape[axis];
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t at = SPAN, rest = i;
    for (uint32_t axis = rank; axis-- > 0; rest /= shape[axis])
      at += rest % shape[axis] * strides[axis];
    inside[at] = true;
  }
  tj_cpu_argument argument = {.name = "x", .address = BASE, .pointer = true, .dense = false};
  argument.extent = (tj_extent){.known = 1,
                                .element_size = SIZE,
                                .address = BASE,
                                .first = (uint64_t)(BASE + low * SIZE),
                                .last = (uint64_t)(BASE + (high + 1) * SIZE - 1),
                                .rank = rank,
                                .shape = shape,
                                .strides = strides};
  for (int64_t at = -SPAN; at < SPAN; at++) {
    tj_cpu_side side = tj_cpu_argument_side(&argument, (uint64_t)(BASE + at * SIZE), SIZE);
    tj_cpu_side expected = at < low            ? TJ_CPU_BEFORE
                           : at > high         ? TJ_CPU_BEHIND
                           : inside[at + SPAN] ? TJ_CPU_WITHIN
                                               : TJ_CPU_BETWEEN;
    assert_int_equal(side, expected);
  }
  assert_int_equal(tj_cpu_argument_side(&argument, argument.extent.last - 2, SIZE), TJ_CPU_BEHIND);
}

static void test_layouts(void **state) {
  (void)state;
  check_layout(1, (int64_t[]){10}, (int64_t[]){3});
  check_layout(1, (int64_t[]){10}, (int64_t[]){-3});
  check_layout(2, (int64_t[]){4, 5}, (int64_t[]){8, 1});
  check_layout(2, (int64_t[]){4, 5}, (int64_t[]){1, 8});
  check_layout(2, (int64_t[]){4, 5}, (int64_t[]){-20, 2});
  check_layout(3, (int64_t[]){3, 4, 5}, (int64_t[]){100, 12, 2});
  check_layout(3, (int64_t[]){3, 1, 5}, (int64_t[]){100, 7, 2});
  check_layout(3, (int64_t[]){3, 4, 5}, (int64_t[]){20, 0, 2});
  check_layout(2, (int64_t[]){1, 1}, (int64_t[]){5, 5});
}

/* ---- races ------------------------------------------------------------------------------------ */

typedef struct race_scene {
  tj_cpu_arguments arguments;
  tj_cpu_report report;
  tj_cpu_race *race;
} race_scene;

static void open_scene(race_scene *s, size_t limit) {
  *s = (race_scene){0};
  tj_cpu_report_begin(&s->report, "k");
  s->race = tj_cpu_race_new(&s->arguments, limit, 0);
  assert_non_null(s->race);
}

static void close_scene(race_scene *s) { tj_cpu_race_free(s->race); }

static void touch(race_scene *s, uint32_t program, uint32_t flags, uint32_t size,
                  uint64_t address) {
  static tj_cpu_site sites[64][2];
  tj_cpu_site *site = &sites[flags][size == 1];
  *site = (tj_cpu_site){.flags = flags,
                        .size = size,
                        .parameter = -1,
                        .operation = "op",
                        .place = "k.py:1",
                        .line = ""};
  tj_cpu_event event = {site, {program, 0, 0}, 0};
  tj_cpu_race_access(s->race, &s->report, &event, program, address);
}

enum { R = TJ_CPU_READ, W = TJ_CPU_WRITE, A = TJ_CPU_ATOMIC };

/* Findings when program 0 does `first` and program 1 does `second`. */
static uint64_t findings(uint32_t first, uint32_t second) {
  race_scene s;
  open_scene(&s, 1 << 20);
  touch(&s, 0, first, 4, 0x1000);
  touch(&s, 1, second, 4, 0x1000);
  uint64_t found = s.report.findings;
  close_scene(&s);
  return found;
}

static void test_which_pairs_race(void **state) {
  (void)state;
  assert_int_equal(findings(R, R), 0);
  assert_int_equal(findings(R, W), 1);
  assert_int_equal(findings(W, R), 1);
  assert_int_equal(findings(W, W), 1);
  assert_int_equal(findings(A | R | W, A | R | W), 0);
  assert_int_equal(findings(A | R | W, R), 1);
  assert_int_equal(findings(W, A | R), 1);
  assert_int_equal(findings(R, A | R), 0);
}

static void test_bytes_and_borders(void **state) {
  (void)state;
  race_scene s;
  open_scene(&s, 1 << 20);
  for (uint32_t i = 0; i < 32; i++) touch(&s, i, W, 1, 0x1000 + i);
  assert_int_equal(s.report.findings, 0);
  touch(&s, 40, W, 4, 0x1006); /* across a border of 8 bytes: four others */
  assert_int_equal(s.report.findings, 4);
  close_scene(&s);
}

static void test_release_and_acquire(void **state) {
  (void)state;
  const uint32_t release = A | R | W | TJ_CPU_RELEASE, acquire = A | R | W | TJ_CPU_ACQUIRE;
  race_scene s;
  open_scene(&s, 1 << 20);
  touch(&s, 0, W, 4, 0x1000);
  touch(&s, 0, release, 4, 0x2000);
  touch(&s, 0, W, 4, 0x1004); /* behind the release */
  touch(&s, 1, acquire | TJ_CPU_RELEASE, 4, 0x2000);
  touch(&s, 2, acquire, 4, 0x2000); /* sees 0 through 1 */
  touch(&s, 2, R, 4, 0x1000);
  assert_int_equal(s.report.findings, 0);
  touch(&s, 2, R, 4, 0x1004);
  assert_int_equal(s.report.findings, 1);
  touch(&s, 3, A | R | W, 4, 0x2000); /* relaxed */
  touch(&s, 3, R, 4, 0x1000);
  assert_int_equal(s.report.findings, 2);
  assert_int_equal(s.report.status, TJ_E_KERNEL_RACE);
  close_scene(&s);
}

/* A write races with one of many readers, of which the latest are remembered. */
static void test_many_readers(void **state) {
  (void)state;
  race_scene s;
  open_scene(&s, 1 << 16);
  for (uint32_t i = 0; i < 100000; i++) touch(&s, i, R, 4, 0x1000);
  assert_int_equal(s.report.findings, 0);
  touch(&s, 100000, W, 4, 0x1000);
  assert_int_equal(s.report.findings, TJ_CPU_READERS);
  close_scene(&s);
}

static void keep_last(void *user, int level, const char *text) {
  (void)level;
  (void)snprintf(user, 256, "%s", text);
}

static void test_the_limit(void **state) {
  (void)state;
  char last[256] = "";
  race_scene s;
  open_scene(&s, 256 << 10);
  for (uint64_t i = 0; i < 100000; i++) touch(&s, 0, W, 4, 0x10000 + 8 * i);
  for (uint64_t i = 0; i < 100; i++) touch(&s, 1, W, 4, 0x10000 + 8 * i); /* still known */
  assert_int_equal(s.report.findings, 100);
  tj_set_log(keep_last, last, TJ_LOG_WARNING);
  tj_cpu_race_end(s.race, "k");
  tj_set_log(NULL, NULL, 0);
  const char begin[] = "kernel k: ";
  assert_memory_equal(last, begin, sizeof begin - 1);
  char *end = NULL;
  unsigned long long unwatched = strtoull(last + sizeof begin - 1, &end, 10);
  assert_memory_equal(end, " accesses were not watched", 26);
  assert_in_range(unwatched, 90000, 100000);
  close_scene(&s);
}

/* Beyond what can be said of the order of programs nothing is watched: no race is made up. */
static void test_the_limit_of_order(void **state) {
  (void)state;
  race_scene s;
  open_scene(&s, 64 << 10);
  const uint32_t release = A | R | W | TJ_CPU_RELEASE, acquire = A | R | W | TJ_CPU_ACQUIRE;
  for (uint32_t i = 0; i < 5000; i++) {
    touch(&s, i, W, 4, 0x1000);
    touch(&s, i, release, 4, 0x20000 + 16 * (uint64_t)i);
    touch(&s, i + 1, acquire, 4, 0x20000 + 16 * (uint64_t)i);
  }
  assert_int_equal(s.report.findings, 0);
  close_scene(&s);
}

/* ---- turns -------------------------------------------------------------------------------------- */

#define MEMBERS 8
#define ROUNDS 50

typedef struct turns_scene {
  tj_cpu_turns *turns;
  uint32_t log[MEMBERS * ROUNDS], n; /* without a lock: only who has the turn touches it */
} turns_scene;

typedef struct turns_member {
  turns_scene *scene;
  uint32_t program;
} turns_member;

static void *take_turns(void *argument) {
  const turns_member *self = argument;
  turns_scene *scene = self->scene;
  tj_cpu_turns_enter(scene->turns, self->program);
  uint32_t rounds = ROUNDS - self->program; /* some are over earlier */
  for (uint32_t i = 0; i < rounds; i++) {
    scene->log[scene->n++] = self->program;
    tj_cpu_turns_pass(scene->turns);
  }
  tj_cpu_turns_leave(scene->turns);
  return NULL;
}

static void test_turns(void **state) {
  (void)state;
  turns_scene scene = {.turns = tj_cpu_turns_new(MEMBERS)};
  assert_non_null(scene.turns);
  pthread_t threads[MEMBERS];
  turns_member members[MEMBERS];
  for (uint32_t i = MEMBERS; i-- > 0;) {
    members[i] = (turns_member){&scene, i};
    assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &members[i]), 0);
  }
  for (uint32_t i = 0; i < MEMBERS; i++) pthread_join(threads[i], NULL);
  uint32_t at = 0;
  for (uint32_t round = 0; round < ROUNDS; round++)
    for (uint32_t i = 0; i < MEMBERS; i++)
      if (round < ROUNDS - i) assert_int_equal(scene.log[at++], i);
  assert_int_equal(scene.n, at);
  tj_cpu_turns_free(scene.turns);
}

/* ---- launches ------------------------------------------------------------------------------------ */

static const tj_slot slots[] = {{.dtype = TJ_I32, .pointer = 1, .size = 8},
                                {.dtype = TJ_I64, .size = 8, .offset = 8}};

static tj_status launch_sanitized(void *module, tj_artifact *artifact, uint32_t grid, void *out) {
  _Alignas(16) test_params params = {out, 0};
  artifact->slots = slots;
  tj_backend_launch launch = {.struct_size = sizeof launch,
                              .grid = {grid, 1, 1},
                              .params = &params,
                              .params_size = sizeof params,
                              .n_slots = 2,
                              .artifact = artifact};
  return tj_backend_cpu.launch(module, &launch);
}

typedef struct launcher {
  void *module;
  tj_artifact artifact;
  uint32_t grid;
  tj_status status;
} launcher;

static void *launch_often(void *argument) {
  launcher *self = argument;
  int32_t out[64] = {0};
  for (int i = 0; i < 20; i++)
    self->status = launch_sanitized(self->module, &self->artifact, self->grid, out);
  return NULL;
}

static const char globals[] =
    "static const char *const names[] = {\"out\", \"n\"};\n"
    "static const tj_cpu_site site = {TJ_CPU_WRITE, 4, 0, 0, {0}, \"tl.store\", \"k.py:3\", \"\"};\n";
static const char body[] =
    "tj_cpu_event event = {&site, {(uint32_t)x, 0, 0}, 0};\n"
    "int32_t *place = (int32_t *)p->out + x / 2;\n"
    "if (host->sanitizer->access(host->sanitizer->ctx, &event, place) == 0) *place = 1;";

/* Launches of one module by several threads at once do not know of each other. */
static void test_launches_at_once(void **state) {
  (void)state;
  tj_artifact artifact =
      test_artifact("TJ_CPU_ABI, TJ_CPU_ADDRESS | TJ_CPU_RACE, 0, 16, 2, names", globals, body);
  void *module = test_load(&artifact);
  launcher launchers[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    launchers[i] = (launcher){module, artifact, i % 2 ? 8 : 1, -1};
    assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &launchers[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(launchers[i].status, i % 2 ? TJ_E_KERNEL_RACE : TJ_OK);
  }
  int32_t out[8] = {0};
  assert_int_equal(launch_sanitized(module, &artifact, 8, out), TJ_E_KERNEL_RACE);
  assert_non_null(strstr(tj_last_error(), "kernel test_kernel: k.py:3: tl.store writes element 0 "
                                          "of 'out' in program (1, 0, 0)"));
  assert_non_null(strstr(tj_last_error(), "4 findings, at 1 place"));
  assert_int_equal(launch_sanitized(module, &artifact, 1, NULL), TJ_E_KERNEL_ACCESS);
  assert_non_null(strstr(tj_last_error(), "through a null pointer"));
  tj_backend_cpu.unload(module);
  artifact_free(&artifact);
}

static void test_names_are_needed(void **state) {
  (void)state;
  tj_artifact artifact = test_artifact("TJ_CPU_ABI, TJ_CPU_RACE, 0, 16, 2, 0", "", "");
  void *module = NULL;
  assert_int_equal(tj_backend_cpu.load(&artifact, 0, 0, &module), TJ_E_LOAD);
  assert_non_null(strstr(tj_last_error(), "no parameter names"));
  artifact_free(&artifact);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clocks_against_arrays),
      cmocka_unit_test(test_a_range_of_programs_is_one_run),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_which_pairs_race),
      cmocka_unit_test(test_bytes_and_borders),
      cmocka_unit_test(test_release_and_acquire),
      cmocka_unit_test(test_many_readers),
      cmocka_unit_test(test_the_limit),
      cmocka_unit_test(test_the_limit_of_order),
      cmocka_unit_test(test_turns),
      cmocka_unit_test(test_launches_at_once),
      cmocka_unit_test(test_names_are_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
