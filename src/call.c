/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a call: bind, find the variant, or compile and load it, launch. The only
 * file that sees more than one stage.
 */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/flight.h"
#include "cache/table.h"
#include "compile/build.h"
#include "compile/compiler.h"
#include "launch/hooks.h"
#include "launch/launch.h"
#include "load/backends.h"
#include "options.h"
#include "store/store.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE inline __attribute__((always_inline)) /* into the hit path */

static const tj_store *const store = &tj_store_null;

/* ---- what a call wants ------------------------------------------------------------------------ */

/* A caller that was built with a newer header may set fields that we do not know. */
static bool has_unknown_fields(const tj_launch *launch) {
  const unsigned char *bytes = (const unsigned char *)launch;
  for (size_t i = sizeof *launch; i < launch->struct_size; i++)
    if (bytes[i]) return true;
  return false;
}

static tj_status check_launch_slowly(const tj_launch *launch, bool preparing) {
  if (launch->struct_size < sizeof *launch)
    return tj_fail_size("tj_launch", launch->struct_size, sizeof *launch);
  if (launch->struct_size > 4096 || has_unknown_fields(launch))
    return tj_fail(TJ_E_NOT_SUPPORTED,
                   "tj_launch has fields set that this library (%s) does not know",
                   tj_version_string());
  if (launch->flags & ~(uint32_t)TJ_LAUNCH_UNCHECKED)
    return tj_fail(TJ_E_INVALID, "tj_launch.flags is 0x%x; only TJ_LAUNCH_UNCHECKED is known",
                   launch->flags);
  if (launch->tuned)
    return tj_fail(TJ_E_NOT_SUPPORTED,
                   "tj_launch.tuned: tuned configurations are not supported yet; it must be NULL");
  if (launch->target && !preparing)
    return tj_fail(TJ_E_INVALID, "tj_launch.target is only for tj_function_prepare");
  return TJ_OK;
}

static inline tj_status check_launch(const tj_launch *launch, bool preparing) {
  if (LIKELY(launch->struct_size == sizeof *launch && launch->flags == 0 && launch->tuned == NULL &&
             launch->target == NULL))
    return TJ_OK;
  return check_launch_slowly(launch, preparing);
}

static tj_status fail_counts(const tj_launch *launch) {
  const struct {
    const char *name;
    uint32_t value;
    bool power_of_two;
  } counts[] = {{"num_warps", launch->num_warps, true},
                {"num_stages", launch->num_stages, false},
                {"num_ctas", launch->num_ctas, true}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    uint32_t value = counts[i].value;
    if (value > UINT16_MAX)
      return tj_fail(TJ_E_OPTION_VALUE, "tj_launch.%s is %u; at most %u make sense", counts[i].name,
                     value, UINT16_MAX);
    if (counts[i].power_of_two && (value & (value - 1)))
      return tj_fail(TJ_E_OPTION_VALUE, "tj_launch.%s is %u; it must be a power of two",
                     counts[i].name, value);
  }
  return TJ_OK;
}

static inline tj_status make_head(const tj_function *fn, const tj_launch *launch, uint32_t target,
                                  tj_key_head *head) {
  uint32_t warps = launch->num_warps, ctas = launch->num_ctas;
  if (UNLIKELY((warps | launch->num_stages | ctas) > UINT16_MAX || (warps & (warps - 1)) ||
               (ctas & (ctas - 1))))
    return fail_counts(launch);
  *head = (tj_key_head){.version = TJ_KEY_VERSION,
                        .num_warps = (uint16_t)warps,
                        .num_stages = (uint16_t)launch->num_stages,
                        .num_ctas = (uint16_t)ctas,
                        .options = launch->options ? launch->options : fn->options,
                        .target = target};
  return TJ_OK;
}

static inline void set_call(tj_bound *bound, const tj_function *fn, const tj_launch *launch,
                            bool allow_spec) {
  bound->signature = fn->signature;
  bound->backend = fn->backend->backend;
  bound->launch = launch;
  bound->allow_spec = allow_spec;
}

/* Where the call is to run: device, context and target. */
static inline tj_status find_place(const tj_function *fn, const tj_launch *launch, tj_want *want,
                                   uint32_t *out_target) {
  tj_backend_state *state = fn->backend;
  tj_status status = tj_backend_device(state, launch->device, &want->device);
  if (UNLIKELY(status != TJ_OK)) return status;
  status = tj_backend_target(state, want->device, out_target);
  if (UNLIKELY(status != TJ_OK)) return status;
  return tj_backend_context(state->backend, want->device, launch->stream, &want->context);
}

