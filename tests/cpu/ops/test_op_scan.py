# SPDX-License-Identifier: Apache-2.0
"""Scans, sorting, histograms and gathers."""

from __future__ import annotations

import numpy as np
import triton.language as tl
from engine import Case, Group, Input, cases, close, equal
from kinds import BF16, F16, F32, F64, FLOATS, I8, I16, I32, I64, INTEGERS, U8, U16, U32, U64, decode, random, small
from references import HELPERS, affine, as_result, fold, matrix, without

RNG = np.random.default_rng(14)

SHAPES = {
    1: [(64,), (2,), (1,), (16,)],
    2: [(8, 16), (32, 4), (1, 16), (16, 1), (4, 32)],
    3: [(4, 8, 2), (2, 4, 16), (8, 1, 4)],
}


def title(shape):
    return "x".join(map(str, shape))


def running(function):
    """All prefixes of a function of two numbers, from the left or from the right."""

    def prefixes(x, axis, reverse):
        return fold(lambda a, b: (function(a, b),), [x], axis, reverse)[1][0]

    return prefixes


def scans_by_type():
    """Types times ranks: each axis forwards and backwards, with operations in turn."""
    turn = 0
    for number, kind in enumerate((*INTEGERS, *FLOATS)):
        for rank, shapes in SHAPES.items():
            shape = shapes[(number + rank) % len(shapes)]
            # Sums and products stay small enough to be exact in every type.
            a = small(kind, shape, RNG, 1 if kind in (BF16, F16) else 3)
            wide = "b.to(tl.float32)" if kind is BF16 else "b"  # Triton scans no bf16
            table = {
                "cumsum": ("tl.cumsum(a, {axis}, reverse={reverse})", running(lambda x, y: x + y)),
                "cumprod": ("tl.cumprod(a, {axis}, reverse={reverse})", running(lambda x, y: x * y)),
                "cummax": (
                    f"tl.associative_scan({wide}, {{axis}}, greatest, reverse={{reverse}})",
                    running(np.maximum),
                ),
            }
            if not kind.integer:
                code = "tl.cumprod(tl.where(a > 0, -1.0, 1.0).to(a.dtype), {axis}, reverse={reverse})"
                product = running(lambda x, y: x * y)
                table["cumprod"] = (code, lambda x, d, r, f=product: f(np.where(x > 0, -1.0, 1.0), d, r))
            else:
                table["cumxor"] = (
                    "tl.associative_scan(b, {axis}, differ, reverse={reverse})",
                    running(lambda x, y: x ^ y),
                )
            made = []
            for axis in range(rank):
                for reverse in (False, True):
                    for step in range(2):
                        turn += 1
                        name = list(table)[(turn + step) % len(table)]
                        made.append(scan(kind, axis, reverse, name, *table[name]))
            made = list({c.name: c for c in made}.values())
            inputs = {"a": Input(kind, a), "b": Input(kind, random(kind, shape, RNG))}
            yield Group(f"scan-{kind}-{title(shape)}", shape, inputs, made, helpers=HELPERS)


def scan(kind, axis, reverse, name, code, function):
    """One case; its result has the shape of the group."""
    operand = "a" if "(a," in code or "where(a" in code else "b"

    def want(v):
        numbers = decode(kind, getattr(v, operand))
        return as_result(kind, function(numbers.astype(object) if kind.integer else numbers, axis, reverse))

    text = code.format(axis=axis, reverse=reverse)
    return Case(f"{name}-{axis}-{'down' if reverse else 'up'}", text, kind, want, check=equal)


