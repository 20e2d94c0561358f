# SPDX-License-Identifier: Apache-2.0
"""Tensor descriptors that the kernel makes: every rank, padding, gather, scatter, reductions.

The reference walks over the elements of a block one by one.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import triton
from generate import module
from runner import As, bf16_bits, bf16_value, launch

RNG = np.random.default_rng(12)


def block_of(x, offsets, block, padding):
    """A block of an array with what lies outside filled."""
    out = np.full(block, padding, x.dtype)
    for at in itertools.product(*map(range, block)):
        where = [o + i for o, i in zip(offsets, at)]
        if all(0 <= w < n for w, n in zip(where, x.shape)):
            out[at] = x[tuple(where)]
    return out


# Shape of the tensor, shape of the block, offsets.
RANKS = [
    ((37,), (16,), [(0,), (-3,), (30,), (40,)]),
    ((7, 12), (4, 8), [(0, 0), (5, 8), (-2, -5), (6, 11)]),
    ((3, 5, 8), (2, 4, 4), [(0, 0, 0), (2, 3, 6), (-1, -2, -3)]),
    ((2, 3, 5, 4), (2, 2, 4, 4), [(0, 0, 0, 0), (1, 2, -1, 2), (-1, 1, 3, 0)]),
    ((2, 3, 2, 5, 8), (1, 2, 2, 4, 4), [(0, 0, 0, 0, 0), (1, 2, 1, 3, 6), (-1, 0, 0, 0, 0)]),
]


@pytest.mark.parametrize("shape,block,places", RANKS, ids=lambda v: str(len(v)))
def test_load_and_store_of_every_rank(shape, block, places):
    rank = len(shape)
    zeros, nans = ", ".join("0" * rank), [f"a{i}" for i in range(rank)]
    strides = [str(int(np.prod(shape[i + 1 :]))) for i in range(rank)]
    flat = ", ".join(str(int(np.prod(block[i + 1 :]))) for i in range(rank))
    text = f"""
@triton.jit
def kernel(x, o, p, q, {", ".join(nans)}):
    src = tl.make_tensor_descriptor(x, {list(shape)}, [{", ".join(strides)}], {list(block)})
    nan = tl.make_tensor_descriptor(x, {list(shape)}, [{", ".join(strides)}], {list(block)}, padding_option="nan")
    one = tl.make_tensor_descriptor(o, {list(block)}, [{flat}], {list(block)})
    two = tl.make_tensor_descriptor(p, {list(block)}, [{flat}], {list(block)})
    dst = tl.make_tensor_descriptor(q, {list(shape)}, [{", ".join(strides)}], {list(block)})
    t = src.load([{", ".join(nans)}])
    one.store([{zeros}], t)
    two.store([{zeros}], nan.load([{", ".join(nans)}]))
    dst.store([{", ".join(nans)}], t + 1)
"""
    kernel = module(text).kernel
    x = RNG.standard_normal(shape).astype(np.float32)
    for offsets in places:
        o, p, q = np.zeros(block, np.float32), np.zeros(block, np.float32), np.full(shape, -7, np.float32)
        # Offsets are given as i64 so that the value 1 needs no specialisation of its own.
        launch(kernel, (1,), x=x, o=o, p=p, q=q, **{n: As("i32", v) for n, v in zip(nans, offsets)})
        np.testing.assert_array_equal(o, block_of(x, offsets, block, 0))
        np.testing.assert_array_equal(p, block_of(x, offsets, block, np.nan))
        want = np.full(shape, -7, np.float32)
        for at in itertools.product(*map(range, shape)):
            if all(0 <= a - o < n for a, o, n in zip(at, offsets, block)):
                want[at] = x[at] + 1
        np.testing.assert_array_equal(q, want)


TYPES = [("i8", np.int8), ("u16", np.uint16), ("i64", np.int64), ("fp16", np.float16), ("fp64", np.float64)]


@pytest.mark.parametrize("name,dtype", TYPES, ids=[n for n, _ in TYPES])
def test_types_and_row_strides(name, dtype):
    text = """
@triton.jit
def kernel(x, o, rows, cols, stride):
    src = tl.make_tensor_descriptor(x, [rows, cols], [stride, 1], [4, 16])
    dst = tl.make_tensor_descriptor(o, [rows, cols], [16, 1], [4, 16])
    for r in range(0, rows, 4):
        dst.store([r, 0], src.load([r, 0]))
"""
    x = RNG.integers(0, 100, (6, 32)).astype(dtype)
    o = np.zeros((6, 16), dtype)
    launch(module(text).kernel, (1,), x=As("*" + name, x), o=As("*" + name, o), rows=6, cols=13, stride=32)
    want = np.zeros((6, 16), dtype)
    want[:, :13] = x[:, :13]
    np.testing.assert_array_equal(o, want)


@pytest.mark.parametrize("index", ["int32", "int16"])
def test_gather_and_scatter(index):
    """Rows outside the tensor and columns outside it read as zero and are not written."""
    if index == "int16" and triton.__version__.startswith("3.6."):
        pytest.skip("Triton 3.6's own verifier refuses row numbers of 16 bits, which its language lets pass")
    text = f"""
