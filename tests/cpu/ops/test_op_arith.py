# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and bit operations of every type on every pair of special numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import triton.language as tl
from engine import OVERLAP, Case, Group, Input, Variant, cases, equal
from kinds import (
    B1,
    BF16,
    F16,
    F32,
    F64,
    FLOATS,
    FP8,
    INTEGERS,
    U32,
    U64,
    corners,
    decode,
    encode,
    exactly,
    odd_double,
    random,
)

RNG = np.random.default_rng(11)
NEGATES = not hasattr(tl, "atomic_load")  # Triton before 3.9 negates by subtracting from +0

VARIANTS = (Variant(), Variant("tail", (77,)), Variant("none", (0,)), OVERLAP)


def quotient(x, y):
    """Towards zero; 0 for a division by 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def remainder(x, y):
    """With the sign of x; 0 for a division by 0."""
    return 0 if y == 0 else x - y * quotient(x, y)


def integers():
    """All operations of integers, each type."""
    for kind in INTEGERS:
        a, b = corners(kind)
        bits = kind.bits

        def exact(function, kind=kind):
            return lambda v: exactly(kind, function, v.a, v.b)

        functions = {
            "add": ("a + b", lambda x, y: x + y),
            "sub": ("a - b", lambda x, y: x - y),
            "mul": ("a * b", lambda x, y: x * y),
            "div": ("a // b", quotient),
            "rem": ("a % b", remainder),
            "and": ("a & b", lambda x, y: x & y),
            "or": ("a | b", lambda x, y: x | y),
            "xor": ("a ^ b", lambda x, y: x ^ y),
            "not": ("~a", lambda x, y: ~x),
            "neg": ("-a", lambda x, y: -x) if kind.signed else ("0 - a", lambda x, y: -x),
            "abs": ("tl.abs(a)", lambda x, y: abs(x)),
            "max": ("tl.maximum(a, b)", max),
            "min": ("tl.minimum(a, b)", min),
            "shl": (f"a << (b & {bits - 1})", lambda x, y, m=bits - 1: x << (y & m)),
            "shr": (f"a >> (b & {bits - 1})", lambda x, y, m=bits - 1: x >> (y & m)),
            "shl_const": ("a << 3", lambda x, y: x << 3),
            "shr_const": ("a >> 3", lambda x, y: x >> 3),
            # Beyond the width: as wide shifts on a machine without a limit.
            "shl_wide": (f"a << (b & {2 * bits - 1})", lambda x, y, m=2 * bits - 1: x << (y & m)),
            "shr_wide": (f"a >> (b & {2 * bits - 1})", lambda x, y, m=2 * bits - 1: x >> (y & m)),
            "where": ("tl.where(a > b, a, b ^ 5)", lambda x, y: x if x > y else y ^ 5),
            "cdiv": ("tl.cdiv(a, b)", lambda x, y, kind=kind: cdiv(kind, x, y)),
        }
        if kind in (U32, U64):
            functions["mulhi"] = ("tl.umulhi(a, b)", lambda x, y, s=bits: x * y >> s)
        if kind.bits in (32, 64) and kind.signed:
            functions["mulhi"] = (
                "tl.umulhi(a, b)",
                lambda x, y, s=bits: (x % (1 << s)) * (y % (1 << s)) >> s,
            )
        made = [Case(name, code, kind, exact(f)) for name, (code, f) in functions.items()]
        yield Group(kind.name, (256,), pair(kind), made, VARIANTS)


def cdiv(kind, x, y):
    """(x + y - 1) // y with wrapping and Triton's division."""
    mask = (1 << kind.bits) - 1
    total = (x + y - 1) & mask
    if kind.signed and total > kind.high:
        total -= mask + 1
    return quotient(total, y)


def pair(kind):
    """Two inputs: every pair of special numbers."""
    a, b = corners(kind)
    return {"a": Input(kind, a), "b": Input(kind, b)}


COMPARISONS = {
    "lt": ("<", np.less),
    "le": ("<=", np.less_equal),
    "gt": (">", np.greater),
    "ge": (">=", np.greater_equal),
    "eq": ("==", np.equal),
    "ne": ("!=", np.not_equal),
}


