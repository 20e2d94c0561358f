/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: their registry, and how one comes from a source file. */
#include "function.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "compile/describe.h"
#include "options.h"

/* A file that was changed this shortly before it was read may be changed again without a
   new time stamp: kernels stamp in steps of a few milliseconds. */
#define RACY_NS 50000000

/* What a host asked for: where it led. */
typedef struct alias {
  tj_function *function;
  int64_t described_ns; /* wall clock when its files were read */
} alias;

/* Under TJ_LOCK_FUNCTIONS. Nothing is ever removed. */
static tj_map aliases;    /* what was asked -> alias */
static tj_map functions;  /* snapshot id, backend, options -> tj_function */
static tj_map signatures; /* snapshot id -> tj_signature */
static tj_map digests;    /* digest of cache_key -> tj_signature */
static tj_function **all_functions;
static uint32_t n_functions, functions_capacity;

/* ---- stamps ---------------------------------------------------------------------------------- */

static int64_t wall_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t mtime_ns(const struct stat *s) {
  return (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
}

/* Whether a file has changed since the snapshot; `*out_racy` if it may have without a
   trace. */
static bool files_changed(const tj_signature *signature, int64_t described_ns, bool *out_racy) {
  *out_racy = false;
  for (uint32_t i = 0; i < signature->n_files; i++) {
    const tj_file_stamp *file = &signature->files[i];
    struct stat now;
    int64_t stamped = atomic_load_explicit(&file->mtime_ns, memory_order_relaxed);
    if (stat(file->path, &now) != 0 || (uint64_t)now.st_size != file->size ||
        (uint64_t)now.st_ino != atomic_load_explicit(&file->inode, memory_order_relaxed) ||
        mtime_ns(&now) != stamped)
      return true;
    /* A time stamp of the future is odd, but as good as one of the past. */
    int64_t age = described_ns - stamped;
    if (age > -RACY_NS && age < RACY_NS) *out_racy = true;
  }
  return false;
}

/* ---- registry, under TJ_LOCK_FUNCTIONS -------------------------------------------------------- */

static bool add_to_list(tj_function *function) {
  if (n_functions == functions_capacity) {
    uint32_t capacity = functions_capacity ? functions_capacity * 2 : 64;
    tj_function **bigger = realloc(all_functions, capacity * sizeof(tj_function *));
    if (bigger == NULL) return false;
    all_functions = bigger;
    functions_capacity = capacity;
  }
  function->index = n_functions;
  all_functions[n_functions++] = function;
  return true;
}

static void function_key(tj_str *out, const char *id, const tj_backend_state *backend,
                         uint32_t options) {
  tj_str_printf(out, "%s\n%s\n%u", id, backend->backend->name, options);
}

static tj_function *find_or_add(const tj_signature *signature, tj_backend_state *backend,
                                uint32_t options) {
  tj_str key = {0};
  function_key(&key, signature->id, backend, options);
  tj_function *function = key.failed ? NULL : tj_map_get(&functions, key.data, key.size);
  if (function == NULL && !key.failed) {
    function = calloc(1, sizeof *function);
    if (function) {
      function->signature = signature;
      function->backend = backend;
      function->options = options;
      if (!tj_map_set(&functions, key.data, key.size, function) || !add_to_list(function)) {
        (void)tj_map_set(&functions, key.data, key.size, NULL);
        free(function);
        function = NULL;
      }
    }
  }
  tj_str_free(&key);
  return function;
}

/* The files of `known` were read again with the same content: their stamps as they are now. */
static void renew_stamps(tj_signature *known, const tj_signature *signature) {
  for (uint32_t i = 0; i < known->n_files; i++)
    for (uint32_t j = 0; j < signature->n_files; j++) {
      tj_file_stamp *old = &known->files[i];
      const tj_file_stamp *now = &signature->files[j];
      if (strcmp(old->path, now->path) != 0) continue;
      atomic_store_explicit(&old->inode, now->inode, memory_order_relaxed);
      atomic_store_explicit(&old->mtime_ns, now->mtime_ns, memory_order_relaxed);
    }
}

/* The known signature of that snapshot, or this one from now on. */
static const tj_signature *intern_signature(tj_signature *signature) {
  tj_signature *known = tj_map_get(&signatures, signature->id, strlen(signature->id));
  if (known) {
    renew_stamps(known, signature);
    tj_signature_free(signature);
    return known;
  }
  if (!tj_map_set(&signatures, signature->id, strlen(signature->id), signature) ||
      !tj_map_set(&digests, signature->digest, sizeof signature->digest, signature))
    return NULL; /* kept: a map may have it */
  return signature;
}

static tj_status register_function(tj_signature *signature, tj_backend_state *backend,
                                   uint32_t options, const tj_str *asked, int64_t described_ns,
                                   tj_function **out_fn) {
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  const tj_signature *known = intern_signature(signature);
  tj_function *function = known ? find_or_add(known, backend, options) : NULL;
  if (function) {
    alias *entry = tj_map_get(&aliases, asked->data, asked->size);
    if (entry == NULL) {
      entry = calloc(1, sizeof *entry);
      if (entry && !tj_map_set(&aliases, asked->data, asked->size, entry)) {
        free(entry);
        entry = NULL;
      }
    }
    /* Without memory for it the next call describes again, no more. */
    if (entry) *entry = (alias){function, described_ns};
  }
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  if (function == NULL) return tj_fail_memory();
  *out_fn = function;
  return TJ_OK;
}

const tj_signature *tj_function_signature(const tj_function *function) {
  return function->signature;
}

const char *tj_function_id_of(const uint8_t digest[32]) {
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  const tj_signature *signature = tj_map_get(&digests, digest, 32);
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  return signature ? signature->id : NULL;
}

const tj_signature *tj_function_signature_of(const char *id) {
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  const tj_signature *signature = tj_map_get(&signatures, id, strlen(id));
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  return signature;
}

uint32_t tj_functions_count(void) {
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  uint32_t n = n_functions;
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  return n;
}

tj_function *tj_functions_at(uint32_t index) {
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  tj_function *function = index < n_functions ? all_functions[index] : NULL;
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  return function;
}

/* ---- get ------------------------------------------------------------------------------------- */

/* Whether the host means a file: anything with a slash or the ending .py. */
static bool is_path(const char *source) {
  size_t n = strlen(source);
  return strchr(source, '/') || (n >= 3 && strcmp(source + n - 3, ".py") == 0);
}

/* The request as the registry knows it. A relative path is as good as its real one. */
static tj_status make_alias(const tj_function_desc *desc, const tj_backend_state *backend,
                            const char *source, tj_str *out) {
  /* With sizes, so that no two requests look alike. */
  tj_str_printf(out, "%zu %zu %u %u %s %s%s", strlen(source), strlen(desc->name), desc->flags,
                desc->options, backend->backend->name, source, desc->name);
  if (desc->flags & TJ_FUNCTION_TEXT) tj_str_add(out, desc->text, desc->text_size);
  return out->failed ? tj_fail_memory() : TJ_OK;
}

/* The function that this request led to before, if its files are as they were. */
static tj_function *find_current(const tj_str *asked) {
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  const alias *entry = tj_map_get(&aliases, asked->data, asked->size);
  alias known = entry ? *entry : (alias){NULL, 0};
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  bool racy = false;
  if (known.function == NULL ||
      files_changed(known.function->signature, known.described_ns, &racy) || racy)
    return NULL;
  return known.function;
}

/* Triton's name of the backend: that of its first device's target, where there is one. */
static const char *triton_backend(tj_backend_state *backend) {
  uint32_t id = 0;
  if (!tj_backend_is_present(backend) || tj_backend_target(backend, 0, &id) != TJ_OK)
    return backend->backend->name;
  return tj_target_of(id)->backend;
}

static tj_status describe(const tj_function_desc *desc, tj_backend_state *backend,
                          const char *source, const tj_str *asked, tj_function **out_fn) {
  tj_describe_request request = {source, desc->name, triton_backend(backend), NULL, 0};
  if (desc->flags & TJ_FUNCTION_TEXT) {
    request.text = desc->text;
    request.text_size = desc->text_size;
  }
  int64_t now = wall_clock_ns();
  tj_message reply;
  tj_status status = tj_describe(&request, &reply);
  if (status != TJ_OK) return status;
  cJSON *record = cJSON_DetachItemFromObjectCaseSensitive(reply.json, "record");
  const tj_section *snapshot = tj_message_section(&reply, "snapshot");
  tj_signature *signature = NULL;
  status = tj_signature_read(record, snapshot ? snapshot->data : NULL,
                             snapshot ? snapshot->size : 0, &signature);
  tj_message_free(&reply);
  if (status != TJ_OK) return tj_fail_in(status, "%s in %s: ", desc->name, source);
  return register_function(signature, backend, desc->options, asked, now, out_fn);
}

static tj_status check_desc(const tj_function_desc *desc) {
  if (desc->source == NULL) return tj_fail_null("tj_function_get_ex", "desc->source");
  if (desc->name == NULL) return tj_fail_null("tj_function_get_ex", "desc->name");
  if (desc->flags & ~(uint32_t)TJ_FUNCTION_TEXT)
    return tj_fail(TJ_E_INVALID, "tj_function_desc.flags is 0x%x; only TJ_FUNCTION_TEXT is known",
                   desc->flags);
  if (desc->reserved)
    return tj_fail(TJ_E_INVALID, "tj_function_desc.reserved is %u; it must be 0", desc->reserved);
  if (desc->flags & TJ_FUNCTION_TEXT && desc->text == NULL)
    return tj_fail_null("tj_function_get_ex", "desc->text (with TJ_FUNCTION_TEXT)");
  if (desc->options && tj_options_json(desc->options) == NULL)
    return tj_fail(TJ_E_OPTION_VALUE, "%u is not an id from tj_options_intern", desc->options);
  return TJ_OK;
}

static tj_status get(const tj_function_desc *desc, tj_function **out_fn) {
  tj_status status = check_desc(desc);
  tj_backend_state *backend = NULL;
  if (status == TJ_OK) status = tj_backend_find(desc->backend, &backend);
  if (status != TJ_OK) return status;
  /* A file that is not there is reported by the describe, which knows more. */
  bool from_file = !(desc->flags & TJ_FUNCTION_TEXT) && is_path(desc->source);
  char *real = from_file ? realpath(desc->source, NULL) : NULL;
  const char *source = real ? real : desc->source;
  fenv_t host;
  tj_float_mode_enter(&host);
  tj_str asked = {0};
  status = make_alias(desc, backend, source, &asked);
  if (status == TJ_OK) {
    tj_function *known = find_current(&asked);
    if (known)
      *out_fn = known;
    else
      status = describe(desc, backend, source, &asked, out_fn);
  }
  tj_float_mode_leave(&host);
  tj_str_free(&asked);
  free(real);
  return status;
}

tj_status tj_function_get_ex(const tj_function_desc *desc, tj_function **out_fn) {
  if (desc == NULL) return tj_fail_null("tj_function_get_ex", "desc");
  if (desc->struct_size < sizeof *desc)
    return tj_fail_size("tj_function_desc", desc->struct_size, sizeof *desc);
  if (out_fn == NULL) return tj_deliver(desc->error, tj_fail_null("tj_function_get_ex", "out_fn"));
  return tj_deliver(desc->error, get(desc, out_fn));
}

tj_status tj_function_get(const char *source, const char *name, tj_function **out_fn) {
  if (source == NULL) return tj_fail_null("tj_function_get", "source");
  if (name == NULL) return tj_fail_null("tj_function_get", "name");
  if (out_fn == NULL) return tj_fail_null("tj_function_get", "out_fn");
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = source;
  desc.name = name;
  return get(&desc, out_fn);
}

tj_status tj_function_on(tj_function *fn, const char *backend, tj_function **out_fn) {
  if (fn == NULL) return tj_fail_null("tj_function_on", "fn");
  if (backend == NULL) return tj_fail_null("tj_function_on", "backend");
  if (out_fn == NULL) return tj_fail_null("tj_function_on", "out_fn");
  tj_backend_state *state = NULL;
  tj_status status = tj_backend_find(backend, &state);
  if (status == TJ_OK) status = tj_backend_require(state);
  if (status != TJ_OK) return status;
  tj_lock_acquire(TJ_LOCK_FUNCTIONS);
  tj_function *sibling = find_or_add(fn->signature, state, fn->options);
  tj_lock_release(TJ_LOCK_FUNCTIONS);
  if (sibling == NULL) return tj_fail_memory();
  *out_fn = sibling;
  return TJ_OK;
}

/* ---- queries --------------------------------------------------------------------------------- */

tj_status tj_function_stale(tj_function *fn, int *out_stale) {
  if (fn == NULL) return tj_fail_null("tj_function_stale", "fn");
  if (out_stale == NULL) return tj_fail_null("tj_function_stale", "out_stale");
  bool racy;
  *out_stale = files_changed(fn->signature, 0, &racy);
  return TJ_OK;
}

tj_status tj_function_param_index(tj_function *fn, const char *param, uint32_t *out_index) {
  if (fn == NULL) return tj_fail_null("tj_function_param_index", "fn");
  if (param == NULL) return tj_fail_null("tj_function_param_index", "param");
  if (out_index == NULL) return tj_fail_null("tj_function_param_index", "out_index");
  int64_t index = tj_signature_index(fn->signature, param);
  if (index >= 0) {
    *out_index = (uint32_t)index;
    return TJ_OK;
  }
  tj_str names = {0};
  for (uint32_t i = 0; i < fn->signature->n_params; i++)
    tj_str_printf(&names, "%s%s", i ? ", " : "", fn->signature->params[i].name);
  tj_status status = tj_fail(TJ_E_NO_SUCH_PARAMETER, "'%s' has no parameter '%s'; it has: %s",
                             fn->signature->name, param, tj_str_text(&names));
  tj_str_free(&names);
  return status;
}

tj_status tj_function_get_info(tj_function *fn, tj_function_info *out_info) {
  if (fn == NULL) return tj_fail_null("tj_function_get_info", "fn");
  if (out_info == NULL) return tj_fail_null("tj_function_get_info", "out_info");
  if (out_info->struct_size < sizeof *out_info)
    return tj_fail_size("tj_function_info", out_info->struct_size, sizeof *out_info);
  const tj_signature *signature = fn->signature;
  out_info->n_params = signature->n_params;
  out_info->name = signature->name;
  out_info->source = signature->source;
  out_info->backend = fn->backend->backend->name;
  out_info->cache_key = signature->cache_key;
  out_info->triton = signature->triton;
  return TJ_OK;
}

tj_status tj_function_get_param(tj_function *fn, uint32_t index, tj_param_info *out_info) {
  if (fn == NULL) return tj_fail_null("tj_function_get_param", "fn");
  if (out_info == NULL) return tj_fail_null("tj_function_get_param", "out_info");
  if (out_info->struct_size < sizeof *out_info)
    return tj_fail_size("tj_param_info", out_info->struct_size, sizeof *out_info);
  if (index >= fn->signature->n_params)
    return tj_fail(TJ_E_NO_SUCH_PARAMETER, "'%s' has %u parameters, there is no number %u",
                   fn->signature->name, fn->signature->n_params, index);
  const tj_param *param = &fn->signature->params[index];
  out_info->flags = param->flags;
  out_info->name = param->name;
  out_info->type = param->type_text;
  return TJ_OK;
}
