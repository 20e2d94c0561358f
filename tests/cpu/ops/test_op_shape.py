# SPDX-License-Identifier: Apache-2.0
"""Views: reshape, permute, expand, broadcast, join, split, interleave, cat; constants and ranges."""

from __future__ import annotations

import itertools
import math

import numpy as np
import triton.language as tl
from engine import Case, Group, Input, Variant, bitwise, cases
from kinds import B1, BF16, F16, F32, FLOATS, FP8, I32, I64, INTEGERS, decode, encode, random, wrap

RNG = np.random.default_rng(15)
KINDS = (*INTEGERS, B1, *FLOATS, *FP8)

SHAPES = {
    1: [(16,), (64,), (2,), (1,)],
    2: [(4, 8), (8, 1), (1, 16), (16, 4), (2, 32)],
    3: [(2, 4, 8), (4, 1, 8), (8, 2, 2), (1, 2, 16)],
}


def title(shape):
    return "x".join(map(str, shape))


def views():
    """Every kind of element in tiles of one to three dimensions: bits only move."""
    for number, kind in enumerate(KINDS):
        for rank, shapes in SHAPES.items():
            shape = shapes[(number + rank) % len(shapes)]
            inputs = {"a": Input(kind, random(kind, shape, RNG)), "b": Input(kind, random(kind, shape, RNG))}
            made = [*permutations(kind, shape), *reshapes(kind, shape), *expansions(kind, shape), *pairs(kind, shape)]
            yield Group(f"{kind}-{title(shape)}", shape, inputs, made)


def permutations(kind, shape):
    """All orders of the dimensions."""
    made = []
    for order in itertools.permutations(range(len(shape))):
        if order == tuple(range(len(shape))):
            continue
        out = tuple(shape[d] for d in order)
        made.append(Case(f"permute{title(order)}", f"tl.permute(a, {order})", kind, transposed(order), out, bitwise))
    if len(shape) == 2:
        made.append(Case("trans", "tl.trans(a)", kind, transposed((1, 0)), shape[::-1], bitwise))
        made.append(Case("trans_twice", "tl.trans(tl.trans(a))", kind, lambda v: v.a, shape, bitwise))
    if len(shape) == 3:
        out = (shape[1], shape[2], shape[0])
        code = "tl.trans(tl.permute(a, 2, 1, 0), 1, 0, 2)"
        made.append(Case("permute_trans", code, kind, transposed((1, 2, 0)), out, bitwise))
    return made


def transposed(order):
    return lambda v: v.a.transpose(order)


