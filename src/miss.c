/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow way of a call: a variant that is not there is compiled, by one thread whoever
 * asks, made whole, loaded, and only then shown to others.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/str.h"
#include "cache/flight.h"
#include "cache/table.h"
#include "call.h"
#include "compile/build.h"
#include "compile/compiler.h"
#include "launch/hooks.h"
#include "load/backends.h"
#include "options.h"
#include "store/store.h"

static const tj_store *const store = &tj_store_null;

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

/* A variant's memory in one piece: itself, and behind it expected arguments, stages, slots
   and key. */
typedef struct variant_memory {
  tj_kernel kernel;
  tj_build build;
  tj_expect *expect;
  tj_stage *stages;
  tj_slot *slots;
  char *variant_text;
  char *message;
} variant_memory;

static tj_kernel *new_kernel(const tj_want *want, uint32_t n_slots, size_t n_stages) {
  const tj_signature *signature = want->function->signature;
  size_t n_expect = signature->n_params + 1u;
  size_t size = sizeof(variant_memory) + n_expect * sizeof(tj_expect) +
                n_stages * sizeof(tj_stage) + n_slots * sizeof(tj_slot) + want->key_size;
  variant_memory *memory = calloc(1, size);
  if (memory == NULL) return NULL;
  tj_expect *expect = (tj_expect *)(memory + 1);
  tj_stage *stage = (tj_stage *)(expect + n_expect);
  tj_slot *slot = (tj_slot *)(stage + n_stages);
  uint8_t *key = (uint8_t *)(slot + n_slots); /* 4-byte aligned, as tj_key_head needs */
  memcpy(key, want->key, want->key_size);
  tj_kernel *kernel = &memory->kernel;
  kernel->hash = want->hash;
  kernel->key_size = (uint32_t)want->key_size;
  kernel->key = key;
  kernel->function = want->function;
  kernel->backend = want->function->backend->backend->name;
  kernel->artifact.slots = slot;
  kernel->stages = stage;
  kernel->n_stages = (uint32_t)n_stages;
  kernel->owned = memory;
  memory->slots = slot;
  memory->stages = stage;
  memory->expect = expect;
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
  tj_slot *slots = memory->slots;
  tj_key_slots(want->key, want->key_size, slots, n, &params_size);
  for (size_t i = 0; i < build->reply.n_sections; i++) {
    const tj_section *section = &build->reply.sections[i];
    memory->stages[i] = (tj_stage){section->name, section->data, section->size};
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
  kernel->expectation = (tj_expectation){.signature = want->function->signature,
                                         .key = kernel->key,
                                         .params = memory->expect,
                                         .params_size = params_size};
  /* A variant too large for that is always bound in full. */
  if (!tj_expect_make(want->function->signature, kernel->key, kernel->key_size, memory->expect))
    kernel->expectation.params = NULL;
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

tj_event tj_want_event(const tj_want *want, const tj_kernel *kernel, tj_status status,
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
    tj_event event = tj_want_event(want, kernel, status, took);
    tj_str text = {0};
    if (kernel == NULL) { /* what failed has a description all the same */
      tj_key_describe(fn->signature, want->key, want->key_size, &text);
      event.variant = tj_str_text(&text);
    }
    tj_hook_call(hooks->compile, hooks->user, &event);
    tj_str_free(&text);
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
    tj_event event = tj_want_event(want, kernel, status, took);
    tj_hook_call(hooks->load, hooks->user, &event);
  }
  return status;
}

/* A variant that compiled and does not load. Its handle stays good, since hooks have seen it;
   the next call loads it again, unless that would come out the same. */
static void keep_load_failure(tj_kernel *kernel, tj_status status) {
  variant_memory *memory = kernel->owned;
  if (is_lasting(status)) memory->message = strdup(tj_last_error());
  if (memory->message == NULL) return;
  kernel->message = memory->message;
  kernel->status = status;
}

/* This thread's flight: compile, load, and only then let others see it. */
static tj_status fly(const tj_want *want, tj_flight *flight, tj_kernel **out_kernel) {
  tj_kernel *kernel = NULL;
  tj_module *module = NULL;
  tj_status status = compile(want, &kernel);
  if (kernel == NULL) {
    if (is_lasting(status)) kernel = failed_kernel(want, status);
  } else if (want->load) {
    status = load(want, kernel, &module);
    if (status != TJ_OK) keep_load_failure(kernel, status);
  }
  tj_flight_end(flight, kernel, status);
  *out_kernel = kernel;
  return status;
}

/* Before it is part of a key: the id may come to be one later. */
static tj_status check_options(const tj_want *want) {
  tj_key_head head;
  memcpy(&head, want->key, sizeof head);
  if (head.options == 0 || tj_options_json(head.options)) return TJ_OK;
  return tj_fail(TJ_E_OPTION_VALUE, "tj_launch.options is %u, which is no id of tj_options_intern",
                 head.options);
}

static tj_status find_or_compile(const tj_want *want, tj_kernel **out_kernel) {
  tj_function *fn = want->function;
  tj_flight *flight = NULL;
  tj_status status = check_options(want);
  if (status != TJ_OK) return status;
  tj_join join = tj_flight_join(&fn->table, fn->signature->name, want->key, want->key_size,
                                want->hash, &flight, out_kernel, &status);
  if (join == TJ_JOIN_FOUND) return TJ_OK; /* by now */
  if (!want->missed) count(&fn->stats.misses, 1);
  switch (join) {
  case TJ_JOIN_OWNED: return fly(want, flight, out_kernel);
  case TJ_JOIN_WAIT: {
    uint64_t begin = tj_now();
    status = tj_flight_wait(flight, fn->signature->name, out_kernel);
    count(&fn->stats.wait_ns, tj_now() - begin);
    return status;
  }
  default: return status;
  }
}

tj_status tj_want_get(const tj_want *want, tj_kernel **out_kernel, tj_module **out_module) {
  fenv_t host;
  tj_float_mode_enter(&host);
  /* From here on it may block: on another thread that needs Python, on a driver, on a
     worker. None of that with the interpreter held. */
  void *python = tj_python_suspend();
  if (want->missed) count(&want->function->stats.misses, 1);
  tj_kernel *kernel = tj_table_find(&want->function->table, want->key, want->key_size, want->hash);
  tj_status status = kernel ? TJ_OK : find_or_compile(want, &kernel);
  if (status == TJ_OK && kernel && kernel->status != TJ_OK)
    status = tj_fail(kernel->status, "%s", kernel->message);
  if (status == TJ_OK && want->load) {
    tj_module *module = tj_module_find(kernel, want->device, want->context);
    if (module == NULL) status = load(want, kernel, &module);
    if (status == TJ_OK) *out_module = module;
  }
  if (status == TJ_OK) *out_kernel = kernel;
  tj_python_resume(python);
  tj_float_mode_leave(&host);
  return status;
}
