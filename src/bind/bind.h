/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding: the arguments of a call become its variant key and its packed parameters, in
 * one pass over the parameters. No allocation, except that a call larger than the inline
 * buffers borrows scratch memory of its thread.
 */
#ifndef TJ_BIND_BIND_H
#define TJ_BIND_BIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bind/key.h"
#include "bind/signature.h"
#include "triton_jit/function.h"
#include "triton_jit/sys/backend.h"

/* A call of up to about a hundred parameters fits. */
#define TJ_INLINE_KEY 1024
#define TJ_INLINE_PARAMS 1024
/* Room behind the packed parameters: values are written 8 bytes at a time, and a backend
   may append hidden ones. */
#define TJ_PARAMS_SLACK 64

struct tj_bound {
  const tj_signature *signature;
  const tj_backend *backend;
  const tj_launch *launch;
  const tj_arg *args; /* by parameter, n_args of them; the rest are defaults */
  size_t n_args;
  bool allow_spec; /* TJ_SPEC is welcome: nothing will be launched */

  uint8_t *key;
  uint32_t key_size, key_capacity;
  uint8_t *params;
  uint32_t params_size, params_capacity;
  size_t key_reserved, params_reserved; /* promised to what is not written yet */

  tj_arg *reordered; /* scratch, if there were keywords */
  void *spilled;     /* scratch, if the inline buffers were too small */
  uint8_t key_inline[TJ_INLINE_KEY] __attribute__((aligned(16)));
  uint8_t params_inline[TJ_INLINE_PARAMS + TJ_PARAMS_SLACK] __attribute__((aligned(16)));
};

/*
 * Binds `args` to the signature's parameters. The caller has set signature, backend,
 * launch and allow_spec; `head` begins the key. On success the bound is to be released;
 * on failure it is already, and the error names the parameter.
 */
tj_status tj_bind(tj_bound *bound, const tj_key_head *head, const tj_arg *args, size_t n_args);

void tj_bound_release_spilled(tj_bound *bound);

static inline void tj_bound_release(tj_bound *bound) {
  if (__builtin_expect(bound->spilled != NULL || bound->reordered != NULL, 0))
    tj_bound_release_spilled(bound);
}

/* bind_error.c: where in the arguments a value stands, for messages. */
typedef struct tj_place {
  const tj_bound *bound;
  uint32_t param;
  uint32_t item; /* within the tuple of `outer` */
  const struct tj_place *outer;
} tj_place;

/* Fails with "parameter 2 'n' of add_kernel: " and the formatted rest. */
tj_status tj_fail_at(tj_status status, const tj_place *place, const char *format, ...)
    TJ_PRINTF(3, 4);

/* TJ_E_STRUCT_SIZE for a struct that an argument points to. */
tj_status tj_fail_size_at(const tj_place *place, const char *type, uint32_t got, size_t expected);

/* The argument in words, for messages: "the integer 5", "a pointer to fp32". */
const char *tj_arg_words(const tj_arg *arg, char buffer[128]);

#endif /* TJ_BIND_BIND_H */
