# SPDX-License-Identifier: Apache-2.0
"""The element types of Triton, and exact arithmetic on them for references.

A reference never trusts the arithmetic that is under test: integers are Python's, floating-point
results are computed in double precision and rounded once to the type by its table of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kind:
    """An element type."""

    name: str  # in the names of cases
    tl: str  # in a kernel
    pointer: str  # in a signature, without the star
    store: Any  # the NumPy type that holds it in memory; bits for what NumPy lacks
    bits: int
    integer: bool = False
    exponent: int = 0  # bits of the exponent, of the mantissa, bias
    mantissa: int = 0
    bias: int = 0
    finite: int = 0  # how many codes from 0 on are finite and not negative
    infinite: bool = True  # has infinities; otherwise conversions saturate

    @property
    def signed(self) -> bool:
        """An integer type with a sign."""
        return self.name[0] == "i"

    @property
    def low(self) -> int:
        """The least integer."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The greatest integer."""
        return (1 << (self.bits - self.signed)) - 1

    @property
    def narrow(self) -> bool:
        """A floating-point type that is kept as bits or in half a word."""
        return not self.integer and self.bits < 32

    @property
    def fp8(self) -> bool:
        """One of the 8-bit floating-point types."""
        return not self.integer and self.bits == 8

    def __str__(self) -> str:
        return self.name


def _integer(name: str, bits: int) -> Kind:
    long = ("int" if name[0] == "i" else "uint") + str(bits)
    return Kind(name, f"tl.{long}", name, np.dtype(long).type, bits, True)


