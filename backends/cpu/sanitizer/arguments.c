/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t length_of(const tj_extent *extent) {
  return extent->first > extent->last ? 0 : extent->last - extent->first + 1;
}

static bool is_dense(const tj_extent *extent) {
  uint64_t bytes = extent->element_size;
  if (extent->rank == 0) return true;
  for (uint32_t axis = 0; axis < extent->rank; axis++) bytes *= (uint64_t)extent->shape[axis];
  return bytes >= length_of(extent);
}

bool tj_cpu_arguments_make(const tj_backend_launch *launch, const char *const *names,
                           tj_cpu_arguments *out_arguments) {
  const tj_artifact *artifact = launch->artifact;
  uint32_t n = launch->n_slots;
  tj_cpu_argument *list = calloc((size_t)n + 1, sizeof *list);
  tj_extent *extents = calloc((size_t)n + 1, sizeof *extents);
  if (list == NULL || extents == NULL) {
    free(list);
    free(extents);
    return false;
  }
  tj_launch_extents(launch, extents);
  for (uint32_t i = 0; i < n; i++) {
    const tj_slot *slot = &artifact->slots[i];
    list[i].name = names[i];
    list[i].pointer = slot->pointer != 0;
    if (!slot->pointer) continue;
    memcpy(&list[i].address, (const char *)launch->params + slot->offset, sizeof list[i].address);
    list[i].extent = extents[i];
    list[i].dense = is_dense(&extents[i]);
  }
  free(extents);
  *out_arguments = (tj_cpu_arguments){n, list};
  return true;
}

void tj_cpu_arguments_free(tj_cpu_arguments *arguments) { free(arguments->list); }

const tj_cpu_argument *tj_cpu_argument_of(const tj_cpu_arguments *arguments,
                                          const tj_cpu_site *site, uint64_t address) {
  if (site->parameter >= 0 && (uint32_t)site->parameter < arguments->n)
    return &arguments->list[site->parameter];
  for (uint32_t i = 0; i < arguments->n; i++) {
    const tj_cpu_argument *argument = &arguments->list[i];
    if (argument->extent.known && address >= argument->extent.first &&
        address <= argument->extent.last)
      return argument;
  }
  return NULL;
}

static uint64_t step_of(const tj_extent *extent, uint32_t axis) {
  int64_t step = 1;
  if (extent->strides) {
    step = extent->strides[axis];
  } else {
    for (uint32_t i = axis + 1; i < extent->rank; i++) step *= extent->shape[i];
  }
  return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

/*
 * Whether some element of a tensor with gaps begins `at` elements behind its lowest. From the
 * longest step to the shortest each takes as much as it can, which is right where the
 * elements of shorter steps end before the next one of a longer step begins. A tensor that
 * overlaps itself is taken to have no gaps.
 */
static bool has_element(const tj_extent *extent, uint64_t at) {
  uint64_t limit = UINT64_MAX;
  for (uint32_t turn = 0; turn < extent->rank; turn++) {
    uint64_t step = 0, last = 0, reach = 0;
    uint32_t equal = 0;
    for (uint32_t axis = 0; axis < extent->rank; axis++) {
      uint64_t own = step_of(extent, axis);
      if (extent->shape[axis] <= 1 || own >= limit) continue;
      reach += own * (uint64_t)(extent->shape[axis] - 1);
      equal += own == step;
      if (own <= step) continue;
      step = own;
      last = (uint64_t)extent->shape[axis] - 1;
      equal = 0;
    }
    if (step == 0) break;
    if (equal > 0 || reach - step * last >= step) return true;
    uint64_t index = at / step;
    at -= step * (index < last ? index : last);
    limit = step;
  }
  return at == 0;
}

tj_cpu_side tj_cpu_argument_side(const tj_cpu_argument *argument, uint64_t address, uint32_t size) {
  const tj_extent *extent = &argument->extent;
  if (address < extent->first && address < extent->address) return TJ_CPU_BEFORE;
  if (extent->first > extent->last || address < extent->first || address > extent->last ||
      extent->last - address + 1 < size)
    return TJ_CPU_BEHIND;
  if (argument->dense || size != extent->element_size) return TJ_CPU_WITHIN;
  uint64_t bytes = address - extent->first;
  return bytes % size == 0 && has_element(extent, bytes / size) ? TJ_CPU_WITHIN : TJ_CPU_BETWEEN;
}

void tj_cpu_argument_words(const tj_cpu_argument *argument, uint64_t address, uint32_t size,
                           char *buffer, size_t capacity) {
  if (argument == NULL) {
    (void)snprintf(buffer, capacity, "address 0x%" PRIx64, address);
    return;
  }
  int64_t bytes = (int64_t)(address - argument->address);
  if (size == 0 || bytes % size != 0)
    (void)snprintf(buffer, capacity, "byte %" PRId64 " of '%s'", bytes, argument->name);
  else
    (void)snprintf(buffer, capacity, "element %" PRId64 " of '%s'", bytes / size, argument->name);
}

void tj_cpu_event_words(const tj_cpu_event *event, char *buffer, size_t capacity) {
  const tj_cpu_site *site = event->site;
  int n = snprintf(buffer, capacity, "program (%u, %u, %u)", event->pid[0], event->pid[1],
                   event->pid[2]);
  if (site->rank == 0 || site->rank > TJ_CPU_MAX_RANK || n < 0) return;
  uint64_t index[TJ_CPU_MAX_RANK], rest = event->element;
  for (uint32_t axis = site->rank; axis-- > 0;) {
    uint32_t length = site->shape[axis] ? site->shape[axis] : 1;
    index[axis] = rest % length;
    rest /= length;
  }
  size_t at = (size_t)n;
  for (uint32_t axis = 0; axis < site->rank && at < capacity; axis++)
    at += (size_t)snprintf(buffer + at, capacity - at, axis ? ", %" PRIu64 : ", element (%" PRIu64,
                           index[axis]);
  if (at < capacity) (void)snprintf(buffer + at, capacity - at, ") of the tile");
}
