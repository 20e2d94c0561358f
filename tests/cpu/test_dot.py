# SPDX-License-Identifier: Apache-2.0
"""Products of tiles: all input types, shapes down to 1, batches, transposed operands, scales."""

import numpy as np
import pytest
import triton.language as tl
from generate import module
from runner import As, bf16_bits, bf16_value, launch
from test_narrow import FP8, table

RNG = np.random.default_rng(7)

TEXT = """
@triton.jit
def kernel(a, b, c, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr,
           TA: tl.constexpr, TB: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    k = tl.arange(0, K)
    if TA:
        x = tl.trans(tl.load(a + k[:, None] * M + i[None, :]))
    else:
        x = tl.load(a + i[:, None] * K + k[None, :])
    if TB:
        y = tl.trans(tl.load(b + j[:, None] * K + k[None, :]))
    else:
        y = tl.load(b + k[:, None] * N + j[None, :])
    at = i[:, None] * N + j[None, :]
    z = tl.load(c + at)
    tl.store(o + at, tl.dot(x, y, z, out_dtype=ACC))
    tl.store(o + M * N + at, tl.dot(x, y, out_dtype=ACC).to(ACC))


@triton.jit
def batched(a, b, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    n = tl.arange(0, B)[:, None, None]
    x = tl.load(a + n * M * K + tl.arange(0, M)[None, :, None] * K + tl.arange(0, K)[None, None, :])
    y = tl.load(b + n * K * N + tl.arange(0, K)[None, :, None] * N + tl.arange(0, N)[None, None, :])
    at = n * M * N + tl.arange(0, M)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    tl.store(o + at, tl.dot(x, y))


@triton.jit
def chained(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    y = tl.dot(x, x)
    z = tl.dot(y, x, y)             # the sum is also an operand
    w = tl.dot(tl.trans(z), x, tl.trans(z))
    tl.store(o + at, w)
    acc = x
    for _ in range(3):
        acc = tl.dot(acc * 0.5, x, tl.trans(acc))
    tl.store(o + N * N + at, acc)


@triton.jit
def scaled(a, sa, b, sb, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr,
           PA: tl.constexpr, PB: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    x = tl.load(a + i[:, None] * (K // PA) + tl.arange(0, K // PA)[None, :])
    y = tl.load(b + tl.arange(0, K // PB)[:, None] * N + j[None, :])
    s = tl.arange(0, K // 32)[None, :]
    p = tl.load(sa + i[:, None] * (K // 32) + s)
    q = tl.load(sb + j[:, None] * (K // 32) + s)
    tl.store(o + i[:, None] * N + j[None, :], tl.dot_scaled(x, p, FA, y, q, FB))
"""


@pytest.fixture(scope="module")
def kernels():
    return module(TEXT)


def operand(kind, shape):
    """An argument and its values."""
    if kind == "f16":
        v = RNG.standard_normal(shape).astype(np.float16)
        return v, v.astype(np.float64)
    if kind == "f32":
        v = RNG.standard_normal(shape).astype(np.float32)
        return v, v.astype(np.float64)
    if kind == "f64":
        v = RNG.standard_normal(shape)
        return v, v
    if kind == "bf16":
        v = bf16_bits(RNG.standard_normal(shape).astype(np.float32))
        return As("*bf16", v), bf16_value(v).astype(np.float64)
    if kind == "int8":
        v = RNG.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, endpoint=True).astype(kind)
        return v, v.astype(np.float64)
    values = table(kind)
    codes = np.flatnonzero(np.isfinite(values) & (np.abs(values) < 64))
    v = RNG.choice(codes, shape).astype(np.uint8)
    return As(FP8[kind][0], v), values[v]


CASES = [
    ("f32", (16, 16, 16)),
    ("f32", (64, 32, 128)),
    ("f32", (1, 1, 1)),
    ("f32", (2, 4, 8)),
    ("f32", (32, 1, 16)),
    ("f32", (1, 64, 32)),
    ("f64", (16, 8, 32)),
    ("f16", (16, 32, 16)),
    ("bf16", (32, 16, 16)),
    ("int8", (16, 16, 64)),
    ("int8", (8, 4, 32)),
    ("float8e5", (16, 16, 32)),
    ("float8e4nv", (16, 16, 32)),
    ("float8e4b8", (16, 16, 32)),
    ("float8e5b16", (16, 16, 32)),
]


