# SPDX-License-Identifier: Apache-2.0
"""Targets: what kernels are told about them, and that a host's driver stays as it is."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import triton
from conftest import BASIC, CUDA, Compiler, check_python, kernel, ptr, write

VERSION = tuple(map(int, triton.__version__.split(".")[:2]))
HIP = {"backend": "hip", "arch": "gfx942", "warp_size": 64}
BRANCH = """if tl.target_info.is_hip():
        tl.store(out, 1111)
    elif tl.target_info.cuda_capability_geq(9, 0):
        tl.store(out, 2222)
    elif tl.target_info.is_cuda():
        tl.store(out, 3333)"""
needs_target_info = pytest.mark.skipif(VERSION < (3, 5), reason="target_info came with triton 3.5")
CASES = [({**CUDA, "arch": "80"}, "3333"), (CUDA, "2222"), (HIP, "1111"), ({**CUDA, "arch": "sm_100"}, "2222")]


@needs_target_info
def test_target_info_answers_for_the_compile_target(compiler: Compiler, tmp_path: Path) -> None:
    function = compiler.open(write(tmp_path, "k.py", kernel(BRANCH, head="import triton.language.target_info")), "k")
    for target, number in CASES:
        assert number in compiler.compile(function, [ptr("i32")], target=target).ok().sections["ttir"].decode()
    assert triton.runtime.driver._active is None


@needs_target_info
def test_targets_of_two_threads(compiler: Compiler, tmp_path: Path) -> None:
    function = compiler.open(write(tmp_path, "k.py", kernel(BRANCH, head="import triton.language.target_info")), "k")
    wrong: list[object] = []

    def work(number: int) -> None:
        for step in range(6):
            target, expected = CASES[(number + step) % len(CASES)]
            reply = compiler.compile(function, [ptr("i32")], target=target, num_stages=number * 6 + step + 1)
            if reply.status != "OK" or expected not in reply.sections["ttir"].decode():
                wrong.append((target, reply))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_target_info
def test_the_hosts_driver_stays_active(tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel(BRANCH, head="import triton.language.target_info"))
    check_python(
        f"""
        import threading
        import triton
        from triton.backends.compiler import GPUTarget
        from conftest import *

        class HostDriver:
            def get_current_target(self): return GPUTarget("cuda", 80, 32)
        host = HostDriver()
        triton.runtime.driver.set_active(host)
        compiler = Compiler(script.handle)
        function = compiler.open({str(path)!r}, "k")
        assert "2222" in compiler.compile(function, [ptr("i32")]).ok().sections["ttir"].decode()
        assert triton.runtime.driver.active is host and triton.language.target_info.current_target().arch == 80
        other = HostDriver()
        triton.runtime.driver.set_active(other)
        assert triton.runtime.driver.active is other
        """
    )


ASKS_THE_DRIVER = """
target = triton.runtime.driver.active.get_current_target()
WARPS = 8 if target.backend == "cuda" else 4

@triton.autotune([triton.Config({"B": 1}, num_warps=WARPS)], key=[])
@triton.jit
def tuned(out, B: tl.constexpr):
    tl.store(out, B)
"""


def test_files_that_ask_the_driver_when_they_are_imported(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel(head=ASKS_THE_DRIVER))
    for backend in ("cuda", "hip"):
        assert compiler.describe(path, "tuned", backend=backend).ok()["record"]["tuned"] == ["B"]


def test_files_that_need_a_device_when_they_are_imported(compiler: Compiler, tmp_path: Path) -> None:
    head = "triton.runtime.driver.active.utils.get_device_properties(0)"
    reply = compiler.describe(write(tmp_path, "k.py", kernel(head=head)), "k")
    assert reply.status == "E_SOURCE_RAISED" and "no device" in reply["message"] and head in reply["message"]


def test_no_driver_is_made_and_torch_is_not_imported() -> None:
    check_python(
        f"""
        import sys, triton
        from conftest import *
        compiler = Compiler(script.handle)
        reply = compiler.compile(compiler.open({BASIC!r}, "add_kernel"), ADD_ARGS).ok()
        assert triton.runtime.driver._active is None and triton.runtime.driver._default is None
        assert "torch" not in sys.modules
        """
    )


def test_architectures(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel")
    for arch in ("80", "90", "100"):
        reply = compiler.compile(
            function, [ptr(), ptr(), ptr(), {"int": "3"}, {"int": "64"}], target={**CUDA, "arch": arch}
        ).ok()
        assert f"sm_{arch}" in reply.sections["ptx"].decode()
        assert reply["metadata"]["target"]["arch"] == int(arch)


def test_warp_size_may_be_left_out(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel")
    args = [ptr(), ptr(), ptr(), {"int": "3"}, {"int": "64"}]
    for target in (CUDA, HIP):
        short = {name: value for name, value in target.items() if name != "warp_size"}
        hashes = [compiler.compile(function, args, target=t, key_only=True).ok()["hash"] for t in (target, short)]
        assert hashes[0] == hashes[1]
