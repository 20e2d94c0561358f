# SPDX-License-Identifier: Apache-2.0
"""Whole kernels against NumPy."""

import numpy as np
import pytest
from kernels import (
    add_kernel,
    attention_kernel,
    dropout_kernel,
    layer_norm_kernel,
    matmul_kernel,
    random_kernel,
    softmax_kernel,
)
from runner import As, bf16_bits, bf16_value, launch

RNG = np.random.default_rng(20)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 255, 256, 1000])
def test_add(n):
    x, y, out = f32(n), f32(n), np.zeros(n + 3, np.float32)
    launch(add_kernel, (4,), x=x, y=y, out=out, n=n, BLOCK=256)
    np.testing.assert_array_equal(out[:n], x + y)
    assert not out[n:].any()


def test_add_in_place_and_overlapping():
    """The output may be the input, or overlap it: all loads of a program come first."""
    x, y = f32(256), f32(256)
    want = x + y
    launch(add_kernel, (1,), x=x, y=y, out=x, n=256, BLOCK=256)
    np.testing.assert_array_equal(x, want)
    for shift in (1, 7, -1, -9):
        base, y = f32(300), f32(256)
        source, target = base[16:272], base[16 + shift : 272 + shift]
        want = source + y
        launch(add_kernel, (1,), x=source, y=y, out=target, n=256, BLOCK=256)
        np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 781, 1024])
def test_softmax(n):
    x = f32(3, n) * 5
    y = np.zeros_like(x)
    launch(softmax_kernel, (3,), x=x, y=y, n=n, stride=n, BLOCK=1024)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-6, atol=1e-9)


def matmul(a, b, c, shape, blocks, transposed_b=False, acc=None, types=None):
    from triton import language as tl

    M, N, K = shape
    strides = dict(stride_bk=1, stride_bn=K) if transposed_b else dict(stride_bk=N, stride_bn=1)
    args = {"a": a, "b": b, "c": c}
    for name, kind in (types or {}).items():
        args[name] = As(kind, args[name])
    grid = (-(-M // blocks[0]), -(-N // blocks[1]))
    launch(
        matmul_kernel,
        grid,
        **args,
        M=M,
        N=N,
        K=K,
        stride_am=K,
        stride_ak=1,
        **strides,
        stride_cm=N,
        BM=blocks[0],
        BN=blocks[1],
        BK=blocks[2],
        ACC=acc or tl.float32,
    )


@pytest.mark.parametrize(
    "shape,blocks", [((100, 90, 70), (64, 64, 32)), ((5, 3, 7), (16, 16, 16)), ((33, 65, 40), (16, 32, 8))]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_f32(shape, blocks, transposed):
    M, N, K = shape
    a, b = f32(M, K), f32(K, N)
    c = np.zeros((M, N), np.float32)
    matmul(a, np.ascontiguousarray(b.T) if transposed else b, c, shape, blocks, transposed)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)


def test_matmul_f16():
    a, b = f32(40, 50).astype(np.float16), f32(50, 30).astype(np.float16)
    c = np.zeros((40, 30), np.float32)
    matmul(a, b, c, (40, 30, 50), (32, 32, 16))
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)


def test_matmul_bf16():
    a, b = bf16_bits(f32(40, 50)), bf16_bits(f32(50, 30))
    c = np.zeros((40, 30), np.uint16)
    matmul(a, b, c, (40, 30, 50), (32, 32, 16), types={"a": "*bf16", "b": "*bf16", "c": "*bf16"})
    want = bf16_value(a).astype(np.float64) @ bf16_value(b)
    np.testing.assert_allclose(bf16_value(c), want, rtol=2**-8, atol=1e-3)


def test_matmul_int8():
    from triton import language as tl

    a = RNG.integers(-128, 128, (40, 50)).astype(np.int8)
    b = RNG.integers(-128, 128, (50, 30)).astype(np.int8)
    c = np.zeros((40, 30), np.int32)
    matmul(a, b, c, (40, 30, 50), (32, 32, 16), acc=tl.int32)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_matmul_f64():
    from triton import language as tl

    a, b = RNG.standard_normal((20, 30)), RNG.standard_normal((30, 17))
    c = np.zeros((20, 17))
    matmul(a, b, c, (20, 17, 30), (16, 16, 16), acc=tl.float64)
    np.testing.assert_allclose(c, a @ b, rtol=1e-12)


@pytest.mark.parametrize("n", [100, 128, 300])
def test_layer_norm(n):
    x, w, b = f32(3, n), f32(n), f32(n)
    y, mean, rstd = np.zeros_like(x), np.zeros(3, np.float32), np.zeros(3, np.float32)
    launch(
        layer_norm_kernel, (3,), x=x, y=y, w=w, b=b, mean_out=mean, rstd_out=rstd, stride=n, n=n, eps=1e-5, BLOCK=128
    )
    centred = x - x.mean(1, keepdims=True)
    want = centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, x.mean(1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_attention(causal, dtype):
    n, d = 150, 32
    q, k, v = (f32(n, d).astype(dtype) for _ in range(3))
    out = np.zeros((n, d), dtype)
    scale = 1.44269504 / np.sqrt(d)
    launch(attention_kernel, (3,), q=q, k=k, v=v, out=out, n=n, scale=float(scale), D=d, BM=64, BN=32, CAUSAL=causal)
    score = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(d)
    if causal:
        score = np.where(np.tril(np.ones((n, n), bool)), score, -np.inf)
    p = np.exp(score - score.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    tolerance = 2e-5 if dtype == np.float32 else 3e-3
    np.testing.assert_allclose(out, want, rtol=tolerance, atol=tolerance)


def philox(seed, offsets, rounds=10):
    """Philox 4x32 as published."""
    mask = 0xFFFFFFFF
    c = [offsets.astype(np.uint64), *(np.zeros_like(offsets, np.uint64) for _ in range(3))]
    k0, k1 = seed & mask, (seed >> 32) & mask
    for _ in range(rounds):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        high_a, high_b = a >> np.uint64(32), b >> np.uint64(32)
        c = [high_b ^ c[1] ^ np.uint64(k0), b & np.uint64(mask), high_a ^ c[3] ^ np.uint64(k1), a & np.uint64(mask)]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return [x.astype(np.uint32) for x in c]


def test_philox_and_dropout():
    out = np.zeros((4, 256), np.uint32)
    seed = 12345 + (7 << 32)
    launch(random_kernel, (1,), out=As("*u32", out), seed=As("i64", seed), BLOCK=256)
    np.testing.assert_array_equal(out, np.stack(philox(seed, np.arange(256))))
    x, y = f32(1000), np.zeros(1000, np.float32)
    launch(dropout_kernel, (4,), x=x, out=y, n=1000, p=0.25, seed=99, BLOCK=256)
    bits = philox(99, np.arange(1000))[0].view(np.int32)
    uniform = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
    np.testing.assert_allclose(y, np.where(uniform > 0.25, x / np.float32(0.75), 0), rtol=1e-6)
    assert 0.7 < (y != 0).mean() < 0.8
