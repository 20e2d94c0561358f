/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "cpu/cpu_thread.h"
#include "triton_jit/runtime.h"
#include "triton_jit/sys/backend.h"

#define MAX_THREADS 1024u
#define SPINS 2000 /* of tj_cpu_relax: 20 to 80 us */
#define CALLS 2u   /* workers that one thread wakes or starts */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work; /* a job was opened */
  pthread_cond_t left; /* the last helper of a job that is waited for has left */
  tj_cpu_job *jobs;    /* open ones, the latest first */
  uint32_t workers;    /* started */
  uint32_t sleepers;   /* in a wait for `work` */
  uint32_t spinners;   /* looking for work */
  bool exhausted;      /* the system gives no more threads */
  uint32_t generation;
  _Atomic uint32_t opened;   /* counts jobs: what spinners look at */
  _Atomic uint32_t unserved; /* jobs that want workers and have none */
  _Atomic uint32_t size;     /* 0: not known yet */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

/* ---- size --------------------------------------------------------------------------------- */

static uint32_t configured_size(void) {
  uint32_t cpus = tj_cpu_thread_cpus();
  if (cpus > MAX_THREADS) cpus = MAX_THREADS;
  const char *text = getenv("TRITON_JIT_CPU_THREADS");
  if (text == NULL || *text == 0) return cpus;
  char *end;
  errno = 0;
  unsigned long wanted = strtoul(text, &end, 10);
  if (errno == 0 && *end == 0 && *text != '-' && wanted >= 1 && wanted <= MAX_THREADS)
    return (uint32_t)wanted;
  tj_log(TJ_LOG_WARNING,
         "TRITON_JIT_CPU_THREADS is \"%s\"; expected a number from 1 to %u: using %u, the CPUs "
         "that this process may run on",
         text, MAX_THREADS, cpus);
  return cpus;
}

static void made_anew_in_child(void) {
  pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.jobs = NULL;
  pool.workers = pool.sleepers = pool.spinners = 0;
  pool.exhausted = false;
  pool.generation++;
  atomic_store(&pool.unserved, 0);
}

static pthread_once_t size_once = PTHREAD_ONCE_INIT;

static void find_size(void) {
  tj_on_fork_child(made_anew_in_child);
  atomic_store(&pool.size, configured_size());
}

uint32_t tj_cpu_pool_size(void) {
  uint32_t size = atomic_load_explicit(&pool.size, memory_order_relaxed);
  if (__builtin_expect(size != 0, 1)) return size;
  pthread_once(&size_once, find_size);
  return atomic_load(&pool.size);
}

/* ---- jobs, all under the lock --------------------------------------------------------------- */

static bool has_work(tj_cpu_job *job) {
  return atomic_load_explicit(&job->next, memory_order_relaxed) < job->total;
}

static uint32_t helpers_of(tj_cpu_job *job) {
  return atomic_load_explicit(&job->helpers, memory_order_relaxed);
}

static void set_served(tj_cpu_job *job) {
  if (!job->unserved) return;
  job->unserved = false;
  atomic_fetch_sub_explicit(&pool.unserved, 1, memory_order_relaxed);
}

/* The job that needs a worker most, NULL if none does. */
static tj_cpu_job *pick(void) {
  tj_cpu_job *best = NULL;
  for (tj_cpu_job *job = pool.jobs; job; job = job->later) {
    if (!has_work(job))
      set_served(job); /* nobody need leave another job for it any more */
    else if (job->seats > 0 && (!best || helpers_of(job) < helpers_of(best)))
      best = job;
  }
  return best;
}

static void join(tj_cpu_job *job) {
  job->seats--;
  atomic_store_explicit(&job->helpers, helpers_of(job) + 1, memory_order_relaxed);
  set_served(job);
}

static void leave(tj_cpu_job *job) {
  job->seats++;
  uint32_t helpers = helpers_of(job) - 1;
  bool waiting = job->waiting;
  atomic_store_explicit(&job->helpers, helpers, memory_order_relaxed);
  if (helpers == 0 && waiting) pthread_cond_broadcast(&pool.left);
}

/* Calls workers for a job. Returns how many the caller has to start, without the lock. */
static uint32_t call_workers(const tj_cpu_job *job) {
  uint32_t wanted = job->seats > pool.spinners ? job->seats - pool.spinners : 0;
  if (wanted > CALLS) wanted = CALLS;
  uint32_t woken = wanted < pool.sleepers ? wanted : pool.sleepers;
  for (uint32_t i = 0; i < woken; i++) pthread_cond_signal(&pool.work);
  uint32_t size = atomic_load_explicit(&pool.size, memory_order_relaxed);
  uint32_t room = pool.exhausted || pool.workers + 1 >= size ? 0 : size - 1 - pool.workers;
  uint32_t started = wanted - woken < room ? wanted - woken : room;
  pool.workers += started;
  return started;
}

