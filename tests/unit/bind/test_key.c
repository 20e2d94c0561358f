/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: what is read back from them is what went in, and damage is seen. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "bind/bind.h"
#include "bind/key.h"
#include "function.h"

static const fake_function table[] = {
    {.name = "wide",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_PARAM("b") FAKE_NEXT FAKE_PARAM("c")
         FAKE_NEXT FAKE_PARAM("d") FAKE_NEXT FAKE_PARAM("e") FAKE_NEXT FAKE_CONSTEXPR("F")
             FAKE_NEXT FAKE_PARAM("g") FAKE_NEXT FAKE_PARAM("h")},
    {.name = "annotated",
     .params = FAKE_TYPED("a", "i64") FAKE_NEXT FAKE_TYPED("b", "*fp32") FAKE_NEXT FAKE_TYPED(
         "c", "u1") FAKE_NEXT FAKE_TYPED("d", "fp16") FAKE_NEXT FAKE_TYPED("e", "fp8e5")
         FAKE_NEXT FAKE_WITH("f", "'type':'u8','specialize':false")
             FAKE_NEXT FAKE_WITH("g", "'specialize':false")},
};

FAKE_FIXTURE(table)

/* A call's key on its own. */
static tj_bound bound;
static void bind_call(tj_function *fn, const tj_arg *args, size_t n) {
  static const tj_launch launch = TJ_LAUNCH_INIT;
  tj_key_head head = {.version = TJ_KEY_VERSION, .target = 1};
  bound.signature = fn->signature;
  bound.backend = fn->backend->backend;
  bound.launch = &launch;
  bound.allow_spec = true;
  assert_status(tj_bind(&bound, &head, args, n), TJ_OK);
}

static uint64_t next_random(uint64_t *random) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return *random >> 33;
}

/* A tensor descriptor of that class; it lasts for some more. */
static tj_arg descriptor(tj_dtype dtype, uint32_t rank, const uint32_t *block) {
  static tj_tensor_desc ring[64];
  static uint32_t next;
  const int64_t shape[] = {16, 16, 16, 16, 16};
  tj_tensor_desc *desc = &ring[next++ % COUNT(ring)];
  *desc = tj_tensor_desc_make(address_of(16), dtype, (uint8_t)rank, shape, NULL, block);
  return tj_desc(desc);
}

static tj_arg any_descriptor(tj_dtype dtype, uint64_t *random) {
  uint32_t block[TJ_DESC_MAX_RANK];
  for (int i = 0; i < TJ_DESC_MAX_RANK; i++) block[i] = 1u << next_random(random) % 5;
  return descriptor(dtype, 1 + (uint32_t)(next_random(random) % TJ_DESC_MAX_RANK), block);
}

/* One argument of any kind that a parameter without annotation takes. */
static tj_arg any_argument(uint64_t *random) {
  static const tj_arg pair[] = {{.kind = TJ_INT, .v.i = 3}, {.kind = TJ_FLOAT, .v.f = 1}};
  uint64_t r = next_random(random);
  tj_dtype dtype = (tj_dtype)(1 + r / 16 % 18);
  switch (r % 13) {
  case 0: return tj_none();
  case 1: return tj_bool((int)(r & 16));
  case 2: return tj_int(1);
  case 3: return tj_int((int64_t)(r & 0xff00) - 0x8000);
  case 4: return tj_int((int64_t)1 << (r / 16 % 63));
  case 5: return tj_uint(UINT64_MAX - (r & 0xff));
  case 6: return tj_float(0.5);
  case 7: return tj_ptr(address_of(r & 0xf8), dtype);
  case 8:
    return tj_dtype_is_float(dtype) ? tj_floating(dtype, 1.0) : tj_unsigned(dtype, r / 1024 & 1);
  case 9: return tj_tuple(pair, (uint32_t)(r / 16 % 3));
  case 10: return tj_i64(-16);
  case 11: return any_descriptor(dtype, random);
  default: return tj_i8(1);
  }
}

