# SPDX-License-Identifier: Apache-2.0
"""Errors teach: they name the file, the line and its text, and what to do."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import ADD_ARGS, BASIC, Compiler, check_python, integer, kernel, ptr, write


def test_syntax_error(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", "import triton\n\ndef k(out):\n    x = (1 +\n    y = 2\n")
    reply = compiler.describe(path, "k")
    assert reply.status == "E_SYNTAX"
    assert re.search(rf"{path}:[45]: SyntaxError", reply["message"])
    assert "    x = (1 +" in reply["message"] and "^" in reply["message"]


def test_syntax_error_in_a_helper(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "helper.py", "def f(:\n")
    reply = compiler.describe(write(tmp_path, "k.py", kernel(head="import helper")), "k")
    assert reply.status == "E_SYNTAX"
    assert f"{tmp_path / 'helper.py'}:1" in reply["message"] and "def f(:" in reply["message"]
    assert f'"{tmp_path / "k.py"}", line 3' in reply["traceback"]


def test_import_error(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel(head="import not_installed_anywhere.sub"))
    reply = compiler.describe(path, "k")
    assert reply.status == "E_IMPORT"
    assert f"{path}:3" in reply["message"] and "import not_installed_anywhere.sub" in reply["message"]
    assert "triton_jit_compile" not in reply["traceback"] and "importlib" not in reply["traceback"]
    reply = compiler.describe(write(tmp_path, "k2.py", kernel(head="from math import no_such_thing")), "k")
    assert reply.status == "E_IMPORT" and "no_such_thing" in reply["message"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("raise ValueError('broken on purpose')", "ValueError: broken on purpose"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("assert False, 'an assertion'", "AssertionError: an assertion"),
        ("{}['missing']", "KeyError: 'missing'"),
        ("raise ValueError('a\\udcff\\U0001f600')", "ValueError: a?\U0001f600"),
        ("def f(): f()\nf()", "RecursionError"),
        ("class Odd(BaseException):\n    def __str__(self): return 'odd'\nraise Odd", "Odd: odd"),
    ],
)
def test_source_that_raises(compiler: Compiler, tmp_path: Path, statement: str, words: str) -> None:
    path = write(tmp_path, "k.py", kernel(head=statement))
    reply = compiler.describe(path, "k")
    assert reply.status == "E_SOURCE_RAISED"
    assert words in reply["message"] and str(path) in reply["message"]
    assert str(path) in reply["traceback"]
    compiler.open(BASIC, "add_kernel")


def test_out_of_memory(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe(write(tmp_path, "k.py", kernel(head="raise MemoryError")), "k")
    assert reply.status == "E_OUT_OF_MEMORY"


def test_out_of_memory_within_a_compile(compiler: Compiler, tmp_path: Path) -> None:
    """Triton makes a CompilationError of it, which would be remembered as the kernel's own fault."""
    head = "@triton.constexpr_function\ndef size(n):\n    raise MemoryError\n"
    path = write(tmp_path, "k.py", kernel("    tl.store(out, size(3))", head=head))
    reply = compiler.compile(compiler.open(path, "k"), [ptr("i32")])
    assert reply.status == "E_OUT_OF_MEMORY" and "'k'" in reply["message"]


def test_exception_whose_text_fails(compiler: Compiler, tmp_path: Path) -> None:
    head = "class Odd(Exception):\n    def __str__(self): raise RuntimeError('no text')\nraise Odd"
    reply = compiler.describe(write(tmp_path, "k.py", kernel(head=head)), "k")
    assert reply.status == "E_SOURCE_RAISED" and "Odd" in reply["message"]


