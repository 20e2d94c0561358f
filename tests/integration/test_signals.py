# SPDX-License-Identifier: Apache-2.0
"""kernels/signals.py against NumPy."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 60, 512])
def test_segmented_scan(kernel, n, reverse):
    random = np.random.default_rng(n)
    flags = (random.random((6, n)) < 0.15).astype(np.int32)
    x = random.integers(-50, 50, (6, n)).astype(np.float32)  # sums of these are exact
    out = np.zeros_like(x)
    kernel("signals.segmented_scan")((6,), flags, x, out, n, reverse, 1 << (n - 1).bit_length())
    expected = np.zeros_like(x)
    for row in range(6):
        total = 0.0
        for i in range(n)[:: -1 if reverse else 1]:
            total = x[row, i] + (0 if flags[row, i] else total)
            expected[row, i] = total
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (30, 47), (64, 64)])
def test_heat(kernel, height, width):
    x = np.random.default_rng(height).normal(size=(height, width)).astype(np.float32)
    here, there = x.copy(), np.zeros_like(x)
    expected = x.astype(np.float64)
    grid = (-(-height // 8), -(-width // 16))
    for _ in range(5):
        kernel("signals.heat_2d")(grid, here, there, height, width, 0.1, 8, 16)
        here, there = there, here
        p = np.pad(expected, 1)
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        expected = expected + 0.1 * (around - 4 * expected)
    assert np.allclose(here, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 20), (4, 16, 33)])
def test_box(kernel, shape):
    x = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    out = np.zeros_like(x)
    grid = (shape[0], -(-shape[1] // 4), -(-shape[2] // 16))
    kernel("signals.box_3d")(grid, x, out, *shape, 4, 16)

    def around(a: np.ndarray) -> np.ndarray:
        p = np.pad(a.astype(np.float64), 1)
        n = a.shape
        steps = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
        return sum(p[i : i + n[0], j : j + n[1], k : k + n[2]] for i, j, k in steps)

    assert np.allclose(out, around(x) / around(np.ones(shape)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("log", [1, 3, 8])
def test_fft(kernel, log):
    n = 1 << log
    random = np.random.default_rng(log)
    re, im = (random.normal(size=(3, n)).astype(np.float32) for _ in range(2))
    out_re, out_im = np.zeros_like(re), np.zeros_like(im)
    kernel("signals.fft")((3,), re, im, out_re, out_im, n, log)
    expected = np.fft.fft(re.astype(np.float64) + 1j * im)
    assert np.allclose(out_re + 1j * out_im, expected, rtol=1e-4, atol=1e-4)
