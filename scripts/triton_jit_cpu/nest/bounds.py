# SPDX-License-Identifier: Apache-2.0
"""Bounds of integer tiles that are known when the C is written.

A value with bounds did not wrap around, nor did anything that it is computed from.
"""

from __future__ import annotations

from .. import ctype
from ..ir import Op, Scalar, Value
from ..ttir import Dense

Pair = tuple[int, int] | None

_SAME = {
    "tt.splat", "tt.expand_dims", "tt.broadcast", "tt.trans", "tt.reshape", "arith.extsi", "tt.split", "tt.gather",
}  # fmt: skip


class Bounds:
    """Computes and remembers bounds."""

    def __init__(self) -> None:
        self._known: dict[Value, Pair] = {}

    def of(self, value: Value) -> Pair:
        """The least and the largest number that the elements can be; None if not known."""
        if value not in self._known:
            self._known[value] = None  # while it is computed
            kind = ctype.elem(value.type) if value.op is not None else None
            if isinstance(kind, Scalar) and not kind.is_float and kind.bits > 1:
                assert value.op is not None
                self._known[value] = _fit(self._compute(value.op), kind.bits)
        return self._known[value]

    def _compute(self, op: Op) -> Pair:
        name = op.name
        if name == "tt.make_range":
            return op.attrs["start"], op.attrs["end"] - 1
        if name == "arith.constant":
            attr = op.attrs["value"]
            kind = ctype.elem(op.results[0].type)
            numbers = attr.bits if isinstance(attr, Dense) else [attr] if isinstance(attr, int) else []
            signed = [_signed(n, kind.bits) for n in numbers]
            return (min(signed), max(signed)) if signed else None
        if name in _SAME:
            return self.of(op.operands[0])
        if name == "arith.extui":
            pair = self.of(op.operands[0])
            return pair if pair is not None and pair[0] >= 0 else None
        if name in ("arith.addi", "arith.subi", "arith.muli"):
            a, b = self.of(op.operands[0]), self.of(op.operands[1])
            if a is None or b is None:
                return None
            if name == "arith.addi":
                return a[0] + b[0], a[1] + b[1]
            if name == "arith.subi":
                return a[0] - b[1], a[1] - b[0]
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        return None


def _signed(bits: int, width: int) -> int:
    bits &= (1 << width) - 1
    return bits - (1 << width) if bits >> (width - 1) else bits


def _fit(pair: Pair, bits: int) -> Pair:
    """The bounds if no number between them wraps around in the type."""
    if pair is None or pair[0] < -(1 << (bits - 1)) or pair[1] >= 1 << (bits - 1):
        return None
    return pair
