/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/python_find.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "compile/process.h"

#define ANSWER_SECONDS 60
#define MAX_ANSWER ((size_t)1 << 16)

/*
 * What the Python is asked to run. It reads in any Python 3 and 2, so that one that is too
 * old can still say so. The answer stands between two marks, as its sitecustomize may print.
 */
static const char question[] =
    "import sys\n"
    "if sys.path[:1] == ['']: del sys.path[0]\n" /* the host's folder is no place for modules */
    "import os, sysconfig\n"
    "v = '%d.%d' % sys.version_info[:2]\n"
    "get = lambda key: sysconfig.get_config_var(key) or ''\n"
    "base = getattr(sys, 'base_prefix', sys.prefix)\n"
    "stem = 'libpython' + v + getattr(sys, 'abiflags', '')\n"
    "paths = []\n"
    "try:\n"
    "    with open('/proc/self/maps') as maps:\n"
    "        paths = [line.split(None, 5)[5].rstrip('\\n') for line in maps if '/' + stem in line]\n"
    "except Exception:\n"
    "    pass\n"
    "for folder in (get('LIBDIR'), os.path.join(get('LIBDIR'), get('MULTIARCH')),\n"
    "               os.path.join(base, 'lib'), os.path.join(base, 'lib64'), get('LIBPL')):\n"
    "    for name in (get('INSTSONAME'), stem + '.so.1.0', stem + '.so', get('LDLIBRARY')):\n"
    "        paths.append(os.path.join(folder, name))\n"
    "paths = [p for p in paths if '.so' in os.path.basename(p) and os.path.isfile(p)]\n"
    "try:\n"
    "    import importlib.util\n"
    "    triton = importlib.util.find_spec('triton') is not None\n"
    "except Exception:\n"
    "    triton = False\n"
    "free = bool(get('Py_GIL_DISABLED'))\n"
    "answer = ['TJ<', '%d.%d.%d' % sys.version_info[:3], sys.executable or '', sys.prefix, base,\n"
    "          (paths + [''])[0], str(int(free)), str(int(triton)), '>TJ']\n"
    "encode = getattr(os, 'fsencode', lambda text: text)\n"
    "os.write(1, b'\\0'.join([encode(text) for text in answer]))\n";

enum { VERSION = 1, EXECUTABLE, PREFIX, BASE_PREFIX, LIBPYTHON, FREE_THREADED, TRITON, FIELDS };

/* ---- advice ---------------------------------------------------------------------------- */

/* ID and ID_LIKE of os-release, with a blank around each word. */
static void read_distribution(char *out, size_t size) {
  out[0] = 0;
  FILE *file = fopen("/etc/os-release", "re");
  if (file == NULL) return;
  char line[256];
  size_t used = 0;
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "ID=", 3) != 0 && strncmp(line, "ID_LIKE=", 8) != 0) continue;
    for (char *c = line; *c; c++)
      if (*c == '"' || *c == '\'' || *c == '\n' || *c == '=') *c = ' ';
    int n = snprintf(out + used, size - used, "%s", line);
    if (n < 0 || (size_t)n >= size - used) break;
    used += (size_t)n;
  }
  fclose(file);
}

typedef struct family {
  const char *word;    /* in ID or ID_LIKE */
  const char *python;  /* command that installs Python */
  const char *library; /* and its shared library; %d.%d is the version */
} family;

static const family families[] = {
    {" debian ", "apt-get install python3 python3-venv", "apt-get install libpython%d.%d"},
    {" ubuntu ", "apt-get install python3 python3-venv", "apt-get install libpython%d.%d"},
    {" fedora ", "dnf install python3 python3-libs", "dnf install python%d.%d-libs"},
    {" rhel ", "dnf install python3 python3-libs", "dnf install python%d.%d-libs"},
    {" suse ", "zypper install python3", "zypper install libpython%d_%d1_0"},
    {" arch ", "pacman -S python", NULL},
    {" alpine ", "apk add python3", NULL},
};

static const family *find_family(void) {
  char distribution[512];
  read_distribution(distribution, sizeof distribution);
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strstr(distribution, families[i].word)) return &families[i];
  return NULL;
}

void tj_python_advise(tj_str *out) {
  const family *here = find_family();
  tj_str_add_text(out, "Install Python 3.10 or newer with triton");
  if (here) tj_str_printf(out, " (%s; python3 -m pip install triton)", here->python);
  tj_str_add_text(out, ", or set TRITON_JIT_PYTHON to a Python executable or a virtual "
                       "environment.");
}

