# SPDX-License-Identifier: Apache-2.0
"""Shapes, reductions, scans, gathers, masks and memory access of tiles."""

import numpy as np
import pytest
from generate import module
from runner import As, bf16_bits, bf16_value, launch

RNG = np.random.default_rng(4)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def run(body, outs, inputs, signature="", options=None, grid=(1,), **constants):
    """Runs a kernel body over flat arrays; ``outs`` maps a name to an array to fill."""
    names = [*inputs, *outs]
    text = "@triton.jit\ndef kernel(" + ", ".join([*names, *(f"{k}: tl.constexpr" for k in constants)]) + "):\n"
    text += "\n".join("    " + line for line in body.strip("\n").splitlines()) + "\n"
    kernel = module(signature + "\n" + text).kernel
    return launch(kernel, grid, options=options, **inputs, **outs, **constants)


LOAD2 = """
i = tl.arange(0, M)[:, None]
j = tl.arange(0, N)[None, :]
a = tl.load(x + i * N + j)
"""


@pytest.mark.parametrize("shape", [(4, 8), (32, 16), (1, 64), (64, 1), (2, 2)])
def test_views(shape):
    m, n = shape
    x = f32(m, n)
    outs = {
        "o0": np.zeros((n, m), np.float32),
        "o1": np.zeros(m * n, np.float32),
        "o2": np.zeros((m, n, 2), np.float32),
        "o3": np.zeros((m, n), np.float32),
        "o4": np.zeros((n, m), np.float32),
        "o5": np.zeros(2 * m * n, np.float32),
    }
    run(
        LOAD2
        + """
tl.store(o0 + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(a))
f = tl.reshape(a * 2, (M * N,))
k = tl.arange(0, M * N)
tl.store(o1 + k, f)
b = tl.join(a, -a)
tl.store(o2 + (i * N + j)[:, :, None] * 2 + tl.arange(0, 2)[None, None, :], b)
p, q = tl.split(b + 1)
tl.store(o3 + i * N + j, p - 3 * q)
tl.store(o4 + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.reshape(f, (N, M)) + 1)
tl.store(o5 + tl.arange(0, 2 * M * N), tl.cat(f, f * 3, can_reorder=True))
""",
        outs,
        {"x": x},
        M=m,
        N=n,
    )
    np.testing.assert_array_equal(outs["o0"], x.T)
    np.testing.assert_array_equal(outs["o1"], x.ravel() * 2)
    np.testing.assert_array_equal(outs["o2"], np.stack([x, -x], -1))
    np.testing.assert_allclose(outs["o3"], (x + 1) - 3 * (-x + 1), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(outs["o4"], (x * 2).reshape(n, m) + 1)
    np.testing.assert_array_equal(outs["o5"], np.concatenate([x.ravel() * 2, x.ravel() * 2 * np.float32(3)]))


def test_permute_3d_and_interleave():
    x = f32(4, 8, 2)
    outs = {"o0": np.zeros((2, 4, 8), np.float32), "o1": np.zeros(128, np.float32)}
    run(
        """
i = tl.arange(0, 4)[:, None, None]
j = tl.arange(0, 8)[None, :, None]
k = tl.arange(0, 2)[None, None, :]
a = tl.load(x + i * 16 + j * 2 + k)
t = tl.permute(a, (2, 0, 1))
at = tl.arange(0, 2)[:, None, None] * 32 + tl.arange(0, 4)[None, :, None] * 8 + tl.arange(0, 8)[None, None, :]
tl.store(o0 + at, t)
flat = tl.reshape(t, (64,))
tl.store(o1 + tl.arange(0, 128), tl.interleave(flat, flat * 2))
""",
        outs,
        {"x": x},
    )
    t = x.transpose(2, 0, 1)
    np.testing.assert_array_equal(outs["o0"], t)
    np.testing.assert_array_equal(outs["o1"], np.stack([t.ravel(), t.ravel() * 2], -1).ravel())


@pytest.mark.parametrize("shape", [(8, 64), (64, 8), (16, 1), (1, 16), (4, 128)])
def test_reductions(shape):
    m, n = shape
    x = f32(m, n)
    x[m // 2, n // 2] = np.nan
    y = RNG.integers(-1000, 1000, (m, n)).astype(np.int32)
    z = np.where(np.isnan(x), 0, x)
    names = ["s0", "s1", "m0", "m1", "x1", "i0", "i1", "am0", "am1", "ai1", "p1", "all"]
    f = {"s0": n, "s1": m, "m0": n, "m1": m, "x1": m, "p1": m, "all": 1}
    outs = {k: np.zeros(f[k], np.float32) if k in f else np.zeros(n if k.endswith("0") else m, np.int32) for k in names}
    run(
        LOAD2
        + """
b = tl.load(y + i * N + j)
c = tl.where(a != a, 0.0, a)
r = tl.arange(0, M)
q = tl.arange(0, N)
tl.store(s0 + q, tl.sum(c, 0))
tl.store(s1 + r, tl.sum(c, 1))
tl.store(m0 + q, tl.max(a, 0))
tl.store(m1 + r, tl.max(a, 1))
tl.store(x1 + r, tl.min(c, 1))
tl.store(i0 + q, tl.sum(b, 0))
tl.store(i1 + r, tl.xor_sum(b, 1))
tl.store(am0 + q, tl.argmax(b, 0))
tl.store(am1 + r, tl.argmin(c, 1))
v, w = tl.max(b, 1, return_indices=True)
tl.store(ai1 + r, v * 1000 + w)
tl.store(p1 + r, tl.reduce(c * 0.01 + 1, 1, mul))
tl.store(all, tl.sum(c))
""",
        outs,
        {"x": x, "y": y},
        "@triton.jit\ndef mul(a, b):\n    return a * b\n",
        M=m,
        N=n,
    )
    np.testing.assert_allclose(outs["s0"], z.sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(outs["s1"], z.sum(1), rtol=1e-5, atol=1e-5)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(outs["m0"], np.fmax.reduce(x, 0))
        np.testing.assert_array_equal(outs["m1"], np.fmax.reduce(x, 1))
    np.testing.assert_array_equal(outs["x1"], z.min(1))
    np.testing.assert_array_equal(outs["i0"], y.sum(0))
    np.testing.assert_array_equal(outs["i1"], np.bitwise_xor.reduce(y, 1))
    np.testing.assert_array_equal(outs["am0"], y.argmax(0))
    np.testing.assert_array_equal(outs["am1"], z.argmin(1))
    np.testing.assert_array_equal(outs["ai1"], y.max(1) * 1000 + y.argmax(1))
    np.testing.assert_allclose(outs["p1"], np.prod(z * np.float32(0.01) + 1, 1), rtol=1e-5)
    np.testing.assert_allclose(outs["all"][0], z.sum(), rtol=1e-5, atol=1e-4)


WELFORD = """
@triton.jit
def combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    ratio = tl.where(n == 0.0, 0.0, n_b / n)
    return mean_a + delta * ratio, m2_a + m2_b + delta * delta * n_a * ratio, n


@triton.jit
def first(a, b):
    return a


@triton.jit
def affine(a0, b0, a1, b1):
    return a1 * a0, a1 * b0 + b1
"""


@pytest.mark.parametrize("n", [1, 2, 64, 1024])
def test_reduce_in_order(n):
    """Combine functions that are not commutative see the elements in order."""
    x = f32(n)
    outs = {"o": np.zeros(3, np.float32), "p": np.zeros(2, np.float32)}
    run(
        """
a = tl.load(x + tl.arange(0, N))
mean, m2, count = tl.reduce((a, tl.zeros_like(a), tl.full((N,), 1.0, tl.float32)), 0, combine)
tl.store(o, mean)
tl.store(o + 1, m2)
tl.store(o + 2, count)
tl.store(p, tl.reduce(a, 0, first))
s, t = tl.reduce((tl.full((N,), 0.5, tl.float32), a), 0, affine)
tl.store(p + 1, t)
""",
        outs,
        {"x": x},
        WELFORD,
        N=n,
    )
    np.testing.assert_allclose(outs["o"], [x.mean(), ((x - x.mean()) ** 2).sum(), n], rtol=1e-4, atol=1e-5)
    want = np.float32(0)
    for k, v in enumerate(x):
        want = v if k == 0 else np.float32(0.5) * want + v
    np.testing.assert_allclose(outs["p"], [x[0], want], rtol=1e-5, atol=1e-6)


def test_reduce_narrow_types():
    x = f32(4, 64).astype(np.float16)
    b = bf16_bits(f32(4, 64))
    flags = RNG.integers(0, 2, (4, 64)).astype(bool)
    outs = {
        "o": np.zeros(4, np.float16),
        "q": np.zeros(4, np.uint16),
        "c": np.zeros(4, np.int32),
        "d": np.zeros(64, np.float16),
    }
    run(
        """
i = tl.arange(0, 4)[:, None] * 64 + tl.arange(0, 64)[None, :]
tl.store(o + tl.arange(0, 4), tl.max(tl.load(x + i), 1))
tl.store(q + tl.arange(0, 4), tl.min(tl.load(b + i), 1))
tl.store(c + tl.arange(0, 4), tl.sum(tl.load(f + i).to(tl.int32), 1))
tl.store(d + tl.arange(0, 64), tl.max(tl.load(x + i), 0))
""",
        outs | {"q": As("*bf16", outs["q"])},
        {"x": x, "b": As("*bf16", b), "f": flags},
    )
    np.testing.assert_array_equal(outs["o"], x.max(1))
    np.testing.assert_array_equal(bf16_value(outs["q"]), bf16_value(b).min(1))
    np.testing.assert_array_equal(outs["c"], flags.sum(1))
    np.testing.assert_array_equal(outs["d"], x.max(0))


@pytest.mark.parametrize("shape", [(4, 32), (32, 4), (1, 16), (16, 1)])
def test_scans(shape):
    m, n = shape
    y = RNG.integers(-50, 50, (m, n)).astype(np.int32)
    outs = {k: np.zeros((m, n), np.int32) for k in ("a0", "a1", "b0", "b1", "c1")} | {"d": np.zeros((m, n), np.float32)}
    run(
        """
k = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
a = tl.load(y + k)
tl.store(a0 + k, tl.cumsum(a, 0))
tl.store(a1 + k, tl.cumsum(a, 1))
tl.store(b0 + k, tl.cumsum(a, 0, reverse=True))
tl.store(b1 + k, tl.cumsum(a, 1, reverse=True))
tl.store(c1 + k, tl.associative_scan(a, 1, largest))
s, t = tl.associative_scan((tl.full((M, N), 0.5, tl.float32), a.to(tl.float32)), 1, affine)
tl.store(d + k, t)
""",
        outs,
        {"y": y},
        WELFORD + "\n@triton.jit\ndef largest(a, b):\n    return tl.maximum(a, b)\n",
        M=m,
        N=n,
    )
    np.testing.assert_array_equal(outs["a0"], np.cumsum(y, 0))
    np.testing.assert_array_equal(outs["a1"], np.cumsum(y, 1))
    np.testing.assert_array_equal(outs["b0"], np.cumsum(y[::-1], 0)[::-1])
    np.testing.assert_array_equal(outs["b1"], np.cumsum(y[:, ::-1], 1)[:, ::-1])
    np.testing.assert_array_equal(outs["c1"], np.maximum.accumulate(y, 1))
    want = y.astype(np.float32).copy()
    for k in range(1, n):
        want[:, k] += np.float32(0.5) * want[:, k - 1]
    np.testing.assert_allclose(outs["d"], want, rtol=1e-5)


def test_sort_flip_topk():
    y = RNG.integers(-500, 500, 64).astype(np.int32)
    outs = {"s": np.zeros(64, np.int32), "d": np.zeros(64, np.int32), "f": np.zeros(64, np.int32)}
    run(
        """
k = tl.arange(0, 64)
a = tl.load(y + k)
tl.store(s + k, tl.sort(a))
tl.store(d + k, tl.sort(a, descending=True))
tl.store(f + k, tl.flip(a, 0))
""",
        outs,
        {"y": y},
    )
    np.testing.assert_array_equal(outs["s"], np.sort(y))
    np.testing.assert_array_equal(outs["d"], np.sort(y)[::-1])
    np.testing.assert_array_equal(outs["f"], y[::-1])


def test_gather_and_histogram():
    x = f32(16, 32)
    index = RNG.integers(0, 16, (8, 32)).astype(np.int32)
    data = RNG.integers(0, 20, 256).astype(np.int32)
    outs = {"o": np.zeros((8, 32), np.float32), "h": np.zeros(16, np.int32), "g": np.zeros(32, np.int32)}
    run(
        """
c = tl.arange(0, 32)[None, :]
a = tl.load(x + tl.arange(0, 16)[:, None] * 32 + c)
at = tl.load(index + tl.arange(0, 8)[:, None] * 32 + c)
tl.store(o + tl.arange(0, 8)[:, None] * 32 + c, tl.gather(a * 2, at, 0))
d = tl.load(data + tl.arange(0, 256))
tl.store(h + tl.arange(0, 16), tl.histogram(d % 16, 16))
tl.store(g + tl.arange(0, 32), tl.histogram(d, 32, mask=d < 10))
""",
        outs,
        {"x": x, "index": index, "data": data},
    )
    np.testing.assert_array_equal(outs["o"], np.take_along_axis(x * 2, index, 0))
    np.testing.assert_array_equal(outs["h"], np.bincount(data % 16, minlength=16))
    np.testing.assert_array_equal(outs["g"], np.bincount(data[data < 10], minlength=32))


def test_map_elementwise():
    x, y = f32(64), f32(64)
    outs = {"o": np.zeros(64, np.float32), "p": np.zeros(64, np.float32)}
    run(
        """
k = tl.arange(0, 64)
a, b = tl.map_elementwise(order, tl.load(x + k), tl.load(y + k))
tl.store(o + k, a)
tl.store(p + k, b)
""",
        outs,
        {"x": x, "y": y},
        "@triton.jit\ndef order(a, b):\n    if a < b:\n        return a, b\n    else:\n        return b, a\n",
    )
    np.testing.assert_array_equal(outs["o"], np.minimum(x, y))
    np.testing.assert_array_equal(outs["p"], np.maximum(x, y))


@pytest.mark.parametrize("rows,cols", [(1, 1), (5, 33), (16, 64), (15, 63)])
def test_masked_2d(rows, cols):
    """Loads outside the mask do not happen: the arrays end right behind the data."""
    x = f32(rows, cols)
    outs = {
        "o": np.full((rows, cols), 7, np.float32),
        "t": np.full((cols, rows), 7, np.float32),
        "s": np.zeros(16, np.float32),
    }
    text = """
@triton.jit
def kernel(x, o, t, s, rows, cols):
    i = tl.arange(0, 16)
    j = tl.arange(0, 64)
    mask = (i[:, None] < rows) & (cols > j[None, :])
    a = tl.load(x + i[:, None] * cols + j[None, :], mask=mask, other=-2.0)
    tl.store(o + i[:, None] * cols + j[None, :], a + 1, mask=mask)
    tl.store(t + j[:, None] * rows + i[None, :], tl.trans(a), mask=(j[:, None] <= cols - 1) & (i[None, :] < rows))
    tl.store(s + i, tl.sum(a, 1))
"""
    launch(module(text).kernel, (1,), x=x, **outs, rows=rows, cols=cols)
    np.testing.assert_array_equal(outs["o"], x + 1)
    np.testing.assert_array_equal(outs["t"], x.T)
    padded = np.full((16, 64), -2, np.float32)
    padded[:rows, :cols] = x
    np.testing.assert_allclose(outs["s"], padded.sum(1), rtol=1e-5, atol=1e-5)


def test_masks_that_are_not_prefixes():
    x = f32(128)
    outs = {"o": np.full(128, 9, np.float32), "p": np.full(128, 9, np.float32), "q": np.full(128, 9, np.float32)}
    keep = RNG.integers(0, 2, 128).astype(bool)
    run(
        """
k = tl.arange(0, 128)
m = tl.load(keep + k)
tl.store(o + k, tl.load(x + k, mask=m, other=1.0), mask=k % 3 != 1)
tl.store(p + k, tl.load(x + k, mask=k >= 40, other=2.0), mask=(k > 9) & (k < 100))
tl.store(q + 127 - k, tl.load(x + k, mask=(k < 100) | m, other=3.0))
""",
        outs,
        {"x": x, "keep": keep},
    )
    k = np.arange(128)
    np.testing.assert_array_equal(outs["o"], np.where(k % 3 != 1, np.where(keep, x, 1), 9))
    np.testing.assert_array_equal(outs["p"], np.where((k > 9) & (k < 100), np.where(k >= 40, x, 2), 9))
    np.testing.assert_array_equal(outs["q"], np.where((k < 100) | keep, x, 3)[::-1])


def test_order_of_loads_and_stores():
    """A load stays in front of a store that follows it, and behind one that precedes it."""
    x = f32(64)
    want = x.copy()
    outs = {"o": np.zeros(64, np.float32)}
    run(
        """
k = tl.arange(0, 64)
before = tl.load(x + k)
tl.store(x + k, before * 2)
after = tl.load(x + 63 - k)
tl.store(x + k, before + 100)
tl.store(o + k, after - before)
""",
        outs,
        {"x": x},
    )
    np.testing.assert_array_equal(x, want + 100)
    np.testing.assert_array_equal(outs["o"], want[::-1] * 2 - want)


def test_permuting_in_place():
    """Loads and stores of one tile overlap in another order: all loads come first."""
    x = f32(64)
    want = x[::-1].copy()
    run(
        """
k = tl.arange(0, 64)
tl.store(x + k, tl.load(x + 63 - k))
""",
        {},
        {"x": x},
    )
    np.testing.assert_array_equal(x, want)
    y = f32(16, 16)
    want = y.T.copy()
    run(
        """
i = tl.arange(0, 16)[:, None]
j = tl.arange(0, 16)[None, :]
tl.store(y + i * 16 + j, tl.load(y + j * 16 + i))
""",
        {},
        {"y": y},
    )
    np.testing.assert_array_equal(y, want)
    same = np.arange(1, 2, dtype=np.float32)
    run(
        """
k = tl.arange(0, 64) * 0
tl.store(s + k, tl.load(s + k) + 1)
""",
        {},
        {"s": same},
    )
    assert same[0] == 2


def test_pointers_as_integers_and_pointer_tables():
    parts = [f32(32) for _ in range(4)]
    table = np.array([p.ctypes.data for p in parts], np.int64)
    outs = {"o": np.zeros((4, 32), np.float32), "d": np.zeros(1, np.int64)}
    run(
        """
i = tl.arange(0, 4)
base = tl.load(table + i).to(tl.pointer_type(tl.float32))
j = tl.arange(0, 32)
tl.store(o + i[:, None] * 32 + j[None, :], tl.load(base[:, None] + j[None, :]))
one = tl.load(table + 2).to(tl.pointer_type(tl.float32))
tl.store(d, one.to(tl.int64) + tl.load(one + 3).to(tl.int64) * 0)
""",
        outs,
        {"table": table},
    )
    np.testing.assert_array_equal(outs["o"], np.stack(parts))
    assert outs["d"][0] == table[2]


def test_tensor_descriptor():
    x = f32(40, 50)
    outs = {"o": np.zeros((40, 50), np.float32)}
    text = """
@triton.jit
def kernel(x, o, m, n):
    a = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[16, 32])
    b = tl.make_tensor_descriptor(o, shape=[m, n], strides=[n, 1], block_shape=[16, 32])
    r = tl.program_id(0) * 16
    c = tl.program_id(1) * 32
    b.store([r, c], a.load([r, c]) * 2)
"""
    launch(module(text).kernel, (3, 2), x=x, **outs, m=40, n=50)
    np.testing.assert_array_equal(outs["o"], x * 2)


def test_constant_tables_and_empty_kernel():
    launch(module("@triton.jit\ndef kernel():\n    pass\n").kernel, (2, 3, 4))