def comparisons():
    """The six comparisons, plain and negated."""
    for kind in (*INTEGERS, *FLOATS, *FP8):
        made = []
        for name, (sign, function) in COMPARISONS.items():

            def want(v, function=function, kind=kind):
                return function(decode(kind, v.a), decode(kind, v.b))

            made.append(Case(name, f"a {sign} b", B1, want))
            made.append(Case("not_" + name, f"~(a {sign} b)", B1, lambda v, want=want: ~want(v)))
        yield Group("cmp-" + kind.name, (256,), pair(kind), made, (Variant(), Variant("tail", (77,))))


def floats():
    """Operations of floating-point numbers that are exact or rounded once."""
    for kind in (*FLOATS, *FP8):

        def exact(function, kind=kind, result=None):
            def want(v):
                return encode(result or kind, function(decode(kind, v.a), decode(kind, v.b)))

            return want

        made = [
            Case("add", "a + b", kind, exact(np.add)),
            Case("sub", "a - b", kind, exact(np.subtract)),
            Case("mul", "a * b", kind, exact(np.multiply)),
            Case("neg", "-a", kind, exact(lambda x, y: 0 - x if NEGATES else -x)),
            Case("abs", "tl.abs(a)", kind, exact(lambda x, y: np.abs(x))),
            Case("where", "tl.where(a > b, a, b)", kind, exact(lambda x, y: np.where(x > y, x, y))),
            Case("max", "tl.maximum(a, b)", kind, exact(np.fmax), check=equal),
            Case("min", "tl.minimum(a, b)", kind, exact(np.fmin), check=equal),
            Case("clamp", "tl.clamp(a, b, 1.5)", kind, exact(lambda x, y: np.fmin(np.fmax(x, y), 1.5)), check=equal),
        ]
        everything = "propagate_nan=tl.PropagateNan.ALL"
        made += [
            Case("max_nan", f"tl.maximum(a, b, {everything})", kind, exact(np.maximum), check=equal),
            Case("min_nan", f"tl.minimum(a, b, {everything})", kind, exact(np.minimum), check=equal),
            Case(
                "clamp_nan", f"tl.clamp(a, b, 1.5, {everything})", kind,
                exact(lambda x, y: np.minimum(np.maximum(x, y), 1.5)), check=equal,
            ),
        ]  # fmt: skip
        if not kind.fp8:
            wide = F64 if kind is F64 else F32
            made += [
                Case("div", "a / b", wide, exact(np.divide, result=wide)),
                Case("mod", "a % b", wide, exact(np.fmod, result=wide)),
                Case("div_scalar", "a / 3.0", wide, exact(lambda x, y: x / 3.0, result=wide)),
                Case("fma", "tl.fma(a, b, a)", kind, lambda v, kind=kind: fused(kind, v.a, v.b, v.a)),
            ]
        if kind in (F32, F64):
            made += [
                Case("sqrt", "tl.sqrt(a)", kind, exact(lambda x, y: np.sqrt(x))),
                Case("floor", "tl.floor(a)", kind, exact(lambda x, y: np.floor(x))),
                Case("ceil", "tl.ceil(a)", kind, exact(lambda x, y: np.ceil(x))),
                Case("fdiv", "tl.fdiv(a, b)", kind, exact(np.divide)),
                Case("fdiv_ieee", "tl.fdiv(a, b, ieee_rounding=True)", kind, exact(np.divide)),
            ]
        if kind is F32:
            made += [
                Case("sqrt_rn", "tl.sqrt_rn(a)", kind, exact(lambda x, y: np.sqrt(x))),
                Case("div_rn", "tl.div_rn(a, b)", kind, exact(np.divide)),
            ]
        yield Group("float-" + kind.name, (256,), pair(kind), made, VARIANTS)


def fused(kind, *arrays):
    """a * b + c rounded once, by exact fractions where all are finite."""
    x, y, z = (decode(kind, v) for v in arrays)
    out = x * y + z
    for i in np.flatnonzero(np.isfinite(x) & np.isfinite(y) & np.isfinite(z)):
        exact = Fraction(x[i]) * Fraction(y[i]) + Fraction(z[i])
        if exact != 0:
            out[i] = nearest(exact) if kind is F64 else odd_fraction(exact)
    return encode(kind, out)


