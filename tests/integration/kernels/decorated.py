# SPDX-License-Identifier: Apache-2.0
"""Kernels under decorators."""

import functools

import triton
import triton.language as tl


def logged(function):
    """A user's decorator."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        raise RuntimeError("the wrapper is Python's business")

    return wrapper


CONFIGS = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)]
EVEN = {"EVEN": lambda args: args["n"] % args["BLOCK"] == 0}


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.heuristics(EVEN)
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + o, tl.load(x + o) + 1)
    else:
        tl.store(out + o, tl.load(x + o, mask=o < n) + 2, mask=o < n)


@triton.heuristics(EVEN)
@triton.jit
def heuristic(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + o, tl.load(x + o) + 1)
    else:
        tl.store(out + o, tl.load(x + o, mask=o < n) + 2, mask=o < n)


@logged
@logged
@triton.jit
def wrapped(x, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n) + 3, mask=o < n)


@logged
@triton.autotune(configs=CONFIGS, key=["n"])
@logged
@triton.heuristics(EVEN)
@triton.jit
def everything(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + o, tl.load(x + o) + 1)
    else:
        tl.store(out + o, tl.load(x + o, mask=o < n) + 2, mask=o < n)


def not_a_kernel(x):
    return x


NUMBER = 5
