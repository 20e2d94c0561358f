# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for one that has failed end with it, and the launch says why it failed."""

from __future__ import annotations

import pytest

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def waits(flag, out, FAILS: tl.constexpr):
    pid = tl.program_id(0)
    if pid == FAILS:
        tl.device_assert(pid < 0, "never")
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_add(flag, 0) == 0:
            pass
    tl.store(out + pid, 1)


@triton.jit
def wait_for(flag):
    while True:
        if tl.load(flag, volatile=True) != 0:
            return 1
    return 0


@triton.jit
def spins_on_a_load(flag, out, FAILS: tl.constexpr):
    pid = tl.program_id(0)
    if pid == FAILS:
        tl.device_assert(pid < 0, "never")
        tl.atomic_xchg(flag, 1)
    else:
        value = tl.load(flag, volatile=True)
        while value == 0:
            value = tl.load(flag, volatile=True)
    tl.store(out + pid, 1)
"""


@pytest.mark.parametrize("function", ["waits", "spins_on_a_load"])
@pytest.mark.parametrize("cooperative", [False, True])
def test_programs_that_wait_for_a_failed_one_end(write, child, function, cooperative):
    path = write("waits.py", KERNEL)
    # Without a thread for each program only those behind it may wait for a program.
    fails = 3 if cooperative else 0
    printed = child(
        f"""
        flag, out = np.zeros(1, np.int32), np.zeros(4, np.int32)
        options = {{"debug": True, "launch_cooperative_grid": {cooperative}}}
        waits = tj.function({str(path)!r}, {function!r}, options=options)
        try:
            waits((4,), flag, out, {fails})
        except TritonJitError as error:
            print(error)
        print(flag[0], out[{fails}])
        """,
        TRITON_JIT_CPU_THREADS="4",
    )
    first, last = printed.splitlines()[0], printed.splitlines()[-1]
    assert first.startswith(f"E_KERNEL_ASSERT: kernel {function}: device_assert failed") and "never" in printed
    assert last == "0 0"
