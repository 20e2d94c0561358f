/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

static void note_descriptors(snapshot *out) {
  size_t used = 0;
  for (int fd = 0; fd < 1024; fd++) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    if (fd >= 100) {
      out->high_descriptors++;
      continue;
    }
    char link[64], target[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    int added =
        snprintf(out->descriptors + used, sizeof out->descriptors - used, "%d %s\n", fd, target);
    if (added > 0 && (size_t)added < sizeof out->descriptors - used) used += (size_t)added;
  }
}

static void note_environment(snapshot *out) {
  size_t used = 0;
  for (char **at = environ; at && *at; at++) {
    size_t n = strlen(*at);
    if (used + n + 2 > sizeof out->environment) return;
    memcpy(out->environment + used, *at, n);
    out->environment[used + n] = '\n';
    used += n + 1;
  }
}

void take_snapshot(snapshot *out) {
  memset(out, 0, sizeof *out);
  for (int i = 1; i < 65; i++) sigaction(i, NULL, &out->handlers[i]);
  pthread_sigmask(SIG_BLOCK, NULL, &out->blocked);
  sigaltstack(NULL, &out->signal_stack);
  snprintf(out->locale, sizeof out->locale, "%s", setlocale(LC_ALL, NULL));
  if (getcwd(out->folder, sizeof out->folder) == NULL) out->folder[0] = 0;
  note_environment(out);
  out->rounding = fegetround();
#ifdef __SSE__
  out->mode = _mm_getcsr(); /* with the flags that say what has happened */
#endif
  out->file_mask = (unsigned)umask(0);
  umask((mode_t)out->file_mask);
  note_descriptors(out);
}

static int differ(const char *what, int same) {
  if (!same) fprintf(stderr, "changed: %s\n", what);
  return !same;
}

static int same_signals(const sigset_t *a, const sigset_t *b) {
  for (int i = 1; i < 65; i++)
    if (sigismember(a, i) != sigismember(b, i)) return 0;
  return 1;
}

static int differ_number(const char *what, unsigned before, unsigned after) {
  if (before != after) fprintf(stderr, "changed: %s, from 0x%x to 0x%x\n", what, before, after);
  return before != after;
}

static int differ_text(const char *what, const char *before, const char *after) {
  if (strcmp(before, after) == 0) return 0;
  fprintf(stderr, "changed: %s\n--- before\n%s\n--- after\n%s\n", what, before, after);
  return 1;
}

static int same_handler(const struct sigaction *a, const struct sigaction *b) {
  if (a->sa_handler != b->sa_handler) return 0;
  /* The rest means nothing without a function, and glibc leaves marks of its own there. */
  if (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN) return 1;
  return a->sa_flags == b->sa_flags && same_signals(&a->sa_mask, &b->sa_mask);
}

int compare_snapshots(const snapshot *before, const snapshot *after) {
  int count = 0;
  for (int i = 1; i < 65; i++) {
    char what[32];
    snprintf(what, sizeof what, "handler of signal %d", i);
    count += differ(what, same_handler(&before->handlers[i], &after->handlers[i]));
  }
  count += differ("blocked signals", same_signals(&before->blocked, &after->blocked));
  count +=
      differ("signal stack", before->signal_stack.ss_sp == after->signal_stack.ss_sp &&
                                 before->signal_stack.ss_flags == after->signal_stack.ss_flags);
  count += differ_text("locale", before->locale, after->locale);
  count += differ_text("folder", before->folder, after->folder);
  count += differ_text("environment", before->environment, after->environment);
  count += differ_number("rounding", (unsigned)before->rounding, (unsigned)after->rounding);
  count += differ_number("floating-point mode", before->mode, after->mode);
  count += differ_number("umask", before->file_mask, after->file_mask);
  count += differ_text("descriptors", before->descriptors, after->descriptors);
  return count;
}
