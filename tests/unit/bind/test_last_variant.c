/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is first compared with its thread's last variant: whatever came before, it must
 * run the variant, and pass the values, that binding in full gives.
 */
#include "unit.h"

#include "cache/variant.h"

static const fake_function table[] = {
    {.name = "plain",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_PARAM("b") FAKE_NEXT FAKE_CONSTEXPR("C")
         FAKE_NEXT FAKE_DEFAULT("d", "{'int':'3'}")},
    {.name = "loose",
     .params = FAKE_WITH("a", "'align':false") FAKE_NEXT FAKE_WITH("b", "'specialize':false")
         FAKE_NEXT FAKE_CONSTEXPR("C")
             FAKE_NEXT FAKE_WITH("d", "'align':false,'default':{'int':'1'}")},
    {.name = "typed",
     .params = FAKE_TYPED("a", "i64") FAKE_NEXT FAKE_TYPED("b", "*fp32") FAKE_NEXT FAKE_CONSTEXPR(
         "C") FAKE_NEXT FAKE_WITH("d", "'type':'fp16','default':{'float':'0x1p+0'}")},
};

FAKE_FIXTURE(table)

static const tj_null_launch *last_launch(void) {
  static tj_null_launch ring[TJ_NULL_RING];
  uint64_t n = tj_null_launches(ring, TJ_NULL_RING);
  assert_true(n > 0);
  return &ring[n < TJ_NULL_RING ? n - 1 : TJ_NULL_RING - 1];
}

/* Nothing is read through its base. */
static _Alignas(16) char memory[64];
static tj_arg descriptor(tj_tensor_desc *desc, uint32_t offset, uint32_t block_size) {
  const int64_t shape[] = {5, (int64_t)offset + 1}, strides[] = {32, 1};
  const uint32_t block[] = {1, block_size};
  *desc = tj_tensor_desc_make(memory + offset, TJ_FP32, 2, shape, strides, block);
  return tj_desc(desc);
}

#define CANDIDATES 32

/* Values that are near each other: each is close to several variants. */
static tj_arg candidate(uint32_t i) {
  static const tj_arg pair[] = {{.kind = TJ_INT, .v.i = 3}, {.kind = TJ_INT, .v.i = 4}};
  static const tj_arg same[] = {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_INT, .v.i = 6}};
  static tj_tensor_desc descs[4];
  switch (i % CANDIDATES) {
  case 0: return tj_int(1);
  case 1: return tj_int(2);
  case 2: return tj_int(16);
  case 3: return tj_int(0);
  case 4: return tj_int(-16);
  case 5: return tj_int((int64_t)1 << 31);
  case 6: return tj_int(((int64_t)1 << 32) + 1); /* its low half is 1 */
  case 7: return tj_int(((int64_t)1 << 32) + 2);
  case 8: return tj_uint(1);
  case 9: return tj_uint(2);
  case 10: return tj_uint(1ull << 63);
  case 11: return tj_i32(1);
  case 12: return tj_i32(16);
  case 13: return tj_i64(1);
  case 14: return tj_bool(1);
  case 15: return tj_float(1.0);
  case 16: return tj_float(0.0);
  case 17: return tj_f32(1.0);
  case 18: return tj_f64(1.0);
  case 19: return tj_none();
  case 20: return tj_ptr(address_of(16), TJ_FP32);
  case 21: return tj_ptr(address_of(1), TJ_FP32);
  case 22: return tj_ptr(address_of(4), TJ_FP16);
  case 23: return tj_ptr(NULL, TJ_FP16);
  case 24: return tj_tuple(pair, 2);
  case 25: return tj_tuple(same, 2);
  case 26: return tj_default();
  case 27: return descriptor(&descs[0], 16, 4);
  case 28: return descriptor(&descs[1], 48, 4); /* of the same variant */
  case 29: return descriptor(&descs[2], 16, 8);
  case 30: return descriptor(&descs[3], 8, 4); /* its base is not aligned */
  default: return tj_string("text", 4);
  }
}

