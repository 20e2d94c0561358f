# SPDX-License-Identifier: Apache-2.0
"""Products of microscaled operands: every format, kind of scale and way of packing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import triton
from dot_operands import check, operand
from generate import module
from runner import As, compile_kernel, launch
from test_narrow import table

RNG = np.random.default_rng(11)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
M, N, K = 32, 16, 64
NEW = tuple(int(n) for n in triton.__version__.split(".")[:2]) >= (3, 7)


@dataclass(frozen=True)
class Side:
    """One operand: its format, its scales ("e8m0", "e4m3" or none), and whether fp4 is packed along K."""

    format: str
    scale: str = "e8m0"
    k_pack: bool = True

    @property
    def group(self) -> int:
        return 16 if self.scale == "e4m3" else 32


@dataclass
class Made:
    """Arguments of one side and the values that they stand for, as [rows or columns, K]."""

    value: object
    scale: object
    numbers: np.ndarray


def made(side: Side, rows: int, depth: int = K) -> Made:
    """Random data; `value` lies as [rows, K], packed where the format is."""
    if side.format == "e2m1":
        codes = RNG.integers(0, 16, (rows, depth)).astype(np.uint8)
        numbers = E2M1[codes]
        low, high = (codes[:, 0::2], codes[:, 1::2]) if side.k_pack else (codes[0::2], codes[1::2])
        value: object = low | high << 4
    else:
        kind = {"e4m3": "float8e4nv", "e5m2": "float8e5", "bf16": "bf16", "fp16": "f16"}[side.format]
        value, numbers = operand(RNG, kind, (rows, depth))
    if side.scale == "e8m0":
        bits = RNG.integers(120, 134, (rows, depth // 32)).astype(np.uint8)
        return Made(value, bits, numbers * np.repeat(2.0 ** (bits.astype(float) - 127), 32, 1))
    if side.scale == "e4m3":
        bits = RNG.integers(8, 0x60, (rows, depth // 16)).astype(np.uint8)
        return Made(value, As("*fp8e4nv", bits), numbers * np.repeat(table("float8e4nv")[bits], 16, 1))
    return Made(value, np.zeros(1, np.uint8), numbers)


def text(cases: list[tuple[Side, Side]]) -> str:
    """A kernel with all cases one after the other, each with arguments of its own."""
    names = [f"a{i}, sa{i}, b{i}, sb{i}" for i in range(len(cases))]
    lines = ["@triton.jit", f"def kernel(o, {', '.join(names)}):"]
    at = f"tl.arange(0, {M})[:, None] * {N} + tl.arange(0, {N})[None, :]"
    for i, (a, b) in enumerate(cases):
        rows, deep = (M, K // 2) if a.k_pack and a.format == "e2m1" else (M // 2 if not a.k_pack else M, K)
        lines.append(f"    x = tl.load(a{i} + tl.arange(0, {rows})[:, None] * {deep} + tl.arange(0, {deep})[None, :])")
        columns, deep = (N, K // 2) if b.k_pack and b.format == "e2m1" else (N // 2 if not b.k_pack else N, K)
        lines.append(
            f"    y = tl.load(b{i} + tl.arange(0, {columns})[None, :] * {deep} + tl.arange(0, {deep})[:, None])"
        )
        scales = []
        for name, side, count in ((f"sa{i}", a, M), (f"sb{i}", b, N)):
            groups = K // side.group
            where = f"{name} + tl.arange(0, {count})[:, None] * {groups} + tl.arange(0, {groups})[None, :]"
            scales.append(f"tl.load({where})" if side.scale else "None")
        lines.append(
            f"    z = tl.dot_scaled(x, {scales[0]}, '{a.format}', y, {scales[1]}, '{b.format}', fast_math={i % 2 == 1},"
            f" lhs_k_pack={a.k_pack}, rhs_k_pack={b.k_pack})"
        )
        lines.append(f"    tl.store(o + {i * M * N} + {at}, z)")
    return "\n".join(lines) + "\n"


def run(cases: list[tuple[Side, Side]], change=lambda left, right: None):
    """Runs the cases; yields the values of both operands and the result of each."""
    sides = [(made(a, M), made(b, N)) for a, b in cases]
    for left, right in sides:
        change(left, right)
    args = {}
    for i, (left, right) in enumerate(sides):
        args |= {f"a{i}": left.value, f"sa{i}": left.scale, f"b{i}": right.value, f"sb{i}": right.scale}
    o = np.zeros((len(cases), M, N), np.float32)
    launch(module(text(cases)).kernel, (1,), o=o, **args)
    return [(left.numbers, right.numbers.T, o[i]) for i, (left, right) in enumerate(sides)]


FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]


@pytest.mark.parametrize("part", [0, 1])
def test_formats(part):
    """Every pair of formats, both with scales of powers of two."""
    pairs = [(Side(a), Side(b)) for a in FORMATS for b in FORMATS][part::2]
    for left, right, got in run(pairs):
        check(got, left, right)


def test_missing_scales_and_packing():
    cases = [
        (Side("e4m3", ""), Side("e5m2")),
        (Side("e2m1"), Side("bf16", "")),
        (Side("e2m1", "", False), Side("e2m1", "e8m0", False)),
        (Side("e2m1", "e8m0", False), Side("e4m3", "")),
        (Side("fp16", ""), Side("e2m1", "e8m0", False)),
    ]
    for left, right, got in run(cases):
        check(got, left, right)


def test_scales_of_e4m3():
    """nvfp4 and its like: groups of 16 with scales that have a mantissa."""
    cases = [(Side("e2m1", "e4m3"), Side("e2m1", "e4m3")), (Side("e2m1", "e4m3", False), Side("e2m1", "e4m3"))]
    if NEW:
        cases += [(Side("e4m3", "e4m3"), Side("e2m1", "e4m3"))]
    for left, right, got in run(cases):
        check(got, left, right)


def test_operands_that_stay_packed(monkeypatch):
    """The same numbers where operands of a product stay bf16."""
    monkeypatch.setenv("TRITON_JIT_CC", "cc -DTJ_DOT_PACKED=1")
    cases = [
        (Side("e2m1"), Side("e4m3")), (Side("e2m1", "e4m3"), Side("e2m1", "e4m3")), (Side("bf16"), Side("e5m2")),
    ]  # fmt: skip
    for left, right, got in run(cases):
        check(got, left, right)


def test_scale_that_is_nan():
    """0xFF makes its group NaN, and with it the row or column."""

    def spoil(left, right):
        left.scale[3, 1] = 0xFF
        right.scale[5, 0] = 0xFF

    for left, right, got in run([(Side("e2m1"), Side("e4m3")), (Side("bf16"), Side("fp16"))], spoil):
        bad = np.zeros((M, N), bool)
        bad[3, :] = bad[:, 5] = True
        np.testing.assert_array_equal(np.isnan(got), bad)
        rows, columns = [r for r in range(M) if r != 3], [c for c in range(N) if c != 5]
        check(got[np.ix_(rows, columns)], left[rows], right[:, columns])


def test_scales_at_the_ends_of_their_range():
    """2^-125 and 2^125 are exact: the numbers times their scales fit float. (Where the machine
    multiplies bf16, what is below 2^-126 may count as zero.)"""

    def stretch(left, right):
        for side, exponent in ((left, 2), (right, 252)):
            old = 2.0 ** (np.asarray(side.scale).astype(float) - 127)
            side.numbers = side.numbers / np.repeat(old, 32, 1) * 2.0 ** (exponent - 127)
            side.scale[:] = exponent

    for left, right, got in run([(Side("e2m1"), Side("e2m1"))], stretch):
        check(got, left, right)


BATCHED = """
@triton.jit
def kernel(a, sa, b, sb, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    n = tl.arange(0, B)[:, None, None]
    i = tl.arange(0, M)[None, :, None]
    j = tl.arange(0, N)[None, :, None]
    k = tl.arange(0, K)[None, None, :]
    g = tl.arange(0, K // 32)[None, None, :]
    x = tl.load(a + n * M * K + i * K + k)
    y = tl.trans(tl.load(b + n * N * K + j * K + k), 0, 2, 1)
    p = tl.load(sa + n * M * (K // 32) + i * (K // 32) + g)
    q = tl.load(sb + n * N * (K // 32) + j * (K // 32) + g)
    at = n * M * N + i * N + tl.arange(0, N)[None, None, :]
    acc = tl.load(o + at)
    tl.store(o + at, tl.dot_scaled(x, p, "e4m3", y, q, "e5m2", acc))


@triton.jit
def loop(a, sa, b, sb, o, T: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[:, None]
    acc = tl.zeros((M, N), tl.float32)
    for t in range(T):
        half = t * (K // 2) + tl.arange(0, K // 2)
        g = t * (K // 32) + tl.arange(0, K // 32)[None, :]
        x = tl.load(a + i * (T * K // 2) + half[None, :])
        y = tl.load(b + tl.arange(0, N)[None, :] * (T * K // 2) + half[:, None])
        p = tl.load(sa + i * (T * K // 32) + g)
        q = tl.load(sb + j * (T * K // 32) + g)
        acc = tl.dot_scaled(x, p, "e2m1", y, q, "e2m1", acc)
    tl.store(o + i * N + tl.arange(0, N)[None, :], acc)
"""


@pytest.mark.skipif(not NEW, reason="Triton 3.6 wants scales without a batch dimension and then refuses them")
def test_batched():
    sides = [(made(Side("e4m3"), M), made(Side("e5m2"), N)) for _ in range(4)]
    arrays = [
        np.stack([x.value.value for x, _ in sides]), np.stack([x.scale for x, _ in sides]),
        np.stack([y.value.value for _, y in sides]), np.stack([y.scale for _, y in sides]),
    ]  # fmt: skip
    start = RNG.standard_normal((4, M, N)).astype(np.float32)
    o = start.copy()
    launch(
        module(BATCHED).kernel, (1,), a=As("*fp8e4nv", arrays[0]), sa=arrays[1], b=As("*fp8e5", arrays[2]),
        sb=arrays[3], o=o, B=4, M=M, N=N, K=K,
    )  # fmt: skip
    for i, (left, right) in enumerate(sides):
        check(o[i], left.numbers, right.numbers.T, start[i].astype(np.float64))


def test_sum_over_a_loop_stays_in_place():
    left, right = made(Side("e2m1"), M, 4 * K), made(Side("e2m1"), N, 4 * K)
    o = np.zeros((M, N), np.float32)
    args = {"a": left.value, "sa": left.scale, "b": right.value, "sb": right.scale, "o": o}
    program = launch(module(BATCHED).loop, (1,), **args, T=4, M=M, N=N, K=K)
    check(o, left.numbers, right.numbers.T)
    # Zeroed, summed, and written out: nothing copies it.
    assert program.c.count("restrict const acc") == 3


@pytest.mark.parametrize("name", ["e2m3", "e3m2"])
def test_six_bits_cannot_be_written(name):
    """No front end takes the formats of six bits, so no lowering can meet them."""
    side = made(Side("e4m3"), M), made(Side("e4m3"), N)
    source = text([(Side("e4m3"), Side("e4m3"))]).replace("'e4m3'", f"'{name}'")
    args = {"a0": side[0].value, "sa0": side[0].scale, "b0": side[1].value, "sb0": side[1].scale}
    with pytest.raises(triton.CompilationError, match=f"{name}|Invalid float format"):
        compile_kernel(module(source).kernel, {"o": np.zeros((M, N), np.float32), **args})
