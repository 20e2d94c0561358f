# SPDX-License-Identifier: Apache-2.0
"""Decides, before any C is written, which tiles are stored and which are recomputed.

A tile operation is lazy by default: its expression is repeated in every loop that needs
it, so a chain of them becomes one loop. A tile gets storage only when

* its operation is not an expression (a reduction, a product, a loop result),
* a load would otherwise be delayed past an operation that may write the same memory,
* several loops need it and it is expensive, or a loop of the program would repeat it,
* its consumer needs it as a whole (a product, a gather, a merging reshape).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import ctype
from .ir import Block, Func, Op, Tile, Value, parent_op, walk
from .registry import BARRIERS, ELEMENTWISE, INDEXING

# Recomputing a tile in a second loop of the same block pays up to this many operations.
SHARE_COST = 10
# The same for a loop of the program around the second use.
HOIST_COST = 4

_LOOPS = ("scf.for", "scf.while")

# Their first two operands are multiplied, the third is the sum that they add to.
PRODUCTS = ("tt.dot", "tt.dot_scaled")

# Index arithmetic is never stored: its linear structure makes accesses contiguous.
_AFFINE = {
    "tt.make_range", "tt.splat", "tt.expand_dims", "tt.broadcast", "tt.addptr", "arith.constant",
    "arith.addi", "arith.subi", "arith.muli", "arith.extsi", "arith.extui", "arith.cmpi",
    "arith.andi", "arith.index_cast", "ub.poison", "tt.bitcast",
}  # fmt: skip


def is_lazy(op: Op | None) -> bool:
    """True if the operation's tile is an expression that loops can repeat."""
    if op is None or not op.results or not isinstance(op.results[0].type, Tile):
        return False
    if op.name == "tt.load":
        return not op.attrs.get("isVolatile")
    return op.name in ELEMENTWISE or op.name in INDEXING


def merges_dims(op: Op) -> bool:
    """True for a reshape whose element index is not linear in the result's index."""
    if op.name != "tt.reshape" and op.name != "tt.cat":
        return False
    if op.name == "tt.cat":
        return True
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, Tile) and isinstance(result, Tile)
    before = [n for n in source.shape if n != 1]
    after = [n for n in result.shape if n != 1]
    # Splitting keeps indices linear: every run of result dims multiplies to one source dim.
    position = 0
    for extent in before:
        product = 1
        while product < extent and position < len(after):
            product *= after[position]
            position += 1
        if product != extent:
            return True
    return False


@dataclass
class Shift:
    """A loop-carried tile that only ever grows by a uniform amount: initial value + offset."""

    init: Value
    steps: list[tuple[Op, int]]  # the add operations of one iteration and their offset operand


@dataclass
class Plan:
    """The decisions for one function."""

    stored: dict[Value, str] = field(default_factory=dict)  # tile -> form of its buffer
    shifts: dict[Value, Shift] = field(default_factory=dict)  # block argument of a loop
    in_place: dict[Value, Value] = field(default_factory=dict)  # tile -> loop argument it overwrites


