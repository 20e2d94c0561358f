/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the arguments of one variant look like: its key, worked out for comparing. With it
 * a call is bound to a variant that is at hand in a few instructions an argument, with no
 * key and no look-up.
 */
#ifndef TJ_BIND_EXPECT_H
#define TJ_BIND_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bind/bind.h"

/* One parameter. */
typedef struct tj_expect {
  uint32_t head;     /* the first four bytes of the usual argument: kind, flags, dtype */
  uint32_t how;      /* tj_expect_how */
  uint64_t bias;     /* with this added... */
  uint64_t mask;     /* ...these bits of the value... */
  uint64_t value;    /* ...must be this */
  uint32_t offset;   /* where it goes; constants go where nobody looks, behind the end */
  uint32_t excluded; /* one of these bits must be set; 0: no such rule */
  uint32_t end;      /* of the packed values before it */
  uint32_t item;     /* its item in the key; the next entry's ends it */
} tj_expect;

typedef struct tj_expectation {
  const tj_signature *signature;
  const uint8_t *key;
  const tj_expect *params; /* n_params + 1 */
  uint32_t params_size;
} tj_expectation;

/*
 * Works out `params` (n_params + 1 entries) from the key of a variant. False if the key is
 * not one of this signature.
 */
bool tj_expect_make(const tj_signature *signature, const void *key, size_t size, tj_expect *params);

/*
 * Binds the arguments to the variant: true if they are of it. Then the packed parameters
 * are there, but no key, and nothing is to be released. False if not, or if only tj_bind
 * can tell: nothing is bound, and an error that may have been recorded on the way is none.
 * The key's head is the caller's to compare.
 */
bool tj_bind_expected(tj_bound *bound, const tj_expectation *expectation, const tj_arg *args,
                      size_t n_args);

#endif /* TJ_BIND_EXPECT_H */
