/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics, and giving memory back. */
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "cache/table.h"
#include "call.h"
#include "function.h"
#include "launch/hooks.h"
#include "load/backends.h"

static void add_function(const tj_function *fn, tj_stats *stats) {
  stats->misses += atomic_load(&fn->stats.misses);
  stats->compiles += atomic_load(&fn->stats.compiles);
  stats->loads += atomic_load(&fn->stats.loads);
  stats->failures += atomic_load(&fn->stats.failures);
  stats->compile_ns += atomic_load(&fn->stats.compile_ns);
  stats->load_ns += atomic_load(&fn->stats.load_ns);
  stats->wait_ns += atomic_load(&fn->stats.wait_ns);
  stats->variants += atomic_load(&fn->table.count);
}

static tj_status check_stats(const char *call, const tj_stats *out_stats) {
  if (out_stats == NULL) return tj_fail_null(call, "out_stats");
  if (out_stats->struct_size < sizeof *out_stats)
    return tj_fail_size("tj_stats", out_stats->struct_size, sizeof *out_stats);
  return TJ_OK;
}

tj_status tj_function_get_stats(tj_function *fn, tj_stats *out_stats) {
  if (fn == NULL) return tj_fail_null("tj_function_get_stats", "fn");
  tj_status status = check_stats("tj_function_get_stats", out_stats);
  if (status != TJ_OK) return status;
  tj_stats stats = {.struct_size = out_stats->struct_size};
  tj_thread_sum_counts(fn->index, fn->index + 1, &stats.hits, &stats.launches);
  add_function(fn, &stats);
  *out_stats = stats;
  return TJ_OK;
}

tj_status tj_stats_get(tj_stats *out_stats) {
  tj_status status = check_stats("tj_stats_get", out_stats);
  if (status != TJ_OK) return status;
  tj_stats stats = {.struct_size = out_stats->struct_size};
  uint32_t n = tj_functions_count();
  tj_thread_sum_counts(0, n, &stats.hits, &stats.launches);
  for (uint32_t i = 0; i < n; i++) add_function(tj_functions_at(i), &stats);
  *out_stats = stats;
  return TJ_OK;
}

static void unload(tj_kernel *kernel, void *user) {
  tj_function *fn = user;
  if (atomic_load(&kernel->modules) == NULL) return;
  uint64_t begin = tj_now();
  tj_module_unload_all(fn->backend, kernel);
  const tj_hooks *hooks = tj_hooks_get();
  if (hooks && hooks->unload) {
    tj_want want = {.function = fn, .device = -1};
    tj_event event = tj_want_event(&want, kernel, TJ_OK, tj_now() - begin);
    hooks->unload(hooks->user, &event);
  }
}

tj_status tj_trim(void) {
  uint32_t n = tj_functions_count();
  for (uint32_t i = 0; i < n; i++) {
    tj_function *fn = tj_functions_at(i);
    tj_table_each(&fn->table, unload, fn);
  }
  return TJ_OK;
}

tj_status tj_set_scratch_allocator(const char *backend, tj_scratch_fn alloc, void *user) {
  (void)alloc, (void)user;
  return tj_fail(TJ_E_NOT_SUPPORTED,
                 "tj_set_scratch_allocator(%s): no backend of this version needs scratch memory",
                 backend ? backend : "NULL");
}
