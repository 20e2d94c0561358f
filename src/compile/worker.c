/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler in a process of its own: one, kept, and started again after its death. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "compile/compiler.h"
#include "compile/frame.h"
#include "compile/process.h"
#include "compile/python_find.h"
#include "compile/scripts_find.h"
#include "compile/settings.h"

#define MESSAGE_TAIL ((size_t)8 << 10)

/* ---- whose turn it is ------------------------------------------------------------------ */

/* Requests are served in the order in which they came. The mutex guards the numbers only. */
static struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint64_t next, serving;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static _Thread_local bool mine; /* this thread's request is being served */

/* The process; only the thread whose turn it is touches it. */
static struct {
  pid_t pid; /* 0: none */
  int socket, diagnostics;
  tj_str tail; /* the last of what it wrote to its fd 2 */
} worker = {0, -1, -1, {NULL, 0, 0, false}};

/* A child has no thread that could go on with a request, and must not use, or keep open, its
   parent's end of the socket: the worker lives until that is closed. */
static void in_child(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  memcpy(&queue.mutex, &mutex, sizeof mutex);
  memcpy(&queue.changed, &changed, sizeof changed);
  queue.next = queue.serving = 0;
  mine = false;
  tj_fd_close(&worker.socket);
  tj_fd_close(&worker.diagnostics);
  worker.pid = 0;
  worker.tail = (tj_str){0}; /* perhaps half written: left alone */
}

static void take_turn(void) {
  pthread_mutex_lock(&queue.mutex);
  uint64_t ticket = queue.next++;
  while (queue.serving != ticket) pthread_cond_wait(&queue.changed, &queue.mutex);
  pthread_mutex_unlock(&queue.mutex);
  mine = true;
}

static void end_turn(void) {
  mine = false;
  pthread_mutex_lock(&queue.mutex);
  queue.serving++;
  pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.mutex);
}

/* ---- the process ----------------------------------------------------------------------- */

/* Two connected ends of a socket; the first one into worker.socket. Returns 0 or an errno. */
static int open_socket(int *child_end) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  worker.socket = tj_fd_move_up(ends[0]);
  int error = worker.socket < 0 ? errno : 0;
  *child_end = tj_fd_move_up(ends[1]);
  return *child_end < 0 ? errno : error;
}

static int open_diagnostics(int *child_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  worker.diagnostics = tj_fd_move_up(ends[0]);
  int error = worker.diagnostics < 0 ? errno : 0;
  *child_end = tj_fd_move_up(ends[1]);
  if (*child_end < 0) error = errno;
  if (error == 0 && fcntl(worker.diagnostics, F_SETFL, O_NONBLOCK) != 0) error = errno;
  return error;
}

static void forget(void) {
  tj_fd_close(&worker.socket);
  tj_fd_close(&worker.diagnostics);
  worker.pid = 0;
}

static tj_status start(void) {
  const tj_settings *settings;
  const tj_python_info *info;
  char *script = NULL;
  tj_status status = tj_settings_get(&settings);
  if (status == TJ_OK) status = tj_scripts_find(settings->scripts, &script);
  if (status == TJ_OK) status = tj_python_find(settings->python, &info);
  if (status == TJ_OK) {
    const char *const argv[] = {info->executable, "-X", "utf8", script, "--serve", NULL};
    int socket = -1, diagnostics = -1;
    int error = open_socket(&socket);
    if (error == 0) error = open_diagnostics(&diagnostics);
    if (error == 0)
      error = tj_process_start(argv, (int[]){socket, socket, diagnostics}, &worker.pid);
    tj_fd_close(&socket);
    tj_fd_close(&diagnostics);
    if (error) {
      forget();
      status = error == ENOMEM
                   ? tj_fail_memory()
                   : tj_fail(error == ENOENT || error == EACCES ? TJ_E_NO_PYTHON : TJ_E_IO,
                             "the compiler process %s does not start: %s", info->executable,
                             strerror(error));
    } else {
      tj_log(TJ_LOG_DEBUG, "compiler process %ld started", (long)worker.pid);
    }
  }
  free(script);
  return status;
}

