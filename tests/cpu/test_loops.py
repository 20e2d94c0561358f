# SPDX-License-Identifier: Apache-2.0
"""Loop nests: that they vectorise, and that what makes them fast keeps the numbers right."""

import re
import subprocess

import numpy as np
import pytest
import triton
import triton.language as tl
from kernels import add_kernel, layer_norm_kernel, softmax_kernel
from runner import As, compile_kernel, launch
from triton_jit_cpu import toolchain

RNG = np.random.default_rng(7)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@triton.jit
def band_kernel(x, out, n, low, high, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    mask = (offs >= low) & (offs < high) & (offs < n)
    tl.store(out + offs, tl.load(x + offs, mask=mask, other=1) * 2, mask=mask)


@triton.jit
def chosen_kernel(x, chosen, out, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    mask = (offs < n) & (tl.load(chosen + offs, mask=offs < n, other=0) != 0)
    tl.store(out + offs, tl.load(x + offs, mask=mask, other=1.0) * 2.0, mask=mask)


@triton.jit
def cumsum_kernel(x, out, n, B: tl.constexpr, REVERSE: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, B)
    v = tl.load(x + row * n + offs, mask=offs < n, other=0)
    tl.store(out + row * n + offs, tl.cumsum(v, axis=0, reverse=REVERSE), mask=offs < n)


@triton.jit
def argmax_kernel(x, out, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + offs, mask=offs < n, other=-float("inf"))
    tl.store(out + tl.program_id(0), tl.argmax(v, axis=0))


@triton.jit
def compose(a, b, c, d):
    """First x -> a * x + b, then x -> c * x + d: associative, and the order matters."""
    return a * c, b * c + d


@triton.jit
def compose_kernel(a, b, scan_a, scan_b, all_a, all_b, AXIS: tl.constexpr, REVERSE: tl.constexpr,
                   M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x, y = tl.load(a + at), tl.load(b + at)
    u, v = tl.associative_scan((x, y), AXIS, compose, reverse=REVERSE)
    tl.store(scan_a + at, u)
    tl.store(scan_b + at, v)
    p, q = tl.reduce((x, y), AXIS, compose)
    rest = tl.arange(0, N if AXIS == 0 else M)
    tl.store(all_a + rest, p)
    tl.store(all_b + rest, q)


@triton.jit
def transpose_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr, STORED: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    v = tl.load(x + rm[:, None] * N + rn[None, :], mask=mask)
    if STORED:
        tl.store(out + rn[:, None] * M + rm[None, :], tl.trans(v), mask=tl.trans(mask))
    else:
        tl.store(out + rm[:, None] + rn[None, :] * M, v, mask=mask)


@triton.jit
def rows_kernel(index, x, out, n, N: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    cols = tl.arange(0, N)
    i = tl.load(index + r, mask=r < n, other=0)
    v = tl.load(x + i[:, None] * N + cols[None, :], mask=r[:, None] < n)
    tl.store(out + r[:, None] * N + cols[None, :], v, mask=r[:, None] < n)


# A loop whose element goes through a pointer of its own is the version for wrapped indices.
_BY_POINTER = re.compile(r"[?=] \*\w|^\s*(if \(\w+\) )?\*\w+ =")


def unvectorised(c):
    """The loops that should vectorise, and do not."""
    lines = [line for line in c.splitlines() if not line.startswith("#line")]
    flags = [f for f in toolchain.FLAGS if f != "-w"]
    command = [*toolchain.find_compiler().command, *flags, "-fopt-info-optimized", "-xc", "-", "-o", "/dev/null"]
    report = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stderr
    # Fills and copies become calls of memset and memcpy.
    good = r"<stdin>:(\d+):\d+: optimized: *(?:loop vectorized|Loop \d+ distributed: split to 0 loops and)"
    done = {int(n) for n in re.findall(good, report)}
    failed = []
    for number, line in enumerate(lines, 1):
        if line.strip() != "TJ_VECTOR" or number + 1 in done:
            continue
        depth = len(lines[number]) - len(lines[number].lstrip())
        end = next(k for k in range(number + 1, len(lines)) if lines[k] == " " * depth + "}")
        body = lines[number : end + 1]
        if not any(_BY_POINTER.search(x) for x in body):
            failed.append("\n".join(body))
    return failed


def _vector_compiler():
    compiler = toolchain.find_compiler()
    asked = subprocess.run(
        [*compiler.command, "-march=native", "-dM", "-E", "-xc", "/dev/null"], capture_output=True, text=True
    ).stdout
    return "__clang__" not in asked and "__AVX2__" in asked


N = 1000
VECTORISED = {
    "add": (add_kernel, dict(x=f32(N), y=f32(N), out=f32(N), n=N, BLOCK=256)),
    "add f64": (add_kernel, {k: RNG.standard_normal(N) for k in ("x", "y", "out")} | dict(n=N, BLOCK=256)),
    "add bf16": (
        add_kernel, {k: As("*bf16", np.zeros(N, np.uint16)) for k in ("x", "y", "out")} | dict(n=N, BLOCK=256),
    ),
    "softmax": (softmax_kernel, dict(x=f32(N), y=f32(N), n=N, stride=N, BLOCK=1024)),
    "layer norm": (
        layer_norm_kernel,
        dict(x=f32(N), y=f32(N), w=f32(N), b=f32(N), mean_out=f32(1), rstd_out=f32(1), stride=N, n=N, eps=1e-5,
             BLOCK=256),
    ),
    "band": (band_kernel, dict(x=f32(N), out=f32(N), n=N, low=3, high=900, B=256)),
    "mask in memory": (chosen_kernel, dict(x=f32(N), chosen=np.zeros(N, np.int32), out=f32(N), n=N, B=256)),
    "cumsum": (cumsum_kernel, dict(x=f32(N), out=f32(N), n=N, B=1024, REVERSE=False)),
    "cumsum back": (cumsum_kernel, dict(x=f32(N), out=f32(N), n=N, B=1024, REVERSE=True)),
    "argmax": (argmax_kernel, dict(x=f32(N), out=np.zeros(1, np.int32), n=N, B=1024)),
    "transposition": (transpose_kernel, dict(x=f32(N), out=f32(N), M=20, N=50, BM=32, BN=32, STORED=True)),
    "rows by index": (rows_kernel, dict(index=np.zeros(9, np.int64), x=f32(N), out=f32(N), n=9, N=128, R=16)),
}  # fmt: skip


@pytest.mark.skipif(not _vector_compiler(), reason="reads the reports of gcc, which has masked loads from AVX2 on")
@pytest.mark.parametrize("name", VECTORISED)
def test_loops_vectorise(name):
    kernel, args = VECTORISED[name]
    program, _ = compile_kernel(kernel, args)
    assert "TJ_VECTOR" in program.c.split("_program(", 1)[1]
    assert unvectorised(program.c) == []


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int16, np.float64])
@pytest.mark.parametrize("low,high", [(0, 700), (5, 900), (300, 301), (700, 100), (511, 513)])
def test_band_masks(dtype, low, high):
    x = RNG.integers(-50, 50, 700).astype(dtype)
    out = np.full(700, 77, dtype)
    launch(band_kernel, (3,), x=x, out=out, n=700, low=low, high=high, B=256)
    at = np.arange(700)
    np.testing.assert_array_equal(out, np.where((at >= low) & (at < high), x * 2, 77))


def test_band_masks_at_the_end_of_the_integers():
    """The offsets wrap around within the tile: elements are taken one by one."""
    x, out = f32(256), f32(256)
    want = out.copy()
    launch(band_kernel, (1,), x=x, out=out, n=2**31 - 1, low=10, high=200, B=256)
    want[10:200] = x[10:200] * 2
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 31, 33, 255, 256, 257, 1000, 2048])
def test_long_scans(dtype, reverse, n):
    x = RNG.integers(-100, 100, (2, n)).astype(dtype)
    out = np.zeros_like(x) if dtype != np.int8 else np.zeros((2, n), np.int32)
    launch(cumsum_kernel, (2,), x=x, out=out, n=n, B=2048, REVERSE=reverse)
    want = np.flip(np.cumsum(np.flip(x, 1), 1, out.dtype), 1) if reverse else np.cumsum(x, 1, out.dtype)
    np.testing.assert_array_equal(out, want)


