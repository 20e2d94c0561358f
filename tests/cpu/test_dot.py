# SPDX-License-Identifier: Apache-2.0
"""Products of tiles: all types, sizes down to 1, batches, every order in memory, loops over K."""

import itertools
import platform

import numpy as np
import pytest
import triton.language as tl
from dot_operands import check, operand
from generate import module
from runner import As, bf16_bits, bf16_value, compile_kernel, launch
from test_narrow import FP8

RNG = np.random.default_rng(7)

# Rows, columns, depth, and whether the operands lie turned in memory.
CASES = [
    (4, 32, 8, True, True), (32, 16, 64, False, False), (1, 4, 2, False, True), (2, 16, 1, True, False),
    (1, 1, 1, False, False), (4, 1, 4, False, False), (16, 16, 16, True, False), (32, 8, 64, False, True),
    (64, 64, 32, True, False), (8, 2, 128, False, False), (2, 64, 16, False, True),
]  # fmt: skip
FEW = CASES[:4]


def cases_kernel(cases, options=""):
    """A kernel that does all cases, every second one with a sum to start from."""
    lines = ["@triton.jit", "def kernel(a, b, c, o, ACC: tl.constexpr):"]
    for number, (m, n, k, ta, tb) in enumerate(cases):
        x = f"a + tl.arange(0, {m})[:, None] * {k} + tl.arange(0, {k})[None, :]"
        y = f"b + tl.arange(0, {k})[:, None] * {1 if tb else n} + tl.arange(0, {n})[None, :] * {k if tb else 1}"
        if ta:
            x = f"a + tl.arange(0, {k})[:, None] * {m} + tl.arange(0, {m})[None, :]"
        at = f"tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :]"
        start = f"tl.load(c + {at}), " if number % 2 == 0 else ""
        lines += [
            f"    x = tl.load({x})",
            *(["    x = tl.trans(x)"] if ta else []),
            f"    tl.store(o + {at}, tl.dot(x, tl.load({y}), {start}out_dtype=ACC{options}))",
            f"    a += {m * k}\n    b += {k * n}\n    c += {m * n}\n    o += {m * n}",
        ]
    return module("\n".join(lines) + "\n").kernel


def run_cases(cases, kind_a, kind_b, acc, number, options="", rng=RNG):
    """Runs all cases and gives each one's operands and start as the kernel sees them, and its result."""
    a, va = operand(rng, kind_a, (sum(m * k for m, _, k, _, _ in cases),))
    b, vb = operand(rng, kind_b, (sum(k * n for _, n, k, _, _ in cases),))
    c = (rng.standard_normal(sum(m * n for m, n, _, _, _ in cases)) * 10).astype(number)
    o = np.zeros_like(c)
    launch(cases_kernel(cases, options), (1,), a=a, b=b, c=c, o=o, ACC=acc)
    at = [0, 0, 0]
    for i, (m, n, k, ta, tb) in enumerate(cases):
        x = va[at[0] : at[0] + m * k].reshape((k, m) if ta else (m, k))
        y = vb[at[1] : at[1] + k * n].reshape((n, k) if tb else (k, n))
        part = slice(at[2], at[2] + m * n)
        start = c[part].reshape(m, n).astype(np.float64) if i % 2 == 0 else np.zeros((m, n))
        yield (x.T if ta else x), (y.T if tb else y), start, o[part].reshape(m, n)
        at = [at[0] + m * k, at[1] + k * n, at[2] + m * n]


TYPES = [
    ("f32", "f32", tl.float32, np.float32),
    ("f64", "f64", tl.float64, np.float64),
    ("f16", "f16", tl.float32, np.float32),
    ("bf16", "bf16", tl.float32, np.float32),
    ("int8", "int8", tl.int32, np.int32),
    *((name, name, tl.float32, np.float32) for name in FP8),
    ("float8e5", "float8e4nv", tl.float32, np.float32),
    ("float8e4b8", "float8e5b16", tl.float32, np.float32),
    ("float8e4b15", "float8e5", tl.float32, np.float32),
]


def check_cases(cases, kind_a, kind_b, acc, number):
    for a, b, c, got in run_cases(cases, kind_a, kind_b, acc, number):
        check(got, a, b, c)


@pytest.mark.parametrize("kind_a,kind_b,acc,number", TYPES)
def test_types(kind_a, kind_b, acc, number):
    check_cases(CASES if kind_a in ("f32", "bf16", "int8") else FEW[:2], kind_a, kind_b, acc, number)


