# SPDX-License-Identifier: Apache-2.0
"""TRITON_JIT_CPU_SANITIZE=race: programs that touch one location are reported unless atomics order them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from triton_jit_ctypes import TritonJitError, tensor

SOURCE = Path(__file__).resolve().parent / "kernels" / "sanitize.py"


@pytest.fixture
def watched(tj):
    """``watched("queue")``: a kernel with the race detector."""

    def get(name, **options):
        return tj.function(SOURCE, name, options={"sanitize": "race", **options})

    return get


def races(call) -> list[str]:
    """The message of a call that must be reported, by lines, without its path."""
    with pytest.raises(TritonJitError) as error:
        call()
    assert error.value.name == "E_KERNEL_RACE", error.value
    return [line.replace(f"{SOURCE}:", "LINE ") for line in error.value.message.splitlines()]


def test_rows_that_overlap(watched):
    rows = watched("rows_overlap")
    out = np.zeros(64, np.int32)
    rows((4,), tensor(out), 16, 16)
    np.testing.assert_array_equal(out, np.repeat(np.arange(4), 16))
    lines = races(lambda: rows((4,), tensor(out), 15, 16))
    assert "tl.store writes element 15 of 'out_ptr' in program (1, 0, 0), element (0) of the tile" in lines[0]
    assert "tl.store writes it in program (0, 0, 0), element (15) of the tile, and nothing orders" in lines[2]
    assert lines[1] == lines[3] and lines[1].startswith("    tl.store(out_ptr + pid * stride")
    assert lines[4].startswith("(the first of 3 findings, at 1 place")


def test_elements_smaller_than_what_is_watched(watched):
    """Neighbours within eight bytes are no race."""
    out = np.zeros(40, np.int8)
    rows = watched("rows_overlap")
    rows((4,), tensor(out), 4, 4)
    np.testing.assert_array_equal(out[:16], np.repeat(np.arange(4), 4))
    lines = races(lambda: rows((4,), tensor(out), 3, 4))
    assert "element 3 of 'out_ptr'" in lines[0]


def test_a_sum_without_an_atomic(watched):
    x, out = np.ones(64, np.float32), np.zeros(1, np.float32)
    watched("sum_with_atomic")((4,), tensor(x), tensor(out), 16)
    assert out[0] == 64
    lines = races(lambda: watched("sum_without_atomic")((4,), tensor(x), tensor(out), 16))
    assert "tl.load reads element 0 of 'out_ptr' in program (1, 0, 0)" in lines[0]
    assert "tl.store writes it in program (0, 0, 0)" in lines[2]
    assert not any("of the tile" in line for line in lines[:4])


def test_split_k(watched):
    x, lock = np.arange(64, dtype=np.float32), np.zeros(1, np.int32)
    out = np.zeros(16, np.float32)
    split = watched("split_k")
    split((4,), tensor(x), tensor(out), tensor(lock), 16, True)
    np.testing.assert_array_equal(out, x.reshape(4, 16).sum(0))
    lines = races(lambda: split((4,), tensor(x), tensor(out), tensor(lock), 16, False))
    assert "tl.load reads element 0 of 'out_ptr' in program (1, 0, 0), element (0)" in lines[0]
    assert "nothing orders" in lines[2] and "at 2 places" in lines[4]


@pytest.mark.parametrize("sem", ["acq_rel", "relaxed"])
def test_look_back(watched, sem):
    """Only a release that is acquired orders what was written before it."""
    x = np.arange(32 * 8, dtype=np.float32)
    out, sums, flags = np.zeros_like(x), np.zeros(32, np.float32), np.zeros(32, np.int32)

    def call():
        watched("look_back")((32,), tensor(x), tensor(out), tensor(sums), tensor(flags), 8, sem)

    if sem == "acq_rel":
        call()
        np.testing.assert_array_equal(out, np.cumsum(x))
    else:
        lines = races(call)
        assert "tl.load reads element 0 of 'sums_ptr' in program (1, 0, 0)" in lines[0]
        assert "tl.store writes it in program (0, 0, 0)" in lines[2]
        assert lines[-1].startswith("(the first of 31 findings")


def test_a_queue(watched):
    x = np.arange(80, dtype=np.float32)
    out, taken = np.zeros_like(x), np.zeros(1, np.int32)
    watched("queue")((3,), tensor(taken), tensor(x), tensor(out), 10, 8)
    np.testing.assert_array_equal(out, 2 * x)


def test_a_cooperative_grid_takes_turns(watched):
    meet = watched("meet", launch_cooperative_grid=True)
    arrived, x, out = np.zeros(1, np.int32), np.zeros(9, np.int32), np.zeros(9, np.int32)
    meet((9,), tensor(arrived), tensor(x), tensor(out), True)
    np.testing.assert_array_equal(out, (np.arange(9) + 1) % 9 * 10)
    lines = races(lambda: meet((9,), tensor(arrived), tensor(x), tensor(out), False))
    assert "element 1 of 'x_ptr' in program (1, 0, 0)" in lines[0] and "tl.store writes" in lines[0]
    assert "tl.load reads it in program (0, 0, 0)" in lines[2]


def test_atomics_of_one_program_only(watched):
    out = np.zeros(1, np.int32)
    lines = races(lambda: watched("in_block_scope")((2,), tensor(out)))
    assert "tl.atomic_add changes element 0 of 'out_ptr' in program (1, 0, 0)" in lines[0]


def test_many_programs_read_one_location(watched):
    x, out = np.ones(4096, np.float32), np.zeros(1, np.float32)
    watched("sum_with_atomic")((64,), tensor(x), tensor(out), 64)
    assert out[0] == 4096


def test_findings_are_the_same_each_time(watched):
    out = np.zeros(256, np.int32)
    rows = watched("rows_overlap")
    assert len({tuple(races(lambda: rows((20,), tensor(out), 10, 16))) for _ in range(3)}) == 1
