# SPDX-License-Identifier: Apache-2.0
"""kernels/layers.py against NumPy."""

from __future__ import annotations

import formats
import numpy as np
import pytest
from test_numerics import philox, uniform
from triton_jit_ctypes import ptr


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_int4_matmul(kernel, dtype):
    rows, columns, depth, group = 20, 50, 96, 32
    random = np.random.default_rng(1)
    x = formats.store(dtype, random.normal(size=(rows, depth)))
    w = random.integers(0, 16, (depth, columns))
    packed = (w[0::2] | w[1::2] << 4).astype(np.uint8)
    scales = random.uniform(0.5, 2, (depth // group, columns)).astype(np.float32)
    zeros = random.integers(0, 16, (depth // group, columns)).astype(np.uint8)
    out = np.zeros((rows, columns), np.float32)
    args = (ptr(x, dtype), packed, scales, zeros, out, rows, columns, depth, group, 16, 32)
    kernel("layers.int4_matmul")((2, 2), *args)
    weights = (w - np.repeat(zeros.astype(int), group, 0)) * np.repeat(scales, group, 0).astype(np.float64)
    if dtype == "fp16":
        weights = weights.astype(np.float32).astype(np.float16).astype(np.float64)
    assert np.allclose(out, formats.numbers(dtype, x) @ weights, rtol=1e-5, atol=2e-3)


@pytest.mark.parametrize("kinds", [("fp8e4nv", "fp8e4nv"), ("fp8e5", "fp8e4nv"), ("fp8e5", "fp8e5")])
@pytest.mark.parametrize("to", ["fp32", "bf16"])
def test_fp8_matmul(kernel, kinds, to):
    rows, columns, depth = 33, 40, 70
    random = np.random.default_rng(2)
    a, b = (
        formats.store(kind, random.normal(size=shape)) for kind, shape in zip(kinds, ((rows, depth), (depth, columns)))
    )
    a_scale, b_scale = (random.uniform(0.1, 3, n).astype(np.float32) for n in (rows, columns))
    out = np.zeros((rows, columns), formats.memory_type(to))
    args = (ptr(a, kinds[0]), ptr(b, kinds[1]), a_scale, b_scale, ptr(out, to), rows, columns, depth, 32, 32, 32)
    kernel("layers.fp8_matmul")((2, 2), *args)
    exact = formats.numbers(kinds[0], a) @ formats.numbers(kinds[1], b)
    exact *= a_scale[:, None].astype(np.float64) * b_scale
    assert np.allclose(formats.numbers(to, out), exact, rtol=1e-5 if to == "fp32" else 1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("columns", [1, 100, 700])
def test_rms_norm(kernel, dtype, columns):
    random = np.random.default_rng(columns)
    x = formats.store(dtype, random.normal(size=(9, columns)) * 3)
    weight = formats.store(dtype, random.normal(size=columns))
    out = np.zeros_like(x)
    kernel("layers.rms_norm")((9,), ptr(x, dtype), ptr(weight, dtype), ptr(out, dtype), columns, 1e-6, 256)
    y = formats.numbers(dtype, x)
    expected = y / np.sqrt((y * y).mean(1, keepdims=True) + 1e-6) * formats.numbers(dtype, weight)
    tolerance = {"fp32": 1e-5, "fp16": 2e-3, "bf16": 1e-2}[dtype]
    assert np.allclose(formats.numbers(dtype, out), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("classes", [7, 256, 1000])
def test_cross_entropy(kernel, classes):
    rows = 12
    random = np.random.default_rng(classes)
    logits = random.normal(size=(rows, classes)).astype(np.float32) * 20
    targets = random.integers(0, classes, rows)
    targets[3] = -100
    loss, grad = np.full(rows, 9, np.float32), np.full_like(logits, 9)
    kernel("layers.cross_entropy")((rows,), logits, targets, loss, grad, classes, -100, 256)
    x = logits.astype(np.float64)
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    ignored = targets == -100
    at = np.where(ignored, 0, targets)
    expected = np.where(ignored, 0, -np.log(p[np.arange(rows), at]))
    slope = np.where(ignored[:, None], 0, p - np.eye(classes)[at])
    assert np.allclose(loss, expected, rtol=1e-5, atol=1e-4) and np.allclose(grad, slope, atol=1e-5)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.9])
def test_dropout(kernel, p):
    n, seed = 5000, 2**33 + 5
    x = np.random.default_rng(5).normal(size=n).astype(np.float32)
    out, again = np.zeros_like(x), np.zeros_like(x)
    for to in (out, again):
        kernel("layers.dropout")((5,), x, to, n, p, seed, 256)
    # Blocks of 256 counters, four numbers each in the order r0 r1 r2 r3.
    words = philox(seed, np.arange(5 * 256))
    r = np.stack([uniform(word) for word in words], -1).reshape(-1)[:n]
    kept = r >= np.float32(p)
    assert abs(kept.mean() - (1 - p)) < 0.02
    assert np.array_equal(out, np.where(kept, x / (np.float32(1) - np.float32(p)), 0))
    assert np.array_equal(out, again)
