# SPDX-License-Identifier: Apache-2.0
"""Kernels over the rows of a matrix, one program a row.

Those named ..._long walk a row in blocks and keep only sums, for rows that no tile should hold.
"""

import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """out[r, :] = softmax(x[r, :])."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=float("-inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    scale = 1.0 / tl.sum(x, axis=0)
    tl.store(out_ptr + row * n_cols + columns, x * scale, mask=mask)


@triton.jit
def softmax_long(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """softmax in three passes: exponentials cost more than going through the output a second time."""
    x_ptr += tl.program_id(0) * n_cols
    out_ptr += tl.program_id(0) * n_cols
    columns = tl.arange(0, BLOCK)
    top = float("-inf")
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + start + columns, mask=start + columns < n_cols, other=float("-inf"))
        top = tl.maximum(top, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        mask = start + columns < n_cols
        x = tl.exp(tl.load(x_ptr + start + columns, mask=mask, other=float("-inf")) - top)
        tl.store(out_ptr + start + columns, x, mask=mask)
        total += tl.sum(x, axis=0)
    scale = 1.0 / total
    for start in range(0, n_cols, BLOCK):
        mask = start + columns < n_cols
        x = tl.load(out_ptr + start + columns, mask=mask)
        tl.store(out_ptr + start + columns, x * scale, mask=mask)


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    """out[r, :] = (x[r, :] - mean) / sqrt(var + eps) * weight + bias."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_cols
    scale = 1.0 / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + columns, mask=mask)
    bias = tl.load(bias_ptr + columns, mask=mask)
    tl.store(out_ptr + row * n_cols + columns, centred * scale * weight + bias, mask=mask)


@triton.jit
def row_sum(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """out[r] = sum of x[r, :]."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


@triton.jit
def row_sum_long(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """row_sum in blocks."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + row * n_cols + start + columns, mask=start + columns < n_cols, other=0.0)
        total += tl.sum(x, axis=0)
    tl.store(out_ptr + row, total)


@triton.jit
def cumsum(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """out[r, i] = sum of x[r, :i + 1]."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, tl.cumsum(x, axis=0), mask=mask)


@triton.jit
def cumsum_long(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """cumsum in blocks, each of which begins with the sum of those before."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    before = 0.0
    for start in range(0, n_cols, BLOCK):
        mask = start + columns < n_cols
        x = tl.load(x_ptr + row * n_cols + start + columns, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + start + columns, before + tl.cumsum(x, axis=0), mask=mask)
        before += tl.sum(x, axis=0)
