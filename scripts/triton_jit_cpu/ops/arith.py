# SPDX-License-Identifier: Apache-2.0
"""The arith dialect and Triton's own arithmetic: one C expression an operation."""

from __future__ import annotations

from typing import Any

from .. import ctype
from ..ctype import RAW
from ..errors import UnsupportedOp
from ..ir import Op, Ptr, Scalar, Tile
from ..nest.nest import Expr, Indices, Nest
from ..registry import elementwise, indexing
from ..ttir import Dense, FloatBits


def _kind(op: Op, operand: int = 0) -> Scalar:
    kind = ctype.elem(op.operands[operand].type)
    assert isinstance(kind, Scalar)
    return kind


def _result(op: Op) -> str:
    return ctype.local(op.results[0].type)


def _signed(op: Op, text: str) -> str:
    """Casts back to the type of the result: C computes narrow integers as int."""
    return f"({_result(op)})({text})"


def _wide(op: Op, text: str) -> str:
    """Like _signed where C's own result type is narrower types' int."""
    return text if _kind(op).bits >= 32 else _signed(op, text)


# Constants


@indexing("arith.constant")
def constant(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    type_ = op.results[0].type
    value = op.attrs["value"]
    if isinstance(value, Dense):
        if value.splat:
            return Expr(ctype.literal(type_, value.bits[0], form))
        assert isinstance(type_, Tile)
        table = nest.func.module.table(type_, value.bits)
        at = nest.flat(indices, type_.shape)
        text = f"{table}[{nest.index_text(at)}]"
        if ctype.elem(type_) == Scalar("i1"):
            text += " != 0"
        read = nest.define(ctype.local(type_, RAW), op.results[0].name or "c", text, at.level)
        return nest.convert(read.text, RAW, form, op.results[0], at.level)
    bits = value.bits if isinstance(value, FloatBits) else int(value)
    return Expr(ctype.literal(type_, bits, form))


@indexing("ub.poison")
def poison(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    return Expr(ctype.literal(op.results[0].type, 0, form))


# Integers


@elementwise("arith.addi")
def addi(cx: Nest, op: Op, a: str, b: str) -> str:
    if _kind(op).bits == 1:
        return f"{a} != {b}"
    if "0" in (a, b):
        return a if b == "0" else b
    return _wide(op, f"{a} + {b}")


@elementwise("arith.subi")
def subi(cx: Nest, op: Op, a: str, b: str) -> str:
    if _kind(op).bits == 1:
        return f"{a} != {b}"
    return a if b == "0" else _wide(op, f"{a} - {b}")


@elementwise("arith.muli")
def muli(cx: Nest, op: Op, a: str, b: str) -> str:
    if _kind(op).bits == 1:
        return f"{a} && {b}"
    return _wide(op, f"{a} * {b}")


def _divide(name: str) -> Any:
    def lower(cx: Nest, op: Op, a: str, b: str) -> str:
        kind = _kind(op)
        if kind.bits == 1:
            return a if name in ("divu", "divs", "ceildivu", "ceildivs", "floordivs") else "false"
        if name[-1] == "u":
            kind_ = ctype.unsigned(op.operands[0].type)
            return f"({ctype.memory(kind)})tj_{name}{kind.bits}(({kind_}){a}, ({kind_}){b})"
        return f"tj_{name}{kind.bits}({a}, {b})"

    return lower


for _name, _helper in (
    ("arith.divsi", "divs"), ("arith.divui", "divu"), ("arith.remsi", "rems"), ("arith.remui", "remu"),
    ("arith.ceildivsi", "ceildivs"), ("arith.ceildivui", "ceildivu"), ("arith.floordivsi", "floordivs"),
):  # fmt: skip
    elementwise(_name, cost=8)(_divide(_helper))


def _bitwise(c: str) -> Any:
    def lower(cx: Nest, op: Op, a: str, b: str) -> str:
        if _kind(op).bits == 1:
            if c == "&":
                if "false" in (a, b):
                    return "false"
                return b if a == "true" else a if b == "true" else f"{a} & {b}"
            if c == "|":
                if "true" in (a, b):
                    return "true"
                return b if a == "false" else a if b == "false" else f"{a} | {b}"
            if "true" in (a, b):
                other = b if a == "true" else a
                return {"true": "false", "false": "true"}.get(other, f"!{other}")
            return f"{a} != {b}"
        return _wide(op, f"{a} {c} {b}")

    return lower


elementwise("arith.andi")(_bitwise("&"))
elementwise("arith.ori")(_bitwise("|"))
elementwise("arith.xori")(_bitwise("^"))


@elementwise("arith.shli", cost=2)
def shli(cx: Nest, op: Op, a: str, b: str) -> str:
    bits, kind = _kind(op).bits, ctype.unsigned(op.operands[0].type)
    amount = _amount(b)
    if amount is not None:
        return f"({_result(op)})(({kind}){a} << {amount})" if amount < bits else "0"
    return f"({_result(op)})(({kind}){b} < {bits} ? ({kind}){a} << ({b} & {bits - 1}) : 0)"


@elementwise("arith.shrui", cost=2)
def shrui(cx: Nest, op: Op, a: str, b: str) -> str:
    bits, kind = _kind(op).bits, ctype.unsigned(op.operands[0].type)
    amount = _amount(b)
    if amount is not None:
        return f"({_result(op)})(({kind}){a} >> {amount})" if amount < bits else "0"
    return f"({_result(op)})(({kind}){b} < {bits} ? ({kind}){a} >> ({b} & {bits - 1}) : 0)"


@elementwise("arith.shrsi", cost=2)
def shrsi(cx: Nest, op: Op, a: str, b: str) -> str:
    bits, kind = _kind(op).bits, ctype.unsigned(op.operands[0].type)
    amount = _amount(b)
    if amount is not None:
        return f"({_result(op)})({a} >> {min(amount, bits - 1)})"
    return f"({_result(op)})({a} >> (({kind}){b} < {bits} ? {b} & {bits - 1} : {bits - 1}))"


def _amount(text: str) -> int | None:
    """A shift by a constant."""
    return int(text) if text.isdigit() else None


def _minmax(name: str) -> Any:
    def lower(cx: Nest, op: Op, a: str, b: str) -> str:
        sign = "<" if name.startswith("min") else ">"
        if name.endswith("u"):
            kind = ctype.unsigned(op.operands[0].type)
            return f"({kind}){a} {sign} ({kind}){b} ? {a} : {b}"
        if _kind(op).bits == 1:  # true is -1
            sign = ">" if sign == "<" else "<"
        return f"{a} {sign} {b} ? {a} : {b}"

    return lower


elementwise("arith.maxsi")(_minmax("maxs"))
elementwise("arith.minsi")(_minmax("mins"))
elementwise("arith.maxui")(_minmax("maxu"))
elementwise("arith.minui")(_minmax("minu"))

_CMPI = ["==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="]


@elementwise("arith.cmpi")
def cmpi(cx: Nest, op: Op, a: str, b: str) -> str:
    predicate = op.attrs["predicate"]
    sign = _CMPI[predicate]
    kind = ctype.elem(op.operands[0].type)
    if isinstance(kind, Ptr):
        return f"(uintptr_t){a} {sign} (uintptr_t){b}"
    if predicate >= 6:
        cast = ctype.unsigned(op.operands[0].type)
        return f"({cast}){a} {sign} ({cast}){b}"
    if kind.bits == 1 and predicate >= 2:  # signed: true is -1
        return f"{b} {sign} {a}"
    return f"{a} {sign} {b}"


@elementwise("arith.select", cost=1, exact=True, raw=True)
def select(cx: Nest, op: Op, form: str, c: str, a: str, b: str) -> str:
    if c in ("true", "false"):
        return a if c == "true" else b
    return f"{c} ? {a} : {b}"


@elementwise("arith.extsi", "arith.index_cast", cost=1)
def extsi(cx: Nest, op: Op, a: str) -> str:
    if _kind(op).bits == 1:
        return f"({_result(op)})-(int){a}"
    return f"({_result(op)}){a}"


@elementwise("arith.extui", "arith.index_castui", cost=1)
def extui(cx: Nest, op: Op, a: str) -> str:
    return f"({_result(op)})({ctype.unsigned(op.operands[0].type)}){a}"


@elementwise("arith.trunci", cost=1)
def trunci(cx: Nest, op: Op, a: str) -> str:
    if ctype.elem(op.results[0].type) == Scalar("i1"):
        return f"({a} & 1) != 0"
    return f"({_result(op)}){a}"


# Floating point


@elementwise("arith.addf")
def addf(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"{a} + {b}"


@elementwise("arith.subf")
def subf(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"{a} - {b}"


@elementwise("arith.mulf")
def mulf(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"{a} * {b}"


@elementwise("arith.divf", "tt.precise_divf", "tt.approx_divf", cost=4)
def divf(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"{a} / {b}"


@elementwise("arith.remf", cost=30)
def remf(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"fmod({a}, {b})" if _kind(op).name == "f64" else f"fmodf({a}, {b})"


@elementwise("arith.negf", exact=True)
def negf(cx: Nest, op: Op, a: str) -> str:
    return f"-{a}"


def _extreme(helper: str) -> Any:
    def lower(cx: Nest, op: Op, a: str, b: str) -> str:
        return f"tj_{helper}{_float_bits(op)}({a}, {b})"

    return lower


def _float_bits(op: Op, operand: int = 0) -> str:
    return "64" if _kind(op, operand).name == "f64" else "32"


for _name, _helper in (("maxnumf", "maxnum"), ("minnumf", "minnum"), ("maximumf", "maximum"), ("minimumf", "minimum")):
    elementwise("arith." + _name, cost=3, exact=True)(_extreme(_helper))


@elementwise("tt.clampf", cost=4, exact=True)
def clampf(cx: Nest, op: Op, x: str, low: str, high: str) -> str:
    bits = _float_bits(op)
    # propagateNan: 0 none, 0xFFFF all (TritonOps.td, TT_PropagateNanAttr)
    kind = "imum" if op.attrs.get("propagateNan") else "num"
    return f"tj_min{kind}{bits}(tj_max{kind}{bits}({x}, {low}), {high})"


# False, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, true
_CMPF = [
    "false", "{a} == {b}", "{a} > {b}", "{a} >= {b}", "{a} < {b}", "{a} <= {b}", "({a} < {b}) | ({a} > {b})",
    "({a} == {a}) & ({b} == {b})", "!(({a} < {b}) | ({a} > {b}))", "!({a} <= {b})", "!({a} < {b})",
    "!({a} >= {b})", "!({a} > {b})", "{a} != {b}", "({a} != {a}) | ({b} != {b})", "true",
]  # fmt: skip


@elementwise("arith.cmpf")
def cmpf(cx: Nest, op: Op, a: str, b: str) -> str:
    return _CMPF[op.attrs["predicate"]].format(a=a, b=b)


# Conversions


@elementwise("arith.extf", cost=1, exact=True)
def extf(cx: Nest, op: Op, a: str) -> str:
    return f"(double){a}" if _result(op) == "double" else a


@indexing("arith.truncf", "tt.fp_to_fp", "arith.convertf")
def truncf(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    """Any float to any float, to nearest even or towards zero."""
    result = op.results[0]
    source, target = _kind(op), ctype.elem(result.type)
    assert isinstance(target, Scalar)
    if source == target:
        return nest.eval(op.operands[0], indices, form)
    a = nest.eval(op.operands[0], indices)
    hint = result.name or "f"
    zero = op.attrs.get("rounding", op.attrs.get("roundingmode", 1)) == (0 if op.name == "tt.fp_to_fp" else 3)
    if not ctype.is_narrow(target):
        if source.name == "f64" and target.name == "f32":
            text = f"tj_f64_to_f32_rz({a.text})" if zero else f"(float){a.text}"
            return nest.define("float", hint, text, a.level)
        return nest.define("double", hint, f"(double){a.text}", a.level) if target.name == "f64" else a
    text = a.text
    if source.name == "f64":
        # Through float would round twice; rounding to odd first keeps it one rounding.
        text = nest.define("float", hint, f"tj_f64_to_odd({text})", a.level).text
    name = ctype.NARROW[target.name][0]
    raw = nest.define(ctype.local(target, RAW), hint, f"tj_f32_to_{name}{'_rtz' if zero else ''}({text})", a.level)
    nest.remember(result, indices, RAW, raw)
    return nest.convert(raw.text, RAW, form, result, a.level)


@elementwise("arith.sitofp", cost=1)
def sitofp(cx: Nest, op: Op, a: str) -> str:
    if _kind(op).bits == 1:
        return f"{a} ? -1.0f : 0.0f"
    return _from_integer(op, a, "int64_t")


@elementwise("arith.uitofp", cost=1)
def uitofp(cx: Nest, op: Op, a: str) -> str:
    if _kind(op).bits == 1:
        return f"{a} ? 1.0f : 0.0f"
    return _from_integer(op, f"({ctype.unsigned(op.operands[0].type)}){a}", "uint64_t")


def _from_integer(op: Op, text: str, wide: str) -> str:
    target = ctype.elem(op.results[0].type)
    if ctype.is_narrow(target) and _kind(op).bits > 16:
        # Not by way of float to nearest, which would round twice.
        suffix = "u64" if wide[0] == "u" else "s64"
        exact = f"(double){text}" if _kind(op).bits <= 32 else f"tj_{suffix}_to_odd({text})"
        return f"tj_f64_to_odd({exact})"
    return f"({_result(op)}){text}"


@elementwise("arith.fptosi", cost=3)
def fptosi(cx: Nest, op: Op, a: str) -> str:
    bits = ctype.elem(op.results[0].type).bits
    if bits == 1:
        return f"{a} <= -1.0f"
    return f"tj_f{_float_bits(op)}_to_s{bits}({a})"


@elementwise("arith.fptoui", cost=3)
def fptoui(cx: Nest, op: Op, a: str) -> str:
    bits = ctype.elem(op.results[0].type).bits
    if bits == 1:
        return f"{a} >= 1.0f"
    return f"({_result(op)})tj_f{_float_bits(op)}_to_u{bits}({a})"


@indexing("arith.bitcast", "tt.bitcast")
def bitcast(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    """The same bits as another type of the same width; memory form to memory form."""
    result = op.results[0]
    source, target = ctype.elem(op.operands[0].type), ctype.elem(result.type)
    a = nest.eval(op.operands[0], indices, RAW)
    if source == target:
        return nest.convert(a.text, RAW, form, result, a.level)
    local = ctype.local(target, RAW)
    if isinstance(target, Ptr):
        return nest.define(local, result.name or "p", f"({local}){a.text}", a.level)
    assert isinstance(source, Scalar)
    if source.bits != target.bits:
        raise UnsupportedOp(op.name, op.loc, f"from {source} to {target}: the widths differ")
    text = f"({local}){a.text}"
    for wide, integer, name in (("f32", "i32", "32"), ("f64", "i64", "64")):
        if (source.name, target.name) == (wide, integer):
            text = f"tj_f{name}_bits({a.text})"
        if (source.name, target.name) == (integer, wide):
            text = f"tj_bits_f{name}((uint{name}_t){a.text})"
    raw = nest.define(local, result.name or "bits", text, a.level)
    return nest.convert(raw.text, RAW, form, result, a.level)


@elementwise("tt.ptr_to_int", cost=0)
def ptr_to_int(cx: Nest, op: Op, a: str) -> str:
    return f"({_result(op)})(intptr_t){a}"


@elementwise("tt.int_to_ptr", cost=0)
def int_to_ptr(cx: Nest, op: Op, a: str) -> str:
    return f"({_result(op)})(intptr_t){a}"


@elementwise("tt.mulhiui", cost=3)
def mulhiui(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"({_result(op)})tj_mulhiu{_kind(op).bits}({a}, {b})"


def _extended(first: str, second: str) -> Any:
    """Operations with two results: the low part, and the high part or a carry."""

    def lower(cx: Nest, op: Op, a: str, b: str) -> str:
        kind, bits = ctype.unsigned(op.operands[0].type), _kind(op).bits
        text = first if cx.result == 0 else second
        return text.format(r=ctype.local(op.results[cx.result].type), u=kind, bits=bits, a=a, b=b)

    return lower


_LOW = "({r})(({u}){a} * ({u}){b})"
elementwise("arith.mulsi_extended", cost=3)(_extended(_LOW, "tj_mulhis{bits}({a}, {b})"))
elementwise("arith.mului_extended", cost=3)(_extended(_LOW, "({r})tj_mulhiu{bits}({a}, {b})"))
elementwise("arith.addui_extended", cost=2)(_extended("({r})({a} + {b})", "({u})({a} + {b}) < ({u}){a}"))
elementwise("arith.subui_extended", cost=2)(_extended("({r})({a} - {b})", "({u}){a} < ({u}){b}"))


@elementwise("arith.flush_denormals", exact=True)
def flush_denormals(cx: Nest, op: Op, a: str) -> str:
    smallest = "0x1p-1022" if _kind(op).name == "f64" else "0x1p-126f"
    return f"({a} < {smallest} && {a} > -{smallest} ? {a} * 0 : {a})"


@elementwise("tt.precise_sqrt", cost=5)
def precise_sqrt(cx: Nest, op: Op, a: str) -> str:
    return f"sqrt{'' if _kind(op).name == 'f64' else 'f'}({a})"
