# SPDX-License-Identifier: Apache-2.0
"""Random programs against NumPy: what is fused, stored, shared and overwritten must not show.

Each program is a few statements over tiles (loads, stores to the same few arrays, arithmetic,
views, reductions, products, loops that carry tiles, branches), written once as Triton source
and executed step by step in NumPy. All numbers are small integers in float32, so every order
of summation gives the same bits.
"""

import random

import numpy as np
import pytest
from generate import module
from runner import launch

N = 16
LIMIT = 97.0


class Program:
    """Builds the Triton source and, in step with it, a list of NumPy actions."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines = []
        self.count = 0
        self.depth = 1

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def new(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    def expression(self, scope, kind):
        """An expression of a kind: 'm' matrix, 'r' row vector, 'c' scalar."""
        r = self.r
        names = [n for n in scope if n[0] == kind]
        choice = r.random()
        if kind == "c":
            if choice < 0.4 and names:
                return r.choice(names)
            vectors = [n for n in scope if n[0] == "r"]
            if vectors and choice < 0.8:
                return f"{r.choice(['SUM', 'MAX', 'MIN'])}({r.choice(vectors)})"
            return f"FLOAT({r.randint(-3, 3)})"
        if choice < 0.25 and names:
            return r.choice(names)
        if choice < 0.55 and names:
            a, b = (self.expression(scope, kind) if r.random() < 0.4 else r.choice(names) for _ in range(2))
            return f"WRAP({a} {r.choice('+-*')} {b})"
        if choice < 0.62 and names:
            a, b = r.choice(names), r.choice(names)
            return f"WHERE({a} > {b}, {a}, {self.expression(scope, kind)})"
        if kind == "m":
            rows = [n for n in scope if n[0] == "r"]
            options = []
            if rows:
                options += [f"ROW({r.choice(rows)})", f"COL({r.choice(rows)})"]
            if names:
                options += [
                    f"T({r.choice(names)})",
                    f"WRAP(DOT(WRAP({r.choice(names)}), {r.choice(names)}))",
                    f"FLAT({r.choice(names)})",
                    f"CUMSUM({r.choice(names)}, {r.randint(0, 1)})",
                ]
            options += [f"WRAP({r.choice(names)} + {self.expression(scope, 'c')})"] if names else []
            return r.choice(options) if options else "ZEROS2()"
        matrices = [n for n in scope if n[0] == "m"]
        options = ["RANGE()"]
        if matrices:
            options += [f"{r.choice(['SUM1', 'MAX1'])}({r.choice(matrices)}, {r.randint(0, 1)})" for _ in range(3)]
        if names:
            options += [f"FLIP({r.choice(names)})", f"WRAP({r.choice(names)} * {self.expression(scope, 'c')})"]
        return f"WRAP({r.choice(options)})"

    def block(self, scope, budget, carried=()):
        r = self.r
        scope = list(scope)
        for _ in range(budget):
            choice = r.random()
            kind = r.choice("mmmrrc")
            if choice < 0.3:
                name = self.new("m" if r.random() < 0.7 else "r")
                array, offset = r.choice("xyz"), r.choice([0, 0, 0, 1, 5, N])
                turned = r.random() < 0.25
                self.line(f"{name} = LOAD{2 if name[0] == 'm' else 1}({array}, {offset}, {turned})")
                scope.append(name)
            elif choice < 0.5 and any(n[0] in "mr" for n in scope):
                name = r.choice([n for n in scope if n[0] in "mr"])
                array, offset = r.choice("xyz"), r.choice([0, 0, 0, 1, 5, N])
                turned = r.random() < 0.25
                self.line(f"STORE{2 if name[0] == 'm' else 1}({array}, {offset}, {turned}, {name})")
            elif choice < 0.62 and self.depth < 3 and scope:
                tiles = [n for n in scope if n[0] in "mrc"]
                mine = r.sample(tiles, min(len(tiles), r.randint(1, 3)))
                names = {n: self.new(n[0]) for n in mine}
                for old, fresh in names.items():
                    self.line(f"{fresh} = {old} + 0")
                if r.random() < 0.65:
                    self.line(f"for i{self.count} in range({r.choice(['0', '1', '2', '3', 'n'])}):")
                else:
                    self.line(f"if n {r.choice(['<', '>='])} {r.randint(1, 3)}:")
                self.depth += 1
                inner = self.block([*scope, *names.values()], r.randint(1, 4))
                for fresh in names.values():
                    if r.random() < 0.8:
                        value = self.expression([n for n in inner if self.visible(n)], fresh[0])
                        self.line(f"{fresh} = WRAP({value})" if fresh[0] != "c" else f"{fresh} = WRAPC({value})")
                self.line("pass")
                self.depth -= 1
                scope += list(names.values())
            else:
                name = self.new(kind)
                value = self.expression(scope, kind)
                self.line(f"{name} = {value}" if kind != "c" else f"{name} = WRAPC({value})")
                scope.append(name)
        return scope

    def visible(self, name):
        return True


HELPERS = """
@triton.jit
def ZEROS2():
    return tl.zeros((16, 16), tl.float32)


@triton.jit
def RANGE():
    return tl.arange(0, 16).to(tl.float32)


@triton.jit
def WRAP(a):
    return a - tl.floor(a / 97.0) * 97.0


@triton.jit
def WRAPC(a):
    return a - tl.floor(a / 97.0) * 97.0


@triton.jit
def FLOAT(a):
    return a + 0.0


@triton.jit
def WHERE(c, a, b):
    return tl.where(c, a, b)


