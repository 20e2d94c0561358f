# SPDX-License-Identifier: Apache-2.0
"""Control flow with tiles and scalars, calls, random numbers, printing and assertions."""

from __future__ import annotations

import numpy as np
import pytest
from engine import Case, Group, Input, cases, close
from generate import module
from kinds import F32, F64, I32, I64, U32, U64, small
from runner import compile_kernel, launch

RNG = np.random.default_rng(20)

HELPERS = """
@triton.jit
def twice(x):
    return x * 2


@triton.jit(noinline=True)
def apart(x, y):
    return x * 2 + y


@triton.jit(noinline=True)
def several(x, n):
    total = x
    for i in range(n):
        total += i
    return total, x - n


@triton.jit(noinline=True)
def early_apart(x, n):
    if n > 9:
        return x * 7
    return x + 1


@triton.jit
def early(x, n):
    if n > 3:
        return x + 1
    return x - 1


@triton.jit
def deep(x, n: tl.constexpr):
    if n == 0:
        return x
    else:
        return deep(x + n, n - 1)
"""


IF_IN_LOOP = """
x = a
for i in range(five):
    if i % 2 == 0:
        x += b
    else:
        x -= 2 * b
x
"""


def loops():
    """for, while and if with tiles and scalars that are carried; bounds known and unknown to the compiler."""
    n = 64
    for kind in (I32, I64, F32, F64):
        inputs = {"a": Input(kind, small(kind, n, RNG)), "b": Input(kind, small(kind, n, RNG)),
                  "t": Input(I32, np.array([5, 0, 3, -2, 7, 1], np.int32))}  # fmt: skip
        head = """
            k = tl.arange(0, 64)
            a = tl.load(p_a + k)
            b = tl.load(p_b + k)
            five = tl.load(p_t)
            zero = tl.load(p_t + 1)
            three = tl.load(p_t + 2)
            less = tl.load(p_t + 3)
        """
        table = {
            "sum": ("x = a\nfor i in range(five):\n    x += b\nx", lambda a, b: a + 5 * b),
            "static": ("x = a\nfor i in range(5):\n    x += b * i\nx", lambda a, b: a + 10 * b),
            "unrolled": ("x = a\nfor i in tl.static_range(4):\n    x = x * 2 - b\nx", lambda a, b: a * 16 - 15 * b),
            "never": ("x = a\nfor i in range(zero):\n    x += b\nx", lambda a, b: a),
            "down": ("x = a\nfor i in range(five, zero, -2):\n    x = x * 2 + i\nx", lambda a, b: steps(a, (5, 3, 1))),
            "from": ("x = a\nfor i in range(less, five, three):\n    x = x * 2 + i\nx",
                     lambda a, b: steps(a, (-2, 1, 4))),
            "backwards": ("x = a\nfor i in range(five, three):\n    x += b\nx", lambda a, b: a),
            "two": ("x = a\ny = b\nfor i in range(five):\n    x, y = y, x + y\nx", lambda a, b: 3 * a + 5 * b),
            "swap": ("x = a\ny = b\nfor i in range(three):\n    x, y = y, x\nx", lambda a, b: b),
            "nested": ("x = a\nfor i in range(three):\n    for j in range(i, five):\n        x += b * j\nx",
                       lambda a, b: a + sum(j for i in range(3) for j in range(i, 5)) * b),
            "scalar": ("x = a\ns = 1\nfor i in range(five):\n    s = s * 2 + i\n    x += s\nx", scalar_loop),
            "while": ("x = a\ni = five\nwhile i > 0:\n    x += b * i\n    i -= 2\nx", lambda a, b: a + 9 * b),
            "while_sum": ("x = a\nwhile tl.sum(x) < 1000:\n    x += 16\nx", while_sum),
            "while_two": ("x = a\ny = b\ni = 0\nwhile (i < five) & (zero == 0):\n    x, y = y, x\n    i += 1\nx",
                     lambda a, b: b),
            "if": ("x = a\nif five > three:\n    x = a + b\nx", lambda a, b: a + b),
            "if_not": ("x = a\nif five < three:\n    x = a + b\nx", lambda a, b: a),
            "if_else": ("if zero == 0:\n    x = a - b\nelse:\n    x = a + b\nx", lambda a, b: a - b),
            "if_in_loop": (IF_IN_LOOP, lambda a, b: a - b),
            "elif": ("if five == 1:\n    x = a\nelif five == 5:\n    x = b\nelse:\n    x = a + b\nx", lambda a, b: b),
            "ternary": ("x = a + (1 if five > 3 else 2)\nx", lambda a, b: a + 1),
            "reduce_in_loop": ("x = a\nfor i in range(three):\n    x = x - tl.max(x, 0) + i\nx", reducing),
            "tile_and_sum": ("x = a\ns = tl.sum(b, 0)\nfor i in range(three):\n    x += s\n    s = s - s\nx",
                             lambda a, b: a + b.sum()),
            "stages": ("x = a\nfor i in tl.range(0, five, num_stages=3):\n    x += b * i\nx", lambda a, b: a + 10 * b),
            "factor": ("x = a\nfor i in tl.range(five, loop_unroll_factor=2):\n    x += b * i\nx",
                     lambda a, b: a + 10 * b),
            "flattened": ("x = a\nfor i in tl.range(three, flatten=True):\n    for j in range(2):\n        x += b\nx",
                          lambda a, b: a + 6 * b),
            "no_licm": ("x = a\nfor i in tl.range(three, disable_licm=True):\n    x += b\nx", lambda a, b: a + 3 * b),
            "disallow": ("x = a\nfor i in tl.range(three, disallow_acc_multi_buffer=True):\n    x += b\nx",
                         lambda a, b: a + 3 * b),
            "barrier": ("tl.debug_barrier()\nx = a + b\nx", lambda a, b: a + b),
            "hints": ("x = tl.multiple_of(a, 8) + tl.max_contiguous(b, 4)\nx", lambda a, b: a + b),
            "assume": ("tl.assume(five > 0)\nx = a + five\nx", lambda a, b: a + 5),
            "call": ("twice(a) + b", lambda a, b: 2 * a + b),
            "early": ("early(a, five) + early(b, three)", lambda a, b: a + b),
            "deep": ("deep(a, 4)", lambda a, b: a + 10),
            "tuple": ("t = (a, b)\nt[1] - t[0]", lambda a, b: b - a),
        }  # fmt: skip
        if not kind.integer:
            table.pop("hints")
        made = []
        for name, (code, function) in table.items():

            def want(v, function=function):
                return function(v.a, v.b)

            made.append(Case(name, code, kind, want, (n,)))
        yield Group(f"loop-{kind}", (n,), inputs, made, load="", head=head, helpers=HELPERS)


