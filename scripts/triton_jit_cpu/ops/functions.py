# SPDX-License-Identifier: Apache-2.0
"""Calls, returns, program ids, and operations that need no code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Tile
from ..nest.nest import Expr, Indices, Nest
from ..registry import indexing, statement

if TYPE_CHECKING:
    from ..func import FuncEmitter


@indexing("tt.get_program_id")
def program_id(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    axis = op.attrs["axis"]
    return nest.define("int32_t", op.results[0].name or "pid", f"(int32_t)pg->pid[{axis}]", 0)


@indexing("tt.get_num_programs")
def num_programs(nest: Nest, op: Op, indices: Indices, form: str) -> Expr:
    axis = op.attrs["axis"]
    return nest.define("int32_t", op.results[0].name or "programs", f"(int32_t)pg->grid[{axis}]", 0)


@statement("tt.return")
def tt_return(func: FuncEmitter, op: Op) -> None:
    for number, value in enumerate(op.operands):
        if isinstance(value.type, Tile):
            func.keep_copy(value, func.result_buffers[number])
        else:
            func.line(f"*{func.results[number]} = {func.text(value, NUM)};")
    func.line("return 0;")


@statement("tt.call", barrier=True)
def tt_call(func: FuncEmitter, op: Op) -> None:
    callee = func.module.by_name.get(op.attrs["callee"])
    if callee is None:
        raise UnsupportedOp(op.name, op.loc, f"the function '{op.attrs['callee']}' is not in the module")
    args: list[str] = []
    buffers = []
    for value in op.operands:
        if isinstance(value.type, Tile):
            buffer = func.stored(value, RAW)
            buffers.append(buffer)
            args.append(func.touch(buffer))
        else:
            args.append(func.text(value, NUM))
    for result in op.results:
        if isinstance(result.type, Tile):
            buffer = func.new_buffer(result, RAW)
            buffers.append(buffer)
            func.buffers_of[result] = buffer
            args.append(func.touch(buffer))
        else:
            name = func.fresh(result.name or "ret")
            func.declare_scalar(result, name)
            args.append(f"&{name}")
    name = func.module.c_name(callee)
    frame = func.frame(callee)
    text = ", ".join(["pg", f"scratch + @{frame.number}@", *args])
    func.block(dict.fromkeys(buffers), [f"if ({name}({text}) != 0) return 1;"])
    func.touch(frame)


@statement("gpu.barrier", "ttg.barrier", barrier=True)
def barrier(func: FuncEmitter, op: Op) -> None:
    """A program is one thread: its accesses are in order already."""


@statement("tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents")
def nothing(func: FuncEmitter, op: Op) -> None:
    """Hints about overlapping kernels mean nothing on a CPU."""


@statement("llvm.intr.assume")
def assume(func: FuncEmitter, op: Op) -> None:
    """Not used: a wrong assumption would be undefined behaviour."""