I8, I16, I32, I64 = (_integer(f"i{b}", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (_integer(f"u{b}", b) for b in (8, 16, 32, 64))
B1 = Kind("b1", "tl.int1", "i1", np.bool_, 1, True)
F16 = Kind("f16", "tl.float16", "fp16", np.float16, 16, False, 5, 10, 15, 0x7C00)
BF16 = Kind("bf16", "tl.bfloat16", "bf16", np.uint16, 16, False, 8, 7, 127, 0x7F80)
F32 = Kind("f32", "tl.float32", "fp32", np.float32, 32, False, 8, 23, 127)
F64 = Kind("f64", "tl.float64", "fp64", np.float64, 64, False, 11, 52, 1023)
E4M3 = Kind("e4m3", "tl.float8e4nv", "fp8e4nv", np.uint8, 8, False, 4, 3, 7, 0x7F, False)
E5M2 = Kind("e5m2", "tl.float8e5", "fp8e5", np.uint8, 8, False, 5, 2, 15, 0x7C, False)
E4M3Z = Kind("e4m3z", "tl.float8e4b8", "fp8e4b8", np.uint8, 8, False, 4, 3, 8, 0x80, False)
E5M2Z = Kind("e5m2z", "tl.float8e5b16", "fp8e5b16", np.uint8, 8, False, 5, 2, 16, 0x80, False)

SIGNED = (I8, I16, I32, I64)
UNSIGNED = (U8, U16, U32, U64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (F16, BF16, F32, F64)
FP8 = (E4M3, E5M2, E4M3Z, E5M2Z)


def _code_value(kind: Kind, code: int) -> float:
    exponent, mantissa = code >> kind.mantissa, code & ((1 << kind.mantissa) - 1)
    if exponent == 0:
        return mantissa * 2.0 ** (1 - kind.bias - kind.mantissa)
    return (1 + mantissa / (1 << kind.mantissa)) * 2.0 ** (exponent - kind.bias)


@lru_cache
def table(kind: Kind) -> np.ndarray:
    """The finite values of a narrow type that are not negative, in order of their codes."""
    return np.array([_code_value(kind, code) for code in range(kind.finite)])


@lru_cache
def all_values(kind: Kind) -> np.ndarray:
    """The value of every code of a narrow type."""
    half = 1 << (kind.bits - 1)
    out = np.full(2 * half, np.nan)
    out[: kind.finite], out[half : half + kind.finite] = table(kind), -table(kind)
    if kind in (F16, BF16, E5M2):
        out[kind.finite], out[half + kind.finite] = np.inf, -np.inf
    if kind in (E4M3Z, E5M2Z):
        out[half] = np.nan
    return out


def decode(kind: Kind, array: np.ndarray) -> np.ndarray:
    """An array in memory as numbers: doubles, or integers as they are."""
    if kind.integer:
        return array
    if kind.narrow:
        codes = np.ascontiguousarray(array).view(np.uint8 if kind.bits == 8 else np.uint16)
        return all_values(kind)[codes].reshape(array.shape)
    return array.astype(np.float64)


def encode(kind: Kind, x: Any, towards_zero: bool = False) -> np.ndarray:
    """Doubles in the form that the type has in memory, rounded once."""
    x = np.asarray(x, np.float64)
    if kind.integer:
        return np.asarray(x).astype(kind.store)
    if not kind.narrow:
        return _to_wide(kind, x, towards_zero)
    values = table(kind)
    magnitude = np.where(np.isnan(x), 0, np.abs(x))
    low = np.clip(np.searchsorted(values, magnitude, side="right") - 1, 0, None)
    high = np.minimum(low + 1, len(values) - 1)
    step = np.where(high > low, values[high] - values[low], values[-1] - values[-2])
    rest = np.where(np.isinf(magnitude), np.inf, magnitude - values[low])
    up = (rest > step / 2) | ((rest == step / 2) & (low % 2 == 1))
    code = low + (up & (not towards_zero))
    if kind.infinite:
        code = np.where(np.isinf(x), kind.finite, np.minimum(code, kind.finite))
    else:
        code = np.minimum(code, kind.finite - 1)
    half = 1 << (kind.bits - 1)
    code = np.where(np.signbit(x), code + half, code)
    if kind in (E4M3Z, E5M2Z):
        code = np.where(code == half, 0, code)  # no negative zero
    nan = {"e4m3z": half, "e5m2z": half, "e4m3": 0x7F, "e5m2": 0x7F}.get(kind.name, kind.finite | kind.finite >> 1)
    code = np.where(np.isnan(x), nan, code)
    bits = code.astype(np.uint8 if kind.bits == 8 else np.uint16)
    return bits.view(kind.store) if kind is F16 else bits


def _to_wide(kind: Kind, x: np.ndarray, towards_zero: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        near = x.astype(kind.store)
        if not towards_zero:
            return near
        away = np.abs(near.astype(np.float64)) > np.abs(x)
        return np.where(away, np.nextafter(near, kind.store(0)), near)


def odd_double(value: int) -> float:
    """An integer as a double rounded to odd: rounding it again to any narrower type is one rounding."""
    magnitude = abs(value)
    drop = magnitude.bit_length() - 53
    if drop > 0:
        kept = magnitude >> drop
        magnitude = (kept | (magnitude != kept << drop)) << drop
    return float(-magnitude if value < 0 else magnitude)


def wrap(kind: Kind, values: Iterable[int], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Python integers modulo 2^bits."""
    mask = (1 << kind.bits) - 1
    made = np.array([int(v) & mask for v in values], np.uint64)
    if kind is B1:
        return made.astype(np.bool_)
    made = made.astype(f"uint{kind.bits}").view(kind.store)
    return made if shape is None else made.reshape(shape)


def exactly(kind: Kind, function: Callable[..., int], *arrays: np.ndarray) -> np.ndarray:
    """A function of Python integers, element by element, wrapped to the type."""
    flat = [[int(v) for v in a.ravel()] for a in arrays]
    return wrap(kind, (function(*v) for v in zip(*flat)), arrays[0].shape)


def special(kind: Kind) -> list[Any]:
    """Sixteen numbers at which something may go wrong."""
    if kind is B1:
        return [False, True] * 8
    if kind.integer:
        low, high, half = kind.low, kind.high, kind.bits // 2
        some = [0, 1, 2, 3, 7, kind.bits - 1, kind.bits, 1 << half, high, high - 1, low, low + 1, high // 3, 100, 11]
        return [*some, -1 if kind.signed else high - 2]
    if kind.fp8:
        top = float(table(kind)[-1])
        tiny = float(table(kind)[1])
        return [0.0, -0.0, 1.0, -1.0, 1.5, -2.0, 0.75, 3.5, top, -top, tiny, -tiny, np.nan, np.inf, 0.5, 7.0]
    tiny = 2.0 ** (1 - kind.bias - kind.mantissa)
    normal = 2.0 ** (1 - kind.bias)
    top = (2 - 2.0**-kind.mantissa) * 2.0**kind.bias
    eps = 1 + 2.0**-kind.mantissa
    return [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, tiny, -tiny, normal, -normal, top, -top, eps, 2.5, -7.75]


def corners(kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of the special numbers: 256 of them."""
    values = special(kind)
    a, b = [x for x in values for _ in values], [y for _ in values for y in values]
    if kind.integer:
        return np.array(a, dtype=kind.store), np.array(b, dtype=kind.store)
    return encode(kind, a), encode(kind, b)


def random(kind: Kind, shape: Any, rng: np.random.Generator, scale: int = 6) -> np.ndarray:
    """Random numbers: integers of the whole range, floats of many magnitudes."""
    if kind is B1:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind.integer:
        return rng.integers(kind.low, kind.high, shape, dtype=kind.store, endpoint=True)
    if kind.fp8:
        scale = 1
    return encode(kind, rng.standard_normal(shape) * 2.0 ** rng.integers(-scale, scale + 1, shape))


def small(kind: Kind, shape: Any, rng: np.random.Generator, limit: int = 8) -> np.ndarray:
    """Small whole numbers: sums and products of a few of them are exact in every type."""
    values = rng.integers(-limit if kind.signed or not kind.integer else 0, limit, shape, endpoint=True)
    return values.astype(kind.store) if kind.integer else encode(kind, values)
