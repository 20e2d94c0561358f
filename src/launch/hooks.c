/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/hooks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"

_Atomic(const tj_hooks *) tj_hooks_current;

/* Replaced ones are kept, since another thread may be using them, and found again when
   the same hooks are set again, so that switching them on and off does not grow. */
typedef struct kept {
  tj_hooks hooks;
  struct kept *next;
} kept;

static tj_status keep(const tj_hooks *hooks, const tj_hooks **out_kept) {
  static kept *all; /* under TJ_LOCK_HOOKS */
  for (kept *k = all; k; k = k->next) {
    if (memcmp(&k->hooks, hooks, sizeof *hooks) == 0) {
      *out_kept = &k->hooks;
      return TJ_OK;
    }
  }
  kept *fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return tj_fail_memory();
  fresh->hooks = *hooks;
  fresh->next = all;
  all = fresh;
  *out_kept = &fresh->hooks;
  return TJ_OK;
}

tj_status tj_set_hooks(const tj_hooks *hooks) {
  if (hooks && hooks->struct_size < sizeof *hooks)
    return tj_fail_size("tj_hooks", hooks->struct_size, sizeof *hooks);
  const tj_hooks *next = NULL;
  tj_status status = TJ_OK;
  tj_lock_acquire(TJ_LOCK_HOOKS);
  if (hooks) status = keep(hooks, &next);
  if (status == TJ_OK) atomic_store(&tj_hooks_current, next);
  tj_lock_release(TJ_LOCK_HOOKS);
  return status;
}

void tj_hook_call(tj_hook_fn hook, void *user, const tj_event *event) {
  char *message = event->status == TJ_OK ? NULL : strdup(tj_last_error());
  hook(user, event);
  if (message) tj_fail_text(event->status, message, strlen(message));
  free(message);
}
