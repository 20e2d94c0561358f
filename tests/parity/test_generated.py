# SPDX-License-Identifier: Apache-2.0
"""The same variant as Triton, for many calls of many kernels:

- two calls of a kernel have equal keys in C if and only if Triton's in-memory keys are equal;
- the artifact that C asks for has the hash that ``kernel.warmup`` gives it, so that both sides
  share the entry in the disk cache;
- what Triton refuses, C refuses;
- the packed parameters are the values as Triton's launcher converts them.

What is left out on purpose:
- Triton's memo of keys takes 1, True and 1.0 for one constant; its keys, compared here, tell them
  apart as C does.
- Options are compared in one order: Triton makes another key of another order, C does not.
- C makes another key, for the same artifact, where a call says what holds anyhow: the option debug
  as the kernel has it, or the very Python object that is a parameter's default.
"""

from __future__ import annotations

import c_side
import generate
import pytest
from compare import KERNELS, check_both_take, check_hashes, check_keys, check_packed, check_short_way, run

GENERATED = [name for name in KERNELS if name != "unreachable"]
totals = {"calls": 0, "refused": 0, "pairs": 0, "artifacts": 0, "values": 0, "matched": 0, "missed": 0, "other": 0}


@pytest.mark.parametrize("name", GENERATED)
def test_generated_calls(program: c_side.Program, name: str) -> None:
    outcomes = [run(program, call) for call in generate.calls(name, KERNELS[name], str(c_side.KERNELS))]
    taken = [outcome for outcome in outcomes if check_both_take(program, outcome)]
    assert len(taken) > len(outcomes) / 4, "hardly any call is valid"
    totals["calls"] += len(outcomes)
    totals["refused"] += len(outcomes) - len(taken)
    totals["pairs"] += check_keys(taken)
    for kind, number in check_short_way(program, taken).items():
        totals[kind] += number
    totals["artifacts"] += check_hashes(program, taken)
    totals["values"] += sum(check_packed(outcome) for outcome in taken if outcome.call.has_values)


def test_there_were_enough(request: pytest.FixtureRequest) -> None:
    names = [item.name for item in request.session.items]
    if all(f"test_generated_calls[{name}]" in names for name in GENERATED):  # otherwise some were deselected
        print(totals)
        assert len(GENERATED) >= 12
        assert totals["calls"] >= 5000 and totals["artifacts"] >= 2000 and totals["refused"] >= 200
        assert totals["matched"] > totals["missed"]
