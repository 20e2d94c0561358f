/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manners: what Python and LLVM change in the process while they start and work is put
 * back as the host had it.
 */
#ifndef TJ_COMPILE_GUEST_H
#define TJ_COMPILE_GUEST_H

#include <fenv.h>
#include <signal.h>
#include <stdbool.h>

typedef struct tj_guest {
  fenv_t float_mode;
  stack_t signal_stack;
  struct sigaction handlers[65]; /* by signal; Linux has 64 */
} tj_guest;

/* Notes the state, and sets the default floating-point mode for this thread. */
void tj_guest_enter(tj_guest *guest);

/*
 * Puts it back: this thread's floating-point mode and signal stack, and the process's
 * signal handlers that are now LLVM's or, in an interpreter that this library started,
 * CPython's. A handler that the host itself has changed in the meantime stays.
 */
void tj_guest_leave(const tj_guest *guest, bool python_is_ours);

#endif /* TJ_COMPILE_GUEST_H */
