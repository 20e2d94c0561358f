# SPDX-License-Identifier: Apache-2.0
"""device_print and device_assert, and what cannot be lowered."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import ctype
from ..errors import UnsupportedOp
from ..ir import Op, Ptr, Tile, Value
from ..names import c_string
from ..nest.nest import Nest, Root
from ..registry import statement
from ..ttir import user_frame, where

if TYPE_CHECKING:
    from ..func import FuncEmitter


class Print(Root):
    """One line for each element of one operand."""

    serial = True

    def __init__(self, op: Op, number: int) -> None:
        self.op = op
        self.number = number
        value = op.operands[number]
        self.shape = value.type.shape if isinstance(value.type, Tile) else ()

    def values(self) -> list[Value]:
        return [self.op.operands[self.number]]

    def body(self, nest: Nest) -> None:
        value = self.op.operands[self.number]
        element = nest.eval(value, nest.index if isinstance(value.type, Tile) else ())
        widths = [max(1, math.ceil(math.log10(n))) if n > 1 else 1 for n in self.shape]
        indices = [nest.index_text(ix) for ix in nest.index]
        places = ", ".join(f"%{w}d" for w in widths)
        operand = f"(operand {self.number}) " if len(self.op.operands) > 1 else ""
        form, text = _format(self.op, self.number, element.text)
        prefix = self.op.attrs["prefix"].replace("%", "%%")
        line = f"pid (%u, %u, %u) idx ({places}){prefix}{operand}{form}"
        args = ["pg->pid[0]", "pg->pid[1]", "pg->pid[2]", *[f"(int)({i})" for i in indices], text]
        nest.emit(nest.n, f"tj_print(pg, {c_string(line)}, {', '.join(args)});")


def _format(op: Op, number: int, text: str) -> tuple[str, str]:
    """The printf conversion and its argument."""
    kind = ctype.elem(op.operands[number].type)
    if isinstance(kind, Ptr):
        return "%p", f"(void *){text}"
    bits = max(8, kind.bits)
    if op.attrs.get("hex"):
        if kind.is_float:
            raw = {"f32": f"tj_f32_bits({text})", "f64": f"tj_f64_bits({text})"}.get(
                kind.name, f"tj_f32_to_{ctype.NARROW[kind.name][0]}({text})" if ctype.is_narrow(kind) else text
            )
            return f"0x%0{bits // 4}llx", f"(unsigned long long)(uint{bits}_t){raw}"
        return f"0x%0{bits // 4}llx", f"(unsigned long long)(uint{bits}_t){text}"
    if kind.is_float:
        return "%f", f"(double){text}"
    signed = op.attrs.get("isSigned") or []
    if kind.bits > 1 and (number >= len(signed) or signed[number]):
        return "%lld", f"(long long){text}"
    return "%llu", f"(unsigned long long)(uint{bits}_t){text}"


@statement("tt.print")
def device_print(func: FuncEmitter, op: Op) -> None:
    if not op.operands:
        prefix = op.attrs["prefix"].replace("%", "%%")
        line = c_string(f"pid (%u, %u, %u){prefix}")
        func.line(f"tj_print(pg, {line}, pg->pid[0], pg->pid[1], pg->pid[2]);")
        return
    for number in range(len(op.operands)):
        func.nest([Print(op, number)])


class Assert(Root):
    """Stops the program at the first element that is false."""

    serial = True

    def __init__(self, op: Op) -> None:
        self.op = op
        self.kind = op.operands[0].type
        self.shape = self.kind.shape if isinstance(self.kind, Tile) else ()

    def values(self) -> list[Value]:
        return [self.op.operands[0]]

    def body(self, nest: Nest) -> None:
        value = self.op.operands[0]
        element = nest.eval(value, nest.index if isinstance(value.type, Tile) else ())
        if element.text == "true":
            return
        frame = user_frame(self.op.loc)
        place = f"{frame[0]}:{frame[1]}: " if frame else ""
        message = str(self.op.attrs.get("message") or self.op.attrs.get("msg") or "")
        line = f"{place}device_assert failed: {message}".replace("%", "%%") + " (pid (%u, %u, %u)"
        args = ["pg->pid[0]", "pg->pid[1]", "pg->pid[2]"]
        if self.shape:
            line += " idx (" + ", ".join(["%d"] * len(self.shape)) + ")"
            args += [f"(int)({nest.index_text(ix)})" for ix in nest.index]
        nest.emit(
            nest.n,
            f"if (!{element.text}) return tj_fail(pg, TJ_CPU_FAIL_ASSERT, {c_string(line + ')')}, {', '.join(args)});",
        )


@statement("tt.assert", "cf.assert")
def device_assert(func: FuncEmitter, op: Op) -> None:
    func.nest([Assert(op)])


@statement("ub.unreachable")
def unreachable(func: FuncEmitter, op: Op) -> None:
    line = c_string(f"{where(op.loc)}: the kernel reached a place that it promised not to reach")
    func.line(f"return tj_fail(pg, TJ_CPU_FAIL_TRAP, {line});")


# The programmatic dependent launch hints of tl.extra.cuda, as Triton before 3.9 writes them.
_HINTS = ("griddepcontrol.wait;", "griddepcontrol.launch_dependents;")


@statement("tt.elementwise_inline_asm")
def inline_asm(func: FuncEmitter, op: Op) -> None:
    text = str(op.attrs.get("asm_string", ""))
    if text.startswith(_HINTS) and not any(result.uses for result in op.results):
        return  # a hint about overlapping kernels: nothing to do
    raise UnsupportedOp(
        "tl.inline_asm_elementwise",
        op.loc,
        f"inline assembly is for one GPU only, here {text!r}; write it with Triton's operations",
    )