@triton.jit
def SUM(a):
    return tl.sum(a)


@triton.jit
def MAX(a):
    return tl.max(a)


@triton.jit
def MIN(a):
    return tl.min(a)


@triton.jit
def SUM1(a, axis: tl.constexpr):
    return tl.sum(a, axis)


@triton.jit
def MAX1(a, axis: tl.constexpr):
    return tl.max(a, axis)


@triton.jit
def ROW(a):
    return tl.zeros((16, 16), tl.float32) + a[None, :]


@triton.jit
def COL(a):
    return tl.zeros((16, 16), tl.float32) + a[:, None]


@triton.jit
def T(a):
    return tl.trans(a)


@triton.jit
def DOT(a, b):
    return tl.dot(a, b)


@triton.jit
def FLAT(a):
    return tl.reshape(tl.reshape(a, (256,)), (4, 64)).reshape((16, 16)) * 2 - a


@triton.jit
def FLIP(a):
    return tl.flip(a, 0)


@triton.jit
def CUMSUM(a, axis: tl.constexpr):
    return tl.cumsum(a, axis)


@triton.jit
def LOAD1(p, offset, turned: tl.constexpr):
    k = tl.arange(0, 16)
    if turned:
        k = 15 - k
    return tl.load(p + offset + k)


@triton.jit
def STORE1(p, offset, turned: tl.constexpr, a):
    k = tl.arange(0, 16)
    if turned:
        k = 15 - k
    tl.store(p + offset + k, a)


@triton.jit
def STOREC(p, offset, turned: tl.constexpr, a):
    tl.store(p + offset, a)


@triton.jit
def AT(turned: tl.constexpr):
    i = tl.arange(0, 16)
    if turned:
        return i[None, :] * 16 + i[:, None]
    else:
        return i[:, None] * 16 + i[None, :]


@triton.jit
def LOAD2(p, offset, turned: tl.constexpr):
    return tl.load(p + offset + AT(turned))


@triton.jit
def STORE2(p, offset, turned: tl.constexpr, a):
    tl.store(p + offset + AT(turned), a)


"""


def numpy_helpers():
    f = np.float32
    k = np.arange(N)
    square = k[:, None] * N + k[None, :]

    def at(turned):
        return square.T if turned else square

    def store1(p, offset, turned, a):
        p[offset + (k[::-1] if turned else k)] = a

    def store2(p, offset, turned, a):
        p[offset + at(turned)] = a

    def store_scalar(p, offset, turned, a):
        p[offset] = a

    def wrap(a):
        return (a - np.floor(a / f(LIMIT)) * f(LIMIT)).astype(f)

    return {
        "ZEROS2": lambda: np.zeros((N, N), f),
        "RANGE": lambda: k.astype(f),
        "WRAP": wrap,
        "WRAPC": lambda a: f(wrap(a)),
        "FLOAT": f,
        "WHERE": np.where,
        "SUM": lambda a: f(a.sum()),
        "MAX": lambda a: a.max(),
        "MIN": lambda a: a.min(),
        "SUM1": lambda a, axis: a.sum(axis),
        "MAX1": lambda a, axis: a.max(axis),
        "ROW": lambda a: np.tile(a[None, :], (N, 1)),
        "COL": lambda a: np.tile(a[:, None], (1, N)),
        "T": lambda a: a.T.copy(),
        "DOT": lambda a, b: a @ b,
        "FLAT": lambda a: a * f(2) - a,
        "FLIP": lambda a: a[::-1].copy(),
        "CUMSUM": lambda a, axis: np.cumsum(a, axis),
        "LOAD1": lambda p, offset, turned: p[offset + (k[::-1] if turned else k)],
        "STORE1": store1,
        "STOREC": store_scalar,
        "LOAD2": lambda p, offset, turned: p[offset + at(turned)],
        "STORE2": store2,
    }


def check(seed):
    made = Program(seed)
    made.line("m1 = LOAD2(x, 0, False)")
    made.line("r1 = LOAD1(y, 0, False)")
    made.count = 1
    scope = made.block(["m1", "r1"], 9)
    for number, name in enumerate(scope):  # every value counts
        made.line(f"{ {'m': 'STORE2', 'r': 'STORE1', 'c': 'STOREC'}[name[0]] }(out, {number * N * N}, False, {name})")
    body = "\n".join(made.lines)
    kernel = module(HELPERS + f"@triton.jit\ndef kernel(x, y, z, out, n):\n{body}\n").kernel
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 4))
    # All three arrays are parts of one, and may overlap.
    memory = rng.integers(0, 10, 1200).astype(np.float32)
    starts = rng.choice([0, 8, 256, 300, 600, 602], 3)
    want = memory.copy()
    parts = {name: want[s:] for name, s in zip("xyz", starts)}
    out, want_out = np.zeros((2, 60 * N * N), np.float32)
    names = {**numpy_helpers(), **parts, "n": n, "out": want_out}
    with np.errstate(all="ignore"):
        exec("def kernel():\n" + body + "\nkernel()", names)  # noqa: S102
    launch(kernel, (1,), **{name: memory[s:] for name, s in zip("xyz", starts)}, out=out, n=n)
    np.testing.assert_array_equal(out, want_out, err_msg=f"seed {seed}\n{body}")
    np.testing.assert_array_equal(memory, want, err_msg=f"seed {seed}\n{body}")


@pytest.mark.parametrize("group", range(4))
def test_random_programs(group):
    for seed in range(group * 5, group * 5 + 5):
        check(seed)
