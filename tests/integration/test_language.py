# SPDX-License-Identifier: Apache-2.0
"""Constants, helpers, loops, assertions and prints of the language."""

from __future__ import annotations

import numpy as np
import pytest
from triton_jit_ctypes import LOG_INFO, TritonJitError


def test_static_range(kernel):
    out = np.full(16, -1, np.int32)
    kernel("language.unrolled")((1,), out, 8)
    assert out[:8].tolist() == [i * i for i in range(8)]
    assert out[8:].tolist() == [-1, 1, -1, 3, -1, 5, -1, 7]


def test_loops_at_run_time(kernel):
    out = np.zeros(2, np.int32)
    for n in (0, 1, 10, 100):
        kernel("language.loops")((1,), out, n)
        assert out.tolist() == [sum(range(0, n, 3)), int(np.ceil(np.sqrt(n)))]


def test_static_assert(kernel):
    checked = kernel("language.checked")
    out = np.zeros(1, np.int32)
    checked((1,), out, 8)
    assert out[0] == 8
    failures = checked.stats.failures
    for _ in range(2):
        with pytest.raises(TritonJitError) as error:
            checked((1,), out, 6)
        assert error.value.name == "E_COMPILE"
        assert "N must be a multiple of four" in error.value.message
        assert "language.py" in error.value.message
    assert checked.stats.failures == failures + 1  # remembered: it would come out the same
    assert out[0] == 8
    checked((1,), out, 12)
    assert out[0] == 12


def test_helpers_and_global_constants(kernel):
    out = np.zeros(5, np.int32)
    kernel("language.helpers")((1,), out, 7, 5)
    assert out.tolist() == [26, 2, 28, 126, 2000]


def test_a_global_that_is_no_constexpr(kernel):
    with pytest.raises(TritonJitError) as error:
        kernel("language.plain_global")((1,), np.zeros(1, np.int32))
    assert error.value.name == "E_COMPILE"
    assert "PLAIN" in error.value.message and "constexpr" in error.value.message


def test_device_print_arrives_in_the_log(kernel, log, capfd):
    x = np.array([1.5, -2, 3, 4], np.float32)
    kernel("language.prints")((2,), x, 77)
    lines = [text for level, text in log if level == LOG_INFO]
    for pid in (0, 1):
        mine = [line.removeprefix(f"pid ({pid}, 0, 0) idx ") for line in lines if line.startswith(f"pid ({pid}, 0, 0)")]
        assert mine == [f"() pid: {pid}", *(f"({i}) x: (operand 0) {v:f}" for i, v in enumerate(x)),
                        "() x: (operand 1) 77"]  # fmt: skip
    assert sum(line.startswith("pid") for line in lines) == 12
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("debug", [True, False])
def test_device_assert_is_a_status(kernel, debug):
    asserts = kernel("language.asserts", options={"debug": debug})
    x = np.arange(8, dtype=np.int32)
    asserts((4,), x, 8)
    if debug:
        with pytest.raises(TritonJitError) as error:
            asserts((4,), x, 7)
        assert error.value.name == "E_KERNEL_ASSERT"
        assert "too large" in error.value.message and "language.py" in error.value.message
        asserts((4,), x, 8)  # the kernel still works
    else:
        asserts((4,), x, 7)  # Triton leaves the assertion out


def test_a_failed_assert_leaves_the_process_alone(kernel):
    writes = kernel("language.writes_then_asserts", options={"debug": True})
    out = np.zeros(2, np.int32)
    for _ in range(50):
        with pytest.raises(TritonJitError) as error:
            writes((8,), out, False)
        assert error.value.name == "E_KERNEL_ASSERT" and "is not good" in error.value.message
    writes((8,), out, True)
    assert out.tolist() == [1, 1]


def test_a_kernel_in_a_class(kernel):
    out = np.zeros(1, np.int32)
    kernel("language.Namespace.method")((1,), out, 41)
    assert out[0] == 42
