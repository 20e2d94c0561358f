# SPDX-License-Identifier: Apache-2.0
"""What Triton's language offers beyond plain arithmetic, written as a kernel author writes it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import triton
from generate import module
from runner import As, bf16_bits, compile_kernel, launch
from test_tiles import run

RNG = np.random.default_rng(21)
K = np.arange


def test_hints_are_accepted_and_change_nothing():
    """Attributes of ranges, promises about values, barriers, and overlap with the kernel before."""
    out = np.zeros(16, np.int32)
    program = run(
        """
tl.extra.cuda.gdc_wait()
for i in tl.range(0, 16, num_stages=3, warp_specialize=True, loop_unroll_factor=4, flatten=True,
                  disallow_acc_multi_buffer=True):
    tl.store(o + i, i * i)
for i in tl.static_range(0, 16, 5):
    tl.store(o + i, -i)
k = tl.max_constancy(tl.max_contiguous(tl.multiple_of(tl.arange(0, 16), 16), 16), 1)
tl.debug_barrier()
tl.assume(tl.program_id(0) >= 0)
tl.store(o + k, tl.load(o + k) + k)
tl.extra.cuda.gdc_launch_dependents()
""",
        {"o": out},
        {},
    )
    want = K(16) ** 2
    want[::5] = -K(0, 16, 5)
    np.testing.assert_array_equal(out, want + K(16))
    assert "__builtin_assume" not in program.c and "unreachable" not in program.c


def test_unrolled_loops_of_any_length():
    made = module("""
@triton.jit
def kernel(o, n):
    s = 0
    for i in tl.range(0, n, loop_unroll_factor=4):
        s += i + 1
    tl.store(o, s)
""")
    out = np.zeros(1, np.int32)
    program, values = compile_kernel(made.kernel, {"o": out, "n": As("i32", 2)})
    for n in (-5, 0, 1, 3, 4, 5, 9):
        assert program.run((1,), [out, n]) == 0 and out[0] == sum(range(1, n + 1)), n


def test_swizzle2d():
    out = np.zeros((2, 12), np.int32)
    run(
        "i = tl.arange(0, 16)\na, b = tl.swizzle2d(i // 4, i % 4, 3, 4, 2)\n"
        "tl.store(o + i, a, mask=i < 12)\ntl.store(o + 12 + i, b, mask=i < 12)",
        {"o": out},
        {},
    )
    want = []
    for at in range(12):  # groups of two rows, columns first inside a group
        group, within = divmod(at, 8)
        rows = min(3 - 2 * group, 2)
        want.append((2 * group + within % rows, within // rows))
    np.testing.assert_array_equal(out.T, want)


def test_shapes():
    x, out = K(64).astype(np.int32), np.zeros((8, 64), np.int32)
    run(
        """
