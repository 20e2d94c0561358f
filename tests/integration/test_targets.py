# SPDX-License-Identifier: Apache-2.0
"""Compiling for devices that are not there, and what of the environment is part of a variant."""

from __future__ import annotations

import ctypes
import json

import pytest
from triton_jit_ctypes import Target, TritonJitError, spec, spec_ptr

COPY = "elementwise.copy"


def cuda(arch: str) -> ctypes.Structure:
    target = Target(ctypes.sizeof(Target))
    target.backend, target.arch, target.warp_size = b"cuda", arch.encode(), 32
    return ctypes.pointer(target)


def prepare(function, arch: str, **fields):
    return function.prepare(spec_ptr("fp32", True), spec_ptr("fp32", True), spec("i32", True), 64,
                            target=cuda(arch), **fields)  # fmt: skip


def test_a_target_needs_no_device(kernel):
    copy = kernel(COPY, backend="null")
    variants = {arch: prepare(copy, arch) for arch in ("80", "90")}
    for arch, variant in variants.items():
        assert variant.info["arch"] == arch
        assert f".target sm_{arch}".encode() in variant.asm("ptx")
        assert variant.asm("cubin")[:4] == b"\x7fELF"
    assert variants["80"] != variants["90"]  # the target is part of the key (R103)
    assert prepare(copy, "90") == variants["90"]


def test_R033_clusters_need_a_device_that_has_them(kernel):
    copy = kernel(COPY, backend="null")
    assert json.loads(prepare(copy, "90", num_ctas=2).info["metadata"])["num_ctas"] == 2
    with pytest.raises(TritonJitError) as error:
        prepare(copy, "80", num_ctas=2)
    assert error.value.name in ("E_OPTION_VALUE", "E_COMPILE")
    assert "num_ctas" in error.value.message


def test_R034_what_changes_the_code_is_in_the_disk_cache_key(child, tmp_path):
    code = f"""
        copy = tj.function(KERNELS + "/elementwise.py", "{COPY.split(".")[1]}")
        kernel = copy.prepare(spec_ptr("fp32", True), spec_ptr("fp32", True), spec("i32", True), 64)
        print(kernel.info["hash"], copy.stats.compiles)
    """
    cache = {"TRITON_CACHE_DIR": str(tmp_path)}
    plain = child(code, **cache).split()
    assert child(code, **cache).split() == plain
    for name in ("TRITON_DISABLE_LINE_INFO", "MLIR_DISABLE_MULTITHREADING"):
        assert child(code, **cache, **{name: "1"}).split()[0] != plain[0], name
