# SPDX-License-Identifier: Apache-2.0
"""Whole kernels against NumPy: those of the examples, reductions, scans, atomics, random numbers."""

from __future__ import annotations

from pathlib import Path

import formats
import numpy as np
import pytest
from triton_jit_ctypes import ptr

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kernels"


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 33), (64, 128), (100, 1000)])
def test_softmax(tj, rows, columns):
    x = np.random.default_rng(1).normal(size=(rows, columns)).astype(np.float32) * 10
    out = np.zeros_like(x)
    softmax = tj.function(EXAMPLES / "softmax.py", "softmax")
    softmax((rows,), out, x, columns, columns, 1 << (columns - 1).bit_length())
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_matmul(tj, dtype):
    m, n, k = 50, 70, 40
    random = np.random.default_rng(6)
    a, b = (formats.store(dtype, random.normal(size=shape)) for shape in ((m, k), (k, n)))
    out = np.zeros((m, n), np.float32)
    args = (ptr(a, dtype), ptr(b, dtype), out, m, n, k, 32, 32, 16)
    matmul = tj.function(EXAMPLES / "matmul.py", "matmul")
    matmul((2, 3), *args)
    exact = formats.numbers(dtype, a) @ formats.numbers(dtype, b)
    assert np.allclose(out, exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (40, 300)])
def test_layer_norm(tj, rows, columns):
    random = np.random.default_rng(7)
    x = random.normal(size=(rows, columns)).astype(np.float32) * 3 + 1
    weight, bias = (random.normal(size=columns).astype(np.float32) for _ in range(2))
    out = np.zeros_like(x)
    layer_norm = tj.function(EXAMPLES / "layer_norm.py", "layer_norm")
    layer_norm((rows,), x, weight, bias, out, columns, 1e-5, keywords={"BLOCK": 512})
    y = x.astype(np.float64)
    expected = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5) * weight + bias
    assert np.allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_reductions(kernel):
    x = np.random.default_rng(2).integers(-1000, 1000, (20, 77)).astype(np.int32)
    out = np.zeros((20, 6), np.int32)
    kernel("numerics.reduce_rows")((20,), x, out, 77, 128)
    columns = [x.sum(1), x.max(1), x.min(1), x.argmax(1), x.argmin(1), np.bitwise_xor.reduce(x, axis=1)]
    assert np.array_equal(out, np.stack(columns, axis=1))


def test_scans(kernel):
    x = np.random.default_rng(3).integers(-3, 4, 64).astype(np.int64)
    x[x == 0] = 1
    sums, products = np.zeros_like(x), np.zeros_like(x)
    kernel("numerics.scan")((1,), x, sums, products, 64)
    with np.errstate(over="ignore"):
        assert np.array_equal(sums, np.cumsum(x)) and np.array_equal(products, np.cumprod(x))


def test_atomics_from_many_programs(kernel):
    n = 10_000
    x = np.random.default_rng(4).integers(0, 17, n).astype(np.int32)
    counts, total = np.zeros(17, np.int32), np.zeros(1, np.int32)
    kernel("numerics.histogram_by_atomics")((-(-n // 64),), x, counts, total, n, 64)
    assert np.array_equal(counts, np.bincount(x, minlength=17))
    assert total[0] == -(-n // 64)


def philox(seed: int, offsets: np.ndarray) -> list[np.ndarray]:
    """Philox 4x32 with ten rounds, key and counter as tl.randint4x sets them."""
    low = np.uint64(0xFFFFFFFF)
    c = [offsets.astype(np.uint64), *(np.zeros(len(offsets), np.uint64) for _ in range(3))]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [word.astype(np.uint32) for word in c]


def uniform(words: np.ndarray) -> np.ndarray:
    signed = words.view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)


@pytest.mark.parametrize("seed", [0, 42, 2**40 + 7])
def test_random_numbers_are_philox(kernel, seed):
    n = 512
    ints, uniforms, normals = np.zeros(n, np.int32), np.zeros(n, np.float32), np.zeros(n, np.float32)
    numbers = kernel("numerics.random_numbers")
    numbers((2,), ints, uniforms, normals, seed, 256)
    words = philox(seed, np.arange(n))
    assert np.array_equal(ints, words[0].view(np.int32))
    assert np.array_equal(uniforms, uniform(words[0]))
    first = np.maximum(uniform(words[0]), np.float32(1e-7)).astype(np.float64)
    expected = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * uniform(words[1]).astype(np.float64))
    assert np.allclose(normals, expected, rtol=1e-4, atol=1e-5)
    again = np.zeros_like(uniforms)
    numbers((2,), ints, again, normals, seed, 256)
    assert np.array_equal(uniforms, again)
