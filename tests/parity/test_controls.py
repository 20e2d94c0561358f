# SPDX-License-Identifier: Apache-2.0
"""The comparisons can fail: what was compared successfully is altered a little."""

from __future__ import annotations

import copy

import c_side
import pytest
from arguments import Call, integer, pointer, real
from compare import Outcome, check_both_take, check_hashes, check_keys, check_packed, run, unequal


@pytest.fixture
def outcomes(program: c_side.Program) -> list[Outcome]:
    """Two calls of one variant, and one of another."""
    calls = [
        Call("plain", [pointer("fp32", 16), integer(3), real(0.5)]),
        Call("plain", [pointer("fp32", 32), integer(5), real(1.5)]),
        Call("plain", [pointer("fp32", 16), integer(16), real(0.5)]),
    ]
    taken = [run(program, call) for call in calls]
    assert all(check_both_take(program, outcome) for outcome in taken)
    assert check_keys(taken) == 3 and check_hashes(program, taken) == 2
    assert [check_packed(outcome) for outcome in taken] == [3, 3, 3]
    return copy.deepcopy(taken)


def test_a_key_that_is_too_fine(outcomes: list[Outcome]) -> None:
    outcomes[1].c["key"] += "00"
    with pytest.raises(AssertionError, match="equal on one side only"):
        check_keys(outcomes)


def test_a_key_that_is_too_coarse(outcomes: list[Outcome]) -> None:
    outcomes[2].c["key"] = outcomes[0].c["key"]
    with pytest.raises(AssertionError, match="equal on one side only"):
        check_keys(outcomes)


def test_arguments_of_another_class(program: c_side.Program, outcomes: list[Outcome]) -> None:
    assert outcomes[0].c["arguments"][1] == {"int": "3"}
    outcomes[0].c["arguments"][1] = {"int": "16"}
    with pytest.raises(AssertionError, match="another artifact"):
        check_hashes(program, outcomes)


def test_an_argument_of_another_type(program: c_side.Program, outcomes: list[Outcome]) -> None:
    outcomes[0].c["arguments"][2] = {"bool": True}
    with pytest.raises(AssertionError, match="another artifact"):
        check_hashes(program, outcomes)


def test_parameters_of_another_type(program: c_side.Program, outcomes: list[Outcome]) -> None:
    outcomes[0].c["types"][1] = "i64"
    with pytest.raises(AssertionError, match="other parameters"):
        check_hashes(program, outcomes)


def test_options_that_c_forgets(program: c_side.Program, outcomes: list[Outcome]) -> None:
    outcomes[0].call.counts["num_warps"] = 8
    with pytest.raises(AssertionError, match="another artifact"):
        check_hashes(program, outcomes)


def test_a_packed_bit(outcomes: list[Outcome]) -> None:
    params = bytearray.fromhex(outcomes[0].c["params"])
    params[8] ^= 1
    outcomes[0].c["params"] = params.hex()
    with pytest.raises(AssertionError, match="instead of"):
        check_packed(outcomes[0])


def test_a_missing_parameter(outcomes: list[Outcome]) -> None:
    outcomes[0].c["params"] = outcomes[0].c["params"][:-8]
    with pytest.raises(AssertionError):
        check_packed(outcomes[0])


def test_a_call_that_only_c_refuses(program: c_side.Program, outcomes: list[Outcome]) -> None:
    outcomes[0].c = {"status": "TJ_E_INVALID", "message": ""}
    with pytest.raises(AssertionError, match="only one side"):
        check_both_take(program, outcomes[0])


def test_a_call_that_only_triton_refuses(program: c_side.Program, outcomes: list[Outcome]) -> None:
    outcomes[0].triton.error = TypeError()
    with pytest.raises(AssertionError, match="only one side"):
        check_both_take(program, outcomes[0])


def test_all_pairs_are_compared() -> None:
    """unequal() against the definition, over every pair of short lists."""
    from itertools import product

    for left, right in product(product("abc", repeat=4), repeat=2):
        differ = any((left[i] == left[j]) != (right[i] == right[j]) for i in range(4) for j in range(i))
        assert bool(unequal(list(left), list(right))) == differ
