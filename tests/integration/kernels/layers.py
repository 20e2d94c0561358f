# SPDX-License-Identifier: Apache-2.0
"""Layers of language models: quantised products, norms, losses, dropout."""

import triton
import triton.language as tl


@triton.jit
def int4_matmul(
    x_ptr, w_ptr, scales_ptr, zeros_ptr, out_ptr, rows, columns, depth, GROUP: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """x[rows, depth] times 4-bit weights, two in a byte along the depth, one scale and zero a GROUP of it."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(0, depth, GROUP):
        along = k + tl.arange(0, GROUP)
        x = tl.load(x_ptr + row[:, None] * depth + along[None, :], mask=row[:, None] < rows, other=0.0)
        pair = k // 2 + tl.arange(0, GROUP // 2)
        there = column[None, :] < columns
        packed = tl.load(w_ptr + pair[:, None] * columns + column[None, :], mask=there, other=0)
        low, high = packed & 15, packed >> 4
        w = tl.join(low, high).permute(0, 2, 1).reshape(GROUP, COLUMNS)
        group = k // GROUP * columns + column
        scale = tl.load(scales_ptr + group, mask=column < columns, other=0.0)
        zero = tl.load(zeros_ptr + group, mask=column < columns, other=0)
        weights = (w.to(tl.float32) - zero.to(tl.float32)[None, :]) * scale[None, :]
        acc = tl.dot(x, weights.to(x.dtype), acc=acc)
    places = out_ptr + row[:, None] * columns + column[None, :]
    tl.store(places, acc, mask=(row[:, None] < rows) & (column[None, :] < columns))


@triton.jit
def fp8_matmul(
    a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, out_ptr, rows, columns, depth, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):  # fmt: skip
    """A product of fp8 matrices with one scale a row of a and one a column of b."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(0, depth, DEPTH):
        along = k + tl.arange(0, DEPTH)
        inside = (row[:, None] < rows) & (along[None, :] < depth)
        a = tl.load(a_ptr + row[:, None] * depth + along[None, :], mask=inside, other=0.0)
        there = (along[:, None] < depth) & (column[None, :] < columns)
        b = tl.load(b_ptr + along[:, None] * columns + column[None, :], mask=there, other=0.0)
        acc = tl.dot(a, b, acc=acc)
    a_scale = tl.load(a_scale_ptr + row, mask=row < rows, other=0.0)
    b_scale = tl.load(b_scale_ptr + column, mask=column < columns, other=0.0)
    places = out_ptr + row[:, None] * columns + column[None, :]
    out = acc * a_scale[:, None] * b_scale[None, :]
    tl.store(places, out.to(out_ptr.dtype.element_ty), mask=(row[:, None] < rows) & (column[None, :] < columns))


@triton.jit
def rms_norm(x_ptr, weight_ptr, out_ptr, columns, epsilon, BLOCK: tl.constexpr):
    """x / sqrt(mean(x^2) + epsilon) * weight of one row, longer than a block or not."""
    row = tl.program_id(0).to(tl.int64) * columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        place = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + place, mask=place < columns, other=0.0).to(tl.float32)
        squares += x * x
    factor = tl.rsqrt(tl.sum(squares, 0) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        place = start + tl.arange(0, BLOCK)
        inside = place < columns
        x = tl.load(x_ptr + row + place, mask=inside).to(tl.float32)
        weight = tl.load(weight_ptr + place, mask=inside).to(tl.float32)
        tl.store(out_ptr + row + place, (x * factor * weight).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, grad_ptr, classes, ignore, BLOCK: tl.constexpr):
    """Loss and gradient of one row, read twice: once for maximum and sum together, once for the gradient."""
    row = tl.program_id(0)
    target = tl.load(targets_ptr + row)
    logits = logits_ptr + row.to(tl.int64) * classes
    grads = grad_ptr + row.to(tl.int64) * classes
    top = float("-inf")
    total = 0.0
    for start in range(0, classes, BLOCK):
        place = start + tl.arange(0, BLOCK)
        x = tl.load(logits + place, mask=place < classes, other=float("-inf"))
        higher = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        top = higher
    lse = top + tl.log(total)
    counts = target != ignore
    loss = 0.0
    if counts:
        loss = lse - tl.load(logits + target)
    tl.store(loss_ptr + row, loss)
    for start in range(0, classes, BLOCK):
        place = start + tl.arange(0, BLOCK)
        x = tl.load(logits + place, mask=place < classes, other=float("-inf"))
        grad = tl.where(counts, tl.exp(x - lse) - tl.where(place == target, 1.0, 0.0), 0.0)
        tl.store(grads + place, grad, mask=place < classes)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    """Zero with probability p, else x / (1 - p); the same seed gives the same mask, four numbers a counter."""
    counter = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r0, r1, r2, r3 = tl.rand4x(seed, counter)
    r = tl.join(tl.join(r0, r2), tl.join(r1, r3)).reshape(4 * BLOCK)
    place = tl.program_id(0) * BLOCK * 4 + tl.arange(0, 4 * BLOCK)
    x = tl.load(x_ptr + place, mask=place < n)
    tl.store(out_ptr + place, tl.where(r >= p, x / (1.0 - p), 0.0), mask=place < n)
