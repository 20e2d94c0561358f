# SPDX-License-Identifier: Apache-2.0
"""Every element type through pointers: copied, converted, calculated with."""

from __future__ import annotations

import formats
import numpy as np
import pytest
from triton_jit_ctypes import DTYPES, TritonJitError, ptr

N = 256


def random_bits(dtype: str, n: int) -> np.ndarray:
    kind = formats.memory_type(dtype)
    bits = np.random.default_rng(n).integers(0, 256, n * kind.itemsize, dtype=np.uint8)
    return (bits & 1).view(np.bool_) if dtype == "u1" else bits.view(kind)


@pytest.mark.parametrize("dtype", formats.ALL)
def test_R010_copy_keeps_every_bit(kernel, dtype):
    n = 777
    x = random_bits(dtype, n)
    out = np.zeros_like(x)
    copy = kernel("elementwise.copy")
    args = (ptr(x, dtype), ptr(out, dtype), n, 256)
    copy((4,), *args)
    assert out.tobytes() == x.tobytes()
    # Triton spells a pointer to booleans as it spells the integer type.
    assert copy.prepare(*args).info["types"].split(",")[:2] in ([f"*{dtype}"] * 2, ["*i1"] * 2)


def test_R010_names_of_dtypes(tj):
    spellings = {
        "u1": ["u1", "i1", "int1", "tl.int1", "torch.bool"],
        "i32": ["i32", "int32", "tl.int32", "torch.int32"],
        "u64": ["u64", "uint64", "tl.uint64", "torch.uint64"],
        "fp16": ["fp16", "float16", "tl.float16", "torch.float16"],
        "bf16": ["bf16", "bfloat16", "tl.bfloat16", "torch.bfloat16"],
        "fp64": ["fp64", "float64", "torch.float64"],
        "fp8e4nv": ["fp8e4nv", "float8e4nv", "tl.float8e4nv", "torch.float8_e4m3fn"],
        "fp8e5": ["fp8e5", "float8e5", "torch.float8_e5m2"],
        "fp8e4b8": ["fp8e4b8", "float8e4b8", "torch.float8_e4m3fnuz"],
        "fp8e5b16": ["fp8e5b16", "float8e5b16", "torch.float8_e5m2fnuz"],
        "fp8e4b15": ["fp8e4b15", "float8e4b15"],
    }
    for name, number in DTYPES.items():
        assert tj.c.tj_dtype_name(number) == name.encode()
        assert tj.c.tj_dtype_from_name(name.encode()) == number
        size = 0 if name == "void" else formats.memory_type(name).itemsize
        assert tj.c.tj_dtype_size(number) == size
    for name, all_spellings in spellings.items():
        for spelling in all_spellings:
            assert tj.c.tj_dtype_from_name(spelling.encode()) == DTYPES[name], spelling
    for unknown in (b"fp4", b"e8m0", b"float8_e8m0fnu", b"", b"*fp32", b"FP16", b"fp16 "):
        assert tj.c.tj_dtype_from_name(unknown) == 0, unknown
    assert tj.c.tj_dtype_name(200) == b"?"
    assert tj.c.tj_dtype_size(200) == 0


def test_R010_dtype_without_a_type(kernel):
    x = np.zeros(16, np.uint8)
    bad = ptr(x)
    bad.dtype = 77
    with pytest.raises(TritonJitError) as error:
        kernel("elementwise.copy")((1,), bad, x, 16, 16)
    assert error.value.name == "E_ARGUMENT_TYPE"
    assert "'x'" in error.value.message and "77" in error.value.message


# Numbers that every type can hold: a source keeps those that it has.
EXACT = np.array([0, 1, 1.5, 0.25, -1, -1.25, 0.5, -0.75] * 4)


def source_numbers(dtype: str) -> np.ndarray:
    values = EXACT
    if dtype in formats.INTEGERS or dtype == "u1":
        values = np.trunc(values)
    return np.abs(values) if dtype[0] == "u" else values