/* Natural alignment by Triton's names of the types, one after the other. */
static uint32_t layout_of_types(const char *types, tj_kernel *kernel, uint32_t *out_n) {
  static const struct {
    const char *name;
    uint32_t size;
  } sizes[] = {{"i8", 1},   {"u8", 1},   {"fp8", 1},  {"i16", 2}, {"u16", 2},
               {"fp16", 2}, {"bf16", 2}, {"i32", 4},  {"u32", 4}, {"fp32", 4},
               {"i64", 8},  {"u64", 8},  {"fp64", 8}, {"*", 8},   {"u1", 1}};
  uint32_t offset = 0, n = 0;
  for (const char *at = types; *at;) {
    uint32_t size = 0;
    for (size_t i = 0; i < COUNT(sizes) && size == 0; i++)
      if (strncmp(at, sizes[i].name, strlen(sizes[i].name)) == 0) size = sizes[i].size;
    assert_true(size > 0);
    while (offset % size) offset++;
    tj_kernel_param param = {.struct_size = sizeof param};
    assert_status(tj_kernel_get_param(kernel, n, &param), TJ_OK);
    assert_int_equal(param.offset, offset);
    assert_int_equal(param.size, size);
    assert_int_equal(param.pointer, *at == '*');
    size_t length = strcspn(at, ",");
    const char *name = tj_dtype_name(param.dtype);
    assert_int_equal(strlen(name), length - (*at == '*'));
    assert_memory_equal(name, at + (*at == '*'), length - (*at == '*'));
    offset += size;
    n++;
    at += length + (at[length] == ',');
  }
  *out_n = n;
  return offset;
}

/* The layout that a kernel reports is that of its types, computed independently, and the
   fake compiler's types come from the arguments that stand for the key. */
static void test_layout(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  uint64_t random = 42;
  for (int round = 0; round < 300; round++) {
    tj_arg args[8];
    for (int i = 0; i < 8; i++) args[i] = any_argument(&random);
    args[5] = tj_int(round % 3);
    tj_kernel *kernel = prepare_kernel(fn, args, 8);
    tj_kernel_info info = {.struct_size = sizeof info};
    assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
    uint32_t n = 0, size = layout_of_types(info.types, kernel, &n);
    assert_int_equal(info.n_params, n);
    assert_int_equal(info.params_size, size);
    uint8_t params[TJ_NULL_PARAMS_MAX];
    assert_int_equal(packed(fn, args, 8, params), size);
    tj_kernel_param param = {.struct_size = sizeof param};
    assert_status(tj_kernel_get_param(kernel, n, &param), TJ_E_NO_SUCH_PARAMETER);
  }
}

static const char *no_function(const uint8_t digest[32]) {
  (void)digest;
  return "f";
}

/* One VALUE of a request as an argument again. */
static tj_arg argument_of(const cJSON *value, tj_arg *items) {
  const cJSON *item = value->child;
  const char *kind = item->string, *text = cJSON_GetStringValue(item);
  const char *class_ = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(value, "class"));
  if (strcmp(kind, "none") == 0) return tj_none();
  if (strcmp(kind, "bool") == 0) return tj_bool(cJSON_IsTrue(item));
  if (strcmp(kind, "int") == 0)
    return *text == '-' ? tj_int(strtoll(text, NULL, 10)) : tj_uint(strtoull(text, NULL, 10));
  if (strcmp(kind, "float") == 0) return tj_float(strtod(text, NULL));
  if (strcmp(kind, "ptr") == 0)
    return tj_ptr(address_of(*class_ == 'D' ? 16 : 8), tj_dtype_from_name(text));
  if (strcmp(kind, "scalar") == 0) {
    tj_dtype dtype = tj_dtype_from_name(text);
    if (tj_dtype_is_float(dtype)) return tj_floating(dtype, 0.5);
    return tj_unsigned(dtype, *class_ == 'D' ? 16 : *class_ == '1' ? 1 : 3);
  }
  if (strcmp(kind, "tensordesc") == 0) {
    uint32_t block[TJ_DESC_MAX_RANK], rank = 0;
    const cJSON *size;
    cJSON_ArrayForEach(size, item->next) block[rank++] = (uint32_t)size->valueint;
    return descriptor(tj_dtype_from_name(text), rank, block);
  }
  assert_string_equal(kind, "tuple");
  uint32_t n = 0;
  const cJSON *inner;
  cJSON_ArrayForEach(inner, item) {
    if (items) items[n++] = argument_of(inner, NULL);
  }
  return tj_tuple(items, n);
}

