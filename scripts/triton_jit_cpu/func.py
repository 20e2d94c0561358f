# SPDX-License-Identifier: Apache-2.0
"""Writes the C function of one ``tt.func``.

Scalars become C constants where their operation stands. Tiles are lazy (see plan.py);
the loops that consume them are collected in a group as long as they can share one loop
nest, and written when something else needs to happen first.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from . import ctype
from .alias import AliasCheck
from .bounds import Bounds
from .ctype import NUM, RAW
from .errors import BadTtir, UnsupportedOp
from .ir import Block, Func, Loc, Op, Ptr, Scalar, Tile, Type, Value
from .names import Names
from .nest import ZERO, Nest, Root
from .optable import refusal
from .plan import Plan, Planner, is_lazy
from .registry import BARRIERS, ELEMENTWISE, INDEXING, STATEMENT
from .roots import Keep, Reduce, Store
from .ttir import user_frame, where

if TYPE_CHECKING:
    from .module import ModuleEmitter


class Bound(NamedTuple):
    """The C name of a scalar, and its form."""

    text: str
    form: str = NUM


@dataclass(eq=False)
class Buffer:
    """Storage of a tile in the scratch arena."""

    name: str
    shape: tuple[int, ...]
    type: Type
    form: str
    number: int
    start: int
    end: int
    external: bool = False  # storage of the caller, not in this function's scratch

    @property
    def ctype(self) -> str:
        """The C type of an element."""
        if self.form == NUM and ctype.is_narrow(self.type):
            return "float"
        return ctype.memory(self.type)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        width = 4 if self.form == NUM and ctype.is_narrow(self.type) else ctype.size(self.type)
        count = 1
        for n in self.shape:
            count *= n
        return width * count


@dataclass(eq=False)
class Shifted:
    """A loop-carried tile kept as its initial value plus a scalar."""

    init: Value
    offset: str


class FuncEmitter:
    """Emits one function."""

    def __init__(self, module: ModuleEmitter, func: Func) -> None:
        self.module = module
        self.func = func
        self.plan: Plan = Planner(func).run()
        self.multi_block = len(func.body.blocks) > 1
        self.names = Names(module.reserved)
        self.code: list[str] = []
        self.top: list[str] = []  # declarations at the top of the function
        self.env: dict[Value, Bound] = {}
        self.buffers_of: dict[Value, Buffer] = {}
        self.shifted: dict[Value, Shifted] = {}
        self.buffers: list[Buffer] = []
        self.clock = 0
        self.bounds = Bounds()
        self.loop_spans: list[tuple[int, int]] = []
        self.group: list[Root] = []
        self.group_ops: list[Op] = []
        self.unready: set[Value] = set()
        self.last_write = 0  # position of the last operation emitted that may write memory
        self.current: Op | None = None
        self.last_comment: tuple[str, int] | None = None
        self.labels: dict[Block, str] = {}
        self.results: list[str] = []  # C names of the pointers to scalar results, by number
        self.result_buffers: dict[int, Buffer] = {}

    # Names and lines

    def fresh(self, hint: str) -> str:
        """A C identifier that is not in use in this function."""
        return self.names.fresh(hint)

    def names_mark(self) -> int:
        """See names_release."""
        return self.names.mark()

    def names_release(self, mark: object) -> None:
        """Forgets the names given out since the mark."""
        self.names.release(mark)  # type: ignore[arg-type]

    def line(self, text: str) -> None:
        """Adds a line of C."""
        self.code.append(text)

    def loc(self) -> Loc:
        """The place of the operation being lowered."""
        return self.current.loc if self.current else self.func.loc

    def comment(self, loc: Loc) -> None:
        """Names the Triton source line that the next lines come from."""
        frame = user_frame(loc)
        if frame is None or frame == self.last_comment:
            return
        self.last_comment = frame
        text = linecache.getline(*frame).strip().replace("*/", "* /").replace("/*", "/ *")
        text = text.encode("ascii", "replace").decode().replace("??", "? ?").rstrip("\\")
        name = frame[0].rsplit("/", 1)[-1].replace("*/", "")
        self.line(f"/* {name}:{frame[1]}: {text} */" if text else f"/* {name}:{frame[1]} */")

    # Scalars

    def scalar(self, value: Value) -> Bound:
        """The C name of a scalar."""
        found = self.env.get(value)
        if found is None:
            raise UnsupportedOp("scalar", self.loc(), f"'{value.name}' ({value.type}) has no value here")
        return found

    def text(self, value: Value, form: str = NUM) -> str:
        """A scalar in the form asked for; may add a line."""
        return self._evaluate(value, form)

    def _evaluate(self, value: Value, form: str) -> str:
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

    # Buffers

    def new_buffer(self, value: Value, form: str) -> Buffer:
        """Storage for a tile."""
        assert isinstance(value.type, Tile)
        return self.buffer(value.name or "t", value.type.shape, value.type, form)

    def buffer(self, hint: str, shape: tuple[int, ...], type_: Type, form: str = NUM) -> Buffer:
        """Storage of any shape."""
        made = Buffer(self.fresh(hint), shape, type_, form, self.module.next_buffer(), self.clock, self.clock)
        self.buffers.append(made)
        return made

    def touch(self, buffer: Buffer) -> str:
        """Notes a use of the storage now, and names it."""
        buffer.end = max(buffer.end, self.clock)
        buffer.start = min(buffer.start, self.clock)
        return buffer.name

    def open_buffers(self, buffers: Iterable[Buffer]) -> list[str]:
        """Declarations of the pointers to storage, for a block that uses it."""
        lines = []
        for buffer in buffers:
            self.touch(buffer)
            if buffer.external:
                continue
            kind = buffer.ctype
            star = kind if kind.endswith("*") else kind + " "
            lines.append(f"{star}*restrict const {buffer.name} = ({star}*)(scratch + @{buffer.number}@);")
        return lines

    def block(self, buffers: Iterable[Buffer], lines: Iterable[str]) -> None:
        """Writes lines in a C block with pointers to the buffers."""
        opened = self.open_buffers(buffers)
        self.line("{")
        self.code += ["  " + line for line in opened]
        self.code += ["  " + line for line in lines]
        self.line("}")
        self.clock += 1

    def write_nest(self, nest: Nest, lines: list[str]) -> None:
        """Takes the lines of a finished nest."""
        self.block(nest.buffers, lines)

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
                if value in keeps and value not in self.buffers_of:
                    pass
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
        loads = self.loads(v for r in roots for v in r.values()) if stores else []
        if not stores or (not loads and len(stores) == 1):
            self.nest(roots)
            self._kept(roots)
            return
        check = AliasCheck(self, roots[0].shape)
        verdict = check.fusible(loads, stores)
        if verdict == "true":
            self.nest(roots)
            self._kept(roots)
            return
        if verdict is not None:
            self.code += check.lines
            self.line(f"if ({verdict}) {{")
            self._indented(lambda: self.nest(roots))
            self.line("} else { /* accesses may overlap: first all loads, then all stores */")
            self._indented(lambda: self._careful(roots, stores))
            self.line("}")
        else:
            self._careful(roots, stores)
        self._kept(roots)

    def _indented(self, write: Any) -> None:
        outer, self.code = self.code, []
        write()
        inner, self.code = self.code, outer
        self.code += ["  " + line for line in inner]

    def _kept(self, roots: list[Root]) -> None:
        for root in roots:
            if isinstance(root, Keep):
                self.buffers_of[root.value] = root.buffer

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
            self.nest([store])
        for value in added:
            del self.buffers_of[value]

    def nest(self, roots: list[Root]) -> None:
        """Writes one loop nest."""
        shape = roots[0].shape
        nest = Nest(self, shape, roots, self._innermost(roots, shape))
        nest.lanes = self._lanes(nest, roots)
        nest.generate()

    def _lanes(self, nest: Nest, roots: list[Root]) -> int:
        from .nest import LANES

        inner = [r for r in roots if isinstance(r, Reduce) and r.is_inner(nest)]
        if not inner or any(not r.any_order for r in inner):
            return 1
        lanes = min(LANES, nest.extent)
        return lanes if lanes & (lanes - 1) == 0 and nest.extent % lanes == 0 else 1

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
        votes = {d: 0 for d, n in enumerate(shape) if n != 1}
        accesses = [*pointers, *(op.operands[0] for op in self.loads(values))]
        for d in votes:
            mark = self.names_mark()
            probe = Nest(self, shape, [], d)
            for pointer in accesses:
                if isinstance(pointer.type, Tile) and pointer.type.shape == shape:
                    if probe.coefficient(pointer, probe.index) == 1:
                        votes[d] += 1
            self.names_release(mark)
        return votes

    # Operations

    def inline(self, block: Block, args: list[str], lines: list[str]) -> list[str]:
        """Emits a combine region on C values; returns the C values it ends with."""
        outer, self.code = self.code, []
        comment, self.last_comment = self.last_comment, None
        group, self.group = self.group, []
        many, self.multi_block = self.multi_block, False  # the lines stay together
        for arg, text in zip(block.args, args):
            self.bind(arg, text)
        for op in block.ops[:-1]:
            self.emit_op(op, quiet=True)
        out = [self.text(v) for v in block.ops[-1].operands]
        lines += self.code
        self.code, self.last_comment, self.group = outer, comment, group
        self.multi_block = many
        return out

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
        buffer = self.target(value, self.plan.stored[value])
        self.add_root(Keep(value, buffer), op)

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

    def copy_buffer(self, source: Buffer, target: Buffer) -> None:
        """Copies storage to storage."""
        size = source.bytes
        names = self.touch(target), self.touch(source)
        self.block([source, target], [f"__builtin_memcpy({names[0]}, {names[1]}, {size});"])

    def round_buffer(self, source: Buffer, target: Buffer, value: Value) -> None:
        """Rounds a float tile to the narrow type of a value."""
        name = ctype.NARROW[self.element_type(value).name][0]
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

    def frame(self, callee: Func) -> Buffer:
        """Scratch for a function that is called here."""
        size = max(64, self.module.scratch_sizes[callee.name])
        made = self.buffer("frame", (size,), Tile((size,), Scalar("i8")), RAW)
        self.touch(made)
        return made

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
                self.emit_block(block)
            for buffer in self.buffers:
                buffer.start, buffer.end = 0, self.clock + 1
        else:
            self.emit_block(self.func.body.blocks[0])

    def pointer_type(self, value: Value) -> str:
        """The C type of what a pointer value points to."""
        kind = ctype.elem(value.type)
        assert isinstance(kind, Ptr)
        return ctype.memory(kind.elem)

    def element_type(self, value: Value) -> Scalar:
        """The scalar element type of a value."""
        kind = ctype.elem(value.type)
        assert isinstance(kind, Scalar)
        return kind
