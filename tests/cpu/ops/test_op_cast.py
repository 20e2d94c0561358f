# SPDX-License-Identifier: Apache-2.0
"""Casts between every pair of types: rounding, saturation, NaN, bit casts."""

from __future__ import annotations

import numpy as np
from engine import Case, Group, Input, bitwise, cases
from kinds import (
    B1,
    BF16,
    E4M3,
    E4M3Z,
    E5M2,
    E5M2Z,
    F16,
    F32,
    F64,
    FLOATS,
    FP8,
    INTEGERS,
    encode,
    random,
    special,
    table,
)
from references import convert

RNG = np.random.default_rng(12)
N = 1024


def values(kind):
    """Numbers at which conversions from a type may go wrong."""
    if kind is B1:
        return random(B1, N, RNG)
    if kind.integer:
        near = [s * (1 << k) + d for k in range(kind.bits) for d in (-1, 0, 1) for s in (1, -1)]
        near = [v for v in near if kind.low <= v <= kind.high]
        # Halfway between two numbers of fewer bits, and next to it.
        for k in range(12, kind.bits - 1, 3):
            for mantissa in (8, 11, 24, 53):
                if k > mantissa:
                    half = 1 << (k - mantissa)
                    near += [(1 << k) + half + d for d in (-1, 0, 1)] + [(1 << k) + 3 * half + d for d in (-1, 0, 1)]
        near = (special(kind) + near)[: N // 4 * 3]
        return np.concatenate([np.array(near, kind.store), random(kind, N - len(near), RNG)])
    if kind.fp8:
        return np.arange(N, dtype=np.uint8)
    edges = [2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64)]
    near = [e + d for e in edges for d in (-1, -0.5, 0, 0.5, 1)] + [
        0.5,
        1.5,
        2.5,
        0.99,
        254.5,
        255.5,
        126.5,
        65504,
        65520,
    ]
    for narrow in (F16, BF16, *FP8):
        few = RNG.choice(len(table(narrow)) - 1, 16)
        middle = (table(narrow)[few] + table(narrow)[few + 1]) / 2
        top = table(narrow)[-1]
        near += [
            *middle,
            *(middle * (1 + 2.0**-22)),
            *(middle * (1 - 2.0**-22)),
            *(middle * (1 + 2.0**-50)),
            top,
            top * 1.04,
        ]
    numbers = special(kind) + near + [-x for x in near]
    made = encode(kind, numbers)[: N // 4 * 3]
    wide = random(kind, (N - len(made)) // 2, RNG, min(60, kind.bias))
    return np.concatenate([made, wide, random(kind, N - len(made) - len(wide), RNG)])


# Triton converts fp8 from and to other floating-point types only.
KINDS = (*INTEGERS, B1, *FLOATS, *FP8)


def targets(source):
    """The types that a cast may lead to."""
    return [t for t in KINDS if t is not source and not (source.fp8 and t.integer) and not (source.integer and t.fp8)]


def casts(scalar):
    """A group for each source type."""
    for source in KINDS:
        array = values(source)
        made = []
        for target in targets(source):

            def want(v, source=source, target=target):
                return convert(source, target, v.a)

            made.append(Case(f"to_{target}", f"a.to({target.tl})", target, want))
            if not source.integer and not target.integer and target.bits < source.bits:

                def want_zero(v, source=source, target=target):
                    return convert(source, target, v.a, True)

                code = f"a.to({target.tl}, fp_downcast_rounding='rtz')"
                made.append(Case(f"to_{target}_rtz", code, target, want_zero))
                code = f"a.to({target.tl}, fp_downcast_rounding='rtne')"
                made.append(Case(f"to_{target}_rtne", code, target, want))
        made += bit_casts(source)
        inputs = {"a": Input(source, array)}
        if scalar:
            yield Group(f"scalar-{source}", (), inputs, made, grid=(N,))
        else:
            yield Group(source.name, (N,), inputs, made)


def bit_casts(source):
    """The same bits as another type; what went through registers keeps even the payload of a NaN."""
    made = []
    for target in KINDS:
        if target.bits == source.bits and target is not source and target is not B1:
            code = f"a.to({target.tl}, bitcast=True)"
            made.append(Case(f"as_{target}", code, target, lambda v, t=target: v.a.view(t.store), check=bitwise))
    return made


def chains():
    """Several conversions in a row: each rounds."""
    array = values(F32)
    steps = [(F16, BF16), (BF16, F16), (E5M2, F16), (E4M3, BF16), (E4M3Z, F16), (E5M2Z, BF16), (F64, F16)]
    made = []
    for first, second in steps:

        def want(v, first=first, second=second):
            return convert(first, second, convert(F32, first, v.a))

        made.append(Case(f"{first}_{second}", f"a.to({first.tl}).to({second.tl})", second, want))
    for kind in INTEGERS:

        def want_back(v, kind=kind):
            return convert(kind, F32, convert(F32, kind, v.a))

        made.append(Case(f"{kind}_back", f"a.to({kind.tl}).to(tl.float32)", F32, want_back))
    yield Group("chains", (N,), {"a": Input(F32, array)}, made)


@cases([*casts(False), *casts(True), *chains()])
def test_cast(check, arguments):
    check(*arguments)