/* ---- workers -------------------------------------------------------------------------------- */

static void *worker(void *unused);

static void start_workers(uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    int error = tj_cpu_thread_start(worker, NULL, NULL);
    if (error == 0) continue;
    pthread_mutex_lock(&pool.lock);
    pool.workers -= n - i;
    pool.exhausted = true;
    uint32_t have = pool.workers;
    pthread_mutex_unlock(&pool.lock);
    tj_log(TJ_LOG_WARNING, "the CPU backend goes on with %u threads: starting another failed (%s)",
           have + 1, strerror(error));
    return;
  }
}

static void spin(void) {
  uint32_t seen = atomic_load_explicit(&pool.opened, memory_order_relaxed);
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&pool.opened, memory_order_relaxed) != seen) return;
    tj_cpu_relax();
  }
}

static void *worker(void *unused) {
  tj_cpu_thread_enter();
  bool spun = false;
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    tj_cpu_job *job = pick();
    if (job) {
      join(job);
      uint32_t n = call_workers(job);
      pthread_mutex_unlock(&pool.lock);
      start_workers(n);
      job->help(job);
      pthread_mutex_lock(&pool.lock);
      leave(job);
      spun = false;
    } else if (!spun) {
      pool.spinners++;
      pthread_mutex_unlock(&pool.lock);
      spin();
      pthread_mutex_lock(&pool.lock);
      pool.spinners--;
      spun = true; /* one more look, then to sleep */
    } else {
      pool.sleepers++;
      pthread_cond_wait(&pool.work, &pool.lock);
      pool.sleepers--;
    }
  }
  return unused;
}

/* ---- the thread that launches ---------------------------------------------------------------- */

void tj_cpu_pool_open(tj_cpu_job *job) {
  atomic_init(&job->helpers, 0);
  job->waiting = false;
  job->unserved = job->seats > 0;
  job->earlier = NULL;
  pthread_mutex_lock(&pool.lock);
  job->generation = pool.generation;
  job->later = pool.jobs;
  if (pool.jobs) pool.jobs->earlier = job;
  pool.jobs = job;
  if (job->unserved) atomic_fetch_add_explicit(&pool.unserved, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&pool.opened, 1, memory_order_relaxed);
  uint32_t n = call_workers(job);
  pthread_mutex_unlock(&pool.lock);
  start_workers(n);
}

static void take_off_list(tj_cpu_job *job) {
  if (job->later) job->later->earlier = job->earlier;
  if (job->earlier)
    job->earlier->later = job->later;
  else
    pool.jobs = job->later;
  set_served(job);
}

bool tj_cpu_pool_close(tj_cpu_job *job) {
  pthread_mutex_lock(&pool.lock);
  if (job->generation != pool.generation) {
    pthread_mutex_unlock(&pool.lock);
    return helpers_of(job) == 0;
  }
  take_off_list(job);
  if (helpers_of(job) > 0) {
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < SPINS && helpers_of(job) > 0; i++) tj_cpu_relax();
    pthread_mutex_lock(&pool.lock);
    job->waiting = true;
    while (helpers_of(job) > 0) pthread_cond_wait(&pool.left, &pool.lock);
  }
  pthread_mutex_unlock(&pool.lock);
  return true;
}

/* ---- programs --------------------------------------------------------------------------------- */

bool tj_cpu_job_take(tj_cpu_job *job, uint64_t *out_first, uint64_t *out_last) {
  if (!has_work(job)) return false;
  uint64_t first = atomic_fetch_add_explicit(&job->next, job->chunk, memory_order_relaxed);
  if (first >= job->total) return false;
  *out_first = first;
  *out_last = job->chunk < job->total - first ? first + job->chunk : job->total;
  return true;
}

bool tj_cpu_job_take_as_helper(tj_cpu_job *job, uint64_t *out_first, uint64_t *out_last) {
  if (atomic_load_explicit(&pool.unserved, memory_order_relaxed) > 0 && helpers_of(job) > 1)
    return false;
  return tj_cpu_job_take(job, out_first, out_last);
}

void tj_cpu_job_stop(tj_cpu_job *job) {
  atomic_store_explicit(&job->next, job->total, memory_order_relaxed);
}
