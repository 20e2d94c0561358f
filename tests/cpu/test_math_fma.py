# SPDX-License-Identifier: Apache-2.0
"""tl.fma rounds once, for narrow types too: compared with exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from generate import elementwise
from runner import As, bf16_bits, bf16_value

RNG = np.random.default_rng(17)


def to_nearest(exact, digits, least):
    """A Fraction rounded to so many digits, ties to even; 2^least is the smallest step."""
    if exact == 0:
        return 0.0
    exponent = abs(exact).numerator.bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - digits + 1, least)
    return float(round(exact / step) * step)  # round() of a Fraction: ties to even


def hard(digits, low, high, count):
    """Operands whose products lie on ties between numbers of the type, and addends that decide."""
    a = RNG.integers(2 ** (digits - 1), 2**digits, count) * 2.0 ** RNG.integers(low, high, count)
    b = RNG.integers(2 ** (digits - 1), 2**digits, count) * 2.0 ** RNG.integers(low, high, count)
    c = RNG.integers(2 ** (digits - 1), 2**digits, count) * 2.0 ** RNG.integers(2 * low, high, count)
    signs = RNG.choice([-1.0, 1.0], (3, count))
    # (2^k + 1/2 unit) as a product, with a tiny addend of either sign.
    half = count // 4
    a[:half], b[:half] = 1 + 2.0 ** -(digits // 2), 1 + 2.0 ** -(digits - digits // 2)
    c[:half] = 2.0 ** RNG.integers(2 * low, 0, half)
    return a * signs[0], b * signs[1], c * signs[2]


def test_f16():
    a, b, c = (x.astype(np.float16) for x in hard(11, -15, 2, 3000))
    out, _ = elementwise([("tl.fma(a, b, c)", np.float16)], a=a, b=b, c=c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c)]
    want = np.array([to_nearest(x, 11, -24) for x in exact])
    want[np.abs(want) > 65504] *= np.inf
    np.testing.assert_array_equal(out[0].astype(np.float64), want)
    # The case differs from rounding by way of float in places.
    twice = (a.astype(np.float32) * b.astype(np.float32) + c.astype(np.float32)).astype(np.float16)
    assert np.any(twice != out[0])


def test_bf16():
    """The addend may lie far below the product: 53 bits do not hold the sum."""
    a, b, c = (bf16_bits(x.astype(np.float32)) for x in hard(8, -50, 20, 3000))
    kind = As("*bf16", np.uint16)
    out, _ = elementwise([("tl.fma(a, b, c)", kind)], a=As("*bf16", a), b=As("*bf16", b), c=As("*bf16", c))
    va, vb, vc = (bf16_value(x) for x in (a, b, c))
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(va, vb, vc)]
    want = np.array([to_nearest(x, 8, -133) for x in exact])
    np.testing.assert_array_equal(bf16_value(out[0]).astype(np.float64), want)
    by_double = bf16_bits((va.astype(np.float64) * vb + vc).astype(np.float32))
    assert np.any(by_double != out[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide(dtype):
    digits, least = (24, -149) if dtype == np.float32 else (53, -1074)
    a, b, c = (x.astype(dtype) for x in hard(digits, -60, 2, 2000))
    out, _ = elementwise([("tl.fma(a, b, c)", dtype)], a=a, b=b, c=c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c)]
    np.testing.assert_array_equal(out[0].astype(np.float64), [to_nearest(x, digits, least) for x in exact])
