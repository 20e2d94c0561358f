/* SPDX-License-Identifier: Apache-2.0 */
/* "compile": one variant of a described function -> its artifact. */
#ifndef TJ_COMPILE_BUILD_H
#define TJ_COMPILE_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "compile/message.h"
#include "triton_jit/function.h"
#include "triton_jit/sys/backend.h"

typedef struct tj_build_request {
  const char *function; /* its Python name, for messages */
  const char *id;       /* of the snapshot */
  cJSON *args;          /* one value a parameter; taken over */
  const tj_target *target;
  uint32_t num_warps, num_stages, num_ctas; /* 0: Triton's default */
  const cJSON *options;                     /* further ones, or NULL */
  /* The snapshot of a function, for a compiler that does not know it (any more). */
  tj_status (*snapshot)(const char *id, const void **out_data, size_t *out_size);
} tj_build_request;

/* What a compile gives, in plain form. All of it lies in `reply`. */
typedef struct tj_build {
  tj_message reply;
  const char *hash;
  char *metadata; /* JSON; to be freed */
  char *types;    /* "*fp32,i32" of the run-time parameters; to be freed */
  uint32_t num_stages;
  /* Filled from the metadata: all but slots, params_size and target. */
  tj_artifact artifact;
} tj_build;

/* Compiles; may take long. The result is to be given to tj_build_free, or kept. */
tj_status tj_build_variant(tj_build_request *request, tj_build *out_build);
void tj_build_free(tj_build *build);

#endif /* TJ_COMPILE_BUILD_H */
