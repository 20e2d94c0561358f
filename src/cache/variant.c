/* SPDX-License-Identifier: Apache-2.0 */
/* What the API says about a variant: tj_kernel_get_*. */
#include "cache/variant.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"

tj_status tj_kernel_get_info(tj_kernel *kernel, tj_kernel_info *out_info) {
  if (kernel == NULL) return tj_fail_null("tj_kernel_get_info", "kernel");
  if (out_info == NULL) return tj_fail_null("tj_kernel_get_info", "out_info");
  if (out_info->struct_size < sizeof *out_info)
    return tj_fail_size("tj_kernel_info", out_info->struct_size, sizeof *out_info);
  const tj_artifact *artifact = &kernel->artifact;
  *out_info = (tj_kernel_info){.struct_size = out_info->struct_size,
                               .num_warps = artifact->num_warps,
                               .warp_size = artifact->warp_size,
                               .num_stages = kernel->num_stages,
                               .num_ctas = artifact->num_ctas,
                               .shared = artifact->shared,
                               .n_params = artifact->n_slots,
                               .params_size = artifact->params_size,
                               .name = artifact->symbol,
                               .hash = kernel->hash_text,
                               .backend = kernel->backend,
                               .arch = artifact->target_arch,
                               .types = kernel->types,
                               .variant = kernel->variant,
                               .metadata = artifact->metadata,
                               .function = kernel->function};
  return TJ_OK;
}

tj_status tj_kernel_get_param(tj_kernel *kernel, uint32_t index, tj_kernel_param *out_param) {
  if (kernel == NULL) return tj_fail_null("tj_kernel_get_param", "kernel");
  if (out_param == NULL) return tj_fail_null("tj_kernel_get_param", "out_param");
  if (out_param->struct_size < sizeof *out_param)
    return tj_fail_size("tj_kernel_param", out_param->struct_size, sizeof *out_param);
  if (index >= kernel->artifact.n_slots)
    return tj_fail(
        TJ_E_NO_SUCH_PARAMETER,
        "tj_kernel_get_param: index %u, but the compiled '%s' has %u run-time parameters", index,
        kernel->artifact.function, kernel->artifact.n_slots);
  const tj_slot *slot = &kernel->artifact.slots[index];
  out_param->dtype = slot->dtype;
  out_param->pointer = slot->pointer;
  out_param->size = slot->size;
  out_param->offset = slot->offset;
  return TJ_OK;
}

tj_status tj_kernel_get_asm(tj_kernel *kernel, const char *stage, const void **out_data,
                            size_t *out_size) {
  if (kernel == NULL) return tj_fail_null("tj_kernel_get_asm", "kernel");
  if (stage == NULL) return tj_fail_null("tj_kernel_get_asm", "stage");
  if (out_data == NULL) return tj_fail_null("tj_kernel_get_asm", "out_data");
  if (out_size == NULL) return tj_fail_null("tj_kernel_get_asm", "out_size");
  tj_str names = {0};
  for (uint32_t i = 0; i < kernel->n_stages; i++) {
    const tj_stage *s = &kernel->stages[i];
    if (strcmp(s->name, stage) == 0) {
      *out_data = s->data;
      *out_size = s->size;
      tj_str_free(&names);
      return TJ_OK;
    }
    tj_str_printf(&names, "%s%s", i ? ", " : "", s->name);
  }
  tj_status status = tj_fail(TJ_E_INVALID, "'%s' has no stage '%s'; it has: %s",
                             kernel->artifact.function, stage, tj_str_text(&names));
  tj_str_free(&names);
  return status;
}
