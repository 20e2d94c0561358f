/* SPDX-License-Identifier: Apache-2.0 */
/* Which argument goes to which parameter: positions, keywords, defaults, tuned ones. */
#include "unit.h"

static const fake_function table[] = {
    {.name = "four",
     .params = FAKE_PARAM("a") FAKE_NEXT FAKE_PARAM("b") FAKE_NEXT FAKE_CONSTEXPR("C")
         FAKE_NEXT FAKE_PARAM("d")},
    {.name = "defaults",
     .params = FAKE_PARAM("x") FAKE_NEXT FAKE_DEFAULT("none", "{'none':1}")
         FAKE_NEXT FAKE_DEFAULT("yes", "{'bool':true}") FAKE_NEXT FAKE_DEFAULT("n", "{'int':'16'}")
             FAKE_NEXT FAKE_DEFAULT("f", "{'float':'0x1.8p+1'}") FAKE_NEXT FAKE_CONSTEXPR_DEFAULT(
                 "B", "{'int':'1024'}") FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("S", "{'str':'72656c75'}")
                 FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("D", "{'dtype':'fp16'}")
                     FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("T", "{'tuple':[{'int':'1'},{'tuple':[]}]}")},
    {.name = "large_default", .params = FAKE_DEFAULT("n", "{'int':'18446744073709551615'}")},
    {.name = "opaque",
     .params = FAKE_CONSTEXPR_DEFAULT("F", "{'opaque':'<object>'}")
         FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("G", "{'int':'18446744073709551616'}")
             FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("H", "{'function':'abc'}")
                 FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("I", "{'tuple':[{'int':'1'},{'opaque':'x'}]}")},
    {.name = "tuned",
     .params = FAKE_PARAM("x") FAKE_NEXT FAKE_CONSTEXPR("BLOCK") FAKE_NEXT FAKE_CONSTEXPR("OTHER"),
     .tuned = "'BLOCK'"},
    {.name = "typed_default", .params = FAKE_WITH("n", "'type':'i64','default':{'int':'3'}")},
};

FAKE_FIXTURE(table)

static uint32_t index_of(tj_function *fn, const char *name) {
  uint32_t index = 99;
  assert_status(tj_function_param_index(fn, name, &index), TJ_OK);
  return index;
}

static void test_count(void **state) {
  (void)state;
  tj_function *fn = open_function("four");
  tj_arg args[] = {tj_int(2), tj_int(3), tj_int(4), tj_int(5), tj_int(6)};
  assert_status(call(fn, args, 4), TJ_OK);
  assert_fails(call(fn, args, 5), TJ_E_TOO_MANY_ARGUMENTS, "'four'", "takes 4", "gave 5");
  assert_fails(call(fn, args, 3), TJ_E_TOO_FEW_ARGUMENTS, "four: parameter 3 'd'", "takes 4",
               "gave 3");
  assert_fails(call(fn, args, 2), TJ_E_CONSTEXPR_MISSING, "four: parameter 2 'C'");
  assert_fails(call(fn, NULL, 0), TJ_E_TOO_FEW_ARGUMENTS, "parameter 0 'a'", "gave 0");
  args[1] = tj_default();
  assert_fails(call(fn, args, 4), TJ_E_TOO_FEW_ARGUMENTS, "parameter 1 'b'", "no default");
}

/* All orders of all keywords, with 0 to 3 positional ones before them, are one call. */
static void test_keywords_in_every_order(void **state) {
  (void)state;
  tj_function *fn = open_function("four");
  const tj_arg values[] = {tj_int(2), tj_ptr(address_of(16), TJ_FP32), tj_int(1), tj_float(0.5)};
  tj_kernel *expected = prepare_kernel(fn, values, 4);
  uint8_t positional[TJ_NULL_PARAMS_MAX], keywords[TJ_NULL_PARAMS_MAX];
  uint32_t size = packed(fn, values, 4, positional);
  for (uint32_t n_positional = 0; n_positional < 4; n_positional++) {
    uint32_t n = 4 - n_positional, orders = n == 4 ? 256 : n == 3 ? 27 : n == 2 ? 4 : 1;
    for (uint32_t order = 0; order < orders; order++) {
      tj_arg args[4];
      uint32_t seen = 0, code = order;
      for (uint32_t i = 0; i < n_positional; i++) args[i] = values[i];
      for (uint32_t i = 0; i < n; i++, code /= n) {
        uint32_t index = n_positional + code % n;
        seen |= 1u << index;
        args[n_positional + i] = tj_keyword(index, &values[index]);
      }
      if (seen != (15u & ~((1u << n_positional) - 1))) continue; /* no permutation */
      assert_ptr_equal(prepare_kernel(fn, args, 4), expected);
      assert_int_equal(packed(fn, args, 4, keywords), size);
      assert_memory_equal(keywords, positional, 4);
      assert_memory_equal(keywords + 8, positional + 8, size - 8);
    }
  }
}

