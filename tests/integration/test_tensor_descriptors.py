# SPDX-License-Identifier: Apache-2.0
"""Tensor descriptors made by the host: what a kernel reads and writes through them, against NumPy."""

from __future__ import annotations

import ctypes
import itertools
import json

import formats
import numpy as np
import pytest
from triton_jit_ctypes import (
    DESC_ROUND_TF32,
    PADDING_NAN,
    Target,
    TensorDesc,
    TritonJitError,
    buf,
    desc,
    ptr,
    spec_desc,
)


def triton_version() -> tuple[int, ...]:
    import triton

    return tuple(int(part) for part in triton.__version__.split(".")[:2])


def aligned(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """Zeros at a multiple of 64 bytes: NumPy promises less than descriptors need."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(kind).reshape(shape)


def random_array(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Any bits that are numbers of the type."""
    array = aligned(shape, formats.memory_type(dtype))
    raw = np.random.default_rng(7).integers(0, 256, array.nbytes, dtype=np.uint8)
    array[...] = raw.view(array.dtype).reshape(shape) if dtype != "u1" else (raw & 1).view(np.bool_).reshape(shape)
    return array


def window(array: np.ndarray, block: tuple[int, ...], at: tuple[int, ...], padding: object = 0) -> np.ndarray:
    """The block of ``array`` that begins at ``at``, ``padding`` where there is no array."""
    found = np.full(block, padding, array.dtype)
    for index in itertools.product(*map(range, block)):
        place = tuple(i + o for i, o in zip(index, at))
        if all(0 <= p < size for p, size in zip(place, array.shape)):
            found[index] = array[place]
    return found


def put(array: np.ndarray, values: np.ndarray, at: tuple[int, ...]) -> np.ndarray:
    """A copy of ``array`` with the part of ``values`` that lies within it."""
    changed = array.copy()
    for index in itertools.product(*map(range, values.shape)):
        place = tuple(i + o for i, o in zip(index, at))
        if all(0 <= p < size for p, size in zip(place, array.shape)):
            changed[place] = values[index]
    return changed


# shape, block, offsets: within, over an edge, before the start, all outside; each dimension has its turn
WINDOWS = [
    ((100,), (16,), [(0,), (16,), (90,), (-5,), (-16,), (100,), (2**31 - 16,)]),
    ((1,), (64,), [(0,), (-63,), (1,)]),
    ((20, 40), (8, 16), [(0, 0), (8, 16), (16, 32), (-3, 5), (7, -9), (19, 39), (-8, 0), (0, 40), (-(2**31), 0)]),
    ((5, 16), (4, 4), [(3, 14), (1, 1)]),
    ((3, 5, 32), (2, 4, 8), [(0, 0, 0), (2, 3, 28), (-1, -2, -3), (1, 4, 8), (3, 0, 0)]),
    ((2, 3, 4, 16), (1, 2, 4, 16), [(0, 0, 0, 0), (1, 2, 1, 3), (-1, 0, 0, 0), (1, -1, 2, -5)]),
    ((2, 3, 2, 3, 16), (2, 1, 2, 4, 8), [(0, 0, 0, 0, 0), (1, 2, 1, 2, 12), (-1, 2, -1, -1, -1), (0, 3, 0, 0, 0)]),
]


@pytest.mark.parametrize(("shape", "block", "offsets"), WINDOWS, ids=lambda value: str(value)[:24])
def test_windows(kernel, shape, block, offsets):
    """Loads give zeros outside, stores change nothing outside, in each dimension."""
    size, rank = int(np.prod(block)), len(shape)
    x = random_array(shape, "i32")
    values = random_array(block, "i32")
    for at in offsets:
        out = np.full(size + 8, -1, np.int32)
        kernel(f"descriptors.load{rank}")((1,), desc(x, block), out, *at, size)
        np.testing.assert_array_equal(out[:size].reshape(block), window(x, block, at))
        assert (out[size:] == -1).all()
        target = aligned(shape, np.int32)
        target[...] = x
        kernel(f"descriptors.store{rank}")((1,), desc(target, block), values, *at, size)
        np.testing.assert_array_equal(target, put(x, values, at))


@pytest.mark.parametrize("dtype", formats.ALL)
def test_every_dtype(kernel, dtype):
    """The bits of every type, zero outside; and stored again."""
    x = random_array((7, 48), dtype)
    out = np.zeros(16 * 32, x.dtype)
    kernel("descriptors.load2")((1,), desc(x, (16, 32), dtype), ptr(out, dtype), 3, 32, 512)
    assert out.tobytes() == window(x, (16, 32), (3, 32)).tobytes()
    values = random_array((16, 32), dtype)
    target = aligned(x.shape, x.dtype)
    target[...] = x
    kernel("descriptors.store2")((1,), desc(target, (16, 32), dtype), ptr(values, dtype), -4, 20, 512)
    assert target.tobytes() == put(x, values, (-4, 20)).tobytes()


NANS = {"fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"}


@pytest.mark.parametrize("dtype", sorted(NANS))
def test_nan_padding(kernel, dtype):
    x = aligned((10, 32), formats.memory_type(dtype))
    x[...] = formats.store(dtype, np.arange(320).reshape(10, 32) % 5)
    out = np.zeros(256, x.dtype)
    load = kernel("descriptors.load2")
    for at in ((6, 24), (-2, -3), (0, 8)):
        load((1,), desc(x, (16, 16), dtype, padding=PADDING_NAN), ptr(out, dtype), *at, 256)
        inside = window(np.ones(x.shape, bool), (16, 16), at, False)
        found = formats.numbers(dtype, out).reshape(16, 16)
        np.testing.assert_array_equal(found[inside], formats.numbers(dtype, window(x, (16, 16), at))[inside])
        assert np.isnan(found[~inside]).all()


def test_one_variant_for_all_values(tj, kernel):
    """Base, shape, strides and padding are run-time values: nothing is compiled again."""
    load = kernel("descriptors.load2")
    big = random_array((64, 64), "fp32")
    big[...] = np.arange(64 * 64).reshape(64, 64)
    out = np.zeros(128, np.float32)
    variant = load.prepare(spec_desc("fp32", (8, 16)), out, 2, 3, 128)
    compiled = tj.stats().compiles
    for rows, columns, padding in ((64, 64, 0), (9, 3, 0), (9, 3, 1), (1, 1, 1)):
        view = big[:rows, :columns]
        assert load.prepare(desc(view, (8, 16), padding=padding), out, 2, 3, 128) == variant
        load((1,), desc(view, (8, 16), padding=padding), out, 2, 3, 128)
        expected = window(view, (8, 16), (2, 3), np.nan if padding else 0)
        np.testing.assert_array_equal(out.reshape(8, 16), expected)
    assert tj.stats().compiles == compiled
    assert variant.info["variant"].startswith("desc=tensordesc<fp32[8, 16]>")


def test_strides(kernel):
    """Parts of a larger array, rows in reverse, one row for all."""
    load = kernel("descriptors.load2")
    big = random_array((40, 64), "i16")
    out = np.zeros(128, np.int16)
    views = [big[3:30, 8:50], big[::4, 16:40], big[::-1, 24:], np.broadcast_to(big[5, 8:40], (9, 32))]
    for view in views:
        for at in ((0, 0), (2, 5), (5, 20), (-3, -4)):
            load((1,), desc(view, (8, 16)), out, *at, 128)
            np.testing.assert_array_equal(out.reshape(8, 16), window(view, (8, 16), at))
    target = big[::-2, 8:24]
    values = random_array((8, 16), "i16")
    expected = big.copy()
    expected[::-2, 8:24] = put(target, values, (15, -2))
    kernel("descriptors.store2")((1,), desc(target, (8, 16)), values, 15, -2, 128)
    np.testing.assert_array_equal(big, expected)


def test_permuted(kernel):
    """Dimensions in any order, as long as the last one is dense."""
    x = random_array((4, 6, 5, 16), "fp32").transpose(2, 0, 1, 3)
    out = np.zeros(2 * 4 * 2 * 16, np.float32)
    kernel("descriptors.load4")((1,), desc(x, (2, 4, 2, 16)), out, 3, 1, 5, 0, out.size)
    np.testing.assert_array_equal(out.reshape(2, 4, 2, 16), window(x, (2, 4, 2, 16), (3, 1, 5, 0)))


@pytest.mark.parametrize("shape", [(64, 64), (61, 50), (1, 3), (130, 7)])
def test_a_grid_of_blocks(kernel, shape):
    x = aligned((shape[0], 64), np.float32)[:, : shape[1]]
    x[...] = np.random.default_rng(1).standard_normal(shape)
    out = aligned((shape[0], 72), np.float32)
    grid = (-(-shape[0] // 16), -(-shape[1] // 32))
    kernel("descriptors.scale")(grid, desc(x, (16, 32)), desc(out[:, : shape[1]], (16, 32)), 3.0)
    np.testing.assert_array_equal(out[:, : shape[1]], x * np.float32(3))
    assert (out[:, shape[1] :] == 0).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [("fp32", 1e-5), ("fp16", 2e-3), ("bf16", 2e-2)])
@pytest.mark.parametrize("sizes", [(128, 64, 96), (50, 70, 33), (1, 1, 200)])
def test_matmul(kernel, dtype, tolerance, sizes):
    m, n, k = sizes
    rng = np.random.default_rng(3)

    def matrix(rows: int, columns: int) -> np.ndarray:
        made = aligned((rows, -(-columns // 8) * 8), formats.memory_type(dtype))[:, :columns]
        made[...] = formats.store(dtype, rng.standard_normal((rows, columns)))
        return made

    a, b, c = matrix(m, k), matrix(k, n), matrix(m, n)
    grid = (-(-m // 32), -(-n // 32))
    blocks = (32, 32, 16)
    kernel("descriptors.matmul")(
        grid, desc(a, (32, 16), dtype), desc(b, (16, 32), dtype), desc(c, (32, 32), dtype), k, *blocks
    )
    expected = formats.numbers(dtype, a) @ formats.numbers(dtype, b)
    np.testing.assert_allclose(formats.numbers(dtype, c), expected, rtol=tolerance, atol=tolerance * k**0.5)


def test_sanitized(kernel):
    """A descriptor knows its extent: none of its accesses is beyond it, and none goes unchecked."""
    x = random_array((20, 48), "i32")
    out = np.zeros(128, np.int32)
    load = kernel("descriptors.load2")
    for view, at in ((x[3:15, 16:40], (5, 20)), (x[::-1], (-3, 40))):
        load((1,), desc(view, (8, 16)), buf(out), *at, 128, options={"sanitize": "address"})
        np.testing.assert_array_equal(out.reshape(8, 16), window(view, (8, 16), at))
    with pytest.raises(TritonJitError) as error:  # what comes behind it is still known by its name
        load((1,), desc(x, (8, 16)), buf(out, size=500), 0, 0, 128, options={"sanitize": "address"})
    assert "'out'" in error.value.message and "125" in error.value.message


def test_own_sizes(kernel):
    x = random_array((12, 80), "i8")
    out = np.zeros(4, np.int64)
    kernel("descriptors.own_sizes")((1,), desc(x[:7, :33], (1, 16)), out)
    assert out.tolist() == [7, 33, 80, 1]


def test_many(kernel):
    arrays = [random_array((100,), "i32") for _ in range(8)]
    for number, array in enumerate(arrays):
        array[...] = array // 16 + number
    out = aligned((100,), np.int32)
    total = kernel("descriptors.sum_of_eight")
    for _ in range(3):
        out[...] = 0
        total((4,), *[desc(array, (32,)) for array in arrays], desc(out, (32,)))
        np.testing.assert_array_equal(out, sum(arrays))


def test_through_a_function(kernel):
    x, out = random_array((8, 16), "i32"), aligned((8, 16), np.int32)
    kernel("descriptors.through_a_function")((1,), desc(x, (8, 16)), desc(out, (8, 16)))
    np.testing.assert_array_equal(out, x * np.int32(2))


def test_absent(kernel):
    x, y, out = random_array((8, 16), "i32"), aligned((8, 16), np.int32), aligned((8, 16), np.int32)
    y[...] = 5
    choose = kernel("descriptors.chosen")
    choose((1,), desc(x, (8, 16)), None, desc(out, (8, 16)), 0)
    np.testing.assert_array_equal(out, x)
    choose((1,), desc(x, (8, 16)), desc(y, (8, 16)), desc(out, (8, 16)), 0)
    np.testing.assert_array_equal(out, y)


def test_beside_one_made_in_the_kernel(kernel):
    x, out = random_array((16, 32), "fp32"), aligned((16, 32), np.float32)
    kernel("descriptors.beside_device_made")((1,), desc(x, (16, 16)), out, 9, 32, 16)
    expected = np.zeros_like(out)
    expected[:9, :16] = x[:9, :16]
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("arch", ["80", "90"])
def test_prepared_for_a_gpu(kernel, arch):
    """The parameters are bound alike. Where the device has descriptors of its own, the artifact wants one in
    place of each base, shape, strides and flags, and tells the backend what to encode."""
    scale = kernel("descriptors.scale", backend="null")
    target = Target(ctypes.sizeof(Target), 32, b"cuda", arch.encode())
    args = (spec_desc("fp16", (64, 32)), spec_desc("fp16", (64, 32)), 3.0)
    variant = scale.prepare(*args, target=ctypes.pointer(target))
    flags = 1 + (triton_version() >= (3, 7))
    decomposed = 1 + 2 * 2 + flags + 2 + 2
    assert variant.info["n_params"] == 2 * decomposed + 1
    described = json.loads(variant.info["metadata"])["tensordesc_meta"]
    in_ptx = variant.asm("ptx").decode().split(".entry", 1)[1].split(")", 1)[0].count(".param")
    hidden = 2  # scratch pointers
    if arch == "80":
        assert described == [] and in_ptx == 2 * decomposed + 1 + hidden
    else:
        assert [one["elem_size"] for one in described] == [2, 2]
        assert [one["block_size"] for one in described] == [[64, 32], [64, 32]]
        assert in_ptx == 2 * (1 + 2 + 2) + 1 + hidden


def test_a_grid_from_a_descriptor(kernel):
    """A grid callback sees the descriptor itself."""
    x, out = random_array((50, 48), "i32"), aligned((50, 48), np.int32)

    def grid(bound):
        view = TensorDesc.from_address(bound.arg(0).v.ptr)
        return tuple(-(-view.shape[i] // view.block[i]) for i in range(view.rank))

    kernel("descriptors.scale")(grid, desc(x, (16, 32)), desc(out, (16, 32)), 2)
    np.testing.assert_array_equal(out, x * np.int32(2))


def test_in_a_tuple(kernel):
    x, out = random_array((20, 48), "i16"), aligned((20, 48), np.int16)
    copy = kernel("descriptors.copy_in_tuple")
    pair = (desc(x, (16, 32)), desc(out, (16, 32)))
    if triton_version() < (3, 8):
        with pytest.raises(TritonJitError) as error:
            copy((1,), pair, 8, 32)
        assert error.value.name == "E_UNSUPPORTED_ARGUMENT"
        assert "'pair'" in error.value.message and "3.8" in error.value.message
        return
    copy((1,), pair, 8, 32)
    expected = np.zeros_like(out)
    expected[8:20, 32:48] = x[8:20, 32:48]
    np.testing.assert_array_equal(out, expected)


def test_rounding_to_tf32(kernel):
    """Ten bits of the fraction are kept, ties go to even; infinities and NaN stay."""
    x = aligned((1, 64), np.float32)
    x[...] = np.random.default_rng(5).standard_normal(64)
    x.view(np.uint32)[0, :6] = [0x3F801000, 0x3F800FFF, 0xBF803000, 0x7F800000, 0x7FC00001, 0x7F7FFFFF]
    out = np.zeros(64, np.float32)
    call = (desc(x, (1, 64), flags=DESC_ROUND_TF32), out, 0, 0, 64)
    load = kernel("descriptors.load2")
    if triton_version() < (3, 7):
        with pytest.raises(TritonJitError) as error:
            load((1,), *call)
        assert error.value.name == "E_NOT_SUPPORTED" and "tf32" in error.value.message
        return
    load((1,), *call)
    bits = x.view(np.uint32)[0].astype(np.uint64)
    rounded = ((bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000).astype(np.uint32)
    finite = np.isfinite(x[0])
    np.testing.assert_array_equal(out.view(np.uint32)[finite], rounded[finite])
    assert np.isinf(out[3]) and np.isnan(out[4])
    load((1,), desc(x, (1, 64)), out, 0, 0, 64)
    assert out.tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "i8", "i32", "bf16", "fp8e5"])
def test_gather(kernel, dtype):
    x = random_array((20, 96), dtype)
    rows = np.array([3, 3, 19, 0, -1, 20, 7, 11], np.int32)
    out = np.zeros((8, 32), x.dtype)
    for column in (0, 40, 80, -5):
        kernel("descriptors.gather")((1,), desc(x, (1, 32), dtype), rows, column, ptr(out, dtype), 8, 32)
        expected = np.concatenate([window(x, (1, 32), (row, column)) for row in rows])
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "i8", "i32", "bf16", "fp8e5"])
def test_scatter(kernel, dtype):
    x = random_array((8, 32), dtype)
    rows = np.array([3, 4, 19, 0, -1, 20, 7, 11], np.int32)
    for column in (0, 40, 80, -5):
        target = random_array((20, 96), dtype)
        expected = target.copy()
        for row, values in zip(rows, x):
            expected = put(expected, values[None], (row, column))
        kernel("descriptors.scatter")((1,), desc(target, (1, 32), dtype), rows, column, ptr(x, dtype), 8, 32)
        assert target.tobytes() == expected.tobytes()


REDUCTIONS = {
    "add": (np.add, ["u32", "i32", "u64", "fp32", "fp16", "bf16"]),
    "min": (np.minimum, ["u32", "i32", "u64", "i64"]),
    "max": (np.maximum, ["u32", "i32", "u64", "i64"]),
    "and": (np.bitwise_and, ["u32", "i32", "u64", "i64"]),
    "or": (np.bitwise_or, ["u32", "i32", "u64", "i64"]),
    "xor": (np.bitwise_xor, ["u32", "i32", "u64", "i64"]),
}


@pytest.mark.parametrize(("kind", "dtype"), [(kind, dtype) for kind, row in REDUCTIONS.items() for dtype in row[1]])
def test_reduce(kernel, kind, dtype):
    """Three programs, one block that lies over two edges."""
    apply = REDUCTIONS[kind][0]
    if dtype in formats.FLOATS:  # small whole numbers: their sums are exact
        x, target = (aligned(shape, formats.memory_type(dtype)) for shape in ((24, 16), (10, 32)))
        x[...] = formats.store(dtype, np.arange(24 * 16).reshape(24, 16) % 7 - 3.0)
        target[...] = formats.store(dtype, np.arange(320).reshape(10, 32) % 5)
    else:
        x, target = random_array((24, 16), dtype), random_array((10, 32), dtype)
    expected = formats.numbers(dtype, target) if dtype in formats.FLOATS else target.copy()
    numbers = formats.numbers(dtype, x) if dtype in formats.FLOATS else x
    for program in range(3):
        inside = expected[5:10, 24:32]
        inside[...] = apply(inside, numbers[8 * program : 8 * program + 5, :8])
    kernel("descriptors.reduce")((3,), desc(target, (8, 16), dtype), desc(x, (8, 16), dtype), 5, 24, kind)
    found = formats.numbers(dtype, target) if dtype in formats.FLOATS else target
    np.testing.assert_array_equal(found, expected)
