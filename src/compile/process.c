/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/process.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HIGH_FD 100 /* above what hosts look at; still below a small RLIMIT_NOFILE */

/* Closes what the child would inherit because the host opened it without O_CLOEXEC. */
static int add_close_others(posix_spawn_file_actions_t *actions) {
  typedef int close_from_fn(posix_spawn_file_actions_t *, int);
  close_from_fn *close_from = NULL; /* glibc 2.34; older ones get a list */
  void *symbol = dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
  memcpy(&close_from, &symbol, sizeof symbol);
  if (close_from) return close_from(actions, 3);

  DIR *open_fds = opendir("/proc/self/fd");
  if (open_fds == NULL) return 0; /* no /proc: the child keeps them, which does no harm at once */
  int error = 0;
  const struct dirent *entry;
  while (error == 0 && (entry = readdir(open_fds)) != NULL) {
    char *end;
    long fd = strtol(entry->d_name, &end, 10);
    if (*end == 0 && fd >= 3) error = posix_spawn_file_actions_addclose(actions, (int)fd);
  }
  closedir(open_fds);
  return error;
}

static int add_descriptors(posix_spawn_file_actions_t *actions, const int fds[3]) {
  int error = 0;
  for (int i = 0; i < 3 && error == 0; i++) {
    error = fds[i] < 0 ? posix_spawn_file_actions_addopen(actions, i, "/dev/null",
                                                          i ? O_WRONLY : O_RDONLY, 0)
                       : posix_spawn_file_actions_adddup2(actions, fds[i], i);
  }
  return error ? error : add_close_others(actions);
}

static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  sigemptyset(&none);
  int error = posix_spawnattr_setsigdefault(attributes, &all);
  if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
#ifdef POSIX_SPAWN_SETSID
  flags |= POSIX_SPAWN_SETSID;
#endif
  return error ? error : posix_spawnattr_setflags(attributes, flags);
}

int tj_process_start(const char *const argv[], const int fds[3], pid_t *out_pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error == 0) {
    error = add_descriptors(&actions, fds);
    if (error == 0) error = set_attributes(&attributes);
    /* posix_spawn does not write to argv; its prototype is older than const. */
    if (error == 0)
      error = posix_spawn(out_pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static tj_exit look(pid_t pid, int flags) {
  int status = 0;
  pid_t got;
  do got = waitpid(pid, &status, flags);
  while (got < 0 && errno == EINTR);
  if (got == 0) return (tj_exit){false, false, 0};
  /* ECHILD: the host ignores SIGCHLD or waits for every child. It has ended all the same. */
  return (tj_exit){true, got == pid, status};
}

tj_exit tj_process_wait(pid_t pid, int milliseconds) {
  long left = milliseconds * 1000000L;
  long pause = 100000; /* 0.1 ms, and longer each time up to 10 */
  for (;;) {
    tj_exit how = look(pid, WNOHANG);
    if (how.ended || left <= 0) return how;
    if (pause > left) pause = left;
    nanosleep(&(struct timespec){0, pause}, NULL);
    left -= pause;
    pause = pause < 5000000 ? pause * 2 : 10000000;
  }
}

tj_exit tj_process_end(pid_t pid, int milliseconds) {
  tj_exit how = tj_process_wait(pid, milliseconds);
  if (how.ended) return how;
  /* It was ours and alive a moment ago, so that its number cannot belong to another one. */
  kill(pid, SIGKILL);
  return look(pid, 0);
}

static const char *signal_name(int number) {
#define NAME(signal) \
  case signal: return #signal;
  switch (number) {
    NAME(SIGABRT)
    NAME(SIGALRM)
    NAME(SIGBUS)
    NAME(SIGFPE)
    NAME(SIGHUP)
    NAME(SIGILL)
    NAME(SIGINT)
    NAME(SIGKILL)
    NAME(SIGPIPE)
    NAME(SIGQUIT)
    NAME(SIGSEGV)
    NAME(SIGSYS)
    NAME(SIGTERM)
    NAME(SIGTRAP)
    NAME(SIGUSR1)
    NAME(SIGUSR2)
    NAME(SIGXCPU)
    NAME(SIGXFSZ)
  default: return NULL;
  }
#undef NAME
}

void tj_process_describe(tj_str *out, tj_exit how) {
  if (!how.known) {
    tj_str_add_text(out, "ended (the host process has collected its exit status)");
  } else if (WIFEXITED(how.status)) {
    tj_str_printf(out, "exited with status %d", WEXITSTATUS(how.status));
  } else if (WIFSIGNALED(how.status)) {
    int number = WTERMSIG(how.status);
    const char *name = signal_name(number);
    if (name) {
      tj_str_printf(out, "was ended by %s", name);
    } else {
      tj_str_printf(out, "was ended by signal %d", number);
    }
    if (number == SIGKILL) tj_str_add_text(out, " (the system does that when memory runs out)");
  } else {
    tj_str_printf(out, "ended with wait status 0x%x", (unsigned)how.status);
  }
}

int tj_fd_move_up(int fd) {
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
  if (moved < 0) moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  int error = errno;
  close(fd);
  errno = error;
  return moved;
}

void tj_fd_close(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}
