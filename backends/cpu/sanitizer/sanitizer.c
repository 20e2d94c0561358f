/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/sanitizer.h"

#include "cpu/sanitizer/address.h"
#include "cpu/sanitizer/numeric.h"
#include "cpu/sanitizer/race.h"
#include "cpu/sanitizer/report.h"
#include "cpu/sanitizer/turns.h"

/* Calls of wait by programs that may wait for something that a skipped access did not do. */
#define PATIENCE 65536u

typedef struct tj_cpu_session {
  tj_cpu_call *call;
  tj_cpu_sanitizer services;
  tj_cpu_turns *turns; /* of a cooperative grid */
  tj_cpu_arguments arguments;
  tj_cpu_report report;
  /* NULL: not asked for. */
  tj_cpu_address *address;
  tj_cpu_race *race;
  tj_cpu_numeric *numeric;
  uint64_t program; /* the one that spoke last */
  uint32_t waits;   /* since the first finding */
} session;

/* ---- what a program calls ---------------------------------------------------------------------- */

static uint64_t linear_id(const session *s, const tj_cpu_event *event) {
  const uint32_t *grid = s->call->grid, *pid = event->pid;
  return pid[0] + (uint64_t)grid[0] * (pid[1] + (uint64_t)grid[1] * pid[2]);
}

static int32_t on_access(void *ctx, const tj_cpu_event *event, const volatile void *pointer) {
  session *s = ctx;
  uint64_t address = (uint64_t)(uintptr_t)pointer;
  if (s->address && !tj_cpu_address_check(s->address, &s->report, event, address)) return 1;
  if (s->race) tj_cpu_race_access(s->race, &s->report, event, linear_id(s, event), address);
  return 0;
}

static uint32_t on_born(void *ctx, const tj_cpu_event *event, double result, const double *operands,
                        uint32_t n) {
  session *s = ctx;
  uint64_t program = linear_id(s, event);
  if (program != s->program && !s->call->module->cooperative)
    tj_cpu_numeric_next_program(s->numeric);
  s->program = program;
  return tj_cpu_numeric_born(s->numeric, event, result, operands, n);
}

static void on_escape(void *ctx, const tj_cpu_event *event, uint32_t origin) {
  session *s = ctx;
  tj_cpu_numeric_escapes(s->numeric, &s->report, event, origin);
}

/* A lock that was to be released through a pointer that was refused stays taken. */
static int32_t on_wait(void *ctx) {
  const tj_cpu_call *call = ctx;
  session *s = call->session;
  if (s->turns) tj_cpu_turns_pass(s->turns);
  return atomic_load_explicit(&call->failed, memory_order_relaxed) ||
         (s->report.findings > 0 && ++s->waits > PATIENCE);
}

/* ---- the launch ---------------------------------------------------------------------------------- */

static bool prepare(session *s, const tj_backend_launch *launch, uint64_t total) {
  const tj_cpu_module *module = s->call->module;
  uint32_t in_turns = module->cooperative && total <= UINT32_MAX ? (uint32_t)total : 0;
  if (!tj_cpu_arguments_make(launch, module->params, &s->arguments)) return false;
  if (module->sanitizers & TJ_CPU_ADDRESS) s->address = tj_cpu_address_new(&s->arguments);
  if (module->sanitizers & TJ_CPU_RACE)
    s->race = tj_cpu_race_new(&s->arguments, TJ_CPU_RACE_BYTES, in_turns);
  if (module->sanitizers & TJ_CPU_NUMERIC) s->numeric = tj_cpu_numeric_new();
  return (s->address || !(module->sanitizers & TJ_CPU_ADDRESS)) &&
         (s->race || !(module->sanitizers & TJ_CPU_RACE)) &&
         (s->numeric || !(module->sanitizers & TJ_CPU_NUMERIC));
}

static void clean_up(session *s) {
  tj_cpu_address_free(s->address);
  tj_cpu_race_free(s->race);
  tj_cpu_numeric_free(s->numeric);
  tj_cpu_arguments_free(&s->arguments);
}

/* Programs of a cooperative grid wait for each other: all are begun, and take turns. */
static void run_in_turns(session *s, void *scratch, uint64_t total) {
  s->turns = tj_cpu_turns_new((uint32_t)total);
  if (s->turns == NULL) {
    tj_cpu_call_fail(s->call, TJ_E_OUT_OF_MEMORY, "no memory for the turns of a cooperative grid");
    return;
  }
  tj_cpu_run_cooperative(s->call, scratch, total, s->turns);
  tj_cpu_turns_free(s->turns);
}

static void run(session *s, void *scratch, uint64_t total) {
  if (s->call->module->cooperative && total > 1)
    run_in_turns(s, scratch, total);
  else
    (void)tj_cpu_run_range(s->call, scratch, 0, total);
}

tj_status tj_cpu_run_sanitized(tj_cpu_call *call, const tj_backend_launch *launch, void *scratch,
                               uint64_t total) {
  session s = {.call = call, .services = {&s, on_access, on_born, on_escape}};
  tj_cpu_report_begin(&s.report, call->module->function);
  bool ready = prepare(&s, launch, total);
  if (ready) {
    call->session = &s;
    call->host.wait = on_wait;
    call->host.sanitizer = &s.services;
    run(&s, scratch, total);
    if (s.address) tj_cpu_address_end(s.address, s.report.function);
    if (s.race) tj_cpu_race_end(s.race, s.report.function);
  }
  clean_up(&s);
  if (!ready)
    return tj_fail(TJ_E_OUT_OF_MEMORY, "kernel %s: no memory for its sanitizers",
                   call->module->function);
  return s.report.findings ? tj_cpu_report_end(&s.report) : TJ_OK;
}
