/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library in its host: which compiler, which backends, log, hooks, statistics.
 *
 * The library is a guest. It writes nothing to stdout or stderr, sets no environment
 * variable, signal handler or locale, registers no exit handler, ends no process and
 * never finalises an interpreter. What the embedded compiler cannot promise: Triton's
 * LLVM can end the process or write to file descriptor 2 on some invalid kernels, and
 * Python code in a kernel file can do anything. The worker compiler keeps the promise
 * in full (TJ_COMPILER_WORKER, or TRITON_JIT_COMPILER=worker).
 *
 * There is no init: the first call does what it needs. Triton's own variables are read by
 * Triton when a variant compiles: one that is changed in the process takes effect for
 * variants that are not compiled yet. The library's own variables are read once:
 * TRITON_JIT_COMPILER (embedded, worker), TRITON_JIT_PYTHON (a Python executable or a
 * virtual environment), TRITON_JIT_SCRIPTS (the folder of our scripts),
 * TRITON_JIT_CPU_THREADS (threads of the CPU backend). Those of the next section count when a
 * variant is compiled and loaded.
 *
 * Finding mistakes in a kernel: the CPU backend's sanitizers. TRITON_JIT_CPU_SANITIZE, or the
 * compile option "sanitize" of a function or call, is any of these words, with commas:
 *
 *   address  Each access is checked against the extent of the argument that its pointer comes
 *            from (DLPack tensors with their strides, descriptors, tj_buffer). One beyond it is
 *            skipped: a load gives its `other`, or 0. TJ_E_KERNEL_ACCESS. Pointers without an
 *            extent are counted in the log, once a launch.
 *   race     Two programs that write, or read and write, one location, with no atomics that
 *            order them (acquire and release as tl's `sem` says; relaxed orders nothing, and
 *            scope="cta" is no atomic among programs). TJ_E_KERNEL_RACE. At most 512 MiB are
 *            kept on what programs touched; locations first touched beyond that are counted.
 *   numeric  A NaN that no operand was, or an infinity where all operands were finite, that
 *            reaches memory. TJ_E_KERNEL_NUMERIC. What disappears on its way is no finding:
 *            lanes that are masked at the store, the side of tl.where that is not taken,
 *            1 / infinity. What is read from memory, or is a constant, was not born here. Births
 *            within tl.dot_scaled, and values that pass through integers, are not followed.
 *
 * The message names the line of the Triton source, program, argument and element; further
 * places go to the log (TJ_LOG_ERROR), all findings are counted. The launch runs to its end,
 * its programs one by one in order on the calling thread (those of a cooperative grid in turns),
 * 10 to 1000 times slower than without (race: up to 10,000 times); where nothing is found, the
 * results are the same bits.
 *
 * Debuggers and profilers show the kernel's Python file: generated code has its line table.
 * TRITON_JIT_CPU_KEEP names a folder for the generated C and the loaded objects, which then
 * have their variables too (and are compiled with -O0 where the option "debug" is set): gdb and
 * perf cannot read objects that were loaded from memory.
 */
#ifndef TRITON_JIT_RUNTIME_H
#define TRITON_JIT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/function.h"
#include "triton_jit/status.h"

TJ_BEGIN_DECLS

/* ---- compiler -------------------------------------------------------------------------- */

enum {
  TJ_COMPILER_AUTO = 0,     /* embedded; worker where embedding cannot work */
  TJ_COMPILER_EMBEDDED = 1, /* CPython inside this process */
  TJ_COMPILER_WORKER = 2    /* CPython in a process of its own, kept and restarted */
};

typedef struct tj_compiler_options {
  uint32_t struct_size; /* sizeof(tj_compiler_options) */
  uint32_t mode;        /* TJ_COMPILER_*; 0: TRITON_JIT_COMPILER, else automatic */
  const char *python;   /* executable or virtual environment; NULL: TRITON_JIT_PYTHON, else found */
  const char *scripts;  /* folder of our scripts; NULL: TRITON_JIT_SCRIPTS, else found */
} tj_compiler_options;

#define TJ_COMPILER_OPTIONS_INIT \
  { (uint32_t)sizeof(tj_compiler_options), 0, NULL, NULL }

/*
 * Chooses the compiler; before the first one is needed (the first tj_function_get).
 * Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE, TJ_E_INVALID, TJ_E_BUSY (a compiler runs already).
 * Thread-safe, never blocks. Since 0.1.
 */
TJ_API tj_status tj_set_compiler(const tj_compiler_options *options);

/* ---- backends -------------------------------------------------------------------------- */

typedef struct tj_backend_info {
  uint32_t struct_size; /* in: sizeof(tj_backend_info) */
  int32_t available;    /* 1: it can be used here */
  int32_t devices;      /* number of devices; 0 if not available */
  uint32_t reserved;
  const char *name;
  const char *reason; /* why it is not available, "" if it is; owned by the library */
} tj_backend_info;

/* Number of backends built in. Never blocks. Since 0.1. */
TJ_API uint32_t tj_backend_count(void);

/*
 * The backend `index`, in the order of preference. Opens its driver the first time.
 * Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE, TJ_E_INVALID (index). Since 0.1.
 */