static ALWAYS_INLINE tj_status want_call(tj_function *fn, const tj_launch *launch,
                                         const tj_arg *args, size_t n_args, bool preparing,
                                         tj_bound *bound, tj_want *want) {
  uint32_t target = 0;
  tj_key_head head;
  tj_status status = check_launch(launch, preparing);
  if (UNLIKELY(status != TJ_OK)) return status;
  want->function = fn;
  want->load = launch->target == NULL;
  if (LIKELY(want->load)) {
    status = find_place(fn, launch, want, &target);
  } else {
    status = tj_target_intern(launch->target, &target);
    want->device = -1;
    want->context = 0;
  }
  if (UNLIKELY(status != TJ_OK)) return status;
  status = make_head(fn, launch, target, &head);
  if (UNLIKELY(status != TJ_OK)) return status;
  set_call(bound, fn, launch, preparing);
  status = tj_bind(bound, &head, args, n_args);
  if (UNLIKELY(status != TJ_OK)) return status;
  want->key = bound->key;
  want->key_size = bound->key_size;
  want->hash = tj_hash(bound->key, bound->key_size);
  return TJ_OK;
}

tj_status tj_want_bind(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n_args,
                       bool preparing, tj_bound *bound, tj_want *out_want) {
  return want_call(fn, launch, args, n_args, preparing, bound, out_want);
}

/* ---- miss: compile ----------------------------------------------------------------------------- */

