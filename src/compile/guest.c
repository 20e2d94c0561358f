/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/guest.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void tj_guest_enter(tj_guest *guest) {
  fegetenv(&guest->float_mode);
  fesetenv(FE_DFL_ENV);
  if (sigaltstack(NULL, &guest->signal_stack) != 0) guest->signal_stack.ss_flags = SS_ONSTACK;
  for (int i = 1; i < 65; i++)
    if (sigaction(i, NULL, &guest->handlers[i]) != 0)
      memset(&guest->handlers[i], 0, sizeof guest->handlers[i]);
}

/* The function of a handler, whichever of the two members holds it. */
static void *function_of(const struct sigaction *action) {
  void *function;
  if (action->sa_flags & SA_SIGINFO) {
    memcpy(&function, &action->sa_sigaction, sizeof function);
  } else {
    memcpy(&function, &action->sa_handler, sizeof function);
  }
  return function;
}

/* Whether the handler at `address` of signal `number` came with a compile. */
static bool is_guests(int number, const void *address, bool python_is_ours) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  const char *name = slash ? slash + 1 : info.dli_fname;
  if (strncmp(name, "libtriton.", 10) == 0 || strncmp(name, "libLLVM", 7) == 0) return true;
  /* `import signal` takes a SIGINT that nobody has taken; all others a host may have set by
     its own Python. */
  return strncmp(name, "libpython", 9) == 0 && (python_is_ours || number == SIGINT);
}

void tj_guest_leave(const tj_guest *guest, bool python_is_ours) {
  for (int i = 1; i < 65; i++) {
    struct sigaction now;
    if (sigaction(i, NULL, &now) != 0) continue;
    void *function = function_of(&now);
    if (function != function_of(&guest->handlers[i]) && is_guests(i, function, python_is_ours))
      sigaction(i, &guest->handlers[i], NULL);
  }
  stack_t now;
  if (sigaltstack(NULL, &now) == 0 && !(guest->signal_stack.ss_flags & SS_ONSTACK) &&
      (now.ss_sp != guest->signal_stack.ss_sp || now.ss_flags != guest->signal_stack.ss_flags))
    sigaltstack(&guest->signal_stack, NULL);
  fesetenv(&guest->float_mode);
}
