# SPDX-License-Identifier: Apache-2.0
"""TRITON_JIT_CPU_SANITIZE=address: accesses beyond the arguments are skipped and reported with their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from triton_jit_ctypes import LOG_ERROR, LOG_WARNING, TritonJitError, buf, desc, ptr, tensor

SOURCE = Path(__file__).resolve().parent / "kernels" / "sanitize.py"
LINES = SOURCE.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def checked(tj):
    """``checked("add")``: a kernel with the address sanitizer."""
    return lambda name: tj.function(SOURCE, name, options={"sanitize": "address"})


def refused(call) -> str:
    """The message of a call that must be reported."""
    with pytest.raises(TritonJitError) as error:
        call()
    assert error.value.name == "E_KERNEL_ACCESS", error.value
    return error.value.message


def line_of(text: str) -> str:
    """``path:line`` of the only source line with a text."""
    (number,) = [n for n, line in enumerate(LINES, 1) if text in line]
    return f"{SOURCE}:{number}"


def floats(n):
    return np.arange(n, dtype=np.float32) + 1


def test_past_the_end(checked, log):
    x, out = floats(1000), np.zeros(1024, np.float32)
    message = refused(lambda: checked("copy_unmasked")((4,), tensor(x), buf(out), 1024, 256))
    assert message.splitlines()[1:] == [
        "    x = tl.load(x_ptr + offsets)",
        "(the first of 24 findings, at 1 place; the first at each goes to the log)",
    ]
    first = message.splitlines()[0]
    assert "tl.load reads element 1000 of 'x_ptr', 1 past the last: its elements run from 0 to 999" in first
    assert first.endswith("program (3, 0, 0), element (232) of the tile, without a mask")
    np.testing.assert_array_equal(out, np.append(x, np.zeros(24)))  # skipped loads give 0
    assert [line for level, line in log if level == LOG_ERROR] == message.splitlines()[:2]


def test_a_mask_that_is_off_by_one(checked):
    x, y, out = floats(100), floats(100), np.zeros(101, np.float32)
    message = refused(lambda: checked("add")((1,), tensor(x), tensor(y), buf(out), 101, 128))
    assert line_of("y = tl.load(y_ptr + offsets, mask=mask)").rsplit(":", 1)[0] in message
    assert "element 100 of 'x_ptr', 1 past the last" in message and "where its mask is true" in message
    assert "the first of 2 findings, at 2 places" in message
    np.testing.assert_array_equal(out[:100], 2 * x)


def test_before_the_start(checked):
    x, out = floats(64), np.zeros(64, np.float32)
    message = refused(lambda: checked("shift_left")((1,), buf(x), buf(out), 64, 64))
    assert message.startswith(f"kernel shift_left: {line_of('x_ptr + offsets - 1')}: ")
    assert "element -1 of 'x_ptr', 1 before the first: its elements run from 0 to 63" in message
    np.testing.assert_array_equal(out, np.append([-7], x[:63]))  # a skipped load gives `other`


def test_a_wrong_stride(checked):
    x, out = floats(3 * 20).reshape(3, 20), np.zeros((3, 20), np.float32)
    copy = checked("copy_rows")
    copy((1,), tensor(x), buf(out), 20, 3, 20, 4, 32)
    np.testing.assert_array_equal(out, x)
    message = refused(lambda: copy((1,), tensor(x), buf(out), 30, 3, 20, 4, 32))
    assert "element 60 of 'x_ptr', 1 past the last" in message and "element (2, 0) of the tile" in message


def test_a_gap_of_a_strided_tensor(checked):
    whole, out = floats(4 * 32).reshape(4, 32), np.zeros((3, 20), np.float32)
    view, copy = whole[:3, :20], checked("copy_rows")
    copy((1,), tensor(view), buf(out), 32, 3, 20, 4, 32)
    np.testing.assert_array_equal(out, view)
    message = refused(lambda: copy((1,), tensor(view), buf(np.zeros((3, 21), np.float32)), 32, 3, 21, 4, 32))
    assert "element 20 of 'x_ptr', which lies in a gap of the tensor" in message
    assert "element (0, 20) of the tile" in message and "the first of 3 findings" in message


def test_a_tensor_with_negative_strides_and_an_offset(checked):
    x, out = floats(8), np.zeros(3, np.float32)
    scalar = checked("copy_scalar")
    reverse = tensor(x[::-1])  # its first element is the last in memory
    scalar((1,), reverse, ptr(out, offset=7 * 4), -7)
    assert out[0] == 2
    message = refused(lambda: scalar((1,), reverse, ptr(out), 1))
    assert "element 1 of 'x_ptr', 1 past the last: its elements run from -7 to 0" in message
    behind = tensor(x[2:6])
    message = refused(lambda: scalar((1,), behind, ptr(out, offset=12), -3))
    assert "element -3 of 'x_ptr', 3 before the first" in message and "element (" not in message.split(";")[1]


def test_stores_and_atomics(checked):
    out = np.zeros(6, np.int32)
    scalar = checked("copy_scalar")
    message = refused(lambda: scalar((1,), buf(np.ones(8, np.int32)), buf(out[:4]), 5))
    assert "tl.store writes element 5 of 'out_ptr', 2 past the last" in message and not out.any()
    index = np.array([0, 3, 3, 9, -2, 1], np.int32)
    message = refused(lambda: checked("count_into")((1,), buf(out[:4]), tensor(index), 6, 8))
    assert "tl.atomic_add reads and writes element 9 of 'out_ptr', 6 past the last" in message
    assert "element (3) of the tile" in message and "the first of 2 findings" in message
    np.testing.assert_array_equal(out, [1, 1, 0, 2, 0, 0])
    locks = np.zeros(4, np.int32)
    message = refused(lambda: checked("lock_at")((1,), buf(locks[:2]), buf(out), 2))
    assert "tl.atomic_cas reads and writes element 2 of 'lock_ptr'" in message and not locks.any()


def test_pointers_without_extent_are_counted(checked, log):
    x, out = floats(100), np.zeros(100, np.float32)
    checked("add")((1,), x, tensor(x), out, 100, 128)
    np.testing.assert_array_equal(out, 2 * x)
    warnings = [line for level, line in log if level == LOG_WARNING]
    assert [line.split(": ")[1] for line in warnings] == [
        "100 accesses through 'x_ptr' were not checked",
        "100 accesses through 'out_ptr' were not checked",
    ]


def test_a_null_pointer(checked):
    message = refused(lambda: checked("copy_scalar")((1,), ptr(0, "fp32"), np.zeros(4, np.float32), 2))
    assert "tl.load reads address 0x8, through a null pointer" in message


def test_pointers_of_several_arguments(checked, log):
    a, b, out = floats(8), -floats(6), np.zeros(8, np.float32)
    either = checked("copy_either")
    either((1,), tensor(a), tensor(b), buf(out), 6, 8)
    np.testing.assert_array_equal(out[:6], np.where(np.arange(6) % 2, b, a[:6]))
    message = refused(lambda: either((1,), tensor(a), tensor(b), buf(out), 8, 8))
    assert "tl.load reads address 0x" in message and "which is in none of the arguments" in message
    assert "element (7) of the tile" in message
    either((1,), tensor(a), b, buf(out), 6, 8)
    (line,) = [line for _, line in log if "were not checked" in line]
    assert "3 accesses through pointers that come from memory, or from several arguments" in line


def test_pointers_that_move_through_a_loop(checked):
    x, out = floats(64), np.zeros(16, np.float32)
    walk = checked("walk")
    walk((1,), tensor(x), buf(out), 4, 16)
    np.testing.assert_array_equal(out, x.reshape(4, 16).sum(0))
    message = refused(lambda: walk((1,), tensor(x), buf(out), 5, 16))
    assert "element 64 of 'x_ptr', 1 past the last" in message and "the first of 16 findings" in message


def test_an_empty_argument(checked):
    message = refused(lambda: checked("copy_scalar")((1,), buf(floats(4), size=0), np.zeros(4, np.float32), 0))
    assert "element 0 of 'x_ptr', which is empty" in message


def test_the_environment_asks_for_it(child):
    printed = child(
        f"""
        x, out = np.ones(100, np.float32), np.zeros(128, np.float32)
        copy = tj.function({str(SOURCE)!r}, "copy_unmasked")
        try:
            copy((1,), buf(x), buf(out), 128, 128)
        except TritonJitError as error:
            print(error.name)
        plain = tj.function({str(SOURCE)!r}, "copy_unmasked", options={{"sanitize": ""}})
        plain((1,), buf(np.ones(128, np.float32)), buf(out), 128, 128)
        print(int(out.sum()), b"tj_check" in plain.prepare(buf(x), buf(out), 128, 128).asm("c"))
        """,
        TRITON_JIT_CPU_SANITIZE=" race,address",
    )
    assert printed.split() == ["E_KERNEL_ACCESS", "128", "False"]


def test_an_unknown_sanitizer(tj, child):
    with pytest.raises(TritonJitError) as error:
        tj.function(SOURCE, "add", options={"sanitize": "address,thread"}).prepare(*[floats(4)] * 3, 4, 4)
    assert error.value.name == "E_OPTION_VALUE"
    assert "'thread'; known are address, race, numeric" in error.value.message
    printed = child(
        f"""
        try:
            x = np.ones(4, np.float32)
            tj.function({str(SOURCE)!r}, "add")((1,), x, x, x, 4, 4)
        except TritonJitError as error:
            print(error)
        """,
        TRITON_JIT_CPU_SANITIZE="memory",
    )
    assert printed.startswith("E_OPTION_VALUE: ")
    assert "TRITON_JIT_CPU_SANITIZE names the sanitizer 'memory'; known are address, race, numeric" in printed


def test_descriptors(checked, log):
    """What lies beyond a descriptor's shape is padding; its memory is that of the argument."""
    x, out = floats(6 * 16).reshape(6, 16), np.full((4, 8), -1, np.float32)
    checked("copy_block")((1,), desc(x, [4, 8]), buf(out), 4, 8)
    expected = np.zeros((4, 8), np.float32)
    expected[:2] = x[4:, 8:]
    np.testing.assert_array_equal(out, expected)
    out[:] = -1
    checked("copy_made_block")((1,), buf(x), buf(out), 6, 16, 4, 8)
    np.testing.assert_array_equal(out, expected)
    assert not [line for _, line in log if "not checked" in line]
    message = refused(lambda: checked("copy_made_block")((1,), buf(x), buf(out), 7, 16, 4, 8))
    assert "tl.load reads element 104 of 'x_ptr', 9 past the last: its elements run from 0 to 95" in message
    assert "source.load([row, column])" in message


def test_a_program_that_waits_for_a_skipped_access_ends(checked):
    lock, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    unlocks = checked("unlocks_another")
    unlocks((4,), buf(lock), buf(out), 0)
    assert out[0] == 4
    message = refused(lambda: unlocks((4,), buf(lock), buf(out), 2))
    assert "tl.atomic_xchg reads and writes element 2 of 'lock_ptr', 2 past the last" in message
    assert out[0] == 5 and "program (0, 0, 0)" in message