@pytest.mark.parametrize("source", formats.ALL)
def test_every_type_converts_to_every_other(kernel, source):
    values = source_numbers(source)
    x = formats.store(source, values)
    assert np.array_equal(formats.numbers(source, x), values)
    outs = {dtype: np.zeros(len(x), formats.memory_type(dtype)) for dtype in formats.ALL}
    pointers = [ptr(out, dtype) for dtype, out in outs.items()]
    kernel("elementwise.convert_to_all")((1,), ptr(x, source), *pointers, len(x))
    for dtype, out in outs.items():
        if dtype == "u1":
            expected = values != 0
        elif dtype[0] == "u" and source[0] != "u":
            # A negative float has no unsigned value; a negative integer wraps.
            expected = np.trunc(values).astype(np.int64).astype(formats.memory_type(dtype))
            if source not in formats.INTEGERS:
                out, expected = out[values > -1], expected[values > -1]
        elif dtype in formats.INTEGERS:
            expected = np.trunc(values)
        else:
            expected = values
        assert np.array_equal(formats.numbers(dtype, out), expected.astype(np.float64)), dtype


@pytest.mark.parametrize("dtype", formats.INTEGERS)
def test_integer_arithmetic(kernel, dtype):
    kind = formats.memory_type(dtype)
    x, y = random_bits(dtype, N), random_bits(dtype, N)[::-1].copy()
    x[:2], y[:2] = np.iinfo(kind).min, np.iinfo(kind).max
    y[y == 0] = 3
    y[y == np.array(-1).astype(kind)] = 7  # the quotient of the smallest number has no value
    out = np.zeros((12, N), kind)
    kernel("elementwise.arithmetic")((3,), x, y, out, N, N - 7, 100 + 28)
    with np.errstate(all="ignore"):
        quotient, rest = np.divide(x, y, dtype=np.float64), np.fmod(x, y)
        exact = [(abs(int(a)) // abs(int(b))) * (-1 if (a < 0) != (b < 0) else 1) for a, b in zip(x, y)]
        assert np.allclose(np.trunc(quotient), np.array(exact, dtype=np.float64), rtol=1e-9)
        rows = [x + y, x - y, x * y, np.minimum(x, y), np.maximum(x, y), x < y, np.array(exact, dtype=object), rest,
                x & y, x | y, x ^ y, x >> 3]  # fmt: skip
    for row, expected in enumerate(rows):
        assert np.array_equal(out[row, : N - 7], np.asarray(expected).astype(kind)[: N - 7]), row
    assert not out[:, N - 7 :].any()


@pytest.mark.parametrize("dtype", formats.FLOATS)
def test_float_arithmetic(kernel, dtype):
    random = np.random.default_rng(5)
    x, y = (formats.store(dtype, random.normal(size=N) * 10) for _ in range(2))
    a, b = formats.numbers(dtype, x), formats.numbers(dtype, y)
    out = np.zeros((12, N), formats.memory_type(dtype))
    kernel("elementwise.arithmetic")((2,), ptr(x, dtype), ptr(y, dtype), ptr(out, dtype), N, N, 128)
    # float64 holds sums and products of the narrow types exactly enough to round once
    rows = [a + b, a - b, a * b, np.minimum(a, b), np.maximum(a, b), a < b, a / b]
    for row, expected in enumerate(rows):
        assert np.array_equal(out[row], formats.store(dtype, np.asarray(expected, dtype=np.float64))), row


def test_R011_signedness_of_a_pointer_is_part_of_the_variant(kernel):
    halve = kernel("elementwise.halve")
    bits = np.array([0x80000000], np.uint32)
    out = np.zeros(2, np.int64)
    before = halve.stats.compiles
    for dtype, expected in (("i32", [-(2**30), 1]), ("u32", [2**30, 0]), ("i32", [-(2**30), 1])):
        halve((1,), ptr(bits, dtype), out)
        assert out.tolist() == expected, dtype
    assert halve.stats.compiles - before == 2
