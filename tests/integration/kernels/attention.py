# SPDX-License-Identifier: Apache-2.0
"""Attention with the softmax computed as the keys go by: forward, backward, and over a paged cache."""

import triton
import triton.language as tl


@triton.jit
def forward(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, heads, length, scale, CAUSAL: tl.constexpr, DIM: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """One block of queries of one head. Tensors are [heads, length, DIM]; lse is [heads, length]."""
    block, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * length * DIM
    rows = block * ROWS + tl.arange(0, ROWS)
    dims = tl.arange(0, DIM)
    inside = rows[:, None] < length
    q = tl.load(q_ptr + base + rows[:, None] * DIM + dims[None, :], mask=inside, other=0.0)
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, DIM), tl.float32)
    last = tl.minimum((block + 1) * ROWS, length) if CAUSAL else length
    for start in range(0, last, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        there = columns[None, :] < length
        k = tl.load(k_ptr + base + columns[None, :] * DIM + dims[:, None], mask=there, other=0.0)
        scores = tl.dot(q, k) * scale
        seen = there & (columns[None, :] <= rows[:, None]) if CAUSAL else there
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_ptr + base + columns[:, None] * DIM + dims[None, :], mask=columns[:, None] < length, other=0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc=acc * shrink[:, None])
        top = higher
    place = out_ptr + base + rows[:, None] * DIM + dims[None, :]
    tl.store(place, (acc / total[:, None]).to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(lse_ptr + head * length + rows, top + tl.log(total), mask=rows < length)


@triton.jit
def row_dots(out_ptr, grad_ptr, delta_ptr, length, DIM: tl.constexpr, ROWS: tl.constexpr):
    """delta = sum(out * grad) of every query: what the softmax's derivative subtracts."""
    block, head = tl.program_id(0), tl.program_id(1)
    rows = block * ROWS + tl.arange(0, ROWS)
    places = (head * length + rows)[:, None] * DIM + tl.arange(0, DIM)[None, :]
    mask = rows[:, None] < length
    out, grad = tl.load(out_ptr + places, mask=mask, other=0.0), tl.load(grad_ptr + places, mask=mask, other=0.0)
    tl.store(delta_ptr + head * length + rows, tl.sum(out * grad, 1), mask=rows < length)


@triton.jit
def backward_keys(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, length, scale, CAUSAL: tl.constexpr,
    DIM: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Gradients of one block of keys and values: goes over the queries that see it."""
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * length * DIM
    columns = block * COLUMNS + tl.arange(0, COLUMNS)
    dims = tl.arange(0, DIM)
    places = columns[:, None] * DIM + dims[None, :]
    there = columns[:, None] < length
    k = tl.load(k_ptr + base + places, mask=there, other=0.0)
    v = tl.load(v_ptr + base + places, mask=there, other=0.0)
    dk = tl.zeros((COLUMNS, DIM), tl.float32)
    dv = tl.zeros((COLUMNS, DIM), tl.float32)
    first = block * COLUMNS // ROWS * ROWS if CAUSAL else 0
    for start in range(first, length, ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = rows[:, None] < length
        q = tl.load(q_ptr + base + rows[:, None] * DIM + dims[None, :], mask=inside, other=0.0)
        grad = tl.load(grad_ptr + base + rows[:, None] * DIM + dims[None, :], mask=inside, other=0.0)
        lse = tl.load(lse_ptr + head * length + rows, mask=rows < length, other=0.0)
        delta = tl.load(delta_ptr + head * length + rows, mask=rows < length, other=0.0)
        seen = inside & (columns[None, :] < length)
        if CAUSAL:
            seen &= columns[None, :] <= rows[:, None]
        weights = tl.where(seen, tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(weights), grad, acc=dv)
        slopes = weights * (tl.dot(grad, tl.trans(v)) - delta[:, None])
        dk = tl.dot(tl.trans(slopes), q, acc=dk)
    tl.store(dk_ptr + base + places, dk * scale, mask=there)
    tl.store(dv_ptr + base + places, dv, mask=there)


@triton.jit
def backward_queries(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dq_ptr, length, scale, CAUSAL: tl.constexpr, DIM: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Gradient of one block of queries."""
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * length * DIM
    rows = block * ROWS + tl.arange(0, ROWS)
    dims = tl.arange(0, DIM)
    places = rows[:, None] * DIM + dims[None, :]
    inside = rows[:, None] < length
    q = tl.load(q_ptr + base + places, mask=inside, other=0.0)
    grad = tl.load(grad_ptr + base + places, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * length + rows, mask=rows < length, other=0.0)
    delta = tl.load(delta_ptr + head * length + rows, mask=rows < length, other=0.0)
    dq = tl.zeros((ROWS, DIM), tl.float32)
    last = tl.minimum((block + 1) * ROWS, length) if CAUSAL else length
    for start in range(0, last, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        there = columns[:, None] < length
        k = tl.load(k_ptr + base + columns[:, None] * DIM + dims[None, :], mask=there, other=0.0)
        v = tl.load(v_ptr + base + columns[:, None] * DIM + dims[None, :], mask=there, other=0.0)
        seen = inside & (columns[None, :] < length)
        if CAUSAL:
            seen &= columns[None, :] <= rows[:, None]
        weights = tl.where(seen, tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None]), 0.0)
        slopes = weights * (tl.dot(grad, tl.trans(v)) - delta[:, None])
        dq = tl.dot(slopes, k, acc=dq)
    tl.store(dq_ptr + base + places, dq * scale, mask=inside)


@triton.jit
def paged(
    q_ptr, keys_ptr, values_ptr, pages_ptr, lengths_ptr, out_ptr, most_pages, scale, HEADS: tl.constexpr,
    DIM: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """One new token of one sequence: its keys and values lie in pages [page, PAGE, HEADS, DIM] anywhere."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    length = tl.load(lengths_ptr + sequence)
    dims = tl.arange(0, DIM)
    within = tl.arange(0, PAGE)
    q = tl.load(q_ptr + (sequence * HEADS + head) * DIM + dims).to(tl.float32)
    top = float("-inf")
    total = 0.0
    acc = tl.zeros((DIM,), tl.float32)
    for number in range(tl.cdiv(length, PAGE)):
        page = tl.load(pages_ptr + sequence * most_pages + number).to(tl.int64)
        places = ((page * PAGE + within[:, None]) * HEADS + head) * DIM + dims[None, :]
        there = number * PAGE + within < length
        k = tl.load(keys_ptr + places, mask=there[:, None], other=0.0).to(tl.float32)
        scores = tl.where(there, tl.sum(k * q[None, :], 1) * scale, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 0))
        weights = tl.exp(scores - higher)
        shrink = tl.exp(top - higher)
        v = tl.load(values_ptr + places, mask=there[:, None], other=0.0).to(tl.float32)
        acc = acc * shrink + tl.sum(weights[:, None] * v, 0)
        total = total * shrink + tl.sum(weights, 0)
        top = higher
    place = out_ptr + (sequence * HEADS + head) * DIM + dims
    tl.store(place, (acc / total).to(out_ptr.dtype.element_ty))


@triton.jit
def linear(
    q_ptr, k_ptr, v_ptr, out_ptr, state_ptr, length, decay, DIM: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Linear attention with decay, chunk by chunk: state = decay * state + k^T v, out = q state.

    Within a chunk the sum is a masked product; across chunks the state is carried.
    """
    head = tl.program_id(0)
    base = head * length * DIM
    dims = tl.arange(0, DIM)
    steps = tl.arange(0, CHUNK)
    rate = tl.log2(decay)
    state = tl.load(state_ptr + (head * DIM + dims[:, None]) * DIM + dims[None, :])
    after = tl.exp2(rate * (steps + 1))
    apart = steps[:, None] - steps[None, :]
    within = tl.where(apart >= 0, tl.exp2(rate * tl.maximum(apart, 0)), 0.0)
    for start in range(0, length, CHUNK):
        rows = start + steps
        places = base + rows[:, None] * DIM + dims[None, :]
        inside = rows[:, None] < length
        q = tl.load(q_ptr + places, mask=inside, other=0.0)
        k = tl.load(k_ptr + places, mask=inside, other=0.0)
        v = tl.load(v_ptr + places, mask=inside, other=0.0)
        out = tl.dot(tl.dot(q, tl.trans(k)) * within, v)
        out += tl.dot(q * after[:, None], state)
        tl.store(out_ptr + places, out, mask=inside)
        count = tl.minimum(length - start, CHUNK)
        left = tl.where(steps < count, tl.exp2(rate * (count - 1 - steps)), 0.0)
        state = state * tl.exp2(rate * count) + tl.dot(tl.trans(k * left[:, None]), v)
    tl.store(state_ptr + (head * DIM + dims[:, None]) * DIM + dims[None, :], state)
