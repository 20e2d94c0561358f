/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a call: bind, find the variant, launch; where there is none, miss.c makes it.
 * These two are the only files that see more than one stage.
 */
#include "call.h"

#include <string.h>

#include "base/error.h"
#include "base/likely.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/table.h"
#include "launch/launch.h"
#include "load/backends.h"

#define ALWAYS_INLINE inline __attribute__((always_inline)) /* into the hit path */

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

/* Checks the launch, and says where it goes and how its key begins. */
static ALWAYS_INLINE tj_status begin_call(tj_function *fn, const tj_launch *launch, bool preparing,
                                          tj_bound *bound, tj_want *want, tj_key_head *head) {
  uint32_t target = 0;
  tj_status status = check_launch(launch, preparing);
  if (UNLIKELY(status != TJ_OK)) return status;
  want->function = fn;
  want->load = launch->target == NULL;
  want->missed = false;
  if (LIKELY(want->load)) {
    status = find_place(fn, launch, want, &target);
  } else {
    status = tj_target_intern(launch->target, &target);
    want->device = -1;
    want->context = 0;
  }
  if (UNLIKELY(status != TJ_OK)) return status;
  set_call(bound, fn, launch, preparing);
  return make_head(fn, launch, target, head);
}

static inline tj_status bind_call(tj_bound *bound, const tj_key_head *head, const tj_arg *args,
                                  size_t n_args, tj_want *want) {
  tj_status status = tj_bind(bound, head, args, n_args);
  if (UNLIKELY(status != TJ_OK)) return status;
  want->key = bound->key;
  want->key_size = bound->key_size;
  want->hash = tj_hash(bound->key, bound->key_size);
  return TJ_OK;
}

tj_status tj_want_bind(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n_args,
                       bool preparing, tj_bound *bound, tj_want *out_want) {
  tj_key_head head;
  tj_status status = begin_call(fn, launch, preparing, bound, out_want, &head);
  return status == TJ_OK ? bind_call(bound, &head, args, n_args, out_want) : status;
}