/* One call: refused if and only if preparing it is, else the launch is of that variant. */
static void check(tj_function *fn, const tj_arg *args, size_t n) {
  tj_launch launch = one_program();
  tj_kernel *kernel = NULL;
  tj_status called = tj_function_call(fn, &launch, args, n);
  tj_status prepared = tj_function_prepare(fn, &launch, args, n, &kernel);
  if (called != prepared)
    fail_msg("the call says %s, prepare %s", tj_status_name(called), tj_status_name(prepared));
  if (called != TJ_OK) return;
  const tj_null_launch *last = last_launch();
  if (last->artifact != &kernel->artifact) {
    tj_kernel_info info = {.struct_size = sizeof info};
    assert_status(tj_kernel_get_info(kernel, &info), TJ_OK);
    fail_msg("another variant ran than (%s)", info.variant);
  }
  assert_int_equal(last->params_size, kernel->artifact.params_size);
  uint8_t params[TJ_NULL_PARAMS_MAX];
  memcpy(params, last->params, last->params_size);
  /* The same values by the way that keeps nothing of the last call: a keyword. */
  if (n != 4 || args[3].kind == TJ_DEFAULT) return;
  tj_arg again[4];
  memcpy(again, args, sizeof again);
  again[3] = tj_keyword(3, &args[3]);
  assert_status(tj_function_call(fn, &launch, again, 4), TJ_OK);
  last = last_launch();
  assert_ptr_equal(last->artifact, &kernel->artifact);
  for (uint32_t i = 0; i < kernel->artifact.n_slots; i++) {
    const tj_slot *slot = &kernel->artifact.slots[i];
    assert_memory_equal(params + slot->offset, last->params + slot->offset, slot->size);
  }
}

/* Every candidate after every other one, for each parameter. */
static void test_every_pair(void **state) {
  (void)state;
  tj_null_record(true);
  for (size_t f = 0; f < COUNT(table); f++) {
    tj_function *fn = open_function(table[f].name);
    tj_arg args[4];
    for (uint32_t parameter = 0; parameter < 4; parameter++) {
      for (uint32_t pair = 0; pair < CANDIDATES * CANDIDATES; pair++) {
        const tj_arg plain[] = {tj_int(5), tj_int(5), tj_int(64), tj_int(5)};
        memcpy(args, plain, sizeof args);
        if (f == 2) args[1] = tj_ptr(address_of(16), TJ_FP32);
        args[parameter] = candidate(pair / CANDIDATES);
        check(fn, args, 4);
        args[parameter] = candidate(pair);
        check(fn, args, 4);
      }
    }
  }
}

static void test_random_calls(void **state) {
  (void)state;
  tj_null_record(true);
  uint64_t random = 99;
  for (int round = 0; round < 20000; round++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint32_t r = (uint32_t)(random >> 33);
    uint32_t second = r / CANDIDATES, third = second / CANDIDATES, fourth = third / 2;
    tj_arg args[4] = {candidate(r), candidate(second), tj_int(third % 2), candidate(fourth)};
    check(open_function(table[r / 65536 % 3].name), args, 2 + r / 131072 % 3);
  }
}

/* The same function on two devices, with other options: each launch is where it belongs. */
static void test_other_launches(void **state) {
  (void)state;
  tj_null_record(true);
  tj_function *fn = open_function("plain");
  tj_arg args[] = {tj_int(5), tj_int(5), tj_int(64), tj_int(5)};
  for (uint32_t round = 0; round < 64; round++) {
    tj_launch launch = one_program();
    launch.device = (int32_t)(round & 1);
    launch.num_warps = round & 2 ? 8 : 0;
    launch.num_stages = round & 4 ? 5 : 0;
    tj_kernel *kernel;
    assert_status(tj_function_call(fn, &launch, args, 4), TJ_OK);
    assert_status(tj_function_prepare(fn, &launch, args, 4, &kernel), TJ_OK);
    assert_ptr_equal(last_launch()->artifact, &kernel->artifact);
    assert_int_equal(last_launch()->device, round & 1);
  }
}

/* Arguments that are none are refused on a hit as on a miss. */
static void test_garbage_after_a_hit(void **state) {
  (void)state;
  static const struct {
    const char *name;
    tj_arg args[4];
  } rows[] = {
      {"typed",
       {{.kind = TJ_INT, .v.i = 5},
        {.kind = TJ_POINTER, .dtype = TJ_FP32},
        {.kind = TJ_INT, .v.i = 5},
        {.kind = TJ_FLOAT, .v.f = 1}}},
      {"plain", {{.kind = TJ_NONE}, {.kind = TJ_BOOL}, {.kind = TJ_NONE}, {.kind = TJ_NONE}}},
      {"plain",
       {{.kind = TJ_INT, .v.i = 5}, {.kind = TJ_FLOAT}, {.kind = TJ_INT}, {.kind = TJ_INT}}},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    tj_function *fn = open_function(rows[i].name);
    for (int parameter = 0; parameter < 4; parameter++) {
      assert_status(call(fn, rows[i].args, 4), TJ_OK);
      tj_arg args[4];
      memcpy(args, rows[i].args, sizeof args);
      memset(&args[parameter], 0xff, sizeof args[parameter]);
      assert_true(call(fn, args, 4) != TJ_OK);
      assert_message("255");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_every_pair, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_calls, setup, teardown),
      cmocka_unit_test_setup_teardown(test_other_launches, setup, teardown),
      cmocka_unit_test_setup_teardown(test_garbage_after_a_hit, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.last_variant", tests, NULL, NULL);
}
