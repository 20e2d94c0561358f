# SPDX-License-Identifier: Apache-2.0
"""Complete compiles, from Python and from C: one entry in Triton's disk cache, compiled once."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from types import ModuleType

import c_side
import generate
import pytest
import triton_side
from arguments import NONE, Call, boolean, descriptor, function, integer, items, pointer, real, text
from compare import (
    CUDA,
    KERNELS,
    Outcome,
    check_both_take,
    check_hashes,
    compile_request,
    python_call,
    run,
    show,
)

A_KERNEL = 5  # of the generated calls
TARGETS = (
    CUDA,
    {"backend": "cuda", "arch": "80", "warp_size": 32},
    {"backend": "hip", "arch": "gfx942", "warp_size": 64},
)
X = pointer("fp32", 16)
CALLS = [
    Call("add", [X, X, X, integer(1000), integer(64)]),
    Call("add", [X, pointer("fp32", 8), X, integer(1024), integer(128)], counts={"num_warps": 8}),
    Call("add", [X, X, X, integer(1), integer(64)], options={"maxnreg": 64}),
    Call("plain", [X, real(1.0), integer(16)]),
    Call("plain", [X, items(X, integer(1)), real(0.5)]),
    Call("applies", [pointer("i32", 16), function("twice"), function("twice"), integer(5)]),
    Call("applies", [pointer("i32", 16), function("thrice"), text("Dx"), integer(5)]),
    Call("tuned", [X, integer(4), boolean(True), integer(32)]),
    Call("adds_blocks", [descriptor("fp32", [32, 32])] * 3 + [integer(32)]),
    Call("adds_blocks", [descriptor("fp16", [64, 64], padding="nan")] * 3 + [integer(64)]),
    Call("adds_blocks", [descriptor("i32", [16, 16])] * 3 + [integer(16)], counts={"num_warps": 8}),
    Call("describes", [descriptor("bf16", [128]), NONE, descriptor("fp8e5", [1, 2, 4, 8, 16])]),
]


def files_of(folder: Path) -> dict[Path, int]:
    """All files with the time of their last change."""
    # "tj-..." only notes that the entry was found to belong to these sources.
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("tj-"))
    return {path: path.stat().st_mtime_ns for path in files}


def folder_of(hash_: str) -> str:
    """The name of an artifact's folder in the cache."""
    return base64.b32encode(bytes.fromhex(hash_)).decode().rstrip("=")


def chosen(program: c_side.Program) -> list[Outcome]:
    """The calls above and some generated ones, each of a variant of its own that compiles."""
    calls, not_here = list(CALLS), {"num_ctas", "extern_libs"}  # these want a kernel and a library of their own
    for name in sorted(KERNELS.keys() - {"twice", "thrice"}):  # these return a value, which no kernel can
        calls += generate.calls(name, KERNELS[name], str(c_side.KERNELS))[:: generate.VARIATIONS // 3][-A_KERNEL:]
    found: dict[str, Outcome] = {}
    for call in calls:
        outcome = run(program, call)
        if (
            outcome.triton.hash
            and not call.bad
            and not not_here & {*call.counts, *call.options}
            and "tensordesc<u1" not in outcome.c["variant"]  # Triton's compiler would end this process
            and compile_request(program, outcome)["status"] == "OK"
        ):
            found.setdefault(outcome.triton.hash, outcome)
    return list(found.values())


def test_one_entry_compiled_once(program: c_side.Program, cache: Path) -> None:
    done = {"python first": 0, "c first": 0, "refused by both": 0}
    for i, outcome in enumerate(chosen(program)):
        kernel, args, kwargs = python_call(outcome.call)
        request = {"prepare": outcome.call.request(program.functions, CUDA)}
        triton_side.driver.use(CUDA)
        entry = cache / folder_of(outcome.triton.hash)
        assert not entry.exists()
        if i % 2:
            c = program.ask(request)
        try:
            compiled, hit = triton_side.compile_really(kernel, args, kwargs)
        except Exception:  # noqa: BLE001 - such as a store to an integer, or a pointer to void
            assert (c if i % 2 else program.ask(request))["status"] == "TJ_E_COMPILE", show(outcome)
            done["refused by both"] += 1
            continue
        assert hit == bool(i % 2), f"Python {'compiles again' if i % 2 else 'finds an entry'}\n{show(outcome)}"
        if not i % 2:
            before = files_of(cache)
            c = program.ask(request)
            assert files_of(cache) == before, f"C compiles again\n{show(outcome)}"
        assert c.get("hash") == compiled.hash == outcome.triton.hash, f"{c}\n{show(outcome)}"
        assert any(path.suffix == ".cubin" for path in entry.iterdir())
        done["c first" if i % 2 else "python first"] += 1
    print(done)
    assert done["c first"] >= 20 and done["python first"] >= 20


def test_counts_that_are_parameters_too(program: c_side.Program) -> None:
    """A keyword num_warps is the parameter and the option in Python; from C both are said."""
    by_position = run(program, Call("warps", [X, integer(8), integer(2)]))
    assert compile_request(program, by_position)["hash"] == by_position.triton.hash
    named = {"num_warps": integer(8), "num_stages": integer(2)}
    by_name = run(program, Call("warps", [X], named, counts={"num_warps": 8, "num_stages": 2}))
    assert compile_request(program, by_name)["hash"] == by_name.triton.hash
    assert by_name.triton.hash != by_position.triton.hash


def test_other_targets(program: c_side.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target is part of C's key, and the artifacts are Triton's there too."""
    torch = ModuleType("torch")  # Triton's AMD backend asks whether a pointer is a tensor of torch
    torch.Tensor = type("Tensor", (), {})
    monkeypatch.setitem(sys.modules, "torch", torch)
    compared = 0
    for name in ("plain", "values", "unaligned", "loose_by_name", "tuples", "pointers", "shapes", "describes"):
        calls = generate.calls(name, KERNELS[name], str(c_side.KERNELS))
        for call in [call for call in calls if not call.options and "num_ctas" not in call.counts][::5]:
            outcomes = [run(program, call, target) for target in TARGETS]
            if not all([check_both_take(program, outcome) for outcome in outcomes]):
                continue
            for outcome in outcomes:
                check_hashes(program, [outcome])
            assert len({outcome.c["key"] for outcome in outcomes}) == len(TARGETS)
            compared += 1
    assert compared >= 50