void tj_python_advise_shared(tj_str *out, int version) {
  const family *here = find_family();
  const char *command = here ? here->library : NULL;
  tj_str_add_text(out, "Install it");
  if (command) {
    /* The table's formats: two numbers. */
    char text[128];
    const char *first = strstr(command, "%d");
    const char *second = strstr(first + 2, "%d");
    (void)snprintf(text, sizeof text, "%.*s%d%.*s%d%s", (int)(first - command), command,
                   version >> 8, (int)(second - first - 2), first + 2, version & 255, second + 2);
    tj_str_printf(out, " (%s)", text);
  }
  tj_str_add_text(out, ", or use the worker (TRITON_JIT_COMPILER=worker).");
}

/* ---- which one ------------------------------------------------------------------------- */

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The Python inside a virtual environment, or NULL. */
static char *in_environment(const char *folder) {
  static const char *const names[] = {"bin/python3", "bin/python"};
  for (size_t i = 0; i < 2; i++) {
    tj_str path = {0};
    tj_str_printf(&path, "%s/%s", folder, names[i]);
    if (is_file(tj_str_text(&path))) return tj_str_take(&path);
    tj_str_free(&path);
  }
  return NULL;
}

/* `name` in the absolute folders of PATH, or NULL. */
static char *on_path(const char *name) {
  const char *at = getenv("PATH");
  while (at && *at) {
    size_t n = strcspn(at, ":");
    tj_str path = {0};
    tj_str_printf(&path, "%.*s/%s", (int)n, at, name);
    if (*at == '/' && access(tj_str_text(&path), X_OK) == 0 && is_file(tj_str_text(&path)))
      return tj_str_take(&path);
    tj_str_free(&path);
    at += n;
    at += *at == ':';
  }
  return NULL;
}

static tj_status choose_wanted(const char *wanted, char **out_path) {
  struct stat info;
  if (strchr(wanted, '/') == NULL) {
    *out_path = on_path(wanted);
    if (*out_path) return TJ_OK;
    return tj_fail(TJ_E_NO_PYTHON, "the Python that was asked for, '%s', is not on PATH", wanted);
  }
  if (stat(wanted, &info) != 0)
    return tj_fail(TJ_E_NO_PYTHON, "the Python that was asked for, '%s', cannot be used: %s",
                   wanted, strerror(errno));
  *out_path = S_ISDIR(info.st_mode) ? in_environment(wanted) : strdup(wanted);
  if (*out_path) return TJ_OK;
  return tj_fail(TJ_E_NO_PYTHON,
                 "the Python that was asked for, '%s', is a folder without bin/python3: not a "
                 "virtual environment; name one, or an executable",
                 wanted);
}

static tj_status choose(const char *wanted, char **out_path) {
  if (wanted) return choose_wanted(wanted, out_path);
  const char *environment = getenv("VIRTUAL_ENV");
  if (environment && *environment) {
    *out_path = in_environment(environment);
    if (*out_path) return TJ_OK;
    tj_log(TJ_LOG_WARNING, "VIRTUAL_ENV is '%s', which has no bin/python3; trying PATH",
           environment);
  }
  *out_path = on_path("python3");
  if (*out_path == NULL) *out_path = on_path("python");
  if (*out_path) return TJ_OK;
  tj_str advice = {0};
  tj_python_advise(&advice);
  const char *path = getenv("PATH");
  tj_fail(TJ_E_NO_PYTHON, "no Python: there is no python3 on PATH (%s). %s",
          path && *path ? path : "which is empty", tj_str_text(&advice));
  tj_str_free(&advice);
  return TJ_E_NO_PYTHON;
}

/* ---- asking it ------------------------------------------------------------------------- */

static long long milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static const char *find_bytes(const tj_str *text, const char *mark, size_t size) {
  return text->size ? memmem(text->data, text->size, mark, size) : NULL;
}

#define BEGIN "TJ<"
#define END "\0>TJ"

/* Reads until the answer is whole, the other side closes, or time is over. */
static void read_answer(int fd, tj_str *out) {
  long long until = milliseconds_now() + ANSWER_SECONDS * 1000LL;
  while (out->size < MAX_ANSWER && !out->failed) {
    long long left = until - milliseconds_now();
    struct pollfd poller = {fd, POLLIN, 0};
    if (left <= 0 || (poll(&poller, 1, (int)left) < 0 && errno != EINTR)) return;
    char part[4096];
    ssize_t n = poller.revents ? read(fd, part, sizeof part) : -1;
    if (n == 0 || (n < 0 && poller.revents && errno != EINTR)) return;
    if (n > 0) tj_str_add(out, part, (size_t)n);
    if (find_bytes(out, END, sizeof END - 1)) return;
  }
}

/* Runs it and collects what it writes. Returns 0 or an errno. */
static int run(const char *path, tj_str *out, tj_exit *out_exit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  int in = tj_fd_move_up(ends[0]);
  int error = in < 0 ? errno : 0;
  int child_end = tj_fd_move_up(ends[1]);
  if (child_end < 0) error = errno;
  pid_t pid = 0;
  const char *const argv[] = {path, "-c", question, NULL};
  if (error == 0) error = tj_process_start(argv, (int[]){-1, child_end, child_end}, &pid);
  tj_fd_close(&child_end);
  if (error == 0) {
    read_answer(in, out);
    *out_exit = tj_process_end(pid, 1000);
  }
  tj_fd_close(&in);
  return error;
}

