# SPDX-License-Identifier: Apache-2.0
"""kernels/attention.py against NumPy in float64."""

from __future__ import annotations

import formats
import numpy as np
import pytest
from triton_jit_ctypes import ptr


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def scores(q: np.ndarray, k: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    s = q @ k.swapaxes(-1, -2) * scale
    return np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf) if causal else s


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("dtype", "length", "tolerance"), [("fp32", 100, 1e-5), ("fp16", 64, 2e-3), ("bf16", 77, 1e-2)]
)
def test_forward(kernel, dtype, length, tolerance, causal):
    heads, dim = 3, 32
    random = np.random.default_rng(length)
    q, k, v = (formats.store(dtype, random.normal(size=(heads, length, dim))) for _ in range(3))
    out, lse = np.zeros_like(q), np.zeros((heads, length), np.float32)
    args = [ptr(x, dtype) for x in (q, k, v, out)]
    scale = dim**-0.5
    kernel("attention.forward")((-(-length // 32), heads), *args, lse, heads, length, scale, causal, dim, 32, 16)
    q, k, v = (formats.numbers(dtype, x) for x in (q, k, v))
    s = scores(q, k, scale, causal)
    assert np.allclose(formats.numbers(dtype, out), softmax(s) @ v, rtol=tolerance, atol=tolerance)
    top = s.max(-1)
    assert np.allclose(lse, np.log(np.exp(s - top[..., None]).sum(-1)) + top, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [16, 75])
def test_backward(kernel, length, causal):
    heads, dim, rows, columns = 2, 16, 16, 32
    random = np.random.default_rng(length)
    q, k, v, grad = (random.normal(size=(heads, length, dim)).astype(np.float32) for _ in range(4))
    out, lse, delta = np.zeros_like(q), np.zeros((heads, length), np.float32), np.zeros((heads, length), np.float32)
    scale = dim**-0.5
    by_rows, by_columns = (-(-length // rows), heads), (-(-length // columns), heads)
    kernel("attention.forward")(by_rows, q, k, v, out, lse, heads, length, scale, causal, dim, rows, columns)
    kernel("attention.row_dots")(by_rows, out, grad, delta, length, dim, rows)
    dq, dk, dv = (np.zeros_like(q) for _ in range(3))
    shared = (q, k, v, grad, lse, delta)
    blocks = (length, scale, causal, dim, rows, columns)
    kernel("attention.backward_keys")(by_columns, *shared, dk, dv, *blocks)
    kernel("attention.backward_queries")(by_rows, *shared, dq, *blocks)
    q, k, v, grad = (x.astype(np.float64) for x in (q, k, v, grad))
    p = softmax(scores(q, k, scale, causal))
    dp = grad @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    for found, expected in ((dq, ds @ k), (dk, ds.swapaxes(-1, -2) @ q), (dv, p.swapaxes(-1, -2) @ grad)):
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp8e4nv"])
def test_paged_cache(kernel, dtype):
    heads, dim, page, pages = 4, 32, 16, 12
    lengths = np.array([1, 16, 37, 64], np.int32)
    random = np.random.default_rng(3)
    keys, values = (formats.store(dtype, random.normal(size=(pages, page, heads, dim))) for _ in range(2))
    table = np.full((4, 4), 10**6, np.int32)  # what lies behind a sequence's pages must not be read
    free = iter(random.permutation(pages))
    for row, length in zip(table, lengths):
        row[: -(-length // page)] = [next(free) for _ in range(-(-length // page))]
    q = random.normal(size=(4, heads, dim)).astype(np.float32)
    out = np.zeros_like(q)
    args = (q, ptr(keys, dtype), ptr(values, dtype), table, lengths, out, 4, dim**-0.5, heads, dim, page)
    kernel("attention.paged")((4, heads), *args)
    for number, length in enumerate(lengths):
        places = table[number, : -(-length // page)]
        k, v = (formats.numbers(dtype, x[places]).reshape(-1, heads, dim)[:length] for x in (keys, values))
        weights = softmax(np.einsum("hd,lhd->hl", q[number].astype(np.float64), k) * dim**-0.5)
        assert np.allclose(out[number], np.einsum("hl,lhd->hd", weights, v), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [32, 70])
@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_linear_attention_in_chunks(kernel, length, decay):
    heads, dim = 2, 16
    random = np.random.default_rng(length)
    q, k, v = (random.normal(size=(heads, length, dim)).astype(np.float32) for _ in range(3))
    state = random.normal(size=(heads, dim, dim)).astype(np.float32)
    out, carried = np.zeros_like(q), state.copy()
    kernel("attention.linear")((heads,), q, k, v, out, carried, length, float(decay), dim, 32)
    s, expected = state.astype(np.float64), np.zeros(q.shape)
    for t in range(length):
        s = decay * s + k[:, t, :, None].astype(np.float64) * v[:, t, None, :]
        expected[:, t] = np.einsum("hd,hde->he", q[:, t].astype(np.float64), s)
    assert np.allclose(out, expected, rtol=1e-4, atol=1e-3)
    assert np.allclose(carried, s, rtol=1e-4, atol=1e-3)
