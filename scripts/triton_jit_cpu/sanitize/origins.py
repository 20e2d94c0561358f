# SPDX-License-Identifier: Apache-2.0
"""The numeric sanitizer: for each floating-point value, the birth of its NaN or infinity.

Beside each such value stands an integer, its origin: 0 where the value is finite, was read from
memory or is a constant, else the number of a birth that the library has noted. ``tj.origin`` makes
it from an operation's result and operands, and what moves values moves their origins: views,
tl.where, loops, branches and calls. In front of a store or an atomic, ``tj.escape`` tells the
library of the elements that go to memory.

What a value's way through integers (bit tricks, sorting) hides is not followed, nor births within
scaled products.
"""

from __future__ import annotations

from .. import ctype
from ..ir import Block, Module, Op, Scalar, Tile, Type, Value, walk
from ..registry import ELEMENTWISE, INDEXING
from .rewrite import (
    Cursor,
    append_arg,
    append_operand,
    append_result,
    behind,
    combine_region,
    like,
)
from .sites import Site, access_site, operation

I32 = Scalar("i32")

# Operations that only move elements, and how many of their operands are moved.
_MOVES = {
    "tt.splat": 1, "tt.unsplat": 1, "tt.expand_dims": 1, "tt.broadcast": 1, "tt.trans": 1, "tt.reshape": 1,
    "tt.split": 1, "tt.gather": 1, "tt.join": 2, "tt.cat": 2,
}  # fmt: skip
# Operations whose result has no history.
_FRESH = {"tt.load", "arith.constant", "tt.bitcast", "arith.bitcast", "ub.poison", "arith.select"}


def add_origins(module: Module) -> None:
    """Puts the numeric sanitizer's operations into a module."""
    origins = _Origins(module)
    for func in module.funcs:
        origins.signature(func.body.blocks, func is module.entry)
    for func in module.funcs:
        if func is not module.entry:
            func.results += [like(t, I32) for t in func.results if _is_float(t)]
        for block in func.body.blocks:
            origins.block(block)
        origins.finish()


def _is_float(type_: Type) -> bool:
    kind = type_.elem if isinstance(type_, Tile) else type_
    return isinstance(kind, Scalar) and kind.is_float


