# SPDX-License-Identifier: Apache-2.0
"""Arguments that are more than pointers and numbers: tensors, tuples, constants, functions, defaults."""

from __future__ import annotations

import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError, arg, buf, default, dtype, ptr, string, tensor


def compiles(function):
    return function.stats.compiles


# ---- tensors and buffers --------------------------------------------------------------------------


def test_dlpack_tensors_and_their_byte_offset(kernel):
    copy = kernel("elementwise.copy")
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    copy((1,), tensor(x), tensor(out), 64, 64)
    assert np.array_equal(out, x)
    out[:] = 0
    copy((1,), tensor(x, byte_offset=5 * 4), tensor(out, byte_offset=8), 40, 64)
    assert np.array_equal(out[2:42], x[5:45]) and not out[:2].any() and not out[42:].any()
    # its address decides the class, the offset included
    assert ":16" in copy.prepare(tensor(x, byte_offset=64), out, 40, 64).info["variant"].split()[0]
    assert ":16" not in copy.prepare(tensor(x, byte_offset=20), out, 40, 64).info["variant"].split()[0]
    copy((1,), tensor(x[7:]), tensor(out), 20, 64)  # NumPy's own view
    assert np.array_equal(out[:20], x[7:27])


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                                  "float32", "float64", "bool"])  # fmt: skip
def test_dlpack_dtypes(kernel, name):
    x = (np.arange(64) % 2).astype(name)
    out = np.zeros_like(x)
    copy = kernel("elementwise.copy")
    copy((1,), tensor(x), tensor(out), 64, 64)
    assert np.array_equal(x, out)
    assert copy.prepare(tensor(x), tensor(out), 64, 64) == copy.prepare(x, out, 64, 64)


def test_dlpack_dtype_that_triton_lacks(kernel):
    x = np.zeros(4, np.complex64)
    with pytest.raises(TritonJitError) as error:
        kernel("elementwise.copy")((1,), tensor(x), np.zeros(4, np.float32), 4, 16)
    assert error.value.name in ("E_ARGUMENT_TYPE", "E_UNSUPPORTED_ARGUMENT")
    assert "'x'" in error.value.message


def test_buffers_are_pointers(kernel):
    copy = kernel("elementwise.copy")
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    copy((1,), buf(x), buf(out), 60, 64)
    assert np.array_equal(out[:60], x[:60]) and not out[60:].any()
    assert copy.prepare(buf(x), buf(out), 60, 64) == copy.prepare(x, out, 60, 64)


def test_R024_empty_tensors(kernel):
    copy = kernel("elementwise.copy")
    for x, out in ((ptr(0, "fp32"), ptr(0, "fp32")), (tensor(np.zeros(0, np.float32)), ptr(0, "fp32"))):
        copy((1,), x, out, 0, 64)
        copy((0,), x, out, 0, 64)
    nulls = copy.prepare(ptr(0, "fp32"), ptr(0, "fp32"), 0, 64)
    assert nulls.info["variant"].startswith("x=*fp32:16 out=*fp32:16 n=i32:16")


def test_R014_absent_is_not_null(kernel):
    bias = kernel("arguments.optional_bias")
    x, b, out = np.arange(32, dtype=np.float32), np.full(32, 100, np.float32), np.zeros(32, np.float32)
    bias((1,), x, None, out, 32, 32)
    assert np.array_equal(out, x)
    bias((1,), x, b, out, 32, 32)
    assert np.array_equal(out, x + 100)
    out[:] = -1
    bias((1,), x, ptr(0, "fp32"), out, 0, 32)
    assert (out == -1).all()
    assert bias.prepare(x, None, out, 32, 32).info["types"] == "*fp32,*fp32,i32"
    assert bias.prepare(x, ptr(0, "fp32"), out, 32, 32).info["types"] == "*fp32,*fp32,*fp32,i32"


# ---- tuples ---------------------------------------------------------------------------------------


def test_R017_tuples_of_values(kernel):
    pair = kernel("arguments.pair")
    out = np.zeros(1)
    pair((1,), out, (1.5, 40))
    assert out[0] == 41.5
    assert pair.prepare(out, (1.5, 40)).info["types"] == "*fp64,fp32,i32"
    pair((1,), out, (2.5, 1))  # 1 folds within a tuple, too
    assert out[0] == 3.5
    assert pair.prepare(out, (2.5, 1)).info["types"] == "*fp64,fp32"


