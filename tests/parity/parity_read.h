/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that test programs are told of, as JSON. See parity_keys.c. */
#ifndef PARITY_READ_H
#define PARITY_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "triton_jit/triton_jit.h"

#define MAX_FUNCTIONS 256
#define MAX_ARGS 256

extern tj_function *functions[MAX_FUNCTIONS];
extern size_t n_functions;

/* A line that makes no sense is a fault of the test, not an outcome. */
void stop(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *require(void *pointer);

/* Zeroed memory until forget_all. */
void *keep(size_t size);
void forget_all(void);

const cJSON *get(const cJSON *object, const char *name);
const char *text_of(const cJSON *object, const char *name);

typedef struct call {
  tj_function *function;
  tj_launch launch;
  tj_target target;
  tj_arg args[MAX_ARGS];
  size_t n_args;
} call;

/* Reads a CALL; `c` is zeroed memory. Fails as the library does: an unknown keyword or option. */
tj_status read_call(const cJSON *json, call *c);

#endif /* PARITY_READ_H */
