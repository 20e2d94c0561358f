# SPDX-License-Identifier: Apache-2.0
"""Many cases in few compiles.

A *case* is one result of a kernel that is compared: an operation, types, a shape or axis, a mask.
A *group* is the cases that share a kernel: its inputs are loaded once, each case is an expression
(or statements) stored to an array of its own. A *variant* is one run of the group's kernel: the
sizes that its masks let through, and whether a result overlaps an input.

A group that does not compile is halved until the cases that are to blame stand alone, so no case
hides another. All arrays of a run lie in one block of memory whose other bytes must stay as they
are: what a mask keeps out, and the gaps between the arrays.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from generate import module
from kinds import Kind, decode
from runner import As, Program, compile_kernel
from triton_jit_cpu import toolchain
from triton_jit_cpu.errors import CompilerFailed

GUARD = 0xA5


@dataclass(frozen=True)
class Variant:
    """One run: how much of each dimension the mask lets through (None: all of it)."""

    name: str = "full"
    limits: tuple[int, ...] | None = None
    overlap: bool = False  # a result lies on an input, one element further


FULL = Variant()
OVERLAP = Variant("overlap", overlap=True)


@dataclass
class Input:
    """An array that a kernel reads, in memory form."""

    kind: Kind
    array: np.ndarray


@dataclass
class Case:
    """One result. ``code`` is an expression, maybe behind statements, or statements that store to {o}."""

    name: str
    code: str
    kind: Kind
    want: Callable[[Any], Any]  # from the inputs (attributes) and .limits; in memory form
    shape: tuple[int, ...] | None = None  # of the result; None: the group's, under its mask
    check: Callable[[Kind, np.ndarray, np.ndarray], Any] | None = None  # None: the same bits
    xfail: str = ""


@dataclass(eq=False)
class Group:
    """Cases that share a kernel.

    A group of shape () works on scalars: every program of the grid on its own element.
    """

    name: str
    shape: tuple[int, ...]
    inputs: dict[str, Input]
    cases: list[Case]
    variants: tuple[Variant, ...] = (FULL,)
    load: str = "LOAD"  # "": the cases load themselves, from p_<name>
    head: str = ""  # statements behind the loads
    helpers: str = ""  # functions beside the kernel
    also: tuple[tuple[int, ...], ...] = ()  # further shapes of which the head uses at_<shape>
    grid: tuple[int, ...] = (1,)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def masked(self) -> bool:
        """Are there variants with limits?"""
        return any(v.limits is not None for v in self.variants)

    @property
    def extent(self) -> tuple[int, ...]:
        """The shape of a result in memory."""
        return self.shape or self.grid


def index(shape: tuple[int, ...], axis: int) -> str:
    """The positions along one axis, shaped to broadcast."""
    if len(shape) == 1:
        return f"tl.arange(0, {shape[0]})"
    place = ", ".join(":" if d == axis else "None" for d in range(len(shape)))
    return f"tl.arange(0, {shape[axis]})[{place}]"


def flat(shape: tuple[int, ...]) -> str:
    """The row-major position of every element of a tile; of a program for scalars."""
    if not shape:
        return "pid"
    terms, stride = [], 1
    for axis in reversed(range(len(shape))):
        terms.append(index(shape, axis) + (f" * {stride}" if stride > 1 else ""))
        stride *= shape[axis]
    return " + ".join(reversed(terms))


def at(shape: tuple[int, ...]) -> str:
    """The variable that holds flat(shape)."""
    return "at_" + "x".join(map(str, shape))


def source(group: Group, cases: list[Case]) -> str:
    """The kernel for some of a group's cases."""
    limits = [f"n{i}" for i in range(len(group.shape))] if group.masked else []
    names = [f"p_{n}" for n in group.inputs] + [f"o{i}" for i in range(len(cases))] + limits
    body = ["pid = tl.program_id(0)"]
    results = [c.shape for c in cases if c.shape and "{o}" not in c.code]
    shapes = dict.fromkeys([group.shape, *group.also, *results])
    body += [f"{at(s)} = {flat(s)}" for s in shapes]
    mask = ""
    if group.masked:
        body.append("mask = " + " & ".join(f"({index(group.shape, i)} < n{i})" for i in range(len(limits))))
        mask = ", mask=mask"
    if group.load:
        body += [f"{n} = tl.load(p_{n} + {at(group.shape)}{mask})" for n in group.inputs]
    body += textwrap.dedent(group.head).strip("\n").splitlines()
    for number, case in enumerate(cases):
        *statements, last = textwrap.dedent(case.code).strip("\n").replace("{o}", f"o{number}").splitlines()
        if "{o}" not in case.code:
            place = at(case.shape) if case.shape else at(group.shape) if case.shape is None else "0"
            last = f"tl.store(o{number} + {place}, {last}{mask if case.shape is None else ''})"
        body += [*statements, last]
    head = f"@triton.jit\ndef kernel({', '.join(names)}):\n"
    return textwrap.dedent(group.helpers) + "\n\n" + head + "\n".join("    " + line for line in body) + "\n"


