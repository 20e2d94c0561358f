# SPDX-License-Identifier: Apache-2.0
"""What Triton refuses when it binds or launches a call, C refuses with a status that says why."""

from __future__ import annotations

from typing import Any

import c_side
import pytest
from arguments import (
    DEFAULT,
    NONE,
    Call,
    boolean,
    dtype,
    integer,
    items,
    pointer,
    real,
    scalar,
    text,
    unknown_tensor,
)
from compare import CUDA, compile_request, run, show

X = pointer("fp32", 16)
N = integer(7)
BINDS = None  # Triton's binder takes it, its launcher would not
REFUSALS: dict[str, tuple[Call, type[Exception] | None, str]] = {
    "too few": (Call("plain", [X, X]), TypeError, "E_TOO_FEW_ARGUMENTS"),
    "too many": (Call("plain", [X, X, N, N]), TypeError, "E_TOO_MANY_ARGUMENTS"),
    "none at all": (Call("plain", []), TypeError, "E_TOO_FEW_ARGUMENTS"),
    "too many for nothing": (Call("nothing", [X]), TypeError, "E_TOO_MANY_ARGUMENTS"),
    "twice": (Call("plain", [X, X, N], {"x": X}), TypeError, "E_DUPLICATE_ARGUMENT"),
    "no such keyword": (Call("plain", [X, X, N], {"z": N}), KeyError, "E_NO_SUCH_PARAMETER"),
    "no constexpr": (Call("constexprs", [X, N, N]), TypeError, "E_CONSTEXPR_MISSING"),
    "no tuned parameter": (Call("tuned", [X, N, boolean(True)]), TypeError, "E_NEEDS_CONFIG"),
    "no default": (Call("plain", [X, DEFAULT, N]), TypeError, "E_TOO_FEW_ARGUMENTS"),
    "string": (Call("plain", [X, X, text("relu")]), TypeError, "E_UNSUPPORTED_ARGUMENT"),
    "dtype": (Call("plain", [X, X, dtype("fp16")]), TypeError, "E_UNSUPPORTED_ARGUMENT"),
    "string in a tuple": (Call("tuples", [items(items(text("x"))), N, N]), TypeError, "E_UNSUPPORTED_ARGUMENT"),
    "string for an int": (Call("signed", [text("1"), N, N, N, N, N]), TypeError, "E_ARGUMENT_TYPE"),
    "complex tensor": (
        Call("plain", [unknown_tensor("complex64", 5, 64), X, N]),
        KeyError,
        "E_UNSUPPORTED_ARGUMENT",
    ),
    "default beyond 64 bits": (Call("too_large", [X]), OverflowError, "E_ARGUMENT_TYPE"),
    "list as a constant": (Call("listed", [X]), TypeError, "E_ARGUMENT_TYPE"),
    "unknown option": (Call("plain", [X, X, N], options={"warps": 4}), KeyError, "E_UNKNOWN_OPTION"),
    "three warps": (Call("plain", [X, X, N], counts={"num_warps": 3}), AssertionError, "E_OPTION_VALUE"),
    "beyond i8": (Call("signed", [integer(128), N, N, N, N, N]), BINDS, "E_ARGUMENT_RANGE"),
    "beyond i64": (Call("signed", [N, N, N, integer(1 << 63), N, N]), BINDS, "E_ARGUMENT_RANGE"),
    "negative u64": (Call("unsigned", [N, N, N, integer(-1)]), BINDS, "E_ARGUMENT_RANGE"),
    "beyond fp16": (Call("floats", [real(65520.0), *[real(1.0)] * 5]), BINDS, "E_ARGUMENT_RANGE"),
    "forced beyond fp16": (Call("plain", [X, X, scalar("fp16", 1e5)]), BINDS, "E_ARGUMENT_RANGE"),
    "forced beyond i16": (Call("plain", [X, X, scalar("i16", 32768)]), BINDS, "E_ARGUMENT_RANGE"),
    "two as a bool": (Call("bools", [integer(2), *[boolean(True)] * 3]), BINDS, "E_ARGUMENT_RANGE"),
    "float for an int": (Call("signed", [N, N, N, real(1.0), N, N]), BINDS, "E_ARGUMENT_TYPE"),
    "None for an int": (Call("signed", [N, N, N, NONE, N, N]), BINDS, "E_ARGUMENT_TYPE"),
    "pointer for an int": (Call("signed", [N, N, N, X, N, N]), BINDS, "E_ARGUMENT_TYPE"),
    "tuple for an int": (Call("signed", [N, N, N, items(N), N, N]), BINDS, "E_ARGUMENT_TYPE"),
    "float for a pointer": (Call("pointers", [real(1.0), X, X, X, X]), BINDS, "E_ARGUMENT_TYPE"),
    "None for a float": (Call("floats", [NONE, *[real(1.0)] * 5]), BINDS, "E_ARGUMENT_TYPE"),
    "pointer for a constexpr": (Call("constexprs", [X, X, N, N]), BINDS, "E_ARGUMENT_TYPE"),
}


