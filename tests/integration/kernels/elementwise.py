# SPDX-License-Identifier: Apache-2.0
"""One-dimensional kernels over every element type."""

import triton
import triton.language as tl


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def convert_to_all(
    x, u1, i8, i16, i32, i64, u8, u16, u32, u64, fp16, bf16, fp32, fp64, e4nv, e5, e4b8, e5b16, e4b15, n: tl.constexpr
):
    """x in every other type; 8-bit floats convert to floats only, so integers go through fp32."""
    o = tl.arange(0, n)
    v = tl.load(x + o)
    w = v
    if v.dtype.is_fp8():
        w = v.to(tl.float32)
    tl.store(u1 + o, w.to(tl.int1))
    tl.store(i8 + o, w.to(tl.int8))
    tl.store(i16 + o, w.to(tl.int16))
    tl.store(i32 + o, w.to(tl.int32))
    tl.store(i64 + o, w.to(tl.int64))
    tl.store(u8 + o, w.to(tl.uint8))
    tl.store(u16 + o, w.to(tl.uint16))
    tl.store(u32 + o, w.to(tl.uint32))
    tl.store(u64 + o, w.to(tl.uint64))
    tl.store(fp16 + o, v.to(tl.float16))
    tl.store(bf16 + o, v.to(tl.bfloat16))
    tl.store(fp32 + o, v.to(tl.float32))
    tl.store(fp64 + o, v.to(tl.float64))
    f = w.to(tl.float32)
    tl.store(e4nv + o, f.to(tl.float8e4nv))
    tl.store(e5 + o, f.to(tl.float8e5))
    tl.store(e4b8 + o, f.to(tl.float8e4b8))
    tl.store(e5b16 + o, f.to(tl.float8e5b16))
    tl.store(e4b15 + o, f.to(tl.float8e4b15))


@triton.jit
def arithmetic(x, y, out, stride, n, BLOCK: tl.constexpr):
    """One row of ``out`` an operation; integers have more of them."""
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = o < n
    a = tl.load(x + o, mask=keep)
    b = tl.load(y + o, mask=keep, other=1)
    tl.store(out + o, a + b, mask=keep)
    tl.store(out + stride + o, a - b, mask=keep)
    tl.store(out + stride * 2 + o, a * b, mask=keep)
    tl.store(out + stride * 3 + o, tl.minimum(a, b), mask=keep)
    tl.store(out + stride * 4 + o, tl.maximum(a, b), mask=keep)
    tl.store(out + stride * 5 + o, (a < b).to(a.dtype), mask=keep)
    if a.dtype.is_floating():
        tl.store(out + stride * 6 + o, a / b, mask=keep)
    else:
        tl.store(out + stride * 6 + o, a // b, mask=keep)
        tl.store(out + stride * 7 + o, a % b, mask=keep)
        tl.store(out + stride * 8 + o, a & b, mask=keep)
        tl.store(out + stride * 9 + o, a | b, mask=keep)
        tl.store(out + stride * 10 + o, a ^ b, mask=keep)
        tl.store(out + stride * 11 + o, a >> 3, mask=keep)


@triton.jit
def halve(x, out):
    """Shifts by one bit, and compares with 0, in the pointer's own type."""
    v = tl.load(x)
    tl.store(out, (v >> 1).to(tl.int64))
    tl.store(out + 1, (v < 0).to(tl.int64))


@triton.jit
def grid_ids(out, X: tl.constexpr, Y: tl.constexpr):
    """Each program writes its ids and the grid's sizes at its own place."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = out + (x + X * (y + Y * z)) * 6
    tl.store(at, x)
    tl.store(at + 1, y)
    tl.store(at + 2, z)
    tl.store(at + 3, tl.num_programs(0))
    tl.store(at + 4, tl.num_programs(1))
    tl.store(at + 5, tl.num_programs(2))


@triton.jit
def copy_2d(x, out, rows, columns, x_row, x_column, out_row, out_column, R: tl.constexpr, C: tl.constexpr):
    """A strided copy."""
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < columns)
    v = tl.load(x + r * x_row + c * x_column, mask=inside)
    tl.store(out + r * out_row + c * out_column, v, mask=inside)


@triton.jit
def fill_end(out, n, value):
    """The last 16 of n elements."""
    tl.store(out + (n - 16) + tl.arange(0, 16), value)
