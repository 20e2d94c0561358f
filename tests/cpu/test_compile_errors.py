# SPDX-License-Identifier: Apache-2.0
"""What a kernel author reads when a kernel cannot be compiled for the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from dialects import compile_text
from generate import module
from runner import launch
from triton_jit_cpu.errors import UnsupportedOp

ASM = 'tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [k], dtype=tl.int32, is_pure=True, pack=1)'


def refused(text: str) -> tuple[str, list[str]]:
    """The file of a kernel that is refused, and the message's lines."""
    made = module(text)
    with pytest.raises(UnsupportedOp) as error:
        launch(made.kernel, (1,), o=np.zeros(16, np.int32))
    assert error.value.status == "E_COMPILE"
    return made.__file__, str(error.value).splitlines()


WHY = (
    "the CPU backend has no lowering for 'tl.inline_asm_elementwise': inline assembly is for one GPU only, here"
    " 'mov.b32 $0, $1;'; write it with Triton's operations"
)


def test_in_the_kernel():
    file, lines = refused(f"""
@triton.jit
def kernel(o):
    k = tl.arange(0, 16)
    v = {ASM}
    tl.store(o + k, v)
""")
    assert lines == [f"{file}:10: {WHY}", f"    v = {ASM}"]


@pytest.mark.parametrize("noinline", [False, True])
def test_in_a_function_that_it_calls(noinline):
    """The calls that lead there are named, whether the function was inlined or not."""
    file, lines = refused(f"""
@triton.jit(noinline={noinline})
def inner(k):
    return {ASM}


@triton.jit(noinline={noinline})
def outer(k):
    return inner(k) + 1


@triton.jit
def kernel(o):
    k = tl.program_id(0)
    tl.store(o + k, outer(k))
""")
    assert lines == [
        f"{file}:9: {WHY}",
        f"    return {ASM}",
        f"  called from {file}:14",
        "    return inner(k) + 1",
        f"  called from {file}:20",
        "    tl.store(o + k, outer(k))",
    ]


def test_an_unknown_library_function():
    file, lines = refused("""
@tl.core.extern
def odd(x, _semantic=None):
    return tl.core.extern_elementwise(
        "", "", [x], {(tl.int32,): ("__nv_no_such_function", tl.int32)}, is_pure=True, _semantic=_semantic
    )


@triton.jit
def kernel(o):
    tl.store(o, odd(tl.load(o)))
""")
    assert lines[0].startswith(f"{file}:16: the CPU backend has no lowering for '__nv_no_such_function': ")
    assert lines[1:] == ["    tl.store(o, odd(tl.load(o)))"]


def test_recursion(tmp_path):
    """Triton's front end refuses it in its own words; TTIR that has it is refused here."""
    text = """module {
  tt.func public @kernel(%o: !tt.ptr<i32>) {
    tt.call @again(%o) : (!tt.ptr<i32>) -> ()
    tt.return
  }
  tt.func private @again(%o: !tt.ptr<i32>) attributes {noinline = true} {
    tt.call @again(%o) : (!tt.ptr<i32>) -> ()
    tt.return
  }
}"""
    with pytest.raises(UnsupportedOp, match=r"kernel.ttir:7: .*'again' calls itself.*write the recursion as a loop"):
        compile_text(text, ["*i32"], tmp_path)
