# SPDX-License-Identifier: Apache-2.0
"""Conversions to and from the narrow floating-point types, bit by bit."""

import numpy as np
import pytest
from generate import elementwise
from runner import As

RNG = np.random.default_rng(3)


def decode(code, exponent_bits, mantissa_bits, bias):
    """The value of a code without sign, infinities and NaN aside."""
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


# Triton's name in tl -> (pointer type, exponent bits, mantissa bits, bias, codes of finite magnitudes)
FP8 = {
    "float8e4nv": ("*fp8e4nv", 4, 3, 7, 0x7F),
    "float8e5": ("*fp8e5", 5, 2, 15, 0x7C),
    "float8e4b8": ("*fp8e4b8", 4, 3, 8, 0x80),
    "float8e5b16": ("*fp8e5b16", 5, 2, 16, 0x80),
    "float8e4b15": ("*fp8e4b15", 4, 3, 15, 0x80),
}


def values(name):
    _, e, m, bias, count = FP8[name]
    return np.array([decode(c, e, m, bias) for c in range(count)])


def table(name):
    """The value of each of the 256 codes."""
    positive = values(name)
    out = np.full(256, np.nan)
    out[: len(positive)] = positive
    out[128 : 128 + len(positive)] = -positive
    if name == "float8e5":
        out[0x7C], out[0xFC] = np.inf, -np.inf
    if name in ("float8e4b8", "float8e5b16"):
        out[0x80] = np.nan
    return out


def encode(x, name, towards_zero=False):
    """To nearest even (or towards zero) by search; too large gives the largest."""
    positive = values(name)
    magnitude = np.minimum(np.abs(x.astype(np.float64)), positive[-1])
    magnitude = np.where(np.isnan(x), 0, magnitude)
    low = np.searchsorted(positive, magnitude, side="right") - 1
    high = np.minimum(low + 1, len(positive) - 1)
    below, above = magnitude - positive[low], positive[high] - magnitude
    up = (above < below) | ((above == below) & (low % 2 == 1))
    code = low if towards_zero else np.where(up, high, low)
    signed = code | np.where(np.signbit(x), 0x80, 0)
    if name in ("float8e4b8", "float8e5b16"):
        signed = np.where(code == 0, 0, signed)
    return signed.astype(np.uint8)


def nan_codes(name):
    return {"float8e4nv": {0x7F, 0xFF}, "float8e5": {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}}.get(name, {0x80})


@pytest.mark.parametrize("name", list(FP8))
def test_fp8_up(name):
    codes = np.arange(256, dtype=np.uint8)
    kinds = [("a.to(tl.float32)", np.float32), ("a.to(tl.float16)", np.float16)]
    if name != "float8e4b15":
        kinds.append(("a.to(tl.bfloat16).to(tl.float32)", np.float32))
    out, _ = elementwise(kinds, a=As(FP8[name][0], codes))
    want = table(name)
    for got in out:
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(got[~nan].astype(np.float64), want[~nan])
        np.testing.assert_array_equal(np.signbit(got[~nan]), np.signbit(want[~nan]))


def samples(name):
    """Numbers around everything that matters: codes, midpoints, neighbours, specials, all magnitudes."""
    v = values(name).astype(np.float32)
    mid = ((v[1:].astype(np.float64) + v[:-1]) / 2).astype(np.float32)
    points = np.concatenate([v, mid, [v[-1] * 1.0625, v[-1] * 2, 1e30, np.inf]]).astype(np.float32)
    around = np.concatenate([points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(0))])
    random = (RNG.standard_normal(4000) * 2.0 ** RNG.integers(-25, 20, 4000)).astype(np.float32)
    every = np.concatenate([around, random]).astype(np.float32)
    return np.concatenate([every, -every, np.array([np.nan], np.float32)])


@pytest.mark.parametrize("name", [n for n in FP8 if n != "float8e4b15"])
def test_fp8_down(name):
    x = samples(name)
    kind = As(FP8[name][0], np.uint8)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    out, _ = elementwise(
        [
            (f"a.to(tl.{name})", kind),
            (f"a.to(tl.{name}, fp_downcast_rounding='rtz')", kind),
            (f"b.to(tl.{name})", kind),
        ],
        block=1024,
        a=x,
        b=half,
    )
    for got, source, zero in ((out[0], x, False), (out[1], x, True), (out[2], half, False)):
        nan = np.isnan(source)
        np.testing.assert_array_equal(got[~nan], encode(source, name, zero)[~nan])
        assert set(got[nan]) <= nan_codes(name)


