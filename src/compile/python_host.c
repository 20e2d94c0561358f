/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/python_host.h"

#include <dlfcn.h>
#include <link.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "compile/compiler.h"
#include "compile/guest.h"
#include "compile/python_find.h"

/* ---- symbols --------------------------------------------------------------------------- */

static bool resolve_into(void *handle, const char *name, void *slot) {
  void *symbol = dlsym(handle, name);
  memcpy(slot, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* False: this is no Python that we know how to use. */
static bool resolve(void *handle, tj_python *python) {
  memset(python, 0, sizeof *python);
#define REQUIRED(result, name, arguments) \
  if (!resolve_into(handle, #name, &python->name)) return false;
#define OPTIONAL(result, name, arguments) (void)resolve_into(handle, #name, &python->name);
#include "compile/python_symbols.def"
#undef REQUIRED
#undef OPTIONAL
  (void)resolve_into(handle, "Py_UTF8Mode", &python->Py_UTF8Mode);
  char *end;
  long major = strtol(python->Py_GetVersion(), &end, 10);
  long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  python->version = TJ_PYTHON_VERSION((int)major, (int)minor);
  return python->PyThreadState_GetUnchecked || python->_PyThreadState_UncheckedGet;
}

static int is_initialized(void *handle) {
  int (*function)(void);
  return resolve_into(handle, "Py_IsInitialized", &function) ? function() : -1;
}

#define MAX_LIBPYTHONS 8

typedef struct libpythons {
  char *path[MAX_LIBPYTHONS];
  int count;
} libpythons;

/* The loader's lock is held in here: only takes notes. */
static int note_libpython(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  libpythons *list = data;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (slash == NULL || strncmp(slash + 1, "libpython", 9) != 0 || !strstr(slash, ".so")) return 0;
  char *copy = list->count < MAX_LIBPYTHONS ? strdup(info->dlpi_name) : NULL;
  if (copy) list->path[list->count++] = copy;
  return 0;
}

/* What the process has of Python. */
typedef struct inventory {
  bool running;
  bool usable;                    /* running, and `python` is filled */
  bool idle;                      /* a libpython is loaded that nobody has started */
  char idle_file[TJ_PYTHON_FILE]; /* its path; "": part of the program itself */
  tj_python python;
} inventory;

static void copy_path(char out[TJ_PYTHON_FILE], const char *path) {
  size_t size = strlen(path) + 1;
  if (size <= TJ_PYTHON_FILE) memcpy(out, path, size);
}

static void look_at_library(char *path, inventory *out) {
  void *handle = out->running ? NULL : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle == NULL) return;
  int state = is_initialized(handle);
  if (state > 0) {
    out->running = true;
    out->usable = resolve(handle, &out->python);
    copy_path(out->python.file, path);
    return; /* the handle is kept: the host must not unload what we use */
  }
  if (state == 0) {
    out->idle = true;
    copy_path(out->idle_file, path);
  }
  dlclose(handle);
}

static void take_inventory(inventory *out) {
  memset(out, 0, sizeof *out);
  int state = is_initialized(RTLD_DEFAULT);
  if (state > 0) {
    out->running = true;
    out->usable = resolve(RTLD_DEFAULT, &out->python);
    return;
  }
  out->idle = state == 0;
  /* One that was opened RTLD_LOCAL is invisible to RTLD_DEFAULT. */
  libpythons list = {{NULL}, 0};
  dl_iterate_phdr(note_libpython, &list);
  for (int i = 0; i < list.count; i++) {
    look_at_library(list.path[i], out);
    free(list.path[i]);
  }
}

/* ---- the interpreter of this process --------------------------------------------------- */

static _Atomic(tj_python *) current; /* once known it stays, also after it was finalised */
static _Atomic pid_t owner;          /* the process that compiles with it, 0: none yet */

static tj_python *publish(const tj_python *python) {
  tj_python *fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return NULL;
  *fresh = *python;
  tj_python *known = NULL;
  if (atomic_compare_exchange_strong(&current, &known, fresh)) return fresh;
  free(fresh);
  return known;
}

/* The interpreter that runs in this process, or NULL. */
static tj_python *running(void) {
  tj_python *python = atomic_load_explicit(&current, memory_order_acquire);
  if (python) return python->Py_IsInitialized() ? python : NULL;
  inventory here;
  take_inventory(&here);
  return here.usable ? publish(&here.python) : NULL;
}

/* In a child of a process that compiled with it, the interpreter's locks may be held by
   threads that are not there. */
bool tj_python_is_inherited(void) {
  pid_t pid = atomic_load_explicit(&owner, memory_order_relaxed);
  return pid != 0 && pid != getpid();
}

static void *current_thread_state(const tj_python *python) {
  return python->PyThreadState_GetUnchecked ? python->PyThreadState_GetUnchecked()
                                            : python->_PyThreadState_UncheckedGet();
}

/*
 * The thread state with which this thread holds the GIL, or NULL. From 3.12 on the current
 * state is the thread's own; before, it is that of whichever thread holds the GIL, and only
 * equality with this thread's state tells. (A sub-interpreter's state of 3.10 and 3.11 is
 * not recognised; PyGILState_Check then says yes to everything.)
 */
static void *held_state(const tj_python *python) {
  void *state = current_thread_state(python);
  if (state == NULL || python->version >= TJ_PYTHON_VERSION(3, 12)) return state;
  return state == python->PyGILState_GetThisThreadState() ? state : NULL;
}

void *tj_python_suspend(void) {
  if (tj_python_is_inherited()) return NULL;
  const tj_python *python = running();
  if (python == NULL || held_state(python) == NULL) return NULL;
  return python->PyEval_SaveThread();
}

void tj_python_resume(void *token) {
  if (token) atomic_load_explicit(&current, memory_order_acquire)->PyEval_RestoreThread(token);
}

/* ---- may this thread use it? ----------------------------------------------------------- */

static tj_status fail_inherited(bool *out_elsewhere) {
  *out_elsewhere = true;
  return tj_fail(TJ_E_NOT_SUPPORTED,
                 "this process was forked from one that had embedded Python; the interpreter it "
                 "inherited cannot be used");
}

static bool in_sub_interpreter(const tj_python *python) {
  void *main = python->PyInterpreterState_Main();
  void *mine = python->PyGILState_GetThisThreadState();
  if (mine && python->PyThreadState_GetInterpreter(mine) != main) return true;
  void *held = held_state(python);
  if (held) return python->PyThreadState_GetInterpreter(held) != main;
  /* Until 3.11: another thread, or this one in a sub-interpreter, holds the GIL. As soon as
     one exists, PyGILState_Check is no help: play safe. */
  return python->version < TJ_PYTHON_VERSION(3, 12) && mine && current_thread_state(python) &&
         python->PyGILState_Check();
}

tj_status tj_python_check(const tj_python *python, bool *out_elsewhere) {
  *out_elsewhere = false;
  if (tj_python_is_inherited()) return fail_inherited(out_elsewhere);
  if (!python->Py_IsInitialized() || (python->Py_IsFinalizing && python->Py_IsFinalizing()) ||
      (python->_Py_IsFinalizing && python->_Py_IsFinalizing()))
    return tj_fail(TJ_E_PYTHON_FINALIZED,
                   "the host has finalised the Python interpreter of this process, and Triton "
                   "cannot be loaded a second time; compile before Py_Finalize, or use the worker "
                   "(TRITON_JIT_COMPILER=worker)");
  if (in_sub_interpreter(python)) {
    *out_elsewhere = true;
    return tj_fail(TJ_E_NOT_SUPPORTED,
                   "this thread runs in a Python sub-interpreter, which Triton does not support");
  }
  return TJ_OK;
}

/* ---- adopting the host's --------------------------------------------------------------- */

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether its sys.prefix is `prefix`: the same installation or virtual environment. */
static bool has_prefix(const tj_python *python, const char *prefix) {
  int gil = python->PyGILState_Ensure();
  void *text = python->PySys_GetObject("prefix");
  const char *mine = text ? python->PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  if (mine == NULL) python->PyErr_Clear();
  bool same = mine && same_file(mine, prefix);
  python->PyGILState_Release(gil);
  return same;
}

static tj_status adopt(const tj_settings *settings, tj_python *python, bool *out_elsewhere) {
  tj_status status = tj_python_check(python, out_elsewhere);
  if (status != TJ_OK) return status;
  const char *version = python->Py_GetVersion();
  int digits = (int)strcspn(version, " ");
  *out_elsewhere = true;
  if (python->version < TJ_PYTHON_OLDEST)
    return tj_fail(TJ_E_PYTHON_MISMATCH,
                   "the Python in this process is version %.*s; 3.10 or newer is needed", digits,
                   version);
  if (strstr(version, "free-threading"))
    return tj_fail(TJ_E_NOT_SUPPORTED,
                   "the Python in this process (%.*s) is a free-threaded build, which Triton does "
                   "not support",
                   digits, version);
  if (settings->python) { /* the host's own is only good if it is the one that was asked for */
    const tj_python_info *info;
    status = tj_python_find(settings->python, &info);
    if (status != TJ_OK) {
      *out_elsewhere = false;
      return status;
    }
    if (info->version != python->version || !has_prefix(python, info->prefix))
      return tj_fail(TJ_E_PYTHON_MISMATCH,
                     "the Python in this process (%.*s) is not the one that was asked for, %s "
                     "(%s)",
                     digits, version, info->executable, info->version_text);
  }
  /* Extension modules find Python's symbols only in the global scope. */
  if (*python->file && !dlopen(python->file, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
    return tj_fail(TJ_E_NOT_SUPPORTED, "the libpython in this process cannot be made visible: %s",
                   dlerror());
  *out_elsewhere = false;
  return TJ_OK;
}

/* ---- starting one ---------------------------------------------------------------------- */

static bool configure(void *config, const tj_python *python, const tj_python_info *info) {
  /* What Py_InitializeEx would do; PyInitConfig starts from an isolated interpreter. */
  static const struct {
    const char *name;
    int value;
  } numbers[] = {{"isolated", 0},  {"use_environment", 1}, {"user_site_directory", 1},
                 {"utf8_mode", 1}, {"safe_path", 1},       {"install_signal_handlers", 0}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (python->PyInitConfig_SetInt(config, numbers[i].name, numbers[i].value) != 0) return false;
  return python->PyInitConfig_SetStr(config, "program_name", info->executable) == 0 &&
         python->Py_InitializeFromInitConfig(config) == 0;
}

static tj_status start_by_config(const tj_python *python, const tj_python_info *info) {
  void *config = python->PyInitConfig_Create();
  if (config == NULL) return tj_fail_memory();
  tj_status status = TJ_OK;
  if (!configure(config, python, info)) {
    const char *message = NULL;
    (void)python->PyInitConfig_GetError(config, &message);
    status = tj_fail(TJ_E_NO_PYTHON, "Python %s (%s) does not start in this process: %s",
                     info->version_text, info->libpython, message ? message : "no reason given");
  }
  python->PyInitConfig_Free(config);
  return status;
}

/*
 * `text` as Python decodes paths: UTF-8, and a byte that is none as a lone surrogate. (From
 * 3.12 on Py_DecodeLocale goes by the C locale, which is not the host's word on paths.)
 */
static wchar_t *decode_path(const char *text) {
  const uint8_t *at = (const uint8_t *)text;
  wchar_t *out = calloc(strlen(text) + 1, sizeof *out);
  for (size_t n = 0; out && *at; n++) {
    int more = *at >= 0xf0 && *at < 0xf5   ? 3
               : *at >= 0xe0 && *at < 0xf0 ? 2
                                           : *at >= 0xc2 && *at < 0xe0;
    uint32_t code = more ? *at & (0x3fu >> more) : *at;
    int i = 1;
    while (i <= more && (at[i] & 0xc0) == 0x80) code = code << 6 | (at[i++] & 0x3f);
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    if (*at >= 0x80 && (more == 0 || i <= more || code < smallest[more] || code > 0x10ffff ||
                        (code >= 0xd800 && code < 0xe000))) {
      code = 0xdc00u + *at;
      i = 1;
    }
    out[n] = (wchar_t)code;
    at += i;
  }
  return out;
}

static tj_status start_by_name(const tj_python *python, const tj_python_info *info) {
  static wchar_t *name; /* Python keeps the pointer */
  /* As the python command does in the C locale, and whatever the host's locale is: files and
     paths are UTF-8. */
  if (python->Py_UTF8Mode) *python->Py_UTF8Mode = 1;
  name = decode_path(info->executable);
  if (name == NULL) return tj_fail_memory();
  python->Py_SetProgramName(name);
  python->Py_InitializeEx(0);
  return TJ_OK;
}

static tj_status initialise(const tj_python *python, const tj_python_info *info) {
  const char *locale = setlocale(LC_CTYPE, NULL);
  char *locale_before = locale ? strdup(locale) : NULL;
  tj_guest guest;
  tj_guest_enter(&guest);
  tj_status status;
  if (python->Py_SetProgramName) {
    status = start_by_name(python, info);
  } else if (python->PyInitConfig_Create && python->PyInitConfig_Free &&
             python->PyInitConfig_SetInt && python->PyInitConfig_SetStr &&
             python->PyInitConfig_GetError && python->Py_InitializeFromInitConfig) {
    status = start_by_config(python, info);
  } else {
    status =
        tj_fail(TJ_E_NO_PYTHON, "%s has no way to start that this library knows", info->libpython);
  }
  /* At once, so that other threads can have the GIL. */
  if (status == TJ_OK) (void)python->PyEval_SaveThread();
  if (locale_before) setlocale(LC_CTYPE, locale_before);
  free(locale_before);
  tj_guest_leave(&guest, true);
  return status;
}

static tj_status open_library(const tj_python_info *info, tj_python *out, bool *out_elsewhere) {
  *out_elsewhere = true;
  if (info->free_threaded)
    return tj_fail(TJ_E_NOT_SUPPORTED, "%s is a free-threaded build, which Triton does not support",
                   info->executable);
  if (*info->libpython == 0) {
    tj_str advice = {0};
    tj_python_advise_shared(&advice, info->version);
    tj_fail(TJ_E_NO_PYTHON, "%s has no shared libpython, which embedding needs. %s",
            info->executable, tj_str_text(&advice));
    tj_str_free(&advice);
    return TJ_E_NO_PYTHON;
  }
  void *handle = dlopen(info->libpython, RTLD_NOW | RTLD_GLOBAL);
  if (handle == NULL) return tj_fail(TJ_E_NO_PYTHON, "libpython does not load: %s", dlerror());
  if (!resolve(handle, out))
    return tj_fail(TJ_E_NO_PYTHON, "%s lacks functions that this library needs", info->libpython);
  *out_elsewhere = false;
  return TJ_OK;
}

/* A libpython that waits for the host to start it. */
static tj_status check_idle(const tj_settings *settings, const inventory *here,
                            const tj_python_info *info, bool *out_elsewhere) {
  const char *file = *here->idle_file ? here->idle_file : "the program itself";
  *out_elsewhere = true;
  if (settings->mode != TJ_COMPILER_EMBEDDED)
    return tj_fail(TJ_E_NOT_SUPPORTED,
                   "the host has loaded a Python (%s) that it has not started, and starting it "
                   "here would take it from the host",
                   file);
  if (!same_file(here->idle_file, info->libpython))
    return tj_fail(TJ_E_PYTHON_MISMATCH,
                   "the host has loaded another Python (%s) than the one to use, %s", file,
                   info->libpython);
  *out_elsewhere = false;
  return TJ_OK;
}

static tj_status start_new(const tj_settings *settings, const inventory *here,
                           const tj_python **out_python, bool *out_elsewhere) {
  static bool opened; /* by an attempt of ours that failed later */
  const tj_python_info *info;
  tj_status status = tj_python_find(settings->python, &info);
  if (status == TJ_OK && here->idle && !opened)
    status = check_idle(settings, here, info, out_elsewhere);
  tj_python fresh;
  if (status == TJ_OK) status = open_library(info, &fresh, out_elsewhere);
  if (status != TJ_OK) return status;
  opened = true;
  atomic_store(&owner, getpid()); /* a child forked from here on must leave it alone */
  fresh.ours = true;
  const tj_python *python = publish(&fresh);
  if (python == NULL) return tj_fail_memory();
  status = initialise(python, info);
  if (status == TJ_OK) {
    *out_python = python;
  } else { /* another attempt may come; a thread that has just looked may still read it */
    atomic_store(&current, NULL);
    atomic_store(&owner, 0);
  }
  return status;
}

tj_status tj_python_start(const tj_settings *settings, const tj_python **out_python,
                          bool *out_elsewhere) {
  *out_elsewhere = false;
  if (tj_python_is_inherited()) return fail_inherited(out_elsewhere);
  tj_python *python = atomic_load_explicit(&current, memory_order_acquire);
  inventory here = {.running = python != NULL};
  if (python == NULL) {
    take_inventory(&here);
    if (here.usable) python = publish(&here.python);
    if (here.usable && python == NULL) return tj_fail_memory();
  }
  if (python) {
    tj_status status = adopt(settings, python, out_elsewhere);
    if (status != TJ_OK) return status;
    atomic_store(&owner, getpid());
    *out_python = python;
    return TJ_OK;
  }
  if (here.running) {
    *out_elsewhere = true;
    return tj_fail(TJ_E_PYTHON_MISMATCH,
                   "the Python in this process is not one that this library can use (3.10 or "
                   "newer is needed)");
  }
  return start_new(settings, &here, out_python, out_elsewhere);
}
