# SPDX-License-Identifier: Apache-2.0
"""Grids, sizes, strides and masks; sizes that do not fit 32 bits."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError, ptr


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 127, 128, 129, 1000, 1023, 1024, 1025, 100_003])
def test_odd_sizes_touch_nothing_behind_the_end(kernel, n):
    x = np.arange(n + 64, dtype=np.int32)
    out = np.full(n + 64, -1, np.int32)
    kernel("elementwise.copy")((-(-n // 128),), x, out, n, 128)
    assert np.array_equal(out[:n], x[:n])
    assert (out[n:] == -1).all()


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 4, 5), (1, 7, 1), (1, 1, 9), (64, 1, 1), (5, 1, 3)])
def test_grids_of_three_dimensions(kernel, grid):
    x, y, z = grid
    out = np.full((z, y, x, 6), -1, np.int32)
    ids = kernel("elementwise.grid_ids")
    ids(grid, out, x, y)
    at = np.indices((z, y, x))
    assert np.array_equal(out[..., 0], at[2]) and np.array_equal(out[..., 1], at[1])
    assert np.array_equal(out[..., 2], at[0])
    assert (out[..., 3:] == np.array(grid)).all()


@pytest.mark.parametrize("grid", [(0,), (0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_an_empty_grid_launches_nothing(tj, kernel, grid):
    out = np.full(1, -1, np.int32)
    before = tj.stats().launches
    kernel("elementwise.grid_ids")(grid, out, 1, 1)
    assert out[0] == -1
    assert tj.stats().launches == before


def test_the_grid_from_a_callback(tj, kernel):
    ids = kernel("arguments.block_ids")
    seen = []

    def grid(bound):
        seen.append((len(bound), bound.int(1), bound.int(2), bound.arg(0).v.ptr))
        return (-(-bound.int(1) // bound.int(2)),)

    out = np.full(1000, -1, np.int32)
    ids(grid, out, 1000, 64)
    assert np.array_equal(out, np.arange(1000) // 64)
    assert seen == [(3, 1000, 64, out.ctypes.data)]

    def default_grid(bound):
        assert bound.arg(3) is not None and bound.int(4) == 7  # defaults are filled in
        with pytest.raises(TritonJitError) as error:
            bound.int(0)  # a pointer
        assert error.value.name == "E_ARGUMENT_TYPE"
        with pytest.raises(TritonJitError) as error:
            bound.int(99)
        assert error.value.name == "E_NO_SUCH_PARAMETER"
        assert bound.arg(99) is None
        return (1,)

    kernel("arguments.defaults")(default_grid, np.zeros(7), 3)


def test_a_grid_callback_that_fails(kernel):
    out = np.full(64, -1, np.int32)
    with pytest.raises(TritonJitError) as error:
        kernel("arguments.block_ids")(lambda bound: 33, out, 64, 64)  # TJ_E_GRID_FN
    assert error.value.name == "E_GRID_FN"
    assert (out == -1).all()


@pytest.mark.parametrize("what", ["plain", "transposed", "sliced", "reversed", "broadcast"])
def test_strides(kernel, what):
    x = np.arange(37 * 53, dtype=np.float32).reshape(37, 53)
    views = {"plain": x, "transposed": x.T, "sliced": x[3:30:2, 1::3], "reversed": x[::-1, ::-1],
             "broadcast": np.broadcast_to(x[5], (37, 53))}  # fmt: skip
    view = views[what]
    rows, columns = view.shape
    out = np.full((rows, columns), -1, np.float32)
    x_row, x_column = (stride // 4 for stride in view.strides)
    kernel("elementwise.copy_2d")(
        (-(-rows // 16), -(-columns // 16)), ptr(view), out, rows, columns, x_row, x_column, columns, 1, 16, 16
    )
    assert np.array_equal(out, view)


def test_R025_indices_beyond_2_31(kernel):
    """Two GiB of address space, of which one page at the end is written."""
    n = 2**31 + 16
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = np.frombuffer(mmap.mmap(-1, n + 4096, flags=flags), np.int8)
    fill = kernel("elementwise.fill_end")
    fill((1,), memory, n, 7)
    assert (memory[n - 16 : n] == 7).all()
    assert not memory[n : n + 64].any() and not memory[n - 80 : n - 16].any() and not memory[:64].any()
    assert fill.prepare(memory, n, 7).info["types"] == "*i8,i64,i32"
    small = np.zeros(64, np.int8)
    fill((1,), small, 48, 3)
    assert (small[32:48] == 3).all() and small.sum() == 48