def refuse(program: c_side.Program, call: Call, target: dict[str, Any] = CUDA) -> tuple[Exception | None, str]:
    """Triton's exception and C's status, that of the compile if it comes so far."""
    outcome = run(program, call, target)
    status = outcome.c.get("status")
    if status is None:
        status = "TJ_" + compile_request(program, outcome)["status"]
    assert status != "TJ_OK", show(outcome)
    return outcome.triton.error, status


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(program: c_side.Program, case: str) -> None:
    call, exception, expected = REFUSALS[case]
    error, status = refuse(program, call)
    assert status == f"TJ_{expected}"
    assert type(error) is (exception or type(None)), repr(error)


def test_option_of_another_architecture(program: c_side.Program) -> None:
    """Thread block clusters, on an architecture without."""
    call = Call("plain", [X, X, N], counts={"num_ctas": 2})
    error, status = refuse(program, call, {"backend": "cuda", "arch": "80", "warp_size": 32})
    assert isinstance(error, ValueError) and status == "TJ_E_OPTION_VALUE"


@pytest.mark.parametrize("position", [1, 2, 3])
def test_defaults_that_only_python_can_pass(program: c_side.Program, position: int) -> None:
    """A default with run-time values in a Python object. Triton takes it; from C it has to be given."""
    args = [X, items(N, real(2.0)), items(items(N, N), N), items(N, N)]
    complete = run(program, Call("unreachable", args))
    assert "status" not in complete.c and compile_request(program, complete)["hash"] == complete.triton.hash
    args[position] = DEFAULT
    error, status = refuse(program, Call("unreachable", args))
    assert error is None and status == "TJ_E_UNSUPPORTED_ARGUMENT"


@pytest.mark.parametrize(
    ("value", "as_if"),
    [
        (scalar("i32", 1), integer(3)),
        (scalar("i32", 32), integer(16)),
        (scalar("i64", 1 << 40), integer(1 << 40)),
        (scalar("fp32", 1.5), real(0.5)),
        (scalar("u1", 1), boolean(False)),
        (scalar("i64", 1), integer((1 << 40) + 3)),
        (scalar("i64", 16), integer(1 << 40)),
        (scalar("u64", 3), integer((1 << 63) + 3)),
        (scalar("i8", 3), None),
        (scalar("fp16", 1.5), None),
    ],
)
def test_forced_types_in_tuples(program: c_side.Program, value: Any, as_if: Any) -> None:
    """Elements have no annotation: a forced type is one that Triton infers from some number, or an error."""
    forced = run(program, Call("tuples", [items(value), N, N]))
    reply = forced.c if "status" in forced.c else compile_request(program, forced)
    if as_if is None:
        assert reply["status"].removeprefix("TJ_") == "E_UNSUPPORTED_ARGUMENT", reply
        return
    assert reply["status"] == "OK", reply
    plain = run(program, Call("tuples", [items(as_if), N, N]))
    assert reply["hash"] == plain.triton.hash
    assert forced.c["key"] == plain.c["key"]
    assert forced.c["types"] == reply["types"]
