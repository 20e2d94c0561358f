# SPDX-License-Identifier: Apache-2.0
"""The order of the loops of a nest: along which dimension memory is contiguous.

Where a nest's accesses disagree, as in a transposition, the loads that want another innermost
loop than the nest has are done first, along the dimension that they want, into storage that is
then turned: so both sides of the copy use whole cache lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from .. import ctype
from ..ir import Op, Tile, Value
from ..plan import is_lazy
from ..registry import ELEMENTWISE
from .index import Indices, move_index
from .linear import Coefficient
from .nest import Nest

if TYPE_CHECKING:
    from ..func import FuncEmitter

_VIEWS = ("tt.expand_dims", "tt.broadcast", "tt.trans")


class Access(NamedTuple):
    """A pointer tile of a nest, and the index at which the nest uses it; the load, if it is one."""

    pointer: Value
    indices: Indices
    load: Op | None = None


def _loads(func: FuncEmitter, values: Iterable[Value], index: Indices) -> list[Access]:
    """The loads that lazy tiles at an index would do; only those whose index is known here."""
    found: dict[Access, None] = {}
    todo = [(v, index) for v in values]
    seen: set[tuple[Value, Indices]] = set()
    while todo:
        value, indices = todo.pop()
        op = value.op
        if (value, indices) in seen or not isinstance(value.type, Tile) or len(value.type.shape) != len(indices):
            continue
        seen.add((value, indices))
        if value in func.buffers_of or value in func.shifted or op is None or not is_lazy(op):
            continue
        if op.name == "tt.load":
            found[Access(op.operands[0], indices, op)] = None
        if op.name == "tt.load" or op.name in ELEMENTWISE:
            todo += [(v, indices) for v in op.operands]
        elif op.name in _VIEWS:
            todo.append((op.operands[0], move_index(op, indices)))
    return list(found)


def _steps(
    func: FuncEmitter, values: list[Value], pointers: list[Value], shape: tuple[int, ...], inner: int
) -> list[tuple[Access, Coefficient]]:
    """(access, by how much its address grows along a dimension) for all accesses of a nest."""
    mark = func.names_mark()
    probe = Nest(func, shape, [], inner)
    accesses = [Access(p, probe.index) for p in pointers if ctype.shape(p.type) == shape]
    accesses += _loads(func, values, probe.index)
    steps = [(access, probe.linear.coefficient(access.pointer, access.indices)) for access in accesses]
    func.names_release(mark)
    return steps


def contiguous(
    func: FuncEmitter, values: list[Value], shape: tuple[int, ...], pointers: Iterable[Value] = ()
) -> dict[int, int]:
    """For each dimension, how many accesses are to neighbours in memory along it."""
    dims = [d for d, n in enumerate(shape) if n != 1]
    return {d: sum(step == 1 for _, step in _steps(func, values, list(pointers), shape, d)) for d in dims}


def crossing(func: FuncEmitter, values: list[Value], shape: tuple[int, ...], inner: int) -> list[tuple[Op, int]]:
    """Loads of rows that the nest would go through across, with the load's dimension that moves with ``inner``."""
    dims = [d for d, n in enumerate(shape) if n != 1]
    along = {
        access.load for d in dims if d != inner for access, step in _steps(func, values, [], shape, d) if step == 1
    }
    found: dict[Op, int] = {}
    for access, step in _steps(func, values, [], shape, inner):
        op = access.load
        if op in along and step not in (0, 1, None) and op is not None:
            moving = [d for d, ix in enumerate(access.indices) if ix.level == len(dims)]
            if len(moving) == 1 and sum(n != 1 for n in ctype.shape(op.results[0].type)) == 2:
                found[op] = moving[0]
    return list(found.items())
