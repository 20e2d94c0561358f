# SPDX-License-Identifier: Apache-2.0
"""Mathematical functions: within their bounds against longer arithmetic, exact at special numbers."""

from __future__ import annotations

import math

import numpy as np
from engine import Case, Group, Input, Variant, cases, equal, ulp
from kinds import F32, F64, I32, I64, U32, U64, encode, exactly, special

RNG = np.random.default_rng(17)
N = 1024
LONG = np.longdouble


def numbers(kind, low, high, whole=True):
    """Special numbers and random ones of many magnitudes, and of a range where the function lives."""
    wide = RNG.standard_normal(N) * 2.0 ** RNG.integers(-30 if kind is F32 else -60, 30 if kind is F32 else 60, N)
    inside = RNG.uniform(low, high, N)
    mixed = np.where(RNG.integers(0, 2, N) == 0, wide if whole else inside, inside)
    array = encode(kind, mixed)
    array[:16] = encode(kind, special(kind))
    return array


def longer(function):
    """A function of long doubles."""
    return lambda v: function(v.a.astype(LONG))


def each(function):
    """A function of the math module, element by element."""

    def one(x):
        try:
            return function(float(x))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return lambda v: np.array([one(x) for x in v.a])


def erf(x):
    return math.erf(x) if not math.isnan(x) else math.nan


# name -> (expression, reference, range, ulp allowed for f32, for f64). References of the math module are doubles:
# for f64 they are libm's own, which the generated code calls as well.
TABLE = {
    "exp": ("tl.exp(a)", longer(np.exp), (-100, 90), 2, 1),
    "exp2": ("tl.exp2(a)", longer(np.exp2), (-150, 128), 2, 1),
    "log": ("tl.log(a)", longer(np.log), (0, 10), 2, 1),
    "log2": ("tl.log2(a)", longer(np.log2), (0, 10), 2, 1),
    "sin": ("tl.sin(a)", longer(np.sin), (-10, 10), 2, 1),
    "cos": ("tl.cos(a)", longer(np.cos), (-10, 10), 2, 1),
    "sqrt": ("tl.sqrt(a)", longer(np.sqrt), (0, 100), 0.5, 0.5),
    "rsqrt": ("tl.rsqrt(a)", longer(lambda x: 1 / np.sqrt(x)), (0, 100), 1.5, 1.5),
    "erf": ("tl.erf(a)", each(erf), (-4, 4), 2, 1),
    "floor": ("tl.floor(a)", longer(np.floor), (-100, 100), 0, 0),
    "ceil": ("tl.ceil(a)", longer(np.ceil), (-100, 100), 0, 0),
    "sigmoid": ("tl.sigmoid(a)", longer(lambda x: 1 / (1 + np.exp(-x))), (-80, 30), 4, 3),
    "tan": ("libdevice.tan(a)", longer(np.tan), (-1.5, 1.5), 4, 1),
    "asin": ("libdevice.asin(a)", longer(np.arcsin), (-1, 1), 2, 1),
    "acos": ("libdevice.acos(a)", longer(np.arccos), (-1, 1), 2, 1),
    "atan": ("libdevice.atan(a)", longer(np.arctan), (-10, 10), 2, 1),
    "sinh": ("libdevice.sinh(a)", longer(np.sinh), (-80, 80), 3, 2),
    "cosh": ("libdevice.cosh(a)", longer(np.cosh), (-80, 80), 3, 2),
    "tanh": ("libdevice.tanh(a)", longer(np.tanh), (-5, 5), 3, 2),
    "asinh": ("libdevice.asinh(a)", longer(np.arcsinh), (-100, 100), 3, 2),
    "acosh": ("libdevice.acosh(a)", longer(np.arccosh), (1, 100), 3, 2),
    "atanh": ("libdevice.atanh(a)", longer(np.arctanh), (-1, 1), 3, 2),
    "expm1": ("libdevice.expm1(a)", longer(np.expm1), (-5, 80), 2, 1),
    "log1p": ("libdevice.log1p(a)", longer(np.log1p), (-1, 10), 2, 1),
    "log10": ("libdevice.log10(a)", longer(np.log10), (0, 1000), 2, 2),
    "exp10": ("libdevice.exp10(a)", longer(lambda x: LONG(10) ** x), (-40, 38), 2, 2),
    "cbrt": ("libdevice.cbrt(a)", longer(np.cbrt), (-100, 100), 2, 4),  # 4: what glibc promises
    "erfc": ("libdevice.erfc(a)", each(math.erfc), (-4, 9), 4, 1),
    "trunc": ("libdevice.trunc(a)", longer(np.trunc), (-100, 100), 0, 0),
    "rint": ("libdevice.rint(a)", longer(np.rint), (-100, 100), 0, 0),
    "round": ("libdevice.round(a)", longer(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)), (-100, 100), 0, 0),
    "fabs": ("libdevice.abs(a)", longer(np.abs), (-100, 100), 0, 0),
}


