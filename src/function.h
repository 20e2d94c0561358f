/* SPDX-License-Identifier: Apache-2.0 */
/* What a tj_function is; its registry is function.c. */
#ifndef TJ_FUNCTION_H_
#define TJ_FUNCTION_H_

#include <stdatomic.h>
#include <stdint.h>

#include "bind/signature.h"
#include "cache/table.h"
#include "load/backends.h"
#include "triton_jit/function.h"
#include "triton_jit/runtime.h"

struct tj_function {
  const tj_signature *signature;
  tj_backend_state *backend;
  tj_table table;
  uint32_t index;   /* of its counts in each thread */
  uint32_t options; /* of calls that give none */
  /* Counts of the slow way; hits and launches are counted by thread. */
  struct {
    _Atomic uint64_t misses, compiles, loads, failures, compile_ns, load_ns, wait_ns;
  } stats;
};

/* The id of a function (of any backend) whose Triton cache_key has that digest, or NULL. */
const char *tj_function_id_of(const uint8_t digest[32]);

/* The signature with that snapshot id, or NULL. */
const tj_signature *tj_function_signature_of(const char *id);

/* All functions of the process, by index. NULL beyond the end. */
uint32_t tj_functions_count(void);
tj_function *tj_functions_at(uint32_t index);

#endif /* TJ_FUNCTION_H_ */
