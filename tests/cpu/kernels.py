# SPDX-License-Identifier: Apache-2.0
"""Kernels that several tests use."""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(x, y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x + row * stride + offs, mask=mask, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(y + row * stride + offs, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr = tl.float32,
):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), ACC)
    pa = a + rm[:, None] * stride_am + rk[None, :] * stride_ak
    pb = b + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    for k in range(0, tl.cdiv(K, BK)):
        inside = rk < K - k * BK
        x = tl.load(pa, mask=(rm[:, None] < M) & inside[None, :], other=0.0)
        y = tl.load(pb, mask=inside[:, None] & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=ACC)
        pa += BK * stride_ak
        pb += BK * stride_bk
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c + rm[:, None] * stride_cm + rn[None, :], acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm_kernel(x, y, w, b, mean_out, rstd_out, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(x + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < n, other=0.0).to(tl.float32)
        v = tl.where(cols < n, v - mean, 0.0)
        squares += v * v
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < n
        v = tl.load(x + cols, mask=mask, other=0.0).to(tl.float32)
        scale = tl.load(w + cols, mask=mask)
        shift = tl.load(b + cols, mask=mask)
        tl.store(y + cols, (v - mean) * rstd * scale + shift, mask=mask)


@triton.jit
def attention_kernel(
    q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BM
    rm = start + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(q + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    last = tl.minimum(start + BM, n) if CAUSAL else n
    for s in range(0, last, BN):
        rn = s + tl.arange(0, BN)
        y = tl.load(k + rn[None, :] * D + rd[:, None], mask=rn[None, :] < n, other=0.0)
        score = tl.dot(x, y) * scale
        keep = rn[None, :] < n
        if CAUSAL:
            keep = keep & (rm[:, None] >= rn[None, :])
        score = tl.where(keep, score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp2(score - higher[:, None])
        alpha = tl.exp2(top - higher)
        total = total * alpha + tl.sum(p, 1)
        w = tl.load(v + rn[:, None] * D + rd[None, :], mask=rn[:, None] < n, other=0.0)
        acc = tl.dot(p.to(w.dtype), w, acc * alpha[:, None])
        top = higher
    acc = acc / total[:, None]
    tl.store(out + rm[:, None] * D + rd[None, :], acc.to(out.dtype.element_ty), mask=rm[:, None] < n)


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    keep = tl.rand(seed, offs) > p
    tl.store(out + offs, tl.where(keep, tl.load(x + offs, mask=mask) / (1 - p), 0.0), mask=mask)


@triton.jit
def random_kernel(out, seed, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, offs)
    tl.store(out + offs, a)
    tl.store(out + BLOCK + offs, b)
    tl.store(out + 2 * BLOCK + offs, c)
    tl.store(out + 3 * BLOCK + offs, d)
