/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where variants are kept beyond the process: asked on a miss, before a compile, and told
 * after one. The only one so far keeps nothing.
 */
#ifndef TJ_STORE_STORE_H
#define TJ_STORE_STORE_H

#include "bind/signature.h"
#include "triton_jit/function.h"

/* One variant as it would be kept. */
typedef struct tj_stored {
  const char *metadata;
  const void *binary;
  size_t binary_size;
} tj_stored;

typedef struct tj_store {
  const char *name;
  /* Whether it has the variant; damaged, foreign and stale entries are no. */
  int (*find)(const tj_signature *signature, const void *key, size_t key_size,
              tj_stored *out_stored);
  /* Best effort: a store that cannot write says so in the log. */
  void (*keep)(const tj_signature *signature, const void *key, size_t key_size,
               const tj_stored *stored);
} tj_store;

extern const tj_store tj_store_null;

#endif /* TJ_STORE_STORE_H */
