# SPDX-License-Identifier: Apache-2.0
"""The operations that sanitize/ puts into a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import RAW
from ..ir import Op, Tile, Value
from ..nest.nest import Expr, Indices, Nest, Root
from ..registry import elementwise, indexing, statement

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter


def _flat(nest: Nest, type_: object, indices: Indices) -> str:
    """The position of an element in row-major order, for a message."""
    return nest.index_text(nest.flat(indices, type_.shape)) if isinstance(type_, Tile) else "0"


def _site(nest: Nest, op: Op) -> str:
    return f"&tj_sites[{nest.func.module.site(op.attrs['site'])}]"


class _Each(Root):
    """Something that is told to the library for each element, in order."""

    serial = True

    def __init__(self, op: Op) -> None:
        self.op = op
        self.shape = ctype.shape(op.operands[0].type)

    def values(self) -> list[Value]:
        return list(self.op.operands)

    def text(self, nest: Nest, value: Value) -> str:
        """An operand's element."""
        return nest.eval(value, nest.index if isinstance(value.type, Tile) else ()).text


class Check(_Each):
    """``tj.check``: whether each element may be accessed."""

    def __init__(self, op: Op, slot: Buffer | str) -> None:
        super().__init__(op)
        self.slot = slot  # storage for a tile, the name of a variable for a scalar

    def body(self, nest: Nest) -> None:
        pointer = self.text(nest, self.op.operands[0])
        mask = self.text(nest, self.op.operands[1]) if len(self.op.operands) > 1 else "true"
        at = _flat(nest, self.op.operands[0].type, nest.index)
        call = f"tj_check(pg, {_site(nest, self.op)}, {at}, {pointer})"
        text = call if mask == "true" else f"{mask} && {call}"
        slot = self.slot if isinstance(self.slot, str) else f"{nest.use(self.slot)}[{at}]"
        nest.emit(nest.n, f"{slot} = {text};")


@statement("tj.check")
def check(func: FuncEmitter, op: Op) -> None:
    result = op.results[0]
    if isinstance(result.type, Tile):
        buffer = func.new_buffer(result, RAW)
        func.nest([Check(op, buffer)])
        func.buffers_of[result] = buffer
    else:
        name = func.fresh(result.name or "ok")
        func.declare_scalar(result, name)
        func.nest([Check(op, name)])


@elementwise("tj.redirect")
def redirect(nest: Nest, op: Op, ok: str, pointer: str) -> str:
    """The pointer where it may be used, and one that does no harm elsewhere."""
    return f"{ok} ? {pointer} : ({ctype.local(op.results[0].type)})tj_nowhere"


class Escape(_Each):
    """``tj.escape``: a value goes to memory."""

    def body(self, nest: Nest) -> None:
        origin = self.text(nest, self.op.operands[0])
        mask = self.text(nest, self.op.operands[1]) if len(self.op.operands) > 1 else "true"
        test = f"{origin} != 0" if mask == "true" else f"{mask} && {origin} != 0"
        at = _flat(nest, self.op.operands[0].type, nest.index)
        nest.emit(nest.n, f"if ({test}) tj_escape(pg, {_site(nest, self.op)}, {at}, (uint32_t){origin});")


@statement("tj.escape")
def escape(func: FuncEmitter, op: Op) -> None:
    func.nest([Escape(op)])


@elementwise("tj.badness")
def badness(nest: Nest, op: Op, value: str) -> str:
    """What is wrong with a number: see tj_badness."""
    return f"(int32_t)tj_badness({value})"


@indexing("tj.made")
def made(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    """The origin of a result of many operands: result, their badness, an origin of theirs."""
    parts = [nest.eval(v, indices if isinstance(v.type, Tile) else ()) for v in op.operands]
    at = _flat(nest, op.results[0].type, indices)
    args = ", ".join(["pg", _site(nest, op), at, parts[0].text, *(f"(uint32_t){p.text}" for p in parts[1:])])
    level = max([p.level for p in parts] + [ix.level for ix in indices], default=0)
    return nest.define("int32_t", "origin", f"(int32_t)tj_made({args})", level)


@indexing("tj.origin")
def origin(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    """The origin of a result: operands are the result, then each operand and its origin."""
    parts = [nest.eval(v, indices if isinstance(v.type, Tile) else ()) for v in op.operands]
    at = _flat(nest, op.results[0].type, indices)
    texts = [f"(double){p.text}" if number % 2 == 1 else p.text for number, p in enumerate(parts)]
    texts += ["0"] * (7 - len(texts))
    args = ", ".join(["pg", _site(nest, op), at, *texts, str(len(parts) // 2)])
    level = max([p.level for p in parts] + [ix.level for ix in indices], default=0)
    return nest.define("int32_t", "origin", f"(int32_t)tj_origin({args})", level)