def scan_regions():
    """Several operands, regions that are not commutative."""
    for shape, axis in (((64,), 0), ((1,), 0), ((8, 16), 0), ((8, 16), 1), ((4, 2, 8), 1)):
        for reverse in (False, True):
            inputs = {n: Input(I32, small(I32, shape, RNG, 2)) for n in "abcd"}
            inputs["x"] = Input(F32, small(F32, shape, RNG))
            head = f"""
                p, q, r, s = tl.associative_scan((a, b, c, d), {axis}, matrix, reverse={reverse})
                pair = (tl.full({shape}, 0.5, tl.float32), x)
                half, line = tl.associative_scan(pair, {axis}, affine, reverse={reverse})
                other, flag = tl.associative_scan((x, a > 0), {axis}, newest, reverse={reverse})
            """

            def product(k, axis=axis, reverse=reverse):
                return lambda v: fold(matrix, [v.a, v.b, v.c, v.d], axis, reverse)[1][k]

            def line(v, axis=axis, reverse=reverse):
                return fold(affine, [np.full(v.x.shape, 0.5), v.x.astype(np.float64)], axis, reverse)[1][1]

            def newest(v, axis=axis, reverse=reverse):
                def combine(x, f, y, g):
                    return np.where(g, y, x), f | g

                return fold(combine, [v.x, v.a > 0], axis, reverse)[1][0]

            made = [Case(f"matrix{k}", "pqrs"[k], I32, product(k)) for k in range(4)]
            made += [
                Case("affine", "line", F32, line, check=close(1e-6, 1e-6)),
                Case("half", "half", F32, lambda v, d=axis, r=reverse: halves(v.x.shape, d, r)),
                Case("segmented", "other", F32, newest),
                Case("sum_of_scan", f"tl.sum(tl.cumsum(x, {axis}), {axis})", F32,
                     lambda v, d=axis: np.cumsum(v.x, d).sum(d), without(shape, axis)),
                Case("scan_of_scan", f"tl.cumsum(tl.cumsum(a, {axis}), {axis})", I32,
                     lambda v, d=axis: np.cumsum(np.cumsum(v.a, d), d)),
            ]  # fmt: skip
            name = f"scan-region-{title(shape)}-{axis}-{'down' if reverse else 'up'}"
            yield Group(name, shape, inputs, made, head=head, helpers=HELPERS)


def halves(shape, axis, reverse):
    """0.5, 0.25, ... along an axis."""
    powers = 0.5 ** np.arange(1, shape[axis] + 1)
    powers = powers[::-1] if reverse else powers
    return np.broadcast_to(powers.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)


def sorts():
    """sort and topk of every type: the last axis, both ways."""
    shapes = [(16,), (4, 8), (2, 2, 4), (1,), (8, 2), (32,)]
    for number, kind in enumerate((*INTEGERS, F16, F32, F64)):
        shape = shapes[number % len(shapes)]
        a = random(kind, shape, RNG)
        made = [
            Case("sort", "tl.sort(a)", kind, lambda v: np.sort(v.a, -1)),
            Case("sort_down", "tl.sort(a, descending=True)", kind, lambda v: np.flip(np.sort(v.a, -1), -1)),
        ]
        if shape[-1] >= 4 and kind not in (I8, I16, U8, U16, U32, U64, F16):
            k = shape[-1] // 2
            made.append(
                Case("topk", f"tl.topk(a, {k})", kind, lambda v, k=k: np.flip(np.sort(v.a, -1), -1)[..., :k],
                     (*shape[:-1], k))
            )  # fmt: skip
        yield Group(f"sort-{kind}-{title(shape)}", shape, {"a": Input(kind, a)}, made)


def flips():
    """flip of every type and axis."""
    shapes = [(16,), (4, 8), (2, 2, 4), (1, 4), (8, 2)]
    for number, kind in enumerate((I8, U16, I32, I64, F16, BF16, F32, F64)):
        shape = shapes[number % len(shapes)]
        made = [
            Case(f"flip-{d}", f"tl.flip(a, {d})", kind, lambda v, d=d: np.flip(v.a, d))
            for d in [*range(len(shape)), -1]
        ]
        yield Group(f"flip-{kind}-{title(shape)}", shape, {"a": Input(kind, random(kind, shape, RNG))}, made)


