# SPDX-License-Identifier: Apache-2.0
"""Reductions: every type and axis, ties, masks, regions of any kind over several operands."""

from __future__ import annotations

import numpy as np
from engine import Case, Group, Input, Variant, cases, close, equal
from kinds import (
    B1,
    BF16,
    F32,
    F64,
    FLOATS,
    I8,
    I32,
    I64,
    INTEGERS,
    U8,
    U32,
    decode,
    encode,
    random,
    small,
    wrap,
)
from references import HELPERS, affine, as_result, fold, matrix, without

RNG = np.random.default_rng(13)

SHAPES = {
    1: [(64,), (256,), (2,), (1,), (16,)],
    2: [(8, 32), (32, 4), (1, 16), (16, 1), (16, 16), (2, 64)],
    3: [(4, 8, 2), (2, 4, 16), (8, 1, 4), (1, 2, 32), (4, 4, 4)],
}
OTHER = 1  # what masked elements are


def seen(kind, array, limits, shape):
    """What a masked load gave: numbers."""
    numbers = decode(kind, array)
    if limits != shape:
        full = np.full(shape, OTHER, numbers.dtype)
        window = tuple(slice(0, n) for n in limits)
        full[window] = numbers[window]
        numbers = full
    return numbers.astype(object) if kind.integer else numbers


def operations(kind):
    """Name to (expression with {axis}, reference of numbers and axis, result kind)."""

    def folded(function):
        return lambda x, axis: function.reduce(x.ravel() if axis is None else x, axis=axis or 0)

    def parity(x, axis):
        return 1 - 2 * (np.sum((x > 0).astype(int), axis) % 2)

    table = {
        "sum": ("tl.sum(a, {axis})", lambda x, axis: np.sum(x, axis), kind),
        "max": ("tl.max(b, {axis})", lambda x, axis: np.max(x, axis), kind),
        "min": ("tl.min(b, {axis})", lambda x, axis: np.min(x, axis), kind),
    }
    if kind.integer:
        table |= {
            "xor": ("tl.xor_sum(b, {axis})", folded(np.bitwise_xor), kind),
            "or": ("tl.reduce_or(a, {axis})", folded(np.bitwise_or), kind),
            "and": ("tl.reduce(b, {axis}, both)", folded(np.bitwise_and), kind),
            "prod": ("tl.reduce(b, {axis}, multiply)", lambda x, axis: np.prod(x, axis), kind),
        }
    else:
        code = "tl.reduce(tl.where(a > 0, -1.0, 1.0).to(a.dtype), {axis}, multiply)"
        table["prod"] = (code, parity, kind)
    return table


def arguments(kind):
    """Operations that give positions; they need an axis."""

    return {
        "argmax": ("tl.argmax(a, {axis})", np.argmax, I32),
        "argmin": ("tl.argmin(a, {axis})", np.argmin, I32),
        "argmax_kept": ("tl.argmax(a, {axis}, keep_dims=True)", lambda x, d: np.argmax(x, d, keepdims=True), I32),
        "argmin_unique": ("tl.argmin(b, {axis}, tie_break_left=False)", np.argmin, I32),
        "argmax_unique": ("tl.argmax(b, {axis}, tie_break_left=False)", np.argmax, I32),
    }


