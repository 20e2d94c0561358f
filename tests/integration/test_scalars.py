# SPDX-License-Identifier: Apache-2.0
"""Scalars of every kind: their width, their value, and which of them share a variant."""

from __future__ import annotations

import threading

import formats
import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError, arg, ptr, scalar, spec, spec_ptr

FORCED = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64")


class Compiles:
    """Counts the variants that a function compiled since this was made."""

    def __init__(self, function):
        self._function, self._before = function, function.stats.compiles

    def __eq__(self, n):
        return self._function.stats.compiles - self._before == n

    def __repr__(self):
        return f"{self._function.stats.compiles - self._before} compiles"


@pytest.mark.parametrize("which", ["smallest", "largest", "one", "zero"])
def test_forced_widths(kernel, which):
    expected = {}
    for dtype in FORCED:
        kind = formats.memory_type(dtype)
        if dtype in formats.INTEGERS:
            limits = np.iinfo(kind)
            values = {"smallest": int(limits.min), "largest": int(limits.max), "one": 1, "zero": 0}
        else:
            # bf16 is cut, not rounded, so give numbers that it has
            values = {"smallest": -65280.0, "largest": 2.0**-14, "one": 1.0, "zero": -0.0}
        expected[dtype] = values[which]
    outs = [np.full(1, 77, formats.memory_type(dtype)) for dtype in FORCED]
    several = kernel("scalars.several")
    args = [ptr(out, dtype) for out, dtype in zip(outs, FORCED)]
    args += [scalar(dtype, value) for dtype, value in expected.items()]
    several((1,), *args)
    for dtype, out in zip(FORCED, outs):
        assert out.tobytes() == formats.store(dtype, np.array([expected[dtype]])).tobytes(), dtype
    kernel_of_them = several.prepare(*args)
    assert kernel_of_them.info["types"].split(",")[12:] == list(FORCED)  # 1 does not fold either
    sizes = [kernel_of_them.param(12 + i)["size"] for i in range(12)]
    assert sizes == [1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("i8", 128), ("i8", -129), ("u8", 256), ("i16", 2**15), ("u16", 2**16), ("i32", 2**31), ("u32", 2**32),
     ("fp16", 1e6)],
)  # fmt: skip
def test_values_out_of_the_range_of_a_forced_width(kernel, dtype, value):
    out = np.zeros(1, np.int64)
    with pytest.raises(TritonJitError) as error:
        kernel("scalars.one")((1,), out, scalar(dtype, value))
    assert error.value.name == "E_ARGUMENT_RANGE"
    assert "'s'" in error.value.message and dtype in error.value.message


def test_annotations_decide(kernel):
    annotated = kernel("scalars.annotated")
    assert [p["type"] for p in annotated.params] == ["*i64", "*fp64", "i64", "u16", "fp64", "fp16", "u1"]
    for n, u, f, h, b in ((1, 1, 0.1, 1.5, True), (2**40, 65535, 1e300, -2.25, False)):
        out, f_out = np.zeros(3, np.int64), np.zeros(2)
        annotated((1,), out, f_out, n, u, f, h, b)
        assert out.tolist() == [n, u, int(b)]
        assert f_out.tolist() == [f, h]
    with pytest.raises(TritonJitError) as error:
        annotated((1,), out, f_out, 1, 65536, 0.1, 1.5, True)
    assert error.value.name == "E_ARGUMENT_RANGE" and "'u'" in error.value.message


