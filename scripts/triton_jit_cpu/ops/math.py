# SPDX-License-Identifier: Apache-2.0
"""The math dialect.

The functions that inner loops of real kernels use are written in C that vectorises
(c/math.h); the others call libm.
"""

from __future__ import annotations

from typing import Any

from .. import ctype
from ..ir import Op, Scalar
from ..nest import Nest
from ..registry import elementwise


def _kind(op: Op) -> Scalar:
    kind = ctype.elem(op.operands[0].type)
    assert isinstance(kind, Scalar)
    return kind


# Ours for float: vectorisable. libm's name otherwise.
_OWN = {"exp": "tj_expf", "exp2": "tj_exp2f", "log": "tj_logf", "log2": "tj_log2f"}

_LIBM = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    "erf": "erf", "erfc": "erfc", "cbrt": "cbrt", "powf": "pow",
}  # fmt: skip


def _call(name: str) -> Any:
    def lower(cx: Nest, op: Op, *args: str) -> str:
        if _kind(op).name == "f64":
            return f"{_LIBM[name]}({', '.join(args)})"
        return f"{_OWN.get(name) or _LIBM[name] + 'f'}({', '.join(args)})"

    return lower


for _name in _LIBM:
    elementwise("math." + _name, cost=20 if _name in _OWN else 40)(_call(_name))


def _exact(name: str) -> Any:
    def lower(cx: Nest, op: Op, *args: str) -> str:
        suffix = "" if _kind(op).name == "f64" else "f"
        return f"{name}{suffix}({', '.join(args)})"

    return lower


for _name, _c in (
    ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("round", "round"), ("roundeven", "rint"),
    ("absf", "fabs"), ("copysign", "copysign"),
):  # fmt: skip
    elementwise("math." + _name, cost=2, exact=True)(_exact(_c))

elementwise("math.sqrt", cost=5)(_exact("sqrt"))
elementwise("math.fma", cost=2)(_exact("fma"))


@elementwise("math.sincos", cost=40)
def sincos(cx: Nest, op: Op, a: str) -> str:
    return _call("sin" if cx.result == 0 else "cos")(cx, op, a)


@elementwise("math.clampf", cost=4, exact=True)
def clampf(cx: Nest, op: Op, x: str, low: str, high: str) -> str:
    bits = "64" if _kind(op).name == "f64" else "32"
    return f"tj_minimum{bits}(tj_maximum{bits}({x}, {low}), {high})"


@elementwise("math.rsqrt", cost=8)
def rsqrt(cx: Nest, op: Op, a: str) -> str:
    return f"1.0 / sqrt({a})" if _kind(op).name == "f64" else f"1.0f / sqrtf({a})"


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


@elementwise("math.isnan", exact=True)
def isnan(cx: Nest, op: Op, a: str) -> str:
    return f"{a} != {a}"


@elementwise("math.isinf", exact=True)
def isinf(cx: Nest, op: Op, a: str) -> str:
    return f"(fabs({a}) == (double)TJ_INF)" if _kind(op).name == "f64" else f"fabsf({a}) == TJ_INF"


@elementwise("math.isfinite", exact=True)
def isfinite(cx: Nest, op: Op, a: str) -> str:
    return f"(fabs({a}) < (double)TJ_INF)" if _kind(op).name == "f64" else f"fabsf({a}) < TJ_INF"


@elementwise("math.isnormal", exact=True)
def isnormal(cx: Nest, op: Op, a: str) -> str:
    if _kind(op).name == "f64":
        return f"(fabs({a}) >= 0x1p-1022) & (fabs({a}) < (double)TJ_INF)"
    return f"(fabsf({a}) >= 0x1p-126f) & (fabsf({a}) < TJ_INF)"


@elementwise("math.fpowi", cost=40)
def fpowi(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"pow({a}, {b})" if _kind(op).name == "f64" else f"(float)pow({a}, {b})"


@elementwise("math.ipowi", cost=20)
def ipowi(cx: Nest, op: Op, a: str, b: str) -> str:
    return f"({ctype.local(op.results[0].type)})tj_ipow({a}, {b})"