def nearest(exact):
    """A fraction as a double."""
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


def odd_fraction(exact):
    """A fraction as a double rounded to odd: rounding it again is then one rounding."""
    near = nearest(exact)
    if not np.isfinite(near) or Fraction(near) == exact or np.float64(near).view(np.int64) & 1:
        return near
    return float(np.nextafter(near, np.inf if exact > Fraction(near) else -np.inf))


def booleans():
    """Tiles of truth values."""
    made = [
        Case("and", "a & b", B1, lambda v: v.a & v.b),
        Case("or", "a | b", B1, lambda v: v.a | v.b),
        Case("xor", "a ^ b", B1, lambda v: v.a ^ v.b),
        Case("not", "~a", B1, lambda v: ~v.a),
        Case("eq", "a == b", B1, lambda v: v.a == v.b),
        Case("ne", "a != b", B1, lambda v: v.a != v.b),
        Case("lt", "a < b", B1, lambda v: ~v.a & v.b),
        Case("ge", "a >= b", B1, lambda v: v.a | ~v.b),
        Case("where", "tl.where(a, b, ~b)", B1, lambda v: np.where(v.a, v.b, ~v.b)),
        Case("and_", "a and b", B1, lambda v: v.a & v.b),
        Case("or_", "a or b", B1, lambda v: v.a | v.b),
        Case("not_", "not a", B1, lambda v: ~v.a),
    ]
    a, b = random(B1, 256, RNG), random(B1, 256, RNG)
    yield Group("b1", (256,), {"a": Input(B1, a), "b": Input(B1, b)}, made, VARIANTS)


def promotions():
    """Operands of two types: Triton's rules of promotion."""
    order = {k: i for i, k in enumerate(INTEGERS)}
    for first in INTEGERS:
        made, inputs = [], {"a": Input(first, corners(first)[0])}
        for second in INTEGERS:
            if order[second] == order[first]:
                continue
            inputs[second.name] = Input(second, corners(second)[1])
            if first.signed == second.signed:
                result = max(first, second, key=lambda k: k.bits)
            else:
                unsigned, signed = (second, first) if first.signed else (first, second)
                result = unsigned if unsigned.bits >= signed.bits else signed
            if result.bits < 8:
                continue

            def want(v, second=second, result=result):
                return exactly(result, lambda x, y: x + y, v.a, getattr(v, second.name))

            made.append(Case(f"add_{second}", f"a + {second.name}", result, want))
        for second in FLOATS:
            inputs[second.name] = Input(second, corners(second)[1])

            # Not both of them bf16: float32.
            result = F32 if second is BF16 else second

            def want_float(v, second=second, result=result):
                x = encode(result, [odd_double(int(i)) if result is not F64 else float(int(i)) for i in v.a])
                return encode(result, decode(result, x) * decode(second, getattr(v, second.name)))

            made.append(Case(f"mul_{second}", f"a * {second.name}", result, want_float))
        yield Group("promote-" + first.name, (256,), inputs, made)
    halves = {"a": Input(F16, corners(F16)[0]), "b": Input(BF16, corners(BF16)[1]), "c": Input(F32, corners(F32)[1])}
    yield Group(
        "promote-floats", (256,), halves,
        [
            Case("f16_f32", "a + c", F32, lambda v: encode(F32, decode(F16, v.a) + v.c.astype(np.float64))),
            Case("bf16_f32", "b * c", F32, lambda v: encode(F32, decode(BF16, v.b) * v.c.astype(np.float64))),
            Case("f16_scalar", "a + 1", F16, lambda v: encode(F16, decode(F16, v.a) + 1)),
            Case("bf16_scalar", "b * 2.5", BF16, lambda v: encode(BF16, decode(BF16, v.b) * 2.5)),
            Case("f32_scalar", "c - 0.1", F32, lambda v: v.c - np.float32(0.1)),
        ],
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:Logical operators")
@cases([*integers(), *comparisons(), *floats(), *booleans(), *promotions()])
def test_arith(check, arguments):
    check(*arguments)