def test_long_float_scan_is_accurate():
    x = f32(1, 2048)
    out = np.zeros_like(x)
    launch(cumsum_kernel, (1,), x=x, out=out, n=2048, B=2048, REVERSE=False)
    np.testing.assert_allclose(out, np.cumsum(x.astype(np.float64), 1), atol=2e-5)


@pytest.mark.parametrize("shape", [(1, 1024), (4, 256), (512, 2), (2, 64), (16, 16)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_order_of_reductions_and_scans(shape, axis, reverse):
    """Integer functions composed: exact, and any change of the order shows."""
    a, b = (RNG.integers(-(2**31), 2**31, shape).astype(np.int32) for _ in range(2))
    rest = shape[1 - axis]
    outs = dict(scan_a=np.zeros_like(a), scan_b=np.zeros_like(b))
    sums = dict(all_a=np.zeros(rest, np.int32), all_b=np.zeros(rest, np.int32))
    launch(compose_kernel, (1,), a=a, b=b, **outs, **sums, AXIS=axis, REVERSE=reverse, M=shape[0], N=shape[1])

    def running(a, b):
        a, b = np.moveaxis(a, axis, 0).copy(), np.moveaxis(b, axis, 0).copy()
        for i in range(1, len(a)):
            b[i] = b[i - 1] * a[i] + b[i]
            a[i] = a[i - 1] * a[i]
        return a, b

    want_a, want_b = running(a, b)
    np.testing.assert_array_equal(sums["all_a"], want_a[-1])
    np.testing.assert_array_equal(sums["all_b"], want_b[-1])
    if reverse:
        want_a, want_b = (np.flip(x, 0) for x in running(np.flip(a, axis), np.flip(b, axis)))
    np.testing.assert_array_equal(outs["scan_a"], np.moveaxis(want_a, 0, axis))
    np.testing.assert_array_equal(outs["scan_b"], np.moveaxis(want_b, 0, axis))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("blocks", [(32, 32), (64, 8), (2, 64), (16, 1)])
@pytest.mark.parametrize("stored", [False, True])
def test_transpositions(dtype, blocks, stored):
    m, n = 75, 49
    x = RNG.integers(-100, 100, (m, n)).astype(dtype)
    out = np.zeros((n + 1, m), dtype)
    grid = (-(-m // blocks[0]), -(-n // blocks[1]))
    launch(transpose_kernel, grid, x=x, out=out, M=m, N=n, BM=blocks[0], BN=blocks[1], STORED=stored)
    np.testing.assert_array_equal(out[:n], x.T)
    assert not out[n:].any()


def test_transposition_in_place():
    """All loads of a program come before its stores."""
    x = f32(32, 32)
    want = x.T.copy()
    launch(transpose_kernel, (1, 1), x=x, out=x, M=32, N=32, BM=32, BN=32, STORED=True)
    np.testing.assert_array_equal(x, want)


def test_rows_by_index_may_overlap():
    """Rows gathered from the tensor that they are stored to, and from elsewhere."""
    index = np.array([3, 0, 0, 7, 2, 11, 1, 1, 12], np.int64)
    x, out = f32(16, 128), np.zeros((16, 128), np.float32)
    want = x[index]
    launch(rows_kernel, (1,), index=index, x=x, out=out, n=9, N=128, R=16)
    np.testing.assert_array_equal(out[:9], want)
    launch(rows_kernel, (1,), index=index, x=x, out=x, n=9, N=128, R=16)
    np.testing.assert_array_equal(x[:9], want)


@triton.jit
def stages_kernel(x, out, n, skip, B: tl.constexpr, EARLY: tl.constexpr):
    """Tiles that are in storage one after the other."""
    if EARLY:
        if skip > tl.program_id(0):
            return
    offs = tl.arange(0, B)
    v = tl.load(x + offs, mask=offs < n, other=0.0)
    for _ in tl.static_range(4):
        v = tl.cumsum(tl.exp(v - tl.max(v, axis=0)), axis=0)
        v = v / tl.sum(v, axis=0)
    tl.store(out + offs, v, mask=offs < n)


def test_scratch_is_reused_in_functions_with_branches():
    sizes = []
    for early in (False, True):
        x, out = f32(900), f32(900)
        program = launch(stages_kernel, (1,), x=x, out=out, n=900, skip=0, B=1024, EARLY=early)
        sizes.append(program.info.scratch_size)
        v = np.append(x, np.zeros(124, np.float32)).astype(np.float64)
        for _ in range(4):
            v = np.cumsum(np.exp(v - v.max()))
            v /= v.sum()
        np.testing.assert_allclose(out, v[:900], rtol=1e-4)
    assert sizes[1] == sizes[0] < 4 * 3 * 4096
