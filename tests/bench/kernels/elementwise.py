# SPDX-License-Identifier: Apache-2.0
"""Elementwise kernels."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """out = x + y."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def gelu_chain(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """out = x * gelu(x + y), with the exact gelu."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    s = x + y
    gelu = 0.5 * s * (1.0 + tl.erf(s * 0.7071067811865476))
    tl.store(out_ptr + offsets, x * gelu, mask=mask)
