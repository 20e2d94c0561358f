/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls four Triton kernels from their Python files, checks the results against plain C,
 * and tells what the calls cost.
 *
 *   demo [FOLDER]     the folder of the kernels; examples/kernels if not given
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <triton_jit/triton_jit.h>

enum { ROUNDS = 20, COLUMNS = 1000, COLUMN_BLOCK = 1024 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *floats(size_t n) {
  float *values = malloc(n * sizeof *values);
  if (values == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  for (size_t i = 0; i < n; i++) values[i] = (float)((i * 2654435761u) % 2000) / 1000.0f - 1.0f;
  return values;
}

/* One kernel of the demonstration. */
typedef struct example {
  const char *file, *kernel, *shape;
  tj_launch launch;
  const tj_arg *args;
  size_t n_args;
  const float *out;
  const double *expected;
  size_t n_out;
} example;

static double largest_error(const example *e) {
  double largest = 0;
  for (size_t i = 0; i < e->n_out; i++) {
    double error = fabs((double)e->out[i] - e->expected[i]);
    if (!(error <= largest)) largest = error; /* a NaN counts as an error */
  }
  return largest;
}

static int fail(const example *e) {
  fprintf(stderr, "%s: %s: %s\n", e->kernel, tj_status_name(tj_last_status()), tj_last_error());
  return 1;
}

/* Nanoseconds of the library's own in a call: an empty grid runs nothing. */
static double own_cost(tj_function *function, const example *e) {
  tj_launch nothing = e->launch;
  nothing.grid[0] = 0;
  enum { CALLS = 200000 };
  double begin = now();
  for (int i = 0; i < CALLS; i++)
    if (tj_function_call(function, &nothing, e->args, e->n_args) != TJ_OK) return NAN;
  return (now() - begin) * 1e9 / CALLS;
}

static int run(const char *folder, const example *e) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%s/%s", folder, e->file);
  if (n < 0 || (size_t)n >= sizeof path) return 1;

  tj_function *function;
  if (tj_function_get(path, e->kernel, &function) != TJ_OK) return fail(e);
  double begin = now();
  if (tj_function_prepare(function, &e->launch, e->args, e->n_args, NULL) != TJ_OK) return fail(e);
  double compile = now() - begin;

  begin = now();
  for (int i = 0; i < ROUNDS; i++)
    if (tj_function_call(function, &e->launch, e->args, e->n_args) != TJ_OK) return fail(e);
  double call = (now() - begin) / ROUNDS;

  double error = largest_error(e);
  int right = error < 1e-4;
  printf("%-12s %-22s %9.1e %-5s %8.0f ms %9.1f us %7.0f ns\n", e->kernel, e->shape, error,
         right ? "right" : "WRONG", compile * 1e3, call * 1e6, own_cost(function, e));
  return right ? 0 : 1;
}

static int vector_add(const char *folder) {
  enum { N = 1000003, BLOCK = 1024 };
  float *x = floats(N), *y = floats(N), *out = floats(N);
  double *expected = malloc(N * sizeof *expected);
  if (expected == NULL) return 1;
  for (size_t i = 0; i < N; i++) expected[i] = (double)x[i] + y[i];
  tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(y, TJ_FP32), tj_ptr(out, TJ_FP32), tj_int(N),
                   tj_int(BLOCK)};
  example e = {"vector_add.py",
               "vector_add",
               "1000003",
               tj_launch_grid((N + BLOCK - 1) / BLOCK, 1, 1),
               args,
               5,
               out,
               expected,
               N};
  int failed = run(folder, &e);
  free(x), free(y), free(out), free(expected);
  return failed;
}

