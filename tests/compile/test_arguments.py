# SPDX-License-Identifier: Apache-2.0
"""Specialisation of arguments, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BASIC, DEFAULT, NONE, Compiler, integer, kernel, ptr, text, write
from triton_jit_compile.triton_api import triton_api


def scalar(type_name: str, number_class: str | None = None) -> dict[str, str]:
    return {"scalar": type_name} if number_class is None else {"scalar": type_name, "class": number_class}


def descriptor(dtype: object, *block: int) -> dict[str, object]:
    return {"tensordesc": dtype, "block": list(block)}


def specialise(compiler: Compiler, tmp_path: Path, value: dict, param: str = "x", decoration: str = "") -> object:
    """Triton's (type, key) for one argument."""
    source = kernel("pass", params=param).replace(
        "@triton.jit", f"@triton.jit({decoration})" if decoration else "@triton.jit"
    )
    function = compiler.open(write(tmp_path, "k.py", source), "k")
    return eval(compiler.compile(function, [value], key_only=True).ok()["specialization"])[0]  # noqa: S307


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NONE, ("constexpr", None)),
        ({"bool": True}, ("u1", None)),
        ({"bool": False}, ("u1", None)),
        (integer(1), ("constexpr", 1)),
        (integer(0), ("i32", "D")),
        (integer(-1), ("i32", "")),
        (integer(-16), ("i32", "D")),
        (integer(2**31 - 1), ("i32", "")),
        (integer(2**31), ("i64", "D")),
        (integer(-(2**63)), ("i64", "D")),
        (integer(2**63), ("u64", "D")),
        (integer(2**64 - 1), ("u64", "")),
        ({"float": "0x1p+0"}, ("fp32", None)),
        ({"float": "nan"}, ("fp32", None)),
        (ptr("fp32"), ("*fp32", "D")),
        (ptr("fp8e4nv", aligned=False), ("*fp8e4nv", "")),
        (ptr("u1"), ("*u1", "D")),
        (ptr("u32"), ("*u32", "D")),
        ({"tuple": []}, ((), ())),
        ({"tuple": [integer(5), integer(1), NONE]}, (("i32", "constexpr", "constexpr"), ("", 1, None))),
        ({"tuple": [ptr("bf16"), {"tuple": [{"bool": True}]}]}, (("*bf16", ("u1",)), ("D", (None,)))),
        (
            {"tuple": [scalar("i32", "D"), scalar("i64", "D"), scalar("i64", ""), scalar("u64", "")]},
            (("i32", "i64", "i64", "u64"), ("D", "D", "", "")),
        ),
        ({"tuple": [scalar("i32", "1"), scalar("fp32"), scalar("u1")]}, (("constexpr", "fp32", "u1"), (1, None, None))),
        (descriptor("fp16", 64, 32), ("tensordesc<fp16[64, 32]>", None)),
        (descriptor("fp8e5", 16), ("tensordesc<fp8e5[16]>", None)),
        (descriptor("u1", 1, 2, 4, 8, 16), ("tensordesc<u1[1, 2, 4, 8, 16]>", None)),
        (scalar("i64", "D"), ("i64", "D")),
        (scalar("i64", "1"), ("i64", 1)),
        (scalar("u8", ""), ("u8", "")),
        (scalar("i32", ""), ("i32", "")),
        (scalar("fp16"), ("fp16", None)),
        (scalar("fp64"), ("fp64", None)),
        (scalar("fp8e5"), ("fp8e5", None)),
        (scalar("u1"), ("u1", None)),
    ],
)
def test_specialisation(compiler: Compiler, tmp_path: Path, value: dict, expected: object) -> None:
    assert specialise(compiler, tmp_path, value) == expected


