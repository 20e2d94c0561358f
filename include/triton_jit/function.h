/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions (a kernel in its Python file) and kernels (one compiled variant of it).
 *
 * Functions, kernels and option sets are interned for the life of the process: equal
 * requests give the same handle, there is nothing to release, and no handle goes stale.
 *
 * Every function here may be called from any thread. "May compile" means: on the first
 * call of a variant it runs Python and Triton, which takes from a hundred milliseconds
 * to many seconds; later calls of that variant do not block. Threads that ask for one
 * variant at the same time wait for one compile.
 */
#ifndef TRITON_JIT_FUNCTION_H
#define TRITON_JIT_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/arg.h"
#include "triton_jit/status.h"

TJ_BEGIN_DECLS

typedef struct tj_kernel tj_kernel;
typedef struct tj_bound tj_bound;

/* ---- compile options ----------------------------------------------------------------- */

/* One compile option by Triton's name: {"maxnreg", tj_int(128)}. */
typedef struct tj_option {
  const char *name;
  tj_arg value; /* none, bool, int, float, string, or a tuple of these */
} tj_option;

/*
 * The id of a set of compile options, for tj_launch.options; equal sets (in any order)
 * have equal ids. num_warps, num_stages and num_ctas are fields of tj_launch and refused
 * here. Whether the backend has an option is known when a variant compiles
 * (TJ_E_UNKNOWN_OPTION, naming it). Reads nothing after it returns.
 *
 * Errors: TJ_E_NULL, TJ_E_OPTION_VALUE, TJ_E_OUT_OF_MEMORY.
 * Thread-safe; may block shortly; does not compile. Since 0.1.
 */
TJ_API tj_status tj_options_intern(const tj_option *options, size_t n, uint32_t *out_id);

/* ---- functions ----------------------------------------------------------------------- */

enum {
  TJ_FUNCTION_TEXT = 1 /* `text` holds the source; `source` is only its name in messages */
};

typedef struct tj_function_desc {
  uint32_t struct_size; /* sizeof(tj_function_desc) */
  uint32_t flags;       /* TJ_FUNCTION_* */
  const char *source;   /* path of a .py file, or a dotted module name */
  const char *name;     /* the kernel's name in it; "Class.method" style dots are allowed */
  const char *backend;  /* "cpu", "cuda"...; NULL: the first that is present */
  const char *text;     /* with TJ_FUNCTION_TEXT: UTF-8 source */
  size_t text_size;     /* bytes */
  uint32_t options;     /* compile options of all calls that give none; 0: none */
  uint32_t reserved;    /* 0 */
  tj_error *error;      /* where a failure is described; NULL: the thread's record */
} tj_function_desc;

#define TJ_FUNCTION_DESC_INIT \
  { (uint32_t)sizeof(tj_function_desc), 0, NULL, NULL, NULL, NULL, 0, 0, 0, NULL }

/*
 * The function `name` of `source`: a path ("ops/add.py"), or a dotted module that
 * Python can import ("my_package.ops.add"). Decorators around the @triton.jit function
 * (@triton.autotune, @triton.heuristics, functools.wraps) are looked through.
 *
 * A function is a snapshot: of its file, its signature, and the helpers that the file
 * imports. Asking again checks their size, time stamp and inode; if one has changed the
 * answer is a new function with the new code, and the old handle keeps the old code. A file
 * that an import looked for and did not find, or that the code opens by itself, is not
 * among them.
 *
 * Bound to the first backend that is present (its driver loads and reports a device), in
 * the order in which they were built in, else to "cpu".
 *
 * Errors: TJ_E_NULL; TJ_E_SOURCE_* , TJ_E_SYNTAX, TJ_E_IMPORT, TJ_E_KERNEL_NOT_FOUND,
 * TJ_E_NOT_JIT, TJ_E_MODULE_CONFLICT, TJ_E_CONTRADICTION, TJ_E_INTERPRETED; those of the
 * machine (TJ_E_NO_PYTHON and its neighbours).
 * Thread-safe. May run Python (a first time, or after a change). Since 0.1.
 */