static int softmax(const char *folder) {
  enum { ROWS = 1000 };
  const size_t n = (size_t)ROWS * COLUMNS;
  float *x = floats(n), *out = floats(n);
  double *expected = malloc(n * sizeof *expected);
  if (expected == NULL) return 1;
  for (size_t r = 0; r < ROWS; r++) {
    double sum = 0;
    for (size_t c = 0; c < COLUMNS; c++) sum += exp((double)x[r * COLUMNS + c]);
    for (size_t c = 0; c < COLUMNS; c++)
      expected[r * COLUMNS + c] = exp((double)x[r * COLUMNS + c]) / sum;
  }
  tj_arg args[] = {tj_ptr(out, TJ_FP32), tj_ptr(x, TJ_FP32), tj_int(COLUMNS), tj_int(COLUMNS),
                   tj_int(COLUMN_BLOCK)};
  example e = {"softmax.py", "softmax", "1000 x 1000", tj_launch_grid(ROWS, 1, 1), args, 5, out,
               expected,     n};
  int failed = run(folder, &e);
  free(x), free(out), free(expected);
  return failed;
}

static int matmul(const char *folder) {
  enum { M = 300, N = 200, K = 250, BLOCK = 64, BLOCK_K = 32 };
  float *a = floats((size_t)M * K), *b = floats((size_t)K * N), *c = floats((size_t)M * N);
  double *expected = calloc((size_t)M * N, sizeof *expected);
  if (expected == NULL) return 1;
  for (size_t i = 0; i < M; i++)
    for (size_t k = 0; k < K; k++)
      for (size_t j = 0; j < N; j++) expected[i * N + j] += (double)a[i * K + k] * b[k * N + j];
  tj_arg args[] = {tj_ptr(a, TJ_FP32), tj_ptr(b, TJ_FP32), tj_ptr(c, TJ_FP32),
                   tj_int(M),          tj_int(N),          tj_int(K),
                   tj_int(BLOCK),      tj_int(BLOCK),      tj_int(BLOCK_K)};
  example e = {"matmul.py",
               "matmul",
               "300 x 250 x 200",
               tj_launch_grid((M + BLOCK - 1) / BLOCK, (N + BLOCK - 1) / BLOCK, 1),
               args,
               9,
               c,
               expected,
               (size_t)M * N};
  int failed = run(folder, &e);
  free(a), free(b), free(c), free(expected);
  return failed;
}

static int layer_norm(const char *folder) {
  enum { ROWS = 1000 };
  const double eps = 1e-5;
  const size_t n = (size_t)ROWS * COLUMNS;
  float *x = floats(n), *weight = floats(COLUMNS), *bias = floats(COLUMNS), *out = floats(n);
  double *expected = malloc(n * sizeof *expected);
  if (expected == NULL) return 1;
  for (size_t r = 0; r < ROWS; r++) {
    const float *row = x + r * COLUMNS;
    double mean = 0, variance = 0;
    for (size_t c = 0; c < COLUMNS; c++) mean += row[c] / (double)COLUMNS;
    for (size_t c = 0; c < COLUMNS; c++) variance += (row[c] - mean) * (row[c] - mean) / COLUMNS;
    for (size_t c = 0; c < COLUMNS; c++)
      expected[r * COLUMNS + c] = (row[c] - mean) / sqrt(variance + eps) * weight[c] + bias[c];
  }
  tj_arg args[] = {tj_ptr(x, TJ_FP32),   tj_ptr(weight, TJ_FP32), tj_ptr(bias, TJ_FP32),
                   tj_ptr(out, TJ_FP32), tj_int(COLUMNS),         tj_float(eps),
                   tj_int(COLUMN_BLOCK)};
  example e = {"layer_norm.py",
               "layer_norm",
               "1000 x 1000",
               tj_launch_grid(ROWS, 1, 1),
               args,
               7,
               out,
               expected,
               n};
  int failed = run(folder, &e);
  free(x), free(weight), free(bias), free(out), free(expected);
  return failed;
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : "examples/kernels";
  printf("libtriton_jit %s\n\n", tj_version_string());
  printf("%-12s %-22s %9s %-5s %11s %12s %10s\n", "kernel", "shape", "error", "", "compile",
         "whole call", "our part");
  int failed = vector_add(folder) + softmax(folder) + matmul(folder) + layer_norm(folder);
  printf("\ncompile: Triton and the C compiler, or their cache; whole call: with the kernel's own\n"
         "work on all cores; our part: binding and look-up, measured with an empty grid.\n");
  return failed == 0 ? 0 : 1;
}