@pytest.mark.parametrize(
    ("param", "decoration", "value", "expected"),
    [
        ("x", "do_not_specialize=['x']", integer(1), ("i32", None)),
        ("x", "do_not_specialize=[0]", integer(16), ("i32", None)),
        ("x", "do_not_specialize=['x']", ptr(), ("*fp32", None)),
        ("x", "do_not_specialize=['x']", scalar("i64", "D"), ("i64", None)),
        ("x", "do_not_specialize_on_alignment=['x']", integer(16), ("i32", "")),
        ("x", "do_not_specialize_on_alignment=['x']", integer(1), ("constexpr", 1)),
        ("x", "do_not_specialize_on_alignment=['x']", ptr(), ("*fp32", "")),
        ("x: tl.const", "", ptr(), ("*kfp32", "D")),
        ("x: tl.int64", "", integer(1), ("i64", 1)),
        ("x: tl.int64", "", integer(2), ("i64", "")),
        ("x: tl.int64", "", scalar("i32", "D"), ("i64", "D")),
        ("x: 'fp16'", "", {"float": "0x1p+0"}, ("fp16", None)),
        ("x: 'fp16'", "", scalar("fp64"), ("fp16", None)),
        ("x: 'u1'", "", integer(1), ("u1", None)),
        ("x: '*fp32'", "", ptr("fp16"), ("*fp32", "D")),
        ("x: '*fp32'", "", integer(0), ("*fp32", "D")),
        ("x: '*fp32'", "", NONE, ("*fp32", None)),
        ("x: tl.constexpr", "", integer(1), ("constexpr", 1)),
        ("x: tl.constexpr", "", {"bool": True}, ("constexpr", True)),
        ("x: tl.constexpr", "", {"float": "-0x1.8p+1"}, ("constexpr", -3.0)),
        ("x: tl.constexpr", "", text("a,b:16'\"\u00fc\0"), ("constexpr", "a,b:16'\"\u00fc\0")),
        ("x: tl.constexpr", "", {"tuple": [integer(8), {"tuple": [text("x")]}]}, ("constexpr", (8, ("x",)))),
        ("x: tl.constexpr", "", integer(2**100), ("constexpr", 2**100)),
        ("x: tl.constexpr = 7", "", DEFAULT, ("constexpr", 7)),
        ("x=16", "", DEFAULT, ("i32", "D")),
        ("x=None", "", DEFAULT, ("constexpr", None)),
    ],
)
def test_parameters_decide(
    compiler: Compiler, tmp_path: Path, param: str, decoration: str, value: dict, expected: object
) -> None:
    got = specialise(compiler, tmp_path, value, param, decoration)
    assert got == expected and [type(item) for item in got] == [type(item) for item in expected]


def test_float_specials(compiler: Compiler, tmp_path: Path) -> None:
    function = compiler.open(write(tmp_path, "k.py", kernel("pass", params="x: tl.constexpr")), "k")
    for value in ("nan", "inf", "-inf"):
        reply = compiler.compile(function, [{"float": value}], key_only=True).ok()
        assert reply["specialization"] == f"[('constexpr', {value})]"


