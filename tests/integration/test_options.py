# SPDX-License-Identifier: Apache-2.0
"""Compile options, and what can be read back of a compiled kernel."""

from __future__ import annotations

import json

import numpy as np
import pytest
from triton_jit_ctypes import Option, TritonJitError, arg


@pytest.fixture
def call(kernel):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    return kernel("elementwise.copy"), (x, out, 64, 64)


def test_R032_options_are_readable_back(call):
    copy, args = call
    for warps, stages in ((8, 2), (1, 5), (0, 0)):
        info = copy.prepare(*args, num_warps=warps, num_stages=stages).info
        assert info["num_warps"] == (warps or 4)
        assert info["num_stages"] == (stages or 3)
        metadata = json.loads(info["metadata"])
        assert (metadata["num_warps"], metadata["num_stages"]) == (warps or 4, stages or 3)


def test_R032_unknown_options_are_named(call):
    copy, args = call
    with pytest.raises(TritonJitError) as error:
        copy.prepare(*args, options={"num_wraps": 8})
    assert error.value.name == "E_UNKNOWN_OPTION"
    assert "num_wraps" in error.value.message and "num_warps" in error.value.message
    copy.prepare(*args)


@pytest.mark.parametrize(
    ("fields", "name"),
    [({"num_warps": 3}, "num_warps"), ({"num_warps": 1 << 20}, "num_warps"), ({"num_ctas": 6}, "num_ctas")],
)
def test_values_that_an_option_cannot_have(call, fields, name):
    copy, args = call
    with pytest.raises(TritonJitError) as error:
        copy.prepare(*args, **fields)
    assert error.value.name == "E_OPTION_VALUE"
    assert name in error.value.message


@pytest.mark.parametrize("name", ["num_warps", "num_stages", "num_ctas"])
def test_fields_of_the_launch_are_no_options(tj, name):
    with pytest.raises(TritonJitError) as error:
        tj.options({name: 4})
    assert error.value.name == "E_OPTION_VALUE" and name in error.value.message


def test_R031_sets_of_options_do_not_collide(tj, call):
    copy, args = call
    sets = [{"maxnreg": 64}, {"maxnreg": 128}, {"enable_fp_fusion": True}, {"enable_fp_fusion": False},
            {"ptx_options": "1;b=2"}, {"ptx_options": "1", "schedule_hint": "2"}, {"ptx_options": "1"},
            {"debug": True}, {"debug": True, "maxnreg": 64}]  # fmt: skip
    ids = [tj.options(options) for options in sets]
    assert len(set(ids)) == len(sets) and 0 not in ids
    assert [tj.options(dict(reversed(options.items()))) for options in sets] == ids
    kernels = [copy.prepare(*args, options=identity) for identity in ids[:7]]
    assert len(set(kernels)) == 7
    assert copy.prepare(*args, options=ids[0]) == kernels[0]
    assert json.loads(kernels[1].info["metadata"])["maxnreg"] == 128
    # the values' types count: 1 is not True
    assert tj.options({"kpack": 1}) != tj.options({"kpack": True})


def test_an_option_twice(tj):
    twice = (Option * 2)(Option(b"maxnreg", arg(64)), Option(b"maxnreg", arg(128)))
    out = tj.c.tj_options_intern(twice, 2, (Option * 1)())
    assert tj.status_name(out) == "E_OPTION_VALUE"


def test_a_functions_own_options(tj, kernel, call):
    _, args = call
    plain, tuned = kernel("elementwise.copy"), kernel("elementwise.copy", options={"maxnreg": 40})
    assert plain != tuned
    assert json.loads(tuned.prepare(*args).info["metadata"])["maxnreg"] == 40
    assert json.loads(tuned.prepare(*args, options={"maxnreg": 50}).info["metadata"])["maxnreg"] == 50
    assert json.loads(plain.prepare(*args).info["metadata"])["maxnreg"] is None


def test_the_stages_of_a_kernel(call):
    copy, args = call
    compiled = copy.prepare(*args)
    assert b"tt.func public @copy" in compiled.asm("ttir")
    assert b"tj_cpu_run_1" in compiled.asm("c")
    assert compiled.asm("so")[:4] == b"\x7fELF"
    with pytest.raises(TritonJitError) as error:
        compiled.asm("ptx")
    assert error.value.name == "E_INVALID"
    assert "ptx" in error.value.message and "ttir" in error.value.message and "so" in error.value.message


def test_what_a_kernel_says_of_itself(call):
    copy, args = call
    compiled = copy.prepare(*args)
    info = compiled.info
    assert info["name"] == "copy" and info["backend"] == "cpu" and info["arch"] == "native"
    assert info["types"] == "*fp32,*fp32,i32"
    assert info["variant"] == "x=*fp32:16 out=*fp32:16 n=i32:16 BLOCK=64"
    assert info["function"] == copy.handle
    assert (info["n_params"], info["params_size"], info["num_ctas"]) == (3, 20, 1)
    params = [compiled.param(i) for i in range(3)]
    assert [(p["pointer"], p["size"], p["offset"]) for p in params] == [(1, 8, 0), (1, 8, 8), (0, 4, 16)]
    with pytest.raises(TritonJitError) as error:
        compiled.param(3)
    assert error.value.name == "E_NO_SUCH_PARAMETER"


def test_siblings_on_another_backend(tj, call):
    copy, args = call
    null = copy.on("null")
    assert null != copy and null.info["backend"] == "null"
    assert copy.on("cpu") == copy and null.on("cpu") == copy and null.on("null") == null
    assert null.info["cache_key"] == copy.info["cache_key"]
    for backend in ("vulkan", "CPU", ""):
        with pytest.raises(TritonJitError) as error:
            copy.on(backend)
        assert error.value.name == "E_UNKNOWN_BACKEND" and "cpu" in error.value.message


def test_compile_for_a_target_without_its_device(tj, call):
    from ctypes import pointer

    from triton_jit_ctypes import Target

    copy, args = call
    for backend, arch, warp_size, stage in ((b"cuda", b"90", 32, "ptx"), (b"hip", b"gfx942", 64, "amdgcn")):
        target = Target(24, warp_size, backend, arch)
        compiled = copy.prepare(*args, target=pointer(target))
        assert compiled.info["arch"] == arch.decode()
        assert b"copy" in compiled.asm(stage)
        with pytest.raises(TritonJitError) as error:
            compiled.launch((1,), *args)
        assert error.value.name == "E_TARGET"
