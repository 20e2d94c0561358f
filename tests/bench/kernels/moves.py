# SPDX-License-Identifier: Apache-2.0
"""Kernels that only move data."""

import triton
import triton.language as tl


@triton.jit
def transpose(x_ptr, out_ptr, n_rows, n_cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    """out = x transposed, tile by tile; consecutive programs write consecutive parts of the output's rows."""
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    columns = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=inside)
    tl.store(out_ptr + columns[:, None] * n_rows + rows[None, :], tl.trans(x), mask=tl.trans(inside))


@triton.jit
def gather_rows(table_ptr, index_ptr, out_ptr, width, BLOCK: tl.constexpr):
    """out[i, :] = table[index[i], :], one program a row: an embedding."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    index = tl.load(index_ptr + row)
    x = tl.load(table_ptr + index * width + columns, mask=mask)
    tl.store(out_ptr + row * width + columns, x, mask=mask)
