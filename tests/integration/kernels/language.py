# SPDX-License-Identifier: Apache-2.0
"""What the language offers beside arithmetic: constants, helpers, assertions, prints."""

import language_helpers
import triton
import triton.language as tl
from language_helpers import add_offset as shift

FACTOR = tl.constexpr(3)
NAMES = tl.constexpr(("a", "b"))
PLAIN = 5


@triton.jit
def unrolled(out, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(out + i, i * i)
    for i in tl.static_range(1, N, 2):
        tl.store(out + N + i, i)


@triton.jit
def loops(out, n):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
    i = 0
    while i * i < n:
        i += 1
    tl.store(out, total)
    tl.store(out + 1, i)


@triton.jit
def checked(out, N: tl.constexpr):
    tl.static_assert(N % 4 == 0, "N must be a multiple of four")
    tl.store(out, N)


@triton.jit
def _inner(x):
    return x * FACTOR


@triton.jit
def _outer(x, y):
    return _inner(x) + y, x - y


@triton.jit
def helpers(out, x, y):
    a, b = _outer(x, y)
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, shift(a, b))
    tl.store(out + 3, language_helpers.add_offset(a))
    tl.store(out + 4, language_helpers.SCALE * len(NAMES))


@triton.jit
def plain_global(out):
    tl.store(out, PLAIN)


@triton.jit
def prints(x, n):
    pid = tl.program_id(0)
    tl.device_print("pid", pid)
    o = tl.arange(0, 4)
    tl.device_print("x: ", tl.load(x + o), n)


@triton.jit
def asserts(x, limit):
    o = tl.arange(0, 8)
    tl.device_assert(tl.load(x + o) < limit, "too large")


@triton.jit
def writes_then_asserts(out, good):
    tl.store(out, 1)
    tl.device_assert(good, "is not good")
    tl.store(out + 1, 1)


class Namespace:
    @triton.jit
    def method(out, x):
        tl.store(out, x + 1)
