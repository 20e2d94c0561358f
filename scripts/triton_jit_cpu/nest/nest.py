# SPDX-License-Identifier: Apache-2.0
"""One loop nest over a tile: the element expressions of everything that is fused into it.

A nest has one C loop for each dimension of the tile that is longer than 1. Level 0 is in
front of the loops, level k inside loop k. Each value is computed at the outermost level
that its index allows, once for each index. The innermost loop may have several versions;
see versions.py, and masks.py and linear.py for what the fast one may assume.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import ctype
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Ptr, Scalar, Tile, Value
from ..lines import Line
from ..location import Frame, user_frame
from ..optable import refusal
from ..registry import ELEMENTWISE, INDEXING
from . import index as indexing
from .index import ZERO, Expr, Index, Indices, add, level_of, move_index, scale
from .linear import Linear
from .masks import Masks
from .roots import Root
from .versions import EMPTY, FAST, GENERAL, MASKED, STRIP, innermost, make_bodies

if TYPE_CHECKING:
    from ..buffers import Buffer
    from ..func import FuncEmitter

# What the lowering of an operation needs from here.
__all__ = [
    "EMPTY", "FAST", "GENERAL", "MASKED", "ZERO", "Expr", "Index", "Indices", "Nest", "Root", "add", "move_index",
    "scale",
]  # fmt: skip


class Strip(NamedTuple):
    """Neighbours that are computed before they are stored past the caches."""

    name: str
    target: str  # C for the address of the element at index 0 of the innermost loop
    ctype: str


class Nest:
    """Builds one loop nest; its lines go to the function's code."""

    def __init__(self, func: FuncEmitter, shape: tuple[int, ...], roots: list[Root], inner: int | None) -> None:
        self.func = func
        self.shape = shape
        self.roots = roots
        dims = [d for d, n in enumerate(shape) if n != 1]
        if inner is not None and inner in dims:
            dims.remove(inner)
            dims.append(inner)
        self.dims = dims
        self.n = len(dims)
        self.vars = (
            [func.fresh(v) for v in ("i", "j", "k", "l", "m", "n")[: self.n]]
            if self.n <= 6
            else [func.fresh("i") for _ in dims]
        )
        self.extent = shape[dims[-1]] if dims else 1
        loop_of = {d: k + 1 for k, d in enumerate(dims)}
        self.index: Indices = tuple(Index(0, ((loop_of[d], 1),)) if d in loop_of else ZERO for d in range(len(shape)))
        self.lines: list[list[str]] = [[] for _ in range(self.n + 1)]  # by level
        self.after: list[list[str]] = [[] for _ in range(self.n + 1)]  # behind the loop inside level k
        self.memo: dict[tuple[Value, Indices, str], Expr] = {}
        self.inner_memo: dict[tuple[Value, Indices, str], Expr] = {}
        self.writes: list[str] = []
        self.frame: Frame | None = None  # the source line that is being lowered
        self.mode = GENERAL
        self.lanes = 1
        self.result = 0  # which result of its operation is being evaluated
        self.linear = Linear(self)
        self.masks = Masks(self)
        self.buffers: dict[Buffer, None] = {}
        self.stream = False  # stores may go past the caches
        self.streaming = False  # they do in the version that is being written
        self.strips: dict[Root, Strip] = {}

    # Emitting

    def emit(self, level: int, line: str) -> None:
        """Adds a line at a level."""
        self.lines[level].append(Line(line, self.frame))

    def write(self, line: str) -> None:
        """Adds a write to memory for the current element: behind all its reads."""
        self.writes.append(Line(line, self.frame))

    def _bodies(self) -> None:
        """One element's work of all roots."""
        self.writes = []
        for root in self.roots:
            self.frame = user_frame(root.op.loc) if root.op else None
            root.body(self)
        self.frame = None
        self.lines[self.n] += self.writes

    def define(self, ctype_: str, hint: str, text: str, level: int) -> Expr:
        """A new C constant."""
        name = self.func.fresh(hint)
        self.emit(level, f"{ctype.declare(ctype_, name)} = {text};")
        return Expr(name, level)

    def index_text(self, index: Index) -> str:
        """C for an index (type int64_t)."""
        if index.name is not None:
            return index.name
        parts = []
        for loop, c in index.terms:
            var = self.vars[loop - 1]
            parts.append(var if c == 1 else f"{var} * {c}")
        if index.const or not parts:
            parts.append(str(index.const))
        return " + ".join(parts)

    def flat(self, indices: Indices, shape: tuple[int, ...]) -> Index:
        """The row-major position of an element."""
        if all(ix.name is None for ix in indices):
            return indexing.flat(indices, shape)
        text, level = "", 0
        for ix, extent in zip(indices, shape):
            part = self.index_text(ix)
            text = f"({text}) * {extent} + {part}" if text else part
            level = max(level, ix.level)
        found = self.define("int64_t", "at", text, level)
        return Index(level, (), found.text)

    def unflat(self, position: Index, shape: tuple[int, ...]) -> Indices:
        """The indices of the element at a row-major position."""
        if position.name is None:
            found = self.split(position, shape)
            if found is not None:
                return found
        result: list[Index] = []
        text, level = self.index_text(position), position.level
        rest = text
        for extent in reversed(shape):
            if extent == 1:
                result.append(ZERO)
                continue
            part = self.define("int64_t", "ix", f"({rest}) % {extent}", level)
            result.append(Index(level, (), part.text))
            rest = self.define("int64_t", "ix", f"({rest}) / {extent}", level).text
        return tuple(reversed(result))

    def split(self, position: Index, shape: tuple[int, ...]) -> Indices | None:
        """unflat() where that needs no C."""
        return indexing.split(position, shape, tuple(self.shape[d] for d in self.dims))

    def loop_extent(self, loop: int) -> int:
        """Iterations of a loop."""
        return self.shape[self.dims[loop - 1]]

    # Evaluating

    def eval(self, value: Value, indices: Indices = (), form: str = NUM) -> Expr:
        """C for one element of a tile (or for a scalar), in the form asked for."""
        if not ctype.is_narrow(value.type):
            form = NUM
        key = (value, indices, form)
        if self.mode == FAST and (value, indices) in self.masks.true:
            return Expr("true")
        if self.mode == EMPTY and (value, indices) in self.masks.seen:
            return Expr("false")
        memo = self._memo_of(indices)
        found = memo.get(key)
        if found is None:
            mode = self.mode
            if memo is self.memo:
                self.mode = GENERAL  # code in front of the loop runs whatever the masks say
            found = self._compute(value, indices, form)
            self.mode = mode
            memo[key] = found
        return found

    def eval_general(self, value: Value, indices: Indices) -> Expr:
        """eval() that takes nothing for granted."""
        mode, self.mode = self.mode, GENERAL
        found = self.eval(value, indices)
        self.mode = mode
        return found

    def _memo_of(self, indices: Indices) -> dict[tuple[Value, Indices, str], Expr]:
        """Elements that depend on the innermost loop are remembered for one version of it."""
        inner = self.n and level_of(indices) == self.n
        return self.inner_memo if inner else self.memo

    def _compute(self, value: Value, indices: Indices, form: str) -> Expr:
        func = self.func
        if not isinstance(value.type, Tile):
            bound = func.scalar(value)
            return self.convert(bound.text, bound.form, form, value, 0)
        buffer = func.buffers_of.get(value)
        if buffer is not None:
            return self.read(buffer, value, indices, form)
        shift = func.shifted.get(value)
        if shift is not None:
            base = self.eval(shift.init, indices)
            kind = ctype.local(value.type)
            text = f"{base.text} + {shift.offset}"
            if not kind.endswith("*"):
                text = f"({kind})({text})"
            return self.define(kind, value.name or "shifted", text, base.level)
        op = value.op
        if op is None:
            raise UnsupportedOp("tile", func.loc(), f"the tile '{value.name}' has no value here")
        self.result = value.index
        outer, self.frame = self.frame, user_frame(op.loc)
        try:
            if op.name in INDEXING:
                return INDEXING[op.name](self, op, indices, form)
            if op.name in ELEMENTWISE:
                return self.elementwise(op, indices, form)
        finally:
            self.frame = outer
        raise UnsupportedOp(op.name, op.loc, refusal(op.name))

    def elementwise(self, op: Op, indices: Indices, form: str) -> Expr:
        """An elementwise operation at an index; also used for scalars, with no index."""
        entry = ELEMENTWISE[op.name]
        number = self.result
        result = op.results[number]
        narrow = ctype.is_narrow(result.type)
        inner = form if entry.raw else NUM
        args = [self.eval(v, indices if isinstance(v.type, Tile) else (), inner) for v in op.operands]
        self.result = number
        text = (
            entry.lower(self, op, *[a.text for a in args])
            if not entry.raw
            else entry.lower(self, op, form, *[a.text for a in args])
        )
        level = max((a.level for a in args), default=0)
        rounds = narrow and not entry.raw and not entry.exact
        if text in ("true", "false") or (text in [a.text for a in args] and not rounds):
            return Expr(text, level)
        hint = result.name or "v"
        if narrow and not entry.raw:
            if not entry.exact:
                text = f"tj_f32_to_{ctype.NARROW[ctype.scalar(result.type).name][0]}({text})"
                raw = self.define(ctype.local(result.type, RAW), hint, text, level)
                self.remember(result, indices, RAW, raw)
                return self.convert(raw.text, RAW, form, result, level)
            num = self.define("float", hint, text, level)
            self.remember(result, indices, NUM, num)
            return self.convert(num.text, NUM, form, result, level)
        return self.define(ctype.local(result.type, form), hint, text, level)

    def remember(self, value: Value, indices: Indices, form: str, expr: Expr) -> None:
        """Notes that an element is available in a form."""
        self._memo_of(indices)[(value, indices, form)] = expr

    def recall(self, value: Value, indices: Indices, form: str) -> Expr:
        """What remember() noted."""
        return self._memo_of(indices)[(value, indices, form)]

    def convert(self, text: str, have: str, want: str, value: Value, level: int) -> Expr:
        """Changes the form of a value of a narrow type."""
        if have == want or not ctype.is_narrow(value.type):
            return Expr(text, level)
        name = ctype.NARROW[ctype.scalar(value.type).name][0]
        call = f"tj_{name}_to_f32({text})" if want == NUM else f"tj_f32_to_{name}({text})"
        return self.define(ctype.local(value.type, want), value.name or "v", call, level)

    def read(self, buffer: Buffer, value: Value, indices: Indices, form: str) -> Expr:
        """An element of a stored tile."""
        at = self.position(buffer, indices)
        text = f"{self.use(buffer)}[{self.index_text(at)}]"
        if ctype.elem(value.type) == Scalar("i1"):
            text += " != 0"
        read = self.define(ctype.local(value.type, buffer.form), value.name or "t", text, at.level)
        self.remember(value, indices, buffer.form, read)
        return self.convert(read.text, buffer.form, form, value, at.level)

    def position(self, buffer: Buffer, indices: Indices) -> Index:
        """Where an element lies in storage."""
        order = buffer.order or range(len(buffer.shape))
        return self.flat(tuple(indices[d] for d in order), tuple(buffer.shape[d] for d in order))

    def use(self, buffer: Buffer) -> str:
        """The C name of a buffer; notes that the nest touches it."""
        self.buffers[buffer] = None
        return self.func.touch(buffer)

    # Memory

    def mask(self, value: Value | None, indices: Indices) -> str:
        """C for a mask at an index: 'true', 'false' or an expression."""
        if value is None:
            return "true"
        if self.n and self.mode == FAST:
            self.masks.note(value, indices)
        return self.eval(value, indices if isinstance(value.type, Tile) else ()).text

    def element(self, pointer: Value, indices: Indices, volatile: bool = False) -> tuple[str, int]:
        """The C lvalue that a pointer element points to, and its level."""
        kind = ctype.elem(pointer.type)
        assert isinstance(kind, Ptr)
        if self.mode != GENERAL and self.n and isinstance(pointer.type, Tile) and not volatile:
            c = self.linear.coefficient(pointer, indices)
            if c is not None and c != 0:
                base = self.eval(pointer, self.linear.at_zero(indices))
                var = self.vars[self.n - 1]
                step = var if c == 1 else f"{var} * {c}" if isinstance(c, int) else f"{var} * ({c})"
                return f"{base.text}[{step}]", self.n
        found = self.eval(pointer, indices if isinstance(pointer.type, Tile) else ())
        if volatile:
            return f"*(volatile {ctype.pointer(kind)})({found.text})", found.level
        return f"*{found.text}", found.level

    def may_stream(self) -> bool:
        """True if stores past the caches are worth a version of the innermost loop."""
        return self.stream and self.lanes == 1 and self.extent >= STRIP and any(root.barrier for root in self.roots)

    def strip(self, root: Root, pointer: Value) -> Strip | None:
        """Where a root puts an element that goes past the caches; None where its elements are no neighbours."""
        if not self.streaming or self.linear.coefficient(pointer, self.index) != 1:
            return None
        found = self.strips.get(root)
        if found is None:
            kind = ctype.elem(pointer.type)
            assert isinstance(kind, Ptr)
            target = self.eval(pointer, self.linear.at_zero(self.index)).text
            found = self.strips[root] = Strip(self.func.fresh("strip"), target, ctype.memory(kind.elem))
        return found

    # Assembling

    def generate(self) -> None:
        """Writes the nest."""
        func = self.func
        for root in self.roots:
            root.begin(self)
        if self.n == 0:
            self._bodies()
            for root in self.roots:
                root.end(self)
            func.write_nest(self, self.lines[0] + self.after[0])
            return
        masks = self._dry_run()
        self.masks.note_all(masks)
        bodies = make_bodies(self)
        for root in self.roots:
            root.end(self)
        func.write_nest(self, self._loops(innermost(self, bodies)))

    def _dry_run(self) -> list[tuple[Value, Indices]]:
        """Finds the masks of the fast version, and with them what it may assume.

        They must be known before its first line is written; so everything else that this
        run leaves behind is taken back.
        """
        names = self.func.names_mark()
        lines, after = [list(x) for x in self.lines], [list(x) for x in self.after]
        memo = dict(self.memo)
        self.version(FAST)
        seen = list(self.masks.seen)
        self.lines, self.after, self.memo = lines, after, memo
        self.linear, self.masks = Linear(self), Masks(self)
        self.func.names_release(names)
        return seen

    def version(self, mode: str, streaming: bool = False) -> list[str]:
        """The body of the innermost loop in one version."""
        self.mode, self.streaming = mode, streaming
        self.inner_memo = {}
        self.lines[self.n] = []
        self._bodies()
        self.mode, self.streaming = GENERAL, False
        lines, self.lines[self.n] = self.lines[self.n], []
        return lines

    def _loops(self, body: list[str]) -> list[str]:
        """The loops around the innermost one."""
        for level in range(self.n - 1, -1, -1):
            body = self.lines[level] + body + self.after[level]
            if level:
                var, extent = self.vars[level - 1], self.loop_extent(level)
                head = f"for (int64_t {var} = 0; {var} < {extent}; {var}++) {{"
                body = [head, *("  " + line for line in body), "}"]
        return body
