# SPDX-License-Identifier: Apache-2.0
"""Histograms and regions mapped over elements. (``tt.reduce`` is in nest/reduction.py, ``tt.scan`` in scan.py.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import RAW
from ..ir import Op, Tile, Value
from ..nest.nest import Expr, Index, Indices, Nest, Root
from ..registry import indexing, statement

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter


class Histogram(Root):
    """Counts how often each number occurs."""

    serial = True

    def __init__(self, op: Op, buffer: Buffer) -> None:
        self.op = op
        self.buffer = buffer
        kind = op.operands[0].type
        assert isinstance(kind, Tile)
        self.shape = kind.shape
        self.mask: Value | None = op.operands[1] if len(op.operands) > 1 else None

    def values(self) -> list[Value]:
        return list(self.op.operands)

    def body(self, nest: Nest) -> None:
        value = self.op.operands[0]
        element = nest.eval(value, nest.index)
        name = nest.use(self.buffer)
        place = nest.define(ctype.unsigned(value.type), "bin", f"({ctype.unsigned(value.type)}){element.text}", nest.n)
        bins = self.buffer.shape[0]
        tests = [] if self.mask is None else [nest.eval(self.mask, nest.index).text]
        tests += [f"{place.text} < {bins}"] if bins < 1 << ctype.scalar(value.type).bits else []
        test = f"if ({' && '.join(tests)}) " if tests else ""
        nest.emit(nest.n, f"{test}{name}[{place.text}]++;")


@statement("tt.histogram")
def histogram(func: FuncEmitter, op: Op) -> None:
    result = op.results[0]
    buffer = func.new_buffer(result, RAW)
    func.block([buffer], [f"__builtin_memset({func.touch(buffer)}, 0, {buffer.bytes});"])
    func.nest([Histogram(op, buffer)])
    func.buffers_of[result] = buffer


@indexing("tt.map_elementwise")
def map_elementwise(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    """A region on each element, or on ``pack`` elements that follow each other."""
    number = nest.result
    pack = op.attrs.get("pack", 1)
    block = op.regions[0].blocks[0]
    if pack == 1:
        packed = [[nest.eval(v, indices)] for v in op.operands]
        mine: Expr | None = None
    else:
        kind = op.results[0].type
        assert isinstance(kind, Tile)
        at = nest.flat(indices, kind.shape)
        flat = nest.define("int64_t", "at", nest.index_text(at), at.level)
        mine = nest.define("int64_t", "within", f"{flat.text} % {pack}", at.level)
        packed = []
        for value in op.operands:
            row = []
            for k in range(pack):
                there = nest.define("int64_t", "at", f"{flat.text} - {mine.text} + {k}", at.level)
                row.append(nest.eval(value, nest.unflat(Index(there.level, (), there.text), kind.shape)))
            packed.append(row)
    flat_args = [e for row in packed for e in row]
    level = max((e.level for e in flat_args), default=0)
    lines: list[str] = []
    out = nest.func.inline(block, [e.text for e in flat_args], lines)
    for line in lines:
        nest.emit(level, line)
    for k, result in enumerate(op.results):
        choices = out[k * pack : (k + 1) * pack]
        text = choices[0]
        for position in range(1, pack):
            assert mine is not None
            text = f"{mine.text} == {position} ? {choices[position]} : ({text})"
        local = ctype.local(result.type)
        found = nest.define(local, result.name or "mapped", f"({local})({text})", max(level, mine.level if mine else 0))
        nest.remember(result, indices, "num", found)
    result = op.results[number]
    expr = nest.recall(result, indices, "num")
    return nest.convert(expr.text, "num", form, result, expr.level)