static void test_bad_keywords(void **state) {
  (void)state;
  tj_function *fn = open_function("four");
  const tj_arg v = tj_int(2), kw = tj_keyword(3, &v);
  assert_fails(call(fn, ARGS(v, v, v, tj_keyword(4, &v))), TJ_E_NO_SUCH_PARAMETER, "parameter 4",
               "'four' has 4");
  assert_fails(call(fn, ARGS(tj_keyword(UINT32_MAX, &v))), TJ_E_NO_SUCH_PARAMETER, "4294967295");
  assert_fails(call(fn, ARGS(v, v, v, v, kw)), TJ_E_DUPLICATE_ARGUMENT, "parameter 3 'd'", "two");
  assert_fails(call(fn, ARGS(v, v, kw, kw)), TJ_E_DUPLICATE_ARGUMENT, "parameter 3 'd'");
  assert_fails(call(fn, ARGS(v, v, v, v, v, kw)), TJ_E_TOO_MANY_ARGUMENTS, "takes 4", "gave 6");
  assert_fails(call(fn, ARGS(v, v, v, tj_keyword(3, NULL))), TJ_E_NULL, "parameter 3 'd'",
               "keyword");
  assert_fails(call(fn, ARGS(v, v, v, tj_keyword(3, &kw))), TJ_E_INVALID, "parameter 3 'd'",
               "keyword is a keyword");
  assert_fails(call(fn, ARGS(v, kw, v, v)), TJ_E_INVALID, "keyword", "last");
  assert_fails(call(fn, ARGS(kw, v, v, kw)), TJ_E_INVALID, "argument 1 of 'four'", "last");
  assert_fails(call(fn, ARGS(v, v, kw)), TJ_E_CONSTEXPR_MISSING, "parameter 2 'C'");
  /* The failures left nothing behind. */
  assert_status(call(fn, ARGS(v, v, v, kw)), TJ_OK);
}

static void test_param_index(void **state) {
  (void)state;
  tj_function *fn = open_function("four");
  assert_int_equal(index_of(fn, "a"), 0);
  assert_int_equal(index_of(fn, "d"), 3);
  uint32_t index = 77;
  assert_fails(tj_function_param_index(fn, "D", &index), TJ_E_NO_SUCH_PARAMETER, "'four'", "'D'",
               "a, b, C, d");
  assert_int_equal(index, 77);
  assert_fails(tj_function_param_index(NULL, "a", &index), TJ_E_NULL, "fn");
  assert_fails(tj_function_param_index(fn, NULL, &index), TJ_E_NULL, "param");
  assert_fails(tj_function_param_index(fn, "a", NULL), TJ_E_NULL, "out_index");
}

/* A default left out, skipped, or written out is one variant. */
static void test_defaults(void **state) {
  (void)state;
  tj_function *fn = open_function("defaults");
  const char *expected = "x=i32 none=None yes=u1 n=i32:16 f=fp32 B=1024 S='relu' D=fp16 T=(1, ())";
  const tj_arg tuple[] = {tj_int(1), tj_tuple(NULL, 0)};
  const tj_arg all[] = {tj_int(2),         tj_none(),    tj_bool(1),           tj_int(16),
                        tj_float(3.0),     tj_int(1024), tj_string("relu", 4), tj_type(TJ_FP16),
                        tj_tuple(tuple, 2)};
  assert_string_equal(variant_of(fn, all, 9), expected);
  tj_kernel *kernel = prepare_kernel(fn, all, 9);
  for (size_t n = 1; n < 9; n++) assert_ptr_equal(prepare_kernel(fn, all, n), kernel);
  for (uint32_t skip = 0; skip < 256; skip++) {
    tj_arg some[9];
    memcpy(some, all, sizeof some);
    for (uint32_t i = 0; i < 8; i++)
      if (skip & 1u << i) some[i + 1] = tj_default();
    assert_ptr_equal(prepare_kernel(fn, some, 9), kernel);
  }
  tj_arg b = tj_int(64);
  assert_string_equal(variant_of(fn, ARGS(tj_int(2), tj_keyword(index_of(fn, "B"), &b))),
                      "x=i32 none=None yes=u1 n=i32:16 f=fp32 B=64 S='relu' D=fp16 T=(1, ())");
  uint8_t params[TJ_NULL_PARAMS_MAX];
  assert_int_equal(packed(fn, ARGS(tj_int(2)), params), 16);
  float f;
  memcpy(&f, params + 12, 4);
  assert_true(f == 3.0f);
  assert_int_equal(params[4], 1);
  assert_int_equal(params[8], 16);
  assert_string_equal(variant_of(open_function("large_default"), NULL, 0), "n=u64");
  assert_string_equal(variant_of(open_function("typed_default"), NULL, 0), "n=i64");
  assert_fails(call(fn, NULL, 0), TJ_E_TOO_FEW_ARGUMENTS, "parameter 0 'x'");
}