@pytest.mark.parametrize("kind,cases", [("bf16", CASES), ("int8", CASES), ("float8e5", FEW[:2])])
def test_operands_that_stay_packed(kind, cases, monkeypatch):
    """What machines do that multiply bf16 and int8 themselves, with the plain kernels."""
    monkeypatch.setenv("TRITON_JIT_CC", "cc -DTJ_DOT_PACKED=1")
    check_cases(cases, kind, kind, *((tl.int32, np.int32) if kind == "int8" else (tl.float32, np.float32)))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the switches are those of x86-64 compilers")
@pytest.mark.parametrize("kind", ["f32", "int8"])
def test_machine_without_vector_extensions(kind, monkeypatch):
    monkeypatch.setenv("TRITON_JIT_CC", "cc -mno-avx -mno-fma")
    check_cases(FEW, kind, kind, *((tl.int32, np.int32) if kind == "int8" else (tl.float32, np.float32)))


@pytest.mark.parametrize("kind", ["f16", "float8e5"])
def test_f16_sum(kind):
    """The sum is formed in float and rounded once."""
    for a, b, c, got in run_cases(FEW[:2], kind, kind, tl.float16, np.float16):
        want, size = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
        bound = 2.0**-11 * np.abs(want) + (a.shape[1] + 1) * 2.0**-24 * size + 2.0**-25
        assert np.all(np.abs(got.astype(np.float64) - want) <= bound)


def test_f64_sum_of_narrow_operands():
    """Only with a sum to start from: without one, Triton's front end itself makes bad IR of it."""
    for kind in ("f16", "float8e5"):
        for a, b, c, got in run_cases(CASES[:1], kind, kind, tl.float64, np.float64):
            check(got, a, b, c)


def test_input_precision_is_at_least_what_was_asked_for():
    """Every input precision gives the plain product."""

    def results(precision):
        options = f', input_precision="{precision}"'
        return [
            r[3] for r in run_cases(FEW[:1], "f32", "f32", tl.float32, np.float32, options, np.random.default_rng(1))
        ]

    want = results("ieee")
    for precision in ("tf32", "tf32x3", "bf16x3", "bf16x6"):
        for x, y in zip(want, results(precision)):
            np.testing.assert_array_equal(x, y)


def test_imprecise_sums_are_precise():
    options = ", max_num_imprecise_acc=1"
    for a, b, c, got in run_cases(FEW[:1], "float8e5", "float8e5", tl.float32, np.float32, options):
        check(got, a, b, c)


MORE = """
@triton.jit
def batched(a, b, c, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr):
    n = tl.arange(0, B)[:, None, None]
    x = tl.load(a + n * M * K + tl.arange(0, M)[None, :, None] * K + tl.arange(0, K)[None, None, :])
    y = tl.load(b + n * K * N + tl.arange(0, N)[None, :, None] * K + tl.arange(0, K)[None, None, :])
    at = n * M * N + tl.arange(0, M)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    tl.store(o + at, tl.dot(x, tl.trans(y, 0, 2, 1), tl.load(c + at), out_dtype=ACC))
    wide = tl.reshape(x, (B // 2, 2, M, K))
    other = tl.reshape(tl.trans(y, 0, 2, 1), (B // 2, 2, K, N))
    tl.store(o + B * M * N + at, tl.reshape(tl.dot(wide, other, out_dtype=ACC), (B, M, N)))


@triton.jit
def chained(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    y = tl.dot(x, x)
    z = tl.dot(y, x, y)             # the sum is also an operand
    w = tl.dot(tl.trans(z), x, tl.trans(z))
    tl.store(o + at, w)
    acc = x
    for _ in range(3):
        acc = tl.dot(acc * 0.5, x, tl.trans(acc))
    tl.store(o + N * N + at, acc)


@triton.jit
def matmul(a, b, c, M, N, K, am: tl.constexpr, ak: tl.constexpr, bk: tl.constexpr, bn: tl.constexpr,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    x = a + i[:, None] * am + k[None, :] * ak
    y = b + k[:, None] * bk + j[None, :] * bn
    acc = tl.zeros((BM, BN), ACC)
    for start in range(0, K, BK):
        p = tl.load(x, mask=(i[:, None] < M) & (k[None, :] + start < K), other=0)
        q = tl.load(y, mask=(k[:, None] + start < K) & (j[None, :] < N), other=0)
        acc = tl.dot(p, q, acc, out_dtype=ACC)
        x += BK * ak
        y += BK * bk
    tl.store(c + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def rows_of_a_table(table, rows, b, c, T: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    k = tl.arange(0, K)
    j = tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for t in range(T):
        row = tl.load(rows + t * M + i)
        x = tl.load(table + row[:, None] * K + k[None, :])
        acc = tl.dot(x, tl.load(b + (t * K + k[:, None]) * N + j[None, :]), acc)
    tl.store(c + i[:, None] * N + j[None, :], acc)


@triton.jit
def softmax_product(q, k, v, o, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.arange(0, BN)
    d = tl.arange(0, D)
    query = tl.load(q + i[:, None] * D + d[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        key = tl.load(k + (start + j[None, :]) * D + d[:, None])
        s = tl.where(start + j[None, :] < n, tl.dot(query, key), float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        scale = tl.exp(top - new)
        total = total * scale + tl.sum(p, 1)
        value = tl.load(v + (start + j[:, None]) * D + d[None, :])
        acc = tl.dot(p.to(value.dtype), value, acc * scale[:, None])
        top = new
    tl.store(o + i[:, None] * D + d[None, :], acc / total[:, None])
"""


