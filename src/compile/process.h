/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes of a guest: started without touching the host's signals, descriptors or
 * terminal, and waited for by their own id only.
 */
#ifndef TJ_COMPILE_PROCESS_H
#define TJ_COMPILE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

/* How a child process stands. */
typedef struct tj_exit {
  bool ended;
  bool known; /* its wait status is; a host that reaps every child may have it instead */
  int status; /* as waitpid gives it */
} tj_exit;

/*
 * Starts argv[0] with the environment of this process and these descriptors as its 0, 1
 * and 2 (below 0: /dev/null), all others closed, default signal handlers, no signal blocked,
 * in a session of its own so that the terminal's Ctrl-C is the host's alone. Returns 0 or
 * an errno.
 */
int tj_process_start(const char *const argv[], const int fds[3], pid_t *out_pid);

/* How it stands, after at most `milliseconds`. */
tj_exit tj_process_wait(pid_t pid, int milliseconds);

/* Lets it end on its own for `milliseconds`, then kills it; returns when it is gone. */
tj_exit tj_process_end(pid_t pid, int milliseconds);

/* "exited with status 3", "was ended by SIGABRT". */
void tj_process_describe(tj_str *out, tj_exit how);

/*
 * The same open file under a number that stays out of the host's way, closed on exec; the
 * one given is closed. Returns it, or -1 with errno.
 */
int tj_fd_move_up(int fd);

/* Closes *fd unless it is below 0, and sets it to -1. */
void tj_fd_close(int *fd);

#endif /* TJ_COMPILE_PROCESS_H */
