# SPDX-License-Identifier: Apache-2.0
"""Loads, stores and pointer arithmetic."""

from __future__ import annotations

from .. import ctype
from ..ctype import NUM, RAW
from ..ir import Op, Scalar, Tile
from ..nest.nest import GENERAL, MASKED, Expr, Indices, Nest
from ..nest.roots import Keep
from ..registry import elementwise, indexing, statement


@elementwise("tt.addptr", cost=1)
def addptr(cx: Nest, op: Op, pointer: str, offset: str) -> str:
    return pointer if offset == "0" else f"{pointer} + {offset}"


@indexing("tt.load")
def load(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    """A load; the element of a lazy one, or a whole scalar one."""
    result = op.results[0]
    pointer = op.operands[0]
    mask_value = op.operands[1] if len(op.operands) > 1 else None
    other_value = op.operands[2] if len(op.operands) > 2 else None
    volatile = bool(op.attrs.get("isVolatile"))
    if volatile:
        nest.func.module.ordered = True
    outer = nest.mode in (GENERAL, MASKED)
    mask = nest.mask(mask_value, indices)
    index = indices if isinstance(result.type, Tile) else ()
    narrow = ctype.is_narrow(result.type)
    raw = RAW if narrow else NUM
    other = Expr(ctype.literal(result.type, 0, raw))
    if other_value is not None and mask != "true":
        other = nest.eval(other_value, index, raw)
    if mask == "false":
        return nest.convert(other.text, raw, form, result, other.level)
    source, level = nest.element(pointer, index, volatile)
    if ctype.elem(result.type) == Scalar("i1"):
        source = f"{source} != 0"
    level = max(level, other.level)
    if mask_value is not None and nest.n:
        level = max(level, nest.eval(mask_value, index).level)
        if not outer and max((ix.level for ix in index), default=0) == nest.n:
            level = nest.n  # the mask holds inside the loop only
    text = source if mask == "true" else f"{mask} ? {source} : {other.text}"
    read = nest.define(ctype.local(result.type, raw), result.name or "load", text, level)
    if narrow:
        nest.remember(result, indices, RAW, read)
    return nest.convert(read.text, raw, form, result, level)


@statement("tt.load", barrier=False)
def volatile_load(func, op: Op) -> None:  # type: ignore[no-untyped-def]
    """A volatile load of a tile: done here and now, once."""
    func.module.ordered = True
    result = op.results[0]
    buffer = func.new_buffer(result, RAW)
    func.nest([VolatileKeep(op, buffer)])
    func.buffers_of[result] = buffer


class VolatileKeep(Keep):
    """Stores what a volatile load reads."""

    def __init__(self, op: Op, buffer) -> None:  # type: ignore[no-untyped-def]
        super().__init__(op.results[0], buffer)
        self.op = op

    def values(self):  # type: ignore[no-untyped-def]
        return list(self.op.operands)

    def body(self, nest: Nest) -> None:
        element = load(nest, self.op, nest.index, self.buffer.form)
        at = nest.flat(nest.index, self.shape)
        nest.emit(nest.n, f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {element.text};")


@statement("tt.store", barrier=True)
def scalar_store(func, op: Op) -> None:  # type: ignore[no-untyped-def]
    """A store of one scalar."""
    pointer, value = op.operands[0], op.operands[1]
    target = func.text(pointer)
    text = func.text(value, RAW)
    if len(op.operands) > 2:
        mask = func.text(op.operands[2])
        if mask == "false":
            return
        if mask != "true":
            func.line(f"if ({mask}) *{target} = {text};")
            return
    func.line(f"*{target} = {text};")
