# SPDX-License-Identifier: Apache-2.0
"""Attention that keeps no matrix of scores."""

import triton
import triton.language as tl


@triton.jit
def attention(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    length,
    scale,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):
    """out = softmax(q @ k^T * scale) @ v; all are [heads, length, DIM]. A program does BLOCK_M queries of one head."""
    start_m = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * length * DIM
    rows = start_m + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, DIM)
    row_mask = rows[:, None] < length
    q = tl.load(q_ptr + base + rows[:, None] * DIM + dims[None, :], mask=row_mask, other=0.0)
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    end = min(start_m + BLOCK_M, length) if CAUSAL else length
    # exp2 with the factor folded into the scale saves a multiplication an element.
    scale *= 1.4426950408889634
    for start in range(0, end, BLOCK_N):
        keys = start + columns
        k = tl.load(k_ptr + base + keys[None, :] * DIM + dims[:, None], mask=keys[None, :] < length, other=0.0)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        seen = keys[None, :] < length
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        v = tl.load(v_ptr + base + keys[:, None] * DIM + dims[None, :], mask=keys[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
        total = total * shrink + tl.sum(p, axis=1)
        top = new_top
    out = acc / total[:, None]
    tl.store(out_ptr + base + rows[:, None] * DIM + dims[None, :], out.to(out_ptr.dtype.element_ty), mask=row_mask)
