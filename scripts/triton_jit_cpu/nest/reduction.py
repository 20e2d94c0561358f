# SPDX-License-Identifier: Apache-2.0
"""``tt.reduce`` as a consumer of a loop nest.

The order in which numbers are combined, which is that of every run and any number of threads:

* along an outer loop, one after the other;
* along the innermost loop, where the order does not matter: element i goes to lane i % 64, the
  lanes are then combined by halves;
* along the innermost loop, where it does: the elements of a block of 128 are combined with
  their neighbours until one is left, the blocks one after the other.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import RAW
from ..ir import Op, Scalar, Tile, Value
from .commute import commutes
from .index import Index
from .roots import Root

if TYPE_CHECKING:
    from ..buffers import Buffer
    from ..func import FuncEmitter
    from .nest import Nest

LANES = 64  # partial results along the innermost loop, where any order will do
BLOCK = 128  # elements that are combined in pairs, where it will not

# Combine regions of one operation that may be applied in any order, and their neutral element
# for a C type: combining it with x gives x, whatever x is.
_NEUTRAL = {
    "arith.addf": "-0.0f",
    "arith.mulf": "1.0f",
    "arith.maxnumf": "TJ_NAN",
    "arith.minnumf": "TJ_NAN",
    "arith.maximumf": "(-TJ_INF)",
    "arith.minimumf": "TJ_INF",
    "arith.addi": "0",
    "arith.muli": "1",
    "arith.ori": "0",
    "arith.xori": "0",
    "arith.andi": "-1",
    "arith.maxsi": "INT{bits}_MIN",
    "arith.minsi": "INT{bits}_MAX",
    "arith.maxui": "0",
    "arith.minui": "-1",
}


class Reduce(Root):
    """``tt.reduce``: any combine region, any number of operands, any axis."""

    def __init__(self, func: FuncEmitter, op: Op) -> None:
        self.func = func
        self.op: Op = op
        self.axis: int = op.attrs["axis"]
        kind = op.operands[0].type
        assert isinstance(kind, Tile)
        self.shape = kind.shape
        self.block = op.regions[0].blocks[0]
        work = [o for o in self.block.ops if o.name != "tt.reduce.return"]
        self.neutral: str | None = None
        if len(work) == 1 and work[0].name in _NEUTRAL and set(work[0].operands) == set(self.block.args):
            self.neutral = _NEUTRAL[work[0].name]
        self.any_order = self.neutral is not None or commutes(self.block)
        self.types = [ctype.scalar(v.type) for v in self.block.args[: len(op.operands)]]
        self.outputs: list[Buffer | None] = []
        self.names: list[str] = []
        self.totals: list[str] = []  # where the order matters: what the blocks up to now give
        self.laned = False

    def values(self) -> list[Value]:
        return list(self.op.operands)

    def is_inner(self, nest: Nest) -> bool:
        """True if the reduced axis is the innermost loop."""
        return nest.n > 0 and nest.dims[-1] == self.axis

    def lanes(self, nest: Nest) -> int:
        return gcd(LANES if self.any_order else BLOCK, nest.extent) if self.is_inner(nest) else 1

    def begin(self, nest: Nest) -> None:
        func = self.func
        self.outputs = []
        for result in self.op.results:
            if isinstance(result.type, Tile):
                self.outputs.append(func.new_buffer(result, RAW))
            else:
                self.outputs.append(None)
        if self.shape[self.axis] == 1:
            self.names = []
            self._declare_results()
            return
        if not self.is_inner(nest):
            return
        self.laned = nest.lanes > 1
        self.names = [func.fresh(r.name or "acc") for r in self.op.results]
        self.totals = [func.fresh("total") for _ in self.names] if self.laned and not self.any_order else []
        for name, kind in zip(self.totals, self.types):
            nest.emit(nest.n - 1, f"{ctype.declare(ctype.local(kind), name, False)} = 0;")
        for name, kind in zip(self.names, self.types):
            local = ctype.local(kind)
            size = f"[{nest.lanes}]" if self.laned else ""
            nest.emit(nest.n - 1, f"{ctype.declare(local, name + size, False)};")
            if self.neutral is not None:
                start = self._neutral(kind)
                if self.laned:
                    nest.emit(
                        nest.n - 1, f"for (int64_t lane = 0; lane < {nest.lanes}; lane++) {name}[lane] = {start};"
                    )
                else:
                    nest.emit(nest.n - 1, f"{name} = {start};")
            elif self.totals:
                pass  # written before it is read
            elif self.laned:
                nest.emit(nest.n - 1, f"for (int64_t lane = 0; lane < {nest.lanes}; lane++) {name}[lane] = ({local})0;")
            else:
                nest.emit(nest.n - 1, f"{name} = ({local})0;")
        self._declare_results()

    def _declare_results(self) -> None:
        for result, output in zip(self.op.results, self.outputs):
            if output is None:
                name = self.func.fresh(result.name or "red")
                self.func.declare_scalar(result, name)

    def _neutral(self, kind: Scalar) -> str:
        assert self.neutral is not None
        if kind.name == "i1":
            return "true" if self.neutral in ("-1", "1", "INT{bits}_MAX") else "false"
        if kind.name == "f64":
            return self.neutral.replace("f", "") if self.neutral[0] in "-01" else f"(double){self.neutral}"
        return self.neutral.format(bits=kind.bits)

    def body(self, nest: Nest) -> None:
        elements = [nest.eval(v, nest.index).text for v in self.op.operands]
        if self.shape[self.axis] == 1:
            self._write(nest, nest.n, elements)
            return
        if self.totals:
            for name, element in zip(self.names, elements):
                nest.emit(nest.n, f"{name}[lane] = {element};")
            return
        if self.is_inner(nest):
            lane = "[lane]" if self.laned else ""
            slots = [name + lane for name in self.names]
            var = nest.vars[nest.n - 1]
            first = f"{var} < {nest.lanes}"
        else:
            at = nest.flat(self._rest(nest), self._rest_shape())
            slots = [f"{nest.use(b)}[{nest.index_text(at)}]" for b in self.outputs if b is not None]
            loop = nest.dims.index(self.axis)
            first = f"{nest.vars[loop]} == 0"
        lines: list[str] = []
        old = [self._load(slot, kind, lines, not self.is_inner(nest)) for slot, kind in zip(slots, self.types)]
        new = self.func.inline(self.block, old + elements, lines)
        for line in lines:
            nest.emit(nest.n, line)
        for slot, value, element, kind in zip(slots, new, elements, self.types):
            if not (self.is_inner(nest) and self.neutral is not None):
                value = f"{first} ? {element} : {value}"
            nest.emit(nest.n, f"{slot} = {self._pack(value, kind, self.is_inner(nest))};")

    def behind_block(self, nest: Nest, start: str) -> list[str]:
        """Combines the elements of a block with their neighbours, in order, and adds the result."""
        if not self.totals:
            return []
        width = self.func.fresh("width")
        pairs: list[str] = []
        left = [self._load(f"{n}[2 * lane]", k, pairs, False) for n, k in zip(self.names, self.types)]
        right = [self._load(f"{n}[2 * lane + 1]", k, pairs, False) for n, k in zip(self.names, self.types)]
        new = self.func.inline(self.block, left + right, pairs)
        lines = [
            f"for (int64_t {width} = {nest.lanes // 2}; {width} > 0; {width} /= 2) {{",
            "  TJ_VECTOR",
            f"  for (int64_t lane = 0; lane < {width}; lane++) {{",
            *("    " + line for line in pairs),
            *(f"    {n}[lane] = {v};" for n, v in zip(self.names, new)),
            "  }",
            "}",
        ]
        add: list[str] = []
        new = self.func.inline(self.block, [*self.totals, *(f"{n}[0]" for n in self.names)], add)
        values = [self.func.fresh("total") for _ in new]
        for value, old, kind, name in zip(values, new, self.types, self.names):
            add.append(f"{ctype.declare(ctype.local(kind), value)} = {start} == 0 ? {name}[0] : {old};")
        return [*lines, *add, *(f"{total} = {value};" for total, value in zip(self.totals, values))]

    def _halve(self, width: int) -> list[str]:
        """Combines the upper half of the lanes with the lower one."""
        inner: list[str] = []
        low = [self._load(f"{n}[lane]", k, inner, False) for n, k in zip(self.names, self.types)]
        high = [self._load(f"{n}[lane + {width}]", k, inner, False) for n, k in zip(self.names, self.types)]
        new = self.func.inline(self.block, low + high, inner)
        inner += [f"{n}[lane] = {v};" for n, v in zip(self.names, new)]
        return [f"for (int64_t lane = 0; lane < {width}; lane++) {{", *("  " + line for line in inner), "}"]

    def _load(self, slot: str, kind: Scalar, lines: list[str], raw: bool) -> str:
        """A partial result as a NUM local; buffers hold RAW."""
        name = self.func.fresh("acc")
        text = slot
        if raw and ctype.is_narrow(kind):
            text = f"tj_{ctype.NARROW[kind.name][0]}_to_f32({slot})"
        elif raw and kind == Scalar("i1"):
            text = f"{slot} != 0"
        lines.append(f"{ctype.declare(ctype.local(kind), name)} = {text};")
        return name

    def _pack(self, text: str, kind: Scalar, inner: bool) -> str:
        if not inner and ctype.is_narrow(kind):
            return f"tj_f32_to_{ctype.NARROW[kind.name][0]}({text})"
        return text

    def _rest(self, nest: Nest) -> tuple[Index, ...]:
        return tuple(ix for d, ix in enumerate(nest.index) if d != self.axis)

    def _rest_shape(self) -> tuple[int, ...]:
        return tuple(n for d, n in enumerate(self.shape) if d != self.axis)

    def _write(self, nest: Nest, level: int, values: list[str], after: bool = False) -> None:
        """Writes finished results at a level."""
        where = nest.after if after else nest.lines
        for result, output, text, kind in zip(self.op.results, self.outputs, values, self.types):
            if output is None:
                where[level].append(f"{self.func.scalar(result).text} = {text};")
            else:
                at = nest.flat(self._rest(nest), self._rest_shape())
                packed = self._pack(text, kind, False)
                where[level].append(f"{nest.use(output)}[{nest.index_text(at)}] = {packed};")

    def end(self, nest: Nest) -> None:
        for result, output in zip(self.op.results, self.outputs):
            if output is not None:
                self.func.buffers_of[result] = output
        if self.shape[self.axis] == 1 or not self.is_inner(nest):
            return
        lines = nest.after[nest.n - 1]
        if self.totals:
            self._write(nest, nest.n - 1, self.totals, True)
        elif self.laned:
            width = nest.lanes // 2
            while width:
                lines += self._halve(width)
                width //= 2
            self._write(nest, nest.n - 1, [f"{n}[0]" for n in self.names], True)
        else:
            self._write(nest, nest.n - 1, self.names, True)
