# SPDX-License-Identifier: Apache-2.0
"""Tiles live in scratch memory: frames are small, and a thread with a stack of 64 KiB runs any kernel."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from generate import module
from kernels import attention_kernel, layer_norm_kernel, matmul_kernel, softmax_kernel
from runner import As, compile_kernel
from triton_jit_cpu import toolchain

LARGEST_FRAME = 16384

# tj_cpu_run_1 on a thread with a stack of 64 KiB. What the kernel prints is kept until that thread has
# ended: Python, which takes it, needs a larger one.
SHIM = """
#include <pthread.h>
#include <string.h>
#include "cpu_abi.h"
typedef int32_t run_function(const void *, const uint32_t *, uint64_t, uint64_t, void *, const tj_cpu_host *);
run_function *small_target;
static struct {
  const void *params;
  const uint32_t *grid;
  uint64_t first, last;
  void *scratch;
  tj_cpu_host host;
  int32_t rc;
} call;
static struct {
  int32_t kind;
  size_t size;
  char text[512];
} said[16];
static int count;
static void note(int32_t kind, const char *text, size_t size) {
  said[count].kind = kind;
  said[count].size = size < 512 ? size : 512;
  memcpy(said[count++].text, text, size < 512 ? size : 512);
}
static void on_print(void *ctx, const char *text, size_t size) { (void)ctx, note(0, text, size); }
static void on_fail(void *ctx, int32_t kind, const char *text, size_t size) { (void)ctx, note(kind, text, size); }
static void *start(void *unused) {
  call.rc = small_target(call.params, call.grid, call.first, call.last, call.scratch, &call.host);
  return unused;
}
int32_t run_small(const void *params, const uint32_t *grid, uint64_t first, uint64_t last, void *scratch,
                  const tj_cpu_host *host) {
  pthread_attr_t attr;
  pthread_t thread;
  call.params = params, call.grid = grid, call.first = first, call.last = last, call.scratch = scratch;
  call.host = *host, call.host.print = on_print, call.host.fail = on_fail, count = 0;
  if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 65536)) return -2;
  if (pthread_create(&thread, &attr, start, 0) || pthread_join(thread, 0)) return -3;
  for (int i = 0; i < count; i++) {
    if (said[i].kind) host->fail(host->ctx, said[i].kind, said[i].text, said[i].size);
    else host->print(host->ctx, said[i].text, said[i].size);
  }
  return call.rc;
}
"""

TEXT = """
@triton.jit
def large(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    a = tl.load(x + at)
    b = tl.dot(a, tl.trans(a))
    m, j = tl.max(b, 1, return_indices=True)
    c = tl.where(i[None, :] == j[:, None], m[:, None], b * 0.5)
    tl.store(o + at, tl.cumsum(c, 0) + tl.cumsum(tl.trans(c), 1))


@triton.jit
def sorts(x, o, N: tl.constexpr):
    k = tl.arange(0, N)
    v = tl.load(x + k)
    tl.store(o + k, tl.sort(v))
    tl.store(o + N + k, tl.gather(v, (v - v).to(tl.int32) + N - 1 - k, 0))
    tl.device_print("last", tl.max(v))
    tl.device_assert(tl.min(v) > -1e9, "small")


@triton.jit(noinline=True)
def inner(x, n):
    s = 0.0
    for i in range(n):
        s += tl.sum(tl.load(x + i * 64 + tl.arange(0, 64)))
    return s


@triton.jit
def calls(x, o, n):
    tl.store(o, inner(x, n) + inner(x + 64, n - 1))
"""

F = np.zeros(4, np.float32)
CORPUS = {
    "softmax": (softmax_kernel, dict(x=F, y=F, n=4, stride=4, BLOCK=4096)),
    "matmul": (matmul_kernel, dict(a=F, b=F, c=As("*bf16", F), M=1, N=1, K=1, stride_am=1, stride_ak=1, stride_bk=1,
                                   stride_bn=1, stride_cm=1, BM=128, BN=128, BK=64)),
    "attention": (attention_kernel, dict(q=F, k=F, v=F, out=F, n=4, scale=1.0, D=64, BM=64, BN=64, CAUSAL=True)),
    "layer_norm": (layer_norm_kernel, dict(x=F.astype(np.float16), y=F, w=F, b=F, mean_out=F, rstd_out=F, stride=4,
                                           n=4, eps=1.0, BLOCK=1024)),
    "large": ("large", dict(x=F, o=F, N=512)),
    "sorts": ("sorts", dict(x=F, o=F, N=32)),
    "calls": ("calls", dict(x=F, o=F, n=3)),
}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return module(TEXT)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """``small(program)``: the program, whose runs are on a small stack from now on."""
    folder = tmp_path_factory.mktemp("stack")
    (folder / "small.c").write_text(SHIM)
    headers = f"-I{Path(toolchain.__file__).parent}"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-pthread", headers, folder / "small.c", "-o", folder / "small.so"],
        check=True,
    )
    shim = ctypes.CDLL(str(folder / "small.so"))

    def use(program):
        target = ctypes.cast(program.lib.tj_cpu_run_1, ctypes.c_void_p)
        ctypes.c_void_p.in_dll(shim, "small_target").value = target.value
        program.entry = shim.run_small
        return program

    return use


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", list(CORPUS))
def test_frames_are_small(made, tmp_path, compiler, name):
    """Without optimisation, too, where nothing shares a place on the stack."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    kernel, args = CORPUS[name]
    program, _ = compile_kernel(getattr(made, kernel) if isinstance(kernel, str) else kernel, args, debug=True)
    source = tmp_path / "k.c"
    source.write_text(program.c)
    flags = [f for f in toolchain.FLAGS if f not in ("-w", "-O3", "-shared")]
    flags += ["-Werror", "-Wvla", f"-Wframe-larger-than={LARGEST_FRAME}"]
    for level in ("-O0", "-O2"):
        done = subprocess.run(
            [compiler, *flags, level, "-c", str(source), "-o", str(tmp_path / "k.o")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_a_thread_with_64_kib(made, small):
    """Products, scans, sorting, calls, printing and failing."""
    rng = np.random.default_rng(0)
    x, o = rng.standard_normal((128, 128)).astype(np.float32), np.zeros((128, 128), np.float32)
    program, values = compile_kernel(made.large, {"x": x, "o": o, "N": 128})
    assert 0 == small(program).run((1,), values)
    b = x.astype(np.float64) @ x.T
    c = b * 0.5
    c[np.arange(128), b.argmax(1)] = b.max(1)
    np.testing.assert_allclose(o, c.cumsum(0) + c.T.cumsum(1), rtol=1e-3, atol=1e-2)

    v, out = rng.standard_normal(32).astype(np.float32), np.zeros(64, np.float32)
    program, values = compile_kernel(made.sorts, {"x": v, "o": out, "N": 32}, debug=True)
    assert small(program).run((1,), values) == 0
    np.testing.assert_array_equal(out, np.concatenate([np.sort(v), v[::-1]]))
    assert program.prints == [f"pid (0, 0, 0) idx () last: {v.max():f}"]
    v[3] = -2e9
    assert small(program).run((1,), values) == 1 and "small" in program.failures[0][1]

    w, one = rng.integers(0, 9, 256).astype(np.float32), np.zeros(1, np.float32)
    program, values = compile_kernel(made.calls, {"x": w, "o": one, "n": As("i32", 3)})
    assert small(program).run((1,), values) == 0
    assert one[0] == w[:192].sum() + w[64:192].sum()