class Part:
    """A compiled kernel with some of a group's cases, or the reason why it does not compile."""

    def __init__(self, group: Group, cases: list[Case]) -> None:
        self.group, self.cases = group, cases
        self.error: Exception | None = None
        self.warnings = ""
        self.program: Program | None = None
        try:
            self.program = self.compile(True)
        except CompilerFailed as error:
            self.warnings = str(error)
            try:
                self.program = self.compile(False)
            except Exception as second:
                self.error = second
        except Exception as error:
            self.error = error

    def compile(self, strict: bool) -> Program:
        """Compiles the kernel, with warnings taken for errors if strict."""
        kernel = module(source(self.group, self.cases)).kernel
        args: dict[str, Any] = {f"p_{n}": As("*" + i.kind.pointer, None) for n, i in self.group.inputs.items()}
        args |= {f"o{i}": As("*" + c.kind.pointer, None) for i, c in enumerate(self.cases)}
        if self.group.masked:
            args |= {f"n{i}": As("i32", None) for i in range(len(self.group.shape))}
        flags = toolchain.FLAGS
        if strict:
            toolchain.FLAGS = strict_flags(flags)
        try:
            return compile_kernel(kernel, args, **({"sanitize_overflow": False} | self.group.options))[0]
        finally:
            toolchain.FLAGS = flags

    def run(self, variant: Variant) -> dict[str, Any]:
        """Results of a run by case; an exception where the program failed."""
        memory = Memory(self.group, self.cases, variant)
        values = [*memory.pointers]
        if self.group.masked:
            values += variant.limits or self.group.shape
        assert self.program is not None
        rc = self.program.run(self.group.grid, values)
        if rc != 0:
            return {c.name: RuntimeError(f"the program failed: {self.program.failures}") for c in self.cases}
        return memory.results()


def strict_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """The toolchain's flags, with warnings as errors."""
    return (*(f for f in flags if f != "-w"), "-Wall", "-Wextra", "-Werror")


