# SPDX-License-Identifier: Apache-2.0
"""Loads and stores: masks, other, strides, indices, modifiers, block pointers, descriptors."""

from __future__ import annotations

import itertools

import numpy as np
import triton.language as tl
from engine import GUARD, Case, Group, Input, Variant, bitwise, cases, equal
from kinds import B1, BF16, F16, F32, F64, FLOATS, FP8, I8, I32, I64, INTEGERS, U8, encode, random, small

RNG = np.random.default_rng(16)
KINDS = (*INTEGERS, B1, *FLOATS, *FP8)


def untouched(kind, shape):
    """What a result holds where nothing was stored."""
    size = int(np.prod(shape))
    return np.full(size * np.dtype(kind.store).itemsize, GUARD, np.uint8).view(kind.store).reshape(shape).copy()


def numbered(kind, value):
    """A number in memory form."""
    return np.array([value], kind.store)[0] if kind.integer else encode(kind, [float(value)])[0]


def ways_to_load(kind):
    """Name to expression and reference."""
    n = 64
    k = np.arange(n)
    one = numbered(kind, 1)
    return {
        "plain": ("tl.load(p_a + k)", lambda v: v.a[:n]),
        "strided": ("tl.load(p_a + 2 * k)", lambda v: v.a[::2]),
        "backwards": ("tl.load(p_a + 63 - k)", lambda v: v.a[n - 1 :: -1]),
        "indexed": ("tl.load(p_a + i)", lambda v: v.a[v.i]),
        "repeated": ("tl.load(p_a + k // 4)", lambda v: v.a[k // 4]),
        "constant": ("tl.load(p_a + k * 0 + 5)", lambda v: v.a[k * 0 + 5]),
        "other": ("tl.load(p_a + k, mask=m, other=1)", lambda v: np.where(v.m, v.a[:n], one)),
        "other_tile": ("tl.load(p_a + k, mask=m, other=d)", lambda v: np.where(v.m, v.a[:n], v.d)),
        "prefix": ("tl.load(p_a + k, mask=k < 13, other=1)", lambda v: np.where(k < 13, v.a[:n], one)),
        "suffix": ("tl.load(p_a + k, mask=k >= 13, other=1)", lambda v: np.where(k >= 13, v.a[:n], one)),
        "window": ("tl.load(p_a + k, mask=(k > 7) & (k <= 40), other=1)",
                   lambda v: np.where((k > 7) & (k <= 40), v.a[:n], one)),
        "either": ("tl.load(p_a + k, mask=(k < 7) | m, other=1)", lambda v: np.where((k < 7) | v.m, v.a[:n], one)),
        "alternate": ("tl.load(p_a + 2 * k, mask=k % 2 == 0, other=1)",
                      lambda v: np.where(k % 2 == 0, v.a[::2], one)),
        "never": ("tl.load(p_a + k, mask=k < 0, other=d)", lambda v: v.d),
        "indexed_masked": ("tl.load(p_a + i, mask=i < 64, other=1)", lambda v: np.where(v.i < n, v.a[v.i], one)),
        "scalar": ("tl.load(p_a + 7) + tl.zeros((64,), p_a.dtype.element_ty)" if kind not in (B1, *FP8)
                   else "tl.broadcast_to(tl.load(p_a + 7), (64,))", lambda v: np.full(n, v.a[7])),
        "ca": ("tl.load(p_a + k, cache_modifier='.ca')", lambda v: v.a[:n]),
        "cg": ("tl.load(p_a + k, mask=m, other=1, cache_modifier='.cg')", lambda v: np.where(v.m, v.a[:n], one)),
        "cv": ("tl.load(p_a + k, cache_modifier='.cv')", lambda v: v.a[:n]),
        "evict_first": ("tl.load(p_a + k, eviction_policy='evict_first')", lambda v: v.a[:n]),
        "evict_last": ("tl.load(p_a + k, eviction_policy='evict_last')", lambda v: v.a[:n]),
        "volatile": ("tl.load(p_a + k, mask=m, other=d, volatile=True)", lambda v: np.where(v.m, v.a[:n], v.d)),
    }  # fmt: skip


def loads():
    """Every type: masks of many forms, with and without a value for what they keep out."""
    n = 64
    for kind in KINDS:
        inputs = {
            "a": Input(kind, random(kind, 2 * n, RNG)),
            "d": Input(kind, random(kind, n, RNG)),
            "m": Input(B1, random(B1, n, RNG)),
            "i": Input(I32, RNG.integers(0, 2 * n, n).astype(np.int32)),
        }
        head = """
            k = tl.arange(0, 64)
            m = tl.load(p_m + k)
            i = tl.load(p_i + k)
            d = tl.load(p_d + k)
        """
        table = ways_to_load(kind)
        if kind is B1:  # one is not a truth value to Triton
            table = {name: entry for name, entry in table.items() if "other=1" not in entry[0]}
        if not kind.integer:
            table = {name: (code.replace("other=1", "other=1.0"), want) for name, (code, want) in table.items()}
        made = [Case(name, code, kind, want, (n,), bitwise) for name, (code, want) in table.items()]
        yield Group(f"load-{kind}", (n,), inputs, made, load="", head=head)


def stores():
    """Every type: where a store goes, and what it leaves alone."""
    n = 64
    k = np.arange(n)
    for kind in KINDS:
        permutation = RNG.permutation(2 * n)[:n].astype(np.int32)
        inputs = {
            "a": Input(kind, random(kind, n, RNG)),
            "m": Input(B1, random(B1, n, RNG)),
            "i": Input(I32, permutation),
        }

        def put(size, where, mask=None, kind=kind, value=None):
            def want(v, kind=kind):
                out = untouched(kind, size)
                at = where(v) if callable(where) else where
                keep = np.ones(n, bool) if mask is None else mask(v)
                out[at[keep]] = (v.a if value is None else np.full(n, value(v)))[keep]
                return out

            return want  # noqa: B023

        table = {
            "plain": ("k, a", n, put(n, k)),
            "masked": ("k, a, mask=m", n, put(n, k, lambda v: v.m)),
            "prefix": ("k, a, mask=k < 13", n, put(n, k, lambda v: k < 13)),
            "window": ("k, a, mask=(k >= 5) & (k < 59)", n, put(n, k, lambda v: (k >= 5) & (k < 59))),
            "never": ("k, a, mask=k < 0", n, put(n, k, lambda v: k < 0)),
            "strided": ("2 * k, a", 2 * n, put(2 * n, 2 * k)),
            "strided_masked": ("2 * k + 1, a, mask=m", 2 * n, put(2 * n, 2 * k + 1, lambda v: v.m)),
            "backwards": ("63 - k, a", n, put(n, n - 1 - k)),
            "indexed": ("i, a", 2 * n, put(2 * n, lambda v: v.i)),
            "indexed_masked": ("i, a, mask=m & (i > 20)", 2 * n, put(2 * n, lambda v: v.i, lambda v: v.m & (v.i > 20))),
            "one_value": ("k, tl.load(p_a + 3), mask=m", n, put(n, k, lambda v: v.m, value=lambda v: v.a[3])),
            "wb": ("k, a, cache_modifier='.wb'", n, put(n, k)),
            "cg": ("k, a, mask=m, cache_modifier='.cg'", n, put(n, k, lambda v: v.m)),
            "cs": ("k, a, cache_modifier='.cs'", n, put(n, k)),
            "wt": ("k, a, cache_modifier='.wt'", n, put(n, k)),
            "evict_first": ("k, a, eviction_policy='evict_first'", n, put(n, k)),
            "evict_last": ("k, a, mask=m, eviction_policy='evict_last'", n, put(n, k, lambda v: v.m)),
        }
        made = [
            Case(name, f"tl.store({{o}} + {code})", kind, want, (size,), bitwise)
            for name, (code, size, want) in table.items()
        ]
        scalar = put(n, np.full(n, 9), lambda v: k == 3)
        made.append(Case("scalar", "tl.store({o} + 9, tl.load(p_a + 3))", kind, scalar, (n,), bitwise))
        made.append(
            Case("scalar_masked", "tl.store({o} + 9, tl.load(p_a + 3), mask=tl.load(p_m))", kind,
                 put(n, np.full(n, 9), lambda v: (k == 3) & v.m[0]), (n,), bitwise)
        )  # fmt: skip
        head = "k = tl.arange(0, 64)\na = tl.load(p_a + k)\nm = tl.load(p_m + k)\ni = tl.load(p_i + k)"
        yield Group(f"store-{kind}", (n,), inputs, made, load="", head=head)


def conversions():
    """A store converts to the type of the pointer."""
    table = [(F32, F16), (F32, BF16), (F64, F32), (I32, I8), (I32, F32), (F32, I32), (I64, U8), (F16, F64), (I8, I64)]
    for source, target in table:
        a = small(source, 64, RNG, 100)

        def want(v, source=source, target=target):
            numbers = v.a.astype(np.float64)
            return encode(target, numbers) if not target.integer else v.a.astype(np.int64).astype(target.store)

        made = [Case("store", "a", target, want), Case("atomic_like", "a + a - a", target, want)]
        yield Group(f"convert-{source}-{target}", (64,), {"a": Input(source, a)}, made)


def matrices():
    """Tiles of two and three dimensions: strides, masks on each axis, broadcast pointers."""
    variants = (Variant("full", (8, 16)), Variant("part", (5, 11)), Variant("row", (1, 16)), Variant("none", (0, 3)))
    i, j = np.arange(8)[:, None], np.arange(16)[None, :]
    for kind in (I8, F16, I32, F32, F64):
        a = random(kind, (16, 32), RNG)
        head = """
            i = tl.arange(0, 8)[:, None]
            j = tl.arange(0, 16)[None, :]
        """
        one = numbered(kind, 1)

        def seen(index, kind=kind, one=one):
            def want(v):
                inside = (i < v.limits[0]) & (j < v.limits[1])
                return np.where(inside, v.a.ravel()[index], one)

            return want

        table = {
            "rows": ("i * 32 + j", i * 32 + j),
            "columns": ("i + j * 32", i + j * 32),
            "strided": ("i * 64 + j * 2", i * 64 + j * 2),
            "upside_down": ("(7 - i) * 32 + j", (7 - i) * 32 + j),
            "mirrored": ("i * 32 + (15 - j)", i * 32 + 15 - j),
            "one_row": ("j + i * 0", j + i * 0),
            "one_column": ("i * 32 + j * 0", i * 32 + j * 0),
            "diagonal": ("i + j", i + j),
            "blocked": ("(i // 2) * 32 + (i % 2) * 16 + j", (i // 2) * 32 + (i % 2) * 16 + j),
        }
        made = [
            Case(f"load_{name}", f"tl.load(p_a + ({code}), mask=mask, other=1)", kind, seen(index), (8, 16), bitwise)
            for name, (code, index) in table.items()
        ]

        def put(index, size, kind=kind):
            def want(v):
                inside = np.broadcast_to((i < v.limits[0]) & (j < v.limits[1]), (8, 16))
                out = untouched(kind, (size,))
                out[np.broadcast_to(index, (8, 16))[inside]] = v.a[:8, :16][inside]
                return out

            return want

        for name, code, index, size in (
            ("rows", "i * 16 + j", i * 16 + j, 128),
            ("columns", "i + j * 8", i + j * 8, 128),
            ("strided", "i * 64 + j * 3", i * 64 + j * 3, 512),
        ):
            text = f"tl.store({{o}} + ({code}), tl.load(p_a + i * 32 + j, mask=mask), mask=mask)"
            made.append(Case(f"store_{name}", text, kind, put(index, size), (size,), bitwise))
        yield Group(f"matrix-{kind}", (8, 16), {"a": Input(kind, a)}, made, variants, load="", head=head)


def cubes():
    """Three dimensions, each with a mask."""
    shape = (4, 4, 8)
    variants = (
        Variant("full", shape), Variant("part", (3, 2, 5)), Variant("thin", (4, 1, 8)), Variant("none", (4, 4, 0)),
    )  # fmt: skip
    for kind in (F32, I64, BF16):
        a, b = random(kind, shape, RNG), random(kind, shape, RNG)
        made = [
            Case("copy", "a", kind, lambda v: v.a, check=bitwise),
            Case("where", "tl.where(tl.arange(0, 8)[None, None, :] < 3, a, b)", kind,
                 lambda v: np.where(np.arange(8) < 3, v.a, v.b), check=bitwise),
        ]  # fmt: skip
        yield Group(f"cube-{kind}", shape, {"a": Input(kind, a), "b": Input(kind, b)}, made, variants)


def loaded_masks():
    """Masks that come from memory, on tiles with short rows (gcc 12 loses them in loops that it unrolls)."""
    for shape in ((8, 8), (2, 4, 8), (4, 16), (16, 4), (2, 2, 32)):
        title = "x".join(map(str, shape))
        made, inputs = [], {"m": Input(B1, random(B1, shape, RNG))}
        for kind in (I8, I32, I64, F16, F32, F64):
            inputs[kind.name] = Input(kind, random(kind, shape, RNG))
            other = 1 if kind.integer else 1.0
            code = f"tl.load(p_{kind} + at_{title}, mask=m, other={other})"

            def want(v, kind=kind):
                return np.where(v.m, getattr(v, kind.name), numbered(kind, 1))

            made.append(Case(f"{kind}", code, kind, want, shape, bitwise))
        yield Group(f"loaded-{title}", shape, inputs, made, load="", head=f"m = tl.load(p_m + at_{title})")
        few = [Case(c.name, c.code, c.kind, c.want, c.shape, c.check) for c in made[-1:]]
        yield Group(f"loaded-one-{title}", shape, inputs, few, load="", head=f"m = tl.load(p_m + at_{title})")


def block_pointers():
    """tl.make_block_ptr, of Triton 3.6: boundary checks, padding, advance, orders."""
    if not hasattr(tl, "advance"):
        return
    rows, columns = 20, 40
    for kind in (F32, F16, I32, I8):
        a = random(kind, (rows, columns), RNG)
        inputs = {"a": Input(kind, a)}
        made = []
        for (y, x), check in itertools.product(
            ((0, 0), (8, 16), (16, 32), (-3, -5), (19, 39)), ((), (0,), (1,), (0, 1))
        ):
            inside = y >= 0 and x >= 0 and y + 8 <= rows and x + 16 <= columns
            unchecked_bad = (0 not in check and not 0 <= y <= rows - 8) or (
                1 not in check and not 0 <= x <= columns - 16
            )
            if unchecked_bad:
                continue
            pads = ("zero",) if inside or kind.integer else ("zero", "nan")
            for padding in pads:
                options = f", boundary_check={check}, padding_option='{padding}'" if check else ""

                def want(v, y=y, x=x, padding=padding, kind=kind):
                    fill = numbered(kind, np.nan) if padding == "nan" else kind.store(0)
                    big = np.full((rows + 64, columns + 64), fill)
                    big[32 : 32 + rows, 32 : 32 + columns] = v.a
                    return big[32 + y : 40 + y, 32 + x : 48 + x]

                code = f"tl.load({pointer(y, x)}{options})"
                name = f"load_{y}_{x}_{''.join(map(str, check))}_{padding}"
                made.append(Case(name, code, kind, want, (8, 16)))
        code = f"b = tl.advance({pointer(4, 8)}, (3, -5))\ntl.load(tl.advance(b, (1, 1)))"
        made.append(Case("advance", code, kind, lambda v: v.a[8:16, 4:20], (8, 16)))
        turned = f"tl.make_block_ptr(p_a, ({columns}, {rows}), (1, {columns}), (4, 2), (16, 8), (0, 1))"
        made.append(Case("turned", f"tl.load({turned})", kind, lambda v: v.a.T[4:20, 2:10], (16, 8)))
        line = f"tl.make_block_ptr(p_a, ({rows * columns},), (1,), (790,), (32,), (0,))"
        made.append(
            Case("line", f"tl.load({line}, boundary_check=(0,), padding_option='zero')", kind,
                 lambda v: np.concatenate([v.a.ravel()[790:], np.zeros(22, v.a.dtype)]), (32,))
        )  # fmt: skip

        def stored(v, kind=kind):
            out = untouched(kind, (12, 20))
            out[6:, 10:] = v.a[:6, :10]
            return out

        target = "tl.make_block_ptr({o}, (12, 20), (20, 1), (6, 10), (8, 16), (1, 0))"
        code = f"tl.store({target}, tl.load({pointer(0, 0)}), boundary_check=(0, 1))"
        made.append(Case("store", code, kind, stored, (12, 20)))
        yield Group(f"block-{kind}", (8, 16), inputs, made, load="")


def pointer(y, x):
    """A block pointer of 8 by 16 into p_a of 20 by 40."""
    return f"tl.make_block_ptr(p_a, (20, 40), (40, 1), ({y}, {x}), (8, 16), (1, 0))"


def descriptors():
    """Descriptors made in the kernel: loads and stores at every border, gather, scatter, reductions."""
    rows, columns = 20, 48
    for kind in (F32, F16, BF16, I32, I8, U8, I64):
        a = random(kind, (rows, columns), RNG)
        head = f"""
            d = tl.make_tensor_descriptor(p_a, [{rows}, {columns}], [{columns}, 1], [8, 16])
            line = tl.make_tensor_descriptor(p_a, [{rows * columns}], [1], [64])
            cube = tl.make_tensor_descriptor(p_a, [5, 4, {columns}], [{4 * columns}, {columns}, 1], [2, 4, 16])
        """

        def padded(array):
            big = np.zeros([n + 128 for n in array.shape], array.dtype)
            big[tuple(slice(64, 64 + n) for n in array.shape)] = array
            return big

        made = []
        for y, x in ((0, 0), (8, 16), (16, 40), (-3, -5), (19, 47), (20, 0), (0, 48)):

            def want(v, y=y, x=x, padded=padded):
                return padded(v.a)[64 + y : 72 + y, 64 + x : 80 + x]

            made.append(Case(f"load_{y}_{x}", f"d.load([{y}, {x}])", kind, want, (8, 16)))
        for start in (0, 100, 930, -10):

            def want_line(v, start=start, padded=padded):
                return padded(v.a.ravel())[64 + start : 128 + start]

            made.append(Case(f"line_{start}", f"line.load([{start}])", kind, want_line, (64,)))
        for z, y, x in ((0, 0, 0), (4, 0, 38), (-1, 1, -4)):

            def want_cube(v, z=z, y=y, x=x, padded=padded):
                return padded(v.a.reshape(5, 4, columns))[64 + z : 66 + z, 64 + y : 68 + y, 64 + x : 80 + x]

            made.append(Case(f"cube_{z}_{y}_{x}", f"cube.load([{z}, {y}, {x}])", kind, want_cube, (2, 4, 16)))
        target = "t = tl.make_tensor_descriptor({o}, [12, 32], [32, 1], [8, 16])"
        for y, x in ((0, 0), (6, 20), (-2, -8), (12, 0)):

            def stored(v, y=y, x=x, kind=kind):
                out = untouched(kind, (12, 32))
                for i, j in itertools.product(range(8), range(16)):
                    if 0 <= y + i < 12 and 0 <= x + j < 32:
                        out[y + i, x + j] = v.a[i, j]
                return out

            code = f"{target}\nt.store([{y}, {x}], d.load([0, 0]))"
            made.append(Case(f"store_{y}_{x}", code, kind, stored, (12, 32)))
        made.append(
            Case("nan_padding" if not kind.integer else "int_padding",
                 f"tl.make_tensor_descriptor(p_a, [{rows}, {columns}], [{columns}, 1], [8, 16]"
                 + (", padding_option='nan'" if not kind.integer else "") + ").load([16, 40])",
                 kind, lambda v, k=kind: bordered(k, v.a), (8, 16))
        )  # fmt: skip
        yield Group(f"descriptor-{kind}", (8, 16), {"a": Input(kind, a)}, made, load="", head=head)


def bordered(kind, array):
    """The last 4 by 8 elements, NaN around them; zero for integers."""
    out = np.full((8, 16), kind.store(0) if kind.integer else numbered(kind, np.nan))
    out[:4, :8] = array[16:, 40:]
    return out


def rows_by_index():
    """Descriptor gather and scatter, and the atomic stores of descriptors."""
    for kind in (F32, F16, I32):
        a = small(kind, (16, 32), RNG)
        inputs = {"a": Input(kind, a), "i": Input(I32, np.array([3, 0, 15, 7, 7, 2, 11, 9], np.int32))}
        head = """
            row = tl.make_tensor_descriptor(p_a, [16, 32], [32, 1], [1, 16])
            i = tl.load(p_i + tl.arange(0, 8))
        """
        made = [
            Case("gather", "row.gather(i, 0)", kind, lambda v: v.a[v.i, :16], (8, 16)),
            Case("gather_shifted", "row.gather(i, 8)", kind, lambda v: v.a[v.i, 8:24], (8, 16)),
            Case("gather_border", "row.gather(i + 10, 24)", kind, edge, (8, 16)),
        ]

        def scattered(v, kind=kind):
            out = untouched(kind, (16, 32))
            for k, row in enumerate(v.i):
                if k != 3:  # row 7 comes twice; the last one stays
                    out[row, 4:20] = v.a[k, :16]
            return out

        code = """
            t = tl.make_tensor_descriptor({o}, [16, 32], [32, 1], [1, 16])
            t.scatter(row.gather(tl.arange(0, 8), 0), i, 4)
        """
        made.append(Case("scatter", code, kind, scattered, (16, 32)))
        yield Group(f"rows-{kind}", (8, 16), inputs, made, load="", head=head)
    for kind, names in ((I32, ("add", "min", "max", "and", "or", "xor")), (F32, ("add",))):
        a = small(kind, (8, 16), RNG)
        made = []
        for name in names:

            def want(v, name=name):
                functions = {
                    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                    "xor": np.bitwise_xor,
                }  # fmt: skip
                return functions[name](np.full((8, 16), 3, v.a.dtype), v.a)

            code = f"""
                t = tl.make_tensor_descriptor({{o}}, [8, 16], [16, 1], [8, 16])
                t.store([0, 0], tl.full((8, 16), 3, {kind.tl}))
                t.atomic_{name}([0, 0], a)
            """
            made.append(Case(name, code, kind, want, (8, 16), equal))
        yield Group(f"descriptor-atomic-{kind}", (8, 16), {"a": Input(kind, a)}, made)


def edge(v):
    """Rows i + 10 from column 24 on; outside it is zero."""
    out = np.zeros((8, 16), v.a.dtype)
    for k, row in enumerate(v.i + 10):
        if row < 16:
            out[k, :8] = v.a[row, 24:]
    return out


@cases(
    [
        *loads(), *stores(), *conversions(), *matrices(), *cubes(), *loaded_masks(), *block_pointers(),
        *descriptors(), *rows_by_index(),
    ]
)  # fmt: skip
def test_memory(check, arguments):
    check(*arguments)
