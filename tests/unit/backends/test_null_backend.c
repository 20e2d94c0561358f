/* SPDX-License-Identifier: Apache-2.0 */
/* The null backend, on which the tests of other stages stand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "null/null_backend.h"

extern const tj_backend tj_backend_null;

static const tj_artifact artifact = {.struct_size = sizeof artifact, .function = "add"};

static int reset(void **state) {
  (void)state;
  tj_null_reset();
  return 0;
}

static tj_status launch(void *module, int32_t device, uint32_t x, const void *params,
                        uint32_t size) {
  tj_backend_launch l = {.struct_size = sizeof l,
                         .grid = {x, 2, 3},
                         .device = device,
                         .stream = &l,
                         .params = params,
                         .params_size = size,
                         .artifact = &artifact};
  return tj_backend_null.launch(module, &l);
}

static void test_interface(void **state) {
  (void)state;
  assert_int_equal(tj_backend_null.struct_size, sizeof(tj_backend));
  assert_int_equal(tj_backend_null.api_version, TJ_BACKEND_API_VERSION);
  assert_true(tj_backend_null.flags & TJ_BACKEND_EXPLICIT);
  int32_t n = 0;
  assert_int_equal(tj_backend_null.probe(&n), TJ_OK);
  assert_int_equal(n, TJ_NULL_DEVICES);
  assert_int_equal(tj_backend_null.current_device(&n), TJ_OK);
  assert_int_equal(n, 0);
  tj_null_set_device(1);
  assert_int_equal(tj_backend_null.current_device(&n), TJ_OK);
  assert_int_equal(n, 1);
}

static void test_target(void **state) {
  (void)state;
  tj_target first, second;
  assert_int_equal(tj_backend_null.target(0, &first), TJ_OK);
  assert_string_equal(first.backend, "cuda");
  assert_string_equal(first.arch, "90");
  assert_int_equal(first.warp_size, 32);
  tj_null_set_target("hip", "gfx942", 64);
  assert_int_equal(tj_backend_null.target(1, &second), TJ_OK);
  assert_string_equal(second.backend, "hip");
  assert_string_equal(second.arch, "gfx942");
  assert_int_equal(second.warp_size, 64);
  assert_string_equal(first.arch, "90"); /* the texts that were handed out still stand */
  assert_int_equal(tj_backend_null.target(2, &second), TJ_E_DEVICE);
  assert_non_null(strstr(tj_last_error(), "no device 2"));
  assert_int_equal(tj_backend_null.target(-1, &second), TJ_E_DEVICE);
  tj_null_reset();
  assert_int_equal(tj_backend_null.target(0, &second), TJ_OK);
  assert_string_equal(second.backend, "cuda");
}

static void test_load(void **state) {
  (void)state;
  void *a = NULL, *b = NULL;
  assert_int_equal(tj_backend_null.load(&artifact, 0, 0, &a), TJ_OK);
  assert_int_equal(tj_backend_null.load(&artifact, 1, 7, &b), TJ_OK);
  assert_ptr_not_equal(a, b);
  assert_int_equal(tj_null_loads(), 2);
  tj_null_fail_load(TJ_E_OUT_OF_RESOURCES, 2);
  void *none = &none;
  assert_int_equal(tj_backend_null.load(&artifact, 0, 0, &none), TJ_E_OUT_OF_RESOURCES);
  assert_int_equal(tj_backend_null.load(&artifact, 0, 0, &none), TJ_E_OUT_OF_RESOURCES);
  assert_ptr_equal(none, &none);
  assert_int_equal(tj_last_status(), TJ_E_OUT_OF_RESOURCES);
  assert_int_equal(tj_backend_null.load(&artifact, 2, 0, &none), TJ_E_DEVICE);
  assert_int_equal(tj_null_loads(), 2);
  assert_int_equal(tj_null_unloads(), 0);
  tj_null_delay_load(30);
  uint64_t begin = tj_now();
  assert_int_equal(tj_backend_null.load(&artifact, 0, 0, &none), TJ_OK);
  assert_true(tj_now() - begin >= 30000000);
  tj_backend_null.unload(none);
  tj_backend_null.unload(a);
  tj_backend_null.unload(b);
  assert_int_equal(tj_null_unloads(), 3);
}

static void test_recording(void **state) {
  (void)state;
  void *module = NULL;
  tj_null_launch seen[TJ_NULL_RING];
  int64_t params[2] = {7, 8};
  assert_int_equal(tj_backend_null.load(&artifact, 0, 0, &module), TJ_OK);
  assert_int_equal(launch(module, 0, 1, params, 16), TJ_OK);
  assert_int_equal(tj_null_launches(seen, TJ_NULL_RING), 0); /* off at first */
  tj_null_record(true);
  assert_int_equal(launch(module, 1, 5, params, 16), TJ_OK);
  assert_int_equal(tj_null_launches(seen, TJ_NULL_RING), 1);
  assert_ptr_equal(seen[0].artifact, &artifact);
  assert_string_equal(seen[0].function, "add");
  assert_ptr_equal(seen[0].module, module);
  assert_non_null(seen[0].stream);
  assert_int_equal(seen[0].device, 1);
  assert_int_equal(seen[0].grid[0], 5);
  assert_int_equal(seen[0].grid[1], 2);
  assert_int_equal(seen[0].grid[2], 3);
  assert_int_equal(seen[0].params_size, 16);
  assert_memory_equal(seen[0].params, params, 16);
  for (uint32_t i = 0; i < TJ_NULL_RING; i++)
    assert_int_equal(launch(module, 0, 100 + i, NULL, 0), TJ_OK);
  assert_int_equal(tj_null_launches(seen, TJ_NULL_RING), TJ_NULL_RING + 1);
  for (uint32_t i = 0; i < TJ_NULL_RING; i++) assert_int_equal(seen[i].grid[0], 100 + i);
  tj_null_record(false);
  assert_int_equal(launch(module, 0, 1, params, 16), TJ_OK);
  assert_int_equal(tj_null_launches(NULL, 0), TJ_NULL_RING + 1);
  tj_backend_null.unload(module);
}

static void test_large_parameters(void **state) {
  (void)state;
  static uint8_t params[TJ_NULL_PARAMS_MAX + 100];
  memset(params, 3, sizeof params);
  tj_null_record(true);
  assert_int_equal(launch(NULL, 0, 1, params, sizeof params), TJ_OK);
  tj_null_launch seen;
  assert_int_equal(tj_null_launches(&seen, 1), 1);
  assert_int_equal(seen.params_size, sizeof params);
  assert_memory_equal(seen.params, params, TJ_NULL_PARAMS_MAX);
}

static void test_launch_fault(void **state) {
  (void)state;
  tj_null_fail_launch(TJ_E_DEVICE_LOST, 1);
  assert_int_equal(launch(NULL, 0, 1, NULL, 0), TJ_E_DEVICE_LOST);
  assert_int_equal(launch(NULL, 0, 1, NULL, 0), TJ_OK);
  assert_int_equal(tj_null_launches(NULL, 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_interface, reset),
      cmocka_unit_test_setup(test_target, reset),
      cmocka_unit_test_setup(test_load, reset),
      cmocka_unit_test_setup(test_recording, reset),
      cmocka_unit_test_setup(test_large_parameters, reset),
      cmocka_unit_test_setup(test_launch_fault, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