def unique(kind, shape):
    """Random numbers without equals, as far as the type has so many."""
    size = int(np.prod(shape))
    if kind.integer:
        numbers = RNG.permutation(size) - (size // 2 if kind.signed else 0)
        return wrap(kind, [int(v) * (1 if kind.bits == 8 else 97) for v in numbers], shape)
    return encode(kind, (RNG.permutation(size) - size // 2) / 4.0).reshape(shape)


def by_type():
    """Types times ranks; each axis with some of the operations, so that all meet all."""
    turn = 0
    for number, kind in enumerate((*INTEGERS, *FLOATS)):
        for rank, shapes in SHAPES.items():
            shape = shapes[(number + rank) % len(shapes)]
            inputs = {
                "a": Input(kind, small(kind, shape, RNG, 1 if kind is BF16 else 5)),
                "b": Input(kind, unique(kind, shape)),
            }
            made = []
            for axis in [*range(rank), None]:
                table = operations(kind) | (arguments(kind) if axis is not None else {})
                names = list(table)
                for step in range(6):
                    turn += 1
                    name = names[(turn + step) % len(names)]
                    code, function, result = table[name]
                    if rank == 2 and "unique" in name:
                        continue  # the mask makes equals
                    made.append(reduction(kind, shape, axis, name, code, function, result))
            made = list({c.name: c for c in made}.values())
            masked = rank == 2
            mask = f", mask=mask, other={OTHER}" if masked else ""
            at = "at_" + "x".join(map(str, shape))
            head = f"a = tl.load(p_a + {at}{mask})\nb = tl.load(p_b + {at}{mask})"
            variants = (Variant(),)
            if masked:
                variants += (Variant("part", (shape[0] // 2, shape[1] - 1)), Variant("none", (0, 0)))
            name = f"{kind}-{'x'.join(map(str, shape))}"
            yield Group(name, shape, inputs, made, variants, load="", head=head, helpers=HELPERS)


def reduction(kind, shape, axis, name, code, function, result):
    """One case."""
    operand = "b" if "(b," in code else "a"

    def want(v):
        numbers = seen(kind, getattr(v, operand), v.limits, shape)
        return as_result(result, function(numbers, axis))

    kept = "keep_dims=True" in code
    out = without(shape, axis)
    if kept:
        out = shape[:axis] + (1,) + shape[axis + 1 :]
    # Among equals the reduction may take any zero.
    check = equal if not kind.integer else None
    return Case(f"{name}-{axis}", code.format(axis=axis), result, want, out, check)


def kept_dimensions():
    """keep_dims, results that are used further, and reductions of reductions."""
    shape = (8, 4, 16)
    a = small(F32, shape, RNG)
    made = []
    for axis in range(3):
        out = shape[:axis] + (1,) + shape[axis + 1 :]

        def kept(v, axis=axis):
            return v.a.sum(axis, keepdims=True)

        def minus(v, axis=axis):
            return v.a - v.a.max(axis, keepdims=True)

        def gone(v, axis=axis):
            return v.a.sum(axis)

        made += [
            Case(f"sum-{axis}", f"tl.sum(a, {axis}, keep_dims=True)", F32, kept, out),
            Case(f"minus-{axis}", f"a - tl.max(a, {axis}, keep_dims=True)", F32, minus, shape),
            Case(f"negative-{axis}", f"tl.sum(a, {axis - 3})", F32, gone, without(shape, axis)),
        ]
    made += [
        Case("all", "tl.sum(a)", F32, lambda v: v.a.sum(), ()),
        Case("all_kept", "tl.sum(a, keep_dims=True)", F32, lambda v: v.a.sum(keepdims=True), (1, 1, 1)),
        Case("twice", "tl.max(tl.sum(a, 2), 0)", F32, lambda v: v.a.sum(2).max(0), (4,)),
        Case("thrice", "tl.sum(tl.sum(tl.sum(a, 0), 0), 0)", F32, lambda v: v.a.sum(), ()),
        Case("of_sum", "tl.sum(a * tl.sum(a, 1, keep_dims=True), 2)", F32,
             lambda v: (v.a * v.a.sum(1, keepdims=True)).sum(2), (8, 4)),
        Case("transposed", "tl.sum(tl.permute(a, (2, 0, 1)), 0)", F32, lambda v: v.a.sum(2), (8, 4)),
        Case("reshaped", "tl.sum(tl.reshape(a, (32, 16)), 0)", F32, lambda v: v.a.reshape(32, 16).sum(0), (16,)),
        Case("sum_f64", "tl.sum(a, 1, dtype=tl.float64)", F64, lambda v: v.a.sum(1), (8, 16)),
        Case("sum_i32", "tl.sum(a.to(tl.int8), 1, dtype=tl.int32)", I32, lambda v: v.a.sum(1), (8, 16)),
        Case("count", "tl.sum(a > 0, 1)", I32, lambda v: (v.a > 0).sum(1), (8, 16)),
        Case("any", "tl.reduce_or(a > 6, 2)", B1, lambda v: (v.a > 6).any(2), (8, 4)),
        Case("xor_bool", "tl.xor_sum(a > 2, 0)", B1, lambda v: (v.a > 2).sum(0) % 2, (4, 16)),
        Case("every", "tl.reduce(a > -8, 1, both)", B1, lambda v: (v.a > -8).all(1), (8, 16)),
    ]  # fmt: skip
    yield Group("kept", shape, {"a": Input(F32, a)}, made, helpers=HELPERS)


def values_and_positions():
    """max and min with return_indices."""
    for kind in (I8, U8, U32, I64, F32, BF16):
        shape = (8, 16)
        a = small(kind, shape, RNG, 3)
        made, head = [], ""
        for axis in range(2):
            for name, function, position in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
                v, i = f"v{axis}{name}", f"i{axis}{name}"
                head += f"{v}, {i} = tl.{name}(a, {axis}, return_indices=True)\n"

                def value(v, function=function, axis=axis, kind=kind):
                    return as_result(kind, function(decode(kind, v.a), axis))

                def place(v, position=position, axis=axis, kind=kind):
                    return position(decode(kind, v.a), axis)

                out = without(shape, axis)
                made.append(Case(f"{name}-{axis}", v, kind, value, out, equal))
                made.append(Case(f"arg{name}-{axis}", i, I32, place, out))
        yield Group(f"indices-{kind}", shape, {"a": Input(kind, a)}, made, head=head)


def nan_rules():
    """What reductions do with NaN."""
    a = random(F32, (16, 16), RNG)
    a[3] = np.nan
    a[5, 7], a[9, 0], a[10, 15], a[0, 2] = np.nan, np.nan, np.nan, -np.inf
    table = {
        "max": ("tl.max(a, {axis})", np.fmax.reduce),
        "min": ("tl.min(a, {axis})", np.fmin.reduce),
        "propagated": ("tl.reduce(a, {axis}, greatest)", np.max),
        "sum": ("tl.sum(a * 0, {axis})", lambda x, axis: (x * 0).sum(axis)),
    }
    made = []
    for name, (code, function) in table.items():
        for axis in range(2):

            def want(v, function=function, axis=axis):
                return function(v.a, axis)

            made.append(Case(f"{name}-{axis}", code.format(axis=axis), F32, want, (16,), equal))
    yield Group("nan", (16, 16), {"a": Input(F32, a)}, made, helpers=HELPERS)


def collatz(a, b):
    """Not associative, but combined in a tree the tests do not look at: see its case."""
    total = a + b
    for _ in range(5):
        total = np.where(total > 1, np.where(total % 2 == 0, total // 2, 3 * total + 1), total)
    return (total,)


def regions():
    """Regions that are not commutative see the elements in order."""
    for shape, axis in (((64,), 0), ((1,), 0), ((2,), 0), ((8, 16), 0), ((8, 16), 1), ((4, 2, 8), 1), ((2, 8, 4), 2)):
        inputs = {n: Input(I32, small(I32, shape, RNG, 3)) for n in "abcd"}
        inputs["x"] = Input(F32, small(F32, shape, RNG))
        head = f"""
            p, q, r, s = tl.reduce((a, b, c, d), {axis}, matrix)
            half, line = tl.reduce((tl.full({shape}, 0.5, tl.float32), x), {axis}, affine)
            one = tl.full({shape}, 1.0, tl.float32)
            mean, m2, count = tl.reduce((x, tl.zeros_like(x), one), {axis}, welford)
            least, where, some = tl.reduce((x, a.to(tl.int64) + 100, b > 1), {axis}, nearest)
        """

        def product(k, axis=axis):
            return lambda v: fold(matrix, [v.a, v.b, v.c, v.d], axis)[0][k]

        def line(v, axis=axis):
            return fold(affine, [np.full(v.x.shape, 0.5), v.x.astype(np.float64)], axis)[0][1]

        def position(v, axis=axis):
            least = v.x.min(axis, keepdims=True)
            return np.where(v.x == least, v.a.astype(np.int64) + 100, 10**9).min(axis)

        def of(function, axis=axis):
            return lambda v: function(v, axis)

        table = {
            "first": (f"tl.reduce(x, {axis}, first)", F32, of(lambda v, d: np.take(v.x, 0, d)), None),
            "last": (f"tl.reduce(x, {axis}, last)", F32, of(lambda v, d: np.take(v.x, -1, d)), None),
            "matrix0": ("p", I32, product(0), None),
            "matrix1": ("q", I32, product(1), None),
            "matrix2": ("r", I32, product(2), None),
            "matrix3": ("s", I32, product(3), None),
            "affine": ("line", F32, line, close(1e-6, 1e-6)),
            "mean": ("mean", F32, of(lambda v, d: v.x.mean(d)), close(1e-5, 1e-5)),
            "variance": ("m2 / count", F32, of(lambda v, d: v.x.var(d)), close(1e-4, 1e-5)),
            "count": ("count", F32, of(lambda v, d: np.full_like(np.take(v.x, 0, d), v.x.shape[d])), None),
            "mixed_value": ("least", F32, of(lambda v, d: v.x.min(d)), None),
            "mixed_index": ("where", I64, position, None),
            "mixed_flag": ("some", B1, of(lambda v, d: (v.b > 1).any(d)), None),
        }
        out = without(shape, axis)
        made = [Case(name, code, kind, want, out, check) for name, (code, kind, want, check) in table.items()]
        name = f"region-{'x'.join(map(str, shape))}-{axis}"
        yield Group(name, shape, inputs, made, head=head, helpers=HELPERS)


def control_in_region():
    """A region with a loop: one step is compared, so that the order of combination cannot matter."""
    a = RNG.integers(1, 100, (32, 2)).astype(np.int32)
    code = "tl.reduce(a, 1, collatz)"
    made = [Case("loop", code, I32, lambda v: collatz(v.a[:, 0], v.a[:, 1])[0], (32,))]
    yield Group("region-loop", (32, 2), {"a": Input(I32, a)}, made, helpers=HELPERS)


@cases([*by_type(), *kept_dimensions(), *values_and_positions(), *nan_rules(), *regions(), *control_in_region()])
def test_reduce(check, arguments):
    check(*arguments)