@pytest.mark.parametrize(
    ("param", "value", "status", "words"),
    [
        ("x: tl.constexpr", ptr(), "E_ARGUMENT_TYPE", ["'x'", "tl.constexpr", "pointer"]),
        ("x: tl.constexpr", scalar("i64", "D"), "E_ARGUMENT_TYPE", ["'x'", "tl.constexpr"]),
        ("x", DEFAULT, "E_ARGUMENT_TYPE", ["'x'", "no default"]),
        ("x", text("relu"), "E_ARGUMENT_TYPE", ["'x'", "str", "tl.constexpr"]),
        ("x", {"dtype": "fp16"}, "E_ARGUMENT_TYPE", ["'x'", "dtype", "tl.constexpr"]),
        ("x", {"dtype": "fp17"}, "E_ARGUMENT_TYPE", ["'x'", "fp17", "fp16"]),
        ("x", ptr("fp4"), "E_ARGUMENT_TYPE", ["'x'", "fp4", "fp16"]),
        ("x", ptr([]), "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", {"ptr": "fp32", "class": "S"}, "E_ARGUMENT_TYPE", ["'x'", "'S'"]),
        ("x", scalar("i128", "D"), "E_ARGUMENT_TYPE", ["'x'", "i128"]),
        ("x", scalar("i32", "16"), "E_ARGUMENT_TYPE", ["'x'", "'16'"]),
        ("x", integer(2**64), "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", integer(-(2**63) - 1), "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", {"int": "twelve"}, "E_ARGUMENT_TYPE", ["'x'", "twelve"]),
        ("x", {"int": "9" * 5000}, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", {"float": "many"}, "E_ARGUMENT_TYPE", ["'x'", "many"]),
        ("x", {"float": 1.5}, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", {"bool": 1}, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x: tl.constexpr", {"str": "ff"}, "E_ARGUMENT_TYPE", ["'x'", "UTF-8"]),
        ("x: tl.constexpr", {"str": "zz"}, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", {"tuple": 5}, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", {"tuple": [DEFAULT]}, "E_ARGUMENT_TYPE", ["x[0]"]),
        ("x", {"tuple": [scalar("i8", "D")]}, "E_UNSUPPORTED_ARGUMENT", ["x[0]", "i8"]),
        ("x", {"tuple": [scalar("i64", "1")]}, "E_UNSUPPORTED_ARGUMENT", ["x[0]", "i64"]),
        ("x", {"opaque": "object"}, "E_UNSUPPORTED_ARGUMENT", ["'x'", "opaque"]),
        ("x", {"argument": 1}, "E_UNSUPPORTED_ARGUMENT", ["'x'", "argument"]),
        ("x", {}, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x", 5, "E_ARGUMENT_TYPE", ["'x'"]),
        ("x: tl.int64", ptr(), "E_ARGUMENT_TYPE", ["'x'", "i64", "pointer"]),
        ("x: '*fp32'", {"float": "0x1p+0"}, "E_ARGUMENT_TYPE", ["'x'", "*fp32"]),
        ("x: tl.constexpr", descriptor("fp16", 16), "E_ARGUMENT_TYPE", ["'x'", "tl.constexpr", "tensor descriptor"]),
        ("x: tl.int64", descriptor("fp16", 16), "E_ARGUMENT_TYPE", ["'x'", "i64", "tensor descriptor"]),
        ("x: '*fp16'", descriptor("fp16", 16), "E_ARGUMENT_TYPE", ["'x'", "*fp16", "tensor descriptor"]),
        ("x", descriptor("fp4", 16), "E_ARGUMENT_TYPE", ["'x'", "fp4"]),
        ("x", descriptor("void", 16), "E_ARGUMENT_TYPE", ["'x'", "void"]),
        ("x", descriptor(None, 16), "E_ARGUMENT_TYPE", ["'x'", "None"]),
        ("x", descriptor("fp16"), "E_ARGUMENT_TYPE", ["'x'", "rank"]),
        ("x", descriptor("fp16", *[1] * 6), "E_ARGUMENT_TYPE", ["'x'", "rank"]),
        ("x", descriptor("fp16", 24), "E_ARGUMENT_TYPE", ["'x'", "power of 2"]),
        ("x", descriptor("fp16", 2**21), "E_ARGUMENT_TYPE", ["'x'", "2097152"]),
        ("x", descriptor("fp16", 0), "E_ARGUMENT_TYPE", ["'x'", "[0]"]),
        ("x", {"tensordesc": "fp16", "block": 16}, "E_ARGUMENT_TYPE", ["'x'", "16"]),
        ("x", {"tensordesc": "fp16", "block": [1.5]}, "E_ARGUMENT_TYPE", ["'x'", "1.5"]),
        ("x", {"tensordesc": "fp16"}, "E_ARGUMENT_TYPE", ["'x'", "block"]),
    ],
)
def test_refused(compiler: Compiler, tmp_path: Path, param: str, value: object, status: str, words: list[str]) -> None:
    function = compiler.open(write(tmp_path, "k.py", kernel("pass", params=f"first, {param}")), "k")
    reply = compiler.compile(function, [integer(3), value])
    assert reply.status == status, reply
    assert all(word in reply["message"] for word in words), reply["message"]


def test_wrong_number_of_arguments(compiler: Compiler) -> None:
    reply = compiler.compile(compiler.open(BASIC, "add_kernel"), [ptr()])
    assert reply.status == "E_ARGUMENT_TYPE" and "1 arguments" in reply["message"] and "5 param" in reply["message"]
    assert compiler.compile(compiler.open(BASIC, "add_kernel"), None).status == "E_ARGUMENT_TYPE"


def test_no_parameters(compiler: Compiler) -> None:
    reply = compiler.compile(compiler.open(BASIC, "nothing_kernel"), []).ok()
    assert reply["types"] == [] and reply["name"] == "nothing_kernel"


def test_types_are_the_run_time_leaves(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "many_kernel")
    nested = {"tuple": [integer(5), integer(1), {"tuple": [ptr("i8"), NONE]}]}
    args = [ptr(), integer(1), integer(32), nested, {"bool": True}, integer(1), {"float": "0x1p+0"}, NONE]
    reply = compiler.compile(function, [*args, integer(64), text("Dx")]).ok()
    assert reply["types"] == ["*fp32", "i32", "i32", "*i8", "u1", "i64", "fp16"]


def test_a_descriptor_is_several_parameters(compiler: Compiler, tmp_path: Path) -> None:
    source = kernel("out.store([0, 0], x.load([0, 0]))", params="x, out, n")
    record = compiler.describe(write(tmp_path, "k.py", source), "k").ok()["record"]
    args = [descriptor("bf16", 32, 64), descriptor("bf16", 32, 64), integer(5)]
    flags = ["u1"] if triton_api().version < (3, 7) else ["u1", "u1"]
    one = ["*bf16", "i64", "i64", "i64", "i64", *flags, "i32", "i32", "i64", "i64"]
    assert compiler.compile(record["id"], args, key_only=True).ok()["types"] == [*one, *one, "i32"]
    assert record["descriptor_flags"] == len(flags)


def test_descriptors_that_end_the_compiler(compiler: Compiler, tmp_path: Path) -> None:
    """Triton's code generators for GPUs abort on booleans there."""
    source = kernel("out.store([0], x.load([0]))", params="x, out")
    function = compiler.open(write(tmp_path, "k.py", source), "k")
    reply = compiler.compile(function, [descriptor("u1", 16), descriptor("u1", 16)])
    assert reply.status == "E_UNSUPPORTED_ARGUMENT" and "u1" in reply["message"] and "'cuda'" in reply["message"]
    assert compiler.compile(function, [descriptor("u8", 16), descriptor("u8", 16)]).ok()


def test_a_descriptor_in_a_tuple(compiler: Compiler, tmp_path: Path) -> None:
    function = compiler.open(write(tmp_path, "k.py", kernel("pass", params="x")), "k")
    nested = {"tuple": [integer(5), {"tuple": [descriptor("i8", 16)]}]}
    reply = compiler.compile(function, [nested], key_only=True)
    if triton_api().version < (3, 8):
        assert reply.status == "E_UNSUPPORTED_ARGUMENT" and "'x'" in reply["message"] and "3.8" in reply["message"]
    else:
        assert reply.ok()["specialization"] == "[(('i32', ('tensordesc<i8[16]>',)), ('', (None,)))]"


def test_dtype_constants(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "typed_kernel")
    for dtype in ("fp16", "bf16", "i64", "fp64"):
        reply = compiler.compile(function, [ptr(dtype), integer(7), {"dtype": dtype}, DEFAULT]).ok()
        assert {"fp16": "f16", "bf16": "bf16", "i64": "i64", "fp64": "f64"}[dtype] in reply.sections["ttir"].decode()


def test_one_true_and_one_point_zero_differ(compiler: Compiler, tmp_path: Path) -> None:
    function = compiler.open(write(tmp_path, "k.py", kernel("pass", params="x: tl.constexpr")), "k")
    values = [integer(1), {"bool": True}, {"float": "0x1p+0"}, text("1"), NONE, {"dtype": "i32"}]
    assert len({compiler.compile(function, [value], key_only=True).ok()["specialization"] for value in values}) == 6


def test_key_only_does_not_compile(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel")
    args = [ptr(), ptr(), ptr(), integer(48), integer(128)]
    key = compiler.compile(function, args, key_only=True).ok()
    assert not key.sections
    reply = compiler.compile(function, args).ok()
    assert reply["hash"] == key["hash"] and not reply["cached"]
    assert compiler.compile(function, args).ok()["cached"]


def test_artifact(compiler: Compiler) -> None:
    function = compiler.open(BASIC, "add_kernel")
    reply = compiler.compile(function, [ptr(), ptr(), ptr(), integer(7), DEFAULT], num_warps=8).ok()
    assert reply["ext"] == "cubin" and reply.sections["cubin"][:4] == b"\x7fELF"
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= set(reply.sections)
    assert ".visible .entry add_kernel" in reply.sections["ptx"].decode()
    metadata = reply["metadata"]
    assert metadata["num_warps"] == 8 and metadata["name"] == reply["name"] == "add_kernel"
    assert metadata["target"] == {"backend": "cuda", "arch": 90, "warp_size": 32}
    assert reply["seconds"]["compile"] > 0


def test_renamed_symbol_and_long_name(compiler: Compiler, tmp_path: Path) -> None:
    source = kernel().replace("@triton.jit", "@triton.jit(repr=lambda _: 'other_symbol')")
    reply = compiler.compile(compiler.open(write(tmp_path, "k.py", source), "k"), [ptr("i32")]).ok()
    assert reply["name"] == "other_symbol"
    name = "n" * 240
    function = compiler.open(write(tmp_path, "long.py", kernel(name=name)), name)
    for _ in range(2):
        assert compiler.compile(function, [ptr("i32")]).ok()["name"] == name


def test_hip(compiler: Compiler) -> None:
    """No torch needed, and no claim about the extent of a raw pointer."""
    import sys

    function = compiler.open(BASIC, "add_kernel", backend="hip")
    target = {"backend": "hip", "arch": "gfx942", "warp_size": 64}
    reply = compiler.compile(function, [ptr(), ptr(aligned=False), ptr(), integer(7), DEFAULT], target=target).ok()
    assert reply["ext"] == "hsaco" and reply["metadata"]["warp_size"] == 64
    assert reply["specialization"].startswith("[('*fp32', 'D'), ('*fp32', ''), ('*fp32', 'D')")
    assert "torch" not in sys.modules