def histograms():
    """Numbers of each width (since Triton 3.9 of 32 bits); those outside of the bins do not count."""
    for kind in (I32, U32) if hasattr(tl, "atomic_load") else INTEGERS:
        a = RNG.integers(0, 24 if kind.bits > 8 else 100, 256).astype(kind.store)
        wild = random(kind, 256, RNG)
        mask = random(kind, 256, RNG) > (0 if kind.signed else kind.high // 2)

        def count(bins, operand, masked=False):
            def want(v):
                x = [int(i) for i, m in zip(getattr(v, operand), v.m) if m or not masked]
                return np.bincount([i for i in x if 0 <= i < bins], minlength=bins)

            return want

        made = [
            Case("32", "tl.histogram(a, 32)", I32, count(32, "a"), (32,)),
            Case("16", "tl.histogram(a % 16, 16)", I32, lambda v: np.bincount(v.a % 16, minlength=16), (16,)),
            Case("1", "tl.histogram(a, 1)", I32, count(1, "a"), (1,)),
            Case("masked", "tl.histogram(a, 32, mask=m != 0)", I32, count(32, "a", True), (32,)),
            Case("sum", "tl.sum(tl.histogram(a, 128))", I32, lambda v: 256, ()),
        ]
        if not kind.signed:
            made.append(Case("wild", "tl.histogram(w, 256)", I32, count(256, "w"), (256,)))
        inputs = {"a": Input(kind, a), "w": Input(kind, wild), "m": Input(U8, mask.astype(np.uint8))}
        yield Group(f"histogram-{kind}", (256,), inputs, made)


def gathers():
    """tl.gather along each axis, with indices of several types and repeated positions."""
    table = [
        ((16,), (64,), 0, I32), ((64,), (8,), 0, I64), ((1,), (4,), 0, I32), ((8, 16), (8, 4), 1, I32),
        ((8, 16), (32, 16), 0, I32), ((4, 4, 8), (4, 4, 2), 2, I32), ((4, 4, 8), (2, 4, 8), 0, I64),
        ((2, 8, 4), (2, 16, 4), 1, I32),
    ]  # fmt: skip
    kinds = (I8, I32, F32, F64, F16, BF16, U64, I16)
    for number, (shape, out, axis, index) in enumerate(table):
        kind = kinds[number % len(kinds)]
        where = RNG.integers(0, shape[axis], out).astype(index.store)
        inputs = {"a": Input(kind, random(kind, shape, RNG)), "i": Input(index, where)}
        head = f"a = tl.load(p_a + at_{title(shape)})\ni = tl.load(p_i + at_{title(out)})"

        def take(v, axis=axis):
            return np.take_along_axis(v.a, v.i.astype(np.int64), axis)

        made = [
            Case("plain", f"tl.gather(a, i, {axis})", kind, take, out),
            Case("computed", f"tl.gather(a + a, {shape[axis] - 1} - i, {axis})", kind,
                 lambda v, d=axis, n=shape[axis], kind=kind: as_result(
                     kind, 2 * number_of(kind, np.take_along_axis(v.a, (n - 1 - v.i).astype(np.int64), d))), out),
            Case("twice", f"tl.gather(tl.gather(a, i, {axis}), tl.zeros({out}, tl.int32), {axis})", kind,
                 lambda v, d=axis: np.broadcast_to(np.take(np.take_along_axis(v.a, v.i.astype(np.int64), d), [0], d),
                                                   v.i.shape), out),
            Case("reduced", f"tl.max(tl.gather(a, i, {axis}), {axis})", kind,
                 lambda v, d=axis, kind=kind: as_result(
                     kind, number_of(kind, np.take_along_axis(v.a, v.i.astype(np.int64), d)).max(d)),
                 without(out, axis), equal),
        ]  # fmt: skip
        yield Group(f"gather-{kind}-{title(shape)}-{axis}", shape, inputs, made, load="", head=head, also=(out,))


def number_of(kind, array):
    """Numbers on which arithmetic does not wrap."""
    numbers = decode(kind, array)
    return numbers.astype(object) if kind.integer else numbers


@cases([*scans_by_type(), *scan_regions(), *sorts(), *flips(), *histograms(), *gathers()])
def test_scan(check, arguments):
    check(*arguments)