TJ_API tj_status tj_function_get(const char *source, const char *name, tj_function **out_fn);

/* The same with a backend, options, or the source text from memory. Since 0.1. */
TJ_API tj_status tj_function_get_ex(const tj_function_desc *desc, tj_function **out_fn);

/*
 * The sibling of `fn` on another backend: the same snapshot. Errors: TJ_E_NULL,
 * TJ_E_UNKNOWN_BACKEND, TJ_E_BACKEND_UNAVAILABLE. Since 0.1.
 */
TJ_API tj_status tj_function_on(tj_function *fn, const char *backend, tj_function **out_fn);

/*
 * The index of a parameter, for tj_keyword and the tj_bound_* queries. Resolve it once.
 * Errors: TJ_E_NULL, TJ_E_NO_SUCH_PARAMETER (naming those there are). Since 0.1.
 */
TJ_API tj_status tj_function_param_index(tj_function *fn, const char *param, uint32_t *out_index);

/*
 * Whether a file that `fn` came from has changed since: *out_stale is 1 or 0. Looks at
 * the files' stamps only. Errors: TJ_E_NULL. Since 0.1.
 */
TJ_API tj_status tj_function_stale(tj_function *fn, int *out_stale);

enum {
  TJ_PARAM_CONSTEXPR = 1,      /* its value is compiled in */
  TJ_PARAM_CONST = 2,          /* annotated as a pointer to const */
  TJ_PARAM_DEFAULT = 4,        /* has a default */
  TJ_PARAM_TUNED = 8,          /* @autotune or @heuristics would provide it */
  TJ_PARAM_NO_SPECIALIZE = 16, /* in do_not_specialize */
  TJ_PARAM_NO_ALIGNMENT = 32   /* in do_not_specialize_on_alignment */
};

/* All texts are owned by the function and live as long as the process. */
typedef struct tj_param_info {
  uint32_t struct_size; /* in: sizeof(tj_param_info) */
  uint32_t flags;       /* TJ_PARAM_* */
  const char *name;
  const char *type; /* the annotated type in Triton's spelling ("i64", "*fp32"), or "" */
} tj_param_info;

typedef struct tj_function_info {
  uint32_t struct_size; /* in: sizeof(tj_function_info) */
  uint32_t n_params;
  const char *name;
  const char *source; /* real path */
  const char *backend;
  const char *cache_key; /* Triton's cache_key of the function, hexadecimal */
  const char *triton;    /* version of Triton that read it */
} tj_function_info;

/* Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE. Never blocks. Since 0.1. */
TJ_API tj_status tj_function_get_info(tj_function *fn, tj_function_info *out_info);

/* Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE, TJ_E_NO_SUCH_PARAMETER. Never blocks. Since 0.1. */
TJ_API tj_status tj_function_get_param(tj_function *fn, uint32_t index, tj_param_info *out_info);

/* ---- calls --------------------------------------------------------------------------- */

/* A compile target, for tj_function_prepare on a machine without the device. */
typedef struct tj_target {
  uint32_t struct_size; /* sizeof(tj_target) */
  uint32_t warp_size;   /* threads of a warp; 0: the backend's usual one */
  const char *backend;  /* Triton's name: "cuda", "hip", "cpu"... */
  const char *arch;     /* "90", "gfx942", "native"... */
} tj_target;

#define TJ_TARGET_INIT \
  { (uint32_t)sizeof(tj_target), 0, NULL, NULL }

/*
 * Computes the grid of a call from its arguments (tj_bound_*): fills out_grid and
 * returns TJ_OK, or returns another status, which the call then returns too (with the
 * message that the callback recorded by tj_fail, if it did). Runs on the calling thread,
 * with no lock held; it may make other calls of this library.
 */
typedef tj_status (*tj_grid_fn)(const tj_bound *bound, uint32_t out_grid[3], void *user);

enum {
  TJ_LAUNCH_UNCHECKED = 1 /* tj_kernel_launch: trust that the arguments fit the variant */
};

