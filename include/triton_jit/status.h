/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the error record.
 *
 * Every function that can fail returns a tj_status: TJ_OK (0), or one of the codes
 * below. On failure the outputs are untouched, every handle still works, and a message
 * that names what failed, where, and what to do is recorded for the calling thread
 * (tj_last_error) or in the tj_error that the call was given. Success never touches
 * the record: look at the returned status first.
 *
 * A failure that is not the fault of the kernel or of its arguments (a missing tool,
 * an unwritable folder, no memory, a dead compiler process) is tried again at the next
 * call. A failure that would come out the same again (a kernel that does not compile,
 * one that needs more than the device has) is remembered and answered at once.
 */
#ifndef TRITON_JIT_STATUS_H
#define TRITON_JIT_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "triton_jit/version.h"

TJ_BEGIN_DECLS

typedef int32_t tj_status;

/*
 * X(name, value, text). Values are never renumbered or reused. They come in families:
 * 1 use of this interface, 20 arguments, 40 kernel source, 60 compile, 80 tools and
 * files of the machine, 100 backends and devices. 1000 and up are for plugins.
 */
#define TJ_STATUS_MAP(X)                                                              \
  X(OK, 0, "success")                                                                 \
  /* use of this interface */                                                         \
  X(E_NULL, 1, "a required pointer is null")                                          \
  X(E_STRUCT_SIZE, 2, "struct_size is not one that this library knows")               \
  X(E_INVALID, 3, "invalid value")                                                    \
  X(E_NOT_SUPPORTED, 4, "not supported yet")                                          \
  X(E_OUT_OF_MEMORY, 5, "out of memory")                                              \
  X(E_INTERNAL, 6, "internal error")                                                  \
  X(E_RECURSION, 7, "a compile waits for itself")                                     \
  X(E_FROZEN, 8, "no compile is allowed any more")                                    \
  X(E_BUSY, 9, "in use")                                                              \
  /* arguments */                                                                     \
  X(E_TOO_FEW_ARGUMENTS, 20, "a parameter got no argument")                           \
  X(E_TOO_MANY_ARGUMENTS, 21, "more arguments than parameters")                       \
  X(E_UNSUPPORTED_ARGUMENT, 22, "an argument that Triton cannot specialise")          \
  X(E_ARGUMENT_TYPE, 23, "an argument of the wrong kind for its parameter")           \
  X(E_ARGUMENT_RANGE, 24, "an argument out of the range of its type")                 \
  X(E_CONSTEXPR_MISSING, 25, "a constexpr parameter got no value")                    \
  X(E_NO_SUCH_PARAMETER, 26, "no parameter of that name or index")                    \
  X(E_DUPLICATE_ARGUMENT, 27, "a parameter got two arguments")                        \
  X(E_UNKNOWN_OPTION, 28, "the backend has no such compile option")                   \
  X(E_OPTION_VALUE, 29, "a compile option has a value it cannot have")                \
  X(E_NEEDS_CONFIG, 30, "a tuned parameter got no value")                             \
  X(E_VARIANT, 31, "the arguments belong to another variant of the kernel")           \
  X(E_GRID, 32, "the grid is too large")                                              \
  X(E_GRID_FN, 33, "the grid callback failed")                                        \
  X(E_DEVICE_MISMATCH, 34, "a tensor lives on another kind of device")                \
  /* kernel source */                                                                 \
  X(E_SOURCE_NOT_FOUND, 40, "the source file or module cannot be read")               \
  X(E_SOURCE_NOT_PYTHON, 41, "the source is not Python text")                         \
  X(E_SYNTAX, 42, "the source has a syntax error")                                    \
  X(E_IMPORT, 43, "the source imports something that is not there")                   \
  X(E_SOURCE_RAISED, 44, "the source raised an exception while it was imported")      \
  X(E_KERNEL_NOT_FOUND, 45, "the source has no such kernel")                          \
  X(E_NOT_JIT, 46, "the name is not a @triton.jit function")                          \
  X(E_MODULE_CONFLICT, 47, "another file is already loaded under that module name")   \
  X(E_CONTRADICTION, 48, "the kernel's declaration contradicts itself")               \
  X(E_INTERPRETED, 49, "Triton runs as an interpreter (TRITON_INTERPRET)")            \
  /* compile */                                                                       \
  X(E_COMPILE, 60, "the kernel does not compile")                                     \
  X(E_COMPILER_DIED, 61, "the compiler process died")                                 \
  /* tools and files of the machine */                                                \
  X(E_NO_PYTHON, 80, "no usable Python")                                              \
  X(E_PYTHON_MISMATCH, 81, "another Python than the one asked for is in the process") \
  X(E_PYTHON_FINALIZED, 82, "the host has finalised Python")                          \
  X(E_NO_TRITON, 83, "Triton is not installed")                                       \
  X(E_TRITON_VERSION, 84, "this version of Triton is not supported")                  \
  X(E_NO_XDSL, 85, "xdsl is not installed")                                           \
  X(E_NO_C_COMPILER, 86, "no C compiler")                                             \
  X(E_C_COMPILER, 87, "the C compiler failed")                                        \
  X(E_IO, 88, "a file or folder cannot be used")                                      \
  X(E_NO_SCRIPTS, 89, "the library's scripts are not found")                          \
  /* backends and devices */                                                          \
  X(E_UNKNOWN_BACKEND, 100, "no backend of that name")                                \
  X(E_BACKEND_UNAVAILABLE, 101, "the backend cannot be used on this machine")         \
  X(E_DEVICE, 102, "no such device")                                                  \
  X(E_TARGET, 103, "the artifact is for another target")                              \
  X(E_LOAD, 104, "the artifact does not load")                                        \
  X(E_LAUNCH, 105, "the launch failed")                                               \
  X(E_OUT_OF_RESOURCES, 106, "the kernel needs more than the device has")             \
  X(E_KERNEL_ASSERT, 107, "a device_assert failed in the kernel")                     \
  X(E_DEVICE_LOST, 108, "the device has failed")                                      \
  X(E_KERNEL_ACCESS, 109, "the kernel accesses memory beyond its arguments")          \
  X(E_KERNEL_RACE, 110, "two programs of the kernel race")                            \
  X(E_KERNEL_NUMERIC, 111, "a NaN or an infinity was born in the kernel")