def test_R003_annotated_int64_with_value_1(kernel):
    long = kernel("scalars.long")
    out = np.zeros(1, np.int64)
    for n in (1, 2, 2**40, -(2**63) // 2, 16):
        long((1,), out, n)
        assert out[0] == n * 2 + 1
        last = long.prepare(out, n)
        assert last.info["types"] == "*i64,i64"
        assert last.param(1)["size"] == 8


@pytest.mark.parametrize("value", [2**63, 2**64 - 16, 2**64 - 1])
def test_R005_values_above_2_63(kernel, value):
    half_of = kernel("scalars.half_of")
    out = np.zeros(1, np.uint64)
    half_of((1,), out, value)
    assert int(out[0]) == value >> 1
    info = half_of.prepare(out, value).info
    assert info["types"] == "*u64,u64"
    assert ("n=u64:16" in info["variant"]) == (value % 16 == 0)


def test_R006_a_c_double_is_a_python_float(kernel):
    times = kernel("scalars.times")
    x = np.linspace(-3, 3, 64).astype(np.float16)
    out = np.zeros(64, np.float32)
    expected = x.astype(np.float32) * np.float32(0.1)
    for value in (0.1, float(np.float32(0.1)), scalar("fp32", 0.1)):
        out[:] = 0
        times((1,), x, out, value, 64)
        assert np.array_equal(out, expected)
    assert times.prepare(x, out, 0.1, 64).info["types"] == "*fp16,*fp32,fp32"
    wide = np.zeros(64)
    times((1,), x, wide, scalar("fp64", 0.1), 64)
    assert np.array_equal(wide, x.astype(np.float64) * 0.1)


def test_R007_a_double_is_rounded_to_its_slot(kernel):
    one = kernel("scalars.one")
    out = np.zeros(1, np.float32)
    for value in (1.5, 1e-30, 1e300, -1e300, float("nan"), 1e-46):
        with np.errstate(over="ignore"):
            expected = np.float32(value)
        for given in (value, scalar("fp32", value)):
            out[0] = 77
            one((1,), out, given)
            assert np.array_equal(out[0], expected, equal_nan=True), value
    assert one.prepare(out, 1.5).param(1)["size"] == 4


@pytest.mark.parametrize("dtype", formats.FP8)
def test_R009_fp8_scalars(kernel, dtype):
    """A byte that arrives, or a refusal that names the parameter before anything is compiled."""
    out = np.zeros(1, np.uint8)
    one = kernel("scalars.one")
    before = one.stats.compiles
    try:
        one((1,), ptr(out, dtype), scalar(dtype, 0x35))
        assert out[0] == 0x35
    except TritonJitError as error:
        assert error.name in ("E_UNSUPPORTED_ARGUMENT", "E_ARGUMENT_TYPE"), error
        assert "'s'" in error.message and dtype in error.message
        assert one.stats.compiles == before


def test_R012_bool_is_a_type_of_its_own(kernel):
    branch = kernel("scalars.branch")
    out = np.zeros(1, np.int32)
    compiles = Compiles(branch)
    for value in (True, 1, False, 0, 1, True):
        branch((1,), out, value)
        assert out[0] == (10 if value else 20), value
    assert compiles == 3  # u1 for both booleans, a folded 1, i32 for 0
    types = [branch.prepare(out, value).info["types"] for value in (True, False, 1, 0)]
    assert types == [types[0], types[0], "*i32", "*i32,i32"]
    assert types[0] in ("*i32,u1", "*i32,i1")


def test_R002_an_integer_has_exactly_three_variants(kernel):
    sizes = kernel("scalars.sizes")
    out = np.zeros(1, np.int64)
    compiles = Compiles(sizes)
    for n in (1, 3, 16, 32, 48, 7, 1, 0, -1, -16, 2**31 - 1):
        sizes((1,), out, n)
        assert out[0] == n
    assert compiles == 3
    flat = kernel("scalars.sizes_unspecialized")
    assert flat.params[1]["flags"] == 16
    compiles = Compiles(flat)
    for n in (1, 3, 16, 32, 48, 7, 1):
        flat((1,), out, n)
        assert out[0] == n
    assert compiles == 1


def test_R016_nothing_or_everything_specialized(kernel):
    out = np.zeros(1, np.int64)
    nothing = kernel("scalars.nothing_specialized")
    compiles = Compiles(nothing)
    for a, b in ((1, 1), (16, 3), (7, 32)):
        nothing((1,), out, a, b)
        assert out[0] == a + 2 * b
    assert compiles == 1
    ones = kernel("scalars.all_ones")
    ones((1,), out, 1, 1, 1)
    assert out[0] == 111
    assert ones.prepare(out, 1, 1, 1).info["types"] == "*i64"


def test_R022_a_shared_variant_sees_the_current_value(kernel):
    sizes = kernel("scalars.sizes")
    out = np.zeros(1, np.int64)
    for n in (32, 1024, 32):
        sizes((1,), out, n)
        assert out[0] == n
    compiles = Compiles(sizes)
    wrong = []

    def work(n):
        mine = np.zeros(2, np.int64)[:1]
        for _ in range(500):
            mine[0] = 0
            sizes((1,), mine, n)
            if mine[0] != n:
                wrong.append((n, mine[0]))

    threads = [threading.Thread(target=work, args=(n,)) for n in (32, 1024)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert compiles == 0


@pytest.mark.parametrize("value", [2**31, 2**32 - 1, 2**32, -(2**31) - 1, 2**63])
def test_R029_large_constants(kernel, value):
    kind = np.uint64 if value >= 2**63 else np.int64
    out = np.zeros(2, kind)
    kernel("scalars.constant")((1,), out, value, -7)
    assert int(out[0]) == value
    assert np.int64(out[1]) == -7 ^ 5
    kernel("scalars.difference")((1,), out, value, 9)
    assert int(out[0]) == (value - 9) % 2**64 if value >= 2**63 else value - 9
    # As a constant it takes the type of x, i32, which cannot hold it: Triton says so, and nothing is cut.
    with pytest.raises(TritonJitError) as error:
        kernel("scalars.constant_difference")((1,), out, value, 9)
    assert error.value.name == "E_COMPILE"
    assert f"Scalar {value} is out of range" in error.value.message


def test_R025_sizes_beyond_2_31_are_i64(kernel):
    sizes = kernel("scalars.sizes")
    out = np.zeros(1, np.int64)
    for n, kind in ((1000, "i32"), (2**31 - 1, "i32"), (2**31, "i64"), (-(2**31), "i32"), (-(2**31) - 1, "i64")):
        sizes((1,), out, n)
        assert out[0] == n
        assert sizes.prepare(out, n).info["types"] == f"*i64,{kind}"


def test_R028_every_alignment_class_prepared(tj, kernel):
    copy = kernel("scalars.aligned_copy")
    kernels = {copy.prepare(spec_ptr("fp32", a), spec_ptr("fp32", b), spec("i32", c), 64)
               for a in (0, 1) for b in (0, 1) for c in (0, 1)}  # fmt: skip
    assert len(kernels) == 8
    memory = np.zeros(4096, np.uint8)
    base = -memory.ctypes.data % 64
    x = memory[base : base + 1024].view(np.float32)
    out = memory[base + 2048 : base + 3072].view(np.float32)
    x[:] = np.arange(256)
    with tj.events() as events:
        for first in (0, 4, 8, 16, 20):
            for second in (0, 4, 8, 16, 20):
                out[:] = 0
                for n in (48, 47):
                    copy((1,), ptr(x, offset=first), ptr(out, offset=second), n, 64)
                at = second // 4
                assert np.array_equal(out[at : at + 48], x[first // 4 :][:48])
    assert [event for event in events if event["hook"] == "compile"] == []
    assert sum(event["hook"] == "exit" for event in events) == 50

    flat = kernel("scalars.unaligned_copy")
    compiles = Compiles(flat)
    for first in (0, 4, 16):
        for second in (0, 8, 20):
            flat((1,), ptr(x, offset=first), ptr(out, offset=second), 48, 64)
            assert np.array_equal(out[second // 4 :][:48], x[first // 4 :][:48])
    assert compiles == 1


def test_a_prepared_kernel_checks_its_arguments(kernel):
    copy = kernel("scalars.aligned_copy")
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    aligned = copy.prepare(spec_ptr("fp32", True), spec_ptr("fp32", True), spec("i32", True), 64)
    aligned.launch((1,), ptr(x), ptr(out), 48, 64)
    assert np.array_equal(out[:48], x[:48])
    for args, name in (((ptr(x, offset=4), out, 48, 64), "x"), ((x, out, 47, 64), "n"), ((x, out, 48, 32), "BLOCK")):
        with pytest.raises(TritonJitError) as error:
            aligned.launch((1,), *args)
        assert error.value.name == "E_VARIANT"
        assert f"'{name}'" in error.value.message


def test_numpy_scalars_are_values_not_widths():
    assert arg(np.int8(5)).kind == arg(5).kind
    assert arg(np.float64(0.5)).kind == arg(0.5).kind
