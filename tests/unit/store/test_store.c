/* SPDX-License-Identifier: Apache-2.0 */
/* The store's places are kept: every door says that it is not open yet. */
#include "unit.h"

#include "store/store.h"
#include "triton_jit/store.h"

static void test_not_yet(void **state) {
  (void)state;
  size_t size = 5;
  tj_kernel *kernel = NULL;
  assert_fails(tj_store_open(NULL, 0), TJ_E_NOT_SUPPORTED, "tj_store_open");
  assert_fails(tj_bundle_open("a", 0), TJ_E_NOT_SUPPORTED, "tj_bundle_open");
  assert_fails(tj_freeze(1), TJ_E_NOT_SUPPORTED, "tj_freeze");
  assert_fails(tj_freeze(0), TJ_E_NOT_SUPPORTED, "tj_freeze");
  assert_fails(tj_kernel_export(NULL, NULL, &size), TJ_E_NOT_SUPPORTED, "tj_kernel_export");
  assert_fails(tj_function_import(NULL, NULL, 0, &kernel), TJ_E_NOT_SUPPORTED,
               "tj_function_import");
  assert_fails(tj_set_scratch_allocator("cuda", NULL, NULL), TJ_E_NOT_SUPPORTED, "cuda");
  assert_fails(tj_set_scratch_allocator(NULL, NULL, NULL), TJ_E_NOT_SUPPORTED, "scratch");
  assert_int_equal(size, 5);
  assert_null(kernel);
}

static void test_null_store(void **state) {
  (void)state;
  tj_stored stored = {NULL, NULL, 0};
  assert_int_equal(tj_store_null.find(NULL, "key", 3, &stored), 0);
  tj_store_null.keep(NULL, "key", 3, &stored);
  assert_int_equal(tj_store_null.find(NULL, "key", 3, &stored), 0);
  assert_string_equal(tj_store_null.name, "null");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_not_yet),
      cmocka_unit_test(test_null_store),
  };
  return cmocka_run_group_tests_name("store.store", tests, NULL, NULL);
}
