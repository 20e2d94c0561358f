/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler inside this process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "compile/compiler.h"
#include "compile/embedded.h"
#include "compile/guest.h"
#include "compile/python_host.h"
#include "compile/roomy.h"
#include "compile/scripts_find.h"

/*
 * Loads the script by its path, so that sys.path stays as it is, and wraps its handle() so
 * that an exception arrives here as text. `load` returns the wrapper or a text.
 */
static const char bootstrap[] =
    "def load(path):\n"
    "    import importlib.util, sys, traceback\n"
    "    def flush():\n"
    "        for stream in (sys.stdout, sys.stderr):\n"
    "            try:\n"
    "                stream.flush()\n"
    "            except Exception:\n"
    "                pass\n"
    "    try:\n"
    "        if not hasattr(sys, 'argv'):\n"
    "            sys.argv = ['']\n"
    "        path = path.decode('utf-8', 'surrogateescape')\n"
    "        spec = importlib.util.spec_from_file_location('triton_jit_standalone_compile', path)\n"
    "        module = importlib.util.module_from_spec(spec)\n"
    "        spec.loader.exec_module(module)\n"
    "        handle = module.handle\n"
    "    except BaseException:\n"
    "        return traceback.format_exc()\n"
    "    def call(request, log):\n"
    "        try:\n"
    "            return bytes(handle(request, log))\n"
    "        except BaseException:\n"
    "            return traceback.format_exc()\n"
    "        finally:\n"
    "            flush()\n"
    "    return call\n";

#define FILE_INPUT 257 /* Py_file_input */

/* A PyMethodDef, which is part of the stable ABI. */
typedef struct method {
  const char *name;
  void *(*function)(void *self, void *arguments);
  int flags;
  const char *doc;
} method;

#define METH_VARARGS 1

/* Written under `starting`, then constant. */
static const tj_python *python;
static void *call, *log_function; /* Python objects, kept for ever */
static atomic_bool started;

/* Held while Python starts. A child forked meanwhile gets a fresh one. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void) {
  pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  memcpy(&starting, &fresh, sizeof fresh);
}

/* log(level, text), called by Python with the GIL held. */
static void *log_from_python(void *self, void *arguments) {
  (void)self;
  ptrdiff_t n = python->PyTuple_Size(arguments);
  void *level = n == 2 ? python->PyTuple_GetItem(arguments, 0) : NULL;
  void *text = n == 2 ? python->PyTuple_GetItem(arguments, 1) : NULL;
  long number = level ? python->PyLong_AsLong(level) : -1;
  ptrdiff_t size = 0;
  const char *bytes = text ? python->PyUnicode_AsUTF8AndSize(text, &size) : NULL;
  python->PyErr_Clear(); /* of a level that is no number or a text with lone surrogates */
  if (bytes && size > 0 && number >= TJ_LOG_ERROR && number <= TJ_LOG_DEBUG) {
    /* Without the GIL: the host's callback may wait for a thread that wants it. The text
       lives as long as `arguments`, which the caller holds. */
    void *thread = python->PyEval_SaveThread();
    tj_log_text((int)number, bytes, (size_t)size);
    python->PyEval_RestoreThread(thread);
  }
  return python->PyBool_FromLong(1);
}

/* ---- starting -------------------------------------------------------------------------- */

/* The wrapper, or a text that says what went wrong, or NULL. With the GIL. */
static void *run_bootstrap(const char *script) {
  void *wrapper = NULL, *result = NULL;
  void *globals = python->PyDict_New();
  void *code = python->Py_CompileString(bootstrap, "<triton_jit>", FILE_INPUT);
  void *path = python->PyBytes_FromStringAndSize(script, (ptrdiff_t)strlen(script));
  if (globals && code && path &&
      python->PyDict_SetItemString(globals, "__builtins__", python->PyEval_GetBuiltins()) == 0) {
    result = python->PyEval_EvalCode(code, globals, globals);
    wrapper = result ? python->PyDict_GetItemString(globals, "load") : NULL; /* borrowed */
    if (wrapper) wrapper = python->PyObject_CallFunctionObjArgs(wrapper, path, NULL);
  }
  python->PyErr_Clear();
  if (result) python->Py_DecRef(result);
  if (path) python->Py_DecRef(path);
  if (code) python->Py_DecRef(code);
  if (globals) python->Py_DecRef(globals);
  return wrapper;
}

static tj_status load_script(const char *script) {
  static method definition = {"log", log_from_python, METH_VARARGS, NULL};
  int gil = python->PyGILState_Ensure();
  tj_status status = TJ_OK;
  if (log_function == NULL) log_function = python->PyCFunction_NewEx(&definition, NULL, NULL);
  void *loaded = log_function ? run_bootstrap(script) : NULL;
  const char *text = loaded ? python->PyUnicode_AsUTF8AndSize(loaded, NULL) : NULL;
  python->PyErr_Clear(); /* the wrapper is no text */
  if (loaded == NULL) {
    status = tj_fail_memory();
  } else if (text) {
    status = tj_fail(TJ_E_NO_SCRIPTS, "%s does not load in the embedded Python:\n%s", script, text);
    python->Py_DecRef(loaded);
  } else {
    call = loaded;
  }
  python->PyGILState_Release(gil);
  return status;
}