k = tl.arange(0, 64)
h = tl.arange(0, 32)
a = tl.load(x + k)
b = tl.reshape(a, (8, 8))
tl.store(o + k, tl.ravel(tl.trans(b)))
tl.store(o + 64 + k, tl.reshape(b + 0, (64,), can_reorder=True))
tl.store(o + 128 + k, tl.reshape(tl.permute(tl.reshape(a, (4, 4, 4)), (2, 0, 1)), (64,)))
tl.store(o + 192 + k, tl.flip(a, 0))
tl.store(o + 256 + k, tl.reshape(tl.flip(b, 1), (64,)))
tl.store(o + 320 + k, tl.interleave(h, h + 100))
tl.store(o + 384 + k, tl.cat(h, h + 32, can_reorder=True))
l, r = tl.split(tl.reshape(a, (32, 2)))
tl.store(o + 448 + h, l)
tl.store(o + 480 + h, r)
""",
        {"o": out},
        {"x": x},
    )
    b = x.reshape(8, 8)
    want = [b.T.ravel(), None, x.reshape(4, 4, 4).transpose(2, 0, 1).ravel(), x[::-1], b[:, ::-1].ravel(),
            np.stack([K(32), K(32) + 100], 1).ravel(), None, np.concatenate([x[::2], x[1::2]])]  # fmt: skip
    for row, expected in zip(out, want):
        if expected is None:  # any order is right
            row, expected = np.sort(row), x
        np.testing.assert_array_equal(row, expected)


def test_the_item_of_a_tile_of_one():
    out = np.zeros(2, np.float32)
    run(
        "k = tl.arange(0, 1)\na = tl.load(x + 3 + k)\ntl.store(o, a.item() * 2)\n"
        "b = tl.load(x + k[:, None] + k[None, :])\ntl.store(o + 1, b.item() + a.item())\n",
        {"o": out},
        {"x": np.array([5, 0, 0, 1.5], np.float32)},
    )
    assert out.tolist() == [3, 6.5]


def test_clamp_and_nan():
    x = np.array([np.nan, -2, 0.25, 3, np.inf, -np.inf, 0, -0.5], np.float32)
    out = np.zeros((2, 8), np.float32)
    run(
        "k = tl.arange(0, 8)\na = tl.load(x + k)\ntl.store(o + k, tl.clamp(a, -1.0, 1.0))\n"
        "tl.store(o + 8 + k, tl.clamp(a, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL))\n",
        {"o": out},
        {"x": x},
    )
    want = np.clip(x, -1, 1)
    np.testing.assert_array_equal(out[1], want)
    want[0] = -1  # fmin(fmax(NaN, -1), 1)
    np.testing.assert_array_equal(out[0], want)


def philox(counter, key):
    """The ten rounds of Philox 4x32, from the paper."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high, low = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [low >> 32 ^ c[1] ^ k[0], low & 0xFFFFFFFF, high >> 32 ^ c[3] ^ k[1], high & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_random_numbers():
    out, uniform, normal = np.zeros((5, 64), np.uint32), np.zeros((2, 64), np.float32), np.zeros(64, np.float32)
    run(
        """
k = tl.arange(0, 64)
a, b, c, d = tl.randint4x(SEED, k)
tl.store(o + k, a)
tl.store(o + 64 + k, b)
tl.store(o + 128 + k, c)
tl.store(o + 192 + k, d)
tl.store(o + 256 + k, tl.randint(SEED, k))
u, v, _, _ = tl.rand4x(SEED, k)
tl.store(f + k, u)
tl.store(f + 64 + k, v)
tl.store(g + k, tl.randn(SEED, k))
""",
        {"o": As("*u32", out), "f": uniform, "g": normal},
        {},
        SEED=0x123456789,
    )
    want = np.array([philox([i, 0, 0, 0], [0x23456789, 1]) for i in range(64)], np.uint32).T
    np.testing.assert_array_equal(out[:4], want)
    np.testing.assert_array_equal(out[4], want[0])
    signed = want[:2].astype(np.int32)
    u = np.where(signed < 0, -signed - 1, signed).astype(np.float64) * 4.6566127342e-10
    np.testing.assert_allclose(uniform, u, rtol=1e-6)
    box = np.sqrt(-2 * np.log(np.maximum(1e-7, u[0]))) * np.cos(2 * np.pi * u[1])
    np.testing.assert_allclose(normal, box, rtol=2e-5, atol=2e-6)


@pytest.mark.skipif(not triton.__version__.startswith("3.6."), reason="Triton 3.9 has no block pointers any more")
def test_block_pointers():
    """Bounds are checked along the dimensions asked for; what lies outside is padded, or not written."""
    x = RNG.standard_normal((7, 10)).astype(np.float32)
    out, nan, zero, half = np.full((7, 10), 9, np.float32), *(np.full((4, 8), 9, np.float32) for _ in range(3))
    run(
        """
p = tl.make_block_ptr(x, (7, 10), (10, 1), (0, 0), (4, 8), (1, 0))
q = tl.make_block_ptr(o, (7, 10), (10, 1), (4, 4), (4, 8), (1, 0))
at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
tl.store(half + at, tl.load(p))
for i in range(2):
    p = tl.advance(p, (2, 2))
v = tl.load(p, boundary_check=(0, 1), padding_option="nan")
tl.store(nan + at, v)
tl.store(zero + at, tl.load(tl.advance(p, (0, -4)), boundary_check=(0,), padding_option="zero"))
tl.store(q, v + 1, boundary_check=(0, 1))
""",
        {"o": out, "nan": nan, "zero": zero, "half": half},
        {"x": x},
    )
    want = np.full((4, 8), np.nan, np.float32)
    want[:3, :6] = x[4:, 4:]
    np.testing.assert_array_equal(nan, want)
    np.testing.assert_array_equal(half, x[:4, :8])
    want = np.zeros((4, 8), np.float32)
    want[:3] = x[4:, :8]
    np.testing.assert_array_equal(zero, want)
    want = np.full((7, 10), 9, np.float32)
    want[4:, 4:] = x[4:, 4:] + 1
    np.testing.assert_array_equal(out, want)