def test_fp8e4b15_down():
    """As Triton does it on GPUs: towards zero to fp16, then half up, at most 1.75."""
    x = samples("float8e4b15")
    x = x[~np.isnan(x)]
    half = np.abs(x.astype(np.float64))
    with np.errstate(over="ignore"):
        near = x.astype(np.float16)
    bits = near.view(np.uint16)
    away = np.abs(near.astype(np.float64)) > half
    bits = np.where(away, bits - 1, bits).astype(np.uint32)
    magnitude = np.minimum(bits & 0x7FFF, 0x3F00)
    want = (((magnitude * 2 + 0x80) >> 8) | ((bits & 0x8000) >> 8)).astype(np.uint8)
    out, _ = elementwise([("a.to(tl.float8e4b15)", As("*fp8e4b15", np.uint8))], block=1024, a=x)
    np.testing.assert_array_equal(out[0], want)


def test_f16_and_bf16():
    every = np.arange(65536, dtype=np.uint16)
    out, _ = elementwise(
        [
            ("a.to(tl.float32)", np.float32),
            ("a", np.float16),
            ("b.to(tl.float32)", np.float32),
            ("b", As("*bf16", np.uint16)),
        ],
        block=4096,
        a=every.view(np.float16),
        b=As("*bf16", every),
    )
    want = every.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(out[0], want)
    np.testing.assert_array_equal(out[1].view(np.uint16), every)  # copied bit for bit, NaN payloads too
    np.testing.assert_array_equal(out[2].view(np.uint32), every.astype(np.uint32) << 16)
    np.testing.assert_array_equal(out[3], every)
    # Down: all midpoints and their neighbours, and random numbers.
    finite = want[np.isfinite(want)]
    up = np.nextafter(finite.astype(np.float16), np.float16(np.inf)).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        mid = (finite + np.where(np.isfinite(up), up, finite)) / 2
        x = np.concatenate(
            [
                finite,
                mid,
                np.nextafter(mid, np.float32(np.inf)),
                np.nextafter(mid, np.float32(-np.inf)),
                (RNG.standard_normal(20000) * 2.0 ** RNG.integers(-40, 40, 20000)).astype(np.float32),
                np.array([65519.99, 65520, 65536, -65520, np.inf, -np.inf, 1e-45, 3.4e38], np.float32),
            ]
        ).astype(np.float32)
        out, _ = elementwise(
            [
                ("a.to(tl.float16)", np.float16),
                ("a.to(tl.float16, fp_downcast_rounding='rtz')", np.float16),
                ("a.to(tl.bfloat16)", As("*bf16", np.uint16)),
                ("a.to(tl.bfloat16, fp_downcast_rounding='rtz')", As("*bf16", np.uint16)),
            ],
            block=4096,
            a=x,
        )
        np.testing.assert_array_equal(out[0].view(np.uint16), x.astype(np.float16).view(np.uint16))
        near = x.astype(np.float16)
        away = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
        np.testing.assert_array_equal(
            out[1].view(np.uint16), np.where(away, near.view(np.uint16) - 1, near.view(np.uint16))
        )
        bits = x.view(np.uint32)
        np.testing.assert_array_equal(out[2], ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16))
        np.testing.assert_array_equal(out[3], (bits >> 16).astype(np.uint16))


def test_f64_rounds_once():
    """double to a narrow type is one rounding, not two."""
    base = np.array([1.0, 1.5, 2.0**-14, 2.0**-20, 1000.0])
    tie = base * (1 + 2.0**-11)
    x = np.concatenate(
        [
            tie,
            tie * (1 + 2.0**-40),
            tie * (1 - 2.0**-40),
            base * (1 + 2.0**-8 + 2.0**-45),
            base,
            -tie * (1 + 2.0**-50),
            RNG.standard_normal(500),
            [1e300, -1e300, 1e-300, np.inf, 0.0, -0.0],
        ]
    )
    with np.errstate(over="ignore"):
        out, _ = elementwise([("a.to(tl.float16)", np.float16), ("a.to(tl.float32)", np.float32)], a=x)
        np.testing.assert_array_equal(out[0].view(np.uint16), x.astype(np.float16).view(np.uint16))
        np.testing.assert_array_equal(out[1], x.astype(np.float32))


def test_bit_casts():
    a = RNG.integers(-(2**31), 2**31, 300).astype(np.int32)
    h = RNG.integers(0, 2**16, 300).astype(np.uint16)
    out, _ = elementwise(
        [
            ("a.to(tl.float32, bitcast=True)", np.float32),
            ("(h.to(tl.float16, bitcast=True) * 1.0).to(tl.float32)", np.float32),
            ("h.to(tl.float16, bitcast=True).to(tl.int16, bitcast=True)", np.int16),
            ("(h & 255).to(tl.uint8).to(tl.float8e5, bitcast=True).to(tl.float32)", np.float32),
        ],
        a=a,
        h=h,
    )
    np.testing.assert_array_equal(out[0].view(np.int32), a)
    np.testing.assert_array_equal(out[1], h.view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(out[2], h.view(np.int16))
    np.testing.assert_array_equal(out[3], table("float8e5")[h & 255].astype(np.float32))