static void count(_Atomic uint64_t *counter, uint64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static tj_status snapshot_of(const char *id, const void **out_data, size_t *out_size) {
  const tj_signature *signature = tj_function_signature_of(id);
  if (signature == NULL)
    return tj_fail(TJ_E_INTERNAL, "the compiler asks for a function that nobody opened: %s", id);
  *out_data = signature->snapshot;
  *out_size = signature->snapshot_size;
  return TJ_OK;
}

/* What the same call would run into again. */
static bool is_lasting(tj_status status) {
  switch (status) {
  case TJ_E_COMPILE:
  case TJ_E_UNKNOWN_OPTION:
  case TJ_E_OPTION_VALUE:
  case TJ_E_UNSUPPORTED_ARGUMENT:
  case TJ_E_ARGUMENT_TYPE:
  case TJ_E_OUT_OF_RESOURCES: return true;
  default: return false;
  }
}

static tj_status fail_layout(const tj_build *build, const char *bound) {
  return tj_fail(TJ_E_INTERNAL,
                 "%s: Triton's run-time parameters are (%s), but the arguments were bound as (%s); "
                 "the call cannot be made",
                 build->artifact.function, build->types, bound);
}

/* The compiled parameters must be those that binding packs. */
static tj_status check_layout(const tj_build *build, const tj_slot *slots, uint32_t n) {
  tj_str bound = {0};
  char type[16];
  for (uint32_t i = 0; i < n; i++)
    tj_str_printf(&bound, "%s%s", i ? "," : "", tj_slot_type(&slots[i], type));
  tj_status status = TJ_OK;
  if (bound.failed)
    status = tj_fail_memory();
  else if (strcmp(tj_str_text(&bound), build->types) != 0)
    status = fail_layout(build, tj_str_text(&bound));
  tj_str_free(&bound);
  return status;
}

/* A variant's memory in one piece: itself, its slots, stages, key and build. */
typedef struct variant_memory {
  tj_kernel kernel;
  tj_build build;
  char *variant_text;
  char *message;
} variant_memory;

static tj_kernel *new_kernel(const tj_want *want, uint32_t n_slots, size_t n_stages) {
  size_t slots = n_slots * sizeof(tj_slot), stages = n_stages * sizeof(tj_stage);
  variant_memory *memory = calloc(1, sizeof *memory + slots + stages + want->key_size);
  if (memory == NULL) return NULL;
  tj_stage *stage = (tj_stage *)(memory + 1);
  tj_slot *slot = (tj_slot *)(stage + n_stages);
  uint8_t *key = (uint8_t *)(slot + n_slots);
  memcpy(key, want->key, want->key_size);
  tj_kernel *kernel = &memory->kernel;
  kernel->hash = want->hash;
  kernel->key_size = (uint32_t)want->key_size;
  kernel->key = key;
  kernel->function = want->function;
  kernel->artifact.slots = slot;
  kernel->stages = stage;
  kernel->n_stages = (uint32_t)n_stages;
  kernel->owned = memory;
  return kernel;
}

static void free_kernel(tj_kernel *kernel) {
  if (kernel == NULL) return;
  variant_memory *memory = kernel->owned;
  tj_build_free(&memory->build);
  free(memory->variant_text);
  free(memory->message);
  free(memory);
}

/* The entry of a failure that would come out the same again. */
static tj_kernel *failed_kernel(const tj_want *want, tj_status status) {
  tj_kernel *kernel = new_kernel(want, 0, 0);
  char *message = strdup(tj_last_error());
  if (kernel == NULL || message == NULL) { /* then it is simply not remembered */
    free(message);
    free_kernel(kernel);
    return NULL;
  }
  ((variant_memory *)kernel->owned)->message = message;
  kernel->status = status;
  kernel->message = message;
  return kernel;
}

/* Takes over `build`. */
static tj_status make_kernel(const tj_want *want, tj_build *build, const tj_target *target,
                             tj_kernel **out_kernel) {
  uint32_t params_size = 0;
  uint32_t n = tj_key_slots(want->key, want->key_size, NULL, 0, &params_size);
  tj_kernel *kernel = new_kernel(want, n, build->reply.n_sections);
  tj_str text = {0};
  tj_key_describe(want->function->signature, want->key, want->key_size, &text);
  char *variant_text = tj_str_take(&text);
  if (kernel == NULL || variant_text == NULL) {
    free(variant_text);
    free_kernel(kernel);
    tj_build_free(build);
    return tj_fail_memory();
  }
  variant_memory *memory = kernel->owned;
  memory->build = *build;
  memory->variant_text = variant_text;
  tj_slot *slots = (tj_slot *)((tj_stage *)(memory + 1) + kernel->n_stages);
  tj_stage *stages = (tj_stage *)(memory + 1);
  tj_key_slots(want->key, want->key_size, slots, n, &params_size);
  for (size_t i = 0; i < build->reply.n_sections; i++) {
    const tj_section *section = &build->reply.sections[i];
    stages[i] = (tj_stage){section->name, section->data, section->size};
  }
  kernel->artifact = build->artifact;
  kernel->artifact.slots = slots;
  kernel->artifact.n_slots = n;
  kernel->artifact.params_size = params_size;
  kernel->artifact.target_backend = target->backend;
  kernel->artifact.target_arch = target->arch;
  kernel->num_stages = build->num_stages;
  kernel->hash_text = build->hash;
  kernel->types = build->types;
  kernel->variant = variant_text;
  tj_status status = check_layout(build, slots, n);
  if (status != TJ_OK) {
    free_kernel(kernel);
    return status;
  }
  *out_kernel = kernel;
  return TJ_OK;
}

static tj_status build_kernel(const tj_want *want, tj_kernel **out_kernel) {
  const tj_function *fn = want->function;
  tj_key_head head;
  memcpy(&head, want->key, sizeof head);
  const tj_target *target = tj_target_of(head.target);
  const cJSON *options = tj_options_json(head.options);
  if (head.options && options == NULL)
    return tj_fail(TJ_E_OPTION_VALUE, "%u is not an id from tj_options_intern", head.options);
  tj_stored stored;
  (void)store->find(fn->signature, want->key, want->key_size, &stored); /* the null store */
  tj_build_request request = {
      .function = fn->signature->name,
      .id = fn->signature->id,
      .args = tj_key_arguments(fn->signature, want->key, want->key_size, tj_function_id_of),
      .target = target,
      .num_warps = head.num_warps,
      .num_stages = head.num_stages,
      .num_ctas = head.num_ctas,
      .options = options,
      .snapshot = snapshot_of};
  if (request.args == NULL) return tj_last_status();
  tj_build build;
  tj_status status = tj_build_variant(&request, &build);
  return status == TJ_OK ? make_kernel(want, &build, target, out_kernel) : status;
}

static tj_event event_of(const tj_want *want, const tj_kernel *kernel, tj_status status,
                         uint64_t nanoseconds) {
  union {
    const tj_kernel *in;
    tj_kernel *out;
  } handle = {.in = kernel};
  return (tj_event){.struct_size = sizeof(tj_event),
                    .status = status,
                    .function = want->function,
                    .kernel = handle.out,
                    .name = want->function->signature->name,
                    .variant = kernel ? kernel->variant : NULL,
                    .device = want->device,
                    .nanoseconds = nanoseconds};
}

static tj_status compile(const tj_want *want, tj_kernel **out_kernel) {
  tj_function *fn = want->function;
  uint64_t begin = tj_now();
  tj_kernel *kernel = NULL;
  tj_status status = build_kernel(want, &kernel);
  uint64_t took = tj_now() - begin;
  count(&fn->stats.compile_ns, took);
  count(status == TJ_OK ? &fn->stats.compiles : &fn->stats.failures, 1);
  const tj_hooks *hooks = tj_hooks_get();
  if (hooks && hooks->compile) {
    tj_event event = event_of(want, kernel, status, took);
    hooks->compile(hooks->user, &event);
  }
  *out_kernel = kernel;
  return status;
}

static tj_status load(const tj_want *want, tj_kernel *kernel, tj_module **out_module) {
  tj_function *fn = want->function;
  uint64_t begin = tj_now();
  tj_status status = tj_module_load(fn->backend, kernel, want->device, want->context, out_module);
  uint64_t took = tj_now() - begin;
  count(&fn->stats.load_ns, took);
  count(status == TJ_OK ? &fn->stats.loads : &fn->stats.failures, 1);
  const tj_hooks *hooks = tj_hooks_get();
  if (hooks && hooks->load) {
    tj_event event = event_of(want, kernel, status, took);
    hooks->load(hooks->user, &event);
  }
  return status;
}

/* This thread's flight: compile, load, and only then let others see it. */
static tj_status fly(const tj_want *want, tj_flight *flight, tj_kernel **out_kernel) {
  tj_kernel *kernel = NULL;
  tj_module *module = NULL;
  tj_status status = compile(want, &kernel);
  if (status == TJ_OK && want->load) status = load(want, kernel, &module);
  if (status != TJ_OK) {
    free_kernel(kernel);
    kernel = is_lasting(status) ? failed_kernel(want, status) : NULL;
  }
  tj_status ended = tj_flight_end(flight, kernel, status);
  *out_kernel = kernel;
  return kernel ? ended : status;
}

static tj_status find_or_compile(const tj_want *want, tj_kernel **out_kernel) {
  tj_function *fn = want->function;
  tj_flight *flight = NULL;
  tj_status status = TJ_OK;
  tj_join join = tj_flight_join(&fn->table, fn->signature->name, want->key, want->key_size,
                                want->hash, &flight, out_kernel, &status);
  if (join == TJ_JOIN_FOUND) return TJ_OK;
  count(&fn->stats.misses, 1);
  switch (join) {
  case TJ_JOIN_OWNED: return fly(want, flight, out_kernel);
  case TJ_JOIN_WAIT: {
    uint64_t begin = tj_now();
    status = tj_flight_wait(flight, out_kernel);
    count(&fn->stats.wait_ns, tj_now() - begin);
    return status;
  }
  default: return status;
  }
}

tj_status tj_want_get(const tj_want *want, tj_kernel **out_kernel, tj_module **out_module) {
  /* From here on it may block: on another thread that needs Python, on a driver, on a
     worker. None of that with the interpreter held. */
  void *python = tj_python_suspend();
  tj_kernel *kernel = tj_table_find(&want->function->table, want->key, want->key_size, want->hash);
  tj_status status = kernel ? TJ_OK : find_or_compile(want, &kernel);
  if (status == TJ_OK && kernel->status != TJ_OK)
    status = tj_fail(kernel->status, "%s", kernel->message);
  if (status == TJ_OK && want->load) {
    tj_module *module = tj_module_find(kernel, want->device, want->context);
    if (module == NULL) status = load(want, kernel, &module);
    if (status == TJ_OK) *out_module = module;
  }
  if (status == TJ_OK) *out_kernel = kernel;
  tj_python_resume(python);
  return status;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static tj_status check_pointers(const char *call, const void *handle, const char *handle_name,
                                const tj_launch *launch, const tj_arg *args, size_t n_args) {
  if (handle == NULL) return tj_fail_null(call, handle_name);
  if (launch == NULL) return tj_fail_null(call, "launch");
  if (args == NULL && n_args > 0) return tj_fail_null(call, "args (with n_args > 0)");
  return TJ_OK;
}

/* Launches, and counts it: `hit` if the variant was found. */
static inline tj_status launch_and_count(const tj_launch_plan *plan, bool hit) {
  int launched = 0;
  tj_status status = tj_launch_run(plan, &launched);
  tj_count *counts = tj_thread_counts(plan->kernel->function->index);
  if (LIKELY(counts != NULL)) {
    if (LIKELY(hit)) tj_count_add(&counts->hits);
    if (LIKELY(launched && status == TJ_OK)) tj_count_add(&counts->launches);
  }
  return status;
}

tj_status tj_function_call(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                           size_t n_args) {
  if (UNLIKELY(fn == NULL || launch == NULL || (args == NULL && n_args > 0)))
    return check_pointers("tj_function_call", fn, "fn", launch, args, n_args);
  tj_bound bound;
  tj_want want;
  tj_status status = want_call(fn, launch, args, n_args, false, &bound, &want);
  if (UNLIKELY(status != TJ_OK)) return tj_deliver(launch->error, status);

  tj_kernel *kernel = tj_table_find(&fn->table, want.key, want.key_size, want.hash);
  tj_module *module = NULL;
  bool hit = kernel != NULL;
  if (LIKELY(hit)) module = tj_module_find(kernel, want.device, want.context);
  if (UNLIKELY(module == NULL)) status = tj_want_get(&want, &kernel, &module);
  if (LIKELY(status == TJ_OK)) {
    tj_launch_plan plan = {fn->backend->backend, kernel, module, &bound};
    status = launch_and_count(&plan, hit);
  }
  tj_bound_release(&bound);
  return UNLIKELY(status != TJ_OK) ? tj_deliver(launch->error, status) : TJ_OK;
}

static tj_status prepare(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                         size_t n_args, tj_kernel **out_kernel) {
  tj_bound bound;
  tj_want want;
  tj_status status = tj_want_bind(fn, launch, args, n_args, true, &bound, &want);
  if (status != TJ_OK) return status;
  tj_kernel *kernel = NULL;
  tj_module *module = NULL;
  status = tj_want_get(&want, &kernel, &module);
  tj_bound_release(&bound);
  if (status == TJ_OK && out_kernel) *out_kernel = kernel;
  return status;
}

tj_status tj_function_prepare(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                              size_t n_args, tj_kernel **out_kernel) {
  tj_status status = check_pointers("tj_function_prepare", fn, "fn", launch, args, n_args);
  if (status != TJ_OK) return status;
  return tj_deliver(launch->error, prepare(fn, launch, args, n_args, out_kernel));
}

static tj_status is_prepared(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                             size_t n_args, int *out_prepared) {
  tj_bound bound;
  tj_want want;
  tj_status status = tj_want_bind(fn, launch, args, n_args, true, &bound, &want);
  if (status != TJ_OK) return status;
  const tj_kernel *kernel = tj_table_find(&fn->table, want.key, want.key_size, want.hash);
  *out_prepared = kernel && kernel->status == TJ_OK &&
                  (!want.load || tj_module_find(kernel, want.device, want.context));
  tj_bound_release(&bound);
  return TJ_OK;
}

tj_status tj_function_is_prepared(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                                  size_t n_args, int *out_prepared) {
  tj_status status = check_pointers("tj_function_is_prepared", fn, "fn", launch, args, n_args);
  if (status != TJ_OK) return status;
  if (out_prepared == NULL)
    return tj_deliver(launch->error, tj_fail_null("tj_function_is_prepared", "out_prepared"));
  return tj_deliver(launch->error, is_prepared(fn, launch, args, n_args, out_prepared));
}

static tj_status fail_variant(const tj_kernel *kernel, const tj_bound *bound) {
  const tj_signature *signature = bound->signature;
  int64_t i =
      tj_key_difference(signature, kernel->key, kernel->key_size, bound->key, bound->key_size);
  tj_str got = {0};
  tj_key_describe(signature, bound->key, bound->key_size, &got);
  tj_status status =
      tj_fail(TJ_E_VARIANT,
              "%s: parameter %lld '%s' does not fit this kernel: it was compiled for (%s), the "
              "arguments are (%s); call tj_function_call, or prepare that variant",
              signature->name, (long long)i, i >= 0 ? signature->params[i].name : "?",
              kernel->variant, tj_str_text(&got));
  tj_str_free(&got);
  return status;
}

static tj_status fail_target(const tj_kernel *kernel, int32_t device, uint32_t target) {
  const tj_target *has = tj_target_of(target);
  return tj_fail(TJ_E_TARGET, "%s was compiled for %s %s, but device %d is %s %s",
                 kernel->artifact.function, kernel->artifact.target_backend,
                 kernel->artifact.target_arch, device, has ? has->backend : "?",
                 has ? has->arch : "?");
}

static inline tj_status kernel_launch(tj_kernel *kernel, const tj_launch *launch,
                                      const tj_arg *args, size_t n_args) {
  tj_function *fn = kernel->function;
  tj_want want = {.function = fn,
                  .key = kernel->key,
                  .key_size = kernel->key_size,
                  .hash = kernel->hash,
                  .load = true};
  uint32_t target = 0;
  tj_status status = check_launch(launch, false);
  if (UNLIKELY(status != TJ_OK)) return status;
  status = find_place(fn, launch, &want, &target);
  if (UNLIKELY(status != TJ_OK)) return status;
  tj_key_head head;
  memcpy(&head, kernel->key, sizeof head);
  if (UNLIKELY(head.target != target)) return fail_target(kernel, want.device, target);

  tj_bound bound;
  set_call(&bound, fn, launch, false);
  status = tj_bind(&bound, &head, args, n_args);
  if (UNLIKELY(status != TJ_OK)) return status;
  bool fits =
      bound.key_size == kernel->key_size && memcmp(bound.key, kernel->key, bound.key_size) == 0;
  tj_module *module = tj_module_find(kernel, want.device, want.context);
  if (UNLIKELY(!fits && !(launch->flags & TJ_LAUNCH_UNCHECKED)))
    status = fail_variant(kernel, &bound);
  else if (UNLIKELY(module == NULL))
    status = tj_want_get(&want, &kernel, &module);
  if (LIKELY(status == TJ_OK)) {
    tj_launch_plan plan = {fn->backend->backend, kernel, module, &bound};
    status = launch_and_count(&plan, true);
  }
  tj_bound_release(&bound);
  return status;
}

tj_status tj_kernel_launch(tj_kernel *kernel, const tj_launch *launch, const tj_arg *args,
                           size_t n_args) {
  if (UNLIKELY(kernel == NULL || launch == NULL || (args == NULL && n_args > 0)))
    return check_pointers("tj_kernel_launch", kernel, "kernel", launch, args, n_args);
  tj_status status = kernel_launch(kernel, launch, args, n_args);
  return UNLIKELY(status != TJ_OK) ? tj_deliver(launch->error, status) : TJ_OK;
}

tj_status tj_kernel_get_info(tj_kernel *kernel, tj_kernel_info *out_info) {
  if (kernel == NULL) return tj_fail_null("tj_kernel_get_info", "kernel");
  if (out_info == NULL) return tj_fail_null("tj_kernel_get_info", "out_info");
  if (out_info->struct_size < sizeof *out_info)
    return tj_fail_size("tj_kernel_info", out_info->struct_size, sizeof *out_info);
  const tj_artifact *artifact = &kernel->artifact;
  *out_info = (tj_kernel_info){.struct_size = out_info->struct_size,
                               .num_warps = artifact->num_warps,
                               .warp_size = artifact->warp_size,
                               .num_stages = kernel->num_stages,
                               .num_ctas = artifact->num_ctas,
                               .shared = artifact->shared,
                               .n_params = artifact->n_slots,
                               .params_size = artifact->params_size,
                               .name = artifact->symbol,
                               .hash = kernel->hash_text,
                               .backend = kernel->function->backend->backend->name,
                               .arch = artifact->target_arch,
                               .types = kernel->types,
                               .variant = kernel->variant,
                               .metadata = artifact->metadata,
                               .function = kernel->function};
  return TJ_OK;
}

/* ---- statistics and trim ----------------------------------------------------------------------------- */

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
    tj_event event = event_of(&want, kernel, TJ_OK, tj_now() - begin);
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
