# SPDX-License-Identifier: Apache-2.0
"""Kernels that most tests of the compile side use."""
# ruff: noqa: F821

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["out"])
def annotated_kernel(out, n, w: tl.int64, e: "fp16", c: tl.const, flag: "u1" = True, s=1.5, name: tl.constexpr = "Dx"):
    tl.store(out, n + w + tl.load(c))


@triton.jit
def scale(x, factor):
    return x * factor


@triton.jit
def many_kernel(a, n, m, t, g, w: tl.int64, e: "fp16", z, Z: tl.constexpr, s: tl.constexpr):
    if z is None:
        tl.store(a, n + m + w + t[0])


@triton.jit
def apply_kernel(out, fn: tl.constexpr, x):
    tl.store(out, fn(x, 2))


@triton.jit
def typed_kernel(out, x, DTYPE: tl.constexpr, SHAPE: tl.constexpr = (8, 4)):
    tl.store(out, x.to(DTYPE) + SHAPE[0] * SHAPE[1])


@triton.jit
def nothing_kernel():
    pass
