/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiler: something that answers requests of compile/message.h. Three of them:
 * CPython in this process (embedded.c), CPython in a process of its own (worker.c), and
 * what a unit test puts in their place. All take the same bytes.
 */
#ifndef TJ_COMPILE_COMPILER_H
#define TJ_COMPILE_COMPILER_H

#include <stddef.h>

#include "triton_jit/status.h"

typedef struct tj_compiler {
  const char *name;
  /*
   * Answers one request; the reply is the caller's to free(). Blocks while it works; any
   * thread, several at once. Fails only where no reply came about (no Python, a dead
   * worker, no memory); an error that Python reports is a reply.
   */
  tj_status (*handle)(const void *request, size_t size, void **out_reply, size_t *out_size);
} tj_compiler;

extern const tj_compiler tj_compiler_embedded;
extern const tj_compiler tj_compiler_worker;

/*
 * The request through the compiler of this process: the one that the host asked for
 * (tj_set_compiler, TRITON_JIT_COMPILER), else embedded, else worker where embedding
 * cannot work. Chosen at the first request, and again in a forked child.
 */
tj_status tj_compiler_handle(const void *request, size_t size, void **out_reply, size_t *out_size);

/* Puts `compiler` in the place of all others; NULL ends that. For tests. */
void tj_compiler_replace(const tj_compiler *compiler);

/*
 * Before a thread blocks on something that another one may need Python to finish: lets
 * go of the interpreter if this thread holds it. NULL if it does not. The token goes to
 * tj_python_resume. Both are cheap and safe where there is no Python at all.
 */
void *tj_python_suspend(void);
void tj_python_resume(void *token);

#endif /* TJ_COMPILE_COMPILER_H */
