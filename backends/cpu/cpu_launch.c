/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_launch.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cpu/cpu_fenv.h"
#include "cpu/cpu_pool.h"
#include "cpu/cpu_scratch.h"
#include "cpu/sanitizer/sanitizer.h"

/* Work that is not worth another thread: waking one takes about as long. */
#define ALONE_NS 10000u
/* A grid beyond this is worth it, whatever its programs do. */
#define SMALL_GRID ((uint64_t)1 << 20)
/* Ranges that each thread gets on average: enough to even out programs that differ. */
#define RANGES_PER_THREAD ((uint64_t)8)

#define TIME_SCALE 256u /* of tj_cpu_module.program_time */

/* ---- what a program tells ---------------------------------------------------------------- */

static bool claim_failure(tj_cpu_call *call) {
  return !atomic_exchange_explicit(&call->failed, true, memory_order_relaxed);
}

static void host_fail(void *ctx, int32_t kind, const char *text, size_t size) {
  tj_cpu_call *call = ctx;
  if (!claim_failure(call)) return;
  call->status = kind == TJ_CPU_FAIL_ASSERT ? TJ_E_KERNEL_ASSERT : TJ_E_LAUNCH;
  call->kind = kind;
  call->text_size = size < sizeof call->text ? size : sizeof call->text;
  memcpy(call->text, text, call->text_size);
}

static void host_print(void *ctx, const char *text, size_t size) {
  (void)ctx;
  tj_log_text(TJ_LOG_INFO, text, size);
}

static int32_t host_wait(void *ctx) {
  const tj_cpu_call *call = ctx;
  (void)sched_yield();
  return atomic_load_explicit(&call->failed, memory_order_relaxed);
}

void tj_cpu_call_fail(tj_cpu_call *call, tj_status status, const char *text) {
  if (!claim_failure(call)) return;
  call->status = status;
  call->kind = 0;
  call->text_size = strnlen(text, sizeof call->text);
  memcpy(call->text, text, call->text_size);
}

static tj_status report(const tj_cpu_call *call) {
  const char *what = call->kind == TJ_CPU_FAIL_ASSERT ? "device_assert failed: "
                     : call->kind == TJ_CPU_FAIL_TRAP ? "it cannot go on: "
                                                      : "";
  return tj_fail(call->status, "kernel %s: %s%.*s", call->module->function, what,
                 (int)call->text_size, call->text);
}

bool tj_cpu_run_range(tj_cpu_call *call, void *scratch, uint64_t first, uint64_t last) {
  int32_t stopped = call->module->run(call->params, call->grid, first, last, scratch, &call->host);
  if (__builtin_expect(stopped != 0, 0))
    tj_cpu_call_fail(call, TJ_E_LAUNCH, "a program stopped without saying why");
  return !atomic_load_explicit(&call->failed, memory_order_relaxed);
}

/* ---- a grid on several threads ------------------------------------------------------------ */

/* Nanoseconds that `programs` programs will take, as far as is known. */
static uint64_t expected_ns(const tj_cpu_module *module, uint64_t programs) {
  if (programs > SMALL_GRID) return UINT64_MAX;
  uint64_t each = atomic_load_explicit(&module->program_time, memory_order_relaxed);
  return each > UINT64_MAX / SMALL_GRID ? UINT64_MAX : programs * each / TIME_SCALE;
}

/* Remembers what a program took. A line that many threads read is written only if the news
   matter. */
static void learn(tj_cpu_module *module, uint64_t ns, uint64_t programs) {
  if (programs == 0 || ns > UINT64_MAX / TIME_SCALE) return;
  uint64_t each = ns * TIME_SCALE / programs;
  uint64_t known = atomic_load_explicit(&module->program_time, memory_order_relaxed);
  if (each / 2 > known || each < known / 2)
    atomic_store_explicit(&module->program_time, each, memory_order_relaxed);
}

static void help(tj_cpu_job *job) {
  tj_cpu_call *call = job->ctx;
  uint64_t size = call->module->scratch_size, first, last;
  void *scratch = size ? tj_cpu_scratch_take(size) : NULL;
  if (size && scratch == NULL) return; /* the others do it */
  while (tj_cpu_job_take_as_helper(job, &first, &last))
    if (!tj_cpu_run_range(call, scratch, first, last)) tj_cpu_job_stop(job);
  if (scratch) tj_cpu_scratch_give(scratch);
}

static uint32_t seats_for(const tj_cpu_module *module, uint64_t programs, uint64_t ranges,
                          uint32_t threads) {
  uint64_t seats = expected_ns(module, programs) / ALONE_NS;
  if (seats > ranges - 1) seats = ranges - 1;
  if (seats > threads - 1) seats = threads - 1;
  return (uint32_t)seats;
}

