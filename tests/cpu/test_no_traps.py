# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that C leaves undefined: no trap, and the same result in scalars, tiles and loops that vectorise.

x / 0 and x % 0 are 0, the most negative number divided by -1 wraps, shifts beyond the width give
what an endless shift gives, floats that an integer type cannot hold saturate, NaN becomes 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from generate import module
from runner import As, launch
from test_tiles import run

SIGNED = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
UNSIGNED = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


def divided(a: int, b: int) -> tuple[int, int]:
    """Quotient and remainder towards zero."""
    if b == 0:
        return 0, 0
    q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return q, a - q * b


def wrapped(v: int, dtype) -> int:
    """The number modulo the width of a type."""
    bits = np.iinfo(dtype).bits
    v %= 1 << bits
    return v - (1 << bits) if np.iinfo(dtype).min < 0 and v >> (bits - 1) else v


def pairs(dtype) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of 16 special numbers."""
    info = np.iinfo(dtype)
    bits = info.bits
    special = [0, 1, 2, 3, 7, bits - 1, bits, bits + 1, 100, info.max, info.max - 1, info.min, info.min + 1,
               *([-1, -2, -bits] if info.min else [info.max // 2, info.max // 2 + 1, 5])]  # fmt: skip
    a, b = np.meshgrid(np.array(special, dtype), np.array(special, dtype))
    return a.ravel(), b.ravel()


BODY = """
k = tl.arange(0, 256)
a = tl.load(x + k)
b = tl.load(y + k)
tl.store(o + k, a // b)
tl.store(o + 256 + k, a % b)
tl.store(o + 512 + k, a << b)
tl.store(o + 768 + k, a >> b)
for i in range(0, 256):
    c = tl.load(x + i)
    d = tl.load(y + i)
    tl.store(p + i, c // d)
    tl.store(p + 256 + i, c % d)
    tl.store(p + 512 + i, c << d)
    tl.store(p + 768 + i, c >> d)
"""


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
def test_integer_corners(name):
    dtype = {**SIGNED, **UNSIGNED}[name]
    x, y = pairs(dtype)
    out, one = np.full((4, 256), 9, dtype), np.full((4, 256), 9, dtype)
    run(BODY, {"o": As("*" + name, out), "p": As("*" + name, one)}, {"x": As("*" + name, x), "y": As("*" + name, y)})
    bits = np.iinfo(dtype).bits
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist())):
        quotient, remainder = divided(a, b)
        amount = min(b % (1 << bits), bits)  # a negative one is a large one
        want = [wrapped(v, dtype) for v in (quotient, remainder, a << amount, a >> amount)]
        assert out[:, i].tolist() == want, (a, b)
        assert one[:, i].tolist() == want, (a, b)


def test_constant_corners():
    """What the front end or the C compiler could compute in advance."""
    out = np.full(8, 9, np.int32)
    made = module("""
@triton.jit
def kernel(o, x, ZERO: tl.constexpr):
    a = tl.load(x)
    zero = tl.full((), ZERO, tl.int32)
    tl.store(o, a // zero)
    tl.store(o + 1, a % zero)
    tl.store(o + 2, tl.full((), -2147483648, tl.int32) // tl.full((), -1, tl.int32))
    tl.store(o + 3, tl.full((), -2147483648, tl.int32) % tl.full((), -1, tl.int32))
    tl.store(o + 4, a << tl.full((), 40, tl.int32))
    tl.store(o + 5, a >> tl.full((), 40, tl.int32))
    tl.store(o + 6, tl.full((), 3e9, tl.float32).to(tl.int32))
    tl.store(o + 7, tl.cdiv(a, zero))
""")
    launch(made.kernel, (1,), o=out, x=np.array([-17], np.int32), ZERO=0)
    assert out.tolist()[:2] == [0, 0] and out.tolist()[3:6] == [0, 0, -1] and out[2] == -(2**31)
    assert out[7] == 0


@pytest.mark.parametrize("source", ["fp16", "bf16", "fp32", "fp64"])
def test_floats_that_no_integer_holds(source):
    """To every integer type, tile and scalar."""
    values = [
        0.0,
        -0.0,
        0.5,
        -0.99,
        1.0,
        -1.0,
        127.9,
        128.0,
        -129.0,
        255.5,
        256.0,
        3e4,
        -3e4,
        6e4,
        np.inf,
        -np.inf,
        np.nan,
    ]
    if source in ("fp32", "fp64", "bf16"):
        values += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, 2147483520.0]
    x = np.zeros(64, np.float64)
    x[: len(values)] = values
    if source == "bf16":
        top = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)  # towards zero
        x, held = (top.astype(np.uint32) << 16).view(np.float32).astype(np.float64), top
    else:
        held = x.astype({"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[source])
        x = held.astype(np.float64)
    types = {**SIGNED, **UNSIGNED}
    longs = {"i": "tl.int", "u": "tl.uint"}
    body, outs = "k = tl.arange(0, 64)\na = tl.load(x + k)\n", {}
    for name, dtype in types.items():
        outs[name] = np.full(128, 9, dtype)
        body += f"tl.store({name} + k, a.to({longs[name[0]]}{name[1:]}))\n"
    body += "for i in range(0, 64):\n    b = tl.load(x + i)\n"
    for name in types:
        body += f"    tl.store({name} + 64 + i, b.to({longs[name[0]]}{name[1:]}))\n"
    run(body, {n: As("*" + n, a) for n, a in outs.items()}, {"x": As("*" + source, held)})
    for name, dtype in types.items():
        info = np.iinfo(dtype)
        want = [0 if np.isnan(v) else int(min(max(np.trunc(v), info.min), info.max)) if np.isfinite(v)
                else info.max if v > 0 else info.min for v in x]  # fmt: skip
        want = [min(max(w, info.min), info.max) for w in want]
        assert outs[name][:64].tolist() == want, name
        assert outs[name][64:].tolist() == want, name


def test_division_inside_reductions_and_scans():
    """The order in which a function that is not associative is applied is open; only the first results are sure."""
    x = np.array([-(2**31), -1, 0, 5, 0, 7, -1, 3], np.int32)
    out, total = np.zeros(8, np.int32), np.zeros(1, np.int32)
    run(
        "k = tl.arange(0, 8)\na = tl.load(x + k)\ntl.store(o + k, tl.associative_scan(a, 0, over))\n"
        "tl.store(t, tl.reduce(a, 0, over))\n",
        {"o": out, "t": total},
        {"x": x},
        signature="@triton.jit\ndef over(a, b):\n    return a // b\n",
    )
    assert out.tolist()[:2] == [-(2**31), -(2**31)]
