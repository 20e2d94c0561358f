/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiler without Python, for unit tests: it answers "describe" from a table of
 * hand-written records, and "compile" with an artifact that only the null backend takes.
 * The run-time types that it answers with follow from the request by Triton's rules as
 * this file knows them, not as src/bind does.
 *
 * Thread-safe, and safe in a forked child as long as no thread is inside one of the
 * functions below while the process forks (a compile that is delayed is not).
 */
#ifndef TJ_FAKE_COMPILER_H
#define TJ_FAKE_COMPILER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "triton_jit/triton_jit.h"

/* Parameters of a record: join them with commas, FAKE_NEXT. */
#define FAKE_NEXT ","
#define FAKE_PARAM(name) "{\"name\":\"" name "\"}"
#define FAKE_WITH(name, more) "{\"name\":\"" name "\"," more "}"
#define FAKE_TYPED(name, type) FAKE_WITH(name, "\"type\":\"" type "\"")
#define FAKE_CONSTEXPR(name) FAKE_WITH(name, "\"constexpr\":true")
/* `value` is a typed value, such as {"int":"5"}, written with single quotes. */
#define FAKE_DEFAULT(name, value) FAKE_WITH(name, "\"default\":" value)
#define FAKE_CONSTEXPR_DEFAULT(name, value) FAKE_WITH(name, "\"constexpr\":true,\"default\":" value)

typedef struct fake_function {
  const char *name;
  const char *params;  /* items of a JSON array; ' stands for " in it */
  const char *tuned;   /* the same for "tuned", or NULL */
  const char *files;   /* the same for "files", or NULL */
  const char *version; /* makes another id of the same name, or NULL */
  const char *triton;  /* the version of Triton that it is of; NULL: "3.6.0" */
} fake_function;

/*
 * Puts the fake in the place of the compiler and forgets all counts, faults and callbacks.
 * The table must stay.
 */
void fake_install(const fake_function *table, size_t n);
void fake_remove(void);

/* It itself, for a test that stands between it and the library. */
extern const struct tj_compiler fake_compiler;

/* Requests of each kind, and compiles that were answered with an artifact. */
uint64_t fake_describes(void);
uint64_t fake_requests(void);
uint64_t fake_compiles(void);
/* Compiles that are being worked on now. */
uint64_t fake_busy(void);

/* The JSON of the last compile request, to be freed; NULL if there was none. */
char *fake_last_request(void);

/* Every compile takes this long. */
void fake_delay(uint32_t milliseconds);

/* The next `times` requests of `op` ("describe", "compile") are answered with this status
   (its wire name, "E_COMPILE") and message. */
void fake_fail(const char *op, const char *status, const char *message, uint32_t times);

/* The next `times` requests get no answer at all: the compiler itself fails. */
void fake_die(tj_status status, uint32_t times);

/* From now on it knows no function, as a fresh worker: it asks for their snapshots. */
void fake_forget(void);
/* Snapshots that it was sent and that were those it had given. */
uint64_t fake_snapshots(void);

/* Callbacks on the thread that asks; any may be NULL. */
typedef struct fake_callbacks {
  void *user;
  /* Before a compile is answered. */
  void (*compile)(void *user, const cJSON *request);
  /* May change an answer before it is sent: its JSON... */
  void (*reply)(void *user, const char *op, cJSON *reply);
  /* ...or its bytes (realloc'able). */
  void (*bytes)(void *user, const char *op, uint8_t **bytes, size_t *size);
} fake_callbacks;
void fake_set_callbacks(const fake_callbacks *wanted); /* copied; NULL: none */

#endif /* TJ_FAKE_COMPILER_H */
