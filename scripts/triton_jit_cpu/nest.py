# SPDX-License-Identifier: Apache-2.0
"""One loop nest over a tile: the element expressions of everything that is fused into it.

A nest has one C loop for each dimension of the tile that is longer than 1. Level 0 is in
front of the loops, level k inside loop k. Each value is computed at the outermost level
that its index allows, once for each index.

The innermost loop has up to three versions, one after the other over its range:

* *fast*, ``[0, lim)``: every mask of the nest holds, every index computation is free of
  wrap-around, so addresses are linear in the loop variable and the C compiler vectorises;
* *general*, up to ``[.., end)``: every element evaluated as written;
* *empty*, ``[end, N)``: every mask of the nest is false.

``lim`` and ``end`` are computed in front of the loop from the masks themselves, so nothing
has to be assumed about them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from . import ctype
from .ctype import NUM, RAW
from .errors import UnsupportedOp
from .ir import Op, Ptr, Scalar, Tile, Value
from .optable import refusal
from .registry import ELEMENTWISE, INDEXING
from .ttir import Dense, FloatBits

if TYPE_CHECKING:
    from .func import Buffer, FuncEmitter

LANES = 32  # partial results of a reduction along the innermost loop

FAST, GENERAL, EMPTY = "fast", "general", "empty"


class Expr(NamedTuple):
    """A C expression without operators of its own, and the level where it is available."""

    text: str
    level: int = 0


class Index(NamedTuple):
    """An index into one dimension: const + sum of coefficient * loop variable, or a C name."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()  # (loop number, coefficient), loops from 1
    name: str | None = None  # a C variable instead; const is then its level

    @property
    def level(self) -> int:
        """The level from which the index is known."""
        if self.name is not None:
            return self.const
        return max((loop for loop, _ in self.terms), default=0)


ZERO = Index()
Indices = tuple[Index, ...]
Coefficient = int | str | None  # number, C expression known outside the inner loop, or not linear


def scale(index: Index, factor: int) -> Index:
    """``index * factor`` for a linear index."""
    return Index(index.const * factor, tuple((loop, c * factor) for loop, c in index.terms))


def add(a: Index, b: Index) -> Index:
    """The sum of two linear indices."""
    terms = dict(a.terms)
    for loop, c in b.terms:
        terms[loop] = terms.get(loop, 0) + c
    return Index(a.const + b.const, tuple(sorted((loop, c) for loop, c in terms.items() if c)))


