/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variant: one entry of a function's table, and what the API calls a tj_kernel. It is
 * whole before it can be seen, never moves, and lives as long as the process. After that
 * only its list of modules changes: it grows by one for each device and context.
 */
#ifndef TJ_CACHE_VARIANT_H
#define TJ_CACHE_VARIANT_H

#include <stdatomic.h>
#include <stdint.h>

#include "bind/expect.h"
#include "triton_jit/function.h"
#include "triton_jit/sys/backend.h"

/* The variant loaded in one context of one device. */
typedef struct tj_module {
  struct tj_module *next;
  uint64_t context;
  int32_t device;
  void *handle; /* the backend's */
} tj_module;

typedef struct tj_stage {
  const char *name; /* "ttir", "ptx"... */
  const void *data;
  size_t size;
} tj_stage;

struct tj_kernel {
  _Atomic(tj_module *) modules;
  uint64_t hash; /* of the key */
  uint32_t key_size;
  tj_status status; /* not TJ_OK: a failure that would come out the same again */
  const uint8_t *key;
  tj_expectation expectation; /* the key, for comparing with arguments */
  tj_function *function;
  const char *backend; /* its name */
  tj_artifact artifact;
  uint32_t num_stages;
  uint32_t n_stages;
  const tj_stage *stages;
  /* Texts; `message` is that of a failure. */
  const char *hash_text, *types, *variant, *message;
  void *owned; /* the memory of all of these */
};

#endif /* TJ_CACHE_VARIANT_H */