def test_R017_pointers_in_tuples(kernel):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    mixed = kernel("arguments.mixed_tuple")
    mixed((1,), (x, 3, out), 16)
    assert np.array_equal(out, x * 3)
    mixed((1,), (tensor(x), 5, buf(out)), 16)
    assert np.array_equal(out, x * 5)
    assert mixed.prepare((x, 3, out), 16).info["types"] == "*fp32,i32,*fp32"


def test_R017_nested_tuples(kernel):
    nested = kernel("arguments.nested_tuple")
    out = np.zeros(5, np.int64)
    nested((1,), out, (7, (2**40, 1), ((16,), True)))
    assert out.tolist() == [7, 2**40, 1, 16, 1]
    nested((1,), out, (1, (9, 32), ((2**63 - 1,), False)))
    assert out.tolist() == [1, 9, 32, 2**63 - 1, 0]
    unpacked = kernel("arguments.unpacked_tuple")
    unpacked((1,), out, (90, 48))
    assert out[:2].tolist() == [42, 2]


def test_tuples_that_are_too_short(kernel):
    out = np.zeros(1)
    for wrong in ((), (1.5,)):
        with pytest.raises(TritonJitError) as error:
            kernel("arguments.pair")((1,), out, wrong)
        assert error.value.name == "E_COMPILE" and "arguments.py" in error.value.message, wrong


def test_R018_constant_tuples(kernel):
    out = np.zeros(1, np.int32)
    shape = kernel("arguments.shape")
    for given, product in (((8, 4), 32), ((4, 8), 32), ((3, 1), 3)):
        shape((1,), out, given)
        assert out[0] == product
    assert shape.prepare(out, (8, 4)) != shape.prepare(out, (4, 8))
    kernel("arguments.nested_shape")((1,), out, (8, (2, 3)))
    assert out[0] == 19
    with pytest.raises(TritonJitError) as error:
        shape((1,), out, (8, out))
    assert error.value.name in ("E_ARGUMENT_TYPE", "E_UNSUPPORTED_ARGUMENT")
    assert "'SHAPE'" in error.value.message


# ---- constants ------------------------------------------------------------------------------------


def test_R019_strings_of_any_bytes(kernel):
    activation = kernel("arguments.activation")
    x, out = np.full(1, -2.5, np.float32), np.zeros(1, np.float32)
    expected = {"relu": 0.0, "a,b:16": -1.5, "1": -0.5, "None": 0.5, "True": 1.5, "": 2.5, "größe'\"\\\n": 3.5}
    expected["x\0y"] = 4.5
    before = compiles(activation)
    for text, value in expected.items():
        activation((1,), x, out, text)
        assert out[0] == value, repr(text)
    assert compiles(activation) - before == len(expected)
    for text in ("Relu", "a,b", "1 ", "x"):
        with pytest.raises(TritonJitError) as error:
            activation((1,), x, out, text)
        assert error.value.name == "E_COMPILE" and "no such activation" in error.value.message
    with pytest.raises(TritonJitError) as error:
        activation((1,), x, out, string(b"\xff\xfe"))
    assert "'ACT'" in error.value.message and "UTF-8" in error.value.message


def test_constants_that_python_calls_equal_are_different(kernel):
    kind = kernel("arguments.kind_of_constant")
    out = np.zeros(2)
    expected = [(None, 0), (True, 1), (1, 2), (1.0, 3), (False, 1), (0, 2), (0.0, 3), ("1", 4), (dtype("fp16"), 5),
                (-3, 2), (2.5, 3), (2**40, 2)]  # fmt: skip
    before = compiles(kind)
    for value, number in expected + expected:
        out[:] = -1
        kind((1,), out, value)
        assert out.tolist() == [number, value if number in (1, 2, 3) else -1], value
    assert compiles(kind) - before == len(expected)


def test_dtypes_as_constants(kernel):
    cast = kernel("arguments.cast")
    x, out = np.linspace(-2, 2, 16).astype(np.float32), np.zeros(16, np.float32)
    for name, expected in (("fp16", x.astype(np.float16)), ("i8", np.trunc(x)), ("fp32", x)):
        cast((1,), x, out, 16, dtype(name))
        assert np.array_equal(out, expected.astype(np.float32))