@triton.jit
def kernel(x, rows, o, q, n, m, first):
    i = tl.arange(0, 16)
    j = tl.arange(0, 8)
    r = tl.load(rows + i).to(tl.{index})
    src = tl.make_tensor_descriptor(x, [n, m], [m, 1], [1, 8])
    t = src.gather(r, first)
    tl.store(o + i[:, None] * 8 + j[None, :], t)
    dst = tl.make_tensor_descriptor(q, [n, m], [m, 1], [1, 8])
    dst.scatter(t * 2, r, first)
"""
    kernel = module(text).kernel
    x = RNG.standard_normal((11, 20)).astype(np.float32)
    rows = RNG.permutation(np.arange(-3, 13)).astype(np.int32)
    for first in (0, 5, 16, -3):
        o, q = np.full((16, 8), 9, np.float32), np.zeros_like(x)
        launch(kernel, (1,), x=x, rows=rows, o=o, q=q, n=11, m=20, first=first)
        want, written = np.zeros((16, 8), np.float32), np.zeros_like(x)
        for i, r in enumerate(rows):
            for j in range(8):
                if 0 <= r < 11 and 0 <= first + j < 20:
                    want[i, j] = x[r, first + j]
                    written[r, first + j] = 2 * x[r, first + j]
        np.testing.assert_array_equal(o, want)
        np.testing.assert_array_equal(q, written)


REDUCTIONS = {
    "add": (np.add, ["i32", "u32", "u64", "fp32", "fp16", "bf16"]),
    "min": (np.minimum, ["i32", "u32", "i64", "u64"]),
    "max": (np.maximum, ["i32", "u32", "i64", "u64"]),
    "and": (np.bitwise_and, ["i32", "u32", "i64", "u64"]),
    "or": (np.bitwise_or, ["i32", "u32", "i64", "u64"]),
    "xor": (np.bitwise_xor, ["i32", "u32", "i64", "u64"]),
}
NUMPY = {"i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "fp32": np.float32, "fp16": np.float16}


def whole_numbers(dtype, shape):
    """All of an integer type; few enough for a floating-point type that sums are exact."""
    if np.issubdtype(dtype, np.floating):
        return RNG.integers(-50, 50, shape).astype(dtype)
    return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("kind", list(REDUCTIONS))
def test_reductions(kind):
    """One launch for all types of a kind: the block hangs over two edges of the tensor."""
    function, types = REDUCTIONS[kind]
    text = "@triton.jit\ndef kernel(" + ", ".join(f"x{t}, v{t}" for t in types) + "):\n"
    text += "    i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]\n"
    for t in types:
        text += f"    d{t} = tl.make_tensor_descriptor(x{t}, [10, 24], [24, 1], [8, 16])\n"
        text += f"    d{t}.atomic_{kind}([-2, 7], tl.load(v{t} + i))\n"
    args, checks = {}, []
    for t in types:
        if t == "bf16":
            x, v = (RNG.integers(-50, 50, s).astype(np.float32) for s in ((10, 24), (8, 16)))
            bits = bf16_bits(x)
            args |= {"x" + t: As("*bf16", bits), "v" + t: As("*bf16", bf16_bits(v))}
        else:
            x, v = whole_numbers(NUMPY[t], (10, 24)), whole_numbers(NUMPY[t], (8, 16))
            bits = x.copy()
            args |= {"x" + t: As("*" + t, bits), "v" + t: As("*" + t, v)}
        want = x.copy()
        want[0:6, 7:23] = function(x[0:6, 7:23], v[2:8])
        checks.append((t, bits, want))
    launch(module(text).kernel, (1,), **args)
    for t, got, want in checks:
        np.testing.assert_array_equal(bf16_value(got) if t == "bf16" else got, want, err_msg=t)


def test_a_descriptor_in_a_loop_and_in_a_branch():
    """Descriptors are values: chosen by a condition and carried by a loop."""
    text = """
@triton.jit
def kernel(x, y, o, n, which):
    a = tl.make_tensor_descriptor(x, [4, 16], [16, 1], [1, 16])
    b = tl.make_tensor_descriptor(y, [4, 16], [16, 1], [1, 16])
    if which > 0:
        d = a
    else:
        d = b
    total = tl.zeros((1, 16), tl.float32)
    for i in range(n):
        total += d.load([i, 0])
        t = a
        a = b
        b = t
        d = a
    out = tl.make_tensor_descriptor(o, [1, 16], [16, 1], [1, 16])
    out.store([0, 0], total)
"""
    kernel = module(text).kernel
    x, y = (RNG.integers(0, 9, (4, 16)).astype(np.float32) for _ in range(2))
    for which, first in ((1, x), (0, y)):
        o = np.zeros((1, 16), np.float32)
        launch(kernel, (1,), x=x, y=y, o=o, n=As("i32", 3), which=As("i32", which))
        np.testing.assert_array_equal(o[0], first[0] + y[1] + x[2])
