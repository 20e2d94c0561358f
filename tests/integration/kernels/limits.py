# SPDX-License-Identifier: Apache-2.0
"""Kernels that cannot be compiled or run as they are called."""

import triton
import triton.language as tl


@triton.jit
def helper(k):
    return tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [k], dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def assembly(out):
    k = tl.arange(0, 16)
    tl.store(out + k, helper(k))


@triton.jit
def large(x, out, N: tl.constexpr):
    """A tile of N x N that has to be stored as a whole."""
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    t = tl.sort(tl.load(x + i * N))
    a = tl.load(x + at) * t[:, None]
    b = tl.cumsum(a, 0)
    c = tl.cumsum(b, 1)
    d = tl.cumsum(tl.trans(c), 1)
    tl.store(out + at, d + b)


@triton.jit
def steps(out, n, step):
    for i in range(0, n, step):
        tl.store(out + i, i)
