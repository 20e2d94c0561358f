/* SPDX-License-Identifier: Apache-2.0 */
/* Many variants of one kernel (R128): counted, unloaded on demand, loaded again. */
#include "calls.h"

enum { VARIANTS = 40 };

static tj_function *ids;

/* Whether the variant for the constant `plus` does its work. */
static bool is_right(int64_t plus) {
  static _Alignas(16) int32_t out[64];
  tj_launch launch = tj_launch_grid(2, 1, 1);
  tj_arg args[] = {tj_ptr(out, TJ_I32), tj_i32(64), tj_int(32), tj_int(plus)};
  memset(out, -1, sizeof out);
  if (tj_function_call(ids, &launch, args, COUNT(args)) != TJ_OK) return false;
  for (int i = 0; i < 64; i++)
    if (out[i] != i / 32 + (int)plus) return false;
  return true;
}

#if !defined HAVE_ASAN && !defined HAVE_TSAN /* which keep what was freed */
static size_t resident_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  char text[256]; /* pages: of the program, and of those in memory */
  CHECK(file && fgets(text, sizeof text, file));
  CHECK(fclose(file) == 0);
  char *at = text;
  CHECK(strtoul(at, &at, 10) > 0);
  return strtoul(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}
#else
static size_t resident_bytes(void) { return 0; }
#endif

static int unloads;
static void count_unload(void *user, const tj_event *event) {
  CHECK(user == &unloads && event->status == TJ_OK);
  unloads++;
}

static void many_variants_are_counted_and_unloaded(void) {
  ids = find_kernel("many", "block_ids_plus");
  CHECK(ids && is_right(1000));
  for (int i = 0; i < VARIANTS; i++) CHECK(is_right(i));
  tj_stats now = stats();
  CHECK(now.variants == VARIANTS + 1 && now.compiles == VARIANTS + 1 && now.loads == VARIANTS + 1);
  for (int i = 0; i < VARIANTS; i++) CHECK(is_right(i));
  CHECK(stats().compiles == now.compiles && stats().hits == now.hits + VARIANTS);

  tj_hooks hooks = TJ_HOOKS_INIT;
  hooks.user = &unloads;
  hooks.unload = count_unload;
  CHECK(tj_set_hooks(&hooks) == TJ_OK);
  CHECK(tj_trim() == TJ_OK && unloads == VARIANTS + 1);
  for (int i = 0; i < VARIANTS; i++) CHECK(is_right(i)); /* loaded again, not compiled */
  CHECK(stats().compiles == now.compiles && stats().loads == now.loads + VARIANTS);

  /* Unloading gives back what loading took: rounds of it do not grow. */
  CHECK(tj_trim() == TJ_OK && is_right(0));
  size_t before = resident_bytes();
  for (int round = 0; round < 20; round++) {
    CHECK(tj_trim() == TJ_OK);
    for (int i = 0; i < VARIANTS; i++) CHECK(is_right(i));
  }
  CHECK(tj_trim() == TJ_OK && is_right(0));
  size_t after = resident_bytes();
  CHECK(after < before + (4u << 20));
  CHECK(tj_set_hooks(NULL) == TJ_OK);
}

#define SCENARIOS(X) X(many_variants_are_counted_and_unloaded)

SCENARIOS(SCENARIO_TEST)

int main(void) {
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
