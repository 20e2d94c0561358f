# SPDX-License-Identifier: Apache-2.0
"""Structured and unstructured control flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import NUM, RAW
from ..ir import Block, Op, Tile, Value
from ..location import where
from ..registry import statement
from .debug import c_string

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter


def _nested(func: FuncEmitter, block: Block) -> list[str]:
    """The lines of a nested block, terminator included."""
    outer, func.code = func.code, []
    func.last_comment = None
    func.emit_block(block)
    inner, func.code = func.code, outer
    func.last_comment = None
    return ["  " + line for line in inner]


def assign(func: FuncEmitter, targets: list[Value], values: list[Value]) -> None:
    """``targets = values``, all at once: C variables and storage that carry values around."""
    func.flush()
    scalars = [(t, v) for t, v in zip(targets, values) if not isinstance(t.type, Tile)]
    names = {func.scalar(t).text for t, _ in scalars}
    pending: list[tuple[str, str]] = []
    for target, value in scalars:
        to = func.scalar(target).text
        text = func.text(value, NUM)
        if text == to:
            continue
        if text in names:  # it may be overwritten before it is read
            text = func.constant(target.type, target.name or "next", text)
        pending.append((to, text))
    tiles = [(t, v) for t, v in zip(targets, values) if isinstance(t.type, Tile) and t in func.buffers_of]
    into = {func.buffers_of[t] for t, _ in tiles}
    direct: list[tuple[Value, Buffer]] = []
    copies: list[tuple[Value, Buffer, Buffer]] = []
    for target, value in tiles:
        buffer = func.buffers_of[target]
        if func.buffers_of.get(value) is buffer:
            continue
        clash = False
        for leaf, same in func.leaves([value]):
            other = func.buffers_of.get(leaf)
            if other in into and not (other is buffer and same):
                clash = True
        if clash:
            copy = func.new_buffer(target, buffer.form)
            func.keep_copy(value, copy)
            copies.append((target, copy, buffer))
        else:
            direct.append((value, buffer))
    for value, buffer in direct:
        func.keep_copy(value, buffer)
    for _, copy, buffer in copies:
        func.copy_buffer(copy, buffer)
    for to, text in pending:
        func.line(f"{to} = {text};")


def _declare_results(func: FuncEmitter, op: Op) -> None:
    for result in op.results:
        if isinstance(result.type, Tile):
            func.buffers_of[result] = func.new_buffer(result, RAW)
        else:
            func.declare_scalar(result, func.fresh(result.name or "res"))


def _check_step(func: FuncEmitter, op: Op, low: str, high: str, step: str) -> None:
    """A loop that would never end fails instead: a step of 0 or below that is known at run time only."""
    made = op.operands[2].op
    if made is not None and made.name == "arith.constant" and made.attrs["value"] > 0:
        return
    text = (
        f"{where(op.loc)}: the step of this range is %lld; a step that is not a constant must be above 0, for a"
        " range that goes down take a constant below 0"
    )
    func.line(
        f"if ({step} <= 0 && {low} < {high}) return tj_fail(pg, TJ_CPU_FAIL_TRAP, {c_string(text)}, (long long){step});"
    )


@statement("scf.for")
def scf_for(func: FuncEmitter, op: Op) -> None:
    body = op.regions[0].blocks[0]
    low, high, step = (func.text(v) for v in op.operands[:3])
    start = func.clock
    carried = list(zip(body.args[1:], op.operands[3:], op.results))
    inits: list[tuple[Value, Value]] = []
    for arg, init, result in carried:
        shift = func.plan.shifts.get(arg)
        if shift is not None:
            offset = func.fresh(f"{arg.name or 'p'}_offset")
            func.declare_offset(offset)
            func.shift(arg, init, offset)
            func.shift(result, init, offset)
        elif isinstance(arg.type, Tile):
            buffer = func.adopt(init, RAW, op) or func.new_buffer(arg, RAW)
            func.buffers_of[arg] = func.buffers_of[result] = buffer
            inits.append((arg, init))
        else:
            name = func.fresh(arg.name or result.name or "carry")
            func.declare_scalar(arg, name)
            func.bind(result, name)
            inits.append((arg, init))
    assign(func, [a for a, _ in inits], [i for _, i in inits])
    index = body.args[0]
    kind = ctype.local(index.type)
    var = func.fresh(index.name or "k")
    func.bind(index, var)
    cast = f"(uint{8 * ctype.size(index.type)}_t)" if op.attrs.get("unsignedCmp") else ""
    counter = func.fresh(var + "_wide")
    wide = "int64_t" if ctype.size(index.type) < 8 else "__int128"
    _check_step(func, op, cast + low, cast + high, cast + step)
    func.line(f"for ({wide} {counter} = {cast}{low}; {counter} < {cast}{high}; {counter} += {cast}{step}) {{")
    func.line(f"  const {kind} {var} = ({kind}){counter};")
    func.code += _nested(func, body)
    func.line("}")
    func.clock += 1
    func.loop_spans.append((start, func.clock))


@statement("scf.yield")
def scf_yield(func: FuncEmitter, op: Op) -> None:
    assert op.block is not None and op.block.region is not None
    parent = op.block.region.op
    assert parent is not None
    if parent.name == "scf.for":
        body = parent.regions[0].blocks[0]
        pairs = list(zip(body.args[1:], op.operands))
        shifts = [(a, v) for a, v in pairs if a in func.plan.shifts]
        rest = [(a, v) for a, v in pairs if a not in func.plan.shifts]
        func.flush()
        carried = {func.scalar(a).text for a, _ in rest if not isinstance(a.type, Tile)}
        steps: list[tuple[str, str]] = []
        for arg, _ in shifts:
            for add, number in func.plan.shifts[arg].steps:
                amount = func.uniform(add.operands[number])
                if amount in carried:  # it changes before it is added
                    amount = func.constant(add.operands[number].type, arg.name or "step", amount)
                steps.append((func.shifted[arg].offset, amount))
        assign(func, [a for a, _ in rest], [v for _, v in rest])
        for offset, amount in steps:
            func.line(f"{offset} += {amount};")
    elif parent.name == "scf.while":
        before = parent.regions[0].blocks[0]
        assign(func, before.args, op.operands)
    else:
        assign(func, parent.results, op.operands)


@statement("scf.if")
def scf_if(func: FuncEmitter, op: Op) -> None:
    condition = func.text(op.operands[0])
    _declare_results(func, op)
    func.line(f"if ({condition}) {{")
    func.code += _nested(func, op.regions[0].blocks[0])
    if len(op.regions) > 1 and op.regions[1].blocks:
        other = _nested(func, op.regions[1].blocks[0])
        if other:
            func.line("} else {")
            func.code += other
    func.line("}")


def _stop(func: FuncEmitter) -> list[str]:
    """What every iteration of a loop begins with that may wait for another program."""
    if not func.module.may_wait:
        return []
    count = func.fresh("iterations")
    (func.top if func.multi_block else func.code).append(f"uint32_t {count} = 0;")
    return [f"if (tj_stopped(pg, &{count})) return 1;"]


@statement("scf.index_switch")
def index_switch(func: FuncEmitter, op: Op) -> None:
    condition = func.text(op.operands[0])
    _declare_results(func, op)
    default, *cases = op.regions
    func.line(f"switch ({condition}) {{")
    for label, region in [*((f"case {n}", r) for n, r in zip(op.attrs["cases"], cases)), ("default", default)]:
        func.line(f"{label}: {{")
        func.code += _nested(func, region.blocks[0])
        func.line("} break;")
    func.line("}")


@statement("scf.while")
def scf_while(func: FuncEmitter, op: Op) -> None:
    before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
    start = func.clock
    for arg in before.args:
        if isinstance(arg.type, Tile):
            func.buffers_of[arg] = func.new_buffer(arg, RAW)
        else:
            func.declare_scalar(arg, func.fresh(arg.name or "carry"))
    _declare_results(func, op)
    for arg, result in zip(after.args, op.results):
        if isinstance(arg.type, Tile):
            func.buffers_of[arg] = func.buffers_of[result]
        else:
            func.bind(arg, func.scalar(result).text)
    assign(func, before.args, op.operands)
    stop = _stop(func)
    func.line("for (;;) {")
    func.code += ["  " + line for line in stop]
    func.code += _nested(func, before)
    func.code += _nested(func, after)
    func.line("}")
    func.clock += 1
    func.loop_spans.append((start, func.clock))


@statement("scf.condition")
def scf_condition(func: FuncEmitter, op: Op) -> None:
    assert op.block is not None and op.block.region is not None and op.block.region.op is not None
    condition = func.text(op.operands[0])
    assign(func, op.block.region.op.results, op.operands[1:])
    func.line(f"if (!({condition})) break;")


@statement("scf.execute_region")
def execute_region(func: FuncEmitter, op: Op) -> None:
    _declare_results(func, op)
    func.line("{")
    func.code += _nested(func, op.regions[0].blocks[0])
    func.line("}")


def _backward(func: FuncEmitter, target: Block) -> list[str]:
    """What a jump backwards begins with."""
    blocks = func.func.body.blocks
    current = func.current.block if func.current is not None else None
    if current not in blocks or blocks.index(target) > blocks.index(current):
        return []
    return _stop(func)


def _jump(func: FuncEmitter, block: Block, values: list[Value]) -> list[str]:
    """The lines that go to a block with these values for its arguments."""
    outer, func.code = func.code, []
    assign(func, block.args, values)
    func.code += _backward(func, block)
    func.line(f"goto {func.labels[block]};")
    inner, func.code = func.code, outer
    return ["  " + line for line in inner]


@statement("cf.br")
def br(func: FuncEmitter, op: Op) -> None:
    assign(func, op.successors[0].args, op.operands)
    func.code += _backward(func, op.successors[0])
    func.line(f"goto {func.labels[op.successors[0]]};")


@statement("cf.cond_br")
def cond_br(func: FuncEmitter, op: Op) -> None:
    yes, no = op.successors
    split = 1 + len(yes.args)
    condition = func.text(op.operands[0])
    func.line(f"if ({condition}) {{")
    func.code += _jump(func, yes, op.operands[1:split])
    func.line("} else {")
    func.code += _jump(func, no, op.operands[split : split + len(no.args)])
    func.line("}")


@statement("cf.switch")
def cf_switch(func: FuncEmitter, op: Op) -> None:
    condition = func.text(op.operands[0])
    cases = op.attrs.get("case_values")
    count = len(op.successors) - 1
    numbers = [] if cases is None else cases.bits * count if cases.splat else cases.bits
    kind = ctype.unsigned(op.operands[0].type)  # bit patterns on both sides
    func.line(f"switch (({kind}){condition}) {{")
    at = 1
    for label, successor in zip(["default", *(f"case {n}u" for n in numbers)], op.successors, strict=True):
        func.line(f"{label}: {{")
        func.code += _jump(func, successor, op.operands[at : at + len(successor.args)])
        func.line("}")
        at += len(successor.args)
    func.line("}")