@pytest.fixture(scope="module")
def kernels():
    return module(MORE)


@pytest.mark.parametrize("kind", ["f32", "int8", "bf16"])
def test_batched(kernels, kind):
    acc, number = (tl.int32, np.int32) if kind == "int8" else (tl.float32, np.float32)
    a, va = operand(RNG, kind, (4, 16, 32))
    b, vb = operand(RNG, kind, (4, 8, 32))
    c = (RNG.standard_normal((4, 16, 8)) * 10).astype(number)
    o = np.zeros((2, 4, 16, 8), number)
    launch(kernels.batched, (1,), a=a, b=b, c=c, o=o, B=4, M=16, N=8, K=32, ACC=acc)
    check(o[0], va, vb.swapaxes(1, 2), c.astype(np.float64))
    check(o[1], va, vb.swapaxes(1, 2))


def test_sum_as_operand(kernels):
    a = RNG.standard_normal((16, 16)).astype(np.float32) * 0.3
    o = np.zeros((2, 16, 16), np.float32)
    launch(kernels.chained, (1,), a=a, o=o, N=16)
    x = a.astype(np.float64)
    y = x @ x
    z = y @ x + y
    np.testing.assert_allclose(o[0], z.T @ x + z.T, rtol=1e-4, atol=1e-5)
    acc = x
    for _ in range(3):
        acc = (acc * 0.5) @ x + acc.T
    np.testing.assert_allclose(o[1], acc, rtol=1e-4, atol=1e-5)