@pytest.mark.parametrize("kind,shape", CASES)
def test_types_and_shapes(kernels, kind, shape):
    m, n, k = shape
    turned = [(False, False), (True, True)] if kind in ("f32", "f16") and m > 1 else [(False, True)]
    acc, number = (
        (tl.int32, np.int32)
        if "int" in kind
        else (tl.float64, np.float64)
        if kind == "f64"
        else (tl.float32, np.float32)
    )
    for ta, tb in turned:
        a, va = operand(kind, (k, m) if ta else (m, k))
        b, vb = operand(kind, (n, k) if tb else (k, n))
        c = (RNG.standard_normal((m, n)) * 10).astype(number)
        o = np.zeros((2, m, n), number)
        launch(kernels.kernel, (1,), a=a, b=b, c=c, o=o, M=m, N=n, K=k, ACC=acc, TA=ta, TB=tb)
        want = (va.T if ta else va) @ (vb.T if tb else vb)
        scale = np.abs(va).max() * np.abs(vb).max() * k + np.abs(c).max()
        tolerance = 0 if "int" in kind else scale * (1e-15 if kind == "f64" else 3e-7)
        np.testing.assert_allclose(o[0], want + c, rtol=0, atol=tolerance)
        np.testing.assert_allclose(o[1], want, rtol=0, atol=tolerance)


def test_f16_sum(kernels):
    a, va = operand("f16", (16, 32))
    b, vb = operand("f16", (32, 16))
    c = RNG.standard_normal((16, 16)).astype(np.float16)
    o = np.zeros((2, 16, 16), np.float16)
    launch(kernels.kernel, (1,), a=a, b=b, c=c, o=o, M=16, N=16, K=32, ACC=tl.float16, TA=False, TB=False)
    np.testing.assert_allclose(o[0], va @ vb + c, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(o[1], va @ vb, rtol=2e-3, atol=2e-3)


def test_batched(kernels):
    a = RNG.standard_normal((4, 16, 32)).astype(np.float32)
    b = RNG.standard_normal((4, 32, 16)).astype(np.float32)
    o = np.zeros((4, 16, 16), np.float32)
    launch(kernels.batched, (1,), a=a, b=b, o=o, B=4, M=16, N=16, K=32)
    np.testing.assert_allclose(o, a @ b, rtol=1e-4, atol=1e-4)


def test_sum_as_operand(kernels):
    a = RNG.standard_normal((16, 16)).astype(np.float32) * 0.3
    o = np.zeros((2, 16, 16), np.float32)
    launch(kernels.chained, (1,), a=a, o=o, N=16)
    x = a.astype(np.float64)
    y = x @ x
    z = y @ x + y
    np.testing.assert_allclose(o[0], z.T @ x + z.T, rtol=1e-4, atol=1e-5)
    acc = x
    for _ in range(3):
        acc = (acc * 0.5) @ x + acc.T
    np.testing.assert_allclose(o[1], acc, rtol=1e-4, atol=1e-5)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@pytest.mark.parametrize("fa,fb", [("e4m3", "e5m2"), ("e2m1", "e4m3"), ("e5m2", "e2m1"), ("bf16", "e2m1")])
def test_scaled(kernels, fa, fb):
    m, n, k = 32, 16, 64

    def made(kind, shape, axis):
        if kind == "e2m1":
            codes = RNG.integers(0, 16, shape).astype(np.uint8)
            low, high = (codes[:, 0::2], codes[:, 1::2]) if axis == 1 else (codes[0::2], codes[1::2])
            return (low | high << 4).astype(np.uint8), E2M1[codes], 2
        if kind == "bf16":
            v = bf16_bits(RNG.standard_normal(shape).astype(np.float32))
            return As("*bf16", v), bf16_value(v).astype(np.float64), 1
        arg, v = operand({"e4m3": "float8e4nv", "e5m2": "float8e5"}[kind], shape)
        return arg, v, 1

    a, va, pa = made(fa, (m, k), 1)
    b, vb, pb = made(fb, (k, n), 0)
    sa = RNG.integers(120, 134, (m, k // 32)).astype(np.uint8)
    sb = RNG.integers(120, 134, (n, k // 32)).astype(np.uint8)
    o = np.zeros((m, n), np.float32)
    launch(kernels.scaled, (1,), a=a, sa=sa, b=b, sb=sb, o=o, M=m, N=n, K=k, FA=fa, FB=fb, PA=pa, PB=pb)
    wa = va * np.repeat(2.0 ** (sa.astype(float) - 127), 32, 1)
    wb = vb * np.repeat(2.0 ** (sb.astype(float) - 127), 32, 1).T
    np.testing.assert_allclose(o, wa @ wb, rtol=1e-5, atol=np.abs(wa).max() * np.abs(wb).max() * k * 3e-7)
