# SPDX-License-Identifier: Apache-2.0
"""Atomic operations of every kind and type: what memory holds after, and the values they return."""

from __future__ import annotations

import numpy as np
from engine import Case, Group, Input, cases, equal
from kinds import B1, BF16, F16, F32, F64, I32, I64, U32, U64, decode, encode, random, small

RNG = np.random.default_rng(19)
N = 64


def functions(kind):
    """The operation on numbers by its name."""
    table = {
        "add": np.add,
        "max": np.maximum,
        "min": np.minimum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "xchg": lambda x, y: y,
    }
    if kind.integer:
        return table
    return {name: table[name] for name in (("add", "xchg", "max", "min") if kind in (F32, F64) else ("add",))}


def numbers(kind, array):
    return array if kind.integer else decode(kind, array)


def tiles():
    """Each operation without and with a mask; the result holds what was there before, or the new memory."""
    k = np.arange(N)
    for kind in (I32, U32, I64, U64, F32, F64, F16, BF16):
        inputs = {
            "a": Input(kind, random(kind, N, RNG, 3)),
            "b": Input(kind, random(kind, N, RNG, 3)),
            "m": Input(B1, random(B1, N, RNG)),
        }
        made = []
        for name, function in functions(kind).items():

            def new(v, function=function, kind=kind, keep=None):
                x, y = numbers(kind, v.a), numbers(kind, v.b)
                out = function(x, y) if kind.integer else encode(kind, function(x, y))
                return out if keep is None else np.where(keep(v), out, v.a)

            def masked(v, new=new):
                return new(v, keep=lambda v: v.m)

            def prefix(v, new=new):
                return new(v, keep=lambda v: k < 13)

            start = "tl.store({o} + at_64, a)\n"
            call = f"tl.atomic_{name}({{o}} + at_64, b"
            old = f"old = {call}, sem='release', scope='sys')\ntl.store({{o}} + at_64, old)"
            part = f"{call}, mask=at_64 < 13, sem='relaxed', scope='cta')"
            made += [
                Case(name, f"{start}{call})", kind, new, (N,), equal),
                Case(f"{name}_masked", f"{start}{call}, mask=m)", kind, masked, (N,), equal),
                Case(f"{name}_prefix", start + part, kind, prefix, (N,), equal),
                Case(f"{name}_old", start + old, kind, lambda v: v.a, (N,), equal),
            ]
        yield Group(f"atomic-{kind}", (N,), inputs, made)


def collisions():
    """Many elements of a tile on few places."""
    for kind in (I32, U32, I64, F32, F64, F16):
        inputs = {
            "a": Input(kind, small(kind, N, RNG, 4)),
            "i": Input(I32, RNG.integers(0, 8, N).astype(np.int32)),
        }
        initial = {"add": 1, "max": 1, "min": 1, "and": 1, "or": 1, "xor": 1}
        made = []
        for name, function in functions(kind).items():
            if name == "xchg":
                continue

            def want(v, function=function, kind=kind, start=initial[name]):
                out = np.full(8, start, np.int64 if kind.integer else np.float64)
                for place, value in zip(v.i, numbers(kind, v.a)):
                    out[place] = function(out[place], value)
                return out.astype(kind.store) if kind.integer else encode(kind, out)

            code = f"tl.store({{o}} + tl.arange(0, 8), tl.full((8,), 1, {kind.tl}))\ntl.atomic_{name}({{o}} + i, a)"
            made.append(Case(name, code, kind, want, (8,), equal))

        def total(v, kind=kind):
            out = numbers(kind, v.a).astype(np.int64 if kind.integer else np.float64).sum()
            return out if kind.integer else encode(kind, out)

        code = f"tl.store({{o}}, tl.full((), 0, {kind.tl}))\ntl.atomic_add({{o}} + at_64 * 0, a)"
        made.append(Case("all_on_one", code, kind, total, (), equal))
        yield Group(f"collide-{kind}", (N,), inputs, made)


def exchanges():
    """Compare and swap: integers and floating-point bits, tiles and scalars."""
    for kind in (I32, U32, I64, U64, F32, F64):
        a = small(kind, N, RNG, 2)
        inputs = {"a": Input(kind, a), "b": Input(kind, small(kind, N, RNG, 2)), "c": Input(kind, random(kind, N, RNG))}
        start = "tl.store({o} + at_64, a)\n"

        def swapped(v):
            return np.where(v.a == v.b, v.c, v.a)

        call = "tl.atomic_cas({o} + at_64, b, c"
        made = [
            Case("new", f"{start}{call})", kind, swapped, (N,)),
            Case("old", f"{start}w = {call})\ntl.store({{o}} + at_64, w)", kind, lambda v: v.a, (N,)),
            Case("sem", f"{start}{call}, sem='acquire', scope='gpu')", kind, swapped, (N,)),
        ]
        yield Group(f"cas-{kind}", (N,), inputs, made)


def scalars():
    """Atomics of programs on one place: all count, each order is fine."""
    grid = (N,)
    for kind in (I32, I64, U64, F32, F64):
        inputs = {"a": Input(kind, small(kind, N, RNG, 4))}
        start = f"if pid == 0:\n    tl.store({{o}}, tl.full((), 0, {kind.tl}))\n"
        table = {
            "add": lambda x: x.sum(),
            "max": lambda x: max(x.max(), 0),
            "min": lambda x: min(x.min(), 0),
        }
        if kind.integer:
            table |= {"or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce}
        made = []
        for name, function in table.items():
            code = f"{start}tl.atomic_{name}({{o}}, a)"
            made.append(Case(name, code, kind, lambda v, f=function: f(v.a), (), equal))
        code = (
            f"if pid == 0:\n    tl.store({{o}}, tl.full((), 0, {kind.tl}))\ntl.atomic_add({{o}}, a, mask=pid % 3 == 0)"
        )
        made.append(Case("masked", code, kind, lambda v: v.a[::3].sum(), (), equal))
        yield Group(f"scalar-{kind}", (), inputs, made, grid=grid)


@cases([*tiles(), *collisions(), *exchanges(), *scalars()])
def test_atomic(check, arguments):
    check(*arguments)
