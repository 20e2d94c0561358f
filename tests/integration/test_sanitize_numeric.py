# SPDX-License-Identifier: Apache-2.0
"""TRITON_JIT_CPU_SANITIZE=numeric: a NaN or infinity that is born and reaches memory is traced to its birth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError, scalar, tensor

SOURCE = Path(__file__).resolve().parent / "kernels" / "sanitize.py"


@pytest.fixture
def traced(tj):
    """``traced("log_of")``: a kernel with the numeric sanitizer."""
    return lambda name: tj.function(SOURCE, name, options={"sanitize": "numeric"})


def births(call) -> list[str]:
    """The message of a call that must be reported, by lines, without its path."""
    with pytest.raises(TritonJitError) as error:
        call()
    assert error.value.name == "E_KERNEL_NUMERIC", error.value
    return [line.replace(f"{SOURCE}:", "LINE ") for line in error.value.message.splitlines()]


def f32(*values):
    return np.array(values, np.float32)


def test_log_of_a_negative_number(traced):
    out = np.zeros(4, np.float32)
    log_of = traced("log_of")
    log_of((1,), tensor(f32(1, 2, 3, 4)), tensor(out), 4, 8)  # -1 in masked lanes
    np.testing.assert_allclose(out, np.log([1, 2, 3, 4]), rtol=1e-6)
    lines = births(lambda: log_of((1,), tensor(f32(1, 2, -3, -4)), tensor(out), 4, 8))
    assert "tl.log(-3) gives NaN" in lines[0] and "program (0, 0, 0), element (2) of the tile" in lines[0]
    assert "tl.store writes it to memory in program (0, 0, 0), element (2)" in lines[2]
    assert lines[1].strip() == lines[3].strip() == "tl.store(out_ptr + offsets, tl.log(x), mask=offsets < n)"
    assert lines[4].startswith("(the first of 2 findings, at 1 place")
    np.testing.assert_array_equal(np.isnan(out), [0, 0, 1, 1])  # nothing is skipped


def test_log_of_zero(traced):
    lines = births(lambda: traced("log_of")((1,), tensor(f32(1, 0)), tensor(np.zeros(2, np.float32)), 2, 8))
    assert "tl.log(0) gives -inf" in lines[0]


def test_exp_overflows(traced):
    out = np.zeros(4, np.float32)
    exp_of = traced("exp_of")
    exp_of((1,), tensor(f32(1, 88, -1000, 4)), tensor(out), 4, 8)
    lines = births(lambda: exp_of((1,), tensor(f32(1, 89, 2, 3)), tensor(out), 4, 8))
    assert "tl.exp(89) gives inf" in lines[0] and "element (1) of the tile" in lines[0]


@pytest.mark.parametrize("x, y, words", [(0, 0, "(0, 0) gives NaN"), (-2, 0, "(-2, 0) gives -inf")])
def test_quotients(traced, x, y, words):
    out = np.zeros(2, np.float32)
    quotient = traced("quotient")
    quotient((1,), tensor(f32(1, 2)), tensor(f32(3, 4)), tensor(out), 2, 8)  # 0 / 0 in masked lanes
    lines = births(lambda: quotient((1,), tensor(f32(1, x)), tensor(f32(3, y)), tensor(out), 2, 8))
    assert f"the division{words}" in lines[0] and "element (1) of the tile" in lines[0]


def test_infinity_minus_infinity(traced):
    out, inf = np.zeros(2, np.float32), np.inf
    difference = traced("difference")
    difference((1,), tensor(f32(inf, np.nan)), tensor(f32(1, inf)), tensor(out), 2, 8)  # they came from memory
    lines = births(lambda: difference((1,), tensor(f32(1, inf)), tensor(f32(1, inf)), tensor(out), 2, 8))
    assert "the subtraction(inf, inf) gives NaN" in lines[0]


def test_what_tl_where_does_not_take(traced):
    out = np.zeros(4, np.float32)
    traced("safe_log")((1,), tensor(f32(1, -2, 0, 4)), tensor(out), 4, 8)
    np.testing.assert_allclose(out, [0, -1, -1, np.log(4)], rtol=1e-6)


def test_through_a_loop_a_branch_and_a_sum(traced):
    out = np.zeros(1, np.float32)
    running = traced("running")
    running((1,), tensor(f32(1, 2, 3, 4)), tensor(out), 5, 4)
    assert out[0] == -(1 + 32 + 243 + 1024)
    lines = births(lambda: running((1,), tensor(f32(1, 2, 1e30, 4)), tensor(out), 5, 4))
    assert "the multiplication(1.00000002e+30, 1.00000002e+30) gives inf" in lines[0]
    assert "element (2) of the tile" in lines[0] and "total = total * x" in lines[1]
    assert "tl.store(out_ptr, tl.sum(total))" in lines[3]
    lines = births(lambda: running((1,), tensor(f32(*[3.3e38] * 4)), tensor(out), 1, 4))
    assert "the reduction gives inf" in lines[0] and "tl.sum(total)" in lines[1]


def test_a_conversion_overflows(traced):
    out = np.zeros(2, np.float16)
    lines = births(lambda: traced("to_half")((1,), tensor(f32(1, 70000)), tensor(out), 2))
    assert "the conversion(70000) gives inf" in lines[0]


def test_a_product_overflows(traced):
    a, b = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32)
    a[3, 5], b[5, 7] = 1e20, 1e20
    out = np.zeros((16, 16), np.float32)
    lines = births(lambda: traced("matmul")((1, 1), *map(tensor, (a, b, out)), 16, 16, 16, 16, 16, 16))
    assert "tl.dot gives inf" in lines[0] and "element (3, 7) of the tile" in lines[0]
    a[3, 5] = np.inf  # this one comes from memory
    traced("matmul")((1, 1), *map(tensor, (a, b, out)), 16, 16, 16, 16, 16, 16)
    assert np.isinf(out[3]).all()


def test_through_functions(traced):
    out = np.zeros(4, np.float32)
    lines = births(lambda: traced("calls")((4,), tensor(f32(1, 2, 0, 4)), tensor(out)))
    assert "the division(1, 0) gives inf" in lines[0] and "return 1.0 / x" in lines[1]
    assert lines[2].endswith("tl.store writes it to memory in program (2, 0, 0)")


def test_through_while_loops_and_early_returns(traced):
    out = np.zeros(1, np.float32)
    branches = traced("branches")

    def call(n, x):
        branches((1,), tensor(f32(x)), tensor(out), scalar("i32", n))

    call(9, 1.0)
    assert out[0] == 0
    call(2, 3.0)
    assert out[0] == 54
    for n, x, words, line in (
        (4, 1.0, "the division(1, 0) gives inf", "return x / 0.0"),
        (0, 1.0, "tl.log(-98) gives NaN", "return tl.log(y - 100.0)"),
        (3, 1e20, "the multiplication(1.00000002e+20, 1.00000002e+20) gives inf", "y = y * x"),
    ):
        lines = births(lambda n=n, x=x: call(n, x))
        assert words in lines[0] and lines[1].strip() == line
