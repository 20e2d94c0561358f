/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "store/store.h"
#include "triton_jit/store.h"

static int find(const tj_signature *signature, const void *key, size_t key_size,
                tj_stored *out_stored) {
  (void)signature, (void)key, (void)key_size, (void)out_stored;
  return 0;
}

static void keep(const tj_signature *signature, const void *key, size_t key_size,
                 const tj_stored *stored) {
  (void)signature, (void)key, (void)key_size, (void)stored;
}

const tj_store tj_store_null = {"null", find, keep};

static tj_status not_yet(const char *call) {
  return tj_fail(TJ_E_NOT_SUPPORTED,
                 "%s: stores, bundles and freezing are not supported yet; variants are kept in the "
                 "process, and in Triton's own disk cache",
                 call);
}

tj_status tj_store_open(const char *folder, uint32_t flags) {
  (void)folder, (void)flags;
  return not_yet("tj_store_open");
}

tj_status tj_bundle_open(const char *path, uint32_t flags) {
  (void)path, (void)flags;
  return not_yet("tj_bundle_open");
}

tj_status tj_freeze(int frozen) {
  (void)frozen;
  return not_yet("tj_freeze");
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it will be written to */
tj_status tj_kernel_export(tj_kernel *kernel, void *buffer, size_t *inout_size) {
  (void)kernel, (void)buffer, (void)inout_size;
  return not_yet("tj_kernel_export");
}

tj_status tj_function_import(tj_function *fn, const void *bytes, size_t size,
                             tj_kernel **out_kernel) {
  (void)fn, (void)bytes, (void)size, (void)out_kernel;
  return not_yet("tj_function_import");
}