/* A default that C cannot express is compiled in, by name; another value replaces it. */
static void test_opaque_defaults(void **state) {
  (void)state;
  tj_function *fn = open_function("opaque");
  assert_string_equal(variant_of(fn, NULL, 0), "F=<default> G=<default> H=<default> I=<default>");
  char *request = fake_last_request();
  assert_contains(request, "\"args\":[{\"default\":1},{\"default\":1},{\"default\":1},"
                           "{\"default\":1}]");
  cJSON_free(request);
  assert_string_equal(variant_of(fn, ARGS(tj_int(5))), "F=5 G=<default> H=<default> I=<default>");
}

static void test_tuned(void **state) {
  (void)state;
  tj_function *fn = open_function("tuned");
  const tj_arg other = tj_int(3);
  assert_fails(call(fn, ARGS(tj_int(2))), TJ_E_NEEDS_CONFIG, "tuned: parameter 1 'BLOCK'",
               "@triton.autotune", "pass a value");
  assert_fails(call(fn, ARGS(tj_int(2), tj_default(), other)), TJ_E_NEEDS_CONFIG, "'BLOCK'");
  assert_fails(call(fn, ARGS(tj_int(2), tj_keyword(2, &other))), TJ_E_NEEDS_CONFIG, "'BLOCK'");
  assert_fails(call(fn, ARGS(tj_int(2), tj_int(64))), TJ_E_CONSTEXPR_MISSING, "'OTHER'");
  assert_status(call(fn, ARGS(tj_int(2), tj_int(64), other)), TJ_OK);
  tj_param_info info = {.struct_size = sizeof info};
  assert_status(tj_function_get_param(fn, 1, &info), TJ_OK);
  assert_int_equal(info.flags, TJ_PARAM_CONSTEXPR | TJ_PARAM_TUNED);
}

static void test_param_info(void **state) {
  (void)state;
  static const fake_function own[] = {
      {.name = "info",
       .params = FAKE_PARAM("a") FAKE_NEXT FAKE_WITH("b", "'type':'*kfp32','const':true")
           FAKE_NEXT FAKE_WITH("c", "'specialize':false,'align':false")
               FAKE_NEXT FAKE_CONSTEXPR_DEFAULT("D", "{'int':'1'}")}};
  fake_install(own, 1);
  tj_function *fn = open_function("info");
  static const struct {
    const char *name, *type;
    uint32_t flags;
  } rows[] = {{"a", "", 0},
              {"b", "*kfp32", TJ_PARAM_CONST},
              {"c", "", TJ_PARAM_NO_SPECIALIZE | TJ_PARAM_NO_ALIGNMENT},
              {"D", "", TJ_PARAM_CONSTEXPR | TJ_PARAM_DEFAULT}};
  for (uint32_t i = 0; i < COUNT(rows); i++) {
    tj_param_info info = {.struct_size = sizeof info};
    assert_status(tj_function_get_param(fn, i, &info), TJ_OK);
    assert_string_equal(info.name, rows[i].name);
    assert_string_equal(info.type, rows[i].type);
    assert_int_equal(info.flags, rows[i].flags);
    assert_int_equal(info.struct_size, sizeof info);
  }
  tj_param_info info = {.struct_size = sizeof info};
  assert_fails(tj_function_get_param(fn, 4, &info), TJ_E_NO_SUCH_PARAMETER, "4 parameters");
  assert_fails(tj_function_get_param(fn, 0, NULL), TJ_E_NULL, "out_info");
  assert_fails(tj_function_get_param(NULL, 0, &info), TJ_E_NULL, "fn");
  info.struct_size = 4;
  assert_fails(tj_function_get_param(fn, 0, &info), TJ_E_STRUCT_SIZE, "tj_param_info");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_count, setup, teardown),
      cmocka_unit_test_setup_teardown(test_keywords_in_every_order, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bad_keywords, setup, teardown),
      cmocka_unit_test_setup_teardown(test_param_index, setup, teardown),
      cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
      cmocka_unit_test_setup_teardown(test_opaque_defaults, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tuned, setup, teardown),
      cmocka_unit_test_setup_teardown(test_param_info, setup, teardown),
  };
  return cmocka_run_group_tests_name("bind.parameters", tests, NULL, NULL);
}
