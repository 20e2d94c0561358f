# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation of each row of a matrix."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    """out[r, :] = (x[r, :] - mean) / sqrt(var + eps) * weight + bias; one program a row."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_cols
    weight = tl.load(weight_ptr + columns, mask=mask)
    bias = tl.load(bias_ptr + columns, mask=mask)
    out = centred / tl.sqrt(variance + eps) * weight + bias
    tl.store(out_ptr + row * n_cols + columns, out, mask=mask)
