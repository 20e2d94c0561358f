# SPDX-License-Identifier: Apache-2.0
"""Scans, histograms and regions mapped over elements. (``tt.reduce`` is in roots.py.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import RAW
from ..ir import Op, Scalar, Tile, Value
from ..nest import Expr, Index, Indices, Nest, Root, add, scale
from ..registry import indexing, statement

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter


class Scan(Root):
    """``tt.scan``: running results along an axis, in index order or from the end."""

    serial = True

    def __init__(self, func: FuncEmitter, op: Op) -> None:
        self.func = func
        self.op = op
        self.axis: int = op.attrs["axis"]
        self.reverse = bool(op.attrs.get("reverse"))
        kind = op.operands[0].type
        assert isinstance(kind, Tile)
        self.shape = kind.shape
        self.block = op.regions[0].blocks[0]
        self.types = [ctype.scalar(v.type) for v in op.operands]
        self.outputs: list[Buffer] = [func.new_buffer(r, RAW) for r in op.results]
        self.names: list[str] = []

    def values(self) -> list[Value]:
        return list(self.op.operands)

    def begin(self, nest: Nest) -> None:
        self.inner = nest.n > 0 and nest.dims[-1] == self.axis
        self.names = []
        if self.inner:
            for result, kind in zip(self.op.results, self.types):
                name = self.func.fresh(result.name or "run")
                nest.emit(nest.n - 1, f"{ctype.declare(ctype.local(kind), name, False)} = ({ctype.local(kind)})0;")
                self.names.append(name)

    def _place(self, nest: Nest) -> Indices:
        """The index of the element that is scanned now."""
        if not self.reverse:
            return nest.index
        along = add(Index(self.shape[self.axis] - 1), scale(nest.index[self.axis], -1))
        return (*nest.index[: self.axis], along, *nest.index[self.axis + 1 :])

    def body(self, nest: Nest) -> None:
        place = self._place(nest)
        elements = [nest.eval(v, place).text for v in self.op.operands]
        at = nest.flat(place, self.shape)
        lines: list[str] = []
        if self.shape[self.axis] == 1:
            new = elements
        else:
            loop = nest.dims.index(self.axis)
            first = f"{nest.vars[loop]} == 0"
            if self.inner:
                old = self.names
            else:
                stride = 1
                for extent in self.shape[self.axis + 1 :]:
                    stride *= extent
                step = stride if self.reverse else -stride
                old = []
                for buffer, kind in zip(self.outputs, self.types):
                    before = f"{nest.use(buffer)}[{nest.index_text(at)} + ({first} ? 0 : {step})]"
                    old.append(nest.define(ctype.local(kind), "run", _load(before, kind), nest.n).text)
            new = self.func.inline(self.block, [*old, *elements], lines)
            for line in lines:
                nest.emit(nest.n, line)
            new = [f"{first} ? {element} : {value}" for element, value in zip(elements, new)]
        if self.inner:
            values = [nest.define(ctype.local(k), "next", text, nest.n).text for k, text in zip(self.types, new)]
            for name, value in zip(self.names, values):
                nest.emit(nest.n, f"{name} = {value};")
            new = values
        for buffer, kind, text in zip(self.outputs, self.types, new):
            nest.emit(nest.n, f"{nest.use(buffer)}[{nest.index_text(at)}] = {_pack(text, kind)};")


def _load(slot: str, kind: Scalar) -> str:
    """An element in storage as an arithmetic value."""
    if ctype.is_narrow(kind):
        return f"tj_{ctype.NARROW[kind.name][0]}_to_f32({slot})"
    return f"{slot} != 0" if kind == Scalar("i1") else slot


def _pack(text: str, kind: Scalar) -> str:
    """An arithmetic value as an element in storage."""
    return f"tj_f32_to_{ctype.NARROW[kind.name][0]}({text})" if ctype.is_narrow(kind) else text


@statement("tt.scan")
def scan(func: FuncEmitter, op: Op) -> None:
    root = Scan(func, op)
    func.nest([root])
    for result, buffer in zip(op.results, root.outputs):
        func.buffers_of[result] = buffer


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
