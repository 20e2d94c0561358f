# SPDX-License-Identifier: Apache-2.0
"""Decorated kernels: tuned parameters are the caller's to give."""

from __future__ import annotations

import numpy as np
import pytest
from triton_jit_ctypes import PARAM_CONSTEXPR, PARAM_TUNED, TritonJitError, default

N = 256


@pytest.mark.parametrize("name", ["tuned", "heuristic", "everything"])
def test_R047_decorators_are_looked_through(kernel, name):
    function = kernel(f"decorated.{name}")
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    function((4,), x, out, N, 64, True)
    assert np.array_equal(out, x + 1)
    function((2,), x, out, N - 3, keywords={"EVEN": False, "BLOCK": 128}, num_warps=8)
    assert np.array_equal(out[: N - 3], x[: N - 3] + 2)
    flags = {p["name"]: p["flags"] for p in function.params}
    assert flags["EVEN"] == PARAM_CONSTEXPR | PARAM_TUNED
    assert flags["BLOCK"] == (PARAM_CONSTEXPR if name == "heuristic" else PARAM_CONSTEXPR | PARAM_TUNED)


def test_R047_functools_wraps(kernel):
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    kernel("decorated.wrapped")((4,), x, out, N, 64)
    assert np.array_equal(out, x + 3)


def test_a_tuned_parameter_without_a_value(kernel):
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    for given, missing in ((), "BLOCK"), ((64,), "EVEN"), ((default(), True), "BLOCK"):
        with pytest.raises(TritonJitError) as error:
            kernel("decorated.tuned")((4,), x, out, N, *given)
        assert error.value.name == "E_NEEDS_CONFIG"
        assert f"'{missing}'" in error.value.message


def test_names_that_are_no_kernels(kernel):
    for name, kind in (("not_a_kernel", "function"), ("NUMBER", "int"), ("CONFIGS", "list")):
        with pytest.raises(TritonJitError) as error:
            kernel(f"decorated.{name}")
        assert error.value.name == "E_NOT_JIT"
        assert kind in error.value.message and name in error.value.message
    with pytest.raises(TritonJitError) as error:
        kernel("decorated.tunde")
    assert error.value.name == "E_KERNEL_NOT_FOUND" and "tuned" in error.value.message
