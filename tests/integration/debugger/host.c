/* SPDX-License-Identifier: Apache-2.0 */
/* host KERNEL.py TIMES: calls `scale` of the kernel file on 1000 numbers, TIMES times. */
#include <stdio.h>
#include <stdlib.h>

#include "triton_jit/triton_jit.h"

#define N 1000

static int fail(void) {
  (void)fprintf(stderr, "%s: %s\n", tj_status_name(tj_last_status()), tj_last_error());
  return 1;
}

int main(int argc, char **argv) {
  static float x[N], out[N];
  if (argc != 3) return 2;
  for (int i = 0; i < N; i++) x[i] = (float)i;
  tj_function *scale;
  if (tj_function_get(argv[1], "scale", &scale) != TJ_OK) return fail();
  tj_launch launch = TJ_LAUNCH_INIT;
  launch.grid[0] = 4;
  tj_arg args[] = {tj_ptr(x, TJ_FP32), tj_ptr(out, TJ_FP32), tj_float(3), tj_int(N), tj_int(256)};
  for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
    if (tj_function_call(scale, &launch, args, 5) != TJ_OK) return fail();
  printf("%g\n", (double)out[N - 1]);
  return 0;
}