class Root:
    """Something that consumes elements of a nest; see roots.py."""

    shape: tuple[int, ...] = ()
    barrier = False  # writes user memory
    masked = True  # does nothing where the masks are false
    laned = False  # keeps partial results by lane
    serial = False  # its elements must be done one by one, in order

    def values(self) -> list[Value]:
        """The tiles it evaluates at the index of the nest."""
        raise NotImplementedError

    def begin(self, nest: Nest) -> None:
        """Emits what stands in front of the loops."""

    def body(self, nest: Nest) -> None:
        """Emits the work for one element."""
        raise NotImplementedError

    def end(self, nest: Nest) -> None:
        """Emits what stands behind the loops."""


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
        self.coefs: dict[tuple[Value, Indices], Coefficient] = {}
        self.writes: list[str] = []
        self.mode = GENERAL
        self.lanes = 1
        self.result = 0  # which result of its operation is being evaluated
        # C conditions for the fast version, known at level n-1. True: where it fails all masks
        # are false; False: nothing is known then.
        self.conditions: dict[str, bool] = {}
        self.limits: dict[str, None] = {}  # C expressions: the fast version ends there
        self.true: set[tuple[Value, Indices]] = set()  # conditions that hold in the fast version
        self.masks: dict[tuple[Value, Indices], tuple[frozenset[tuple[Value, Indices]], bool]] = {}
        self.rows: set[tuple[Value, Indices]] = set()
        self.buffers: dict[Buffer, None] = {}

    # Emitting

    def emit(self, level: int, line: str) -> None:
        """Adds a line at a level."""
        self.lines[level].append(line)

    def write(self, line: str) -> None:
        """Adds a write to memory for the current element: behind all its reads."""
        self.writes.append(line)

    def _bodies(self) -> None:
        """One element's work of all roots."""
        self.writes = []
        for root in self.roots:
            root.body(self)
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
            total = ZERO
            for ix, extent in zip(indices, shape):
                total = add(scale(total, extent), ix)
            return total
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
            split = self._split(position, shape)
            if split is not None:
                return split
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

    def _split(self, position: Index, shape: tuple[int, ...]) -> Indices | None:
        """unflat() for positions whose terms fall into the dimensions without carry."""
        result: list[Index] = []
        const, terms = position.const, dict(position.terms)
        for extent in reversed(shape):
            mine: dict[int, int] = {}
            reach = const % extent
            base = reach
            for loop, c in list(terms.items()):
                if c % extent:
                    if c < 0 or c > extent:
                        return None
                    mine[loop] = c
                    reach += c * (self.loop_extent(loop) - 1)
                    del terms[loop]
                else:
                    terms[loop] = c // extent
            if reach >= extent:
                return None
            const //= extent
            result.append(Index(base, tuple(sorted(mine.items()))))
        if const or terms:
            return None
        return tuple(reversed(result))

    def loop_extent(self, loop: int) -> int:
        """Iterations of a loop."""
        return self.shape[self.dims[loop - 1]]

    # Evaluating

    def eval(self, value: Value, indices: Indices = (), form: str = NUM) -> Expr:
        """C for one element of a tile (or for a scalar), in the form asked for."""
        if not ctype.is_narrow(value.type):
            form = NUM
        key = (value, indices, form)
        if self.mode == FAST and (value, indices) in self.true:
            return Expr("true")
        if self.mode == EMPTY and (value, indices) in self.masks:
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

    def _memo_of(self, indices: Indices) -> dict[tuple[Value, Indices, str], Expr]:
        """Elements that depend on the innermost loop are remembered for one version of it."""
        inner = self.n and max((ix.level for ix in indices), default=0) == self.n
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
        if op.name in INDEXING:
            return INDEXING[op.name](self, op, indices, form)
        if op.name in ELEMENTWISE:
            return self.elementwise(op, indices, form)
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
        at = self.flat(indices, buffer.shape)
        name = self.use(buffer)
        text = f"{name}[{self.index_text(at)}]"
        if ctype.elem(value.type) == Scalar("i1"):
            text += " != 0"
        read = self.define(ctype.local(value.type, buffer.form), value.name or "t", text, at.level)
        self.remember(value, indices, buffer.form, read)
        return self.convert(read.text, buffer.form, form, value, at.level)

    def use(self, buffer: Buffer) -> str:
        """The C name of a buffer; notes that the nest touches it."""
        self.buffers[buffer] = None
        return self.func.touch(buffer)

    # Linear structure along the innermost loop

    def at_zero(self, indices: Indices) -> Indices:
        """The indices with the innermost loop variable at 0."""
        return tuple(
            ix if ix.name is not None else Index(ix.const, tuple(t for t in ix.terms if t[0] != self.n))
            for ix in indices
        )

    def coefficient(self, value: Value, indices: Indices) -> Coefficient:
        """By how much an integer or pointer tile grows with the innermost loop variable.

        Holds modulo the width of the value; wrap-around is ruled out where it matters by
        conditions of the fast version.
        """
        if all(ix.level < self.n for ix in indices):
            return 0
        key = (value, indices)
        if key not in self.coefs:
            self.coefs[key] = self._coefficient(value, indices)
        return self.coefs[key]

    def _coefficient(self, value: Value, indices: Indices) -> Coefficient:
        shift = self.func.shifted.get(value)
        if shift is not None:
            return self.coefficient(shift.init, indices)
        op = value.op
        if op is None or value in self.func.buffers_of or any(ix.name and ix.level == self.n for ix in indices):
            return None
        name = op.name
        if name == "tt.make_range":
            return dict(indices[0].terms).get(self.n, 0)
        if name == "tt.splat":
            return 0
        if name == "arith.constant":
            return 0 if op.attrs["value"].splat else None
        if name in ("tt.expand_dims", "tt.broadcast", "tt.trans"):
            return self.coefficient(op.operands[0], move_index(op, indices))
        if name == "tt.reshape":
            at = self.flat(indices, ctype.shape(value.type))
            if at.name is None:
                split = self._split(at, ctype.shape(op.operands[0].type))
                if split is not None:
                    return self.coefficient(op.operands[0], split)
            return None
        if name in ("arith.addi", "arith.subi"):
            a, b = (self.coefficient(v, indices) for v in op.operands)
            if a is None or b is None:
                return None
            return _sum(a, b, "+" if name == "arith.addi" else "-")
        if name == "arith.muli":
            a, b = (self.coefficient(v, indices) for v in op.operands)
            for mine, other in ((a, op.operands[1]), (b, op.operands[0])):
                if mine is not None and (b if mine is a else a) == 0 and mine != 0:
                    factor = _constant(other)
                    if factor is not None and isinstance(mine, int):
                        return mine * factor
                    by = self.eval(other, self.at_zero(indices)).text
                    return f"(int64_t){by}" if mine == 1 else f"({mine}) * (int64_t){by}"
            return 0 if a == 0 and b == 0 else None
        if name == "arith.extsi":
            c = self.coefficient(op.operands[0], indices)
            if c is not None and c != 0 and not self.no_wrap(op.operands[0], indices, c):
                return None
            return c
        if name == "tt.addptr":
            a, b = (self.coefficient(v, indices) for v in op.operands)
            if a is None or b is None:
                return None
            if b != 0 and not self.no_wrap(op.operands[1], indices, b):
                return None
            return _sum(a, b, "+")
        return None

    def no_wrap(self, value: Value, indices: Indices, c: int | str) -> bool:
        """Makes it a condition of the fast version that the value stays in its range."""
        kind = ctype.elem(value.type)
        if not isinstance(kind, Scalar):
            return False
        bits = kind.bits
        if bits == 1:
            return False
        if self.func.bounds.of(value) is not None:
            return True
        first = self.eval(value, self.at_zero(indices))
        if isinstance(c, int) and _is_number(first.text):
            last = int(first.text.strip("()")) + c * (self.extent - 1)
            if -(1 << (bits - 1)) <= last < 1 << (bits - 1):
                return True
        if bits == 64:
            self.conditions[f"tj_span64({first.text}, {c}, {self.extent - 1})"] = False
        else:
            self.conditions[f"tj_span(INT{bits}_MIN, INT{bits}_MAX, {first.text}, {c}, {self.extent - 1})"] = False
        return True

    # Masks

    def mask(self, value: Value | None, indices: Indices) -> str:
        """C for a mask at an index: 'true', 'false' or an expression."""
        if value is None:
            return "true"
        if self.n and self.mode == FAST and (value, indices) not in self.masks:
            leaves, whole = self._leaves(value, indices)
            self.masks[(value, indices)] = (frozenset(leaves), whole)
        return self.eval(value, indices if isinstance(value.type, Tile) else ()).text

    def _leaves(self, value: Value, indices: Indices) -> tuple[set[tuple[Value, Indices]], bool]:
        """Splits a mask into conditions that the fast version can take for granted.

        Returns them, and whether they are all there is to the mask.
        """
        op = value.op
        if isinstance(value.type, Tile) and op is not None and value not in self.func.buffers_of:
            if op.name == "arith.andi":
                a, whole_a = self._leaves(op.operands[0], indices)
                b, whole_b = self._leaves(op.operands[1], indices)
                if whole_a and whole_b:
                    self.true.add((value, indices))
                return a | b, whole_a and whole_b
            if op.name in ("tt.broadcast", "tt.expand_dims", "tt.trans", "tt.splat"):
                moved = move_index(op, indices) if op.name != "tt.splat" else ()
                leaves, whole = self._leaves(op.operands[0], moved)
                if whole:
                    self.true.add((value, indices))
                return leaves, whole
        key = (value, indices)
        if key in self.true:
            return {key}, True
        if all(ix.level < self.n for ix in indices) or not isinstance(value.type, Tile):
            mode, self.mode = self.mode, GENERAL  # not folded to true
            self.rows.add(key)
            self.conditions[self.eval(value, indices).text] = True
            self.mode = mode
            self.true.add(key)
            return {key}, True
        if op is not None and op.name == "arith.cmpi" and self._prefix(op, indices):
            self.true.add(key)
            return {key}, True
        return set(), False

    def _prefix(self, op: Op, indices: Indices) -> bool:
        """Adds a limit for a comparison that holds up to some index and not from there on."""
        a, b = op.operands
        predicate = op.attrs["predicate"]
        swap = {2: (False, 0), 3: (False, 1), 4: (True, 0), 5: (True, 1)}  # slt, sle, sgt, sge
        if predicate not in swap or not isinstance(ctype.elem(a.type), Scalar):
            return False
        swapped, extra = swap[predicate]
        if swapped:
            a, b = b, a
        ca, cb = self.coefficient(a, indices), self.coefficient(b, indices)
        if not isinstance(ca, int) or not isinstance(cb, int) or ca == cb:
            return False
        for value, c in ((a, ca), (b, cb)):
            if c != 0 and not self.no_wrap(value, indices, c):
                return False
        zero = self.at_zero(indices)
        low, high = self.eval(a, zero).text, self.eval(b, zero).text
        if ca < cb:  # holds from some index on: from 0, or the fast version is not taken
            test = f"{low} {'<=' if extra else '<'} {high}"
            if _is_number(low) and _is_number(high):
                test = "true" if int(low.strip("()")) < int(high.strip("()")) + extra else "false"
            if test != "true":
                self.conditions[test] = False
            return True
        if ctype.elem(a.type).bits == 64:
            for text in (low, high):
                if not _is_number(text):
                    self.conditions[f"tj_span64({text}, 0, 0)"] = False
        self.limits[f"tj_limit((int64_t){high} - (int64_t){low} + {extra}, {ca - cb}, {self.extent})"] = None
        return True

    # Memory

    def element(self, pointer: Value, indices: Indices, volatile: bool = False) -> tuple[str, int]:
        """The C lvalue that a pointer element points to, and its level."""
        kind = ctype.elem(pointer.type)
        assert isinstance(kind, Ptr)
        if self.mode == FAST and self.n and isinstance(pointer.type, Tile) and not volatile:
            c = self.coefficient(pointer, indices)
            if c is not None and c != 0:
                base = self.eval(pointer, self.at_zero(indices))
                var = self.vars[self.n - 1]
                step = var if c == 1 else f"{var} * {c}" if isinstance(c, int) else f"{var} * ({c})"
                return f"{base.text}[{step}]", self.n
        found = self.eval(pointer, indices if isinstance(pointer.type, Tile) else ())
        if volatile:
            return f"*(volatile {ctype.pointer(kind)})({found.text})", found.level
        return f"*{found.text}", found.level

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
        # Dry run: finds the masks, and with them what the fast version may assume.
        state = self._save()
        self._version(FAST)
        seen = list(self.masks)
        self._restore(state)
        # The real thing. Conditions are found again, their texts may differ.
        self._requeue(seen)
        fast = self._version(FAST)
        needs_general = bool(self.conditions or self.limits)
        if self.lanes > 1 and self.limits:
            needs_general = True
        whole = {leaves for leaves, complete in self.masks.values() if complete}
        one_mask = bool(self.masks) and len(whole) == 1 and all(c for _, c in self.masks.values())
        one_mask = one_mask and all(root.masked for root in self.roots if root.barrier)
        general = self._version(GENERAL) if needs_general else []
        empty = self._version(EMPTY) if needs_general and one_mask else None
        for root in self.roots:
            root.end(self)
        body = self._inner(fast, general, empty)
        for level in range(self.n - 1, -1, -1):
            lines = self.lines[level] + body + self.after[level]
            if level:
                var, extent = self.vars[level - 1], self.loop_extent(level)
                head = f"for (int64_t {var} = 0; {var} < {extent}; {var}++) {{"
                body = [head, *("  " + line for line in lines), "}"]
            else:
                body = lines
        func.write_nest(self, body)

    def _requeue(self, masks: Iterable[tuple[Value, Indices]]) -> None:
        """Re-derives the conditions for all masks before the first element is evaluated."""
        self.mode = FAST
        for value, indices in masks:
            leaves, whole = self._leaves(value, indices)
            self.masks[(value, indices)] = (frozenset(leaves), whole)

    def _save(self) -> tuple[object, ...]:
        return (
            [list(lines) for lines in self.lines], [list(lines) for lines in self.after], dict(self.memo),
            dict(self.coefs), dict(self.conditions), dict(self.limits), self.func.names_mark(),
        )  # fmt: skip

    def _restore(self, state: tuple[object, ...]) -> None:
        lines, after, memo, coefs, conditions, limits, names = state
        self.lines, self.after, self.memo, self.coefs = lines, after, memo, coefs  # type: ignore[assignment]
        self.conditions, self.limits = conditions, limits  # type: ignore[assignment]
        self.true, self.masks, self.rows = set(), {}, set()
        self.func.names_release(names)

    def _version(self, mode: str) -> list[str]:
        """The body of the innermost loop in one version."""
        self.mode = mode
        self.inner_memo = {}
        self.lines[self.n] = []
        self._bodies()
        self.mode = GENERAL
        lines, self.lines[self.n] = self.lines[self.n], []
        return lines

    def _inner(self, fast: list[str], general: list[str], empty: list[str] | None) -> list[str]:
        """The versions of the innermost loop, one after the other."""
        var, extent = self.vars[self.n - 1], self.extent
        indent = ["  " + line for line in fast]
        if not general:
            if self.lanes > 1:
                return self._laned(fast, str(extent), None)
            return [*self._hint(), f"for (int64_t {var} = 0; {var} < {extent}; {var}++) {{", *indent, "}"]
        lines = []
        limit = self.func.fresh("lim")
        start = " && ".join(self.conditions) or "true"
        lines.append(
            f"int64_t {limit} = {start} ? {extent} : 0;" if self.conditions else f"int64_t {limit} = {extent};"
        )
        for text in self.limits:
            lines.append(f"{limit} = tj_min({limit}, {text});")
        at = self.func.fresh("at")
        if self.lanes > 1:
            whole = self.func.fresh("whole")
            lines.append(f"const int64_t {whole} = {limit} & ~(int64_t){self.lanes - 1};")
            lines += self._laned(fast, whole, None)
            lines.append(f"int64_t {at} = {whole};")
        else:
            lines.append(f"int64_t {at} = 0;")
            lines += [
                *self._hint(),
                f"for (; {at} < {limit}; {at}++) {{",
                f"  const int64_t {var} = {at};",
                *indent,
                "}",
            ]
        end = str(extent)
        if empty is not None:
            wraps = [c for c, empties in self.conditions.items() if not empties]
            if wraps:
                end = self.func.fresh("end")
                lines.append(f"const int64_t {end} = {' && '.join(wraps)} ? {limit} : {extent};")
            else:
                end = limit
        lane = self._lane_line()
        if end != limit or self.lanes > 1:
            lines += [f"for (; {at} < {end}; {at}++) {{", f"  const int64_t {var} = {at};", *lane,
                      *("  " + line for line in general), "}"]  # fmt: skip
        if empty:
            lines += [f"for (; {at} < {extent}; {at}++) {{", f"  const int64_t {var} = {at};", *lane,
                      *("  " + line for line in empty), "}"]  # fmt: skip
        return ["{", *("  " + line for line in lines), "}"]

    def _hint(self) -> list[str]:
        return [] if any(root.serial for root in self.roots) else ["TJ_VECTOR"]

    def _lane_line(self) -> list[str]:
        if not any(root.laned for root in self.roots):
            return []
        return [f"  const int64_t lane = {self.vars[self.n - 1]} & {self.lanes - 1};"]

    def _laned(self, fast: list[str], stop: str, _: None) -> list[str]:
        """A loop in steps of the lanes, with a loop over the lanes inside."""
        var = self.vars[self.n - 1]
        block = self.func.fresh("block")
        return [
            f"for (int64_t {block} = 0; {block} < {stop}; {block} += {self.lanes}) {{",
            *("  " + h for h in self._hint()),
            f"  for (int64_t lane = 0; lane < {self.lanes}; lane++) {{",
            f"    const int64_t {var} = {block} + lane;",
            *("    " + line for line in fast),
            "  }",
            "}",
        ]