def matmul(kernels, kind, a, va, b, vb, order, block):
    """The tiled product with operands in the orders of memory asked for ("n" rows, "t" columns)."""
    (m, k), n = va.shape, vb.shape[1]
    sums = {"int8": (tl.int32, np.int32), "f64": (tl.float64, np.float64)}
    acc, number = sums.get(kind, (tl.float32, np.float32))
    c = np.zeros((m, n), number)
    am, ak = (k, 1) if order[0] == "n" else (1, m)
    bk, bn = (n, 1) if order[1] == "n" else (1, k)
    grid = (-(-m // block[0]), -(-n // block[1]))
    program = launch(
        kernels.matmul, grid, a=a, b=b, c=c, M=m, N=n, K=k, am=am, ak=ak, bk=bk, bn=bn, BM=block[0], BN=block[1],
        BK=block[2], ACC=acc,
    )  # fmt: skip
    return c, program


@pytest.mark.parametrize("kind,orders", [("f32", "nn nt tn tt"), ("bf16", "nt"), ("int8", "nn tt")])
def test_matmul_in_every_order_of_memory(kernels, kind, orders):
    m, n, k = 77, 101, 90
    for order in orders.split():
        a, va = operand(RNG, kind, (m, k) if order[0] == "n" else (k, m))
        b, vb = operand(RNG, kind, (k, n) if order[1] == "n" else (n, k))
        va, vb = va if order[0] == "n" else va.T, vb if order[1] == "n" else vb.T
        c, _ = matmul(kernels, kind, a, va, b, vb, order, (32, 64, 32))
        check(c, va, vb)


def test_order_of_sums_depends_on_nothing(kernels):
    """The same bits from any tile in any order of memory, as sums run along K one by one."""
    m, n, k = 48, 80, 70
    a, va = operand(RNG, "f32", (m, k))
    b, vb = operand(RNG, "f32", (k, n))
    at, bt = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    want = None
    for (x, y, order), block in itertools.product(((a, b, "nn"), (at, bt, "tt")), ((16, 16, 16), (64, 4, 2))):
        c, _ = matmul(kernels, "f32", x, va, y, vb, order, block)
        want = c if want is None else want
        np.testing.assert_array_equal(c, want)


def test_large_tiles(kernels):
    a, va = operand(RNG, "f32", (256, 512))
    b, vb = operand(RNG, "f32", (512, 256))
    c, program = matmul(kernels, "f32", a, va, b, vb, "nn", (256, 256, 256))
    check(c, va, vb)
    assert program.info.scratch_size < 3 * 2**20


def test_int8_at_the_ends_of_its_range(kernels):
    """No intermediate saturates: 4096 * 128 * 128 is 2^26."""
    a = np.full((16, 4096), -128, np.int8)
    b = np.full((4096, 16), -128, np.int8)
    b[:, 8:] = 127
    c, _ = matmul(kernels, "int8", a, a.astype(np.float64), b, b.astype(np.float64), "nn", (16, 16, 64))
    check(c, a.astype(np.float64), b.astype(np.float64))


def test_special_values(kernels):
    """NaN and infinity stay where they are; subnormal numbers count."""
    a = np.ones((16, 16), np.float32)
    b = np.eye(16, dtype=np.float32)
    a[1, 2], a[3, 4], a[5, 6] = np.nan, np.inf, 1e-42
    c, _ = matmul(kernels, "f32", a, a, b, b, "nn", (16, 16, 16))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(c, a @ b)
    assert c[5, 6] == np.float32(1e-42)


def test_rows_through_a_table(kernels):
    """Operands whose addresses are loaded themselves."""
    table = RNG.standard_normal((50, 32)).astype(np.float32)
    rows = RNG.integers(0, 50, (3, 16)).astype(np.int32)
    b = RNG.standard_normal((3, 32, 16)).astype(np.float32)
    c = np.zeros((16, 16), np.float32)
    launch(kernels.rows_of_a_table, (1,), table=table, rows=rows, b=b, c=c, T=3, M=16, N=16, K=32)
    picked = table[rows].astype(np.float64)
    check(c, np.concatenate(list(picked), axis=1), b.reshape(96, 16).astype(np.float64))


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_attention(kernels, kind):
    n, d = 128, 32
    (q, vq), (k, vk), (v, vv) = (operand(RNG, kind, (n, d)) for _ in range(3))
    o = np.zeros((n, d), np.float32)
    program = launch(kernels.softmax_product, (2,), q=q, k=k, v=v, o=o, n=n, BM=64, BN=32, D=d)
    # The query is brought into the form of an operand once, in front of the loop.
    assert "query[" in program.c.split("start_wide")[0]
    assert "query[" not in program.c.split("start_wide", 1)[1]
    s = vq @ vk.T
    p = np.exp(s - s.max(1, keepdims=True))
    want = p @ vv / p.sum(1, keepdims=True)
    np.testing.assert_allclose(o, want, atol=1e-5 if kind == "f32" else 2e-2)


def test_operand_is_copied_once(kernels):
    """A masked load goes straight into the form that the product reads; the sum stays in place."""
    a = np.zeros((64, 64), np.float32)
    program, _ = compile_kernel(
        kernels.matmul, dict(a=a, b=a, c=a, M=64, N=64, K=64, am=64, ak=1, bk=64, bn=1, BM=64, BN=64, BK=32,
                             ACC=tl.float32)
    )  # fmt: skip
    # The sum, two operands with padded rows, nothing to pack.
    assert program.info.scratch_size <= 4 * (64 * 64 + 64 * 48 + 32 * 80) + 256


def test_bf16_is_rounded_before_it_is_multiplied():
    """A bf16 operand that is computed: the product sees the rounded number."""
    kernel = module("""
@triton.jit
def kernel(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    one = tl.where(i[:, None] == i[None, :], 1.0, 0.0).to(tl.bfloat16)
    tl.store(o + at, tl.dot((x * 3.0).to(tl.bfloat16), one))
""").kernel
    a = RNG.standard_normal((16, 16)).astype(np.float32)
    o = np.zeros((16, 16), np.float32)
    launch(kernel, (1,), a=a, o=o, N=16)
    np.testing.assert_array_equal(o, bf16_value(bf16_bits(a * np.float32(3))))


def test_integer_sums_wrap(kernels):
    kernel = module("""
@triton.jit
def kernel(a, b, c, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at), tl.load(c + at), out_dtype=tl.int32))
""").kernel
    a = np.full((16, 16), 127, np.int8)
    c = np.full((16, 16), 2**31 - 1, np.int32)
    o = np.zeros_like(c)
    launch(kernel, (1,), a=As("*i8", a), b=As("*i8", a), c=c, o=o, N=16)
    assert np.all(o == np.int64(2**31 - 1 + 16 * 127 * 127 - 2**32))
