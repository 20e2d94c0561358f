# SPDX-License-Identifier: Apache-2.0
"""Tensor descriptors: what Triton's constructor refuses, C refuses, and in a tuple what the version takes.

That the variants, artifacts and packed values of valid ones are Triton's is shown with all other kinds
of arguments, in test_generated.py and test_shared_cache.py.
"""

from __future__ import annotations

import random
from typing import Any

import c_side
import generate
import pytest
from arguments import DTYPES, Arg, Call, descriptor, integer, items, scalar
from compare import CUDA, check_both_take, check_hashes, check_packed, compile_request, run, show

N = integer(7)
# More than Triton's constructor says, but nothing that its compiler, its launchers or a driver would take.
STRICTER = {
    "no base": descriptor("fp16", [16, 16], address=0),
    "beyond 32 bits": descriptor("fp16", [16, 16], shape=[1 << 31, 16]),
}
ANY_DIGIT = (0, 1, -1, 2, 3, 8, 16, 24, -16, 1 << 20, 1 << 21)


def anything(rng: random.Random) -> Arg:
    """A descriptor in which about one thing is wrong, or none."""
    dtype, block = rng.choice(DTYPES), generate._block(rng)
    rank = len(block)
    shape, strides = [16] * rank, [*[64] * (rank - 1), 1]
    address = 4096
    fields: dict[str, Any] = {}
    match rng.randrange(8):
        case 0:
            block[rng.randrange(rank)] = abs(rng.choice(ANY_DIGIT)) or 1  # to 3.6 0 is a power of two
        case 1:
            shape[rng.randrange(rank)] = rng.choice(ANY_DIGIT)
        case 2:
            strides[rng.randrange(rank)] = rng.choice(ANY_DIGIT)
        case 3:
            address += rng.choice((0, 1, 4, 8, 16))
        case 4:
            fields["padding"] = "nan"
        case 5 if generate.HAS_ROUNDING:
            fields["round_f32_to_tf32"] = True
        case 6:
            extra = rng.randrange(6)
            block, shape, strides = [1] * extra + block, [1] * extra + shape, [64] * extra + strides
            block, shape, strides = block[:5], shape[:5], [*strides[:4], 1] if len(strides) > 4 else strides
    return descriptor(dtype, block, shape, strides, address, **fields)


def test_the_same_are_refused(program: c_side.Program) -> None:
    rng = random.Random("descriptors")
    taken = refused = 0
    for _ in range(3000):
        arg = anything(rng)
        reply = program.ask({"bind": Call("plain", [arg, N, N]).request(program.functions, CUDA)})
        assert ("status" in reply) == arg.bad, f"{arg}: {reply}"
        refused += arg.bad
        taken += not arg.bad
    assert taken >= 500 and refused >= 500


@pytest.mark.parametrize("case", STRICTER)
def test_stricter_than_the_constructor(program: c_side.Program, case: str) -> None:
    assert not STRICTER[case].bad
    reply = program.ask({"bind": Call("plain", [STRICTER[case], N, N]).request(program.functions, CUDA)})
    assert reply["status"] in ("TJ_E_NULL", "TJ_E_ARGUMENT_RANGE"), reply


@pytest.mark.skipif(generate.HAS_ROUNDING, reason="this Triton rounds to tf32")
def test_rounding_needs_a_later_triton(program: c_side.Program) -> None:
    arg = descriptor("fp32", [16])
    call = Call("plain", [Arg(arg.c | {"tf32": True}, None), N, N])
    reply = program.ask({"bind": call.request(program.functions, CUDA)})
    assert reply["status"] == "TJ_E_NOT_SUPPORTED" and "tf32" in reply["message"], reply


def test_in_a_tuple(program: c_side.Program) -> None:
    """Triton's launchers know of them there from 3.8 on; before, its binder alone does."""
    pair = items(descriptor("fp16", [16, 8]), items(N, descriptor("i8", [32])))
    outcome = run(program, Call("tuples", [pair, N, scalar("fp16", 0.5)]))
    reply = compile_request(program, outcome)
    if not generate.DESCRIPTORS_IN_TUPLES:
        assert reply["status"] == "E_UNSUPPORTED_ARGUMENT" and "'t'" in reply["message"], show(outcome)
        assert "3.8" in reply["message"]
        return
    assert check_both_take(program, outcome)
    check_hashes(program, [outcome])
    assert check_packed(outcome) == (1 + 4 + 2 + 4) + 1 + (1 + 2 + 2 + 2) + 1 + 1


def test_the_packed_values_are_compared(program: c_side.Program) -> None:
    """check_packed can fail: with each value of a descriptor altered."""
    outcome = run(program, Call("plain", [descriptor("fp32", [16, 16], padding="nan"), N, N]))
    assert check_packed(outcome) >= 11
    original = outcome.c["params"]
    flags = 1 + generate.HAS_ROUNDING
    for at in (0, 8, 16, 24, 32, *range(40, 40 + flags), 44, 48, 56, 64):
        params = bytearray.fromhex(original)
        params[at] ^= 1
        outcome.c["params"] = params.hex()
        with pytest.raises(AssertionError, match="instead of"):
            check_packed(outcome)


def test_on_the_cpu(program: c_side.Program) -> None:
    """The CPU backend's artifacts with descriptors are those of its Triton plug-in, too."""
    import triton_jit_cpu

    triton_jit_cpu.register()
    three = [descriptor("fp32", [32, 32])] * 3
    calls = [Call("adds_blocks", [*three, integer(32)]), Call("adds_blocks", [*three, integer(64)])]
    calls += [Call("describes", [descriptor(dtype, [16, 16]), three[0], N]) for dtype in DTYPES]
    for call in calls:
        outcome = run(program, call, {"backend": "cpu", "arch": "native", "warp_size": 1})
        assert check_both_take(program, outcome)
        check_hashes(program, [outcome])
