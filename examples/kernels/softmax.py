# SPDX-License-Identifier: Apache-2.0
"""Softmax of each row of a matrix."""

import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, in_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    """out[r, :] = softmax(in[r, :]); one program a row, BLOCK >= n_cols, a power of two."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(in_ptr + row * row_stride + columns, mask=mask, other=float("-inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * row_stride + columns, x / tl.sum(x, axis=0), mask=mask)