/* How the process ended, in `out`; there is none after this. */
static void bury(int milliseconds, tj_str *out) {
  tj_exit how = tj_process_end(worker.pid, milliseconds);
  (void)tj_frame_drain(worker.diagnostics, &worker.tail);
  tj_process_describe(out, how);
  forget();
}

/* An idle worker that has died, or has spoken unasked, is replaced without a word to the
   caller: no request has anything to do with it. */
static void check_idle(void) {
  char byte;
  ssize_t n;
  do n = recv(worker.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return;
  long pid = (long)worker.pid;
  tj_str how = {0};
  bury(n == 0 ? 1000 : 0, &how);
  tj_log(TJ_LOG_INFO, "compiler process %ld %s while idle; another one is started", pid,
         tj_str_text(&how));
  tj_str_free(&how);
}

/* ---- a request ------------------------------------------------------------------------- */

/* The last lines of what it wrote. */
static const char *tail_text(void) {
  const char *text = tj_str_text(&worker.tail);
  if (worker.tail.size <= MESSAGE_TAIL) return text;
  text += worker.tail.size - MESSAGE_TAIL;
  const char *line = strchr(text, '\n');
  return line ? line + 1 : text;
}

static tj_status fail_exchange(tj_exchange result, const char *reason) {
  long pid = (long)worker.pid;
  tj_str how = {0};
  bury(result == TJ_EXCHANGE_CLOSED ? 2000 : 0, &how);
  tj_status status;
  if (result == TJ_EXCHANGE_MEMORY) {
    status = tj_fail_memory();
  } else {
    const char *output = *tail_text() ? tail_text() : "(none)";
    if (result == TJ_EXCHANGE_GARBAGE)
      status = tj_fail(TJ_E_COMPILER_DIED,
                       "the compiler process %ld sent %s, and was ended. A kernel's file that "
                       "writes to the process's file descriptors by itself does that. Its last "
                       "output:\n%s",
                       pid, reason, output);
    else
      status = tj_fail(TJ_E_COMPILER_DIED,
                       "the compiler process %ld %s while it worked on this request; the next "
                       "one starts another. Its last output:\n%s",
                       pid, tj_str_text(&how), output);
  }
  tj_str_free(&how);
  return status;
}

/* With its turn. What the process writes to its fd 2 without dying, it reports by itself: as
   log frames, or as the error that it means. */
static tj_status serve(const void *request, size_t size, void **out_reply, size_t *out_size) {
  if (worker.pid) check_idle();
  tj_status status = worker.pid ? TJ_OK : start();
  if (status != TJ_OK) return status;
  tj_str_free(&worker.tail);
  const char *reason = NULL;
  tj_exchange result = tj_frame_exchange(worker.socket, worker.diagnostics, request, size,
                                         &worker.tail, out_reply, out_size, &reason);
  if (result != TJ_EXCHANGE_OK) return fail_exchange(result, reason);
  return TJ_OK;
}

static tj_status handle(const void *request, size_t size, void **out_reply, size_t *out_size) {
  if (size > TJ_FRAME_MAX)
    return tj_fail(TJ_E_INVALID, "a request of %zu bytes; the compiler process takes up to %zu",
                   size, TJ_FRAME_MAX);
  if (mine) return tj_fail(TJ_E_RECURSION, "a log callback must not call what compiles");
  tj_on_fork_child(in_child);
  /* Other threads of a host in Python go on meanwhile; one whose log callback wants the GIL
     may be the one to wait for. */
  void *token = tj_python_suspend();
  take_turn();
  void *reply = NULL;
  size_t reply_size = 0;
  tj_status status = serve(request, size, &reply, &reply_size);
  end_turn();
  tj_python_resume(token);
  if (status == TJ_OK) {
    *out_reply = reply;
    *out_size = reply_size;
  }
  return status;
}

const tj_compiler tj_compiler_worker = {"worker", handle};
