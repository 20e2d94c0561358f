# SPDX-License-Identifier: Apache-2.0
"""Groups of loops that share one loop nest, and tiles that are evaluated into storage.

The consumers of lazy tiles (roots) are collected as long as they can share a nest, and
written when something else needs to happen first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .. import ctype
from ..buffers import Buffer, Storage
from ..ctype import RAW
from ..errors import BadTtir
from ..ir import Func, Op, Tile, Value
from ..location import where
from ..plan import Plan, Planner, is_lazy
from ..registry import ELEMENTWISE
from .alias import AliasCheck
from .bounds import Bounds
from .nest import Nest
from .order import contiguous, crossing
from .reduction import Reduce
from .roots import Keep, Root, Store

if TYPE_CHECKING:
    from ..func import FuncEmitter
    from ..module import ModuleEmitter


@dataclass(eq=False)
class Shifted:
    """A loop-carried tile kept as its initial value plus a scalar."""

    init: Value
    offset: str


class Groups(Storage):
    """Writes loop nests."""

    def __init__(self, module: ModuleEmitter, func: Func) -> None:
        super().__init__(module, func)
        self.plan: Plan = Planner(func).run()
        self.bounds = Bounds()
        self.shifted: dict[Value, Shifted] = {}
        self.group: list[Root] = []
        self.group_ops: list[Op] = []
        self.unready: set[Value] = set()
        self.last_write = 0  # position of the last operation emitted that may write memory

    @property
    def emitter(self) -> FuncEmitter:
        """The whole emitter, whose lower part this is."""
        return cast("FuncEmitter", self)

    # Lazy tiles and their leaves

    def leaves(self, values: Iterable[Value]) -> dict[tuple[Value, bool], None]:
        """What lazy tiles are computed from: stored tiles, loads and scalars.

        The flag says that a tile is read at the very index of the nest.
        """
        found: dict[tuple[Value, bool], None] = {}
        todo = [(v, True) for v in values]
        seen: set[tuple[Value, bool]] = set()
        keeps = {r.value for r in self.group if isinstance(r, Keep)}
        while todo:
            item = todo.pop()
            if item in seen:
                continue
            seen.add(item)
            value, same = item
            if not isinstance(value.type, Tile):
                found[item] = None
                continue
            if value in self.buffers_of or value in keeps:
                found[item] = None
                continue
            shift = self.shifted.get(value)
            if shift is not None:
                todo.append((shift.init, same))
                continue
            op = value.op
            if op is None or not is_lazy(op):
                found[item] = None
                continue
            if op.name == "tt.load":
                found[item] = None
            same = same and (op.name in ELEMENTWISE or op.name == "tt.load")
            todo += [(v, same) for v in op.operands]
        return found

    def loads(self, values: Iterable[Value]) -> list[Op]:
        """The loads that lazy tiles would do."""
        ops: dict[Op, None] = {}
        for value, _ in self.leaves(values):
            op = value.op
            if op is not None and op.name == "tt.load" and isinstance(value.type, Tile):
                if value not in self.buffers_of:
                    ops[op] = None
        return list(ops)

    # Groups of loops

    def add_root(self, root: Root, op: Op) -> None:
        """Puts a loop into the current group, or writes the group and starts a new one."""
        if self.group and not self._joins(root):
            self.flush()
        self.group.append(root)
        self.group_ops.append(op)
        if isinstance(root, Reduce):
            self.unready.update(op.results)

    def _joins(self, root: Root) -> bool:
        if root.shape != self.group[0].shape:
            return False
        writes = any(r.barrier for r in self.group)
        if root.barrier and any(isinstance(r, Reduce) for r in self.group):
            return False
        if writes and not root.barrier:
            return False
        keeps = {r.value for r in self.group if isinstance(r, Keep)}
        first_write = min((o.position for r, o in zip(self.group, self.group_ops) if r.barrier), default=None)
        buffers = {r.buffer for r in self.group if isinstance(r, Keep)}
        for value, same in self.leaves(root.values()):
            if value in self.unready:
                return False
            if value in keeps and not same:
                return False
            if self.buffers_of.get(value) in buffers:
                return False  # that storage is about to be overwritten
            op = value.op
            if first_write is not None and op is not None and op.name == "tt.load" and isinstance(value.type, Tile):
                if value not in self.buffers_of and op.position > first_write:
                    return False
        if isinstance(root, Keep):
            for other in self.group:
                for value, same in self.leaves(other.values()):
                    if self.buffers_of.get(value) is root.buffer and not same:
                        return False
        return True

    def flush(self) -> None:
        """Writes the current group."""
        if not self.group:
            return
        roots, ops = self.group, self.group_ops
        self.group, self.group_ops = [], []
        for op in ops:
            self.comment(op.loc)
        self.unready.clear()
        self.run_roots(roots)

    def run_roots(self, roots: list[Root]) -> None:
        """Writes loop nests for roots of one shape, fused if that keeps the meaning."""
        stores = [r for r in roots if isinstance(r, Store)]
        late = [op for op in self.loads(v for r in roots for v in r.values()) if op.position < self.last_write]
        if late:
            raise BadTtir(f"{where(late[0].loc)}: internal error: a load would move behind a store")
        self.last_write = max([self.last_write, *(r.op.position for r in stores)])
        turned = self._turn(roots)
        self._fused(roots, stores)
        for value in turned:
            del self.buffers_of[value]
        for root in roots:
            if isinstance(root, Keep):
                self.buffers_of[root.value] = root.buffer

    def _turn(self, roots: list[Root]) -> list[Value]:
        """Does the loads first that want another innermost loop; see order.py. Returns their values."""
        values = [v for r in roots for v in r.values()]
        shape = roots[0].shape
        inner = self._innermost(roots, shape)
        found = crossing(self.emitter, values, shape, inner) if inner is not None else []
        for op, moving in found:
            value = op.results[0]
            extents = ctype.shape(value.type)
            ranks = sorted(range(len(extents)), key=lambda d: (extents[d] != 1, d == moving))
            along = ranks[-2]
            rows, turned = self.new_buffer(value, RAW), self.new_buffer(value, RAW)
            rows.order, turned.order = (*ranks[:-2], moving, along), tuple(ranks)
            self.nest([Keep(value, rows)])
            names = [self.touch(turned), self.touch(rows)]
            call = (
                f"tj_transpose_{ctype.size(value.type)}({names[0]}, {names[1]}, {extents[moving]}, {extents[along]});"
            )
            self.block([rows, turned], [call])
            self.buffers_of[value] = turned
        return [op.results[0] for op, _ in found]

    def _fused(self, roots: list[Root], stores: list[Store]) -> None:
        """Writes one nest, or two versions where accesses may overlap."""
        loads = self.loads(v for r in roots for v in r.values()) if stores else []
        if not stores or (not loads and len(stores) == 1):
            self.nest(roots)
            return
        check = AliasCheck(self.emitter, roots[0].shape)
        verdict = check.fusible(loads, stores)
        if verdict == "true":
            self.nest(roots)
        elif verdict is None:
            self._careful(roots, stores)
        else:
            self.code += check.lines
            self.line(f"if ({verdict}) {{")
            self._indented(lambda: self.nest(roots))
            self.line("} else { /* accesses may overlap: first all loads, then all stores */")
            self._indented(lambda: self._careful(roots, stores))
            self.line("}")

    def _indented(self, write: Callable[[], None]) -> None:
        outer, self.code = self.code, []
        write()
        inner, self.code = self.code, outer
        self.code += ["  " + line for line in inner]

    def _careful(self, roots: list[Root], stores: list[Store]) -> None:
        """Evaluates everything that reads memory first, then writes."""
        first: list[Root] = [r for r in roots if not isinstance(r, Store)]
        kept: dict[Value, Buffer] = {r.value: r.buffer for r in roots if isinstance(r, Keep)}
        added: list[Value] = []
        for store in stores:
            for value in store.values():
                if isinstance(value.type, Tile) and value not in kept and value not in self.buffers_of:
                    if self.loads([value]):
                        kept[value] = self.new_buffer(value, RAW)
                        first.append(Keep(value, kept[value]))
        if first:
            self.nest(first)
        for value, buffer in kept.items():
            if value not in self.buffers_of:
                self.buffers_of[value] = buffer
                added.append(value)
        for store in stores:
            self.nest([store], stream=False)
        for value in added:
            del self.buffers_of[value]

    def nest(self, roots: list[Root], stream: bool = True) -> None:
        """Writes one loop nest; its stores may go past the caches unless that is not worth the code."""
        shape = roots[0].shape
        nest = Nest(self.emitter, shape, roots, self._innermost(roots, shape))
        nest.stream = stream and self.emitter.module.may_stream
        nest.lanes = max(root.lanes(nest) for root in roots)
        nest.generate()

    def write_nest(self, nest: Nest, lines: list[str]) -> None:
        """Takes the lines of a finished nest."""
        self.block(nest.buffers, lines)

    def _innermost(self, roots: list[Root], shape: tuple[int, ...]) -> int | None:
        """The dimension along which most accesses are contiguous."""
        dims = [d for d, n in enumerate(shape) if n != 1]
        if len(dims) < 2:
            return None
        votes = self.contiguous([v for r in roots for v in r.values()], shape, [
            r.pointer for r in roots if isinstance(r, Store)])  # fmt: skip
        for root in roots:
            if isinstance(root, Keep):
                kept = root.contiguous()
                if kept in votes:
                    votes[kept] += 1
        best = max(votes.values())
        return max(d for d in dims if votes[d] == best)

    def contiguous(self, values: list[Value], shape: tuple[int, ...], pointers: Iterable[Value] = ()) -> dict[int, int]:
        """For each dimension, how many accesses are to neighbours in memory along it."""
        return contiguous(self.emitter, values, shape, pointers)

    # Tiles in storage

    def target(self, value: Value, form: str) -> Buffer:
        """The storage for a tile: that of the loop argument it replaces, if that is sound."""
        arg = self.plan.in_place.get(value)
        if arg is not None and arg in self.buffers_of:
            buffer = self.buffers_of[arg]
            bad = any(self.buffers_of.get(v) is buffer and not same for v, same in self.leaves([value]))
            if not bad and buffer.form == form and buffer.shape == value.type.shape:  # type: ignore[union-attr]
                return buffer
        return self.new_buffer(value, form)

    def keep(self, value: Value, buffer: Buffer) -> None:
        """Evaluates a lazy tile into storage now."""
        self.run_roots([Keep(value, buffer)])

    def stored(self, value: Value, form: str | None = None) -> Buffer:
        """The tile in storage: where it is, or a copy made now. The group must be flushed."""
        found = self.buffers_of.get(value)
        if found is not None and (form is None or found.form == form or not ctype.is_narrow(value.type)):
            return found
        buffer = self.new_buffer(value, form or RAW)
        known = self.buffers_of.get(value)
        self.keep(value, buffer)
        if known is not None:
            self.buffers_of[value] = known
        return buffer

    def keep_copy(self, value: Value, buffer: Buffer) -> None:
        """Copies a tile, lazy or stored, into storage that is not its own."""
        self.nest([Keep(value, buffer)])

    def round_buffer(self, source: Buffer, target: Buffer, value: Value) -> None:
        """Rounds a float tile to the narrow type of a value."""
        name = ctype.NARROW[ctype.scalar(value.type).name][0]
        count = source.bytes // 4
        lines = [
            "TJ_VECTOR",
            f"for (int64_t i = 0; i < {count}; i++) {self.touch(target)}[i] ="
            f" tj_f32_to_{name}({self.touch(source)}[i]);",
        ]
        self.block([source, target], lines)

    def adopt(self, init: Value, form: str, op: Op) -> Buffer | None:
        """The storage of a loop's initial value, if nobody else needs that value."""
        buffer = self.buffers_of.get(init)
        if buffer is None or buffer.external or len(init.uses) != 1 or init.block is not op.block:
            return None
        return buffer if buffer.form == form else None
