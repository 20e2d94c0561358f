/* SPDX-License-Identifier: Apache-2.0 */
#include "parity_read.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/dlpack_view.h"

tj_function *functions[MAX_FUNCTIONS];
size_t n_functions;

void stop(const char *format, ...) {
  va_list list;
  va_start(list, format);
  (void)fputs("parity_keys: ", stderr);
  (void)vfprintf(stderr, format, list);
  (void)fputc('\n', stderr);
  va_end(list);
  exit(2);
}

void *require(void *pointer) {
  if (pointer == NULL) stop("out of memory");
  return pointer;
}

/* ---- memory of one call: what its arguments point to ------------------------------------- */

typedef struct block {
  struct block *next;
  max_align_t data[];
} block;
static block *blocks;

void *keep(size_t size) {
  block *b = require(calloc(1, sizeof *b + size));
  b->next = blocks;
  blocks = b;
  return b->data;
}

void forget_all(void) {
  while (blocks) {
    block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

/* ---- reading ------------------------------------------------------------------------------- */

const cJSON *get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *text_of(const cJSON *object, const char *name) {
  const char *text = cJSON_GetStringValue(get(object, name));
  if (text == NULL) stop("there is no text \"%s\"", name);
  return text;
}

static uint32_t number_of(const cJSON *object, const char *name) {
  const cJSON *item = get(object, name);
  return cJSON_IsNumber(item) ? (uint32_t)item->valuedouble : 0;
}

static tj_dtype dtype_of(const cJSON *object, const char *name) {
  tj_dtype dtype = tj_dtype_from_name(text_of(object, name));
  if (dtype == TJ_DTYPE_NONE) stop("\"%s\" is no dtype", text_of(object, name));
  return dtype;
}

static tj_arg read_string(const char *hex) {
  size_t n = strlen(hex) / 2;
  char *bytes = keep(n + 1);
  for (size_t i = 0; i < n; i++) {
    char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
    bytes[i] = (char)strtoul(pair, NULL, 16);
  }
  return tj_string(bytes, (uint32_t)n);
}

static tj_function *function_at(const cJSON *object, const char *name) {
  uint32_t i = number_of(object, name);
  if (i >= n_functions) stop("there is no function %u", i);
  return functions[i];
}

/* {"ptr": dtype, "address": decimal[, "as": "buffer" | "tensor"]} */
static tj_arg read_pointer(const cJSON *value) {
  union {
    uint64_t bits;
    void *pointer;
  } address = {.bits = strtoull(text_of(value, "address"), NULL, 10)};
  tj_dtype dtype = dtype_of(value, "ptr");
  const char *as = cJSON_GetStringValue(get(value, "as"));
  if (as == NULL) return tj_ptr(address.pointer, dtype);
  if (strcmp(as, "buffer") == 0) {
    tj_buffer *buffer = keep(sizeof *buffer);
    *buffer = (tj_buffer){.struct_size = sizeof *buffer,
                          .dtype = dtype,
                          .ptr = address.pointer,
                          .size = 64,
                          .device = -1};
    return tj_buf(buffer);
  }
  /* DLPack's {code, bits} of that dtype; the address is split in base and offset. */
  tj_dl_tensor *tensor = keep(sizeof *tensor);
  tensor->lanes = 1;
  for (int code = 0; code < 16; code++)
    for (int bits = 1; bits <= 64; bits *= 2)
      if (tj_dl_dtype((uint8_t)code, (uint8_t)bits, 1) == dtype) {
        tensor->code = (uint8_t)code;
        tensor->bits = (uint8_t)bits;
      }
  if (tensor->bits == 0) stop("DLPack has no %s", text_of(value, "ptr"));
  tensor->byte_offset = 40;
  address.bits -= tensor->byte_offset;
  tensor->data = address.pointer;
  return tj_tensor(tensor);
}

static void read_numbers(const cJSON *list, int64_t out[TJ_DESC_MAX_RANK]) {
  size_t n = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    if (n == TJ_DESC_MAX_RANK) stop("too many numbers for a tensor descriptor");
    out[n++] = (int64_t)cJSON_GetNumberValue(item);
  }
}

/* {"tensordesc": dtype, "block": [...], "shape": [...], "strides": [...], "address": decimal,
   "nan": bool, "tf32": bool}; and {"spec_desc": dtype, "block": [...]} */
static tj_arg read_descriptor(const cJSON *value) {
  bool spec = get(value, "spec_desc") != NULL;
  int64_t sizes[TJ_DESC_MAX_RANK] = {0};
  tj_tensor_desc *desc = keep(sizeof *desc);
  desc->struct_size = sizeof *desc;
  desc->dtype = dtype_of(value, spec ? "spec_desc" : "tensordesc");
  desc->rank = (uint8_t)cJSON_GetArraySize(get(value, "block"));
  read_numbers(get(value, "block"), sizes);
  for (int i = 0; i < TJ_DESC_MAX_RANK; i++) desc->block[i] = (uint32_t)sizes[i];
  if (spec) return tj_spec_desc(desc);
  union {
    uint64_t bits;
    void *pointer;
  } address = {.bits = strtoull(text_of(value, "address"), NULL, 10)};
  desc->base = address.pointer;
  desc->padding = cJSON_IsTrue(get(value, "nan"));
  desc->flags = cJSON_IsTrue(get(value, "tf32")) ? TJ_DESC_ROUND_TF32 : 0;
  read_numbers(get(value, "shape"), desc->shape);
  read_numbers(get(value, "strides"), desc->strides);
  return tj_desc(desc);
}

/* {"dlpack": [code, bits]}: a tensor of a dtype that need not be ours */
static tj_arg read_dlpack(const cJSON *list) {
  tj_dl_tensor *tensor = keep(sizeof *tensor);
  tensor->code = (uint8_t)cJSON_GetNumberValue(cJSON_GetArrayItem(list, 0));
  tensor->bits = (uint8_t)cJSON_GetNumberValue(cJSON_GetArrayItem(list, 1));
  tensor->lanes = 1;
  return tj_tensor(tensor);
}

/* {"scalar": dtype, and "int", "uint" or "float"} */
static tj_arg read_scalar(const cJSON *value) {
  tj_dtype dtype = dtype_of(value, "scalar");
  if (get(value, "float")) return tj_floating(dtype, strtod(text_of(value, "float"), NULL));
  if (get(value, "uint")) return tj_unsigned(dtype, strtoull(text_of(value, "uint"), NULL, 10));
  return tj_signed(dtype, strtoll(text_of(value, "int"), NULL, 10));
}

/*
 * What the compile side calls VALUE ({"int": "-1"}, {"float": "0x1p-1"}, {"str": hex}, {"none": 1},
 * {"bool": true}, {"dtype": "fp16"}, {"tuple": [ARG...]}, {"default": 1}), and {"uint": decimal},
 * {"function": number}, {"spec": dtype, "pointer": bool, "aligned": bool}, and those above.
 */
static tj_arg read_arg(const cJSON *value) {
  const cJSON *item = value ? value->child : NULL;
  if (item == NULL) stop("an argument is no object");
  const char *kind = item->string, *text = cJSON_GetStringValue(item);
  if (get(value, "scalar")) return read_scalar(value);
  if (get(value, "ptr")) return read_pointer(value);
  if (get(value, "block")) return read_descriptor(value);
  if (get(value, "dlpack")) return read_dlpack(item);
  if (strcmp(kind, "none") == 0) return tj_none();
  if (strcmp(kind, "default") == 0) return tj_default();
  if (strcmp(kind, "bool") == 0) return tj_bool(cJSON_IsTrue(item));
  if (strcmp(kind, "dtype") == 0) return tj_type(dtype_of(value, "dtype"));
  if (strcmp(kind, "function") == 0) return tj_fn(function_at(value, "function"));
  if (strcmp(kind, "spec") == 0)
    return cJSON_IsTrue(get(value, "pointer"))
               ? tj_spec_ptr(dtype_of(value, "spec"), cJSON_IsTrue(get(value, "aligned")))
               : tj_spec(dtype_of(value, "spec"), cJSON_IsTrue(get(value, "aligned")));
  if (strcmp(kind, "tuple") == 0) {
    uint32_t n = 0;
    tj_arg *items = keep(sizeof *items * (size_t)cJSON_GetArraySize(item));
    const cJSON *element;
    cJSON_ArrayForEach(element, item) items[n++] = read_arg(element);
    return tj_tuple(items, n);
  }
  if (text == NULL) stop("an argument of kind \"%s\" has no text", kind);
  if (strcmp(kind, "int") == 0) return tj_int(strtoll(text, NULL, 10));
  if (strcmp(kind, "uint") == 0) return tj_uint(strtoull(text, NULL, 10));
  if (strcmp(kind, "float") == 0) return tj_float(strtod(text, NULL));
  if (strcmp(kind, "str") == 0) return read_string(text);
  stop("there is no kind of argument \"%s\"", kind);
}

/* An argument, or {"keyword": name, "value": ARG}. */
static tj_status add_arg(call *c, const cJSON *value) {
  if (c->n_args == MAX_ARGS) stop("too many arguments");
  tj_arg arg;
  if (get(value, "keyword")) {
    uint32_t index = 0;
    tj_status status = tj_function_param_index(c->function, text_of(value, "keyword"), &index);
    if (status != TJ_OK) return status;
    tj_arg *kept = keep(sizeof *kept);
    *kept = read_arg(get(value, "value"));
    arg = tj_keyword(index, kept);
  } else {
    arg = read_arg(value);
  }
  c->args[c->n_args++] = arg;
  return TJ_OK;
}

static tj_status read_options(const cJSON *options, uint32_t *out_id) {
  tj_option list[64];
  size_t n = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, options) list[n++] = (tj_option){item->string, read_arg(item)};
  return n ? tj_options_intern(list, n, out_id) : TJ_OK;
}

tj_status read_call(const cJSON *json, call *c) {
  c->function = function_at(json, "function");
  c->launch = tj_launch_grid(1, 1, 1);
  c->launch.num_warps = number_of(json, "num_warps");
  c->launch.num_stages = number_of(json, "num_stages");
  c->launch.num_ctas = number_of(json, "num_ctas");
  const cJSON *target = get(json, "target");
  if (target) {
    c->target = (tj_target){sizeof c->target, number_of(target, "warp_size"),
                            text_of(target, "backend"), text_of(target, "arch")};
    c->launch.target = &c->target;
  }
  tj_status status = read_options(get(json, "options"), &c->launch.options);
  const cJSON *item;
  cJSON_ArrayForEach(item, get(json, "args")) if (status == TJ_OK) status = add_arg(c, item);
  return status;
}
