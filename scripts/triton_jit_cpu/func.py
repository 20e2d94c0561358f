# SPDX-License-Identifier: Apache-2.0
"""Writes the C function of one ``tt.func``.

Scalars become C constants where their operation stands. Tiles are lazy (see plan.py);
groups.py turns them into loop nests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import ctype
from .buffers import Buffer
from .ctype import NUM, RAW
from .errors import UnsupportedOp
from .ir import Block, Func, Op, Tile, Type, Value
from .nest.groups import Groups, Shifted
from .nest.nest import ZERO, Nest
from .nest.reduction import Reduce
from .nest.roots import Keep, Store
from .operands import keep_operand, only_operand
from .optable import refusal
from .plan import is_lazy
from .registry import BARRIERS, ELEMENTWISE, INDEXING, STATEMENT

if TYPE_CHECKING:
    from .module import ModuleEmitter


class Bound(NamedTuple):
    """The C name of a scalar, and its form."""

    text: str
    form: str = NUM


class FuncEmitter(Groups):
    """Emits one function."""

    def __init__(self, module: ModuleEmitter, func: Func) -> None:
        super().__init__(module, func)
        self.multi_block = len(func.body.blocks) > 1
        self.top: list[str] = []  # declarations at the top of the function
        self.env: dict[Value, Bound] = {}
        self.labels: dict[Block, str] = {}
        self.results: list[str] = []  # C names of the pointers to scalar results, by number
        self.result_buffers: dict[int, Buffer] = {}

    # Scalars

    def scalar(self, value: Value) -> Bound:
        """The C name of a scalar."""
        found = self.env.get(value)
        if found is None:
            raise UnsupportedOp("scalar", self.loc(), f"'{value.name}' ({value.type}) has no value here")
        return found

    def text(self, value: Value, form: str = NUM) -> str:
        """A scalar in the form asked for; may add a line."""
        nest = Nest(self, (), [], None)
        found = nest.eval(value, (), form)
        self.code += nest.lines[0]
        return found.text

    def bind(self, value: Value, text: str, form: str = NUM) -> None:
        """Gives a scalar its C name."""
        self.env[value] = Bound(text, form)

    def declare_scalar(self, value: Value, name: str) -> None:
        """Declares a C variable for a scalar that is assigned later."""
        line = f"{ctype.declare(ctype.local(value.type), name, False)};"
        (self.top if self.multi_block else self.code).append(line)
        self.bind(value, name)

    def constant(self, type_: Type, hint: str, text: str) -> str:
        """A new C constant in front of what follows."""
        name = self.fresh(hint)
        self.line(f"{ctype.declare(ctype.local(type_), name)} = {text};")
        return name

    # Operations

    def inline(self, block: Block, args: list[str], lines: list[str]) -> list[str]:
        """Emits the region that begins with a block on C values; returns the C values it ends with."""
        assert block.region is not None
        blocks = block.region.blocks
        outer, self.code = self.code, []
        top, self.top = self.top, []
        comment, self.last_comment = self.last_comment, None
        group, self.group = self.group, []
        many, self.multi_block = self.multi_block, len(blocks) > 1
        for arg, text in zip(block.args, args):
            self.bind(arg, text)
        if self.multi_block:
            out = self._inline_blocks(blocks)
        else:
            for op in block.ops[:-1]:
                self.emit_op(op, quiet=True)
            out = [self.text(v) for v in block.ops[-1].operands]
        lines += self.top + self.code  # they stay together
        self.code, self.top, self.last_comment, self.group = outer, top, comment, group
        self.multi_block = many
        return out

    def _inline_blocks(self, blocks: list[Block]) -> list[str]:
        """The blocks of a region with branches; each return assigns the results and goes to the end."""
        end = self.fresh("done")
        ending = next(b.ops[-1] for b in blocks if not b.ops[-1].successors)
        results = [self.fresh("result") for _ in ending.operands]
        self.top += [f"{ctype.declare(ctype.local(v.type), r, False)};" for r, v in zip(results, ending.operands)]
        for block in blocks[1:]:
            self.labels[block] = self.fresh("step")
            for arg in block.args:
                self.declare_scalar(arg, self.fresh(arg.name or "arg"))
        for block in blocks:
            if block in self.labels:
                self.line(f"{self.labels[block]}:;")
            *ops, last = block.ops
            for op in ops:
                self.emit_op(op, quiet=True)
            if last.successors:
                self.emit_op(last, quiet=True)
                continue
            for result, value in zip(results, last.operands):
                self.line(f"{result} = {self.text(value)};")
            self.line(f"goto {end};")
        self.line(f"{end}:;")
        return results

    def emit_block(self, block: Block) -> None:
        """Emits the operations of a block."""
        for op in block.ops:
            self.emit_op(op)
        self.flush()

    def emit_op(self, op: Op, quiet: bool = False) -> None:
        """Emits one operation."""
        self.current = op
        if is_lazy(op):
            if op.name == "tt.load" and self._group_writes():
                self.flush()  # stores behind this load must not join those in front of it
            for result in op.results:
                if result in self.plan.stored:
                    self._store_tile(op, result)
            return
        if op.name == "tt.store" and isinstance(op.operands[1].type, Tile):
            self.add_root(Store(op), op)
            return
        if op.name == "tt.reduce":
            self.add_root(Reduce(self, op), op)
            return
        if self._is_scalar_expression(op):
            if any(v in self.unready for v in op.operands) or op.name == "tt.load" and self._group_writes():
                self.flush()
            if not quiet and op.name != "arith.constant":
                self.comment(op.loc)
            self._scalar_op(op)
            return
        lower = STATEMENT.get(op.name)
        if lower is None:
            raise UnsupportedOp(op.name, op.loc, refusal(op.name))
        self.flush()
        if not quiet and op.name not in ("scf.yield", "tt.return", "cf.br"):
            self.comment(op.loc)
        lower(self, op)
        if op.name in BARRIERS:
            self.last_write = max(self.last_write, op.position)

    def _group_writes(self) -> bool:
        return any(r.barrier for r in self.group)

    def _is_scalar_expression(self, op: Op) -> bool:
        if op.name == "tt.load":
            return not isinstance(op.results[0].type, Tile)
        known = op.name in ELEMENTWISE or op.name in INDEXING
        return known and bool(op.results) and not any(isinstance(r.type, Tile) for r in op.results)

    def _scalar_op(self, op: Op) -> None:
        for number, result in enumerate(op.results):
            nest = Nest(self, (), [], None)
            nest.result = number
            narrow = ctype.is_narrow(result.type)
            form = RAW if narrow and (op.name in INDEXING or ELEMENTWISE[op.name].raw) else NUM
            lower = INDEXING.get(op.name)
            expr = lower(nest, op, (), form) if lower else nest.elementwise(op, (), form)
            self._bind_lines(result, nest.lines[0], expr.text, form)

    def _bind_lines(self, result: Value, lines: list[str], text: str, form: str) -> None:
        """Binds a scalar to an expression that some lines lead to."""
        if self.multi_block and lines:
            # Other blocks of the function must see it: jumps may not enter its scope.
            name = self.fresh(result.name or "s")
            self.top.append(f"{ctype.declare(ctype.local(result.type, form), name, False)};")
            self.code += ["{", *("  " + line for line in lines), f"  {name} = {text};", "}"]
            text = name
        else:
            self.code += lines
        self.bind(result, text, form)

    def _store_tile(self, op: Op, value: Value) -> None:
        kind = None if value in self.plan.in_place else only_operand(value)
        if kind is not None:
            self.flush()  # how the operand lies in memory may depend on what the group computes
            self.add_root(keep_operand(self, value, kind), op)
        else:
            self.add_root(Keep(value, self.target(value, self.plan.stored[value])), op)

    def uniform(self, value: Value) -> str:
        """The one number that all elements of a tile are."""
        if not isinstance(value.type, Tile):
            return self.text(value)
        nest = Nest(self, (), [], None)
        found = nest.eval(value, (ZERO,) * len(value.type.shape))
        self.code += nest.lines[0]
        return found.text

    def declare_offset(self, name: str) -> None:
        """Declares the scalar part of a shifted tile."""
        if self.multi_block:
            self.top.append(f"int64_t {name};")
            self.line(f"{name} = 0;")
        else:
            self.line(f"int64_t {name} = 0;")

    def shift(self, value: Value, init: Value, offset: str) -> None:
        """Makes a tile stand for another one plus a scalar."""
        self.shifted[value] = Shifted(init, offset)

    # The whole function

    def is_public(self) -> bool:
        """True for the kernel itself."""
        return self.func is self.module.entry

    def emit(self) -> None:
        """Emits the body."""
        if self.multi_block:
            for number, block in enumerate(self.func.body.blocks):
                self.labels[block] = f"block_{number}"
                if number:
                    for arg in block.args:
                        if isinstance(arg.type, Tile):
                            self.buffers_of[arg] = self.new_buffer(arg, RAW)
                        else:
                            self.declare_scalar(arg, self.fresh(arg.name or "arg"))
            for number, block in enumerate(self.func.body.blocks):
                if number:
                    self.line(f"{self.labels[block]}:;")
                self.last_comment = None
                self.block_number = number
                self.emit_block(block)
            for buffer in self.buffers:
                # What one block writes and reads is dead when the block ends, however often it runs.
                if len(buffer.blocks) > 1:
                    buffer.start, buffer.end = 0, self.clock + 1
        else:
            self.emit_block(self.func.body.blocks[0])
