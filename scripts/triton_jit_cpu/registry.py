# SPDX-License-Identifier: Apache-2.0
"""The tables from operation names to lowering functions.

Three kinds of operation:

* *elementwise*: one C expression from the operands' C expressions; the same function
  serves scalars and tiles;
* *indexing*: a tile whose elements are elements of other tiles, or depend on the index
  alone (``tt.splat``, ``tt.trans``, ``tt.make_range``, ``tt.load``); also lazy, so it
  costs a tile nothing;
* *statement*: everything that happens at its place in the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Elementwise:
    """Lowering of an elementwise operation."""

    lower: Callable[..., str]
    cost: int  # rough number of instructions an element
    exact: bool  # the result of a narrow type needs no rounding
    raw: bool  # works on raw forms (selects, bit casts)


ELEMENTWISE: dict[str, Elementwise] = {}
INDEXING: dict[str, Callable[..., Any]] = {}
STATEMENT: dict[str, Callable[..., None]] = {}

# Operations that write memory or order accesses: a lazy load must not move across them.
BARRIERS: set[str] = set()


def elementwise(*names: str, cost: int = 1, exact: bool = False, raw: bool = False) -> Callable[[Any], Any]:
    """Registers ``f(cx, op, *operands) -> C expression``."""

    def register(lower: Any) -> Any:
        for name in names:
            ELEMENTWISE[name] = Elementwise(lower, cost, exact, raw)
        return lower

    return register


def indexing(*names: str) -> Callable[[Any], Any]:
    """Registers ``f(nest, op, index, form) -> Expr`` for the element at ``index``."""

    def register(lower: Any) -> Any:
        for name in names:
            INDEXING[name] = lower
        return lower

    return register


def statement(*names: str, barrier: bool = False) -> Callable[[Any], Any]:
    """Registers ``f(func, op) -> None``, which emits the operation in place."""

    def register(lower: Any) -> Any:
        for name in names:
            STATEMENT[name] = lower
            if barrier:
                BARRIERS.add(name)
        return lower

    return register