/* key -> arguments that stand for it -> the same key again. */
static void check_round_trip(tj_function *fn, const tj_arg *args, size_t n) {
  bind_call(fn, args, n);
  uint8_t key[TJ_INLINE_KEY];
  uint32_t size = bound.key_size;
  assert_true(size <= sizeof key);
  memcpy(key, bound.key, size);
  tj_bound_release(&bound);
  cJSON *list = tj_key_arguments(fn->signature, key, size, no_function);
  assert_non_null(list);
  assert_int_equal(cJSON_GetArraySize(list), n);
  tj_arg again[16], items[16][4];
  size_t i = 0;
  const cJSON *value;
  cJSON_ArrayForEach(value, list) {
    again[i] = argument_of(value, items[i]);
    i++;
  }
  bind_call(fn, again, n);
  if (bound.key_size != size || memcmp(bound.key, key, size) != 0) {
    char *text = cJSON_PrintUnformatted(list);
    print_error("%s\n", text);
    cJSON_free(text);
    fail_msg("parameter %d differs",
             (int)tj_key_difference(fn->signature, key, size, bound.key, bound.key_size));
  }
  tj_bound_release(&bound);
  cJSON_Delete(list);
}

static void test_round_trip(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  uint64_t random = 7;
  for (int round = 0; round < 3000; round++) {
    tj_arg args[8];
    for (int i = 0; i < 8; i++) args[i] = any_argument(&random);
    args[5] = tj_int((int64_t)next_random(&random) - 1000);
    check_round_trip(fn, args, 8);
  }
}

static void test_round_trip_annotated(void **state) {
  (void)state;
  tj_function *fn = open_function("annotated");
  static const int64_t ints[] = {0, 1, 2, 16, -16, 3};
  for (size_t a = 0; a < COUNT(ints); a++) {
    for (int b = 0; b < 5; b++) {
      const tj_arg pointers[] = {tj_ptr(address_of(16), TJ_FP32), tj_ptr(address_of(4), TJ_FP32),
                                 tj_none(), tj_int(1), tj_int(8)};
      const tj_arg args[] = {tj_int(ints[a]),    pointers[b], tj_bool(b & 1), tj_float(1.0),
                             tj_f8(TJ_FP8E5, 3), tj_int(b),   tj_int(ints[a])};
      check_round_trip(fn, args, COUNT(args));
    }
  }
  const tj_arg with_bool[] = {tj_bool(1),         tj_none(),  tj_bool(1), tj_int(1),
                              tj_f8(TJ_FP8E5, 3), tj_bool(1), tj_int(1)};
  check_round_trip(fn, with_bool, COUNT(with_bool));
}

