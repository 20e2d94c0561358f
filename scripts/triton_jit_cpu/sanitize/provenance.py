# SPDX-License-Identifier: Apache-2.0
"""Which parameter of the kernel a pointer comes from."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import Block, Func, Module, Op, Value, parent_op, walk

UNKNOWN = -1

# Operations whose result points where their first operand does.
_FIRST = {
    "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast", "tt.unsplat",
    "tt.split", "tt.gather",
}  # fmt: skip
# Those whose result is one of their operands; arith.select chooses between the last two.
_ANY = {"tt.join", "tt.cat"}


class Provenance:
    """Follows pointers of a module back to the kernel's parameters."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.funcs = {func.name: func for func in module.funcs}
        self.func_of = {block: func for func in module.funcs for block in func.body.blocks}
        self.calls: dict[str, list[Op]] = {}
        self.jumps: dict[Block, list[Op]] = {}
        for func in module.funcs:
            for op in walk(func.body):
                if op.name == "tt.call":
                    self.calls.setdefault(op.attrs["callee"], []).append(op)
                for successor in op.successors:
                    self.jumps.setdefault(successor, []).append(op)
        self.known: dict[Value, int] = {}

    def parameter(self, pointer: Value) -> int:
        """The number of the one parameter that a pointer comes from, or UNKNOWN."""
        if pointer not in self.known:
            found: set[int] = set()
            seen: set[Value] = set()
            todo = [pointer]
            while todo:
                value = todo.pop()
                if value in seen:
                    continue
                seen.add(value)
                sources = self._sources(value)
                if isinstance(sources, int):
                    found.add(sources)
                else:
                    todo += sources
            self.known[pointer] = found.pop() if len(found) == 1 else UNKNOWN
        return self.known[pointer]

    def _sources(self, value: Value) -> int | Iterable[Value]:
        """The parameter that a value is, or the values that it may be."""
        op = value.op
        if op is None:
            return self._arg_sources(value)
        if op.name in _FIRST:
            return [op.operands[0]]
        if op.name in _ANY:
            return op.operands
        if op.name == "arith.select":
            return op.operands[1:]
        if op.name == "scf.for":
            return [op.operands[3 + value.index], _end(op, 0).operands[value.index]]
        if op.name == "scf.while":
            return [_end(op, 0).operands[1 + value.index]]
        if op.name in ("scf.if", "scf.execute_region", "scf.index_switch"):
            return [_end(op, number).operands[value.index] for number in range(len(op.regions))]
        if op.name == "tt.call" and op.attrs["callee"] in self.funcs:
            return self._returned(self.funcs[op.attrs["callee"]], value.index)
        return UNKNOWN

    def _arg_sources(self, arg: Value) -> int | Iterable[Value]:
        block = arg.block
        assert block is not None and block.region is not None
        owner = block.region.op
        if owner is None:
            func = self.func_of[block]
            if block is not func.body.blocks[0]:
                return self._jumped(block, arg.index)
            if func is self.module.entry:
                return arg.index
            return [call.operands[arg.index] for call in self.calls.get(func.name, [])]
        if owner.name == "scf.for" and arg.index > 0:
            return [owner.operands[2 + arg.index], _end(owner, 0).operands[arg.index - 1]]
        if owner.name == "scf.while":
            if block is owner.regions[0].blocks[0]:
                return [owner.operands[arg.index], _end(owner, 1).operands[arg.index]]
            return [_end(owner, 0).operands[1 + arg.index]]
        return UNKNOWN

    def _jumped(self, block: Block, index: int) -> list[Value]:
        return [value for jump in self.jumps.get(block, []) for value in jump_operands(jump, block, index)]

    def _returned(self, func: Func, index: int) -> list[Value]:
        return [op.operands[index] for op in walk(func.body) if op.name == "tt.return" and parent_op(op) is None]


def _end(op: Op, region: int) -> Op:
    return op.regions[region].blocks[-1].ops[-1]


def jump_operands(jump: Op, block: Block, index: int) -> list[Value]:
    """What a jump to a block may give to its argument."""
    if jump.name == "cf.br":
        return [jump.operands[index]]
    sizes = jump.attrs.get("operandSegmentSizes")
    if jump.name != "cf.cond_br" or sizes is None:
        return [v for v in jump.operands[1:] if v.type == block.args[index].type]
    found = []
    for number, successor in enumerate(jump.successors):
        if successor is block:
            found.append(jump.operands[sizes[0] + sum(sizes[1 : 1 + number]) + index])
    return found