def steps(x, numbers):
    for i in numbers:
        x = x * 2 + i
    return x


def scalar_loop(a, b):
    s, x = 1, a
    for i in range(5):
        s = s * 2 + i
        x = x + s
    return x


def while_sum(a, b):
    while a.sum() < 1000:
        a = a + 16
    return a


def reducing(a, b):
    for i in range(3):
        a = a - a.max() + i
    return a


COLLATZ = """
x = tl.abs(a) + 1
s = 0
while x != 1:
    x = x // 2 if x % 2 == 0 else 3 * x + 1
    s += 1
s
"""


def collatz(x):
    """How many steps lead to 1."""
    count = 0
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        count += 1
    return count


def programs():
    """Every program on its own branch of what the others do."""
    made = [
        Case("branch", "x = a\nif pid % 2 == 0:\n    x = a * 3\nelif pid < 9:\n    x = a - 100\nx", I32,
             lambda v: np.where(np.arange(32) % 2 == 0, v.a * 3, np.where(np.arange(32) < 9, v.a - 100, v.a))),
        Case("loop", "x = a\nfor i in range(pid):\n    x += i\nx", I32,
             lambda v: v.a + np.arange(32) * (np.arange(32) - 1) // 2),
        Case("collatz", COLLATZ, I32,
             lambda v: np.array([collatz(abs(int(x)) + 1) for x in v.a])),
        Case("noinline", "apart(a, pid)", I32, lambda v: 2 * v.a + np.arange(32)),
        Case("noinline_twice", "apart(apart(a, pid), a)", I32, lambda v: 5 * v.a + 2 * np.arange(32)),
        Case("noinline_several", "x, y = several(a, 5)\nx * 1000 + y", I32, lambda v: (v.a + 10) * 1000 + v.a - 5),
        Case("noinline_loop", "x = a\nfor i in range(3):\n    x = apart(x, pid)\nx", I32,
             lambda v: 8 * v.a + 7 * np.arange(32)),
        Case("noinline_early", "early_apart(a, pid)", I32, lambda v: np.where(np.arange(32) > 9, v.a * 7, v.a + 1)),
        Case("ids", "pid * 100 + tl.num_programs(0) + tl.program_id(1) + tl.num_programs(2)", I32,
             lambda v: np.arange(32) * 100 + 33),
        Case("min_max", "min(a, pid) + max(a, 3)", I32, lambda v: np.minimum(v.a, np.arange(32)) + np.maximum(v.a, 3)),
        Case("return", "tl.store({o} + pid, a)\nif pid == 40:\n    return\ntl.store({o} + pid, a + 1)", I32,
             lambda v: v.a + 1, (32,)),
    ]  # fmt: skip
    yield Group("programs", (), {"a": Input(I32, small(I32, 32, RNG, 50))}, made, grid=(32,), helpers=HELPERS)


def philox(seed, offsets):
    """Philox 4x32 with ten rounds, from its paper: the counter is (offset, 0, 0, 0), the key the seed."""
    a, b, c, d = ([int(o) for o in offsets], [0] * len(offsets), [0] * len(offsets), [0] * len(offsets))
    low, high = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p = [0xD2511F53 * x for x in a]
        q = [0xCD9E8D57 * x for x in c]
        a = [(y >> 32) ^ x ^ low for y, x in zip(q, b)]
        c = [(y >> 32) ^ x ^ high for y, x in zip(p, d)]
        b = [y & 0xFFFFFFFF for y in q]
        d = [y & 0xFFFFFFFF for y in p]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return [np.array(x, np.uint32) for x in (a, b, c, d)]


def uniform(bits):
    """Triton's map of 32 bits to [0, 1)."""
    x = bits.view(np.int32).astype(np.int64)
    x = np.where(x < 0, -x - 1, x)
    return x * np.float64(np.float32(4.6566127342e-10))


def randoms():
    """Philox: the same bits for the same seed everywhere."""
    k = np.arange(128)
    for seed in (0, 1, 42, 2**31 - 1, 123456789012345):
        text = f"tl.full((), {seed}, tl.int64)" if seed >= 2**31 else str(seed)
        made = [Case("randint", f"tl.randint({text}, at_128)", U32, lambda v, s=seed: philox(s, k)[0])]
        for number in range(4):
            code = f"w{number} = tl.randint4x({text}, at_128)\nw{number}[{number}]"
            made.append(Case(f"randint4x{number}", code, U32, lambda v, s=seed, i=number: philox(s, k)[i]))

        def normal(v, seed=seed):
            u1, u2 = (uniform(x) for x in philox(seed, k)[:2])
            return np.sqrt(-2 * np.log(np.maximum(u1, 1e-7))) * np.cos(6.283185307179586 * u2)

        made += [
            Case("rand", f"tl.rand({text}, at_128)", F32,
                 lambda v, s=seed: uniform(philox(s, k)[0]), check=close(3e-7)),
            Case("randn", f"tl.randn({text}, at_128)", F32, normal, check=close(2e-5, 2e-5)),
            Case("shifted", f"tl.rand({text}, at_128 * 7 + 100000)", F32,
                 lambda v, s=seed: uniform(philox(s, k * 7 + 100000)[0]), check=close(3e-7)),
        ]  # fmt: skip
        yield Group(f"random-{seed}", (128,), {"a": Input(U64, np.zeros(128, np.uint64))}, made)


@cases([*loops(), *programs(), *randoms()])
def test_control(check, arguments):
    check(*arguments)


PRINTS = """
@triton.jit
def kernel(x, B: tl.constexpr):
    k = tl.arange(0, B)
    a = tl.load(x + k)
    tl.device_print("value", a)
    tl.device_print("scalar", tl.sum(a), 7)
    tl.device_assert(a < LIMIT, "too large")
"""


@pytest.mark.parametrize("kind", ["int32", "float32", "uint8"])
def test_print(kind):
    """Each element is a line; an assertion that holds says nothing."""
    x = np.arange(4).astype(kind)
    program = launch(module(PRINTS.replace("LIMIT", "100")).kernel, (1,), {"debug": True}, x=x, B=4)
    lines = program.prints
    assert sum("value" in line for line in lines) == 4, lines
    assert sum("scalar" in line for line in lines) == 2, lines
    assert not program.failures


def test_assertion():
    """One that does not hold ends the launch with its message."""
    x = np.arange(4, dtype=np.int32)
    program, values = compile_kernel(module(PRINTS.replace("LIMIT", "3")).kernel, {"x": x, "B": 4}, debug=True)
    assert program.run((1,), values) == 1
    (kind, text), *_ = program.failures
    assert kind == 1 and "too large" in text


def test_assertion_off():
    """Without the option debug it is not even there."""
    x = np.arange(4, dtype=np.int32)
    program = launch(module(PRINTS.replace("LIMIT", "3")).kernel, (1,), x=x, B=4)
    assert not program.failures