static void test_difference_names_the_first(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  const tj_arg pair[] = {tj_int(2), tj_int(3)}, other[] = {tj_int(2), tj_int(16)};
  const tj_arg args[] = {tj_int(2),  tj_tuple(pair, 2),     tj_none(),
                         tj_bool(1), tj_ptr(NULL, TJ_FP32), tj_int(5),
                         tj_int(2),  tj_float(1.0)};
  bind_call(fn, args, 8);
  uint8_t key[TJ_INLINE_KEY];
  uint32_t size = bound.key_size;
  memcpy(key, bound.key, size);
  assert_int_equal(tj_key_difference(fn->signature, key, size, key, size), -1);
  const struct {
    uint32_t index;
    tj_arg arg;
  } rows[] = {{0, tj_int(16)},
              {1, tj_tuple(other, 2)},
              {1, tj_tuple(pair, 1)},
              {1, tj_int(2)},
              {2, tj_int(2)},
              {3, tj_none()},
              {2, descriptor(TJ_FP16, 1, (const uint32_t[]){16})},
              {4, tj_ptr(NULL, TJ_I8)},
              {5, tj_int(6)},
              {7, tj_f64(1.0)}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_arg changed[8];
    memcpy(changed, args, sizeof args);
    changed[rows[i].index] = rows[i].arg;
    changed[7] = tj_f64(2.0); /* a later one differs too */
    bind_call(fn, changed, 8);
    assert_int_equal(tj_key_difference(fn->signature, key, size, bound.key, bound.key_size),
                     rows[i].index);
    assert_int_equal(tj_key_difference(fn->signature, bound.key, bound.key_size, key, size),
                     rows[i].index);
  }
}

/* Descriptors differ by dtype, rank and each size of the block. */
static void test_difference_of_descriptors(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  const uint32_t block[] = {1, 16, 1}, other[] = {1, 32, 1}, first[] = {2, 16, 1};
  tj_arg args[8] = {tj_int(2), descriptor(TJ_FP16, 2, block)};
  for (int i = 2; i < 8; i++) args[i] = tj_int(2);
  bind_call(fn, args, 8);
  uint8_t key[TJ_INLINE_KEY];
  uint32_t size = bound.key_size;
  memcpy(key, bound.key, size);
  const tj_arg others[] = {descriptor(TJ_FP16, 3, block), descriptor(TJ_BF16, 2, block),
                           descriptor(TJ_FP16, 2, other), descriptor(TJ_FP16, 2, first),
                           tj_ptr(NULL, TJ_FP16)};
  for (size_t i = 0; i < COUNT(others); i++) {
    args[1] = others[i];
    bind_call(fn, args, 8);
    assert_int_equal(tj_key_difference(fn->signature, key, size, bound.key, bound.key_size), 1);
  }
  args[1] = descriptor(TJ_FP16, 2, block);
  bind_call(fn, args, 8);
  assert_int_equal(tj_key_difference(fn->signature, key, size, bound.key, bound.key_size), -1);
}

/* What no descriptor has is no item of a key: two keys of one class would differ. */
static void test_damaged_descriptors(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  tj_arg args[8] = {descriptor(TJ_FP16, 2, (const uint32_t[]){8, 16})};
  for (int i = 1; i < 8; i++) args[i] = tj_int(2);
  bind_call(fn, args, 8);
  uint8_t key[TJ_INLINE_KEY], *item = key + sizeof(tj_key_head);
  static const struct {
    uint8_t at, value;
    bool good;
  } rows[] = {{1, 2, true},  {1, 3, true},  {1, 5, true},   {1, 1, false},   {1, 0, false},
              {1, 6, false}, {2, 16, true}, {2, 17, false}, {2, 255, false}, {4, 1, false},
              {6, 1, false}, {7, 0, true},  {7, 2, true},   {7, 3, false},   {7, 255, false},
              {8, 1, false}, {9, 1, false}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    memcpy(key, bound.key, bound.key_size);
    item[rows[i].at] = rows[i].value;
    cJSON *list = tj_key_arguments(fn->signature, key, bound.key_size, no_function);
    assert_int_equal(list != NULL, rows[i].good);
    cJSON_Delete(list);
  }
}

