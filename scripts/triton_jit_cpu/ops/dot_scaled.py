# SPDX-License-Identifier: Apache-2.0
"""``tt.dot_scaled``: products of microscaled operands.

Operands are multiplied by their scales while they are stored, as bf16 where every product of
an element and a scale is a bf16 number (but for the ends of the range), as float otherwise.
A scale that is NaN makes its group NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Tile, Value
from ..nest.nest import Index, Nest
from ..operands import KeepOperand, Operand, kind_for
from ..registry import statement
from .dot import Stored, product

if TYPE_CHECKING:
    from ..func import FuncEmitter

# ScaleDotElemType. Those of six bits have a number, but no front end accepts them.
_FORMATS = {0: "e4m3", 1: "e5m2", 2: "e2m3", 3: "e3m2", 4: "e2m1", 5: "bf16", 6: "fp16"}
_ELEMENT = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e2m1": "f8E4M3FN", "bf16": "bf16", "fp16": "f16"}


@dataclass(frozen=True)
class Scaled:
    """One operand: its elements, and its scales where it has some."""

    value: Value
    scale: Value | None
    format: str
    depth: int  # the dimension of the sum
    other: int  # the dimension of rows or columns
    packed: int | None  # the dimension along which a byte holds two elements

    def shape(self) -> tuple[int, ...]:
        """The shape in elements."""
        return tuple(n * (2 if d == self.packed else 1) for d, n in enumerate(ctype.shape(self.value.type)))

    def element_type(self) -> str:
        """A type that all products of elements and scales fit into."""
        if self.scale is not None and ctype.scalar(self.scale.type).is_float and self.format in ("bf16", "fp16"):
            return "f32"
        return _ELEMENT[self.format]


class KeepScaled(KeepOperand):
    """Stores an operand times its scales."""

    def __init__(self, scaled: Scaled, buffer: Operand) -> None:
        super().__init__(scaled.value, buffer)
        self.scaled = scaled
        self.shape = scaled.shape()

    def values(self) -> list[Value]:
        return [v for v in (self.value, self.scaled.scale) if v is not None]

    def element(self, nest: Nest) -> str:
        text = self._unpacked(nest) if self.scaled.packed is not None else nest.eval(self.value, nest.index, NUM).text
        scale = self.scaled.scale
        if scale is not None:
            text = f"{text} * {self._scale(nest, scale)}"
        return f"tj_operand_bf16_value({text})" if self.kind.name == "bf16" else text

    def _unpacked(self, nest: Nest) -> str:
        """An element of four bits."""
        packed, index = self.scaled.packed, nest.index
        assert packed is not None
        position = nest.index_text(index[packed])
        byte = nest.eval(self.value, _replace(index, packed, self._divided(nest, packed, 2)), RAW)
        code = f"(uint32_t)(uint8_t){byte.text} >> (4 * (({position}) & 1))"
        return nest.define("float", "x", f"tj_e2m1_to_f32({code})", nest.n).text

    def _scale(self, nest: Nest, scale: Value) -> str:
        """The scale of an element; those of both operands are stored as [.., other, group]."""
        shape = ctype.shape(scale.type)
        group = self._divided(nest, self.scaled.depth, self.shape[self.scaled.depth] // shape[-1])
        batch = nest.index[: len(shape) - 2]
        text = nest.eval(scale, (*batch, nest.index[self.scaled.other], group), NUM).text
        return text if ctype.scalar(scale.type).is_float else f"tj_e8m0_to_f32((uint8_t){text})"

    def _divided(self, nest: Nest, dim: int, by: int) -> Index:
        """The index in a dimension, divided."""
        index = nest.index[dim]
        found = nest.define("int64_t", "part", f"({nest.index_text(index)}) / {by}", index.level)
        return Index(found.level, (), found.text)


def _replace(index: tuple[Index, ...], dim: int, by: Index) -> tuple[Index, ...]:
    return (*index[:dim], by, *index[dim + 1 :])


@statement("tt.dot_scaled")
def dot_scaled(func: FuncEmitter, op: Op) -> None:
    given = iter(op.operands)
    a, b, _, a_scale, b_scale = (next(given) if n else None for n in op.attrs["operandSegmentSizes"])
    assert a is not None and b is not None
    rank = len(ctype.shape(a.type))
    row, column = rank - 2, rank - 1
    left = _scaled(op, a, a_scale, "a_elem_type", "lhs_k_pack", column, row)
    right = _scaled(op, b, b_scale, "b_elem_type", "rhs_k_pack", row, column)
    depth = left.shape()[left.depth]
    kind = kind_for(op, [left.element_type(), right.element_type()], depth)
    stored = []
    for scaled in (left, right):
        buffer = Operand(func, scaled.value.name or "operand", scaled.shape(), kind)
        func.nest([KeepScaled(scaled, buffer)])
        stored.append(Stored(buffer, False))
    product(func, op, stored[0], stored[1], kind, depth)


def _scaled(op: Op, value: Value, scale: Value | None, format_: str, k_pack: str, depth: int, other: int) -> Scaled:
    name = _FORMATS[op.attrs[format_]]
    if name not in _ELEMENT:
        raise UnsupportedOp(op.name, op.loc, f"operands of format {name}")
    packed = None
    if name == "e2m1":
        packed = depth if op.attrs.get(k_pack, 1) else other
    assert isinstance(value.type, Tile)
    return Scaled(value, scale, name, depth, other, packed)
