# SPDX-License-Identifier: Apache-2.0
"""Kernels with tensor descriptors that the host makes. Offsets are not specialised: one variant serves them all."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["i"])
def load1(desc, out, i, SIZE: tl.constexpr):
    block = desc.load([i])
    tl.store(out + tl.arange(0, SIZE), tl.reshape(block, [SIZE]))


@triton.jit(do_not_specialize=["i", "j"])
def load2(desc, out, i, j, SIZE: tl.constexpr):
    block = desc.load([i, j])
    tl.store(out + tl.arange(0, SIZE), tl.reshape(block, [SIZE]))


@triton.jit(do_not_specialize=["i", "j", "k"])
def load3(desc, out, i, j, k, SIZE: tl.constexpr):
    block = desc.load([i, j, k])
    tl.store(out + tl.arange(0, SIZE), tl.reshape(block, [SIZE]))


@triton.jit(do_not_specialize=["i", "j", "k", "m"])
def load4(desc, out, i, j, k, m, SIZE: tl.constexpr):
    block = desc.load([i, j, k, m])
    tl.store(out + tl.arange(0, SIZE), tl.reshape(block, [SIZE]))


@triton.jit(do_not_specialize=["i", "j", "k", "m", "n"])
def load5(desc, out, i, j, k, m, n, SIZE: tl.constexpr):
    block = desc.load([i, j, k, m, n])
    tl.store(out + tl.arange(0, SIZE), tl.reshape(block, [SIZE]))


@triton.jit(do_not_specialize=["i"])
def store1(desc, x, i, SIZE: tl.constexpr):
    desc.store([i], tl.reshape(tl.load(x + tl.arange(0, SIZE)), desc.block_shape))


@triton.jit(do_not_specialize=["i", "j"])
def store2(desc, x, i, j, SIZE: tl.constexpr):
    desc.store([i, j], tl.reshape(tl.load(x + tl.arange(0, SIZE)), desc.block_shape))


@triton.jit(do_not_specialize=["i", "j", "k"])
def store3(desc, x, i, j, k, SIZE: tl.constexpr):
    desc.store([i, j, k], tl.reshape(tl.load(x + tl.arange(0, SIZE)), desc.block_shape))


@triton.jit(do_not_specialize=["i", "j", "k", "m"])
def store4(desc, x, i, j, k, m, SIZE: tl.constexpr):
    desc.store([i, j, k, m], tl.reshape(tl.load(x + tl.arange(0, SIZE)), desc.block_shape))


@triton.jit(do_not_specialize=["i", "j", "k", "m", "n"])
def store5(desc, x, i, j, k, m, n, SIZE: tl.constexpr):
    desc.store([i, j, k, m, n], tl.reshape(tl.load(x + tl.arange(0, SIZE)), desc.block_shape))


@triton.jit
def scale(x, out, factor):
    """One program a block of rows and columns."""
    row = tl.program_id(0) * x.block_shape[0]
    column = tl.program_id(1) * x.block_shape[1]
    out.store([row, column], x.load([row, column]) * factor)


@triton.jit
def matmul(a, b, c, n_inner, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in range(0, n_inner, BLOCK_K):
        sums = tl.dot(a.load([row, k]), b.load([k, column]), sums, input_precision="ieee")
    c.store([row, column], sums.to(c.dtype))


@triton.jit
def own_sizes(desc, out):
    """What a kernel can ask of its descriptor."""
    tl.store(out, desc.shape[0])
    tl.store(out + 1, desc.shape[1])
    tl.store(out + 2, desc.strides[0])
    tl.store(out + 3, desc.strides[1])


@triton.jit
def sum_of_eight(a, b, c, d, e, f, g, h, out):
    i = tl.program_id(0) * out.block_shape[0]
    total = a.load([i]) + b.load([i]) + c.load([i]) + d.load([i])
    total += e.load([i]) + f.load([i]) + g.load([i]) + h.load([i])
    out.store([i], total)


@triton.jit
def twice(desc, i, j):
    return desc.load([i, j]) * 2


@triton.jit
def through_a_function(x, out):
    out.store([0, 0], twice(x, 0, 0))


@triton.jit
def chosen(x, y, out, which):
    """A descriptor that may be absent, beside one made in the kernel."""
    if y is not None:
        block = y.load([0, 0])
    else:
        block = x.load([0, 0])
    out.store([0, 0], block)


@triton.jit
def copy_in_tuple(pair, i, j):
    pair[1].store([i, j], pair[0].load([i, j]))


@triton.jit
def beside_device_made(x, out, m, n, BLOCK: tl.constexpr):
    made = tl.make_tensor_descriptor(out, shape=[m, n], strides=[n, 1], block_shape=[BLOCK, BLOCK])
    made.store([0, 0], x.load([0, 0]))


@triton.jit(do_not_specialize=["column"])
def gather(desc, rows, column, out, N: tl.constexpr, WIDTH: tl.constexpr):
    block = desc.gather(tl.load(rows + tl.arange(0, N)), column)
    at = tl.arange(0, N)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(out + at, block)


@triton.jit(do_not_specialize=["column"])
def scatter(desc, rows, column, x, N: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.arange(0, N)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    desc.scatter(tl.load(x + at), tl.load(rows + tl.arange(0, N)), column)


@triton.jit
def reduce(desc, x, i, j, KIND: tl.constexpr):
    """Many programs on one block."""
    block = x.load([tl.program_id(0) * x.block_shape[0], 0])
    if KIND == "add":
        desc.atomic_add([i, j], block)
    elif KIND == "min":
        desc.atomic_min([i, j], block)
    elif KIND == "max":
        desc.atomic_max([i, j], block)
    elif KIND == "and":
        desc.atomic_and([i, j], block)
    elif KIND == "or":
        desc.atomic_or([i, j], block)
    else:
        desc.atomic_xor([i, j], block)
