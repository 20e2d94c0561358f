# SPDX-License-Identifier: Apache-2.0
"""Changes to a function in our intermediate representation: new operations, new operands."""

from __future__ import annotations

from typing import Any

from ..ir import Block, Module, Op, Region, Scalar, Tile, Type, Value, walk
from ..ttir import Dense


def like(type_: Type, elem: Scalar) -> Type:
    """The type with another element type: a tile of the same shape, or a scalar."""
    return Tile(type_.shape, elem) if isinstance(type_, Tile) else elem


class Cursor:
    """Makes operations in front of one operation of a block, with its location."""

    def __init__(self, before: Op) -> None:
        assert before.block is not None
        self.before = before
        self.block = before.block
        self.loc = before.loc

    def op(self, name: str, operands: list[Value], types: list[Type], **attrs: Any) -> Op:
        """A new operation."""
        made = Op(name, [], [], attrs, [], self.loc, self.block)
        for operand in operands:
            append_operand(made, operand)
        for index, type_ in enumerate(types):
            made.results.append(Value(type_, "", made, index, self.block))
        self.block.ops.insert(self.block.ops.index(self.before), made)
        return made

    def value(self, name: str, operands: list[Value], type_: Type, hint: str = "", **attrs: Any) -> Value:
        """The result of a new operation."""
        result = self.op(name, operands, [type_], **attrs).results[0]
        result.name = hint
        return result

    def zero(self, type_: Type) -> Value:
        """An integer 0, or a tile of them."""
        value = Dense([0], True) if isinstance(type_, Tile) else 0
        return self.value("arith.constant", [], type_, value=value)


def behind(op: Op) -> Cursor:
    """A cursor behind an operation that is no terminator."""
    assert op.block is not None
    cursor = Cursor(op.block.ops[op.block.ops.index(op) + 1])
    cursor.loc = op.loc
    return cursor


def append_operand(op: Op, value: Value) -> None:
    """One more operand."""
    value.uses.append((op, len(op.operands)))
    op.operands.append(value)


def set_operand(op: Op, index: int, value: Value) -> None:
    """Replaces an operand, or adds the next one."""
    if index == len(op.operands):
        append_operand(op, value)
        return
    op.operands[index].uses.remove((op, index))
    op.operands[index] = value
    value.uses.append((op, index))


def append_result(op: Op, type_: Type, hint: str = "") -> Value:
    """One more result."""
    result = Value(type_, hint, op, len(op.results), op.block)
    op.results.append(result)
    return result


def append_arg(block: Block, type_: Type, hint: str = "") -> Value:
    """One more block argument."""
    arg = Value(type_, hint, None, len(block.args), block)
    block.args.append(arg)
    return arg


def combine_region(name: str, kind: Scalar, owner: Op) -> Region:
    """The region of a reduction or scan that combines two scalars with one operation."""
    region = Region([], owner)
    block = Block([], [], region)
    region.blocks.append(block)
    a, b = append_arg(block, kind), append_arg(block, kind)
    end = Op(f"{owner.name}.return", [], [], {}, [], owner.loc, block)
    block.ops.append(end)
    append_operand(end, Cursor(end).value(name, [a, b], kind))
    return region


def renumber(module: Module) -> None:
    """Gives all operations their positions again."""
    for number, op in enumerate(op for func in module.funcs for op in walk(func.body)):
        op.position = number + 1
