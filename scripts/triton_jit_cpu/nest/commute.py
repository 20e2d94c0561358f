# SPDX-License-Identifier: Apache-2.0
"""Does the function of a reduction give the same whichever operand comes first?

Triton only asks that it is associative. One that commutes, too, may be applied to the elements
in any order, so partial results can be kept by lane; "the first that is positive" may not.
Functions made of comparisons, choices and extremes are tried out on small numbers.
"""

from __future__ import annotations

import itertools
from typing import Any

from ..ir import Block, Op, Value
from ..ttir import Dense, FloatBits

_COMPARE = {"arith.cmpi": "eq ne lt le gt ge lt le gt ge".split(),
            "arith.cmpf": "false eq gt ge lt le ne ord eq gt ge lt le ne uno true".split()}  # fmt: skip

_TESTS = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "false": lambda a, b: False, "true": lambda a, b: True,
    "ord": lambda a, b: True, "uno": lambda a, b: False,
}  # fmt: skip

_BINARY = {
    **dict.fromkeys(("arith.maxsi", "arith.maxui", "arith.maxnumf", "arith.maximumf"), max),
    **dict.fromkeys(("arith.minsi", "arith.minui", "arith.minnumf", "arith.minimumf"), min),
    "arith.andi": lambda a, b: a & b, "arith.ori": lambda a, b: a | b, "arith.xori": lambda a, b: a ^ b,
}  # fmt: skip

_KNOWN = {*_BINARY, *_COMPARE, "arith.select", "arith.constant"}

# Single operations that commute though their results depend on the order by a rounding, as those
# of any reduction do.
_SUMS = {"arith.addf", "arith.mulf", "arith.addi", "arith.muli"}

_NUMBERS = (0, 1, 2)


def commutes(block: Block) -> bool:
    """True if swapping the two halves of the arguments is known to change nothing."""
    *work, last = block.ops
    count = len(block.args) // 2
    if last.successors or count > 2:
        return False
    if len(work) == 1 and work[0].name in _SUMS:
        return work[0].operands == block.args or work[0].operands == block.args[::-1]
    constants = {v.op for op in [*work, last] for v in op.operands if v.op is not None and v.op not in work}
    work = [*constants, *work]  # they stand in front of the reduction
    if not all(op.name in _KNOWN and _small(op) for op in work):
        return False
    for numbers in itertools.product(_NUMBERS, repeat=2 * count):
        a, b = numbers[:count], numbers[count:]
        if _run(work, block.args, a + b, last.operands) != _run(work, block.args, b + a, last.operands):
            return False
    return True


def _small(op: Op) -> bool:
    """True unless the operation is a constant that the numbers do not reach on both sides."""
    return op.name != "arith.constant" or _constant(op) in (0, 1)


def _constant(op: Op) -> int:
    value = op.attrs["value"]
    return value.bits if isinstance(value, FloatBits) else value.bits[0] if isinstance(value, Dense) else int(value)


def _run(work: list[Op], args: list[Value], numbers: tuple[int, ...], results: list[Value]) -> list[Any]:
    env: dict[Value, Any] = dict(zip(args, numbers))
    for op in work:
        env[op.results[0]] = _value(op, [env[v] for v in op.operands])
    return [env[v] for v in results]


def _value(op: Op, operands: list[Any]) -> Any:
    if op.name == "arith.constant":
        return _constant(op)
    if op.name == "arith.select":
        return operands[1] if operands[0] else operands[2]
    if op.name in _COMPARE:
        return _TESTS[_COMPARE[op.name][op.attrs["predicate"]]](*operands)
    return _BINARY[op.name](*operands)
