# SPDX-License-Identifier: Apache-2.0
"""Operands of products in storage, in the form that a micro-kernel multiplies (c/dot.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import ctype
from .buffers import Buffer
from .ctype import NUM, RAW
from .errors import UnsupportedOp
from .ir import Op, Scalar, Tile, Value
from .nest.nest import Nest
from .nest.roots import Keep

if TYPE_CHECKING:
    from .func import FuncEmitter


@dataclass(frozen=True)
class Kind:
    """What a micro-kernel multiplies and sums; named as in c/dot.h."""

    name: str
    bytes: int  # of an operand's element, at most
    sum: str  # element type of the sum
    packs: bool = False  # may take several elements as one word


F32, F64, I32 = Kind("f32", 4, "f32"), Kind("f64", 8, "f64"), Kind("i32", 4, "i32")
BF16, I8 = Kind("bf16", 4, "f32", True), Kind("i8", 2, "i32", True)

# Numbers of these types are bf16 numbers.
_IN_BF16 = {"bf16", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ"}


class Operand(Buffer):
    """Storage of an operand: [.., rows, columns], each row a little longer than its elements.

    That keeps rows out of each other's cache sets, and a vector may be read at any column.
    """

    def __init__(
        self, func: FuncEmitter, hint: str, shape: tuple[int, ...], kind: Kind, turned: bool = False
    ) -> None:  # fmt: skip
        if turned:
            shape = (*shape[:-2], shape[-1], shape[-2])
        *rest, columns = shape
        row = columns + 16 if columns >= 16 else 16
        super().__init__(
            func.fresh(hint), (*rest, row), Tile((*rest, row), Scalar(kind.sum)), NUM, func.module.next_buffer(),
            func.clock, func.clock,
        )  # fmt: skip
        self.kind = kind
        self.turned = turned  # the last two dimensions have changed places
        func.buffers.append(self)

    @property
    def ctype(self) -> str:
        """The C type of an element: what the machine's micro-kernel wants."""
        return f"tj_operand_{self.kind.name}"

    @property
    def bytes(self) -> int:
        """Size in bytes, on any machine."""
        count = self.kind.bytes
        for n in self.shape:
            count *= n
        return count


class KeepOperand(Keep):
    """Stores a tile as an operand."""

    def __init__(self, value: Value, buffer: Operand) -> None:
        super().__init__(value, buffer)
        self.kind = buffer.kind
        self.turned = buffer.turned

    def contiguous(self) -> int:
        return len(self.shape) - (2 if self.turned else 1)

    def element(self, nest: Nest) -> str:
        """C for the element in the operand's form."""
        if self.kind is not BF16:
            return nest.eval(self.value, nest.index, NUM).text
        if ctype.elem(self.value.type) == Scalar("bf16"):
            return f"tj_operand_bf16_bits({nest.eval(self.value, nest.index, RAW).text})"
        return f"tj_operand_bf16_value({nest.eval(self.value, nest.index, NUM).text})"

    def body(self, nest: Nest) -> None:
        text = self.element(nest)
        index = nest.index
        if self.turned:
            index = (*index[:-2], index[-1], index[-2])
        at = nest.flat(index, self.buffer.shape)
        nest.write(f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {text};")


def kind_for(op: Op, elements: list[str], depth: int) -> Kind:
    """The micro-kernel for operands of these element types."""
    if all(e == "i8" for e in elements):
        return I8 if depth >= 4 else I32
    if all(Scalar(e).is_float for e in elements):
        if ctype.scalar(op.results[0].type).name == "f64":
            return F64
        return BF16 if depth >= 2 and all(e in _IN_BF16 for e in elements) else F32
    raise UnsupportedOp(op.name, op.loc, f"a product of {' and '.join(elements)}")


def kind_of(op: Op) -> Kind:
    """The micro-kernel for a ``tt.dot``."""
    a, b = op.operands[:2]
    return kind_for(op, [ctype.scalar(a.type).name, ctype.scalar(b.type).name], ctype.shape(a.type)[-1])


def transposes(op: Op | None) -> bool:
    """True for a ``tt.trans`` that swaps the last two dimensions."""
    if op is None or op.name != "tt.trans":
        return False
    order = list(op.attrs["order"])
    last = len(order) - 1
    return order == [*range(last - 1), last, last - 1]


def only_operand(value: Value) -> Kind | None:
    """The micro-kernel that a tile is for, if it is an operand of products of one kind and nothing else."""
    kinds: set[Kind] = set()
    for user, number in value.uses:
        if transposes(user):
            kind = only_operand(user.results[0])
        else:
            kind = kind_of(user) if user.name == "tt.dot" and number < 2 else None
        if kind is None:
            return None
        kinds.add(kind)
    return kinds.pop() if len(kinds) == 1 else None


def keep_operand(func: FuncEmitter, value: Value, kind: Kind) -> KeepOperand:
    """Stores a tile as an operand: turned where it lies so in memory, so that copying it vectorises."""
    shape = ctype.shape(value.type)
    votes = func.contiguous([value], shape)
    turned = votes.get(len(shape) - 2, 0) > votes.get(len(shape) - 1, 0)
    return KeepOperand(value, Operand(func, value.name or "operand", shape, kind, turned))
