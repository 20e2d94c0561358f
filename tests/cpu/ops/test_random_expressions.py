# SPDX-License-Identifier: Apache-2.0
"""Random expressions against NumPy: many types and shapes in one kernel, whatever gets fused.

A program is a list of values; each is computed from earlier ones by an operation whose result is
exact or rounded once, so that every bit is known. Only the values that nothing uses are stored. When
one of them is wrong, the other stores are dropped and its ancestors are replaced by inputs with the
right numbers, one after the other, as long as the result stays wrong: a small kernel is left.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from engine import Case, Group, Input, check_case, equal, flat, results, source
from kinds import B1, BF16, FLOATS, I32, I64, INTEGERS, U32, U64, decode
from kinds import random as random_array
from references import as_result, convert

KINDS = (*INTEGERS, *FLOATS)
SHAPES = [(8,), (64,), (1,), (4, 8), (8, 1), (1, 16), (16, 4), (2, 4, 8), (4, 1, 8), (1, 4, 1)]
COUNTS = np.array([0, 1, 2, 3], np.int32)  # bounds of loops, unknown to the compiler


@dataclass
class Value:
    """A value of a program."""

    name: str
    kind: object
    shape: tuple[int, ...]
    code: str  # statements, the last of them assigns the name; "" for an input
    array: np.ndarray  # what it should be
    uses: list[Value] = field(default_factory=list)

    @property
    def numbers(self) -> np.ndarray:
        """The numbers that arithmetic works with."""
        numbers = decode(self.kind, self.array)
        return numbers.astype(object) if self.kind.integer and self.kind is not B1 else numbers


def quotient(x, y):
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


OPERATIONS: dict[str, Callable] = {
    "{} + {}": np.add,
    "{} - {}": np.subtract,
    "{} * {}": np.multiply,
    "tl.maximum({}, {})": np.fmax,
    "tl.minimum({}, {})": np.fmin,
}
BITS: dict[str, Callable] = {
    "{} & {}": np.bitwise_and,
    "{} | {}": np.bitwise_or,
    "{} ^ {}": np.bitwise_xor,
}
INTEGER = BITS | {
    "tl.maximum({}, {})": np.maximum,
    "tl.minimum({}, {})": np.minimum,
    "{} // {}": np.frompyfunc(quotient, 2, 1),
    "{} % {}": np.frompyfunc(lambda x, y: 0 if y == 0 else x - y * quotient(x, y), 2, 1),
}
COMPARISONS: dict[str, Callable] = {
    "{} < {}": np.less,
    "{} >= {}": np.greater_equal,
    "{} == {}": np.equal,
    "{} != {}": np.not_equal,
}


class Program:
    """Values that are made at random."""

    def __init__(self, seed: int, size: int) -> None:
        self.r = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.values: list[Value] = []
        for _ in range(4):
            self.input()
        makers = [
            self.input, self.binary, self.binary, self.binary, self.constant, self.compare, self.choose, self.cast,
            self.reduce, self.reduce, self.scan, self.view, self.view, self.loop, self.branch, self.masked,
        ]  # fmt: skip
        while len(self.values) < size:
            self.r.choice(makers)()

    def add(self, kind, code, array, uses):
        """A new value; statements in code name it {n}."""
        name = f"v{len(self.values)}"
        shape = np.shape(array)
        text = code.replace("{n}", name) if "{n}" in code else f"{name} = {code}"
        self.values.append(Value(name, kind, shape, text, np.asarray(array), uses))

    def pick(self, want=lambda v: True):
        """An earlier value, rather a late one; None if there is none of that sort."""
        fitting = [v for v in self.values if want(v)]
        return self.r.choice(fitting[-6:] if self.r.random() < 0.6 else fitting) if fitting else None

    def partner(self, first, keep=False):
        """A value of the same type whose shape goes with that of the first one."""

        def fits(v):
            try:
                shape = np.broadcast_shapes(v.shape, first.shape)
            except ValueError:
                return False
            return v.kind is first.kind and np.prod(shape) <= 512 and (not keep or shape == first.shape)

        return self.pick(fits)

    def input(self):
        kind = self.r.choice(KINDS)
        array = random_array(kind, self.r.choice(SHAPES), self.rng, 3)
        self.values.append(Value(f"v{len(self.values)}", kind, array.shape, "", array))

    def masked(self):
        """A load under a mask that is some value."""
        mask = self.pick(lambda v: v.kind is B1 and v.shape)
        if mask is None:
            return
        kind = self.r.choice(KINDS)
        given = Value(f"v{len(self.values)}", kind, mask.shape, "", random_array(kind, mask.shape, self.rng, 3))
        self.values.append(given)
        other = "1" if kind.integer else "1.0"
        code = f"tl.load(p_{given.name} + ({flat(mask.shape)}), mask={mask.name}, other={other})"
        numbers = np.where(mask.array, given.numbers, 1)
        self.add(kind, code, as_result(kind, numbers), [given, mask])

    def operation(self, kind):
        if kind is B1:
            return self.r.choice(list(BITS.items()))
        code, function = self.r.choice(list((OPERATIONS | (INTEGER if kind.integer else {})).items()))
        # Triton's maximum of bf16 is a float32.
        return (f"{code}.to(tl.bfloat16)" if kind is BF16 and code.startswith("tl.") else code), function

    def binary(self):
        x = self.pick()
        y = self.partner(x)
        code, function = self.operation(x.kind)
        with np.errstate(all="ignore"):
            out = function(x.numbers, y.numbers)
        self.add(x.kind, code.format(x.name, y.name), out if x.kind is B1 else as_result(x.kind, out), [x, y])

    def constant(self):
        x = self.pick(lambda v: v.kind is not B1)
        number = self.r.choice([1, 2, 3, 7, 100])
        code, function = self.r.choice([("{} + {}", np.add), ("{} * {}", np.multiply), ("{} - {}", np.subtract)])
        text = str(number) if x.kind.integer else str(number / 4)
        with np.errstate(all="ignore"):
            out = function(x.numbers, number if x.kind.integer else number / 4)
        self.add(x.kind, code.format(x.name, text), as_result(x.kind, out), [x])

    def compare(self):
        x = self.pick(lambda v: v.kind is not B1)
        y = self.partner(x)
        code, function = self.r.choice(list(COMPARISONS.items()))
        self.add(B1, code.format(x.name, y.name), function(x.numbers, y.numbers).astype(np.bool_), [x, y])

    def choose(self):
        x = self.pick()
        y = self.partner(x)
        shape = np.broadcast_shapes(x.shape, y.shape)
        c = self.pick(lambda v: v.kind is B1 and np.broadcast_shapes(v.shape, ()) in ((), shape))
        if c is not None:
            self.add(x.kind, f"tl.where({c.name}, {x.name}, {y.name})", np.where(c.array, x.array, y.array), [c, x, y])

    def cast(self):
        x = self.pick()
        kind = self.r.choice([k for k in KINDS if k is not x.kind])
        flat_array = np.ravel(x.array)
        out = convert(x.kind, kind, flat_array).reshape(x.shape)
        self.add(kind, f"{x.name}.to({kind.tl})", out, [x])

    def reduce(self):
        x = self.pick(lambda v: v.shape and v.kind is not B1)
        axis = self.r.randrange(len(x.shape))
        kept = self.r.random() < 0.4
        table = {"max": np.fmax.reduce, "min": np.fmin.reduce}
        if x.kind.integer:
            table = {"max": np.max, "min": np.min, "sum": np.sum, "xor_sum": np.bitwise_xor.reduce}
        name, function = self.r.choice(list(table.items()))
        code = f"tl.{name}({x.name}, {axis}, keep_dims={kept}).to({x.kind.tl})"
        self.add(x.kind, code, as_result(x.kind, function(x.numbers, axis=axis, keepdims=kept)), [x])

    def scan(self):
        x = self.pick(lambda v: v.shape and v.kind in (I32, I64, U32, U64))
        if x is not None:
            axis, reverse = self.r.randrange(len(x.shape)), self.r.random() < 0.5
            numbers = np.flip(x.numbers, axis) if reverse else x.numbers
            out = np.cumsum(numbers, axis)
            out = np.flip(out, axis) if reverse else out
            self.add(x.kind, f"tl.cumsum({x.name}, {axis}, reverse={reverse})", as_result(x.kind, out), [x])

    def view(self):
        x = self.pick(lambda v: v.shape)
        choice = self.r.randrange(4)
        if choice == 0:
            order = list(range(len(x.shape)))
            self.r.shuffle(order)
            self.add(x.kind, f"tl.permute({x.name}, {tuple(order)})", x.array.transpose(order), [x])
        elif choice == 1:
            shape = self.r.choice([(x.array.size,), (1, x.array.size), (x.array.size, 1)])
            if x.array.size >= 4 and self.r.random() < 0.5:
                shape = (x.array.size // 4, 4)
            self.add(x.kind, f"tl.reshape({x.name}, {shape})", x.array.reshape(shape), [x])
        elif choice == 2 and len(x.shape) < 3:
            axis = self.r.randrange(len(x.shape) + 1)
            self.add(x.kind, f"tl.expand_dims({x.name}, {axis})", np.expand_dims(x.array, axis), [x])
        elif choice == 3 and x.kind is not B1:
            axis = self.r.randrange(len(x.shape))
            if x.shape[axis] == 1:  # Triton's flip fails there
                return
            self.add(x.kind, f"tl.flip({x.name}, {axis})", np.flip(x.array, axis), [x])

    def loop(self):
        """A value that is carried through a loop."""
        x = self.pick(lambda v: v.kind is not B1)
        y = self.partner(x, keep=True)
        code, function = self.operation(x.kind)
        which = self.r.randrange(len(COUNTS))
        out = x.numbers
        for _ in range(COUNTS[which]):
            with np.errstate(all="ignore"):
                out = decode(x.kind, as_result(x.kind, function(out, y.numbers)))
            out = out.astype(object) if x.kind.integer else out
        step = code.format("{n}", y.name)
        text = f"{{n}} = {x.name}\nfor i in range(tl.load(p_t + {which})):\n    {{n}} = {step}"
        self.add(x.kind, text, as_result(x.kind, out), [x, y])

    def branch(self):
        """One of two values, by a number that the compiler does not know."""
        x = self.pick()
        y = self.pick(lambda v: v.kind is x.kind and v.shape == x.shape)
        which = self.r.randrange(len(COUNTS))
        text = f"if tl.load(p_t + {which}) > 1:\n    {{n}} = {x.name}\nelse:\n    {{n}} = {y.name}"
        self.add(x.kind, text, x.array if COUNTS[which] > 1 else y.array, [x, y])


def ancestors(values: list[Value], outs: list[Value]) -> list[Value]:
    """What some values need, in order."""
    needed = {v.name for v in outs}
    for value in reversed(values):
        if value.name in needed and value.code:
            needed |= {u.name for u in value.uses}
    return [v for v in values if v.name in needed]


def group(name: str, values: list[Value], outs: list[Value]) -> Group:
    """The kernel that computes and stores some of the values."""
    values = ancestors(values, outs)
    inputs = {v.name: Input(v.kind, v.array) for v in values if not v.code}
    inputs["t"] = Input(I32, COUNTS)
    head = []
    for value in values:
        if not value.code:
            place = flat(value.shape) if value.shape else "0"
            head.append(f"{value.name} = tl.load(p_{value.name} + ({place}))")
        else:
            head += value.code.splitlines()
    cases = [Case(v.name, v.name, v.kind, lambda _, v=v: v.array, v.shape, equal) for v in outs]
    return Group(name, (1,), inputs, cases, load="", head="\n".join(head))


def wrong(made: Group, name: str = "") -> str:
    """The first result (or the one of that name) that is wrong, or does not compile; "" if there is none."""
    for case in made.cases:
        try:
            if not name or case.name == name:
                check_case(made, case, made.variants[0])
        except Exception:
            return case.name
    return ""


def shrink(values: list[Value], outs: list[Value], name: str) -> Group:
    """A small kernel whose result of that name is still wrong."""

    def still_wrong(values, outs):
        return wrong(group("shrunk", values, outs), name)

    for other in [v for v in outs if v.name != name]:
        fewer = [v for v in outs if v is not other]
        if still_wrong(values, fewer):
            outs = fewer
    values = ancestors(values, outs)
    for old in reversed(values):
        if old in outs or not old.code:
            continue
        cut = [Value(v.name, v.kind, v.shape, "", v.array) if v is old else v for v in values]
        if still_wrong(cut, outs):
            values = ancestors(cut, outs)
    return group("shrunk", values, outs)


def check_program(seed: int, size: int) -> None:
    """Makes and runs a program; fails with a small kernel if something is wrong."""
    values = Program(seed, size).values
    used = {u.name for v in values for u in v.uses}
    outs = [v for v in values if v.name not in used and v.code]
    made = group(f"random-{seed}", values, outs)
    bad = wrong(made)
    if bad:
        small = shrink(values, outs, bad)
        print(source(small, small.cases))
        for tried in (small, made):
            check_case(tried, next(c for c in tried.cases if c.name == bad), tried.variants[0])


@pytest.mark.parametrize("seed", range(24))
def test_random_expressions(seed):
    check_program(seed, 24)


def test_shrinking():
    """Of a program with one wrong operation that operation is left."""
    start = np.arange(8, dtype=np.int32)
    v0 = Value("v0", I32, (8,), "", start)
    v1 = Value("v1", I32, (8,), "v1 = v0 + v0", 2 * start, [v0])
    v2 = Value("v2", I32, (8,), "v2 = v1 * 3", 4 * start, [v1])
    v3 = Value("v3", I32, (8,), "v3 = v2 - v0", 3 * start, [v2, v0])
    small = shrink([v0, v1, v2, v3], [v3], "v3")
    assert "v2 = v1 * 3" in small.head and "v0 + v0" not in small.head
    np.testing.assert_array_equal(results(small, small.variants[0])["v3"], 5 * start)
