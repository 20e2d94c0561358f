# SPDX-License-Identifier: Apache-2.0
"""Operands of products: arguments of every element type with the numbers that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from runner import As, bf16_bits, bf16_value
from test_narrow import FP8, table

# Unit round-off of the type that a product is summed in.
ROUND = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}


def operand(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> tuple[Any, np.ndarray]:
    """An argument for a kernel, and its values in double precision."""
    if kind in ("f16", "f32", "f64"):
        v = rng.standard_normal(shape).astype(kind.replace("f", "float"))
        return v, v.astype(np.float64)
    if kind == "bf16":
        v = bf16_bits(rng.standard_normal(shape).astype(np.float32))
        return As("*bf16", v), bf16_value(v).astype(np.float64)
    if kind == "int8":
        v = rng.integers(-128, 127, shape, endpoint=True).astype(np.int8)
        return v, v.astype(np.float64)
    values = table(kind)
    codes = np.flatnonzero(np.isfinite(values) & (np.abs(values) < 64))
    v = rng.choice(codes, shape).astype(np.uint8)
    return As(FP8[kind][0], v), values[v]


def check(got: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray | float = 0.0) -> None:
    """``got`` is ``a @ b + c`` up to the rounding of its sum, element by element; integers are exact."""
    want = a @ b + c
    if got.dtype.kind == "i":
        np.testing.assert_array_equal(got, want.astype(np.int64).astype(got.dtype))
        return
    unit = ROUND[got.dtype]
    bound = (a.shape[-1] + 1) * unit * (np.abs(a) @ np.abs(b) + np.abs(c))
    # The reference is in double precision itself.
    bound = bound * (2 if got.dtype == np.float64 else 1) + np.finfo(got.dtype).tiny
    worst = np.max(np.abs(got - want) / bound)
    assert worst <= 1, f"off by {worst:.3g} times the bound at {np.argmax(np.abs(got - want) / bound)}"