def test_cache_modifiers_and_eviction_policies():
    hints = ['cache_modifier=".ca"', 'cache_modifier=".cg"', 'cache_modifier=".cv"', 'eviction_policy="evict_first"',
             'eviction_policy="evict_last"', "volatile=True"]  # fmt: skip
    body = "k = tl.arange(0, 32)\n"
    for n, hint in enumerate(hints):
        body += f"tl.store(o + {32 * n} + k, tl.load(x + k, {hint}) + {n})\n"
    for n, hint in enumerate(['cache_modifier=".wb"', 'cache_modifier=".cs"', 'eviction_policy="evict_last"'], 6):
        body += f"tl.store(o + {32 * n} + k, tl.load(x + k) + {n}, {hint})\n"
    x, out = K(32).astype(np.float32), np.zeros((9, 32), np.float32)
    run(body, {"o": out}, {"x": x})
    np.testing.assert_array_equal(out, x + K(9)[:, None])


def test_histogram_with_mask_and_gather_on_any_axis():
    data = RNG.integers(0, 16, 128).astype(np.int32)
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    first, last = RNG.integers(0, 8, (4, 16)).astype(np.int32), RNG.integers(0, 16, (8, 32)).astype(np.int32)
    outs = {"h": np.zeros((2, 16), np.int32), "p": np.zeros((4, 16), np.float32), "q": np.zeros((8, 32), np.float32)}
    run(
        """
k = tl.arange(0, 128)
b = tl.arange(0, 16)
d = tl.load(data + k)
tl.store(h + b, tl.histogram(d, 16, mask=k < 100))
tl.store(h + 16 + b, tl.histogram(d + 4, 16, mask=d < 12))
a = tl.load(x + tl.arange(0, 8)[:, None] * 16 + b[None, :])
i = tl.arange(0, 4)[:, None] * 16 + b[None, :]
j = tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :]
tl.store(p + i, tl.gather(a, tl.load(first + i), 0))
tl.store(q + j, tl.gather(a, tl.load(last + j), 1))
""",
        outs,
        {"data": data, "x": x, "first": first, "last": last},
    )
    np.testing.assert_array_equal(outs["h"][0], np.bincount(data[:100], minlength=16))
    np.testing.assert_array_equal(outs["h"][1], np.bincount(data[data < 12] + 4, minlength=16))
    np.testing.assert_array_equal(outs["p"], np.take_along_axis(x, first, 0))
    np.testing.assert_array_equal(outs["q"], np.take_along_axis(x, last, 1))


def test_ties_of_argmax_and_argmin():
    """The leftmost one by default; with tie_break_left=False any of the extreme ones is right."""
    x = RNG.integers(0, 4, (4, 32)).astype(np.float32)
    out = np.zeros((6, 4), np.int32)
    run(
        """
i = tl.arange(0, 4)
a = tl.load(x + i[:, None] * 32 + tl.arange(0, 32)[None, :])
tl.store(o + i, tl.argmax(a, 1))
tl.store(o + 4 + i, tl.argmin(a, 1))
tl.store(o + 8 + i, tl.max(a, 1, return_indices=True)[1])
tl.store(o + 12 + i, tl.min(a, 1, return_indices=True, return_indices_tie_break_left=True)[1])
tl.store(o + 16 + i, tl.argmax(a, 1, tie_break_left=False))
tl.store(o + 20 + i, tl.argmin(a, 1, tie_break_left=False))
""",
        {"o": out},
        {"x": x},
    )
    for got, want in zip(out, [x.argmax(1), x.argmin(1)] * 2):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x[K(4), out[4]], x.max(1))
    np.testing.assert_array_equal(x[K(4), out[5]], x.min(1))


def test_sort_and_topk():
    x = RNG.integers(0, 9, (2, 16)).astype(np.int32)
    up, down, top = np.zeros((2, 16), np.int32), np.zeros((2, 16), np.int32), np.zeros((2, 4), np.int32)
    run(
        """
i = tl.arange(0, 2)[:, None]
p = i * 16 + tl.arange(0, 16)[None, :]
a = tl.load(x + p)
tl.store(up + p, tl.sort(a))
tl.store(down + p, tl.sort(a, descending=True))
tl.store(top + i * 4 + tl.arange(0, 4)[None, :], tl.topk(a, 4))
""",
        {"up": up, "down": down, "top": top},
        {"x": x},
    )
    want = np.sort(x, 1)
    np.testing.assert_array_equal(up, want)
    np.testing.assert_array_equal(down, want[:, ::-1])
    np.testing.assert_array_equal(top, want[:, ::-1][:, :4])