/* Splits the answer, in place. */
static bool parse(tj_str *answer, const char *fields[FIELDS]) {
  char *at = (char *)find_bytes(answer, BEGIN, sizeof BEGIN);
  char *end = (char *)find_bytes(answer, END, sizeof END - 1);
  if (at == NULL || end == NULL) return false;
  for (int i = 0; i < FIELDS; i++) {
    if (at > end) return false;
    fields[i] = at;
    at += strlen(at) + 1;
  }
  return at == end + 1;
}

static int parse_version(const char *text) {
  char *end;
  long major = strtol(text, &end, 10);
  long minor = *end == '.' ? strtol(end + 1, NULL, 10) : -1;
  if (major < 0 || major > 99 || minor < 0 || minor > 255) return 0;
  return TJ_PYTHON_VERSION((int)major, (int)minor);
}

static tj_status fail_run(const char *path, int error, tj_exit how, const tj_str *output) {
  if (error == ENOMEM) return tj_fail_memory();
  tj_str text = {0}, advice = {0};
  if (error) {
    tj_str_printf(&text, "cannot be started: %s", strerror(error));
  } else {
    tj_process_describe(&text, how);
    tj_str_add_text(&text, " when asked about itself");
  }
  tj_python_advise(&advice);
  const char *home = getenv("PYTHONHOME");
  tj_fail(TJ_E_NO_PYTHON, "the Python '%s' %s%s%s%s. Its output:\n%s\n%s", path, tj_str_text(&text),
          home ? " (PYTHONHOME is '" : "", home ? home : "", home ? "')" : "",
          output->size ? tj_str_text(output) : "(none)", tj_str_text(&advice));
  tj_str_free(&text);
  tj_str_free(&advice);
  return TJ_E_NO_PYTHON;
}

static tj_status fill(const char *path, const char *const fields[FIELDS], tj_python_info *info) {
  info->version = parse_version(fields[VERSION]);
  if (*fields[EXECUTABLE] == 0)
    return tj_fail(TJ_E_NO_PYTHON, "the Python '%s' does not know its own path (sys.executable)",
                   path);
  if (info->version < TJ_PYTHON_OLDEST) {
    tj_str advice = {0};
    tj_python_advise(&advice);
    tj_fail(TJ_E_NO_PYTHON, "the Python '%s' is version %s, which is too old. %s", path,
            fields[VERSION], tj_str_text(&advice));
    tj_str_free(&advice);
    return TJ_E_NO_PYTHON;
  }
  info->version_text = fields[VERSION];
  info->executable = fields[EXECUTABLE];
  info->prefix = fields[PREFIX];
  info->base_prefix = fields[BASE_PREFIX];
  info->libpython = fields[LIBPYTHON];
  info->free_threaded = strcmp(fields[FREE_THREADED], "1") == 0;
  info->has_triton = strcmp(fields[TRITON], "1") == 0;
  return TJ_OK;
}

static tj_status ask(const char *path, tj_python_info *info) {
  tj_str answer = {0};
  tj_exit how = {false, false, 0};
  int error = run(path, &answer, &how);
  const char *fields[FIELDS];
  tj_status status;
  if (answer.failed) {
    status = tj_fail_memory();
  } else if (error == 0 && parse(&answer, fields)) {
    status = fill(path, fields, info);
  } else {
    status = fail_run(path, error, how, &answer);
  }
  info->memory = tj_str_take(&answer);
  return status;
}

/* Asks, and keeps the answer in `known`. */
static tj_status find(const char *wanted, _Atomic(const tj_python_info *) *known,
                      const tj_python_info **out_info) {
  char *path = NULL;
  tj_status status = choose(wanted, &path);
  if (status != TJ_OK) return status;
  tj_python_info *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) {
    free(path);
    return tj_fail_memory();
  }
  status = ask(path, fresh);
  free(path);
  const tj_python_info *other = NULL; /* another thread may have asked as well, and be faster */
  if (status == TJ_OK && atomic_compare_exchange_strong(known, &other, fresh)) {
    tj_log(TJ_LOG_INFO, "Python %s at %s, %s", fresh->version_text, fresh->executable,
           fresh->has_triton ? "with triton" : "without triton");
    *out_info = fresh;
    return TJ_OK;
  }
  free(fresh->memory);
  free(fresh);
  *out_info = other;
  return status;
}

tj_status tj_python_find(const char *wanted, const tj_python_info **out_info) {
  static _Atomic(const tj_python_info *) known; /* `wanted` does not change: see settings.h */
  *out_info = atomic_load(&known);
  return *out_info ? TJ_OK : find(wanted, &known, out_info);
}
