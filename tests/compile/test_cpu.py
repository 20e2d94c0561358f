# SPDX-License-Identifier: Apache-2.0
"""The CPU backend as the compile side sees it; what it generates has tests of its own."""

from __future__ import annotations

from pathlib import Path

from conftest import ADD_ARGS, BASIC, Compiler, check_python, kernel, ptr, write

CPU = {"backend": "cpu", "arch": "native"}


def test_describe_and_compile(compiler: Compiler) -> None:
    record = compiler.describe(BASIC, "add_kernel", backend="cpu").ok()["record"]
    assert {"num_warps", "num_stages", "num_ctas"} <= set(record["options"])
    reply = compiler.compile(record["id"], ADD_ARGS, target=CPU).ok()
    assert reply["ext"] == "so" and reply.sections["so"][:4] == b"\x7fELF" and "c" in reply.sections
    assert reply["types"] == ["*fp32", "*fp32", "*fp32", "i32"]
    assert reply["metadata"]["cpu"]["params_size"] == 28
    assert compiler.compile(record["id"], ADD_ARGS, target=CPU).ok()["cached"]


def test_one_function_for_two_backends(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel", backend="cpu")
    assert compiler.open(BASIC, "add_kernel", backend="cuda") == function
    replies = [compiler.compile(function, ADD_ARGS, target=target).ok() for target in (CPU, None)]
    assert [reply["ext"] for reply in replies] == ["so", "cubin"]


def test_options(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel", backend="cpu")
    assert compiler.compile(function, ADD_ARGS, target=CPU, num_wraps=4).status == "E_UNKNOWN_OPTION"
    assert compiler.compile(function, ADD_ARGS, target=CPU, num_warps=3).status == "E_OPTION_VALUE"


def test_no_c_compiler(tmp_path: Path) -> None:
    check_python(
        f"""
        from conftest import *
        compiler = Compiler(script.handle)
        function = compiler.open(BASIC, "add_kernel", backend="cpu")
        reply = compiler.compile(function, ADD_ARGS, target={CPU!r})
        assert reply.status == "E_NO_C_COMPILER" and "add_kernel" in reply["message"], reply
        """,
        {"PATH": str(tmp_path), "CC": None, "TRITON_CACHE_DIR": str(tmp_path / "cache")},
    )


def test_c_compiler_that_fails(tmp_path: Path) -> None:
    fail = "#!/bin/sh\ncase $* in *-shared*) echo 'fatal: no luck today' >&2; exit 3 ;; esac\nexec /usr/bin/cc \"$@\"\n"
    bad = write(tmp_path, "cc", fail)
    bad.chmod(0o755)
    check_python(
        f"""
        from conftest import *
        compiler = Compiler(script.handle)
        function = compiler.open(BASIC, "add_kernel", backend="cpu")
        reply = compiler.compile(function, ADD_ARGS, target={CPU!r})
        assert reply.status == "E_C_COMPILER" and "no luck" in reply["message"], reply
        """,
        {"PATH": f"{tmp_path}:/usr/bin:/bin", "CC": str(bad), "TRITON_CACHE_DIR": str(tmp_path / "cache")},
    )


def test_error_of_the_kernel(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel("tl.store(out, undefined_name)"))
    reply = compiler.compile(compiler.open(path, "k", backend="cpu"), [ptr("i32")], target=CPU)
    assert reply.status == "E_COMPILE" and f"{path}:7" in reply["message"]