COMBINE = """
@triton.jit
def first_positive(a, b):
    return tl.where(a > 0, a, b)


@triton.jit
def early(a, b):
    if a > 0:
        return a
    return b


@triton.jit
def branch(a, b):
    if a > b:
        r = a
    else:
        r = b
    return r


@triton.jit
def second(a, b):
    return b


@triton.jit
def recurrence(s, a, t, b):
    return s * t, a * t + b
"""


def folded(function, row):
    """All partial results from left to right."""
    out = [row[0]]
    for v in row[1:]:
        out.append(function(out[-1], v))
    return out


@pytest.mark.parametrize("name", ["first_positive", "early", "branch", "second"])
def test_reductions_and_scans_by_any_function(name):
    """Functions that do not commute, with branches and early returns; forwards and backwards."""
    function = {"branch": max, "second": lambda a, b: b}.get(name, lambda a, b: a if a > 0 else b)
    x = RNG.integers(-99, 30, (4, 64)).astype(np.float32)
    x[2, :40] = -1
    outs = {"r": np.zeros(4, np.float32), "s": np.zeros((4, 64), np.float32), "t": np.zeros((4, 64), np.float32)}
    run(
        f"""
i = tl.arange(0, 4)
p = i[:, None] * 64 + tl.arange(0, 64)[None, :]
a = tl.load(x + p)
tl.store(s + p, tl.associative_scan(a, 1, {name}))
tl.store(t + p, tl.associative_scan(a, 1, {name}, reverse=True))
tl.store(r + i, tl.reduce(a, 1, {name}))
""",
        outs,
        {"x": x},
        signature=COMBINE,
    )
    want = np.array([folded(function, row) for row in x])
    np.testing.assert_array_equal(outs["s"], want)
    np.testing.assert_array_equal(outs["r"], want[:, -1])
    np.testing.assert_array_equal(outs["t"], np.array([folded(function, row[::-1]) for row in x])[:, ::-1])


def test_a_recurrence_as_a_scan():
    """Two operands, not commutative: y[i] = s[i] * y[i - 1] + x[i]."""
    s, x = RNG.choice([0.5, 1.0, -1.0], (2, 32)).astype(np.float32), RNG.integers(-9, 9, (2, 32)).astype(np.float32)
    outs = {"y": np.zeros((2, 32), np.float32), "last": np.zeros(2, np.float32)}
    run(
        """
i = tl.arange(0, 2)
p = i[:, None] * 32 + tl.arange(0, 32)[None, :]
a, b = tl.associative_scan((tl.load(s + p), tl.load(x + p)), 1, recurrence)
tl.store(y + p, b)
c, d = tl.reduce((tl.load(s + p), tl.load(x + p)), 1, recurrence)
tl.store(last + i, d)
""",
        outs,
        {"s": s, "x": x},
        signature=COMBINE,
    )
    want = np.zeros((2, 32))
    for i in range(32):
        want[:, i] = s[:, i].astype(np.float64) * (want[:, i - 1] if i else 0) + x[:, i]
    np.testing.assert_allclose(outs["y"], want, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(outs["last"], want[:, -1], rtol=1e-5, atol=1e-4)


def test_map_elementwise_with_loops_branches_and_packs():
    made = module("""
@triton.jit
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@triton.jit
def odd(a, b):
    if a == 0:
        return b
    if b == 0:
        return a
    s = 0
    for i in range(a):
        s += i * b
        if s > 100:
            s -= 7
    return s


@triton.jit
def two(a, b, c, d):
    if a > c:
        return a, b, c + d, d
    else:
        return c, d, a - b, a


@triton.jit
def kernel(x, y, o):
    k = tl.arange(0, 32)
    m = k < 29
    a = tl.load(x + k, mask=m, other=3)
    b = tl.load(y + k, mask=m, other=4)
    tl.store(o + k, tl.map_elementwise(gcd, a, b), mask=m)
    tl.store(o + 32 + k, tl.map_elementwise(odd, a, b) + tl.map_elementwise(gcd, b, a))
    p, q = tl.map_elementwise(two, a, b, pack=2)
    tl.store(o + 64 + k, p)
    tl.store(o + 96 + k, q)
""")

    def odd(a, b):
        if a == 0 or b == 0:
            return a + b
        s = 0
        for i in range(a):
            s += i * b
            s -= 7 if s > 100 else 0
        return s

    x, y = (RNG.integers(0, 9, 32).astype(np.int32) for _ in range(2))
    out = np.zeros((4, 32), np.int32)
    launch(made.kernel, (1,), x=x, y=y, o=out)
    x[29:], y[29:] = 3, 4
    want = np.zeros((4, 32), np.int32)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist())):
        want[0, i] = math.gcd(a, b) if i < 29 else 0
        want[1, i] = odd(a, b) + math.gcd(a, b)
    for i in range(0, 32, 2):
        a, b, c, d = *x[i : i + 2], *y[i : i + 2]
        want[2, i], want[2, i + 1], want[3, i], want[3, i + 1] = (a, b, c + d, d) if a > c else (c, d, a - b, a)
    np.testing.assert_array_equal(out, want)


