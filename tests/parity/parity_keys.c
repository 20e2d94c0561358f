/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds calls that the tests of this folder describe, and says what came of them. One JSON object a
 * line in, one a line out:
 *
 *   {"open": {"source": path, "name": kernel}}   -> {"function": number, "id": ...}
 *   {"bind": CALL}      -> {"key": hex, "params": hex, "types": [...], "variant": text,
 *                           "arguments": the "args" of a compile request}
 *   {"prepare": CALL}   -> {"hash": ..., "types": ...}, compiled for the target
 *   {"match": [CALL...]} (of one function) -> {"matched", "missed", "other": numbers of pairs,
 *                           "wrong": [[variant of this call, arguments of that one]...]}
 *   and on failure         {"status": "TJ_E_...", "message": text}
 *
 * CALL is {"function": number, "args": [ARG...], "target": {"backend", "arch", "warp_size"},
 * "num_warps", "num_stages", "num_ctas": number, "options": {name: ARG}}; ARG is
 * explained at read_arg in parity_read.c.
 *
 * Functions are opened on the null backend, so no device is needed. The compile side knows
 * nothing of that backend and is asked on behalf of CUDA instead.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/expect.h"
#include "bind/key.h"
#include "call.h"
#include "compile/compiler.h"
#include "compile/message.h"
#include "function.h"
#include "parity_read.h"

/* ---- answers --------------------------------------------------------------------------------- */

static void add_text(cJSON *out, const char *name, const char *text) {
  require(cJSON_AddStringToObject(out, name, text));
}

static void add_hex(cJSON *out, const char *name, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  char *hex = keep(2 * size + 1);
  for (size_t i = 0; i < size; i++) (void)sprintf(hex + 2 * i, "%02x", at[i]);
  add_text(out, name, hex);
}

static tj_status open_function(const cJSON *json, cJSON *out) {
  if (n_functions == MAX_FUNCTIONS) stop("too many functions");
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = text_of(json, "source");
  desc.name = text_of(json, "name");
  desc.backend = "null";
  tj_function *function = NULL;
  tj_status status = tj_function_get_ex(&desc, &function);
  if (status != TJ_OK) return status;
  require(cJSON_AddNumberToObject(out, "function", (double)n_functions));
  add_text(out, "id", function->signature->id);
  functions[n_functions++] = function;
  return TJ_OK;
}

static void describe(const tj_bound *bound, cJSON *out) {
  const tj_signature *signature = bound->signature;
  add_hex(out, "key", bound->key, bound->key_size);
  add_hex(out, "params", bound->params, bound->params_size);
  cJSON *arguments =
      require(tj_key_arguments(signature, bound->key, bound->key_size, tj_function_id_of));
  if (!cJSON_AddItemToObject(out, "arguments", arguments)) stop("out of memory");

  uint32_t size = 0, n = tj_key_slots(bound->key, bound->key_size, NULL, 0, &size);
  if (size != bound->params_size) stop("key and parameters disagree");
  tj_slot *slots = keep(n * sizeof *slots);
  tj_key_slots(bound->key, bound->key_size, slots, n, &size);
  cJSON *types = require(cJSON_AddArrayToObject(out, "types"));
  for (uint32_t i = 0; i < n; i++) {
    char type[16];
    if (!cJSON_AddItemToArray(types, cJSON_CreateString(tj_slot_type(&slots[i], type))))
      stop("out of memory");
  }
  tj_str text = {0};
  tj_key_describe(signature, bound->key, bound->key_size, &text);
  add_text(out, "variant", tj_str_text(&text));
  tj_str_free(&text);
}

static tj_status bind_call(const cJSON *json, call *c, tj_bound *bound) {
  tj_status status = read_call(json, c);
  tj_want want;
  if (status == TJ_OK)
    status = tj_want_bind(c->function, &c->launch, c->args, c->n_args, true, bound, &want);
  return status;
}

static tj_status bind(const cJSON *json, cJSON *out) {
  tj_bound bound;
  tj_status status = bind_call(json, keep(sizeof(call)), &bound);
  if (status != TJ_OK) return status;
  describe(&bound, out);
  tj_bound_release(&bound);
  return TJ_OK;
}

static tj_status prepare(const cJSON *json, cJSON *out) {
  call *c = keep(sizeof *c);
  tj_status status = read_call(json, c);
  tj_kernel *kernel = NULL;
  if (status == TJ_OK)
    status = tj_function_prepare(c->function, &c->launch, c->args, c->n_args, &kernel);
  tj_kernel_info info = {.struct_size = sizeof info};
  if (status == TJ_OK) status = tj_kernel_get_info(kernel, &info);
  if (status != TJ_OK) return status;
  add_text(out, "hash", info.hash);
  add_text(out, "types", info.types);
  return TJ_OK;
}

/* ---- the short way: arguments against the last variant ---------------------------------------- */

typedef struct bound_call {
  call call;
  tj_bound bound;
  tj_slot *slots;
  uint32_t n_slots;
} bound_call;

/* Arguments alone: options and target are compared elsewhere. */
static bool same_arguments(const tj_bound *a, const tj_bound *b) {
  return a->key_size == b->key_size &&
         memcmp(a->key + sizeof(tj_key_head), b->key + sizeof(tj_key_head),
                a->key_size - sizeof(tj_key_head)) == 0;
}

