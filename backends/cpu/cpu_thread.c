/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "cpu/cpu_fenv.h"

/* Kernels have small frames; the rest is for the host's log callback. */
#define STACK_SIZE ((size_t)512 << 10)

static int start_with_stack(size_t stack, void *(*run)(void *), void *argument,
                            pthread_t *out_thread) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  if (stack != 0) (void)pthread_attr_setstacksize(&attributes, stack);
  if (out_thread == NULL) (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  error = pthread_create(&thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  if (error == 0 && out_thread) *out_thread = thread;
  return error;
}

int tj_cpu_thread_start(void *(*run)(void *), void *argument, pthread_t *out_thread) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before); /* the new thread inherits it */
  int error = start_with_stack(STACK_SIZE, run, argument, out_thread);
  /* Thread-local data of a host's many libraries is taken off the stack. */
  if (error == EINVAL) error = start_with_stack(0, run, argument, out_thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

/*
 * The mask of the process's first thread, which stands for the process (taskset, cgroups);
 * or that of this thread if it is larger. A host may pin either.
 */
static bool process_mask(cpu_set_t *out_mask) {
  cpu_set_t own;
  bool have_first = sched_getaffinity(getpid(), sizeof *out_mask, out_mask) == 0;
  bool have_own = sched_getaffinity(0, sizeof own, &own) == 0;
  if (have_own && (!have_first || CPU_COUNT(&own) > CPU_COUNT(out_mask))) *out_mask = own;
  return have_first || have_own;
}

void tj_cpu_thread_enter(void) {
  (void)pthread_setname_np(pthread_self(), "triton_jit");
  cpu_set_t mask;
  if (process_mask(&mask)) (void)sched_setaffinity(0, sizeof mask, &mask);
  (void)tj_cpu_fenv_enter();
}

uint32_t tj_cpu_thread_cpus(void) {
  cpu_set_t mask;
  if (process_mask(&mask)) return (uint32_t)CPU_COUNT(&mask);
  /* More CPUs than a cpu_set_t has bits. */
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (uint32_t)online : 1;
}