enum {
#define TJ_STATUS_ENUM_(name, value, text) TJ_##name = (value),
  TJ_STATUS_MAP(TJ_STATUS_ENUM_)
#undef TJ_STATUS_ENUM_
};

/*
 * "TJ_E_COMPILE" and so on; "TJ_E_?" for a number that this library does not know.
 * Static storage, never NULL. Thread-safe. Since 0.1.
 */
TJ_API const char *tj_status_name(tj_status status);

/*
 * A short text of the code alone, as in the table above. Static storage, never NULL.
 * The message of a particular failure is tj_last_error(). Thread-safe. Since 0.1.
 */
TJ_API const char *tj_status_text(tj_status status);

/*
 * The message of the last call that failed on this thread, UTF-8, may have several
 * lines (a Python traceback). Never NULL: "" if no call failed yet. Owned by the
 * library; valid until the next failing call on this thread or the thread's end.
 * Thread-safe, never blocks. Since 0.1.
 */
TJ_API const char *tj_last_error(void);

/* The status that belongs to tj_last_error(); TJ_OK if none. Since 0.1. */
TJ_API tj_status tj_last_status(void);

/*
 * Where a caller wants its error, for runtimes whose tasks move between threads
 * (coroutines, Go). Given to a call by tj_launch.error or tj_function_desc.error; the
 * call fills it before it returns when it fails, and leaves it alone when it succeeds.
 */
typedef struct tj_error {
  uint32_t struct_size; /* sizeof(tj_error) */
  tj_status status;     /* out */
  char *text;           /* in: the caller's buffer, or NULL; out: the message, always ended by 0 */
  size_t capacity;      /* in: bytes at text */
  size_t length;        /* out: bytes of the whole message, without its 0, even if cut */
} tj_error;

#define TJ_ERROR_INIT(buffer, bytes) \
  { (uint32_t)sizeof(tj_error), TJ_OK, (buffer), (bytes), 0 }

TJ_END_DECLS

#endif /* TRITON_JIT_STATUS_H */
