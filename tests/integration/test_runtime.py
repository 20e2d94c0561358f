# SPDX-License-Identifier: Apache-2.0
"""What a host sees of the library at work: hooks, statistics, the log, Triton's disk cache."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from triton_jit_ctypes import (
    COMPILER_WORKER,
    LOG_ERROR,
    LOG_INFO,
    LOG_WARNING,
    CompilerOptions,
    TritonJitError,
    ptr,
)


def test_hooks_see_a_call_in_its_order(tj, write):
    path = write(
        "hooked.py",
        """
        import triton
        import triton.language as tl

        @triton.jit
        def hooked(out, n):
            tl.static_assert(n is not None, "n is missing")
            tl.store(out, n)
        """,
    )
    hooked = tj.function(path, "hooked")
    out = np.zeros(1, np.int32)
    with tj.events() as events:
        hooked((3, 1, 2), out, 5)
        hooked((4,), out, 7)
        hooked((0,), out, 7)
    assert [event["hook"] for event in events] == ["compile", "load", "enter", "exit", "enter", "exit"]
    assert all(event["status"] == 0 and event["name"] == "hooked" for event in events)
    assert all(event["function"] == hooked.handle and event["device"] == 0 for event in events)
    handle = hooked.prepare(out, 5).handle
    assert [event["kernel"] for event in events] == [handle] * 6
    assert events[0]["variant"] == events[1]["variant"] == "out=*i32:16 n=i32"
    assert [event["grid"] for event in events[2:]] == [[3, 1, 2]] * 2 + [[4, 1, 1]] * 2
    assert events[0]["nanoseconds"] > 1_000_000 and events[2]["nanoseconds"] == 0
    assert events[3]["nanoseconds"] > 0
    with tj.events() as events, pytest.raises(TritonJitError):
        hooked((1,), out, None)
    assert [(event["hook"], tj.status_name(event["status"])) for event in events] == [("compile", "E_COMPILE")]
    hooked((1,), out, 9)  # and none of them is called any more
    assert out[0] == 9


def test_statistics(tj, kernel):
    ids = kernel("many.block_ids_plus")
    out = np.zeros(64, np.int32)
    before, all_before = ids.stats, tj.stats()
    for plus in (1, 2, 1, 1):
        ids((2,), out, 64, 32, plus)
    with pytest.raises(TritonJitError):
        ids((2,), out, 64, 31, 1)  # not a power of two
    ids((0,), out, 64, 32, 2)
    after, all_after = ids.stats, tj.stats()
    expected = {"hits": 3, "misses": 3, "launches": 4, "compiles": 2, "loads": 2, "failures": 1}
    for name, count in expected.items():
        assert getattr(after, name) - getattr(before, name) == count, name
        assert getattr(all_after, name) - getattr(all_before, name) == count, name
    assert after.compile_ns - before.compile_ns > 1_000_000
    assert after.load_ns > before.load_ns


def test_a_log_callback_that_launches(child, write):
    """What it launches is a function beyond those that its thread has room to count."""
    head = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef {}(out, n):\n"
    path = write("talks.py", head.format("talks") + '    tl.device_print("n is", n)\n    tl.store(out, n)\n')
    text = head.format("later") + "    tl.store(out, n + {})\n"
    code = f"""
        import threading
        talks = tj.function({str(path)!r}, "talks")
        out, other = np.zeros(1, np.int32), np.zeros(1, np.int32)
        talks.prepare(out, 5)
        for i in range(64):
            later = tj.function(f"later{{i}}.py", "later", text={text!r}.format(i))
        kernel = later.prepare(other, 7)
        launch, args = tj.launch(), args_array([other, 7])
        callback = LOG_FN(lambda *_: tj.check(tj.c.tj_kernel_launch(kernel.handle, byref(launch), args, 2)))
        tj.c.tj_set_log(callback, None, LOG_INFO)
        thread = threading.Thread(target=lambda: [talks((1,), out, 5) for _ in range(3)])
        thread.start()
        thread.join()
        tj.c.tj_set_log(LOG_FN(), None, 0)
        print(out[0], other[0], *[(f.stats.hits, f.stats.launches) for f in (talks, later)])
        """
    assert child(code) == "5 70 (3, 3) (3, 3)\n"


def test_trim_unloads_and_calls_load_again(tj, kernel):
    ids = kernel("many.block_ids_plus")
    out = np.zeros(64, np.int32)
    ids((2,), out, 64, 32, 5)
    before = ids.stats
    with tj.events() as events:
        tj.check(tj.c.tj_trim())
        ids((2,), out, 64, 32, 5)
    hooks = [event["hook"] for event in events]
    assert hooks.count("unload") >= 1 and hooks[-3:] == ["load", "enter", "exit"]
    assert ids.stats.compiles == before.compiles and ids.stats.loads == before.loads + 1
    assert out.tolist() == [5] * 32 + [6] * 32


def test_the_log_has_levels(tj, write):
    text = """
        import warnings
        import triton
        print("printed")
        warnings.warn("careful")

        @triton.jit
        def k():
            pass
        """
    for number, (level, expected) in enumerate(((LOG_ERROR, 0), (LOG_WARNING, 1), (LOG_INFO, 2))):
        with tj.logging(level) as lines:
            tj.function(write(f"levels{number}.py", text), "k")
        told = [line for _, line in lines if "printed" in line or "UserWarning: careful" in line]
        assert len(told) == expected, lines
        assert all(severity <= level for severity, _ in lines)


def test_texts_of_any_letters(tj, log):
    text = ("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, good):\n"
            "    tl.device_print(\"'a' \\\"b\\\" \\\\ 100%d {}: \", x)\n"
            "    tl.device_assert(good, \"größe, 'λ' \\\\ 内核 100%d\")\n")  # fmt: skip
    function = tj.function("texts.py", "k", text=text, options={"debug": True})
    function((1,), 42, True)
    assert [line for _, line in log if line.startswith("pid")] == ["pid (0, 0, 0) idx () 'a' \"b\" \\ 100%d {}: 42"]
    with pytest.raises(TritonJitError) as error:
        function((1,), 42, False)
    assert error.value.name == "E_KERNEL_ASSERT" and "größe, 'λ' \\ 内核 100%d" in error.value.message


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_second_process_finds_what_the_first_compiled(child, tmp_path):
    code = """
        f = tj.function(KERNELS + "/many.py", "block_ids_plus")
        out = np.zeros(64, np.int32)
        f((2,), out, 64, 32, 7)
        print(out[0], out[63], f.prepare(out, 64, 32, 7).info["hash"])
        """
    first = child(code, TRITON_CACHE_DIR=str(tmp_path))
    files = files_of(tmp_path)
    assert any(name.endswith(".so") for name in files)
    assert child(code, TRITON_CACHE_DIR=str(tmp_path)) == first
    assert child(code, TRITON_CACHE_DIR=str(tmp_path), TRITON_JIT_COMPILER="worker") == first
    assert files_of(tmp_path) == files


def test_the_worker_gives_the_same(child):
    code = """
        f = tj.function(KERNELS + "/arguments.py", "defaults")
        out = np.zeros(7)
        f((1,), out, 3, 9, 4, 8, "other", 0.5, dtype("i64"))
        g = tj.function(KERNELS + "/arguments.py", "apply")
        x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
        g((1,), x, y, 16, tj.function(KERNELS + "/arguments.py", "square"))
        try:
            tj.function(KERNELS + "/language.py", "checked")((1,), out, 6)
        except TritonJitError as error:
            print(error.name, "multiple of four" in error.message)
        print(out.tolist(), y[5], f.info["cache_key"])
        """
    assert child(code, TRITON_JIT_COMPILER="worker") == child(code, TRITON_JIT_COMPILER="embedded")


def test_the_compiler_is_chosen_before_it_runs(tj, kernel, child):
    kernel("many.block_ids_plus")
    options = CompilerOptions(24, COMPILER_WORKER, None, None)
    with pytest.raises(TritonJitError) as error:
        tj.check(tj.c.tj_set_compiler(options_address(options)))
    assert error.value.name == "E_BUSY"
    code = f"""
        import ctypes, os
        options = CompilerOptions(24, COMPILER_WORKER, {os.environ["TRITON_JIT_PYTHON"].encode()!r}, None)
        tj.check(tj.c.tj_set_compiler(ctypes.addressof(options)))
        out = np.zeros(64, np.int32)
        tj.function(KERNELS + "/many.py", "block_ids_plus")((2,), out, 64, 32, 7)
        children = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_mine(pid)]
        print(out[63], len(children))
        """
    prelude = """
        def is_mine(pid):
            try:
                return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1] == str(os.getpid())
            except OSError:
                return False
        """
    assert child(prelude + code, TRITON_JIT_COMPILER="embedded") == "8 1\n"


def options_address(options: CompilerOptions) -> int:
    from ctypes import addressof

    return addressof(options)


def test_backends_are_listed_in_their_order(tj, kernel):
    backends = tj.backends()
    names = [backend["name"] for backend in backends]
    assert "cpu" in names and len(set(names)) == len(names)
    cpu = backends[names.index("cpu")]
    assert cpu["available"] == 1 and cpu["devices"] == 1 and cpu["reason"] == ""
    out = np.zeros(64, np.int32)
    for device in (1, 7):
        with pytest.raises(TritonJitError) as error:
            kernel("many.block_ids_plus")((1,), out, 64, 32, 0, device=device)
        assert error.value.name == "E_DEVICE" and str(device) in error.value.message


def test_what_is_reserved_says_so(tj, kernel):
    assert tj.status_name(tj.c.tj_freeze(1)) == "E_NOT_SUPPORTED"
    with pytest.raises(TritonJitError) as error:
        kernel("many.block_ids_plus")((1,), ptr(0, "i32"), 0, 32, 0, tuned=1)
    assert error.value.name == "E_NOT_SUPPORTED"
