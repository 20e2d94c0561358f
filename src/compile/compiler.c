/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiler answers. */
#include "compile/compiler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "compile/embedded.h"
#include "compile/python_host.h"
#include "compile/settings.h"

static _Atomic(const tj_compiler *) replacement;

void tj_compiler_replace(const tj_compiler *compiler) { atomic_store(&replacement, compiler); }

/* Says why it is the worker, once in each process. The reason is the recorded error. */
static void log_reason(void) {
  static _Atomic pid_t said_by;
  pid_t pid = getpid();
  if (atomic_exchange(&said_by, pid) == pid) return;
  tj_log(TJ_LOG_INFO, "kernels are compiled in a worker process: %s", tj_last_error());
}

static tj_status choose(const tj_compiler **out_compiler) {
  const tj_settings *settings;
  tj_status status = tj_settings_get(&settings);
  if (status != TJ_OK) return status;
  *out_compiler = &tj_compiler_worker;
  if (settings->mode == TJ_COMPILER_WORKER) return TJ_OK;
  /* A failure that the worker makes good must leave no trace in the error record. */
  tj_status status_before = tj_last_status();
  char *error_before = strdup(tj_last_error());
  bool elsewhere = false;
  status = tj_embedded_start(&elsewhere);
  if (status == TJ_OK) {
    *out_compiler = &tj_compiler_embedded;
    free(error_before);
    return TJ_OK;
  }
  /* A forked child gets the worker even where its parent asked to embed. */
  if (elsewhere && (settings->mode != TJ_COMPILER_EMBEDDED || tj_python_is_inherited())) {
    log_reason();
    if (error_before) tj_fail_text(status_before, error_before, strlen(error_before));
    status = TJ_OK;
  }
  free(error_before);
  return status;
}

tj_status tj_compiler_handle(const void *request, size_t size, void **out_reply, size_t *out_size) {
  const tj_compiler *compiler = atomic_load(&replacement);
  /* A thread that is cancelled here would leave locks held and Python's state behind. */
  int cancel_state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  tj_status status = compiler ? TJ_OK : choose(&compiler);
  if (status == TJ_OK) status = compiler->handle(request, size, out_reply, out_size);
  pthread_setcancelstate(cancel_state, NULL);
  return status;
}
