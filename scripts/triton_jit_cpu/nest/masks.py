# SPDX-License-Identifier: Apache-2.0
"""The masks of a loop nest: what its fast version may take for granted, and where it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import ctype
from ..ir import Op, Scalar, Tile, Value
from .index import Indices, level_of, move_index
from .linear import is_number, number
from .versions import FAST

if TYPE_CHECKING:
    from .nest import Nest

Key = tuple[Value, Indices]


class Masks:
    """Takes masks apart into conditions in front of the innermost loop and limits of its range."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        # C conditions that are known in front of the innermost loop:
        self.linear: dict[str, None] = {}  # no index computation wraps around
        self.rows: dict[str, None] = {}  # a mask that is one for the loop; the fast version needs it
        self.starts: dict[str, None] = {}  # a mask that begins somewhere holds from the start
        self.limits: dict[str, None] = {}  # C expressions: the fast version ends there
        self.true: set[Key] = set()  # conditions that hold in the fast version
        self.seen: dict[Key, tuple[frozenset[Key], bool]] = {}  # mask -> its conditions; are these all?

    def require(self, condition: str) -> None:
        """No version but the general one is taken where the condition fails."""
        self.linear[condition] = None

    def note(self, value: Value, indices: Indices) -> None:
        """Takes a mask apart for the fast version."""
        if (value, indices) not in self.seen:
            leaves, whole = self._leaves(value, indices)
            self.seen[(value, indices)] = (frozenset(leaves), whole)

    def note_all(self, masks: Iterable[Key]) -> None:
        """Takes all these masks apart before the first element is evaluated."""
        mode, self.nest.mode = self.nest.mode, FAST
        for value, indices in masks:
            self.note(value, indices)
        self.nest.mode = mode

    def cut(self) -> bool:
        """True if the fast version may not cover the whole range."""
        return bool(self.rows or self.starts or self.limits)

    def all_one(self) -> bool:
        """True if all masks are the same conditions, and nothing but them."""
        return len(set(self.seen.values())) == 1 and all(whole for _, whole in self.seen.values())

    def _leaves(self, value: Value, indices: Indices) -> tuple[set[Key], bool]:
        """Splits a mask into conditions that the fast version can take for granted.

        Returns them, and whether they are all there is to the mask.
        """
        nest, op = self.nest, value.op
        if isinstance(value.type, Tile) and op is not None and value not in nest.func.buffers_of:
            if op.name == "arith.andi":
                a, whole_a = self._leaves(op.operands[0], indices)
                b, whole_b = self._leaves(op.operands[1], indices)
                if whole_a and whole_b:
                    self.true.add((value, indices))
                return a | b, whole_a and whole_b
            if op.name in ("tt.broadcast", "tt.expand_dims", "tt.trans", "tt.splat"):
                moved = move_index(op, indices) if op.name != "tt.splat" else ()
                leaves, whole = self._leaves(op.operands[0], moved)
                if whole:
                    self.true.add((value, indices))
                return leaves, whole
        key = (value, indices)
        if key in self.true:
            return {key}, True
        if level_of(indices) < nest.n or not isinstance(value.type, Tile):
            self.rows[nest.eval_general(value, indices).text] = None
            self.true.add(key)
            return {key}, True
        if op is not None and op.name == "arith.cmpi" and self._prefix(op, indices):
            self.true.add(key)
            return {key}, True
        return set(), False

    def _prefix(self, op: Op, indices: Indices) -> bool:
        """Adds a limit for a comparison that holds up to some index and not from there on."""
        a, b = op.operands
        predicate = op.attrs["predicate"]
        swap = {2: (False, 0), 3: (False, 1), 4: (True, 0), 5: (True, 1)}  # slt, sle, sgt, sge
        if predicate not in swap or not isinstance(ctype.elem(a.type), Scalar):
            return False
        swapped, extra = swap[predicate]
        if swapped:
            a, b = b, a
        nest, linear = self.nest, self.nest.linear
        ca, cb = linear.coefficient(a, indices), linear.coefficient(b, indices)
        if not isinstance(ca, int) or not isinstance(cb, int) or ca == cb:
            return False
        for value, c in ((a, ca), (b, cb)):
            if c != 0 and not linear.no_wrap(value, indices, c):
                return False
        zero = linear.at_zero(indices)
        low, high = nest.eval(a, zero).text, nest.eval(b, zero).text
        if ca < cb:  # holds from some index on
            test = f"{low} {'<=' if extra else '<'} {high}"
            if is_number(low) and is_number(high):
                test = "true" if number(low) < number(high) + extra else "false"
            if test != "true":
                self.starts[test] = None
            return True
        if ctype.elem(a.type).bits == 64:
            for text in (low, high):
                if not is_number(text):
                    self.require(f"tj_span64({text}, 0, 0)")
        self.limits[f"tj_limit((int64_t){high} - (int64_t){low} + {extra}, {ca - cb}, {nest.extent})"] = None
        return True