typedef struct tj_launch {
  uint32_t struct_size; /* sizeof(tj_launch) */
  uint32_t flags;       /* TJ_LAUNCH_* */
  int32_t device;       /* ordinal; -1 (any negative number): the current device */
  uint32_t num_warps;   /* a power of two; 0: Triton's default */
  void *stream;         /* always explicit, never ambient; NULL: the backend's default stream */
  uint32_t grid[3];     /* programs; a zero in any of them launches nothing */
  uint32_t num_stages;  /* 0: Triton's default */
  tj_grid_fn grid_fn;   /* if set, it replaces `grid` */
  void *grid_user;
  uint32_t num_ctas;       /* 0: Triton's default, 1 */
  uint32_t options;        /* of tj_options_intern; 0: the function's own */
  const tj_target *target; /* tj_function_prepare only: compile for this, load nothing */
  const void *tuned;       /* reserved for a tuned configuration: NULL */
  tj_error *error;         /* where a failure is described; NULL: the thread's record */
} tj_launch;

/* One program on the current device, default stream and options. */
#define TJ_LAUNCH_INIT \
  { (uint32_t)sizeof(tj_launch), 0, -1, 0, NULL, {1, 1, 1}, 0, NULL, NULL, 0, 0, NULL, NULL, NULL }

/* TJ_LAUNCH_INIT with a grid, as a value. */
static inline tj_launch tj_launch_grid(uint32_t x, uint32_t y, uint32_t z) {
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.grid[0] = x;
  launch.grid[1] = y;
  launch.grid[2] = z;
  return launch;
}

/*
 * Calls the kernel: binds the arguments, finds the variant or compiles it, launches it.
 * On an accelerator the kernel runs asynchronously on the stream; on the CPU backend the
 * call returns when it has run.
 *
 * Hit: no Python, lock, allocation or system call of ours. Miss: compiles.
 * Scalars are copied before it returns; pointers must stay valid as the stream demands.
 *
 * Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE; the argument errors (20 to 34), naming parameter,
 * value and what was expected; the compile and machine errors (60 to 89) on a miss; the
 * device errors (100 and up). Thread-safe. May compile. Since 0.1.
 */
TJ_API tj_status tj_function_call(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                                  size_t n_args);

/*
 * Compiles and loads the variant that such a call would use, and launches nothing. The
 * arguments may be TJ_SPEC (type and class without data); pointers are not read.
 * With launch->target it compiles for that target and loads nothing: no device needed.
 * grid and grid_fn are not looked at.
 *
 * Errors: as tj_function_call. Thread-safe. May compile. Since 0.1.
 */
TJ_API tj_status tj_function_prepare(tj_function *fn, const tj_launch *launch, const tj_arg *args,
                                     size_t n_args, tj_kernel **out_kernel);

/*
 * Told once, from a thread of the library, when an asynchronous prepare is over.
 * `message` is "" on success and valid during the call. It must not wait for another
 * asynchronous prepare: two of them run at a time.
 */
typedef void (*tj_prepared_fn)(void *user, tj_status status, tj_kernel *kernel,
                               const char *message);

/*
 * The same in the background. Argument errors are returned at once, and then `done` is
 * not called; everything later is told to `done` (which may be NULL). Nothing of launch
 * and args is read after it returns. Thread-safe, does not block on a compile. Since 0.1.
 */
TJ_API tj_status tj_function_prepare_async(tj_function *fn, const tj_launch *launch,
                                           const tj_arg *args, size_t n_args, tj_prepared_fn done,
                                           void *user);

/*
 * Whether such a call would be a hit: *out_prepared is 1 if the variant is compiled and
 * loaded for the device, else 0. Errors: the argument errors. Does not block. Since 0.1.
 */
TJ_API tj_status tj_function_is_prepared(tj_function *fn, const tj_launch *launch,
                                         const tj_arg *args, size_t n_args, int *out_prepared);

/*
 * Launches one variant: no key, no look-up. Takes the full argument list, constexprs
 * included; if their types and classes are not those of the variant nothing is launched
 * and the status is TJ_E_VARIANT, naming the first parameter that differs. With
 * TJ_LAUNCH_UNCHECKED the comparison is left out, and arguments of another variant are
 * undefined behaviour. Loads the variant on a device where it is not loaded yet; a device
 * of another target is TJ_E_TARGET. num_warps, num_stages, num_ctas and options are those
 * of the variant; launch's are not looked at.
 *
 * Errors: as tj_function_call, less the compile errors. Thread-safe. Since 0.1.
 */
