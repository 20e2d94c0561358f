/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a call, for those who go a part of it: call.c, miss.c, prepare.c, stats.c. */
#ifndef TJ_CALL_H
#define TJ_CALL_H

#include <stdbool.h>

#include "base/error.h"
#include "bind/bind.h"
#include "cache/variant.h"
#include "function.h"

/* A variant that is wanted, and where. */
typedef struct tj_want {
  tj_function *function;
  const void *key;
  size_t key_size;
  uint64_t hash;
  int32_t device;
  uint64_t context;
  bool load;   /* false: only compile, for a target without a device */
  bool missed; /* a call that did not find it */
} tj_want;

/*
 * Finds, or compiles, the variant, and loads it where it is wanted. Blocks; runs the
 * compile and load hooks. *out_module is untouched if it is not to be loaded.
 */
tj_status tj_want_get(const tj_want *want, tj_kernel **out_kernel, tj_module **out_module);

/*
 * Binds a call and says what it wants. The key lies in `bound`, which is to be released
 * after success.
 */
tj_status tj_want_bind(tj_function *fn, const tj_launch *launch, const tj_arg *args, size_t n_args,
                       bool preparing, tj_bound *bound, tj_want *out_want);

/*
 * Takes a failure to where the launch wants it described. A launch that is missing or too
 * short has no such place.
 */
static inline tj_status tj_launch_deliver(const tj_launch *launch, tj_status status) {
  bool has_place = launch && launch->struct_size >= sizeof *launch;
  return has_place ? tj_deliver(launch->error, status) : status;
}

/* An event about the wanted variant, for the hooks. `kernel` may be NULL. */
tj_event tj_want_event(const tj_want *want, const tj_kernel *kernel, tj_status status,
                       uint64_t nanoseconds);

#endif /* TJ_CALL_H */