/* Keys that are cut or altered anywhere are read to their end and no further. */
static void test_damaged_keys(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  const tj_arg inner[] = {tj_int(2), tj_string("text", 4), tj_tuple(NULL, 0)};
  const tj_arg args[] = {tj_int(2),
                         tj_none(),
                         tj_bool(1),
                         tj_float(1.0),
                         tj_ptr(NULL, TJ_FP32),
                         tj_tuple(inner, 3),
                         tj_int(2),
                         descriptor(TJ_I8, 3, (const uint32_t[]){2, 4, 16})};
  bind_call(fn, args, 8);
  uint32_t size = bound.key_size;
  tj_slot slots[32];
  uint32_t params_size;
  for (uint32_t cut = 0; cut <= size; cut++) {
    uint8_t *copy = malloc(cut ? cut : 1); /* so that a sanitizer sees its end */
    memcpy(copy, bound.key, cut);
    tj_str text = {0};
    tj_key_describe(fn->signature, copy, cut, &text);
    cJSON *list = tj_key_arguments(fn->signature, copy, cut, no_function);
    assert_true((list != NULL) == (cut == size));
    assert_true(tj_key_slots(copy, cut, slots, COUNT(slots), &params_size) <= 5 + 14);
    assert_true(tj_key_difference(fn->signature, copy, cut, bound.key, size) >= -1);
    cJSON_Delete(list);
    tj_str_free(&text);
    free(copy);
  }
  for (uint32_t at = 0; at < size; at++) {
    for (int bit = 0; bit < 8; bit++) {
      uint8_t *copy = malloc(size);
      memcpy(copy, bound.key, size);
      copy[at] ^= (uint8_t)(1 << bit);
      tj_str text = {0};
      tj_key_describe(fn->signature, copy, size, &text);
      cJSON *list = tj_key_arguments(fn->signature, copy, size, no_function);
      uint32_t n = tj_key_slots(copy, size, slots, COUNT(slots), &params_size);
      /* Two bytes are a value, ten are a descriptor, which has 23 of 160 bytes at most. */
      assert_true(n <= 3 * size && params_size <= 16 * size);
      int64_t i = tj_key_difference(fn->signature, copy, size, bound.key, size);
      assert_true(at < sizeof(tj_key_head) ? i == -1 : i >= 0);
      cJSON_Delete(list);
      tj_str_free(&text);
      free(copy);
    }
  }
}

/* The head tells launches apart. */
static void test_head(void **state) {
  (void)state;
  tj_function *fn = open_function("wide");
  const tj_arg args[] = {tj_int(2), tj_int(2), tj_int(2), tj_int(2),
                         tj_int(2), tj_int(2), tj_int(2), tj_int(2)};
  uint32_t a = 0, b = 0;
  const tj_option options[] = {{"maxnreg", {.kind = TJ_INT, .v.i = 64}}};
  const tj_option others[] = {{"maxnreg", {.kind = TJ_INT, .v.i = 128}}};
  assert_status(tj_options_intern(options, 1, &a), TJ_OK);
  assert_status(tj_options_intern(others, 1, &b), TJ_OK);
  const struct {
    uint32_t warps, stages, ctas, options;
  } rows[] = {{0, 0, 0, 0}, {4, 0, 0, 0}, {8, 0, 0, 0}, {0, 4, 0, 0}, {0, 8, 0, 0},
              {0, 0, 2, 0}, {0, 0, 4, 0}, {0, 0, 0, a}, {0, 0, 0, b}};
  tj_kernel *kernels[COUNT(rows)];
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_launch launch = one_program();
    launch.num_warps = rows[i].warps;
    launch.num_stages = rows[i].stages;
    launch.num_ctas = rows[i].ctas;
    launch.options = rows[i].options;
    assert_status(tj_function_prepare(fn, &launch, args, 8, &kernels[i]), TJ_OK);
    for (size_t j = 0; j < i; j++) assert_ptr_not_equal(kernels[i], kernels[j]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
      cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
      cmocka_unit_test_setup_teardown(test_round_trip_annotated, setup, teardown),
      cmocka_unit_test_setup_teardown(test_difference_names_the_first, setup, teardown),
      cmocka_unit_test_setup_teardown(test_difference_of_descriptors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_damaged_descriptors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_damaged_keys, setup, teardown),
      cmocka_unit_test_setup_teardown(test_head, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.key", tests, NULL, NULL);
}