static bool same_values(const bound_call *b, const tj_bound *found) {
  if (found->params_size != b->bound.params_size) return false;
  for (uint32_t i = 0; i < b->n_slots; i++) {
    const tj_slot *slot = &b->slots[i];
    if (memcmp(found->params + slot->offset, b->bound.params + slot->offset, slot->size) != 0)
      return false;
  }
  return true;
}

typedef struct match_counts {
  uint32_t matched, missed, other;
} match_counts;

/* Whether `b`'s arguments are found to be of the variant `a` exactly if they are. */
static bool match_pair(const bound_call *a, const tj_expectation *expectation, const bound_call *b,
                       match_counts *counts) {
  static tj_bound found;
  found.signature = b->bound.signature;
  found.backend = b->bound.backend;
  found.launch = b->bound.launch;
  found.allow_spec = true;
  bool same = same_arguments(&a->bound, &b->bound);
  if (!tj_bind_expected(&found, expectation, b->call.args, b->call.n_args)) {
    if (same)
      counts->missed++; /* it may leave what is rare to the long way */
    else
      counts->other++;
    return true;
  }
  counts->matched++;
  return same && same_values(b, &found);
}

static void match_all(const bound_call *a, const bound_call *calls, uint32_t n, uint32_t index,
                      match_counts *counts, cJSON *wrong) {
  const tj_signature *signature = a->bound.signature;
  tj_expect *params = keep((signature->n_params + 1) * sizeof *params);
  tj_expectation expectation = {signature, a->bound.key, NULL, a->bound.params_size};
  if (tj_expect_make(signature, a->bound.key, a->bound.key_size, params))
    expectation.params = params;
  for (uint32_t i = 0; i < n; i++) {
    if (match_pair(a, &expectation, &calls[i], counts)) continue;
    cJSON *pair = require(cJSON_CreateArray());
    if (!cJSON_AddItemToArray(pair, cJSON_CreateNumber(index)) ||
        !cJSON_AddItemToArray(pair, cJSON_CreateNumber(i)) || !cJSON_AddItemToArray(wrong, pair))
      stop("out of memory");
  }
}

/* All calls have to be valid. */
static tj_status match(const cJSON *list, cJSON *out) {
  uint32_t n = 0;
  bound_call *calls = keep((size_t)cJSON_GetArraySize(list) * sizeof *calls);
  tj_status status = TJ_OK;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    bound_call *b = &calls[n];
    status = bind_call(item, &b->call, &b->bound);
    if (status != TJ_OK) break;
    uint32_t size = 0;
    b->n_slots = tj_key_slots(b->bound.key, b->bound.key_size, NULL, 0, &size);
    b->slots = keep(b->n_slots * sizeof *b->slots);
    tj_key_slots(b->bound.key, b->bound.key_size, b->slots, b->n_slots, &size);
    n++;
  }
  match_counts counts = {0, 0, 0};
  cJSON *wrong = require(cJSON_AddArrayToObject(out, "wrong"));
  for (uint32_t i = 0; i < n && status == TJ_OK; i++)
    match_all(&calls[i], calls, n, i, &counts, wrong);
  require(cJSON_AddNumberToObject(out, "matched", counts.matched));
  require(cJSON_AddNumberToObject(out, "missed", counts.missed));
  require(cJSON_AddNumberToObject(out, "other", counts.other));
  for (uint32_t i = 0; i < n; i++) tj_bound_release(&calls[i].bound);
  return status;
}

static void answer(const char *line) {
  cJSON *json = require(cJSON_Parse(line)), *out = require(cJSON_CreateObject());
  tj_status status = TJ_OK;
  if (get(json, "open"))
    status = open_function(get(json, "open"), out);
  else if (get(json, "bind"))
    status = bind(get(json, "bind"), out);
  else if (get(json, "prepare"))
    status = prepare(get(json, "prepare"), out);
  else if (get(json, "match"))
    status = match(get(json, "match"), out);
  else
    stop("no such request: %s", line);
  if (status != TJ_OK) {
    add_text(out, "status", tj_status_name(status));
    add_text(out, "message", tj_last_error());
  }
  char *text = require(cJSON_PrintUnformatted(out));
  (void)puts(text);
  (void)fflush(stdout);
  free(text);
  cJSON_Delete(out);
  cJSON_Delete(json);
  forget_all();
}

/* ---- the compiler ---------------------------------------------------------------------------- */

static tj_status ask_for_cuda(const void *request, size_t size, void **out_reply,
                              size_t *out_size) {
  void *bytes = require(malloc(size));
  memcpy(bytes, request, size);
  tj_message message;
  tj_status status = tj_message_decode(bytes, size, &message);
  if (status != TJ_OK) return status;
  cJSON *backend = cJSON_GetObjectItemCaseSensitive(message.json, "backend");
  if (backend && !cJSON_SetValuestring(backend, "cuda")) stop("out of memory");
  void *changed = NULL;
  size_t changed_size = 0;
  status = tj_message_encode(message.json, message.sections, message.n_sections, &changed,
                             &changed_size);
  tj_message_free(&message);
  if (status != TJ_OK) return status;
  status = tj_compiler_worker.handle(changed, changed_size, out_reply, out_size);
  free(changed);
  return status;
}

static const tj_compiler for_cuda = {"worker, for CUDA", ask_for_cuda};

int main(void) {
  tj_compiler_replace(&for_cuda);
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) answer(line);
  free(line);
  return 0;
}
