# SPDX-License-Identifier: Apache-2.0
"""Products of small tiles: every type, shape and precision; exact, since the numbers are small and whole."""

from __future__ import annotations

import numpy as np
from engine import Case, Group, Input, cases
from kinds import BF16, E4M3, E4M3Z, E5M2, E5M2Z, F16, F32, F64, I8, I32, U8, decode, encode, small

RNG = np.random.default_rng(18)


def numbers(kind, array):
    """An operand as numbers that multiply without wrapping."""
    return decode(kind, array).astype(np.int64 if kind.integer else np.float64)


def stored(kind, array):
    """A product in memory form."""
    return array.astype(kind.store) if kind.integer else encode(kind, array)


def square(shape):
    return "x".join(map(str, shape))


def types():
    """Types times shapes; transposed operands, sums, result types."""
    shapes = [(16, 16, 16), (8, 4, 32), (1, 16, 8), (16, 1, 4), (2, 2, 1), (32, 8, 16), (4, 32, 2), (1, 1, 64)]
    kinds = [(I8, I32), (F16, F32), (BF16, F32), (F32, F32), (F64, F64), (E4M3, F32), (E5M2, F32), (E4M3Z, F32),
             (E5M2Z, F32)]  # fmt: skip
    for number, (kind, result) in enumerate(kinds):
        for step in range(3):
            m, n, k = shapes[(3 * number + step * 5) % len(shapes)]
            limit = 3 if kind.fp8 else 7
            inputs = {
                "a": Input(kind, small(kind, (m, k), RNG, limit)),
                "b": Input(kind, small(kind, (k, n), RNG, limit)),
                "c": Input(result, small(result, (m, n), RNG, 50)),
                "at": Input(kind, small(kind, (k, m), RNG, limit)),
                "bt": Input(kind, small(kind, (n, k), RNG, limit)),
            }
            head = "".join(f"{name} = tl.load(p_{name} + at_{square(i.array.shape)})\n" for name, i in inputs.items())

            def product(left, right, plus="", kind=kind, result=result):
                def want(v, left=left, right=right, plus=plus):
                    x, y = (numbers(kind, getattr(v, name)) for name in (left, right))
                    x, y = x.T if left == "at" else x, y.T if right == "bt" else y
                    return stored(result, x @ y + (getattr(v, plus) if plus else 0))

                return want  # noqa: B023

            out = f"out_dtype={result.tl}"
            table = {
                "plain": (f"tl.dot(a, b, {out})", product("a", "b")),
                "acc": (f"tl.dot(a, b, c, {out})", product("a", "b", "c")),
                "trans_a": (f"tl.dot(tl.trans(at), b, {out})", product("at", "b")),
                "trans_b": (f"tl.dot(a, tl.trans(bt), {out})", product("a", "bt")),
                "trans_both": (f"tl.dot(tl.trans(at), tl.trans(bt), acc=c, {out})", product("at", "bt", "c")),
            }
            if kind is F32:
                for precision in ("ieee", "tf32", "tf32x3"):
                    code = f"tl.dot(a, b, c, input_precision='{precision}')"
                    table[precision] = (code, product("a", "b", "c"))
            if kind in (E4M3, E5M2):
                table["imprecise"] = ("tl.dot(a, b, c, max_num_imprecise_acc=1)", product("a", "b", "c"))
            made = [Case(name, code, result, want, (m, n)) for name, (code, want) in table.items()]
            if kind is F16:
                made.append(
                    Case("f16_sum", "tl.dot(a, b, out_dtype=tl.float16)", F16, product("a", "b", result=F16), (m, n))
                )
            also = tuple({i.array.shape: None for i in inputs.values()})
            yield Group(f"dot-{kind}-{m}x{n}x{k}", (m, n), inputs, made, load="", head=head, also=also)


def batches():
    """Products of three dimensions."""
    for kind, result, shape in ((F32, F32, (4, 8, 16, 8)), (F16, F32, (2, 16, 16, 16)), (I8, I32, (2, 4, 4, 32))):
        b, m, n, k = shape
        inputs = {"a": Input(kind, small(kind, (b, m, k), RNG)), "b": Input(kind, small(kind, (b, k, n), RNG))}
        head = f"a = tl.load(p_a + at_{b}x{m}x{k})\nb = tl.load(p_b + at_{b}x{k}x{n})"

        def want(v, kind=kind, result=result):
            return stored(result, numbers(kind, v.a) @ numbers(kind, v.b))

        made = [Case("plain", f"tl.dot(a, b, out_dtype={result.tl})", result, want, (b, m, n))]
        also = ((b, m, k), (b, k, n))
        yield Group(f"batch-{kind}", (b, m, n), inputs, made, load="", head=head, also=also)


