# SPDX-License-Identifier: Apache-2.0
"""Grids that store more than the caches hold: the same numbers, wherever lines begin and rows end."""

import numpy as np
import pytest
import triton
import triton.language as tl
from runner import launch

BYTES = 1 << 25  # TJ_STREAM_BYTES


@triton.jit
def twice(x_ptr, sum_ptr, difference_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(sum_ptr + i, x + 3, mask=i < n)
    tl.store(difference_ptr + i, x - 3, mask=i < n)


@triton.jit
def rows(x_ptr, out_ptr, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    place = tl.program_id(0) * columns + i
    x = tl.load(x_ptr + place, mask=i < columns, other=0)
    tl.store(out_ptr + place, x * 2, mask=i < columns)


@triton.jit
def tiles(x_ptr, out_ptr, columns, R: tl.constexpr, C: tl.constexpr):
    i = (tl.program_id(0) * R + tl.arange(0, R))[:, None] * columns + (tl.program_id(1) * C + tl.arange(0, C))[None, :]
    tl.store(out_ptr + i, tl.load(x_ptr + i) + 1)


def array(dtype, n: int, shift: int) -> np.ndarray:
    """n elements whose first one is ``shift`` bytes behind the beginning of a cache line, and one of guard."""
    size = np.dtype(dtype).itemsize
    whole = np.zeros((n + 1) * size + 128, np.uint8)
    start = -whole.ctypes.data % 64 + shift
    return whole[start : start + (n + 1) * size].view(dtype)


def numbers(dtype, n: int) -> np.ndarray:
    return (np.arange(n) % 113).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "shifts"), [(np.int8, (0, 1)), (np.int8, (3, 16)), (np.float16, (2, 48)), (np.float32, (16, 4)),
                          (np.float64, (8, 0))]
)  # fmt: skip
def test_two_stores(dtype, shifts):
    size = np.dtype(dtype).itemsize
    n = BYTES // size // 2 + 12345  # both stores together go beyond the limit
    x = numbers(dtype, n)
    total, difference = (array(dtype, n, shift) for shift in shifts)
    total[n] = difference[n] = 77
    made = launch(twice, (-(-n // 4096),), x_ptr=x, sum_ptr=total, difference_ptr=difference, n=n, B=4096)
    assert "pg.streams" in made.c
    assert np.array_equal(total[:n], x + dtype(3)) and np.array_equal(difference[:n], x - dtype(3))
    assert total[n] == difference[n] == 77


@pytest.mark.parametrize("columns", [1000, 1001, 1024, 64, 3])
def test_rows(columns):
    count = BYTES // 4 // 1024  # programs, by the size of their tile
    x = numbers(np.float32, count * columns)
    out = array(np.float32, count * columns, 0)
    out[-1] = 77
    launch(rows, (count,), x_ptr=x, out_ptr=out, columns=columns, B=1024)
    assert np.array_equal(out[:-1], x * 2) and out[-1] == 77


def test_tiles():
    x = numbers(np.int32, BYTES // 4)
    out = array(np.int32, len(x), 32)
    launch(tiles, (256, 8), x_ptr=x, out_ptr=out, columns=1024, R=32, C=128)
    assert np.array_equal(out[:-1], x + 1)


def test_a_small_grid_does_not():
    """The limit is the whole grid's: nothing is known of caches that the next kernel reads from."""
    x = numbers(np.float32, 5000)
    total, difference = np.zeros_like(x), np.zeros_like(x)
    made = launch(twice, (2,), x_ptr=x, sum_ptr=total, difference_ptr=difference, n=5000, B=4096)
    assert "tj_streams(grid, 32768)" in made.c
    assert np.array_equal(total, x + 3)
