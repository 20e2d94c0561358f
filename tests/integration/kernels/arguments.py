# SPDX-License-Identifier: Apache-2.0
"""Kernels whose arguments are more than pointers and numbers."""

import triton
import triton.language as tl


@triton.jit
def optional_bias(x, bias, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n, other=0)
    if bias is not None:
        v += tl.load(bias + o, mask=o < n, other=0)
    tl.store(out + o, v, mask=o < n)


@triton.jit
def pair(out, t):
    tl.store(out, t[0] + t[1])


@triton.jit
def mixed_tuple(t, n: tl.constexpr):
    """(source, factor, target)"""
    o = tl.arange(0, n)
    tl.store(t[2] + o, tl.load(t[0] + o) * t[1])


@triton.jit
def nested_tuple(out, t):
    """(a, (b, c), ((d,), e))"""
    tl.store(out, t[0])
    tl.store(out + 1, t[1][0])
    tl.store(out + 2, t[1][1])
    tl.store(out + 3, t[2][0][0])
    tl.store(out + 4, t[2][1])


@triton.jit
def unpacked_tuple(out, t):
    a, b = t
    tl.store(out, a - b)
    tl.store(out + 1, len(t))


@triton.jit
def shape(out, SHAPE: tl.constexpr):
    tl.store(out, SHAPE[0] * SHAPE[1])


@triton.jit
def nested_shape(out, SHAPE: tl.constexpr):
    tl.store(out, SHAPE[0] * SHAPE[1][0] + SHAPE[1][1])


@triton.jit
def activation(x, out, ACT: tl.constexpr):
    v = tl.load(x)
    if ACT == "relu":
        v = tl.maximum(v, 0.0)
    elif ACT == "a,b:16":
        v = v + 1
    elif ACT == "1":
        v = v + 2
    elif ACT == "None":
        v = v + 3
    elif ACT == "True":
        v = v + 4
    elif ACT == "":
        v = v + 5
    elif ACT == "größe'\"\\\n":
        v = v + 6
    elif ACT == "x\0y":
        v = v + 7
    else:
        tl.static_assert(False, "no such activation")
    tl.store(out, v)


@triton.constexpr_function
def kind_of(value):
    for number, kind in enumerate((type(None), bool, int, float, str, tl.dtype)):
        if isinstance(value, kind):
            return number
    return 6


@triton.jit
def kind_of_constant(out, C: tl.constexpr):
    """Tells apart what Python calls equal."""
    KIND: tl.constexpr = kind_of(C)
    tl.store(out, KIND)
    if KIND == 1 or KIND == 2 or KIND == 3:
        tl.store(out + 1, C)


@triton.jit
def cast(x, out, n: tl.constexpr, T: tl.constexpr):
    o = tl.arange(0, n)
    tl.store(out + o, tl.load(x + o).to(T).to(tl.float32))


@triton.jit
def square(x):
    return x * x


@triton.jit
def negate(x):
    return -x


@triton.jit
def apply(x, out, n: tl.constexpr, F: tl.constexpr):
    o = tl.arange(0, n)
    tl.store(out + o, F(tl.load(x + o)))


@triton.jit
def apply_unannotated(x, out, n: tl.constexpr, f):
    o = tl.arange(0, n)
    tl.store(out + o, f(tl.load(x + o)))


@triton.jit
def apply_pair(x, out, n: tl.constexpr, FS: tl.constexpr):
    o = tl.arange(0, n)
    tl.store(out + o, FS[0](FS[1](tl.load(x + o))))


@triton.jit
def defaults(out, a, b=5, c=None, D: tl.constexpr = 7, E: tl.constexpr = "text", f=2.5, G: tl.constexpr = tl.float32):
    tl.store(out, a)
    tl.store(out + 1, b)
    if c is not None:
        tl.store(out + 2, c)
    else:
        tl.store(out + 2, -1)
    tl.store(out + 3, D)
    if E == "text":
        tl.store(out + 4, 1)
    else:
        tl.store(out + 4, 2)
    tl.store(out + 5, f)
    tl.store(out + 6, G.primitive_bitwidth)


@triton.jit
def nothing():
    tl.device_print("nothing was called")


@triton.jit
def only_constants(A: tl.constexpr, B: tl.constexpr):
    tl.device_print("the sum is", A + B)


@triton.jit
def block_ids(out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.program_id(0), mask=o < n)


@triton.jit
def sum_of_many(out, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,
                a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40,
                a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56):  # fmt: skip
    tl.store(out, a0 + a1 * 2 + a28 * 3 + a55 * 4 + a56 * 5)