def reshapes(kind, shape):
    """The same elements in another shape."""
    size = math.prod(shape)
    made = []
    targets = [(size,), (1, size), (size, 1), (size // 2, 2), (2, size // 2), (2, size // 4, 2), (1, size, 1)]
    for out in dict.fromkeys(targets):
        if math.prod(out) == size and out != shape:

            def want(v, out=out):
                return v.a.reshape(out)

            made.append(Case(f"reshape{title(out)}", f"tl.reshape(a, {out})", kind, want, out, bitwise))
    made.append(Case("ravel", "tl.ravel(a)", kind, lambda v: v.a.ravel(), (size,), bitwise))
    if len(shape) > 1:
        out = (size // shape[0], shape[0])
        code = f"tl.reshape(tl.permute(a, {tuple(reversed(range(len(shape))))}), {out})"
        made.append(Case("reshape_of_permute", code, kind, lambda v: v.a.T.reshape(out), out, bitwise))
        last = (shape[-1], size // shape[-1])
        code = f"tl.trans(tl.reshape(a, {last[::-1]}))"
        made.append(Case("permute_of_reshape", code, kind, lambda v: v.a.reshape(last[::-1]).T, last, bitwise))
    return made


def expansions(kind, shape):
    """New dimensions, and dimensions of one that become wider."""
    made = []
    if len(shape) < 3:
        for axis in range(len(shape) + 1):
            out = (*shape[:axis], 1, *shape[axis:])
            wide = (*shape[:axis], 4, *shape[axis:])

            def want(v, axis=axis):
                return np.expand_dims(v.a, axis)

            def want_wide(v, axis=axis):
                return np.repeat(np.expand_dims(v.a, axis), 4, axis)

            code = f"tl.expand_dims(a, {axis})"
            made.append(Case(f"expand{axis}", code, kind, want, out, bitwise))
            made.append(Case(f"widen{axis}", f"tl.broadcast_to({code}, {wide})", kind, want_wide, wide, bitwise))
    return made


def pairs(kind, shape):
    """join, split, interleave, cat: two tiles and one."""
    out = (*shape, 2)
    longer = (*shape[:-1], 2 * shape[-1])
    made = [
        Case("join", "tl.join(a, b)", kind, lambda v: np.stack([v.a, v.b], -1), out, bitwise),
        Case("interleave", "tl.interleave(a, b)", kind, lambda v: np.stack([v.a, v.b], -1).reshape(longer), longer,
             bitwise),
        Case("join_split", "lo, hi = tl.split(tl.join(a, b))\nhi", kind, lambda v: v.b, shape, bitwise),
    ]  # fmt: skip
    if len(shape) == 1:
        made.append(Case("cat", "tl.cat(a, b, can_reorder=True)", kind, lambda v: np.concatenate([v.a, v.b]), longer,
                         bitwise))  # fmt: skip
    if shape[-1] >= 2:
        half = (*shape[:-1], shape[-1] // 2)
        for name, part in (("even", 0), ("odd", 1)):
            code = f"first, second = tl.split(tl.reshape(a, {(*half, 2)}))\n{('first', 'second')[part]}"
            made.append(Case(name, code, kind, lambda v, p=part: v.a[..., p::2], half, bitwise))
    return made


def broadcasts():
    """Operands of different shapes: every pattern of ones in three dimensions."""
    full = (4, 2, 8)
    for kind in (I32, F32, F16):
        made, inputs = [], {}
        for number, ones in enumerate(itertools.product((0, 1), repeat=3)):
            shape = tuple(1 if one else n for one, n in zip(ones, full))
            name = f"x{number}"
            inputs[name] = Input(
                kind, random(kind, shape, RNG, 1) if kind is not I32 else random(kind, shape, RNG) >> 4
            )
        head, also = "", []
        for name, given in inputs.items():
            head += f"{name} = tl.load(p_{name} + at_{title(given.array.shape)})\n"
            also.append(given.array.shape)
        for one, two in itertools.combinations(range(8), 2):
            out = tuple(np.broadcast_shapes(inputs[f"x{one}"].array.shape, inputs[f"x{two}"].array.shape))

            def want(v, one=one, two=two, kind=kind):
                x, y = (decode(kind, getattr(v, f"x{i}")) for i in (one, two))
                return x - y if kind.integer else encode(kind, x - y)

            made.append(Case(f"{one}-{two}", f"x{one} - x{two}", kind, want, out))
        made.append(
            Case("where", "tl.where(x3 > x5, x6, x0)", kind,
                 lambda v, k=kind: np.where(decode(k, v.x3) > decode(k, v.x5), v.x6, v.x0), full)
        )  # fmt: skip
        made.append(Case("scalar", "x0 * 2", kind, lambda v, k=kind: double(k, v.x0), full))
        yield Group(f"broadcast-{kind}", full, inputs, made, load="", head=head, also=tuple(also))


def double(kind, array):
    return array * 2 if kind.integer else encode(kind, decode(kind, array) * 2)


def ranks():
    """Operands of different ranks; a scalar that becomes a tile."""
    inputs = {"a": Input(F32, random(F32, (4, 8), RNG))}
    row, column = "tl.load(p_a + tl.arange(0, 8))", "tl.load(p_a + tl.arange(0, 4) * 8)"
    made = [
        Case("row", f"a - {row}[None, :]", F32, lambda v: v.a - v.a[0]),
        Case("row_lower", f"a - {row}", F32, lambda v: v.a - v.a[0]),
        Case("column", f"a - {column}[:, None]", F32, lambda v: v.a - v.a[:, :1]),
        Case("outer", f"{column}[:, None] * {row}[None, :]", F32, lambda v: v.a[:, :1] * v.a[0]),
        Case("outer_3d", f"{column}[:, None, None] * {row}[None, :, None] + tl.full((4, 8, 2), 1.0, tl.float32)", F32,
             lambda v: np.broadcast_to((v.a[:, :1] * v.a[0])[:, :, None] + np.float32(1), (4, 8, 2)), (4, 8, 2)),
        Case("scalar", "tl.load(p_a + 3) * a", F32, lambda v: v.a[0, 3] * v.a),
        Case("scalar_tile", "tl.broadcast_to(tl.load(p_a + 3), (4, 8))", F32, lambda v: np.full((4, 8), v.a[0, 3])),
        Case("broadcast", f"p, q = tl.broadcast({row}[None, :], {column}[:, None])\np + q", F32,
             lambda v: v.a[0] + v.a[:, :1]),
        Case("new_axes", f"{row}[None, :, None]", F32, lambda v: v.a[0][None, :, None], (1, 8, 1)),
        Case("of_one", "tl.reshape(tl.load(p_a + 5 + tl.arange(0, 1)), (1, 1)) + a", F32, lambda v: v.a[0, 5] + v.a),
    ]  # fmt: skip
    yield Group("ranks", (4, 8), inputs, made)


# Triton before 3.9 makes one zero of both.
ZERO = -0.0 if hasattr(tl, "atomic_load") else 0.0


def constants():
    """full, zeros, arange and tiles that the compiler knows."""
    made = []
    for kind in (*INTEGERS, *FLOATS):
        value = -3 if kind.signed or not kind.integer else 200
        bits = wrap(kind, [value]) if kind.integer else encode(kind, [value])

        def full(v, bits=bits):
            return np.full((8, 4), bits[0])

        def zeros(v, kind=kind):
            return np.zeros(16, kind.store)

        def counted(v, kind=kind, start=value):
            return wrap(kind, range(start, start + 16)) if kind.integer else encode(kind, np.arange(16.0) + start)

        added = f"tl.full((16,), {value}, {kind.tl}) + tl.arange(0, 16).to({kind.tl})"
        made += [
            Case(f"full-{kind}", f"tl.full((8, 4), {value}, {kind.tl})", kind, full, (8, 4)),
            Case(f"zeros-{kind}", f"tl.zeros((16,), {kind.tl})", kind, zeros, (16,)),
            Case(f"full_add-{kind}", added, kind, counted, (16,)),
        ]
    for low, high in ((0, 1), (0, 2), (0, 128), (5, 21), (128, 256), (1, 65)):

        def numbers(v, low=low, high=high):
            return np.arange(low, high)

        made.append(Case(f"arange-{low}-{high}", f"tl.arange({low}, {high})", I32, numbers, (high - low,)))
    for name, text, value in (
        ("inf", "float('inf')", np.inf), ("minus_inf", "float('-inf')", -np.inf), ("tenth", "0.1", 0.1),
        ("small", "1e-40", 1e-40), ("minus_zero", "-0.0", ZERO), ("big", "3.4e38", 3.4e38),
    ):  # fmt: skip
        # The front end flushes subnormal bf16.
        for kind in (F32, F16) if name == "small" else (F32, BF16, F16):
            made.append(Case(f"{name}-{kind}", f"tl.full((4,), {text}, {kind.tl})", kind,
                             lambda v, k=kind, x=value: np.full(4, encode(k, [x])[0]), (4,)))  # fmt: skip
    made += [
        Case("zeros_like", "tl.zeros_like(a)", I64, lambda v: np.zeros(8)),
        Case("minimum_i64", "tl.full((8,), -9223372036854775808, tl.int64)", I64, lambda v: np.full(8, -(2**63))),
        Case("sum_of_constants", "tl.sum(tl.full((8, 8), 3, tl.int32))", I32, lambda v: 192, ()),
        Case("swizzle", "i, j = tl.swizzle2d(tl.arange(0, 8), 1, 4, 8, 2)\ni * 100 + j", I32, swizzled, (8,)),
    ]
    yield Group("constants", (8,), {"a": Input(I64, random(I64, 8, RNG))}, made)


def swizzled(v):
    """tl.swizzle2d for rows 0 to 7, column 1 of 4 by 8 in groups of 2 rows, by its description."""
    out = []
    for i in range(8):
        flat = i * 8 + 1
        group = flat // 16
        start, size = group * 2, min(4 - group * 2, 2)
        within = flat % 16
        size = size if size > 0 else size
        row = start + (math.fmod(within, size) if size else 0)
        column = int(within / size) if size else 0
        out.append(int(row) * 100 + column)
    return np.array(out)


def newer():
    """squeeze and unsqueeze, of Triton 3.9."""
    if not hasattr(tl, "squeeze"):
        return
    made = [
        Case("squeeze", "tl.squeeze(tl.reshape(a, (4, 1, 8)), 1)", F32, lambda v: v.a),
        Case("unsqueeze", "tl.unsqueeze(a, 1)", F32, lambda v: v.a[:, None], (4, 1, 8)),
    ]
    yield Group("squeeze", (4, 8), {"a": Input(F32, random(F32, (4, 8), RNG))}, made)


def masked():
    """Views of what a mask let through, under other masks."""
    variants = (Variant("full", (8, 16)), Variant("part", (5, 11)), Variant("row", (1, 16)), Variant("none", (0, 0)))
    for kind in (F32, I64, F16):
        inputs = {"a": Input(kind, random(kind, (8, 16), RNG))}
        head = "a = tl.load(p_a + at_8x16, mask=mask, other=1)"

        def seen(v, kind=kind):
            one = encode(kind, [1.0])[0] if not kind.integer else 1
            full = np.full((8, 16), one)
            window = tuple(slice(0, n) for n in v.limits)
            full[window] = v.a[window]
            return full

        halves = "p, q = tl.split(tl.reshape(a, (8, 8, 2)))"
        made = [
            Case("as_is", "a", kind, lambda v: v.a),
            Case("trans", "tl.trans(a)", kind, lambda v, s=seen: s(v).T, (16, 8)),
            Case("reshape", "tl.reshape(a, (4, 32))", kind, lambda v, s=seen: s(v).reshape(4, 32), (4, 32)),
            Case("back", "tl.trans(tl.reshape(tl.trans(a), (16, 8)))", kind, lambda v: v.a),
            Case("split", f"{halves}\nq", kind, lambda v, s=seen: s(v)[:, 1::2], (8, 8)),
            Case("join", "tl.join(a, a)", kind, lambda v, s=seen: np.stack([s(v)] * 2, -1), (8, 16, 2)),
        ]
        yield Group(f"masked-{kind}", (8, 16), inputs, made, variants, load="", head=head)


@cases([*views(), *broadcasts(), *ranks(), *constants(), *newer(), *masked()])
def test_shape(check, arguments):
    check(*arguments)