class _Origins:
    """Adds origins to the operations of a module, in program order."""

    def __init__(self, module: Module) -> None:
        self.names = {func.name for func in module.funcs}
        self.of: dict[Value, Value] = {}
        self.jumps: list[Op] = []  # to blocks that have not got their origins yet
        self.by_number = {  # the blocks of a cf.switch, which Triton's front end does not make
            block
            for func in module.funcs
            for op in walk(func.body)
            if op.name == "cf.switch"
            for block in op.successors
        }

    # Values

    def get(self, cursor: Cursor, value: Value) -> Value:
        """The origin of a value; 0 if it has no history."""
        return self.of.get(value) or cursor.zero(like(value.type, I32))

    def arg(self, block: Block, value: Value) -> None:
        """A block argument for the origin of another one."""
        self.of[value] = append_arg(block, like(value.type, I32), "origin")

    def signature(self, blocks: list[Block], entry: bool) -> None:
        """Arguments of a function's blocks; those of the kernel itself have no history."""
        for block in blocks[1:] if entry else blocks:
            for value in list(block.args) if block not in self.by_number else []:
                if _is_float(value.type):
                    self.arg(block, value)

    # Program order

    def block(self, block: Block) -> None:
        """All operations of a block."""
        for op in list(block.ops):
            self.op(op)

    def op(self, op: Op) -> None:
        """One operation."""
        floats = [r for r in op.results if _is_float(r.type)]
        handler = getattr(self, "_" + op.name.split(".", 1)[1].replace(".", "_"), None)
        if op.name in ("scf.for", "scf.while", "scf.if", "scf.execute_region", "scf.index_switch"):
            self._region_op(op, floats)
        elif op.name in ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store"):
            self._escape(op)
        elif op.name in ("tt.reduce", "tt.scan"):
            self._fold(op, floats)
        elif op.name in ("tt.return", "scf.yield", "scf.condition", "cf.br", "cf.cond_br", "tt.call"):
            assert handler is not None
            handler(op)
        elif not floats:
            return
        elif op.name in _MOVES:
            self._move(op)
        elif op.name == "arith.select":
            self._select(op)
        elif op.name == "tt.dot":
            self._dot(op)
        elif op.name not in _FRESH and (op.name in ELEMENTWISE or op.name in INDEXING):
            self._compute(op, floats)

    # Computing

    def _site(self, op: Op, result: Value) -> Site:
        return Site(0, ctype.size(result.type), -1, ctype.shape(result.type), operation(op), op.loc)

    def _compute(self, op: Op, floats: list[Value]) -> None:
        operands = [v for v in op.operands if isinstance(ctype.elem(v.type), Scalar)][:3]
        for result in floats:
            cursor = behind(op)
            parts = [result]
            for operand in operands:
                parts += [operand, self.get(cursor, operand)]
            self.of[result] = cursor.value(
                "tj.origin", parts, like(result.type, I32), "origin", site=self._site(op, result)
            )

    def _move(self, op: Op) -> None:
        moved = op.operands[: _MOVES[op.name]]
        if not any(v in self.of for v in moved):
            return
        cursor = behind(op)
        operands = [self.get(cursor, v) for v in moved] + op.operands[len(moved) :]
        copy = cursor.op(op.name, operands, [like(r.type, I32) for r in op.results], **op.attrs)
        for result, origin in zip(op.results, copy.results):
            self.of[result] = origin

    def _select(self, op: Op) -> None:
        condition, a, b = op.operands
        if a in self.of or b in self.of:
            cursor = behind(op)
            chosen = [condition, self.get(cursor, a), self.get(cursor, b)]
            self.of[op.results[0]] = cursor.value("arith.select", chosen, like(a.type, I32), "origin")

    def _fold(self, op: Op, floats: list[Value]) -> None:
        """A reduction or scan: what is wrong with any of the elements, and an origin of theirs."""
        if not floats:
            return
        cursor = behind(op)
        sources = [v for v in op.operands if _is_float(v.type)]
        wrong = self._all(cursor, "arith.ori", [self._badness(cursor, v) for v in sources])
        origin = self._all(cursor, "arith.maxsi", [self.get(cursor, v) for v in sources])
        folded = []
        for value, name in ((wrong, "arith.ori"), (origin, "arith.maxsi")):
            copy = cursor.op(op.name, [value], [like(floats[0].type, I32)], **op.attrs)
            copy.regions.append(combine_region(name, I32, copy))
            folded.append(copy.results[0])
        for result in floats:
            self.of[result] = cursor.value(
                "tj.made", [result, *folded], like(result.type, I32), "origin", site=self._site(op, result)
            )

    def _badness(self, cursor: Cursor, value: Value) -> Value:
        return cursor.value("tj.badness", [value], like(value.type, I32), "bad")

    def _all(self, cursor: Cursor, name: str, values: list[Value]) -> Value:
        total = values[0]
        for value in values[1:]:
            total = cursor.value(name, [total, value], total.type)
        return total

    def _dot(self, op: Op) -> None:
        """A product: what is wrong with the row, the column and the sum so far."""
        cursor = behind(op)
        result = op.results[0]
        shape = ctype.shape(result.type)
        rank = len(shape)
        folded = []
        for name, part in (("arith.ori", self._badness), ("arith.maxsi", self.get)):
            total = part(cursor, op.operands[2])
            for operand, axis in ((op.operands[0], rank - 1), (op.operands[1], rank - 2)):
                if not _is_float(operand.type):
                    continue
                lines = Tile(tuple(n for d, n in enumerate(ctype.shape(operand.type)) if d != axis), I32)
                fold = cursor.op("tt.reduce", [part(cursor, operand)], [lines], axis=axis)
                fold.regions.append(combine_region(name, I32, fold))
                thin = Tile(tuple(1 if d == axis else n for d, n in enumerate(ctype.shape(operand.type))), I32)
                wide = cursor.value("tt.expand_dims", [fold.results[0]], thin, axis=axis)
                wide = cursor.value("tt.broadcast", [wide], Tile(shape, I32))
                total = cursor.value(name, [total, wide], Tile(shape, I32))
            folded.append(total)
        self.of[result] = cursor.value(
            "tj.made", [result, *folded], Tile(shape, I32), "origin", site=self._site(op, result)
        )

    # Memory

    def _escape(self, op: Op) -> None:
        number = 2 if op.name == "tt.atomic_cas" else 1
        value = op.operands[number]
        if value in self.of:
            masks = [] if op.name == "tt.atomic_cas" else op.operands[2:3]
            Cursor(op).op("tj.escape", [self.of[value], *masks], [], site=access_site(op))

    # Control flow

    def _region_op(self, op: Op, floats: list[Value]) -> None:
        if op.name in ("scf.for", "scf.while"):
            cursor = Cursor(op)
            skip = 3 if op.name == "scf.for" else 0
            body = op.regions[0].blocks[0]
            carried = body.args[1:] if op.name == "scf.for" else list(body.args)
            inits = list(op.operands[skip:])
            for arg, init in zip(list(carried), inits):
                if _is_float(arg.type):
                    append_operand(op, self.get(cursor, init))
                    self.arg(body, arg)
            if op.name == "scf.while":
                for arg in list(op.regions[1].blocks[0].args):
                    if _is_float(arg.type):
                        self.arg(op.regions[1].blocks[0], arg)
        for region in op.regions:
            for block in region.blocks:
                self.block(block)
        for result in floats:
            self.of[result] = append_result(op, like(result.type, I32), "origin")

    def _at_end(self, op: Op, first: int) -> None:
        """A terminator passes on the origins of its operands."""
        cursor = Cursor(op)
        for value in list(op.operands[first:]):
            if _is_float(value.type):
                append_operand(op, self.get(cursor, value))

    def _yield(self, op: Op) -> None:
        self._at_end(op, 0)

    def _condition(self, op: Op) -> None:
        self._at_end(op, 1)

    def _return(self, op: Op) -> None:
        self._at_end(op, 0)

    def _br(self, op: Op) -> None:
        self.jumps.append(op)

    def _cond_br(self, op: Op) -> None:
        self.jumps.append(op)

    def finish(self) -> None:
        """Jumps of a function whose blocks are all done: each block gets the origins that it takes."""
        for op in self.jumps:
            cursor = Cursor(op)
            sizes = list(op.attrs["operandSegmentSizes"]) if op.name == "cf.cond_br" else [0, len(op.operands)]
            at = sizes[0]
            values = list(op.operands[:at])
            for number, successor in enumerate(op.successors, 1):
                mine = op.operands[at : at + sizes[number]]
                at += sizes[number]
                origins = [self.get(cursor, v) for v, arg in zip(mine, successor.args) if arg in self.of]
                values += [*mine, *origins]
                sizes[number] += len(origins)
            self._set_operands(op, values)
            if op.name == "cf.cond_br":
                op.attrs["operandSegmentSizes"] = sizes
        self.jumps.clear()

    def _set_operands(self, op: Op, values: list[Value]) -> None:
        for number, value in enumerate(op.operands):
            value.uses.remove((op, number))
        op.operands = []
        for value in values:
            append_operand(op, value)

    def _call(self, op: Op) -> None:
        if op.attrs["callee"] not in self.names:
            return
        cursor = Cursor(op)
        for value in list(op.operands):
            if _is_float(value.type):
                append_operand(op, self.get(cursor, value))
        for result in list(op.results):
            if _is_float(result.type):
                self.of[result] = append_result(op, like(result.type, I32), "origin")