def unary():
    """Functions of one number, in tiles of full vectors and with a rest."""
    for kind, place in ((F32, 3), (F64, 4)):
        names = list(TABLE)
        for part in range(0, len(names), 8):
            made, inputs = [], {}
            for name in names[part : part + 8]:
                code, want, (low, high), *_ = TABLE[name]
                # Far away from zero long doubles reduce no angle well enough, and exp(-x) overflows.
                whole = name not in ("tan", "sin", "cos", "sigmoid")
                inputs[name] = Input(kind, numbers(kind, low, high, whole))
                text = code.replace("(a)", f"({name})")

                def of_its_own(v, want=want, name=name):
                    v.a = getattr(v, name)
                    return want(v)

                made.append(Case(name, text, kind, of_its_own, check=ulp(TABLE[name][place])))
            variants = (Variant(), Variant("tail", (1003,)))
            yield Group(f"{kind}-{names[part]}", (N,), inputs, made, variants)
            few = {name: Input(kind, given.array[::16]) for name, given in inputs.items()}
            yield Group(f"scalar-{kind}-{names[part]}", (), few, made, grid=(N // 16,))


def binary():
    """Functions of two numbers."""
    for kind in (F32, F64):
        a = numbers(kind, -10, 10)
        b = RNG.permutation(numbers(kind, -4, 4))
        positive = np.abs(a)

        def long(function):
            return lambda v: function(v.a.astype(LONG), v.b.astype(LONG))

        def power(v):
            return np.power(v.p.astype(LONG), v.b.astype(LONG))

        def difference(v):
            return np.where(np.isnan(v.a) | np.isnan(v.b), np.nan, np.where(v.a > v.b, v.a - v.b, 0))

        made = [
            Case("atan2", "libdevice.atan2(a, b)", kind, long(np.arctan2), check=ulp(2)),
            Case("pow", "libdevice.pow(p, b)", kind, power, check=ulp(2)),
            Case("fmod", "libdevice.fmod(a, b)", kind, lambda v: np.fmod(v.a, v.b), check=equal),
            Case("mod", "a % b", kind, lambda v: np.fmod(v.a, v.b), check=equal),
            Case("hypot", "libdevice.hypot(a, b)", kind, long(np.hypot), check=ulp(2)),
            Case("copysign", "libdevice.copysign(a, b)", kind, lambda v: np.copysign(v.a, v.b)),
            Case("nextafter", "libdevice.nextafter(a, b)", kind, lambda v: np.nextafter(v.a, v.b), check=equal),
            Case("fdim", "libdevice.fdim(a, b)", kind, difference, check=equal),
        ]
        inputs = {"a": Input(kind, a), "b": Input(kind, b), "p": Input(kind, positive)}
        yield Group(f"binary-{kind}", (N,), inputs, made)


def softmax():
    """tl.softmax along its axis."""
    a = encode(F32, RNG.standard_normal((8, 32)) * 4)

    def want(v):
        e = np.exp((v.a - v.a.max(0)).astype(LONG))  # the difference is rounded
        return e / e.sum(0)

    yield Group("softmax", (8, 32), {"a": Input(F32, a)}, [Case("softmax", "tl.softmax(a)", F32, want, check=ulp(6))])


def bits():
    """Functions of bits."""
    for kind in (I32, I64):
        size = kind.bits
        mask = (1 << size) - 1
        table = {
            "popc": ("libdevice.popc(a)", lambda x, m=mask: bin(x & m).count("1")),
            "clz": ("libdevice.clz(a)", lambda x, m=mask, n=size: n - (x & m).bit_length()),
            "ffs": ("libdevice.ffs(a)", lambda x, m=mask: ((x & -x) & m).bit_length()),
        }
        array = np.concatenate(
            [np.array(special(kind), kind.store), RNG.integers(kind.low, kind.high, 240, kind.store)]
        )
        made = [
            Case(name, code, I32, lambda v, f=function: exactly(I32, f, v.a))
            for name, (code, function) in table.items()
        ]
        made.append(
            Case("brev", "libdevice.brev(a)", kind,
                 lambda v, k=kind, m=mask, n=size: exactly(k, lambda x: int(f"{x & m:0{n}b}"[::-1], 2), v.a))
        )  # fmt: skip
        made.append(
            Case("mulhi", "libdevice.mulhi(a, a ^ 0x5A5A)", kind,
                 lambda v, k=kind, n=size: exactly(k, lambda x: x * (x ^ 0x5A5A) >> n, v.a))
        )  # fmt: skip
        yield Group(f"bits-{kind}", (256,), {"a": Input(kind, array)}, made)
    for kind in (U32, U64):
        array = RNG.integers(0, kind.high, 256, kind.store)
        made = [
            Case("umulhi", "tl.umulhi(a, a * 3)", kind,
                 lambda v, k=kind: exactly(k, lambda x: x * (x * 3 & k.high) >> k.bits, v.a)),
            Case("umulhi_scalar", "tl.umulhi(a, 12345)", kind,
                 lambda v, k=kind: exactly(k, lambda x: x * 12345 >> k.bits, v.a)),
        ]  # fmt: skip
        yield Group(f"bits-{kind}", (256,), {"a": Input(kind, array)}, made)


@cases([*unary(), *binary(), *softmax(), *bits()])
def test_math(check, arguments):
    check(*arguments)