def test_R027_a_constant_that_changes_on_each_call(kernel):
    ids = kernel("arguments.block_ids")
    before = ids.stats
    out = np.zeros(1000, np.int32)
    for block in (64, 128, 64, 256):
        ids((-(-1000 // block),), out, 1000, block)
        assert np.array_equal(out, np.arange(1000) // block)
    after = ids.stats
    assert after.compiles - before.compiles == 3
    assert after.hits - before.hits == 1


# ---- functions as arguments -----------------------------------------------------------------------


def test_functions_as_arguments(kernel):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    square, negate = kernel("arguments.square"), kernel("arguments.negate")
    for name in ("arguments.apply", "arguments.apply_unannotated"):
        apply = kernel(name)
        before = compiles(apply)
        for function, expected in ((square, x * x), (negate, -x), (square, x * x)):
            apply((1,), x, out, 16, function)
            assert np.array_equal(out, expected), name
        assert compiles(apply) - before == 2
    kernel("arguments.apply_pair")((1,), x, out, 16, (negate, square))
    assert np.array_equal(out, -(x * x))


def test_a_function_of_another_file(tj, kernel, write):
    """Both files have a function of one name; the argument is the one of its own file."""
    other = write("arguments.py", """
        import triton
        import triton.language as tl

        FACTOR = tl.constexpr(3)

        @triton.jit
        def scale(x):
            return x * FACTOR

        @triton.jit
        def square(x):
            return scale(x) + 1
        """)  # fmt: skip
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel("arguments.apply")((1,), x, out, 16, tj.function(other, "square"))
    assert np.array_equal(out, 3 * x + 1)


# ---- defaults and keywords ------------------------------------------------------------------------


def test_defaults_and_keywords(kernel):
    defaults = kernel("arguments.defaults")
    out = np.zeros(7, np.float64)

    def told(*args, **keywords):
        out[:] = np.nan
        defaults((1,), out, *args, keywords=keywords)
        return out.tolist()

    plain = [3, 5, -1, 7, 1, 2.5, 32]
    assert told(3) == plain
    before = compiles(defaults)
    assert told(3, 5) == plain
    assert told(3, default(), default(), default()) == plain
    assert told(a=3) == plain
    assert told(3, G=dtype("fp32"), D=7, E="text") == plain
    assert compiles(defaults) == before  # all of them are one variant
    assert told(3, 9, 4, 8, "other", 0.5, dtype("i64")) == [3, 9, 4, 8, 2, 0.5, 64]
    assert told(D=2, a=1) == [1, 5, -1, 2, 1, 2.5, 32]
    assert told(2, default(), 6, f=1.25) == [2, 5, 6, 7, 1, 1.25, 32]
    flags = {p["name"]: p["flags"] for p in defaults.params}
    assert flags == {"out": 0, "a": 0, "b": 4, "c": 4, "D": 5, "E": 5, "f": 4, "G": 5}


def test_keywords_that_do_not_fit(kernel):
    defaults = kernel("arguments.defaults")
    out = np.zeros(7)
    with pytest.raises(TritonJitError) as error:
        defaults((1,), out, 3, keywords={"a": 4})
    assert error.value.name == "E_DUPLICATE_ARGUMENT" and "'a'" in error.value.message
    with pytest.raises(TritonJitError) as error:
        defaults((1,), out, keywords={"b": 4})
    assert error.value.name == "E_TOO_FEW_ARGUMENTS" and "'a'" in error.value.message
    with pytest.raises(TritonJitError) as error:
        defaults.param_index("x")
    assert error.value.name == "E_NO_SUCH_PARAMETER" and "out, a, b" in error.value.message


def test_R023_no_run_time_arguments(kernel, log):
    kernel("arguments.nothing")((3,))
    assert len([text for _, text in log if "nothing was called" in text]) == 3
    kernel("arguments.only_constants")((1,), 40, 2)
    assert any("the sum is" in text and "42" in text for _, text in log)
    assert kernel("arguments.nothing").prepare().info["n_params"] == 0


def test_58_arguments(kernel):
    many = kernel("arguments.sum_of_many")
    out = np.zeros(1, np.int64)
    values = [arg(i + 2) for i in range(57)]
    many((1,), out, *values)
    assert out[0] == 2 + 3 * 2 + 30 * 3 + 57 * 4 + 58 * 5
    before = compiles(many)
    many((1,), out, *[2**40 if i in (0, 56) else i + 2 for i in range(57)])
    assert out[0] == 2**40 + 3 * 2 + 30 * 3 + 57 * 4 + 2**40 * 5
    assert compiles(many) == before + 1
