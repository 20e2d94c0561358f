# SPDX-License-Identifier: Apache-2.0
"""Atomic operations. Programs run on several threads, so these are real atomics.

The order is at least the one asked for: relaxed stays relaxed, all others are acquire-release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Scalar, Tile, Value
from ..nest.nest import Nest, Root
from ..registry import statement

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter

_RELAXED = 1
_KINDS = {1: "and", 2: "or", 3: "xor", 4: "add", 5: "fadd", 6: "max", 7: "min", 8: "umax", 9: "umin", 10: "xchg"}


def _order(op: Op) -> str:
    return "__ATOMIC_RELAXED" if op.attrs.get("sem") == _RELAXED else "__ATOMIC_ACQ_REL"


def _rmw(op: Op, target: str, value: str, kind: Scalar) -> str:
    """C for one read-modify-write; gives the old element in memory form."""
    name = _KINDS.get(op.attrs["atomic_rmw_op"])
    if name is None:
        raise UnsupportedOp(op.name, op.loc, f"kind {op.attrs['atomic_rmw_op']}")
    order = _order(op)
    if name == "fadd":
        helper = ctype.NARROW[kind.name][0] if ctype.is_narrow(kind) else kind.name
        return f"tj_atomic_fadd_{helper}({target}, {value}, {order})"
    if name == "xchg":
        return (
            f"tj_atomic_xchg{max(8, kind.bits)}({target}, {value}, {order})"
            if kind.is_float and not ctype.is_narrow(kind)
            else f"__atomic_exchange_n({target}, {value}, {order})"
        )
    if name in ("add", "and", "or", "xor"):
        return f"__atomic_fetch_{name}({target}, {value}, {order})"
    return f"tj_atomic_{name}{kind.bits}({target}, {value}, {order})"


def _value_form(op: Op) -> str:
    return NUM if op.attrs.get("atomic_rmw_op") == 5 else RAW


class Atomic(Root):
    """One atomic operation on each element; the old elements go to storage if wanted."""

    barrier = True
    serial = True

    def __init__(self, func: FuncEmitter, op: Op, shape: tuple[int, ...]) -> None:
        self.op = op
        self.shape = shape
        self.pointer = op.operands[0]
        self.mask: Value | None = None
        self.output: Buffer | None = None
        if op.results and op.results[0].uses:
            self.output = func.new_buffer(op.results[0], RAW)

    @property
    def masked(self) -> bool:  # type: ignore[override]
        """True if there is a mask."""
        return self.mask is not None

    def values(self) -> list[Value]:
        return list(self.op.operands)

    def call(self, nest: Nest, pointer: str) -> str:
        """C for the operation on one element."""
        raise NotImplementedError

    def body(self, nest: Nest) -> None:
        mask = nest.mask(self.mask, nest.index)
        slot = ""
        if self.output is not None:
            at = nest.flat(nest.index, self.shape)
            slot = f"{nest.use(self.output)}[{nest.index_text(at)}]"
        if mask == "false":
            if slot:
                nest.emit(nest.n, f"{slot} = 0;")
            return
        target, _ = nest.element(self.pointer, nest.index)
        text = self.call(nest, target[1:] if target.startswith("*") else f"&{target}")
        text = f"{slot} = {text};" if slot else f"(void){text};"
        if mask != "true":
            if slot:
                nest.emit(nest.n, f"{slot} = 0;")
            text = f"if ({mask}) {text}"
        nest.emit(nest.n, text)


class Rmw(Atomic):
    """``tt.atomic_rmw``."""

    def __init__(self, func: FuncEmitter, op: Op, shape: tuple[int, ...]) -> None:
        super().__init__(func, op, shape)
        self.mask = op.operands[2] if len(op.operands) > 2 else None

    def call(self, nest: Nest, pointer: str) -> str:
        value = self.op.operands[1]
        kind = ctype.elem(value.type)
        assert isinstance(kind, Scalar)
        return _rmw(self.op, pointer, nest.eval(value, nest.index, _value_form(self.op)).text, kind)


class Cas(Atomic):
    """``tt.atomic_cas``."""

    def call(self, nest: Nest, pointer: str) -> str:
        compare, value = (nest.eval(v, nest.index, RAW).text for v in self.op.operands[1:3])
        return _cas(self.op, pointer, compare, value)


def _cas(op: Op, pointer: str, compare: str, value: str) -> str:
    kind = ctype.elem(op.operands[1].type)
    suffix = f"f{kind.bits}" if kind.is_float and not ctype.is_narrow(kind) else f"{8 * ctype.size(kind)}"
    return f"tj_atomic_cas{suffix}({pointer}, {compare}, {value}, {_order(op)})"


class AtomicLoad(Atomic):
    """``tt.atomic_load``."""

    def __init__(self, func: FuncEmitter, op: Op, shape: tuple[int, ...]) -> None:
        super().__init__(func, op, shape)
        self.mask = op.operands[1] if len(op.operands) > 1 else None

    def call(self, nest: Nest, pointer: str) -> str:
        return _atomic_load(self.op, pointer)


class AtomicStore(Atomic):
    """``tt.atomic_store``."""

    def __init__(self, func: FuncEmitter, op: Op, shape: tuple[int, ...]) -> None:
        super().__init__(func, op, shape)
        self.mask = op.operands[2] if len(op.operands) > 2 else None

    def call(self, nest: Nest, pointer: str) -> str:
        return _atomic_store(self.op, pointer, nest.eval(self.op.operands[1], nest.index, RAW).text)


class Poll(Atomic):
    """``tt.atomic_poll``."""

    def call(self, nest: Nest, pointer: str) -> str:
        expected = nest.eval(self.op.operands[1], nest.index, RAW).text
        timeout = nest.eval(self.op.operands[2], ()).text if len(self.op.operands) > 2 else "UINT64_MAX"
        return _poll(self.op, pointer, expected, timeout)


def _atomic_load(op: Op, pointer: str) -> str:
    kind = ctype.elem(op.results[0].type)
    order = "__ATOMIC_RELAXED" if op.attrs.get("sem") == _RELAXED else "__ATOMIC_ACQUIRE"
    if kind.is_float and not ctype.is_narrow(kind):
        return f"tj_atomic_load_{kind}({pointer}, {order})"
    return f"__atomic_load_n({pointer}, {order})"


def _atomic_store(op: Op, pointer: str, value: str) -> str:
    kind = ctype.elem(op.operands[1].type)
    order = "__ATOMIC_RELAXED" if op.attrs.get("sem") == _RELAXED else "__ATOMIC_RELEASE"
    if kind.is_float and not ctype.is_narrow(kind):
        return f"tj_atomic_store_{kind}({pointer}, {value}, {order})"
    return f"__atomic_store_n({pointer}, {value}, {order})"


def _poll(op: Op, pointer: str, expected: str, timeout: str) -> str:
    bits = 8 * ctype.size(op.operands[1].type)
    return f"tj_atomic_poll{bits}(pg, {pointer}, {expected}, (uint64_t){timeout})"


_ROOTS = {
    "tt.atomic_rmw": Rmw, "tt.atomic_cas": Cas, "tt.atomic_load": AtomicLoad, "tt.atomic_store": AtomicStore,
    "tt.atomic_poll": Poll,
}  # fmt: skip


@statement("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_store", "tt.atomic_poll", barrier=True)
def atomic(func: FuncEmitter, op: Op) -> None:
    func.module.ordered = True
    pointer = op.operands[0]
    if isinstance(pointer.type, Tile):
        root = _ROOTS[op.name](func, op, pointer.type.shape)
        # Its own operands must be read before the first element is changed.
        for value in op.operands:
            if isinstance(value.type, Tile) and value not in func.buffers_of and func.loads([value]):
                func.stored(value, RAW)
        func.nest([root])
        if root.output is not None:
            func.buffers_of[op.results[0]] = root.output
        return
    target = func.text(pointer)
    mask: Value | None = None
    if op.name in ("tt.atomic_rmw", "tt.atomic_store"):
        mask = op.operands[2] if len(op.operands) > 2 else None
    elif op.name == "tt.atomic_load":
        mask = op.operands[1] if len(op.operands) > 1 else None
    if op.name == "tt.atomic_rmw":
        kind = ctype.elem(op.operands[1].type)
        assert isinstance(kind, Scalar)
        text = _rmw(op, target, func.text(op.operands[1], _value_form(op)), kind)
    elif op.name == "tt.atomic_cas":
        text = _cas(op, target, func.text(op.operands[1], RAW), func.text(op.operands[2], RAW))
    elif op.name == "tt.atomic_load":
        text = _atomic_load(op, target)
    elif op.name == "tt.atomic_store":
        text = _atomic_store(op, target, func.text(op.operands[1], RAW))
    else:
        timeout = func.text(op.operands[2]) if len(op.operands) > 2 else "UINT64_MAX"
        text = _poll(op, target, func.text(op.operands[1], RAW), timeout)
    guard = func.text(mask) if mask is not None else "true"
    prefix = "" if guard == "true" else f"if ({guard}) "
    if not op.results or not op.results[0].uses:
        func.line(f"{prefix}(void){text};")
        return
    result = op.results[0]
    name = func.fresh(result.name or "old")
    form = RAW if ctype.is_narrow(result.type) else NUM
    (func.top if func.multi_block else func.code).append(
        f"{ctype.declare(ctype.local(result.type, form), name, False)};"
    )
    func.line(f"{name} = 0;")
    func.line(f"{prefix}{name} = {text};")
    func.bind(result, name, form)
