/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pool of the CPU backend.
 *
 * A job is one grid that several threads share. It lies on the stack of the thread that
 * launches: that thread opens the job, works on it like any other, and closes it, which
 * waits for the workers that are in it. It never waits for a worker to come: with no
 * worker free, or none at all, it does everything itself. So a launch makes progress
 * whatever the others do, and threads that launch at the same time cannot deadlock.
 *
 * Who owns what, and what orders it:
 *   - `pool.lock` orders the list of open jobs, and of each job `seats`, `helpers` and
 *     `unserved`. It is held for a few instructions, never while a kernel runs.
 *   - `job.next`, the first program that nobody has taken, is atomic; taking a range is one
 *     addition. It says who runs what, and publishes nothing: what a worker needs to know
 *     of a job was written before open released the lock and is read after join took it,
 *     and what programs write is visible to the caller since a worker's leave releases
 *     the lock that close takes.
 *   - A worker touches a job only between join and leave. close takes the job off the list
 *     and returns when no helper is left, so the stack frame can go.
 *   - Programs of an ordered job are taken one at a time: every program with a lower number
 *     than a running one has been taken before, by a thread that runs it now or has run
 *     it. A program that waits for an earlier one therefore ends, also with one thread.
 *
 * Fairness: a worker that looks for work takes the job with the fewest helpers, and one
 * that shares its job with other helpers leaves it between two ranges when a job has none.
 *
 * Idle workers look for work for some microseconds, then sleep on a condition. An opener
 * wakes, or starts, at most two; each worker that joins calls two more while there are
 * seats, so that a launch on many CPUs does not pay for all the wake-ups itself.
 *
 * fork: a child has none of the workers and may find the lock held, so the pool is made
 * anew there. A job that was open in a thread left behind is gone with that thread. If the
 * thread that forks is itself in a job (a log callback that forks), close finds another
 * generation of the pool, and says that the helpers are lost.
 */
#ifndef TJ_CPU_POOL_H
#define TJ_CPU_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tj_cpu_job {
  /* Set before open. */
  void (*help)(struct tj_cpu_job *job); /* runs on a worker; takes ranges until there is none */
  void *ctx;
  uint64_t total;        /* programs [next, total) are to be run; at most TJ_CPU_JOB_MAX */
  uint64_t chunk;        /* programs of a range, at least 1 and at most total */
  uint32_t seats;        /* workers that may still join */
  _Atomic uint64_t next; /* first program that is not taken */

  /* The pool's. */
  _Atomic uint32_t helpers; /* workers within; changed under the lock */
  bool unserved;            /* wants workers, and none has come */
  bool waiting;             /* the caller waits for the helpers */
  uint32_t generation;
  struct tj_cpu_job *later, *earlier;
} tj_cpu_job;

/* Taking beyond the end must not wrap around. */
#define TJ_CPU_JOB_MAX ((uint64_t)1 << 50)

/* Threads that work on a large grid, the caller included: at least 1. */
uint32_t tj_cpu_pool_size(void);

void tj_cpu_pool_open(tj_cpu_job *job);

/* False: the process has forked within the job, and what its helpers had taken is lost. */
bool tj_cpu_pool_close(tj_cpu_job *job);

/* The next range of programs to run; false: none is left. For the thread that launches. */
bool tj_cpu_job_take(tj_cpu_job *job, uint64_t *out_first, uint64_t *out_last);

/* The same for a worker; also false if another job needs it more. */
bool tj_cpu_job_take_as_helper(tj_cpu_job *job, uint64_t *out_first, uint64_t *out_last);

/* Nothing more is taken. */
void tj_cpu_job_stop(tj_cpu_job *job);

#endif /* TJ_CPU_POOL_H */
