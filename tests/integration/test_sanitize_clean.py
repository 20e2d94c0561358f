# SPDX-License-Identifier: Apache-2.0
"""Kernels without mistakes: no sanitizer speaks, and the results are the bits of a run without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from triton_jit_ctypes import LOG_WARNING, tensor

SOURCE = Path(__file__).resolve().parent / "kernels" / "sanitize.py"
RNG = np.random.default_rng(7)


def normal(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


# name: (grid, arguments, positions of those that are written)
CASES = {
    "add": ((5,), [normal(1000), normal(1000), np.zeros(1000, np.float32), 1000, 256], [2]),
    "softmax": ((9,), [normal(9, 100), np.zeros((9, 100), np.float32), 100, 100, 128], [1]),
    "matmul": ((3, 2), [normal(70, 45), normal(45, 50), np.zeros((70, 50), np.float32), 70, 50, 45, 32, 32, 16], [2]),
    "layer_norm": ((6,), [normal(6, 300), normal(300), np.zeros((6, 300), np.float32), 300, 512], [2]),
    "copy_rows": ((1,), [normal(3, 20), np.zeros((3, 20), np.float32), 20, 3, 20, 4, 32], [1]),
    "sum_with_atomic": ((8,), [normal(8 * 64), np.zeros(1, np.float32), 64], [1]),
    "split_k": ((6,), [normal(6 * 32), np.zeros(32, np.float32), np.zeros(1, np.int32), 32, True], [1, 2]),
    "look_back": (
        (40,),
        [normal(640), np.zeros(640, np.float32), np.zeros(40, np.float32), np.zeros(40, np.int32), 16, "acq_rel"],
        [1, 2, 3],
    ),
    "queue": ((3,), [np.zeros(1, np.int32), normal(10 * 8), np.zeros(80, np.float32), 10, 8], [2]),
    "walk": ((1,), [normal(5 * 16), np.zeros(16, np.float32), 5, 16], [1]),
    "count_into": ((1,), [np.zeros(9, np.int32), RNG.integers(0, 9, 60, np.int32), 60, 64], [0]),
    "copy_either": ((1,), [normal(50), normal(50), np.zeros(50, np.float32), 50, 64], [2]),
    "reductions": ((1,), [normal(32, 64), normal(64, 32), np.zeros(2 * 96 + 2, np.float32), 32, 64], [2]),
    "calls": ((9,), [normal(9), np.zeros(9, np.float32)], [1]),
    "running": ((1,), [normal(16), np.zeros(1, np.float32), 6, 16], [1]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits(tj, log, name):
    grid, arguments, written = CASES[name]
    results = []
    for words in ("", "address", "address,race,numeric"):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        function = tj.function(SOURCE, name, options={"sanitize": words})
        function(grid, *[tensor(a) if isinstance(a, np.ndarray) else a for a in copies])
        results.append([copies[i].tobytes() for i in written])
    assert not [line for level, line in log if level <= LOG_WARNING]
    assert results[0] == results[1] == results[2]
    assert any(any(data) for data in results[0])
