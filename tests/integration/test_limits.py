# SPDX-License-Identifier: Apache-2.0
"""Kernels that cannot be compiled or run: what the caller reads, and that the process goes on."""

from __future__ import annotations

import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError


def test_an_operation_without_a_lowering(kernel):
    """The operation, the place, the text of the line and the call that leads there, once each."""
    assembly = kernel("limits.assembly")
    with pytest.raises(TritonJitError) as error:
        assembly((1,), np.zeros(16, np.int32))
    assert error.value.name == "E_COMPILE"
    message = error.value.message
    for text in ("tl.inline_asm_elementwise'", "limits.py:10", "limits.py:16", "return tl.inline_asm_elementwise(",
                 "tl.store(out + k, helper(k))", "write it with Triton's operations"):  # fmt: skip
        assert message.count(text) == 1, (text, message)


def test_a_step_that_leads_nowhere(kernel):
    steps = kernel("limits.steps", options={})
    out = np.zeros(8, np.int32)
    for step in (-2, 0):
        with pytest.raises(TritonJitError) as error:
            steps((1,), out, 8, step)
        assert f"the step of this range is {step}" in error.value.message and "limits.py:34" in error.value.message
    steps((1,), out, 8, 2)
    assert out.tolist() == [0, 0, 2, 0, 4, 0, 6, 0]


def test_a_tile_too_large_for_memory(child):
    """The scratch of a program is not to be had: a status with its size, and the kernel runs when it is."""
    printed = child(
        """
        import resource
        large = tj.function(KERNELS + "/limits.py", "large")
        x, out = np.ones((512, 512), np.float64), np.zeros((512, 512), np.float64)
        kernel = large.prepare(spec_ptr("fp64", True), spec_ptr("fp64", True), 512)
        used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize"))
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, ((used + 256) * 1024, before[1]))
        try:
            large((1,), x, out, 512)
            print("no error")
        except TritonJitError as error:
            print(error.name, error.message)
        resource.setrlimit(resource.RLIMIT_AS, before)
        large((1,), x, out, 512)
        print(out.any())
    """,
        TRITON_JIT_CPU_THREADS="1",
    )
    assert printed.startswith("E_OUT_OF_MEMORY kernel large: no memory for the ") and "bytes of scratch" in printed
    assert printed.endswith("True\n")


def test_a_tile_larger_than_triton_allows(kernel):
    with pytest.raises(TritonJitError) as error:
        kernel("limits.large")((1,), np.zeros(1, np.float32), np.zeros(1, np.float32), 2048)
    assert error.value.name == "E_COMPILE" and "exceeds triton maximum tensor numel" in error.value.message
    assert "limits.py" in error.value.message


def test_a_compiler_that_is_too_old(child, tmp_path):
    old = tmp_path / "cc"
    old.write_text('#!/bin/sh\ncase "$*" in *-dM*) echo "#define __GNUC__ 4"; exit 0;; esac\nexec cc "$@"\n')
    old.chmod(0o755)
    printed = child(
        """
        try:
            tj.function(KERNELS + "/limits.py", "steps")((1,), np.zeros(8, np.int32), 8, 2)
        except TritonJitError as error:
            print(error.name, error.message)
    """,
        TRITON_JIT_CC=str(old),
        TRITON_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert printed.startswith("E_NO_C_COMPILER") and "is GCC 4.0; the CPU backend needs GCC 8 or Clang 8" in printed