/* Under `starting`. */
static tj_status start(void *out_elsewhere) {
  const tj_settings *settings;
  char *script = NULL;
  tj_status status = tj_settings_get(&settings);
  if (status == TJ_OK) status = tj_scripts_find(settings->scripts, &script);
  if (status == TJ_OK) status = tj_python_start(settings, &python, out_elsewhere);
  if (status == TJ_OK) status = load_script(script);
  free(script);
  if (status == TJ_OK) atomic_store_explicit(&started, true, memory_order_release);
  return status;
}

tj_status tj_embedded_start(bool *out_elsewhere) {
  *out_elsewhere = false;
  if (!atomic_load_explicit(&started, memory_order_acquire)) {
    tj_on_fork_child(in_child);
    void *token = tj_python_suspend(); /* the thread that starts it needs the GIL */
    pthread_mutex_lock(&starting);
    tj_status status = TJ_OK;
    if (!atomic_load_explicit(&started, memory_order_relaxed)) {
      tj_guest guest;
      tj_guest_enter(&guest);
      status = tj_roomy_call(start, out_elsewhere);
      tj_guest_leave(&guest, python && python->ours);
    }
    pthread_mutex_unlock(&starting);
    tj_python_resume(token);
    if (status != TJ_OK) return status;
  }
  return tj_python_check(python, out_elsewhere);
}

/* ---- requests -------------------------------------------------------------------------- */

/* A copy of what `call` returned: bytes, or the text of an exception. With the GIL. */
static tj_status take_reply(void *result, void **out_reply, size_t *out_size) {
  char *bytes;
  ptrdiff_t size;
  if (python->PyBytes_AsStringAndSize(result, &bytes, &size) == 0) {
    *out_reply = malloc(size > 0 ? (size_t)size : 1);
    if (*out_reply == NULL) return tj_fail_memory();
    memcpy(*out_reply, bytes, (size_t)size);
    *out_size = (size_t)size;
    return TJ_OK;
  }
  python->PyErr_Clear();
  const char *text = python->PyUnicode_AsUTF8AndSize(result, NULL);
  if (text == NULL) python->PyErr_Clear();
  return tj_fail(TJ_E_INTERNAL, "the compiler's script raised an exception:\n%s",
                 text ? text : "(its text cannot be shown)");
}

typedef struct exchange {
  const void *request;
  size_t size;
  void **out_reply;
  size_t *out_size;
  pthread_t caller;
} exchange;

static tj_status ask_with_gil(const exchange *x) {
  if (x->size > PTRDIFF_MAX) return tj_fail_memory();
  void *bytes = python->PyBytes_FromStringAndSize(x->request, (ptrdiff_t)x->size);
  void *result =
      bytes ? python->PyObject_CallFunctionObjArgs(call, bytes, log_function, NULL) : NULL;
  tj_status status;
  if (result) {
    status = take_reply(result, x->out_reply, x->out_size);
    python->Py_DecRef(result);
  } else { /* the wrapper lets nothing else through */
    python->PyErr_Clear();
    status = tj_fail_memory();
  }
  if (bytes) python->Py_DecRef(bytes);
  return status;
}

/*
 * A thread's state, once Python was used with it, stays for the thread's life. pybind11, in
 * Triton's extension module and others, remembers the state of the thread that imported it
 * and takes the GIL with it whenever that thread needs it: if PyGILState_Release, ours or
 * the host's, frees the state in between, that is a deadlock. A thread made for the one
 * request has no later.
 */
static int take_gil(pthread_t caller) {
  static _Thread_local const void *kept;
  int gil = python->PyGILState_Ensure();
  const void *state = python->PyGILState_GetThisThreadState();
  if (state != kept && pthread_equal(pthread_self(), caller)) {
    (void)python->PyGILState_Ensure(); /* never given back */
    kept = state;
  }
  return gil;
}

static tj_status ask(void *argument) {
  const exchange *x = argument;
  int gil = take_gil(x->caller);
  tj_status status = ask_with_gil(x);
  python->PyGILState_Release(gil);
  return status;
}

static tj_status handle(const void *request, size_t size, void **out_reply, size_t *out_size) {
  bool elsewhere;
  tj_kept_error *kept = tj_error_keep();
  tj_status status = tj_embedded_start(&elsewhere);
  if (status != TJ_OK && elsewhere) { /* until 3.11 that can change from one look to the next */
    tj_error_put_back(kept);
    return tj_compiler_worker.handle(request, size, out_reply, out_size);
  }
  free(kept);
  if (status != TJ_OK) return status;
  tj_guest guest;
  tj_guest_enter(&guest);
  *out_size = 0;
  exchange x = {request, size, out_reply, out_size, pthread_self()};
  status = tj_roomy_call(ask, &x);
  tj_guest_leave(&guest, python->ours);
  return status;
}

const tj_compiler tj_compiler_embedded = {"embedded", handle};
