/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signature record of a function: what binding needs of its parameters, read once
 * from the compiler's answer to "describe" and never changed after that.
 */
#ifndef TJ_BIND_SIGNATURE_H
#define TJ_BIND_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "triton_jit/arg.h"
#include "triton_jit/function.h"

/* Which rule a parameter's arguments follow. */
typedef enum tj_rule {
  TJ_RULE_PLAIN, /* no annotation: the argument decides */
  TJ_RULE_CONSTEXPR,
  TJ_RULE_INT, /* annotated with the dtype `type`... */
  TJ_RULE_FLOAT,
  TJ_RULE_BOOL,
  TJ_RULE_FP8,
  TJ_RULE_POINTER /* ...or with a pointer to it */
} tj_rule;

/* Classes of run-time values, in a key. */
enum {
  TJ_CLASS_NONE = 0,  /* not specialised */
  TJ_CLASS_PLAIN = 1, /* specialised, nothing found */
  TJ_CLASS_16 = 2,    /* a multiple of 16 */
  TJ_CLASS_ONE = 3    /* 1, but its annotated type keeps it from folding */
};

#define TJ_DESC_MAX_FLAGS 2

typedef enum tj_default_kind {
  TJ_NO_DEFAULT,
  TJ_DEFAULT_VALUE, /* in default_value */
  TJ_DEFAULT_OPAQUE /* a Python object that C cannot express: compiled in as it is */
} tj_default_kind;

typedef struct tj_param {
  /* What a common argument adds to the key, {tag, class}, by whether it is a multiple of 16;
     a pointer's tag still lacks its dtype. */
  uint16_t pointer_item[2], int_item[2];
  uint8_t rule;         /* tj_rule */
  uint8_t specialize;   /* not in do_not_specialize */
  uint8_t classes[2];   /* class of a value that is no multiple of 16, and of one that is */
  tj_dtype type;        /* annotated */
  uint8_t default_kind; /* tj_default_kind */
  uint8_t flags;        /* TJ_PARAM_* */
  tj_arg default_value;
  const char *name;
  const char *type_text;
} tj_param;

/* A file of the snapshot. Its content never changes, but a copy of the same content may take
   its place: time and inode are then renewed while others read them. */
typedef struct tj_file_stamp {
  const char *path;
  uint64_t size;
  _Atomic uint64_t inode;
  _Atomic int64_t mtime_ns;
} tj_file_stamp;

typedef struct tj_signature {
  tj_param *params;
  uint32_t n_params;
  uint32_t n_files;
  /* How many flags of a tensor descriptor this Triton hands to kernels: none, the padding, or
     that and the rounding. Negative: it has no descriptors from the host, or others. */
  int8_t desc_flags;
  tj_file_stamp *files;
  const char *id; /* of the snapshot: 64 hexadecimal digits */
  const char *name, *source, *triton;
  const char *cache_key; /* Triton's */
  uint8_t digest[32];    /* of cache_key: the function as an argument of another */
  void *snapshot;        /* what a fresh worker needs to load the function again */
  size_t snapshot_size;
  cJSON *json; /* owns the texts */
} tj_signature;

/*
 * Reads the record and takes over `record`, also on failure. The snapshot is copied.
 * Lives as long as the process once it belongs to a function; tj_signature_free is for
 * one that turned out to be known already.
 */
tj_status tj_signature_read(cJSON *record, const void *snapshot, size_t snapshot_size,
                            tj_signature **out_signature);
void tj_signature_free(tj_signature *signature);

/* The index of the parameter, or -1. */
int64_t tj_signature_index(const tj_signature *signature, const char *name);

/* The signature of a function that is given as an argument (function.c). */
const tj_signature *tj_function_signature(const tj_function *function);

/* Rules of a tuple's elements: no annotation, specialised in full. */
extern const tj_param tj_param_of_element;

#endif /* TJ_BIND_SIGNATURE_H */
