# SPDX-License-Identifier: Apache-2.0
"""``tt.scan``: running results along an axis, in index order or from the end.

Along an outer loop every row of running results is made from the row in front of it. Along
the innermost loop the elements are cut into blocks, and within a block:

1. ``window[i]`` becomes the combination of the last 2, 4, 8, 16 elements up to i (fewer at the
   beginning of the block), each step from the one in front of it;
2. the running result at i is the one at i - 16, combined with ``window[i]``; for the first 16
   elements of a block it is the last one of the block in front.

A scan from the end is the mirror image of this, with blocks from the end, so that memory is read
forwards. All these loops vectorise; they need an associative region, as Triton does, but no other
property. The order does not depend on anything but the extent.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import RAW
from ..ir import Op, Scalar, Tile, Value
from ..nest.nest import Index, Indices, Nest, Root, add, scale
from ..registry import statement

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter

BLOCK = 256  # elements that are in the local arrays at a time
WINDOW = 32


class Scan(Root):
    """The scan as a consumer of a loop nest."""

    def __init__(self, func: FuncEmitter, op: Op) -> None:
        self.func = func
        self.op: Op = op
        self.axis: int = op.attrs["axis"]
        self.reverse = bool(op.attrs.get("reverse"))
        kind = op.operands[0].type
        assert isinstance(kind, Tile)
        self.shape = kind.shape
        self.region = op.regions[0].blocks[0]
        self.types = [ctype.scalar(v.type) for v in op.operands]
        self.outputs: list[Buffer] = [func.new_buffer(r, RAW) for r in op.results]

    def values(self) -> list[Value]:
        return list(self.op.operands)

    def _inner(self, nest: Nest) -> bool:
        return nest.n > 0 and nest.dims[-1] == self.axis

    def lanes(self, nest: Nest) -> int:
        return gcd(BLOCK, nest.extent) if self._inner(nest) else 1

    def begin(self, nest: Nest) -> None:
        if not self._inner(nest):
            return
        self.backwards = self.reverse
        names = [result.name or "scan" for result in self.op.results]
        self.windows, self.next, self.runs = (
            [self.func.fresh(f"{name}_{role}") for name in names] for role in ("window", "next", "run")
        )
        self.width = min(WINDOW, nest.lanes)
        for window, following, run, kind in zip(self.windows, self.next, self.runs, self.types):
            local = ctype.local(kind)
            nest.emit(nest.n - 1, f"{local} {window}[{nest.lanes}];")
            if self.width > 1:
                nest.emit(nest.n - 1, f"{local} {following}[{nest.lanes}];")
            nest.emit(nest.n - 1, f"{local} {run}[{self.width}] = {{0}};")

    def _place(self, nest: Nest) -> Indices:
        """The index of the element that is scanned now."""
        if not self.reverse or self._inner(nest):
            return nest.index
        along = add(Index(self.shape[self.axis] - 1), scale(nest.index[self.axis], -1))
        return (*nest.index[: self.axis], along, *nest.index[self.axis + 1 :])

    def body(self, nest: Nest) -> None:
        elements = [nest.eval(v, self._place(nest)).text for v in self.op.operands]
        if self._inner(nest):
            for window, element in zip(self.windows, elements):
                nest.emit(nest.n, f"{window}[lane] = {element};")
        elif self.shape[self.axis] == 1:
            self._write(nest, elements, lambda line: nest.emit(nest.n, line))
        else:
            self._after_row(nest, elements)

    def _after_row(self, nest: Nest, elements: list[str]) -> None:
        """Along an outer loop: the running result is in storage, one step away."""
        first = f"{nest.vars[nest.dims.index(self.axis)]} == 0"
        stride = 1
        for extent in self.shape[self.axis + 1 :]:
            stride *= extent
        at = self._at(nest)
        old = []
        for buffer, kind in zip(self.outputs, self.types):
            before = f"{nest.use(buffer)}[{at} + ({first} ? 0 : {stride if self.reverse else -stride})]"
            old.append(nest.define(ctype.local(kind), "run", _load(before, kind), nest.n).text)
        lines: list[str] = []
        new = self.func.inline(self.region, [*old, *elements], lines)
        self._write(nest, [f"{first} ? {a} : {b}" for a, b in zip(elements, new)], lines.append)
        for line in lines:
            nest.emit(nest.n, line)

    def behind_block(self, nest: Nest, start: str) -> list[str]:
        if not self._inner(nest):
            return []
        lines: list[str] = []
        source, target, distance = self.windows, self.next, 1
        while distance < self.width:
            lines += self._step(nest, source, target, distance)
            source, target, distance = target, source, 2 * distance
        carries = [self.func.fresh("carry") for _ in self.runs]
        for carry, run, kind in zip(carries, self.runs, self.types):
            lines.append(f"{ctype.declare(ctype.local(kind), carry)} = {run}[{0 if self.reverse else self.width - 1}];")
        first = nest.lanes - self.width if self.reverse else 0
        lines += self._chunk(nest, start, str(first), source, carries)
        if self.width < nest.lanes:
            at = self.func.fresh("chunk")
            head = f"{at} = {self.width}; {at} < {nest.lanes}; {at} += {self.width}"
            if self.reverse:
                head = f"{at} = {first - self.width}; {at} >= 0; {at} -= {self.width}"
            lines += [
                f"for (int64_t {head}) {{",
                *("  " + line for line in self._chunk(nest, start, at, source, None)),
                "}",
            ]
        return lines

    def _step(self, nest: Nest, source: list[str], target: list[str], distance: int) -> list[str]:
        """Windows of twice the size."""
        inner: list[str] = []
        old = [f"{name}[lane {'+' if self.reverse else '-'} {distance}]" for name in source]
        low, high = (0, nest.lanes - distance) if self.reverse else (distance, nest.lanes)
        rest = (high, nest.lanes) if self.reverse else (0, low)  # they have all there is already
        new = self.func.inline(self.region, old + [f"{name}[lane]" for name in source], inner)
        return [
            f"for (int64_t lane = {rest[0]}; lane < {rest[1]}; lane++) {{",
            *(f"  {b}[lane] = {a}[lane];" for a, b in zip(source, target)),
            "}",
            "TJ_VECTOR",
            f"for (int64_t lane = {low}; lane < {high}; lane++) {{",
            *("  " + line for line in inner),
            *(f"  {b}[lane] = {value};" for b, value in zip(target, new)),
            "}",
        ]

    def _chunk(self, nest: Nest, start: str, at: str, source: list[str], carries: list[str] | None) -> list[str]:
        """Running results of as many elements as a window has."""
        lines: list[str] = []
        windows = [f"{name}[{at} + lane]" for name in source]
        new = self.func.inline(self.region, [*(carries or [f"{run}[lane]" for run in self.runs]), *windows], lines)
        if carries is not None:
            first = nest.extent - nest.lanes if self.reverse else 0
            new = [f"{start} == {first} ? {window} : {value}" for window, value in zip(windows, new)]
        names = [self.func.fresh("now") for _ in new]
        for name, value, kind in zip(names, new, self.types):
            lines.append(f"{ctype.declare(ctype.local(kind), name)} = {value};")
        lines += [f"{run}[lane] = {name};" for run, name in zip(self.runs, names)]
        self._write(nest, names, lines.append)
        return [
            "TJ_VECTOR",
            f"for (int64_t lane = 0; lane < {self.width}; lane++) {{",
            f"  const int64_t {nest.vars[nest.n - 1]} = {start} + {at} + lane;",
            *("  " + line for line in lines),
            "}",
        ]

    def _at(self, nest: Nest) -> str:
        return nest.index_text(nest.flat(self._place(nest), self.shape))

    def _write(self, nest: Nest, values: list[str], emit: Callable[[str], None]) -> None:
        """Puts running results where they belong."""
        for buffer, kind, text in zip(self.outputs, self.types, values):
            emit(f"{nest.use(buffer)}[{self._at(nest)}] = {_pack(text, kind)};")


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
