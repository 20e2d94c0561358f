# SPDX-License-Identifier: Apache-2.0
"""A call on both sides, and what has to agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import c_side
import packing
import parity_kernels
import triton_side
from arguments import Call
from triton_side import Answer, ask, driver

CUDA = {"backend": "cuda", "arch": "90", "warp_size": 32}
KERNELS = {name: triton_side.plain(value) for name, value in vars(parity_kernels).items() if hasattr(value, "warmup")}


@dataclass
class Outcome:
    """A call on both sides."""

    call: Call
    target: dict[str, Any]
    triton: Answer
    c: dict[str, Any]  # what parity_keys replied


def python_call(call: Call) -> tuple[Any, list[Any], dict[str, Any]]:
    """The kernel and the arguments of a Python call; raises TypeError as the call would."""
    kernel = KERNELS[call.kernel]
    args, kwargs = call.python(kernel.arg_names, triton_side.keyword_only(kernel))
    types = call.forced(kernel.arg_names)
    return triton_side.annotated(kernel, types) if types else kernel, args, kwargs


def run(program: c_side.Program, call: Call, target: dict[str, Any] = CUDA) -> Outcome:
    """Bind a call on both sides."""
    driver.use(target)
    c = program.ask({"bind": call.request(program.functions, target)})
    try:
        triton = ask(*python_call(call))
    except TypeError as error:
        triton = Answer(error=error)
    return Outcome(call, target, triton, c)


def compile_request(program: c_side.Program, outcome: Outcome) -> dict[str, Any]:
    """The compile side's reply to what C would send it; it only computes the hash."""
    call = outcome.call
    options = call.counts | {name: list(v) if isinstance(v, tuple) else v for name, v in call.options.items()}
    return c_side.hash_of(program.ids[call.kernel], outcome.c["arguments"], outcome.target, options)


def unequal(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """Pairs of positions that are equal in one list only, at least one if there is any.

    Two lists agree on all pairs exactly if equal values of one always stand beside equal values of
    the other, both ways.
    """
    pairs, seen_left, seen_right = [], {}, {}
    for i, (one, other) in enumerate(zip(left, right)):
        first = seen_left.setdefault(one, i)
        if right[first] != other:
            pairs.append((first, i))
        first = seen_right.setdefault(other, i)
        if left[first] != one:
            pairs.append((first, i))
    return pairs


def show(outcome: Outcome) -> str:
    """A call and what came of it, for messages."""
    call, c = outcome.call, outcome.c
    lines = (
        f"{call.kernel}({call.args}, {call.keywords}), {call.counts | call.options}",
        f"  C: {c.get('variant') or c.get('status')} {c.get('arguments') or c.get('message')}",
        f"  Triton: {outcome.triton.key} {outcome.triton.error or ''}",
    )
    return "\n".join(line if len(line) < 1000 else f"{line[:1000]}..." for line in lines)


def check_both_take(program: c_side.Program, outcome: Outcome) -> bool:
    """Whether both sides took the call; fails if only one did."""
    refused = outcome.call.bad or outcome.triton.error is not None
    failed = "status" in outcome.c
    if refused and not failed and {"default": 1} in outcome.c["arguments"]:
        # C does not know what is wrong with a default that is a Python object: the compile does.
        failed = compile_request(program, outcome)["status"] != "OK"
    assert failed == refused, f"only one side refuses the call\n{show(outcome)}"
    return not failed


def check_keys(outcomes: list[Outcome]) -> int:
    """All pairs of calls of a kernel; returns their number."""
    pairs = unequal([one.c["key"] for one in outcomes], [one.triton.key for one in outcomes])
    shown = "\n".join(f"{show(outcomes[i])}\n{show(outcomes[j])}\n" for i, j in pairs[:5])
    assert not pairs, f"{len(pairs)} or more pairs of keys are equal on one side only, such as\n{shown}"
    return len(outcomes) * (len(outcomes) - 1) // 2


def check_short_way(program: c_side.Program, outcomes: list[Outcome]) -> dict[str, int]:
    """C compares a call's arguments with the last variant before it makes a key: the same answer
    for every pair of a variant and a call. Returns numbers of pairs."""
    calls = [outcome.call.request(program.functions, outcome.target) for outcome in outcomes]
    reply = program.ask({"match": calls})
    wrong = reply.pop("wrong")
    shown = "\n".join(f"{show(outcomes[i])}\n{show(outcomes[j])}\n" for i, j in wrong[:5])
    assert not wrong, f"{len(wrong)} calls are taken for another variant, or their values are wrong:\n{shown}"
    return reply


def check_hashes(program: c_side.Program, outcomes: list[Outcome]) -> int:
    """Every artifact that C would ask for; returns their number."""
    replies: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        key = outcome.c["key"]
        if key not in replies:
            replies[key] = compile_request(program, outcome)
        reply = replies[key]
        assert reply["status"] == "OK", f"{reply}\n{show(outcome)}"
        assert reply["hash"] == outcome.triton.hash, f"another artifact than Triton's: {reply}\n{show(outcome)}"
        types = [name.replace("*k", "*") for name in reply["types"]]
        assert types == outcome.c["types"], f"other parameters than Triton's: {reply}\n{show(outcome)}"
    return len(replies)


def check_packed(outcome: Outcome) -> int:
    """The packed parameters; returns their number."""
    assert outcome.call.has_values
    types = [entry[0] for entry in outcome.triton.specialization]
    return packing.check(types, outcome.triton.arguments, bytes.fromhex(outcome.c["params"]))