def chains():
    """Products of products, of computed operands, in loops, masked."""
    n = 16
    inputs = {name: Input(F32, small(F32, (n, n), RNG, 3)) for name in "abc"}
    made = [
        Case("product_of_product", "tl.dot(tl.dot(a, b), c)", F32, lambda v: v.a @ v.b @ v.c),
        Case("own_sum", "x = tl.dot(a, b)\ntl.dot(x, c, x)", F32, lambda v: v.a @ v.b @ v.c + v.a @ v.b),
        Case("computed", "tl.dot(a * 2 + 1, b - c)", F32, lambda v: (v.a * 2 + 1) @ (v.b - v.c)),
        Case("same", "tl.dot(a, a)", F32, lambda v: v.a @ v.a),
        Case("self_transposed", "tl.dot(a, tl.trans(a))", F32, lambda v: v.a @ v.a.T),
        Case("then", "tl.dot(a, b) * c - tl.sum(tl.dot(a, c), 1)[:, None]", F32,
             lambda v: (v.a @ v.b) * v.c - (v.a @ v.c).sum(1, keepdims=True)),
        Case("transposed_after", "tl.trans(tl.dot(a, b))", F32, lambda v: (v.a @ v.b).T),
        Case("row", "tl.dot(tl.sum(a, 0, keep_dims=True), b)", F32, lambda v: v.a.sum(0, keepdims=True) @ v.b, (1, 16)),
        Case("loop", "acc = tl.zeros((16, 16), tl.float32)\nfor i in range(4):\n    acc = tl.dot(a, b, acc)\nacc", F32,
             lambda v: 4 * (v.a @ v.b)),
        Case("carried", "acc = a\nfor i in range(2):\n    acc = tl.dot(acc, b) % 7\nacc", F32, carried),
        Case("masked", "tl.dot(tl.where(a > 0, a, 0), tl.where(b < 1, b, 0))", F32,
             lambda v: np.where(v.a > 0, v.a, 0) @ np.where(v.b < 1, v.b, 0)),
        Case("outer", "tl.dot(tl.reshape(a, (256, 1)), tl.sum(b, 0)[None, :])", F32,
             lambda v: v.a.reshape(256, 1) @ v.b.sum(0)[None, :], (256, 16)),
    ]  # fmt: skip
    yield Group("chains", (n, n), inputs, made)


def carried(v):
    acc = v.a
    for _ in range(2):
        acc = np.fmod(acc @ v.b, 7)
    return acc


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def scaled():
    """dot_scaled: every pair of formats that makes sense."""
    m, n, k = 16, 16, 64
    formats = {"e4m3": E4M3, "e5m2": E5M2, "bf16": BF16, "fp16": F16, "e2m1": U8}
    for left in formats:
        for right in formats:
            if left in ("bf16", "fp16") and right in ("bf16", "fp16"):
                continue
            inputs, values = {}, {}
            for name, text, shape, axis in (("a", left, (m, k), 1), ("b", right, (k, n), 0)):
                if text == "e2m1":
                    codes = RNG.integers(0, 16, shape).astype(np.uint8)
                    low, high = (codes[:, 0::2], codes[:, 1::2]) if axis == 1 else (codes[0::2], codes[1::2])
                    inputs[name], values[name] = Input(U8, low | high << 4), E2M1[codes]
                else:
                    array = small(formats[text], shape, RNG, 4)
                    inputs[name], values[name] = Input(formats[text], array), decode(formats[text], array)
            scales = {
                name: RNG.integers(124, 130, (rows, k // 32)).astype(np.uint8) for name, rows in (("s", m), ("t", n))
            }
            inputs |= {name: Input(U8, array) for name, array in scales.items()}
            head = "".join(f"{name} = tl.load(p_{name} + at_{square(i.array.shape)})\n" for name, i in inputs.items())
            exact = {
                "a": values["a"] * np.repeat(2.0 ** (scales["s"].astype(float) - 127), 32, 1),
                "b": values["b"] * np.repeat(2.0 ** (scales["t"].astype(float) - 127), 32, 1).T,
            }

            def want(v, exact=exact):
                return exact["a"] @ exact["b"]

            def unscaled(v, exact=exact, values=values):
                return exact["a"] @ values["b"]

            made = [
                Case("both", f"tl.dot_scaled(a, s, '{left}', b, t, '{right}')", F32, want, (m, n)),
                Case("left", f"tl.dot_scaled(a, s, '{left}', b, None, '{right}')", F32, unscaled, (m, n)),
            ]
            also = tuple({i.array.shape: None for i in inputs.values()})
            yield Group(f"scaled-{left}-{right}", (m, n), inputs, made, load="", head=head, also=also)


@cases([*types(), *batches(), *chains(), *scaled()])
def test_dot(check, arguments):
    check(*arguments)
