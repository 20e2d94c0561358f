/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/build.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

/* Snapshots that one compile may need: the function's own, and those of functions among
   its arguments. */
#define MAX_SNAPSHOTS 64

/* ---- request --------------------------------------------------------------------------------- */

static bool add_target(cJSON *json, const tj_target *target) {
  cJSON *object = cJSON_AddObjectToObject(json, "target");
  return object && cJSON_AddStringToObject(object, "backend", target->backend) &&
         cJSON_AddStringToObject(object, "arch", target->arch) &&
         (target->warp_size == 0 ||
          cJSON_AddNumberToObject(object, "warp_size", target->warp_size));
}

static bool add_count(cJSON *options, const char *name, uint32_t value) {
  return value == 0 || cJSON_AddNumberToObject(options, name, value);
}

static bool add_options(cJSON *json, const tj_build_request *request) {
  cJSON *options =
      request->options ? cJSON_Duplicate(request->options, true) : cJSON_CreateObject();
  if (options == NULL) return false;
  if (!cJSON_AddItemToObject(json, "options", options)) {
    cJSON_Delete(options);
    return false;
  }
  return add_count(options, "num_warps", request->num_warps) &&
         add_count(options, "num_stages", request->num_stages) &&
         add_count(options, "num_ctas", request->num_ctas);
}

static cJSON *request_json(tj_build_request *request) {
  cJSON *json = cJSON_CreateObject();
  bool ok = json && cJSON_AddNumberToObject(json, "v", 1) &&
            cJSON_AddStringToObject(json, "op", "compile") &&
            cJSON_AddStringToObject(json, "id", request->id);
  if (ok && cJSON_AddItemToObject(json, "args", request->args)) request->args = NULL;
  ok = ok && request->args == NULL && add_target(json, request->target) &&
       add_options(json, request);
  cJSON_Delete(request->args);
  request->args = NULL;
  if (ok) return json;
  cJSON_Delete(json);
  return NULL;
}

/* Adds the snapshot that the compiler lacks. The section's name is to be freed. */
static tj_status add_snapshot(const tj_build_request *request, const char *id,
                              tj_section sections[MAX_SNAPSHOTS], size_t *n) {
  for (size_t i = 0; i < *n; i++)
    if (strcmp(sections[i].name + strlen("snapshot:"), id) == 0)
      return tj_fail(TJ_E_INTERNAL, "%s: the compiler asks for a snapshot again that it was given",
                     request->function);
  if (*n == MAX_SNAPSHOTS)
    return tj_fail(TJ_E_NOT_SUPPORTED, "%s: more than %d functions are part of its arguments",
                   request->function, MAX_SNAPSHOTS);
  tj_section section = {NULL, NULL, 0};
  tj_status status = request->snapshot(id, &section.data, &section.size);
  if (status != TJ_OK) return status;
  size_t size = strlen(id) + sizeof "snapshot:";
  char *name = malloc(size);
  if (name == NULL) return tj_fail_memory();
  (void)snprintf(name, size, "snapshot:%s", id);
  section.name = name;
  sections[(*n)++] = section;
  return TJ_OK;
}

/* Asks, and asks again with the snapshots that the compiler says it lacks. */
static tj_status ask(const tj_build_request *request, cJSON *json, tj_message *out_reply) {
  tj_section sections[MAX_SNAPSHOTS];
  size_t n = 0;
  tj_status status = TJ_OK;
  while (status == TJ_OK) {
    const char *missing = NULL;
    status = tj_message_ask(json, sections, n, out_reply, &missing);
    if (status != TJ_OK || missing == NULL) break;
    status = add_snapshot(request, missing, sections, &n);
    tj_message_free(out_reply);
  }
  for (size_t i = 0; i < n; i++) {
    union {
      const char *name;
      void *memory;
    } owned = {.name = sections[i].name};
    free(owned.memory);
  }
  return status;
}

/* ---- reply ----------------------------------------------------------------------------------- */

static tj_status bad_reply(const tj_build_request *request, const char *what) {
  return tj_fail(TJ_E_INTERNAL, "%s: the compiler's reply is damaged: %s", request->function, what);
}

/* "*kfp32" is a pointer to const: for the layout the same as "*fp32". */
static char *join_types(const cJSON *list) {
  tj_str types = {0};
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *type = cJSON_GetStringValue(item);
    if (type == NULL) type = "?";
    if (types.size > 0) tj_str_add_text(&types, ",");
    if (type[0] == '*' && type[1] == 'k') {
      tj_str_add_text(&types, "*");
      type += 2;
    }
    tj_str_add_text(&types, type);
  }
  return tj_str_take(&types);
}

static tj_status read_reply(const tj_build_request *request, tj_build *build) {
  const cJSON *json = build->reply.json;
  const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(json, "metadata");
  tj_artifact *artifact = &build->artifact;
  build->hash = tj_json_text(json, "hash");
  artifact->struct_size = sizeof *artifact;
  artifact->symbol = tj_json_text(json, "name");
  artifact->extension = tj_json_text(json, "ext");
  artifact->function = request->function;
  if (!build->hash || !artifact->symbol || !artifact->extension || !cJSON_IsObject(metadata))
    return bad_reply(request, "it lacks hash, name, ext or metadata");
  const tj_section *binary = tj_message_section(&build->reply, artifact->extension);
  if (binary == NULL) return bad_reply(request, "it has no binary");
  artifact->binary = binary->data;
  artifact->binary_size = binary->size;

  const uint32_t max = UINT32_MAX;
  const cJSON *target = cJSON_GetObjectItemCaseSensitive(metadata, "target");
  artifact->num_warps = (uint32_t)tj_json_uint(metadata, "num_warps", max, 1);
  artifact->num_ctas = (uint32_t)tj_json_uint(metadata, "num_ctas", max, 1);
  artifact->shared = (uint32_t)tj_json_uint(metadata, "shared", max, 0);
  artifact->warp_size =
      (uint32_t)tj_json_uint(metadata, "warp_size", max, tj_json_uint(target, "warp_size", max, 1));
  build->num_stages = (uint32_t)tj_json_uint(metadata, "num_stages", max, 0);
  build->metadata = cJSON_PrintUnformatted(metadata);
  build->types = join_types(tj_json_array(json, "types"));
  if (build->metadata == NULL || build->types == NULL) return tj_fail_memory();
  artifact->metadata = build->metadata;
  return TJ_OK;
}

tj_status tj_build_variant(tj_build_request *request, tj_build *out_build) {
  memset(out_build, 0, sizeof *out_build);
  cJSON *json = request_json(request);
  if (json == NULL) return tj_fail_memory();
  tj_status status = ask(request, json, &out_build->reply);
  cJSON_Delete(json);
  if (status != TJ_OK) return status;
  status = read_reply(request, out_build);
  if (status != TJ_OK) tj_build_free(out_build);
  return status;
}

void tj_build_free(tj_build *build) {
  tj_message_free(&build->reply);
  cJSON_free(build->metadata);
  free(build->types);
  memset(build, 0, sizeof *build);
}
