# SPDX-License-Identifier: Apache-2.0
"""Kernels that write down the scalars they were given."""

import triton
import triton.language as tl


@triton.jit
def one(out, s):
    tl.store(out, s)


@triton.jit
def several(o_i8, o_i16, o_i32, o_i64, o_u8, o_u16, o_u32, o_u64, o_f16, o_bf16, o_f32, o_f64,
            i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64):  # fmt: skip
    tl.store(o_i8, i8)
    tl.store(o_i16, i16)
    tl.store(o_i32, i32)
    tl.store(o_i64, i64)
    tl.store(o_u8, u8)
    tl.store(o_u16, u16)
    tl.store(o_u32, u32)
    tl.store(o_u64, u64)
    tl.store(o_f16, f16)
    tl.store(o_bf16, bf16)
    tl.store(o_f32, f32)
    tl.store(o_f64, f64)


@triton.jit
def annotated(
    out: tl.pointer_type(tl.int64),
    f_out: tl.pointer_type(tl.float64),
    n: tl.int64,
    u: tl.uint16,
    f: tl.float64,
    h: tl.float16,
    b: tl.int1,
):
    tl.store(out, n)
    tl.store(out + 1, u)
    tl.store(out + 2, b)
    tl.store(f_out, f)
    tl.store(f_out + 1, h)


@triton.jit
def long(out, n: tl.int64):
    tl.store(out, n * 2 + 1)


@triton.jit
def half_of(out, n):
    tl.store(out, n >> 1)


@triton.jit
def times(x, out, s, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(out + o, tl.load(x + o) * s)


@triton.jit
def branch(out, b):
    if b:
        tl.store(out, 10)
    else:
        tl.store(out, 20)


@triton.jit
def constant(out, C: tl.constexpr, x):
    tl.store(out, C)
    tl.store(out + 1, (tl.zeros((), tl.int64) + x) ^ 5)


@triton.jit
def constant_difference(out, C: tl.constexpr, x):
    tl.store(out, C - x)


@triton.jit
def difference(out, c, x):
    tl.store(out, c - x)


@triton.jit
def sizes(out, n):
    tl.store(out, n)


@triton.jit(do_not_specialize=["n"])
def sizes_unspecialized(out, n):
    tl.store(out, n)


@triton.jit(do_not_specialize=["out", "a", "b"])
def nothing_specialized(out, a, b):
    tl.store(out, a + 2 * b)


@triton.jit
def all_ones(out, a, b, c):
    tl.store(out, a + 10 * b + 100 * c)


@triton.jit
def aligned_copy(x, out, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n), mask=o < n)


@triton.jit(do_not_specialize_on_alignment=["x", "out"])
def unaligned_copy(x, out, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n), mask=o < n)
