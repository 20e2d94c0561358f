# SPDX-License-Identifier: Apache-2.0
"""Indices of tile elements inside a loop nest.

An index is linear in the loop variables as long as that can be known here; otherwise it is
a C variable that was computed in the nest.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import Op, Tile


class Expr(NamedTuple):
    """A C expression without operators of its own, and the level where it is available."""

    text: str
    level: int = 0


class Index(NamedTuple):
    """An index into one dimension: const + sum of coefficient * loop variable, or a C name."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()  # (loop number, coefficient), loops from 1
    name: str | None = None  # a C variable instead; const is then its level

    @property
    def level(self) -> int:
        """The level from which the index is known."""
        if self.name is not None:
            return self.const
        return max((loop for loop, _ in self.terms), default=0)

    def without(self, loop: int) -> Index:
        """The index with one loop variable at 0."""
        if self.name is not None:
            return self
        return Index(self.const, tuple(t for t in self.terms if t[0] != loop))


ZERO = Index()
Indices = tuple[Index, ...]


def scale(index: Index, factor: int) -> Index:
    """``index * factor`` for a linear index."""
    return Index(index.const * factor, tuple((loop, c * factor) for loop, c in index.terms))


def add(a: Index, b: Index) -> Index:
    """The sum of two linear indices."""
    terms = dict(a.terms)
    for loop, c in b.terms:
        terms[loop] = terms.get(loop, 0) + c
    return Index(a.const + b.const, tuple(sorted((loop, c) for loop, c in terms.items() if c)))


def level_of(indices: Indices) -> int:
    """The level from which all of them are known."""
    return max((ix.level for ix in indices), default=0)


def flat(indices: Indices, shape: tuple[int, ...]) -> Index:
    """The row-major position of an element with linear indices."""
    total = ZERO
    for ix, extent in zip(indices, shape):
        total = add(scale(total, extent), ix)
    return total


def split(position: Index, shape: tuple[int, ...], extents: tuple[int, ...]) -> Indices | None:
    """The indices of the element at a linear position, where its terms fall into the dimensions
    without carry; ``extents`` are the iterations of the loops."""
    result: list[Index] = []
    const, terms = position.const, dict(position.terms)
    for extent in reversed(shape):
        mine: dict[int, int] = {}
        reach = const % extent
        base = reach
        for loop, c in list(terms.items()):
            if c % extent:
                if c < 0 or c > extent:
                    return None
                mine[loop] = c
                reach += c * (extents[loop - 1] - 1)
                del terms[loop]
            else:
                terms[loop] = c // extent
        if reach >= extent:
            return None
        const //= extent
        result.append(Index(base, tuple(sorted(mine.items()))))
    if const or terms:
        return None
    return tuple(reversed(result))


def move_index(op: Op, indices: Indices) -> Indices:
    """The operand's index for a pure view (expand_dims, broadcast, trans)."""
    source = op.operands[0].type
    assert isinstance(source, Tile)
    if op.name == "tt.expand_dims":
        axis = op.attrs["axis"]
        return indices[:axis] + indices[axis + 1 :]
    if op.name == "tt.broadcast":
        return tuple(ZERO if n == 1 else ix for ix, n in zip(indices, source.shape))
    moved: list[Index] = [ZERO] * len(indices)
    for to, from_ in enumerate(op.attrs["order"]):
        moved[from_] = indices[to]
    return tuple(moved)
