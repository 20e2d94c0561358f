# SPDX-License-Identifier: Apache-2.0
"""kernels/routing.py against NumPy."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize(("tokens", "experts"), [(5, 4), (100, 8)])
def test_mixture_of_experts(kernel, tokens, experts):
    depth, columns, n = 24, 40, 2 * tokens
    random = np.random.default_rng(tokens)
    logits = random.normal(size=(tokens, experts)).astype(np.float32)
    logits[1, :] = 0.5  # all equal: the first two
    x = random.normal(size=(tokens, depth)).astype(np.float32)
    w = random.normal(size=(experts, depth, columns)).astype(np.float32)
    chosen, shares = np.zeros((tokens, 2), np.int32), np.zeros((tokens, 2), np.float32)
    kernel("routing.choose")((tokens,), logits, chosen, shares, experts)
    best = np.argsort(-logits, axis=1, kind="stable")[:, :2]
    assert np.array_equal(chosen, best)
    e = np.exp(np.take_along_axis(logits, best, 1).astype(np.float64))
    expected = e / e.sum(1, keepdims=True)
    assert np.allclose(shares, expected, rtol=1e-5)

    order, starts = np.zeros(n, np.int32), np.zeros(experts + 1, np.int32)
    kernel("routing.arrange")((1,), chosen, order, starts, n, experts, 1 << (n - 1).bit_length())
    assert np.array_equal(order, np.argsort(chosen.reshape(-1), kind="stable"))
    assert np.array_equal(np.diff(starts), np.bincount(chosen.reshape(-1), minlength=experts))

    out = np.zeros((tokens, columns), np.float32)
    args = (x, w, order, starts, shares, out, depth, columns, 16, 32, 16)
    kernel("routing.grouped_matmul")((experts, 2), *args)
    products = np.einsum("td,edc->tec", x.astype(np.float64), w)
    assert np.allclose(out, (products[np.arange(tokens)[:, None], best] * expected[..., None]).sum(1), atol=1e-4)


@pytest.mark.parametrize(("n", "count"), [(8, 1), (1000, 10), (1000, 999), (512, 512)])
@pytest.mark.parametrize("kind", ["normal", "ties", "extremes"])
def test_radix_top(kernel, n, count, kind):
    random = np.random.default_rng(n + count)
    x = random.normal(size=n).astype(np.float32)
    if kind == "ties":
        x = random.integers(-2, 3, n).astype(np.float32)
    if kind == "extremes":
        x[:8] = [np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38]
    out, places = np.zeros(count, np.float32), np.zeros(count, np.int32)
    kernel("routing.radix_top")((1,), x, out, places, n, count, 1 << (n - 1).bit_length())
    bits = x.view(np.uint32)
    keys = bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))
    expected = np.sort(np.argsort(~keys, kind="stable")[:count])
    assert np.array_equal(places, expected) and np.array_equal(out.view(np.uint32), bits[expected])