TJ_API tj_status tj_backend_get_info(uint32_t index, tj_backend_info *out_info);

/* ---- log ------------------------------------------------------------------------------- */

enum { TJ_LOG_ERROR = 1, TJ_LOG_WARNING = 2, TJ_LOG_INFO = 3, TJ_LOG_DEBUG = 4 };

/*
 * Gets what the library and the kernels' files have to say: warnings, what a kernel file
 * prints while it is imported, device_print on the CPU backend (all TJ_LOG_INFO).
 * `text` is one message without a line end, valid during the call. Called from any
 * thread, several at once. It may launch what is compiled and loaded, but must not call what
 * may compile, or tj_function_get.
 */
typedef void (*tj_log_fn)(void *user, int level, const char *text);

/*
 * Sets the log callback, for messages of `level` and more severe ones; NULL turns it
 * off, as it is at first. Another thread may still be inside the old one when this
 * returns. Thread-safe. Since 0.1.
 */
TJ_API void tj_set_log(tj_log_fn fn, void *user, int level);

/* ---- hooks ----------------------------------------------------------------------------- */

typedef struct tj_event {
  uint32_t struct_size;
  tj_status status;      /* of what has ended */
  tj_function *function; /* may be NULL for unload */
  tj_kernel *kernel;     /* NULL before it is compiled */
  const char *name;      /* the function's */
  const char *variant;   /* readable, for the call; NULL for enter and exit: ask the kernel */
  void *stream;
  int32_t device;
  uint32_t grid[3];
  uint64_t nanoseconds; /* how long it took; 0 for enter */
} tj_event;

typedef void (*tj_hook_fn)(void *user, const tj_event *event);

/*
 * Each may be NULL. Called on the thread at work, with no lock held: a hook may make calls
 * of its own, but compile and load hooks not of the variant that they report
 * (TJ_E_RECURSION).
 */
typedef struct tj_hooks {
  uint32_t struct_size; /* sizeof(tj_hooks) */
  uint32_t reserved;    /* 0 */
  void *user;
  tj_hook_fn enter;   /* before a launch */
  tj_hook_fn exit;    /* after it was given to the driver */
  tj_hook_fn compile; /* after a compile, also a failed one */
  tj_hook_fn load;    /* after a load, also a failed one */
  tj_hook_fn unload;  /* after an unload */
} tj_hooks;

#define TJ_HOOKS_INIT \
  { (uint32_t)sizeof(tj_hooks), 0, NULL, NULL, NULL, NULL, NULL, NULL }

/*
 * Sets the hooks of the process, or clears them (NULL). Copied. All threads see the
 * change at their next call; one may still be inside an old hook when this returns.
 * Unset hooks cost one load a call. Errors: TJ_E_STRUCT_SIZE, TJ_E_OUT_OF_MEMORY.
 * Thread-safe. Since 0.1.
 */
TJ_API tj_status tj_set_hooks(const tj_hooks *hooks);

/* ---- statistics ------------------------------------------------------------------------ */

typedef struct tj_stats {
  uint32_t struct_size; /* in: sizeof(tj_stats) */
  uint32_t reserved;
  uint64_t hits;       /* calls that found their variant */
  uint64_t misses;     /* calls that did not: compiled, waited or failed */
  uint64_t launches;   /* kernels given to a driver */
  uint64_t compiles;   /* compiles that succeeded */
  uint64_t loads;      /* artifacts loaded */
  uint64_t failures;   /* compiles and loads that failed */
  uint64_t variants;   /* variants in the tables */
  uint64_t compile_ns; /* time spent compiling, all threads */
  uint64_t load_ns;    /* time spent loading */
  uint64_t wait_ns;    /* time spent waiting for another thread's compile */
} tj_stats;

#define TJ_STATS_INIT \
  { (uint32_t)sizeof(tj_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Sums over the process. Counts of calls in flight may be missing. Errors: TJ_E_NULL,
 * TJ_E_STRUCT_SIZE. Thread-safe; blocks shortly. Since 0.1.
 */
TJ_API tj_status tj_stats_get(tj_stats *out_stats);

/* The same for one function. Since 0.1. */
TJ_API tj_status tj_function_get_stats(tj_function *fn, tj_stats *out_stats);

/* ---- memory ---------------------------------------------------------------------------- */

/*
 * Unloads every loaded kernel from its device; handles stay valid and load again when
 * they are next used. The host promises that no call of this library is in flight and
 * that no launched kernel still runs. Errors: the backend's. Since 0.1.
 */
TJ_API tj_status tj_trim(void);

/*
 * Scratch memory for kernels that need it on a device, from the host's own allocator:
 * `alloc` returns `size` bytes aligned to `alignment`, usable on `stream` until the work
 * queued there so far has run, or NULL.
 */
typedef void *(*tj_scratch_fn)(void *user, size_t size, size_t alignment, int32_t device,
                               void *stream);

/*
 * Its place is reserved: TJ_E_NOT_SUPPORTED in this version, whose backends need no
 * scratch memory. Since 0.1.
 */
TJ_API tj_status tj_set_scratch_allocator(const char *backend, tj_scratch_fn alloc, void *user);

TJ_END_DECLS

#endif /* TRITON_JIT_RUNTIME_H */