class Memory:
    """One block of memory with all arrays of a run."""

    def __init__(self, group: Group, cases: list[Case], variant: Variant) -> None:
        self.group, self.cases, self.variant = group, cases, variant
        sizes = [i.array.nbytes for i in group.inputs.values()]
        self.shapes = [group.extent if c.shape is None else c.shape for c in cases]
        sizes += [int(np.prod(s)) * np.dtype(c.kind.store).itemsize for s, c in zip(self.shapes, cases)]
        # Whole cache lines, at least 64 bytes of gap.
        starts = np.cumsum([64] + [(n + 64 + 63) // 64 * 64 for n in sizes])
        self.block = np.full(int(starts[-1]) + 128, GUARD, np.uint8)
        skew = -self.block.ctypes.data % 64
        self.starts = [int(s) + skew for s in starts[:-1]]
        for start, given in zip(self.starts, group.inputs.values()):
            self.block[start : start + given.array.nbytes] = np.ascontiguousarray(given.array).view(np.uint8).ravel()
        self.victim = -1
        if variant.overlap:
            first = next(iter(group.inputs.values()))
            for number, case in enumerate(cases):
                if case.shape is None and np.dtype(case.kind.store).itemsize == first.array.itemsize:
                    self.victim = number
            if self.victim >= 0:
                self.starts[len(group.inputs) + self.victim] = self.starts[0] + first.array.itemsize
        self.before = self.block.copy()
        base = self.block.ctypes.data
        self.pointers = [base + s for s in self.starts]

    def results(self) -> dict[str, Any]:
        """The results; an exception for all if a byte changed that no result covers."""
        out: dict[str, Any] = {}
        left = self.block.copy()
        for number, case in enumerate(self.cases):
            start = self.starts[len(self.group.inputs) + number]
            shape = self.shapes[number]
            array = np.frombuffer(self.block, case.kind.store, int(np.prod(shape)), start).reshape(shape).copy()
            written = left[start : start + array.nbytes].reshape(*shape, -1)
            old = self.before[start : start + array.nbytes].reshape(*shape, -1)
            if case.shape is None and self.variant.limits is not None:
                window = tuple(slice(0, n) for n in self.variant.limits)
                array = array[window]
                written[window] = old[window]
            else:
                written[...] = old
            out[case.name] = array
        if not np.array_equal(left, self.before):
            where = np.flatnonzero(left != self.before)
            names = [f"p_{n}" for n in self.group.inputs] + [f"o{i} ({c.name})" for i, c in enumerate(self.cases)]
            places = {max((s, n) for s, n in zip(self.starts, names) if s <= w)[1] for w in where[:50]}
            problem = AssertionError(f"{len(where)} bytes written that no result covers, in or behind {places}")
            return {c.name: problem for c in self.cases}
        return out


@cache
def parts(group: Group) -> list[Part]:
    """A group's kernels: one, or more where it does not compile as a whole."""

    def build(cases: list[Case]) -> list[Part]:
        made = Part(group, cases)
        if made.error is None or len(cases) == 1:
            return [made]
        half = len(cases) // 2
        return build(cases[:half]) + build(cases[half:])

    return build(group.cases)


@cache
def results(group: Group, variant: Variant) -> dict[str, Any]:
    """All results of a variant by the names of the cases."""
    out: dict[str, Any] = {}
    for part in parts(group):
        out |= {c.name: part.error for c in part.cases} if part.error else part.run(variant)
    return out


def check_case(group: Group, case: Case, variant: Variant) -> None:
    """Fails if the result of a case is not what it should be."""
    got = results(group, variant)[case.name]
    if isinstance(got, Exception):
        raise got
    limits = variant.limits or group.extent
    given = SimpleNamespace(limits=limits, **{n: i.array for n, i in group.inputs.items()})
    with np.errstate(all="ignore"):
        want = np.asarray(case.want(given))
    if case.shape is None and variant.limits is not None:
        want = want[tuple(slice(0, n) for n in variant.limits)]
    want = np.broadcast_to(want, got.shape)
    (case.check or same)(case.kind, got, want)


def check_warnings(group: Group, compiler: str) -> None:
    """Fails if a compiler says something about the C of a group."""
    for part in parts(group):
        if compiler == "cc":
            assert not part.warnings, part.warnings
        elif part.program is not None:
            flags = [f for f in strict_flags(toolchain.FLAGS) if f not in ("-shared", "-fPIC")]
            done = subprocess.run(
                [compiler, *flags, "-fsyntax-only", "-x", "c", "-"], input=part.program.c.encode(), capture_output=True
            )
            assert done.returncode == 0, done.stderr.decode("utf-8", "replace")


def other_compilers(group: Group) -> list[str]:
    """gcc and clang, unless it is the one that compiles the kernels anyhow. For every fourth group
    only, which is one of each family, unless TJ_TEST_ALL asks for all: a minute of each version's time."""
    if not os.environ.get("TJ_TEST_ALL") and zlib.crc32(group.name.encode()) % 4:
        return []
    usual = os.path.realpath(toolchain.find_compiler().command[0])
    found = {name: shutil.which(name) for name in ("gcc", "clang")}
    return [name for name, path in found.items() if path and os.path.realpath(path) != usual]


def cases(groups: Iterable[Group]) -> Any:
    """The decorator that makes one test of each case and variant, and of each group's C."""
    params = []
    for group in groups:
        assert len({c.name for c in group.cases}) == len(group.cases), f"{group.name}: two cases of one name"
        for variant in group.variants:
            for case in group.cases:
                marks = [pytest.mark.xfail(strict=True, reason=case.xfail)] if case.xfail else []
                name = f"{group.name}-{case.name}-{variant.name}"
                params.append(pytest.param(check_case, (group, case, variant), id=name, marks=marks))
        for compiler in ["cc", *other_compilers(group)]:
            params.append(pytest.param(check_warnings, (group, compiler), id=f"{group.name}-warnings-{compiler}"))
    return pytest.mark.parametrize("check,arguments", params)


# Comparisons


def _report(kind: Kind, got: np.ndarray, want: np.ndarray, bad: np.ndarray) -> str:
    places = np.argwhere(bad)
    lines = [f"{len(places)} of {bad.size} elements of {kind} differ"]
    for place in places[:8]:
        here = tuple(int(i) for i in place)
        values = [decode(kind, np.asarray(x[here])) for x in (got, want)]
        raw = [np.asarray(x[here]).tobytes()[::-1].hex() for x in (got, want)]
        lines.append(f"  {here}: got {values[0]} ({raw[0]}), want {values[1]} ({raw[1]})")
    return "\n".join(lines)


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def bitwise(kind: Kind, got: np.ndarray, want: np.ndarray) -> None:
    """The same bits, also of NaN."""
    want = want.astype(got.dtype)
    bad = _bits(got) != _bits(want)
    assert not bad.any(), _report(kind, got, want, bad)


def same(kind: Kind, got: np.ndarray, want: np.ndarray) -> None:
    """The same bits, but any NaN is as good as another."""
    with np.errstate(all="ignore"):
        want = want.astype(got.dtype)
    bad = _bits(got) != _bits(want)
    if not kind.integer:
        bad &= ~(np.isnan(decode(kind, got)) & np.isnan(decode(kind, want)))
    assert not bad.any(), _report(kind, got, want, bad)


def equal(kind: Kind, got: np.ndarray, want: np.ndarray) -> None:
    """Equal numbers: both zeros are one, and so are all NaN."""
    a, b = decode(kind, got), decode(kind, want)
    bad = ~((a == b) | ((a != a) & (b != b)))
    assert not bad.any(), _report(kind, got, want, bad)


def order(kind: Kind, array: np.ndarray) -> np.ndarray:
    """Codes of floating-point numbers as integers in the order of the numbers."""
    bits = _bits(array).astype(np.uint64).astype(object)
    half = 1 << (8 * array.dtype.itemsize - 1)
    return np.where(bits >= half, half - bits, bits)


def ulp(limit: float) -> Callable[[Kind, np.ndarray, np.ndarray], None]:
    """At most so many steps between neighbours away from a double, in the steps of the type at that double."""

    def check(kind: Kind, got: np.ndarray, want: np.ndarray) -> None:
        exact = want.astype(np.float64 if want.dtype != np.longdouble else np.longdouble)
        x = decode(kind, got).astype(exact.dtype)
        with np.errstate(all="ignore"):
            exponent = np.floor(np.log2(np.abs(exact)))
            exponent = np.where(np.isfinite(exponent), exponent, 0)
            step = 2.0 ** np.maximum(exponent, 1 - kind.bias).astype(np.float64) * 2.0**-kind.mantissa
            top = (2 - 2.0**-kind.mantissa) * 2.0**kind.bias
            bad = ~(np.abs(x - exact) <= limit * step)
            bad &= ~((x == exact) | ((x != x) & (exact != exact)))
            # Within the limit of overflow, infinity and the largest number are neighbours.
            bad &= ~(np.isinf(x) & (np.abs(exact) > top - limit * step) & (np.sign(x) == np.sign(exact)))
            bad &= ~(np.isinf(exact) & (np.abs(x) >= top) & (np.sign(x) == np.sign(exact)) & (limit > 0))
        assert not bad.any(), _report(kind, got, want.astype(got.dtype) if kind.store != np.uint16 else got, bad)

    return check


def close(rtol: float, atol: float = 0.0) -> Callable[[Kind, np.ndarray, np.ndarray], None]:
    """Within a relative and an absolute bound of a double."""

    def check(kind: Kind, got: np.ndarray, want: np.ndarray) -> None:
        x = decode(kind, got)
        np.testing.assert_allclose(x, want.astype(np.float64), rtol=rtol, atol=atol)

    return check
