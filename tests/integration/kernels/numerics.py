# SPDX-License-Identifier: Apache-2.0
"""Reductions and other kernels over whole blocks."""

import triton
import triton.language as tl


@triton.jit
def reduce_rows(x, out, columns, BLOCK: tl.constexpr):
    """Sum, maximum, minimum, their places, and the exclusive or of the bits, one row a program."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = c < columns
    at = x + row * columns + c
    out += row * 6
    tl.store(out, tl.sum(tl.load(at, mask=keep, other=0), axis=0))
    high = tl.load(at, mask=keep, other=-(2**31))
    low = tl.load(at, mask=keep, other=2**31 - 1)
    tl.store(out + 1, tl.max(high, axis=0))
    tl.store(out + 2, tl.min(low, axis=0))
    tl.store(out + 3, tl.argmax(high, axis=0))
    tl.store(out + 4, tl.argmin(low, axis=0))
    tl.store(out + 5, tl.xor_sum(tl.load(at, mask=keep, other=0), axis=0))


@triton.jit
def scan(x, sums, products, n: tl.constexpr):
    o = tl.arange(0, n)
    v = tl.load(x + o)
    tl.store(sums + o, tl.cumsum(v, axis=0))
    tl.store(products + o, tl.cumprod(v, axis=0))


@triton.jit
def histogram_by_atomics(x, counts, total, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = o < n
    tl.atomic_add(counts + tl.load(x + o, mask=keep, other=0), 1, mask=keep)
    tl.atomic_add(total, 1)


@triton.jit
def random_numbers(ints, uniforms, normals, seed, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(ints + o, tl.randint(seed, o))
    tl.store(uniforms + o, tl.rand(seed, o))
    tl.store(normals + o, tl.randn(seed, o))
