# SPDX-License-Identifier: Apache-2.0
"""The math dialect, and which C function computes what.

The functions that inner loops use are written in C that vectorises (c/exp.h, c/log.h, c/trig.h,
c/special.h): all common ones of float, few of double. The others call libm.
"""

from __future__ import annotations

from typing import Any

from .. import ctype
from ..ir import Op, Scalar
from ..nest.nest import Nest
from ..registry import elementwise

# Ours for float, with the rough cost of one; and for double.
_FLOAT = {
    "exp": 12, "exp2": 10, "exp10": 14, "expm1": 14, "sinh": 25, "cosh": 20, "tanh": 22, "log": 16, "log2": 22,
    "log10": 24, "log1p": 20, "asinh": 50, "acosh": 50, "atanh": 50, "pow": 60, "cbrt": 30, "sin": 35, "cos": 35,
    "tan": 50, "atan": 15, "atan2": 25, "asin": 15, "acos": 15, "erf": 25, "erfc": 50, "rsqrt": 8, "ldexp": 6,
    "hypot": 12,
}  # fmt: skip
_DOUBLE = {"exp": 25, "exp2": 25, "log": 30, "tanh": 40}
# Written once for both, with the width in the name.
_WIDTH = {"round": 3, "fdim": 2}
_INLINE = {"rsqrt": "1.0 / sqrt", "ldexp": "__builtin_ldexp"}
# One instruction or two.
_CHEAP = {"floor", "ceil", "trunc", "rint", "nearbyint", "fabs", "copysign", "sqrt", "fma"}


def function(name: str, double: bool) -> str:
    """What stands before the arguments of a call of a function of C's math.h, rsqrt or exp10."""
    if name in _WIDTH:
        return f"tj_{name}{64 if double else 32}"
    if double:
        return f"tj_{name}" if name in _DOUBLE else _INLINE.get(name, name)
    return f"tj_{name}f" if name in _FLOAT else f"{name}f"


def _cost(name: str) -> int:
    return 2 if name in _CHEAP else _WIDTH.get(name) or _FLOAT.get(name) or 40


def _kind(op: Op) -> Scalar:
    kind = ctype.elem(op.operands[0].type)
    assert isinstance(kind, Scalar)
    return kind


def _is_double(op: Op) -> bool:
    return _kind(op).name == "f64"


def _call(name: str) -> Any:
    def lower(cx: Nest, op: Op, *args: str) -> str:
        return f"{function(name, _is_double(op))}({', '.join(args)})"

    return lower


for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "cbrt", "sqrt", "rsqrt",
):  # fmt: skip
    elementwise("math." + _name, cost=_cost(_name))(_call(_name))
elementwise("math.powf", cost=_cost("pow"))(_call("pow"))

# Exact for narrow types: their results are numbers of the type.
for _name, _c in (
    ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("round", "round"), ("roundeven", "rint"),
    ("absf", "fabs"), ("copysign", "copysign"),
):  # fmt: skip
    elementwise("math." + _name, cost=_cost(_c), exact=True)(_call(_c))


@elementwise("math.sincos", cost=40)
def sincos(cx: Nest, op: Op, a: str) -> str:
    return _call("sin" if cx.result == 0 else "cos")(cx, op, a)


@elementwise("math.clampf", cost=4, exact=True)
def clampf(cx: Nest, op: Op, x: str, low: str, high: str) -> str:
    bits = 64 if _is_double(op) else 32
    return f"tj_minimum{bits}(tj_maximum{bits}({x}, {low}), {high})"


@elementwise("math.fma", cost=2)
def fma(cx: Nest, op: Op, a: str, b: str, c: str) -> str:
    if ctype.is_narrow(op.results[0].type):
        # fmaf would round to float before the narrow type does; rounding to odd leaves it one rounding.
        return f"tj_f64_to_odd(tj_fma_odd({a}, {b}, {c}))"
    return f"{function('fma', _is_double(op))}({a}, {b}, {c})"


@elementwise("math.absi")
def absi(cx: Nest, op: Op, a: str) -> str:
    kind = ctype.local(op.results[0].type)
    return f"({kind})({a} < 0 ? -{a} : {a})"


def _bits(name: str) -> Any:
    def lower(cx: Nest, op: Op, a: str) -> str:
        return f"({ctype.local(op.results[0].type)})tj_{name}{_kind(op).bits}(({ctype.unsigned(_kind(op))}){a})"

    return lower


elementwise("math.ctpop", cost=6)(_bits("ctpop"))
elementwise("math.ctlz", cost=6)(_bits("ctlz"))
elementwise("math.cttz", cost=6)(_bits("cttz"))


def _class(text: str) -> Any:
    """A test of a number {a} by its magnitude {m}."""

    def lower(cx: Nest, op: Op, a: str) -> str:
        if _is_double(op):
            return text.format(a=a, m=f"fabs({a})", inf="(double)TJ_INF", least="0x1p-1022")
        return text.format(a=a, m=f"fabsf({a})", inf="TJ_INF", least="0x1p-126f")

    return lower


elementwise("math.isnan", exact=True)(_class("{a} != {a}"))
elementwise("math.isinf", exact=True)(_class("{m} == {inf}"))
elementwise("math.isfinite", exact=True)(_class("{m} < {inf}"))
elementwise("math.isnormal", exact=True)(_class("({m} >= {least}) & ({m} < {inf})"))


@elementwise("math.fpowi", cost=40)
def fpowi(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"pow({a}, {b})" if _is_double(op) else f"(float)pow({a}, {b})"


@elementwise("math.ipowi", cost=20)
def ipowi(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"({ctype.local(op.results[0].type)})tj_ipow({a}, {b})"
