# SPDX-License-Identifier: Apache-2.0
"""Kernels with nothing wrong: what is wrong is the call, or the machine."""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def typed_kernel(
    out: "*i64",  # noqa: F722
    small: tl.int8,
    natural: tl.uint32,
    wide: tl.int64,
    half: tl.float16,
    flag: tl.int1,
):
    tl.store(out, small + natural + wide + half.to(tl.int64) + flag.to(tl.int64))


@triton.jit
def pair_kernel(out, pair):
    tl.store(out, pair[0] + pair[1])


@triton.jit
def defaults_kernel(out, value=7, SHIFT: tl.constexpr = 1):
    tl.store(out, value << SHIFT)


@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, offsets, mask=offsets < n)