def test_kernel_not_found(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe(BASIC, "ad_kernel")
    assert reply.status == "E_KERNEL_NOT_FOUND"
    assert "Did you mean 'add_kernel'" in reply["message"] and "typed_kernel" in reply["message"]
    reply = compiler.describe(write(tmp_path, "empty.py", ""), "k")
    assert reply.status == "E_KERNEL_NOT_FOUND" and "no @triton.jit function" in reply["message"]


@pytest.mark.parametrize(
    ("head", "words"),
    [("def k(): pass", "function"), ("k = 5", "builtins.int"), ("class k: pass", "type"), ("k = None", "NoneType")],
)
def test_not_a_kernel(compiler: Compiler, tmp_path: Path, head: str, words: str) -> None:
    reply = compiler.describe(write(tmp_path, "k.py", head), "k")
    assert reply.status == "E_NOT_JIT"
    assert words in reply["message"] and "@triton.jit" in reply["message"]


def test_wrapper_that_holds_itself(compiler: Compiler, tmp_path: Path) -> None:
    head = "class Loop: pass\nk = Loop()\nk.fn = k\nk.__wrapped__ = k\n"
    assert compiler.describe(write(tmp_path, "k.py", head), "k").status == "E_NOT_JIT"


def compile_error(compiler: Compiler, tmp_path: Path, body: str, args: list | None = None, **how: str) -> dict:
    path = write(tmp_path, "k.py", kernel(body, **how))
    reply = compiler.compile(compiler.open(path, "k"), args or [ptr("i32")])
    assert reply.status == "E_COMPILE", reply
    return reply


def test_undefined_name(compiler: Compiler, tmp_path: Path) -> None:
    reply = compile_error(compiler, tmp_path, "x = 1\n    tl.store(out, nothing_here)")
    assert f"{tmp_path / 'k.py'}:8:" in reply["message"]
    assert "tl.store(out, nothing_here)\n" in reply["message"]
    assert re.search(r"\n +\^\n", reply["message"])
    assert "nothing_here is not defined" in reply["message"] and "kernel 'k'" in reply["message"]


def test_error_in_a_called_function(compiler: Compiler, tmp_path: Path) -> None:
    write(tmp_path, "helper.py", kernel("return tl.zeros((3,), tl.float32)", name="f", params="x"))
    reply = compile_error(compiler, tmp_path, "tl.store(out, f(1))", head="from helper import f")
    assert f"{tmp_path / 'k.py'}:7:" in reply["message"] and f"{tmp_path / 'helper.py'}:7:" in reply["message"]
    assert "power of 2" in reply["message"]


def test_static_assert(compiler: Compiler, tmp_path: Path) -> None:
    reply = compile_error(compiler, tmp_path, "tl.static_assert(1 == 2, 'a reason')")
    assert "a reason" in reply["message"] and "CompileTimeAssertionFailure" in reply["message"]


def test_plain_python_function(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel("tl.store(out, plain())", head="def plain(): return 1"))
    reply = compiler.describe(path, "k")
    if reply.status == "OK":
        reply = compiler.compile(reply["record"]["id"], [ptr("i32")])
    assert reply.status == "E_COMPILE"
    assert str(path) in reply["message"] and "plain" in reply["message"]


def test_plain_global(compiler: Compiler, tmp_path: Path) -> None:
    reply = compile_error(compiler, tmp_path, "tl.store(out, NUMBER)", head="NUMBER = 5")
    assert "NUMBER" in reply["message"] and "constexpr" in reply["message"]


def test_ptxas_error(compiler: Compiler, tmp_path: Path) -> None:
    body = (
        "y = tl.inline_asm_elementwise('no.such.instruction $0, $1;', '=r,r', [tl.load(out)], "
        "dtype=tl.int32, is_pure=False, pack=1)\n    tl.store(out, y)"
    )
    reply = compile_error(compiler, tmp_path, body)
    assert "ptxas" in reply["message"] and "such" in reply["message"] and str(tmp_path / "k.py") in reply["message"]


def test_failure_then_success(compiler: Compiler, tmp_path: Path) -> None:
    function = compiler.open(
        write(tmp_path, "k.py", kernel("tl.store(out, tl.arange(0, B))", params="out, B: tl.constexpr")), "k"
    )
    assert compiler.compile(function, [ptr("i32"), integer(3)]).status == "E_COMPILE"
    # a scalar pointer with a block of values is an error too: the second failure is its own
    assert compiler.compile(function, [ptr("i32"), integer(4)]).status == "E_COMPILE"
    compiler.compile(compiler.open(BASIC, "add_kernel"), ADD_ARGS).ok()


def test_exit_inside_a_compile(compiler: Compiler, tmp_path: Path) -> None:
    import triton

    if not hasattr(triton, "constexpr_function"):
        pytest.skip("this triton has no constexpr_function")
    head = "@triton.constexpr_function\ndef leave():\n    raise SystemExit(4)\n"
    path = write(tmp_path, "k.py", kernel("tl.store(out, leave())", head=head))
    reply = compiler.compile(compiler.open(path, "k"), [ptr("i32")])
    assert reply.status == "E_COMPILE" and "SystemExit" in reply["message"]


def test_interrupted_compile_is_no_error_of_the_kernel(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    import triton.compiler.compiler as triton_compiler

    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    function = compiler.open(BASIC, "add_kernel")
    with monkeypatch.context() as patch:
        patch.setattr(triton_compiler, "compile", interrupt)
        reply = compiler.compile(function, ADD_ARGS)
    assert reply.status == "E_INTERNAL" and "interrupted" in reply["message"]
    compiler.compile(function, ADD_ARGS).ok()


@pytest.mark.parametrize("value", ["1", "true", "on"])
def test_interpreter_mode(value: str) -> None:
    check_python(
        """
        from conftest import *
        reply = Compiler(script.handle).describe(BASIC, "add_kernel")
        assert reply.status == "E_INTERPRETED" and "TRITON_INTERPRET" in reply["message"], reply
        """,
        {"TRITON_INTERPRET": value},
    )


def test_interpreter_mode_when_triton_was_imported() -> None:
    check_python(
        """
        import os, triton
        del os.environ["TRITON_INTERPRET"]
        from conftest import *
        assert Compiler(script.handle).describe(BASIC, "add_kernel").status == "E_INTERPRETED"
        """,
        {"TRITON_INTERPRET": "1"},
    )


def test_interpreter_mode_later() -> None:
    check_python(
        """
        import os
        from conftest import *
        compiler = Compiler(script.handle)
        function = compiler.open(BASIC, "add_kernel")
        os.environ["TRITON_INTERPRET"] = "1"
        assert compiler.compile(function, ADD_ARGS).status == "E_INTERPRETED"
        os.environ["TRITON_INTERPRET"] = "0"
        compiler.compile(function, ADD_ARGS).ok()
        """
    )


def test_no_triton(tmp_path: Path) -> None:
    check_python(
        """
        import sys
        sys.path[:] = [entry for entry in sys.path if "site-packages" not in entry]
        sys.modules["pytest"] = type(sys)("pytest")
        sys.modules["pytest"].fixture = lambda function: function
        from conftest import *
        reply = Compiler(script.handle).describe(BASIC, "add_kernel")
        assert reply.status == "E_NO_TRITON", reply
        assert f"{sys.executable} -m pip install triton" in reply["message"]
        """
    )


def test_broken_triton(tmp_path: Path) -> None:
    write(tmp_path, "triton/__init__.py", "raise ImportError('libtriton.so: undefined symbol: foo')\n")
    check_python(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from conftest import *
        reply = Compiler(script.handle).describe(BASIC, "add_kernel")
        assert reply.status == "E_NO_TRITON" and "undefined symbol" in reply["message"], reply
        """
    )


@pytest.mark.parametrize("version", ["3.2.0", "3.1.0", "2.3.1", "nonsense", ""])
def test_old_triton(tmp_path: Path, version: str) -> None:
    write(tmp_path, "triton/__init__.py", f"__version__ = {version!r}\n")
    check_python(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from conftest import *
        reply = Compiler(script.handle).describe(BASIC, "add_kernel")
        assert reply.status == "E_TRITON_VERSION" and "pip install --upgrade triton" in reply["message"], reply
        """
    )


def test_no_xdsl() -> None:
    check_python(
        """
        import sys
        from conftest import *
        sys.modules["xdsl"] = None
        reply = Compiler(script.handle).describe(BASIC, "add_kernel", backend="cpu")
        assert reply.status == "E_NO_XDSL" and "pip install xdsl" in reply["message"], reply
        """
    )


def test_statuses_of_a_backend(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a code generator names its own status."""
    import triton.compiler.compiler as triton_compiler

    class ToolMissing(Exception):
        status = "E_NO_C_COMPILER"

    def fail(*arguments: object, **named: object) -> None:
        raise ToolMissing("no cc on PATH")

    function = compiler.open(BASIC, "add_kernel")
    monkeypatch.setattr(triton_compiler, "compile", fail)
    reply = compiler.compile(function, [*ADD_ARGS[:3], integer(9999999), integer(256)])
    assert reply.status == "E_NO_C_COMPILER" and "no cc on PATH" in reply["message"]


def test_targets_that_do_not_exist(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel")
    for target in (
        {"backend": "abacus", "arch": "1", "warp_size": 32},
        {"backend": "cuda", "arch": "hopper", "warp_size": 32},
        {"backend": "cuda", "arch": "90", "warp_size": 0},
        {"backend": "cuda", "arch": "90", "warp_size": "32"},
        {"backend": "", "arch": "90", "warp_size": 32},
        {"backend": None},
    ):
        assert compiler.compile(function, ADD_ARGS, target=target).status == "E_NOT_SUPPORTED", target


def test_stays_importable() -> None:
    assert "triton_jit_compile" in sys.modules
