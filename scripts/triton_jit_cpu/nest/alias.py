# SPDX-License-Identifier: Apache-2.0
"""When may the loads and stores of a tile share one loop?

Triton's meaning is: all loads of a tile, then all its stores. In one loop they alternate,
which is the same only if no store of an element touches what another element loads later.
That holds when the address ranges are disjoint (checked at run time, from bounds of the
index expressions) or when load and store go through the same pointers and these are all
different.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ir import Op, Scalar, Tile, Value
from .nest import Nest
from .roots import Root

if TYPE_CHECKING:
    from ..func import FuncEmitter
    from .roots import Store


# The elements of the result are elements of the operand.
_SAME_RANGE = ("tt.splat", "tt.expand_dims", "tt.broadcast", "tt.trans", "tt.reshape", "arith.extsi")


# Numbers are looked at where the tile is so many times larger.
_FEW = 8


class Measure(Root):
    """The least and the largest element of an integer tile."""

    serial = True

    def __init__(self, value: Value, name: str) -> None:
        self.value, self.name = value, name
        self.shape = ctype.shape(value.type)

    def values(self) -> list[Value]:
        return [self.value]

    def body(self, nest: Nest) -> None:
        element = nest.eval(self.value, nest.index).text
        nest.emit(nest.n, f"if ({element} < {self.name}.low) {self.name}.low = {element};")
        nest.emit(nest.n, f"if ({element} > {self.name}.high) {self.name}.high = {element};")


class AliasCheck:
    """Builds the condition under which a fused loop keeps the meaning."""

    def __init__(self, func: FuncEmitter, shape: tuple[int, ...]) -> None:
        self.func = func
        self.shape = shape
        self.lines: list[str] = []
        self.ranges: dict[Value, str | None] = {}
        self.scalars = Nest(func, (), [], None)

    def fusible(self, loads: list[Op], stores: list[Store]) -> str | None:
        """'true', a C condition, or None where nothing is known."""
        terms: dict[str, None] = {}
        for number, store in enumerate(stores):
            others = [(op.operands[0], op) for op in loads] + [(s.pointer, s.op) for s in stores[number + 1 :]]
            for pointer, _ in others:
                if pointer is store.pointer:
                    term = self._distinct(pointer)
                    if term is not None:
                        if term != "true":
                            terms[term] = None
                        continue
                term = self._disjoint(pointer, store.pointer)
                if term is None:
                    return None
                terms[term] = None
        self.lines = self.scalars.lines[0] + self.lines
        return " && ".join(terms) or "true"

    def _disjoint(self, a: Value, b: Value) -> str | None:
        ra, rb = self._range(a), self._range(b)
        if ra is None or rb is None:
            return None
        return f"tj_apart({ra}, {ctype.size(_target(a))}, {rb}, {ctype.size(_target(b))})"

    def _distinct(self, pointer: Value) -> str | None:
        """Condition for all pointers of a tile to be different."""
        dims = [d for d, n in enumerate(self.shape) if n != 1]
        if not isinstance(pointer.type, Tile) or pointer.type.shape != self.shape:
            return None
        steps = []
        for d in dims:
            probe = Nest(self.func, self.shape, [], d)
            step = probe.linear.coefficient(pointer, probe.index)
            if step is None or step == 0 or any(probe.lines[1:]):
                return None
            self.lines += probe.lines[0]
            steps.append(step)
        if len(dims) <= 1:
            # A linear index of non-zero constant step cannot come back within a tile.
            return "true" if all(isinstance(s, int) for s in steps) else None
        span = self._range(pointer)
        if span is None or len(dims) != 2:
            return None
        (a, b), (na, nb) = steps, [self.shape[d] for d in dims]
        return f"{span}.ok && tj_rows_apart({a}, {na}, {b}, {nb})"

    def _range(self, value: Value) -> str | None:
        """The C name of a tj_range with the bounds of an integer or pointer tile."""
        op = value.op
        if op is not None and op.name in _SAME_RANGE and self._is_lazy(value):
            return self._range(op.operands[0])
        if value not in self.ranges:
            text = self._range_text(value)
            if text is None:
                self.ranges[value] = None
            else:
                name = self.func.fresh(f"{value.name or 'v'}_range")
                self.lines.append(f"const tj_range {name} = {text};")
                self.ranges[value] = name
        return self.ranges[value]

    def _is_lazy(self, value: Value) -> bool:
        return isinstance(value.type, Tile) and value not in self.func.buffers_of and value not in self.func.shifted

    def _measured(self, value: Value) -> str | None:
        """The range of numbers from memory, by a look at all of them, if they are few."""
        assert isinstance(value.type, Tile)
        elements = 1
        for extent in self.shape:
            elements *= extent
        if not isinstance(value.type.elem, Scalar) or value.type.size * _FEW > elements:
            return None
        name = self.func.fresh(f"{value.name or 'v'}_found")
        outer, self.func.code = self.func.code, [f"tj_range {name} = {{INT64_MAX, INT64_MIN, true}};"]
        self.func.nest([Measure(value, name)])
        self.lines += self.func.code
        self.func.code = outer
        return name

    def _range_text(self, value: Value) -> str | None:
        kind = ctype.elem(value.type)
        if not isinstance(value.type, Tile):
            text = self.scalars.eval(value).text
            return f"tj_range_of((int64_t)(intptr_t){text})" if not isinstance(kind, Scalar) else f"tj_range_of({text})"
        if isinstance(kind, Scalar) and (kind.is_float or kind.bits < 8):
            return None
        shift = self.func.shifted.get(value)
        if shift is not None:
            base = self._range(shift.init)
            if base is None:
                return None
            size = 1 if isinstance(kind, Scalar) else ctype.size(_target(value))
            return f"tj_range_add({base}, tj_range_of({shift.offset} * {size}), {kind.bits})"
        op = value.op
        if value in self.func.buffers_of or op is not None and op.name == "tt.load":
            return self._measured(value)
        if op is None:
            return None
        name = op.name
        if name == "tt.make_range":
            return f"(tj_range){{{op.attrs['start']}, {op.attrs['end'] - 1}, true}}"
        if name == "arith.constant":
            bits = op.attrs["value"]
            return f"tj_range_of({ctype.literal(kind, bits.bits[0])})" if bits.splat else None
        if name in ("arith.addi", "arith.subi", "arith.muli", "tt.addptr"):
            a, b = self._range(op.operands[0]), self._range(op.operands[1])
            if a is None or b is None:
                return None
            if name == "tt.addptr":
                return f"tj_range_add({a}, tj_range_mul({b}, tj_range_of({ctype.size(_target(value))}), 64), 64)"
            return f"tj_range_{name[6:9]}({a}, {b}, {kind.bits})"
        if name in ("arith.remsi", "arith.remui") and isinstance(kind, Scalar):
            b = self._range(op.operands[1])
            return None if b is None else f"tj_range_rem({b})"
        return None


def _target(pointer: Value):  # type: ignore[no-untyped-def]
    kind = ctype.elem(pointer.type)
    return kind.elem  # type: ignore[union-attr]