def test_a_while_loop_that_carries_tiles_and_scalars():
    made = module("""
@triton.jit
def kernel(x, o):
    k = tl.arange(0, 8)
    a = tl.load(x + k)
    b = a * 0
    i = 0
    j = 100
    while (i < 10) & (tl.sum(a) < 1000):
        a, b = b + 1, a + i
        i += 1
        j -= i
        if i == 7:
            j = j * 2
    tl.store(o + k, a)
    tl.store(o + 8 + k, b + j)
""")
    x, out = K(8).astype(np.int32), np.zeros(16, np.int32)
    launch(made.kernel, (1,), x=x, o=out)
    a, b, i, j = x.copy(), x * 0, 0, 100
    while i < 10 and a.sum() < 1000:
        a, b = b + 1, a + i
        i += 1
        j -= i
        if i == 7:
            j *= 2
    np.testing.assert_array_equal(out, np.concatenate([a, b + j]))


def test_overflow_checks_with_their_operation():
    """What the front end adds under sanitize_overflow: one assertion an addition, subtraction, product."""
    limit = 2**31 - 1
    for expression, word, good, bad in (
        ("n + m", "add", (limit - 5, 5), (limit, 5)),
        ("n - m", "sub", (limit - 5, -5), (limit, -5)),
        ("n * m", "mul", (46340, 46340), (46341, 46341)),
    ):
        made = module(f"@triton.jit\ndef kernel(o, n, m):\n    tl.store(o, {expression})\n")
        out = np.zeros(1, np.int32)
        args = {"o": out, "n": As("i32", 7), "m": As("i32", 9)}
        program, _ = compile_kernel(made.kernel, args, debug=True, sanitize_overflow=True)
        assert program.run((1,), [out, *good]) == 0
        assert program.run((1,), [out, *bad]) == 1
        ((_, message),) = program.failures
        assert f"{made.__file__}:8: device_assert failed: int32 overflow detected for operation {word}" in message
        program, _ = compile_kernel(made.kernel, args, debug=True, sanitize_overflow=False)
        assert program.run((1,), [out, *bad]) == 0


def test_what_device_print_writes():
    """One line an element in the format of Triton's GPU backends."""
    made = module("""
@triton.jit
def kernel(x, b, h, n, f):
    k = tl.arange(0, 2)
    tl.device_print("ptr", x)
    tl.device_print("f", tl.load(x + k), n, f)
    tl.device_print("bf:", tl.load(b + k))
    tl.device_print("u8 ", tl.load(h + k))
    tl.device_print("u8", tl.load(h + k), hex=True)
    tl.device_print("cmp", k > 0)
    tl.device_print("i64", k.to(tl.int64) - 1)
    tl.device_print("hexf", tl.load(x + k), hex=True)
    print("py", n)
""")
    x = np.array([1.5, -2], np.float32)
    program = launch(
        made.kernel,
        (1,),
        x=x,
        b=As("*bf16", bf16_bits(x)),
        h=np.array([200, 3], np.uint8),
        n=As("u32", 4000000000),
        f=0.25,
    )
    lines = [line.removeprefix("pid (0, 0, 0) idx ") for line in program.prints]
    assert lines == [
        f"() ptr: {x.ctypes.data:#x}",
        "(0) f: (operand 0) 1.500000", "(1) f: (operand 0) -2.000000", "() f: (operand 1) 4000000000",
        "() f: (operand 2) 0.250000", "(0) bf: 1.500000", "(1) bf: -2.000000", "(0) u8: 200", "(1) u8: 3",
        "(0) u8: 0xc8", "(1) u8: 0x03", "(0) cmp: 0", "(1) cmp: 1", "(0) i64: -1", "(1) i64: 0",
        "(0) hexf: 0x3fc00000", "(1) hexf: 0xc0000000", "() py: 4000000000",
    ]  # fmt: skip