class Planner:
    """Computes the Plan of a function."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.plan = Plan()
        self.costs: dict[Value, int] = {}
        self.reads: dict[Value, bool] = {}
        self.roots: dict[Value, list[tuple[Op, int]]] = {}
        self.multi_block = len(func.body.blocks) > 1
        self.barriers = {op for op in walk(func.body) if op.name in BARRIERS or _is_volatile(op)}
        # An operation around a barrier is one.
        for op in list(self.barriers):
            above = parent_op(op)
            while above is not None:
                self.barriers.add(above)
                above = parent_op(above)

    def run(self) -> Plan:
        ops = list(walk(self.func.body))
        for op in ops:
            if op.name == "scf.for":
                self._find_shifts(op)
        for op in ops:
            for value in op.results:
                self.costs[value] = self._cost(op)
        for op in reversed(ops):
            for value in op.results:
                if isinstance(value.type, Tile) and is_lazy(op):
                    self._decide(op, value)
        for op in ops:
            if op.name == "scf.for":
                self._find_in_place(op)
        return self.plan

    # Cost

    def _cost(self, op: Op) -> int:
        if not op.results or not isinstance(op.results[0].type, Tile) or not is_lazy(op):
            return 0
        if op.name in _AFFINE and all(self._affine(v) for v in op.operands):
            return 0
        own = 0
        if op.name == "tt.load":
            own = 4
        elif op.name in ("arith.extf", "arith.truncf", "tt.fp_to_fp"):
            own = 8
        elif op.name in ("tt.extern_elementwise", "tt.map_elementwise"):
            own = 30
        elif op.name in ELEMENTWISE:
            own = ELEMENTWISE[op.name].cost
            if ctype.is_narrow(op.results[0].type) and not ELEMENTWISE[op.name].exact:
                own += 10
        elif op.name == "tt.reshape" and merges_dims(op):
            own = 3
        return min(own + sum(self.costs.get(v, 0) for v in op.operands), 10000)

    def _affine(self, value: Value) -> bool:
        return self.costs.get(value, 0) == 0

    # Which tiles are stored

    def _decide(self, op: Op, value: Value) -> None:
        roots = self._roots(value)
        self.roots[value] = roots
        if not roots:
            return
        cost = self.costs[value]
        whole = any(self._needs_whole(user, number) for user, number in roots)
        dot = any(user.name in PRODUCTS and number < 2 for user, number in roots)
        store = False
        if whole and cost > 0:
            store = True
        elif cost and self._loads(value) and op.name == "tt.load" and self._crosses(op, roots):
            store = True
        elif cost and self._far(op, roots) and cost >= HOIST_COST:
            store = True
        elif cost >= SHARE_COST and len({self._cluster(user) for user, _ in roots}) > 1:
            store = True
        if dot and len(roots) == 1 and not whole:
            store = False  # the product makes its own copy, in the form that it needs
            if self._far(op, roots) and cost >= HOIST_COST or op.name == "tt.load" and self._crosses(op, roots):
                store = True
        if store:
            self.plan.stored[value] = ctype.NUM if dot and ctype.is_narrow(value.type) else ctype.RAW

    def _roots(self, value: Value) -> list[tuple[Op, int]]:
        """The operations that make loops over ``value``, looking through lazy tiles."""
        found: dict[tuple[Op, int], None] = {}
        for user, number in value.uses:
            if is_lazy(user):
                if merges_dims(user) or user.name == "tt.gather" and number == 0:
                    found[(user, number)] = None
                    continue
                for result in user.results:
                    if result in self.plan.stored:
                        found[(user, -1)] = None
                    else:
                        for root in self.roots.get(result, []):
                            found[root] = None
            elif user.name == "scf.for" and number >= 3:
                shifted = user.regions[0].blocks[0].args[number - 2]
                found[(user, number)] = None
                if shifted in self.plan.shifts:
                    for root in self._roots(shifted):
                        found[root] = None
                    for root in self._roots(user.results[number - 3]):
                        found[root] = None
            else:
                found[(user, number)] = None
        return list(found)

    def _needs_whole(self, user: Op, number: int) -> bool:
        if is_lazy(user) and number >= 0:
            return True  # a merging reshape or the source of a gather
        return user.name == "tt.call"

    def _loads(self, value: Value) -> bool:
        """True if computing the lazy tile reads memory."""
        found = self.reads.get(value)
        if found is None:
            op = value.op
            found = False
            if is_lazy(op):
                assert op is not None
                found = op.name == "tt.load" or any(self._loads(v) for v in op.operands if isinstance(v.type, Tile))
            self.reads[value] = found
        return found

    def _far(self, op: Op, roots: list[tuple[Op, int]]) -> bool:
        """True if some loop of the program would repeat the operation."""
        for user, number in roots:
            above: Op | None = user
            if user.name in _LOOPS and number >= 0 and user.block is op.block:
                continue
            while above is not None and above.block is not op.block:
                above = parent_op(above)
                if above is not None and above.name in _LOOPS:
                    return True
            if above is None:
                return True  # another block of a function with branches
        return False

    def _cluster(self, user: Op) -> object:
        """Roots in one cluster share a loop; a run of stores of one shape is a cluster."""
        if user.name != "tt.store" or user.block is None:
            return user
        block = user.block
        first = user
        index = block.ops.index(user)
        for earlier in reversed(block.ops[:index]):
            if earlier.name == "tt.store" and _shape(earlier) == _shape(user):
                first = earlier
            elif earlier in self.barriers or not self._silent(earlier):
                break
        return first

    def _silent(self, op: Op) -> bool:
        """True if the operation does not end a group of fused stores."""
        if op.name == "tt.load" or any(result in self.plan.stored for result in op.results):
            return False
        return op.name in ELEMENTWISE or op.name in INDEXING

    def _crosses(self, load: Op, roots: list[tuple[Op, int]]) -> bool:
        """True if a write may happen between the load and one of the loops that would do it."""
        for user, _ in roots:
            above: Op | None = user
            while above is not None and above.block is not load.block:
                above = parent_op(above)
                if above is not None and above.name in _LOOPS:
                    return True
            if above is None or load.block is None:
                return True
            if above is not user and above in self.barriers:
                return True
            ops = load.block.ops
            start, stop = ops.index(load) + 1, ops.index(above)
            cluster = self._cluster(user)
            for between in ops[start:stop]:
                if between not in self.barriers:
                    continue
                if between.name == "tt.store" and self._cluster(between) is cluster:
                    continue
                return True
        return False

    # Loop-carried tiles

    def _find_shifts(self, loop: Op) -> None:
        body = loop.regions[0].blocks[0]
        yielded = body.ops[-1].operands
        for arg, last, init in zip(body.args[1:], yielded, loop.operands[3:]):
            if not isinstance(arg.type, Tile) or arg.type.elem.is_float:
                continue
            steps: list[tuple[Op, int]] = []
            value = last
            while value is not arg:
                op = value.op
                if op is None or op.block is not body:
                    break
                if op.name == "tt.addptr" and self._uniform(op.operands[1]):
                    steps.append((op, 1))
                    value = op.operands[0]
                elif op.name == "arith.addi" and self._uniform(op.operands[1]):
                    steps.append((op, 1))
                    value = op.operands[0]
                elif op.name == "arith.addi" and self._uniform(op.operands[0]):
                    steps.append((op, 0))
                    value = op.operands[1]
                else:
                    break
            if value is arg and steps:
                self.plan.shifts[arg] = Shift(init, steps)

    def _uniform(self, value: Value) -> bool:
        """True if all elements of the tile are the same number."""
        op = value.op
        if op is None:
            return False
        if op.name == "tt.splat":
            return True
        if op.name == "arith.constant":
            return getattr(op.attrs["value"], "splat", True)
        if op.name in ("tt.broadcast", "tt.expand_dims", "arith.extsi", "arith.extui", "arith.trunci",
                       "arith.muli", "arith.addi", "arith.subi"):  # fmt: skip
            return all(self._uniform(v) for v in op.operands)
        return False

    def _find_in_place(self, loop: Op) -> None:
        body = loop.regions[0].blocks[0]
        yielded = body.ops[-1]
        for number, (arg, value) in enumerate(zip(body.args[1:], yielded.operands)):
            if not isinstance(arg.type, Tile) or arg in self.plan.shifts:
                continue
            if yielded.operands.count(value) > 1:
                continue
            self._overwrite(value, arg, body, number)

    def _overwrite(self, value: Value, arg: Value, body: Block, number: int) -> None:
        """Lets ``value`` be computed into the storage of ``arg`` where nobody reads it later."""
        op = value.op
        if op is None or op.block is not body or value.type != arg.type:
            return
        if op.name not in PRODUCTS and value not in self.plan.stored:
            return
        for user, _ in self._all_roots(arg):
            if user.position > op.position:
                return
        self.plan.in_place[value] = arg
        if op.name in PRODUCTS:
            acc = op.operands[2]
            if len(acc.uses) == 1:
                self._overwrite(acc, arg, body, number)

    def _all_roots(self, value: Value) -> list[tuple[Op, int]]:
        """Like _roots, for a block argument, with all decisions made."""
        found: dict[tuple[Op, int], None] = {}
        todo, seen = [value], {value}
        while todo:
            for user, number in todo.pop().uses:
                if is_lazy(user) and not any(r in self.plan.stored for r in user.results):
                    todo += [r for r in user.results if r not in seen]
                    seen.update(user.results)
                else:
                    found[(user, number)] = None
        return list(found)


def _is_volatile(op: Op) -> bool:
    return op.name == "tt.load" and bool(op.attrs.get("isVolatile"))


def _shape(store: Op) -> tuple[int, ...]:
    kind = store.operands[1].type
    return kind.shape if isinstance(kind, Tile) else ()