TJ_API tj_status tj_kernel_launch(tj_kernel *kernel, const tj_launch *launch, const tj_arg *args,
                                  size_t n_args);

/* ---- what a grid callback sees --------------------------------------------------------- */

/* Parameters of the kernel. Valid, as all of tj_bound, only during the callback. */
TJ_API uint32_t tj_bound_count(const tj_bound *bound);

/*
 * The argument of parameter `index`, defaults filled in; NULL if the index is too large
 * or the default is a Python object that C cannot express. Since 0.1.
 */
TJ_API const tj_arg *tj_bound_arg(const tj_bound *bound, uint32_t index);

/*
 * The integer (or bool) argument of parameter `index`, constexprs included.
 * Errors: TJ_E_NULL, TJ_E_NO_SUCH_PARAMETER, TJ_E_ARGUMENT_TYPE, TJ_E_ARGUMENT_RANGE (it is
 * 2^63 or more). Since 0.1.
 */
TJ_API tj_status tj_bound_int(const tj_bound *bound, uint32_t index, int64_t *out_value);

/* The launch that the call was given. Since 0.1. */
TJ_API const tj_launch *tj_bound_launch(const tj_bound *bound);

/* ---- kernels: compiled variants -------------------------------------------------------- */

/* All texts are owned by the kernel and live as long as the process. */
typedef struct tj_kernel_info {
  uint32_t struct_size; /* in: sizeof(tj_kernel_info) */
  uint32_t num_warps;   /* from the artifact: may exceed what was asked for */
  uint32_t warp_size;   /* threads */
  uint32_t num_stages;
  uint32_t num_ctas;
  uint32_t shared;      /* bytes of dynamic shared memory */
  uint32_t n_params;    /* run-time parameters of the compiled kernel, hidden ones apart */
  uint32_t params_size; /* bytes of them, packed with natural alignment */
  const char *name;     /* symbol in the artifact */
  const char *hash;     /* Triton's: the name of its cache entry */
  const char *backend;  /* ours */
  const char *arch;     /* of the target */
  const char *types;    /* of the run-time parameters: "*fp32,*fp32,i32" */
  const char *variant;  /* what chose it, readable: "x=*fp32:16 n=i32:16 BLOCK=1024" */
  const char *metadata; /* Triton's metadata, JSON */
  tj_function *function;
} tj_kernel_info;

/* Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE. Never blocks. Since 0.1. */
TJ_API tj_status tj_kernel_get_info(tj_kernel *kernel, tj_kernel_info *out_info);

/* One run-time parameter of a compiled kernel, for a launcher of one's own. */
typedef struct tj_kernel_param {
  uint32_t struct_size; /* in: sizeof(tj_kernel_param) */
  tj_dtype dtype;       /* of the value, or of what the pointer points to */
  uint8_t pointer;      /* 1: a pointer */
  uint8_t size;         /* bytes */
  uint32_t offset;      /* bytes, in the packed parameters */
} tj_kernel_param;

/* Errors: TJ_E_NULL, TJ_E_STRUCT_SIZE, TJ_E_NO_SUCH_PARAMETER. Never blocks. Since 0.1. */
TJ_API tj_status tj_kernel_get_param(tj_kernel *kernel, uint32_t index, tj_kernel_param *out_param);

/*
 * A stage of the compiled code by its extension: "ttir" always; "c" and "so" on the CPU,
 * "ttgir", "llir", "ptx", "cubin" on CUDA, and so on. Text is not ended by 0 within
 * *out_size. Owned by the kernel. Errors: TJ_E_NULL, TJ_E_INVALID (naming the stages that
 * there are). Never blocks. Since 0.1.
 */
TJ_API tj_status tj_kernel_get_asm(tj_kernel *kernel, const char *stage, const void **out_data,
                                   size_t *out_size);

TJ_END_DECLS

#endif /* TRITON_JIT_FUNCTION_H */
