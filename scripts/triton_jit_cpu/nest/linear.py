# SPDX-License-Identifier: Apache-2.0
"""Linear structure of index and pointer tiles along the innermost loop of a nest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ir import Scalar, Value
from ..ttir import Dense, FloatBits
from .index import Indices, level_of, move_index

if TYPE_CHECKING:
    from .nest import Nest

Coefficient = int | str | None  # number, C expression known outside the inner loop, or not linear


class Linear:
    """Finds by how much values grow with the innermost loop variable.

    What it finds holds modulo the width of the value. Where a wrap-around would matter,
    its absence becomes a condition of the nest's fast version.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.known: dict[tuple[Value, Indices], Coefficient] = {}

    def at_zero(self, indices: Indices) -> Indices:
        """The indices with the innermost loop variable at 0."""
        return tuple(ix.without(self.nest.n) for ix in indices)

    def coefficient(self, value: Value, indices: Indices) -> Coefficient:
        """By how much an integer or pointer tile grows with the innermost loop variable."""
        if level_of(indices) < self.nest.n or not indices:
            return 0
        key = (value, indices)
        if key not in self.known:
            self.known[key] = self._compute(value, indices)
        return self.known[key]

    def _compute(self, value: Value, indices: Indices) -> Coefficient:
        nest = self.nest
        shift = nest.func.shifted.get(value)
        if shift is not None:
            return self.coefficient(shift.init, indices)
        op = value.op
        if op is None or value in nest.func.buffers_of or any(ix.name and ix.level == nest.n for ix in indices):
            return None
        name = op.name
        if name == "tt.make_range":
            return dict(indices[0].terms).get(nest.n, 0)
        if name == "tt.splat":
            return 0
        if name == "arith.constant":
            return 0 if op.attrs["value"].splat else None
        if name in ("tt.expand_dims", "tt.broadcast", "tt.trans"):
            return self.coefficient(op.operands[0], move_index(op, indices))
        if name == "tt.reshape":
            at = nest.flat(indices, ctype.shape(value.type))
            split = nest.split(at, ctype.shape(op.operands[0].type)) if at.name is None else None
            return None if split is None else self.coefficient(op.operands[0], split)
        if name in ("arith.addi", "arith.subi"):
            a, b = (self.coefficient(v, indices) for v in op.operands)
            return _sum(a, b, "+" if name == "arith.addi" else "-")
        if name == "arith.muli":
            return self._product(op.operands[0], op.operands[1], indices)
        if name == "arith.extsi":
            c = self.coefficient(op.operands[0], indices)
            return c if c is None or c == 0 or self.no_wrap(op.operands[0], indices, c) else None
        if name == "tt.addptr":
            a, b = (self.coefficient(v, indices) for v in op.operands)
            if a is None or b is None or b != 0 and not self.no_wrap(op.operands[1], indices, b):
                return None
            return _sum(a, b, "+")
        return None

    def _product(self, left: Value, right: Value, indices: Indices) -> Coefficient:
        a, b = self.coefficient(left, indices), self.coefficient(right, indices)
        for mine, others, other in ((a, b, right), (b, a, left)):
            if mine is not None and mine != 0 and others == 0:
                factor = constant(other)
                if factor is not None and isinstance(mine, int):
                    return mine * factor
                by = self.nest.eval(other, self.at_zero(indices)).text
                return f"(int64_t){by}" if mine == 1 else f"({mine}) * (int64_t){by}"
        return 0 if a == 0 and b == 0 else None

    def no_wrap(self, value: Value, indices: Indices, c: int | str) -> bool:
        """Makes it a condition of the fast version that the value stays in its range."""
        nest = self.nest
        kind = ctype.elem(value.type)
        if not isinstance(kind, Scalar) or kind.bits == 1:
            return False
        bits, last = kind.bits, nest.extent - 1
        if nest.func.bounds.of(value) is not None:
            return True
        first = nest.eval(value, self.at_zero(indices)).text
        if isinstance(c, int) and is_number(first):
            if -(1 << (bits - 1)) <= number(first) + c * last < 1 << (bits - 1):
                return True
        if bits == 64:
            nest.masks.require(f"tj_span64({first}, {c}, {last})")
        else:
            nest.masks.require(f"tj_span(INT{bits}_MIN, INT{bits}_MAX, {first}, {c}, {last})")
        return True


def _sum(a: Coefficient, b: Coefficient, sign: str) -> Coefficient:
    if a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a + b if sign == "+" else a - b
    if b == 0:
        return a
    if a == 0 and sign == "+":
        return b
    return f"({a} {sign} {b})"


def is_number(text: str) -> bool:
    """True for the literals that ctype.integer() makes for up to 32 bits."""
    return text.strip("()").lstrip("-").isdigit()


def number(text: str) -> int:
    """The number that such a literal stands for."""
    return int(text.strip("()"))


def constant(value: Value) -> int | None:
    """The number that a constant scalar or splat stands for."""
    op = value.op
    while op is not None and op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "arith.extsi"):
        op = op.operands[0].op
    if op is None or op.name != "arith.constant":
        return None
    attr = op.attrs["value"]
    if isinstance(attr, FloatBits):
        return None
    if isinstance(attr, Dense):
        if not attr.splat:
            return None
        bits = ctype.scalar(op.results[0].type).bits
        found = attr.bits[0] & ((1 << bits) - 1)
        return found - (1 << bits) if found >> (bits - 1) else found
    return int(attr)