static inline void want_kernel(tj_want *want, const tj_kernel *kernel) {
  want->key = kernel->key;
  want->key_size = kernel->key_size;
  want->hash = kernel->hash;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static tj_status check_pointers(const char *call, const void *handle, const char *handle_name,
                                const tj_launch *launch, const tj_arg *args, size_t n_args) {
  if (handle == NULL) return tj_fail_null(call, handle_name);
  if (launch == NULL) return tj_fail_null(call, "launch");
  if (args == NULL && n_args > 0) return tj_fail_null(call, "args (with n_args > 0)");
  return TJ_OK;
}

/* Launches the variant, and counts it. Only then are the counts looked for: the host's hooks,
   its grid callback and its log callback may make calls meanwhile, and those move them. */
static ALWAYS_INLINE tj_status launch_and_count(const tj_launch_plan *plan, bool hit) {
  bool launched;
  tj_status status = tj_launch_run(plan, &launched);
  tj_count *count = tj_thread_counts(plan->kernel->function->index);
  if (LIKELY(count != NULL)) {
    if (LIKELY(hit)) tj_count_add(&count->hits);
    if (LIKELY(launched && status == TJ_OK)) tj_count_add(&count->launches);
  }
  return status;
}

static inline bool same_head(const tj_kernel *kernel, const tj_key_head *head) {
  return memcmp(kernel->key, head, sizeof *head) == 0;
}

/* The call that is not the same variant as this thread's last one of the function. */
static tj_status call_by_key(const tj_key_head *head, const tj_arg *args, size_t n_args,
                             tj_bound *bound, tj_want *want) {
  tj_function *fn = want->function;
  tj_status status = bind_call(bound, head, args, n_args, want);
  if (UNLIKELY(status != TJ_OK)) return status;
  tj_module *module = NULL;
  tj_kernel *kernel = tj_table_find(&fn->table, want->key, want->key_size, want->hash);
  bool hit = kernel != NULL;
  want->missed = !hit;
  if (LIKELY(hit)) module = tj_module_find(kernel, want->device, want->context);
  if (UNLIKELY(module == NULL)) status = tj_want_get(want, &kernel, &module);
  if (LIKELY(status == TJ_OK)) {
    tj_count *counts = tj_thread_counts(fn->index);
    if (LIKELY(counts != NULL)) counts->last = kernel;
    tj_launch_plan plan = {bound->backend, kernel, module, bound};
    status = launch_and_count(&plan, hit);
  }
  tj_bound_release(bound);
  return status;
}

/*
 * Most calls are of the variant that this thread's last call of the function was: their
 * arguments are compared with its key as they are bound. The others make a key and look
 * it up.
 */
static inline tj_status function_call(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                                      size_t n_args) {
  tj_bound bound;
  tj_want want;
  tj_key_head head;
  tj_status status = begin_call(fn, launch, false, &bound, &want, &head);
  if (UNLIKELY(status != TJ_OK)) return status;
  tj_count *counts = tj_thread_counts(fn->index);
  tj_kernel *last = counts ? counts->last : NULL;
  if (LIKELY(last != NULL && same_head(last, &head) &&
             tj_bind_expected(&bound, &last->expectation, args, n_args))) {
    tj_module *module = tj_module_find(last, want.device, want.context);
    if (LIKELY(module != NULL)) {
      tj_launch_plan plan = {bound.backend, last, module, &bound};
      return launch_and_count(&plan, true);
    }
  }
  return call_by_key(&head, args, n_args, &bound, &want);
}

tj_status tj_function_call(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                           size_t n_args) {
  if (UNLIKELY(fn == NULL || launch == NULL || (args == NULL && n_args > 0)))
    return tj_launch_deliver(launch,
                             check_pointers("tj_function_call", fn, "fn", launch, args, n_args));
  tj_status status = function_call(fn, launch, args, n_args);
  return UNLIKELY(status != TJ_OK) ? tj_launch_deliver(launch, status) : TJ_OK;
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
  if (status != TJ_OK) return tj_launch_deliver(launch, status);
  return tj_launch_deliver(launch, prepare(fn, launch, args, n_args, out_kernel));
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
  if (status != TJ_OK) return tj_launch_deliver(launch, status);
  if (out_prepared == NULL)
    return tj_launch_deliver(launch, tj_fail_null("tj_function_is_prepared", "out_prepared"));
  return tj_launch_deliver(launch, is_prepared(fn, launch, args, n_args, out_prepared));
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

/* Arguments that are not known at once to fit: bound in full, and compared. */
static tj_status bind_to_kernel(const tj_kernel *kernel, const tj_launch *launch,
                                const tj_arg *args, size_t n_args, tj_bound *bound) {
  tj_key_head head;
  memcpy(&head, kernel->key, sizeof head);
  tj_status status = tj_bind(bound, &head, args, n_args);
  if (status != TJ_OK) return status;
  bool fits =
      bound->key_size == kernel->key_size && memcmp(bound->key, kernel->key, bound->key_size) == 0;
  if (fits || launch->flags & TJ_LAUNCH_UNCHECKED) return TJ_OK;
  status = fail_variant(kernel, bound);
  tj_bound_release(bound);
  return status;
}

static inline tj_status kernel_launch(tj_kernel *kernel, const tj_launch *launch,
                                      const tj_arg *args, size_t n_args) {
  tj_function *fn = kernel->function;
  tj_want want;
  want.function = fn;
  want.load = true;
  want.missed = false;
  tj_bound bound;
  uint32_t target = 0;
  tj_status status = check_launch(launch, false);
  if (UNLIKELY(status != TJ_OK)) return status;
  status = find_place(fn, launch, &want, &target);
  if (UNLIKELY(status != TJ_OK)) return status;
  if (UNLIKELY(target != ((const tj_key_head *)kernel->key)->target))
    return fail_target(kernel, want.device, target);
  set_call(&bound, fn, launch, false);
  if (UNLIKELY(!tj_bind_expected(&bound, &kernel->expectation, args, n_args))) {
    status = bind_to_kernel(kernel, launch, args, n_args, &bound);
    if (status != TJ_OK) return status;
  }
  tj_module *module = tj_module_find(kernel, want.device, want.context);
  if (UNLIKELY(module == NULL)) {
    want_kernel(&want, kernel);
    status = tj_want_get(&want, &kernel, &module);
  }
  if (LIKELY(status == TJ_OK)) {
    tj_launch_plan plan = {bound.backend, kernel, module, &bound};
    status = launch_and_count(&plan, true);
  }
  tj_bound_release(&bound);
  return status;
}

tj_status tj_kernel_launch(tj_kernel *kernel, const tj_launch *launch, const tj_arg *args,
                           size_t n_args) {
  if (UNLIKELY(kernel == NULL || launch == NULL || (args == NULL && n_args > 0)))
    return tj_launch_deliver(
        launch, check_pointers("tj_kernel_launch", kernel, "kernel", launch, args, n_args));
  tj_status status = kernel_launch(kernel, launch, args, n_args);
  return UNLIKELY(status != TJ_OK) ? tj_launch_deliver(launch, status) : TJ_OK;
}
