/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Own cost of a compile miss: the whole of tj_function_prepare less what triton.compile
 * itself took, in one interpreter. Target cuda:90, loaded by the null backend. Needs a
 * Python with Triton (TRITON_JIT_PYTHON); ends with status 77 without one.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "compile/compiler.h"
#include "compile/message.h"
#include "triton_jit/triton_jit.h"

enum { MAX_MISSES = 64 };

static double triton_seconds; /* of the last compile, as the script measured it */

/* The embedded compiler, with a look at what its replies say about time. */
static tj_status handle(const void *request, size_t size, void **out_reply, size_t *out_size) {
  tj_status status = tj_compiler_embedded.handle(request, size, out_reply, out_size);
  if (status != TJ_OK) return status;
  void *copy = malloc(*out_size);
  tj_message message;
  if (copy == NULL) return TJ_OK;
  memcpy(copy, *out_reply, *out_size);
  if (tj_message_decode(copy, *out_size, &message) == TJ_OK) {
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(message.json, "seconds");
    const cJSON *triton = cJSON_GetObjectItemCaseSensitive(seconds, "triton");
    triton_seconds = cJSON_IsNumber(triton) ? triton->valuedouble : -1;
    tj_message_free(&message);
  }
  return TJ_OK;
}

static const tj_compiler watched = {"embedded, watched", handle};

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  return remove(path);
}

int main(int argc, char **argv) {
  bench_options options = bench_parse(argc, argv);
  const char *source = getenv("TJ_TEST_SOURCE_DIR");
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/examples/kernels/softmax.py", source ? source : ".");
  /* Every run compiles: nothing may come out of Triton's disk cache. */
  char cache[] = "/tmp/bench_miss.XXXXXX";
  if (mkdtemp(cache) == NULL || setenv("TRITON_CACHE_DIR", cache, 1) != 0) return 1;

  tj_compiler_replace(&watched);
  tj_function_desc desc = TJ_FUNCTION_DESC_INIT;
  desc.source = path;
  desc.name = "softmax";
  desc.backend = "null";
  tj_function *function;
  tj_status status = tj_function_get_ex(&desc, &function);
  if (status == TJ_E_NO_PYTHON || status == TJ_E_NO_TRITON) {
    printf("skipped: %s\n", tj_last_error());
    return 77;
  }
  double totals[MAX_MISSES], own[MAX_MISSES];
  int n = options.smoke ? 2 : 33;
  /* The first pays for imports: it is not counted. */
  for (int i = -1; status == TJ_OK && i < n; i++) {
    tj_launch launch = TJ_LAUNCH_INIT;
    tj_arg args[] = {tj_ptr(NULL, TJ_FP32), tj_ptr(NULL, TJ_FP32), tj_int(1000), tj_int(1000 + 16),
                     tj_int(1024)};
    /* Another variant each time, of the same size of code. */
    launch.num_stages = (uint32_t)(2 + i);
    uint64_t begin = tj_now();
    status = tj_function_prepare(function, &launch, args, 5, NULL);
    double total = (double)(tj_now() - begin) * 1e-6;
    if (i >= 0) {
      totals[i] = total;
      own[i] = total - triton_seconds * 1e3;
    }
  }
  if (status != TJ_OK || triton_seconds < 0) {
    fprintf(stderr, "%s\n", status != TJ_OK ? tj_last_error() : "the script measured no time");
    return 1;
  }
  qsort(totals, (size_t)n, sizeof *totals, by_value);
  qsort(own, (size_t)n, sizeof *own, by_value);
  printf("a compile miss, cuda:90, median of %d: %.1f ms, of which our own %.2f ms "
         "(10 to 90 %%: %.2f to %.2f)\n",
         n, totals[n / 2], own[n / 2], own[n / 10], own[n - 1 - n / 10]);
  bench_report("compile miss, whole", totals[n / 2], "ms");
  bench_report("compile miss, own cost", own[n / 2], "ms");
  if (nftw(cache, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0) return 1;
  return bench_finish(&options);
}
