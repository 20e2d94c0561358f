# SPDX-License-Identifier: Apache-2.0
"""The signature record."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import pytest
import triton
from conftest import BASIC, Compiler, integer, kernel, ptr, write


def test_record(compiler: Compiler) -> None:
    reply = compiler.describe(BASIC, "add_kernel").ok()
    record = reply["record"]
    assert record["name"] == "add_kernel"
    assert record["source"] == os.path.realpath(BASIC)
    assert record["triton"] == triton.__version__
    assert record["python"] == platform.python_version()
    assert record["tuned"] == []
    assert record["defaults"] == {"num_warps": 4, "num_stages": 3, "num_ctas": 1}
    assert {"num_warps", "num_stages", "num_ctas", "maxnreg", "debug"} <= set(record["options"])
    assert len(record["id"]) == len(record["cache_key"]) == 64
    status = os.stat(BASIC)
    assert record["files"] == [
        {
            "path": os.path.realpath(BASIC),
            "size": status.st_size,
            "mtime_ns": str(status.st_mtime_ns),
            "inode": str(status.st_ino),
            "sha256": hashlib.sha256(Path(BASIC).read_bytes()).hexdigest(),
        }
    ]
    assert list(reply.sections) == ["snapshot"]


def test_parameters(compiler: Compiler) -> None:
    params = compiler.describe(BASIC, "annotated_kernel").ok()["record"]["params"]
    plain = {"constexpr": False, "const": False, "specialize": True, "align": True, "type": None}
    assert params == [
        {**plain, "name": "out", "align": False},
        {**plain, "name": "n", "specialize": False},
        {**plain, "name": "w", "type": "i64"},
        {**plain, "name": "e", "type": "fp16"},
        {**plain, "name": "c", "const": True},
        {**plain, "name": "flag", "type": "u1", "default": {"bool": True}},
        {**plain, "name": "s", "default": {"float": "0x1.8000000000000p+0"}},
        {**plain, "name": "name", "constexpr": True, "default": {"str": b"Dx".hex()}},
    ]


def test_defaults_of_every_kind(compiler: Compiler, tmp_path: Path) -> None:
    params = (
        "out, a=None, b=-(2**70), c=float('nan'), d=float('-inf'), e: tl.constexpr = tl.float16,"
        "f: tl.constexpr = (1, ('x', True)), g: tl.constexpr = object, h: tl.constexpr = tl.constexpr(5)"
    )
    path = write(tmp_path, "k.py", kernel(params=params))
    described = compiler.describe(path, "k").ok()["record"]["params"]
    defaults = {param["name"]: param.get("default") for param in described}
    assert defaults == {
        "out": None,
        "a": {"none": 1},
        "b": {"int": str(-(2**70))},
        "c": {"float": "nan"},
        "d": {"float": "-inf"},
        "e": {"dtype": "fp16"},
        "f": {"tuple": [{"int": "1"}, {"tuple": [{"str": "78"}, {"bool": True}]}]},
        "g": {"opaque": repr(object)},
        "h": {"opaque": "constexpr[5]"},
    }


WRAPPED = """
import functools
import triton
import triton.language as tl

def user_decorator(inner):
    @functools.wraps(inner)
    def call(*args, **kwargs):
        return inner(*args, **kwargs)
    return call

def partly(inner):
    return functools.partial(inner)

class Entry:
    def __init__(self, fn):
        self.fn = fn

@user_decorator
@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128, "STAGES": 2}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, STAGES: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x, n)

@user_decorator
@triton.jit
def wrapped(x):
    tl.store(x, 1)

@partly
@user_decorator
@triton.jit
def twice(x):
    tl.store(x, 1)

@Entry
@triton.heuristics({"B": lambda args: 1})
@triton.autotune([triton.Config({"A": 1})], key=[])
@triton.jit
def entry(x, B: tl.constexpr, A: tl.constexpr):
    tl.store(x, A)

def make(value):
    @triton.jit
    def inner(x, n):
        tl.store(x, n + value)
    return inner

made = make(tl.constexpr(4))

class Holder:
    kernel = make(tl.constexpr(5))
"""


def test_decorators_are_unwrapped(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", WRAPPED)
    tuned = {
        name: compiler.describe(path, name).ok()["record"]["tuned"]
        for name in ("tuned", "wrapped", "twice", "entry", "made", "Holder.kernel")
    }
    assert tuned == {
        "tuned": ["BLOCK", "STAGES", "EVEN"],
        "wrapped": [],
        "twice": [],
        "entry": ["B", "A"],
        "made": [],
        "Holder.kernel": [],
    }


def test_same_question_same_answer(compiler: Compiler) -> None:
    first, second = compiler.describe(BASIC, "add_kernel").ok(), compiler.describe(BASIC, "add_kernel").ok()
    assert first == second
    assert first.sections == second.sections


@pytest.mark.parametrize("decoration", ["do_not_specialize", "do_not_specialize_on_alignment"])
def test_constexpr_and_do_not_specialize(compiler: Compiler, tmp_path: Path, decoration: str) -> None:
    source = kernel(params="out, B: tl.constexpr").replace("@triton.jit", f"@triton.jit({decoration}=['B'])")
    reply = compiler.describe(write(tmp_path, "k.py", source), "k")
    assert reply.status == "E_CONTRADICTION"
    assert "'B'" in reply["message"] and decoration in reply["message"]


def test_unknown_name_in_do_not_specialize_is_logged(compiler: Compiler, tmp_path: Path) -> None:
    source = kernel(params="out, n").replace("@triton.jit", "@triton.jit(do_not_specialize=['m', 7])")
    compiler.describe(write(tmp_path, "k.py", source), "k").ok()
    assert "'m', which is no parameter" in compiler.logged()
    assert "7, which is no parameter" in compiler.logged()


def test_variadic_parameters(compiler: Compiler, tmp_path: Path) -> None:
    reply = compiler.describe(write(tmp_path, "k.py", kernel(params="out, *rest")), "k")
    assert reply.status == "E_UNSUPPORTED_ARGUMENT"
    assert "*rest" in reply["message"]


def test_backend_that_is_not_there(compiler: Compiler) -> None:
    reply = compiler.describe(BASIC, "add_kernel", backend="abacus")
    assert reply.status == "E_NOT_SUPPORTED"
    assert "abacus" in reply["message"] and "cuda" in reply["message"]


def test_hip(compiler: Compiler) -> None:
    record = compiler.describe(BASIC, "add_kernel", backend="hip").ok()["record"]
    assert "waves_per_eu" in record["options"]


@pytest.mark.skipif(tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9), reason="new in triton 3.9")
def test_keyword_only_parameters(compiler: Compiler, tmp_path: Path) -> None:
    path = write(tmp_path, "k.py", kernel("tl.store(out, n + B)", params="out, n, *, B: tl.constexpr = 4"))
    reply = compiler.compile(compiler.open(path, "k"), [ptr("i32"), integer(5), integer(2)])
    assert reply.ok()["types"] == ["*i32", "i32"]