def move_index(op: Op, indices: Indices) -> Indices:
    """The operand's index for a pure view (expand_dims, broadcast, trans)."""
    source = op.operands[0].type
    assert isinstance(source, Tile)
    if op.name == "tt.expand_dims":
        axis = op.attrs["axis"]
        return indices[:axis] + indices[axis + 1 :]
    if op.name == "tt.broadcast":
        return tuple(ZERO if n == 1 else ix for ix, n in zip(indices, source.shape))
    moved: list[Index] = [ZERO] * len(indices)
    for to, from_ in enumerate(op.attrs["order"]):
        moved[from_] = indices[to]
    return tuple(moved)


def _sum(a: int | str, b: int | str, sign: str) -> int | str:
    if isinstance(a, int) and isinstance(b, int):
        return a + b if sign == "+" else a - b
    if b == 0:
        return a
    if a == 0 and sign == "+":
        return b
    return f"({a} {sign} {b})"


def _is_number(text: str) -> bool:
    """True for the literals that ctype.integer() makes for up to 32 bits."""
    text = text.strip("()")
    return text.lstrip("-").isdigit()


def _constant(value: Value) -> int | None:
    """The number that a constant scalar or splat stands for."""
    op = value.op
    while op is not None and op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "arith.extsi"):
        op = op.operands[0].op
    if op is None or op.name != "arith.constant":
        return None
    attr = op.attrs["value"]
    if isinstance(attr, FloatBits):
        return None
    if isinstance(attr, Dense):
        if not attr.splat:
            return None
        bits = ctype.elem(op.results[0].type)
        assert isinstance(bits, Scalar)
        value_ = attr.bits[0] & ((1 << bits.bits) - 1)
        return value_ - (1 << bits.bits) if value_ >> (bits.bits - 1) else value_
    return int(attr)
