# SPDX-License-Identifier: Apache-2.0
"""Triton's number formats on NumPy arrays, those included that NumPy has not.

``store("bf16", values)`` gives the elements as they lie in memory, ``numbers("bf16", memory)`` the
numbers as float64. The 8-bit formats are built from their definition: exponent bits, bias, what
the topmost codes mean.
"""

from __future__ import annotations

import numpy as np

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("fp16", "bf16", "fp32", "fp64")
FP8 = ("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16", "fp8e4b15")
ALL = ("u1", *INTEGERS, *FLOATS, *FP8)

_NATIVE = {
    "u1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "fp16": np.float16, "fp32": np.float32, "fp64": np.float64,
}  # fmt: skip
# exponent bits, bias, codes that are infinite, codes that are not a number
_FP8 = {
    "fp8e4nv": (4, 7, (), (0x7F, 0xFF)),
    "fp8e5": (5, 15, (0x7C, 0xFC), (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF)),
    "fp8e4b8": (4, 8, (), (0x80,)),
    "fp8e5b16": (5, 16, (), (0x80,)),
    "fp8e4b15": (4, 15, (), ()),
}


def memory_type(dtype: str) -> np.dtype:
    """The NumPy type that elements of ``dtype`` are held in."""
    return np.dtype(_NATIVE.get(dtype) or (np.uint16 if dtype == "bf16" else np.uint8))


def _fp8_numbers(dtype: str) -> np.ndarray:
    exponent_bits, bias, infinite, nan = _FP8[dtype]
    codes = np.arange(256)
    mantissa_bits = 7 - exponent_bits
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    size = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    numbers = np.where(codes & 0x80, -size, size)
    numbers[list(infinite)] = np.copysign(np.inf, numbers[list(infinite)])
    numbers[list(nan)] = np.nan
    return numbers


def numbers(dtype: str, memory: np.ndarray) -> np.ndarray:
    """The numbers that ``memory`` holds, as float64."""
    if dtype == "bf16":
        return (memory.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in _FP8:
        return _fp8_numbers(dtype)[memory]
    return memory.astype(np.float64)


def store(dtype: str, values: np.ndarray) -> np.ndarray:
    """``values`` in ``dtype``, floats rounded to nearest even; 8-bit formats take numbers in their range."""
    values = np.asarray(values)
    if dtype == "bf16":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    if dtype in _FP8:
        table = _fp8_numbers(dtype)
        order = [code for code in range(256) if np.isfinite(table[code]) and not (code == 0x80 and table[code] == 0)]
        distance = np.abs(values.astype(np.float64)[..., None] - table[order])
        # the nearest code; of two, the one with an even mantissa
        best = np.argmin(distance + np.where(np.asarray(order) & 1, 1e-12, 0), axis=-1)
        return np.asarray(order, dtype=np.uint8)[best]
    return values.astype(_NATIVE[dtype])