static void run_shared(tj_cpu_call *call, void *scratch, uint64_t done, uint64_t total,
                       uint32_t threads) {
  tj_cpu_job job = {.help = help, .ctx = call, .total = total, .next = done};
  uint64_t programs = total - done, taken = 0, first, last;
  job.chunk = programs / (threads * RANGES_PER_THREAD);
  if (job.chunk == 0 || call->module->ordered) job.chunk = 1;
  job.seats = seats_for(call->module, programs, (programs - 1) / job.chunk + 1, threads);
  tj_cpu_pool_open(&job);
  uint64_t begin = tj_now();
  while (tj_cpu_job_take(&job, &first, &last)) {
    if (!tj_cpu_run_range(call, scratch, first, last)) tj_cpu_job_stop(&job);
    taken += last - first;
  }
  learn(call->module, tj_now() - begin, taken);
  if (!tj_cpu_pool_close(&job))
    tj_cpu_call_fail(call, TJ_E_LAUNCH,
                     "a log callback forked during the launch, and the programs that other "
                     "threads ran are lost in the child");
}

/*
 * Begins alone, and calls others once the rest is known to be worth it. Alone it looks at
 * the clock after 1, 9, 73... programs, since they may take longer this time than the last.
 */
static void run_grid(tj_cpu_call *call, void *scratch, uint64_t total) {
  tj_cpu_module *module = call->module;
  uint32_t threads = tj_cpu_pool_size();
  if (threads == 1) {
    (void)tj_cpu_run_range(call, scratch, 0, total);
    return;
  }
  uint64_t done = 0;
  if (expected_ns(module, total) <= ALONE_NS) {
    uint64_t begin = tj_now();
    for (uint64_t piece = 1; done < total; piece *= 8) {
      uint64_t last = piece < total - done ? done + piece : total;
      if (!tj_cpu_run_range(call, scratch, done, last)) return;
      done = last;
      learn(module, tj_now() - begin, done);
      if (expected_ns(module, total - done) > ALONE_NS) break;
    }
  }
  if (done < total) run_shared(call, scratch, done, total, threads);
}

/* ---- the launch ---------------------------------------------------------------------------- */

static tj_status too_many_programs(const tj_cpu_module *module, const uint32_t grid[3]) {
  return tj_fail(TJ_E_GRID, "kernel %s: a grid of %u x %u x %u has more than 2^50 programs",
                 module->function, grid[0], grid[1], grid[2]);
}

tj_status tj_cpu_launch(void *handle, const tj_backend_launch *launch) {
  tj_cpu_module *module = handle;
  const uint32_t *grid = launch->grid;
  uint64_t total = (uint64_t)grid[0] * grid[1]; /* of two numbers below 2^32 */
  if (__builtin_expect(__builtin_mul_overflow(total, grid[2], &total) || total > TJ_CPU_JOB_MAX, 0))
    return too_many_programs(module, grid);

  tj_cpu_call call; /* `text` stays as it is */
  call.module = module;
  call.params = launch->params;
  call.grid = grid;
  call.host = (tj_cpu_host){&call, host_print, host_fail, host_wait, NULL};
  atomic_init(&call.failed, false);

  void *scratch = NULL;
  if (module->scratch_size) {
    scratch = tj_cpu_scratch_take(module->scratch_size);
    if (scratch == NULL)
      return tj_fail(TJ_E_OUT_OF_MEMORY,
                     "kernel %s: no memory for the %llu bytes of scratch that a program needs; "
                     "smaller blocks need less",
                     module->function, (unsigned long long)module->scratch_size);
  }
  tj_status status = TJ_OK;
  tj_cpu_fenv fenv = tj_cpu_fenv_enter();
  if (__builtin_expect(module->sanitizers != 0, 0))
    status = tj_cpu_run_sanitized(&call, launch, scratch, total);
  else if (total == 1)
    (void)tj_cpu_run_range(&call, scratch, 0, 1);
  else if (module->cooperative)
    tj_cpu_run_cooperative(&call, scratch, total, NULL);
  else
    run_grid(&call, scratch, total);
  tj_cpu_fenv_leave(fenv);
  if (scratch) tj_cpu_scratch_give(scratch);
  if (__builtin_expect(status != TJ_OK, 0)) return status;
  return __builtin_expect(atomic_load_explicit(&call.failed, memory_order_relaxed), 0)
             ? report(&call)
             : TJ_OK;
}
