# SPDX-License-Identifier: Apache-2.0
"""Operations that only move elements: they cost nothing but another index."""

from __future__ import annotations

from .. import ctype
from ..ir import Op, Tile
from ..nest.nest import ZERO, Expr, Index, Indices, Nest, move_index
from ..registry import indexing


@indexing("tt.make_range")
def make_range(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    (ix,) = indices
    start = op.attrs["start"]
    if ix.name is None and not ix.terms:
        return Expr(ctype.integer(start + ix.const, 32))
    text = nest.index_text(ix)
    if start:
        text += f" + {start}"
    return nest.define("int32_t", op.results[0].name or "range", f"(int32_t)({text})", ix.level)


@indexing("tt.splat")
def splat(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    return nest.eval(op.operands[0], (), form)


@indexing("tt.unsplat")
def unsplat(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    kind = op.operands[0].type
    assert isinstance(kind, Tile)
    return nest.eval(op.operands[0], (ZERO,) * len(kind.shape), form)


@indexing("tt.expand_dims", "tt.broadcast", "tt.trans")
def view(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    return nest.eval(op.operands[0], move_index(op, indices), form)


@indexing("tt.reshape")
def reshape(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, Tile) and isinstance(result, Tile)
    position = nest.flat(indices, result.shape)
    buffer = nest.func.buffers_of.get(op.operands[0])
    if buffer is not None and buffer.order is None:
        # In storage an element's position is the same for both shapes.
        name = nest.use(buffer)
        text = f"{name}[{nest.index_text(position)}]"
        if ctype.local(source) == "bool":
            text += " != 0"
        value = op.operands[0]
        read = nest.define(ctype.local(source, buffer.form), value.name or "t", text, position.level)
        return nest.convert(read.text, buffer.form, form, value, position.level)
    return nest.eval(op.operands[0], nest.unflat(position, source.shape), form)


@indexing("tt.join")
def join(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    last = indices[-1]
    if last.name is None and not last.terms:
        return nest.eval(op.operands[last.const], indices[:-1], form)
    a = nest.eval(op.operands[0], indices[:-1], form)
    b = nest.eval(op.operands[1], indices[:-1], form)
    level = max(a.level, b.level, last.level)
    text = f"({nest.index_text(last)}) == 0 ? {a.text} : {b.text}"
    return nest.define(ctype.local(op.results[0].type, form), op.results[0].name or "join", text, level)


@indexing("tt.split")
def split(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    return nest.eval(op.operands[0], (*indices, Index(nest.result)), form)


@indexing("tt.cat")
def cat(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    a, b = op.operands
    assert isinstance(a.type, Tile) and isinstance(b.type, Tile)
    position, rest = indices[0], indices[1:]
    half = a.type.shape[0]
    low = nest.define("int64_t", "at", nest.index_text(position), position.level)
    first = nest.define("bool", "first", f"{low.text} < {half}", position.level)
    ia = nest.define("int64_t", "ia", f"{first.text} ? {low.text} : 0", position.level)
    ib = nest.define("int64_t", "ib", f"{first.text} ? 0 : {low.text} - {half}", position.level)
    x = nest.eval(a, (Index(ia.level, (), ia.text), *rest), form)
    y = nest.eval(b, (Index(ib.level, (), ib.text), *rest), form)
    level = max(x.level, y.level, position.level)
    text = f"{first.text} ? {x.text} : {y.text}"
    return nest.define(ctype.local(op.results[0].type, form), op.results[0].name or "cat", text, level)


@indexing("tt.gather")
def gather(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    source, index = op.operands
    assert isinstance(source.type, Tile)
    axis = op.attrs["axis"]
    at = nest.eval(index, indices)
    extent = source.type.shape[axis]
    # An index outside the tile reads something inside: Triton leaves the value undefined.
    safe = nest.define("int64_t", "at", f"(int64_t)((uint64_t){at.text} % {extent}u)", at.level)
    moved = (*indices[:axis], Index(safe.level, (), safe.text), *indices[axis + 1 :])
    return nest.eval(source, moved, form)
