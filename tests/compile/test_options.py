# SPDX-License-Identifier: Apache-2.0
"""Compile options."""

from __future__ import annotations

import pytest
from conftest import ADD_ARGS, BASIC, CUDA, Compiler, check_python


@pytest.fixture
def add(compiler: Compiler) -> str:
    return compiler.open(BASIC, "add_kernel")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_wraps": 4}, ["num_wraps", "num_warps"]),
        ({"waves_per_eu": 2}, ["waves_per_eu", "maxnreg"]),
        ({"BLOCK": 4}, ["BLOCK", "argument"]),
        ({"device": 0}, ["device"]),
        ({"": 0}, [""]),
    ],
)
def test_unknown(compiler: Compiler, add: str, options: dict, words: list[str]) -> None:
    reply = compiler.compile(add, ADD_ARGS, **options)
    assert reply.status == "E_UNKNOWN_OPTION"
    assert all(word in reply["message"] for word in words) and "add_kernel" in reply["message"]


@pytest.mark.parametrize(
    "options",
    [
        {"num_warps": 3},
        {"num_warps": 0},
        {"num_warps": -4},
        {"num_warps": 64},
        {"num_warps": "4"},
        {"num_warps": True},
        {"num_warps": 4.0},
        {"num_ctas": 3},
        {"num_stages": -1},
        {"maxnreg": 0},
        {"maxnreg": "many"},
        {"launch_pdl": 1},
        {"debug": "yes"},
        {"default_dot_input_precision": 5},
    ],
)
def test_bad_values(compiler: Compiler, add: str, options: dict) -> None:
    reply = compiler.compile(add, ADD_ARGS, **options)
    assert reply.status == "E_OPTION_VALUE", reply
    assert next(iter(options)) in reply["message"]


def test_refused_by_the_backend(compiler: Compiler, add: str) -> None:
    reply = compiler.compile(add, ADD_ARGS, target={**CUDA, "arch": "80"}, num_ctas=2)
    assert reply.status == "E_OPTION_VALUE" and "num_ctas" in reply["message"]


def test_options_that_are_no_object(compiler: Compiler, add: str) -> None:
    request = {"v": 1, "op": "compile", "id": add, "args": ADD_ARGS, "target": CUDA, "options": [1]}
    assert compiler.ask(request).status == "E_OPTION_VALUE"


def test_options_reach_the_artifact(compiler: Compiler, add: str) -> None:
    given = {"num_warps": 2, "num_stages": 5, "maxnreg": 64, "enable_fp_fusion": False, "launch_pdl": True}
    metadata = compiler.compile(add, ADD_ARGS, **given).ok()["metadata"]
    assert {name: metadata[name] for name in given} == given
    hashes = {
        compiler.compile(add, ADD_ARGS, key_only=True, **{name: value}).ok()["hash"] for name, value in given.items()
    }
    assert len(hashes) == len(given)


def test_none_is_the_default(compiler: Compiler, add: str) -> None:
    plain = compiler.compile(add, ADD_ARGS, key_only=True).ok()["hash"]
    assert compiler.compile(add, ADD_ARGS, key_only=True, maxnreg=None).ok()["hash"] == plain
    assert compiler.compile(add, ADD_ARGS, key_only=True, num_warps=4).ok()["hash"] == plain


def test_lists_are_tuples(compiler: Compiler, add: str) -> None:
    reply = compiler.compile(add, ADD_ARGS, allowed_dot_input_precisions=["ieee", "tf32"]).ok()
    assert reply["metadata"]["allowed_dot_input_precisions"] == ["ieee", "tf32"]


def test_debug(compiler: Compiler, add: str) -> None:
    assert compiler.compile(add, ADD_ARGS).ok()["metadata"]["debug"] in (False, None)
    assert compiler.compile(add, ADD_ARGS, debug=True).ok()["metadata"]["debug"] is True
    check_python(
        f"""
        from conftest import *
        compiler = Compiler(script.handle)
        function = compiler.open({BASIC!r}, "add_kernel")
        assert compiler.compile(function, ADD_ARGS).ok()["metadata"]["debug"] is True
        """,
        {"TRITON_DEBUG": "1"},
    )


def test_fp_fusion_default_is_announced_in_the_log_only() -> None:
    out = check_python(
        f"""
        import triton
        from conftest import *
        compiler = Compiler(script.handle)
        compiler.open({BASIC!r}, "add_kernel")
        if triton.__version__.startswith("3.9"):
            assert "TRITON_DEFAULT_FP_FUSION" in compiler.logged(), compiler.log
        """
    )
    assert out == ""
