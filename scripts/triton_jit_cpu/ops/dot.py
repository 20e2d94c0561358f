# SPDX-License-Identifier: Apache-2.0
"""``tt.dot``: both operands in storage in the type of the sum, then a micro-kernel (c/dot.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Scalar, Tile, Value
from ..nest import Nest
from ..registry import statement
from ..roots import Keep
from ..ttir import Dense, where

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter


class KeepAs(Keep):
    """Stores a tile converted to the type that the product computes in."""

    def __init__(self, value: Value, buffer: Buffer) -> None:
        super().__init__(value, buffer)

    def body(self, nest: Nest) -> None:
        element = nest.eval(self.value, nest.index, NUM)
        at = nest.flat(nest.index, self.shape)
        nest.emit(nest.n, f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {element.text};")


def _sum_type(op: Op) -> Scalar:
    """The type that the micro-kernel sums in."""
    kind = ctype.elem(op.results[0].type)
    assert isinstance(kind, Scalar)
    if kind.is_float:
        return kind if kind.name == "f64" else Scalar("f32")
    return Scalar("i32")


def _operand(func: FuncEmitter, value: Value, sum_type: Scalar) -> tuple[Buffer, bool]:
    """An operand in storage, and whether it is stored transposed."""
    turned = False
    while value.op is not None and value.op.name == "tt.trans" and value not in func.buffers_of:
        order = value.op.attrs["order"]
        last = list(range(len(order)))
        last[-2:] = last[:-3:-1]
        if list(order) != last:
            break
        turned = not turned
        value = value.op.operands[0]
    assert isinstance(value.type, Tile)
    found = func.buffers_of.get(value)
    wanted = ctype.memory(sum_type)
    if found is not None and found.ctype == wanted:
        return found, turned
    buffer = func.buffer(value.name or "operand", value.type.shape, Tile(value.type.shape, sum_type), NUM)
    func.nest([KeepAs(value, buffer)])
    return buffer, turned


@statement("tt.dot")
def dot(func: FuncEmitter, op: Op) -> None:
    a, b, acc = op.operands
    result = op.results[0]
    kind = _sum_type(op)
    shape = result.type.shape  # type: ignore[union-attr]
    if len(shape) not in (2, 3):
        raise UnsupportedOp(op.name, where(op.loc), f"a product of rank {len(shape)}")
    rows, columns = shape[-2:]
    depth = a.type.shape[-1]  # type: ignore[union-attr]
    left, left_turned = _operand(func, a, kind)
    right, right_turned = _operand(func, b, kind)
    zero = _is_zero(acc)
    narrow = ctype.is_narrow(result.type)
    target = _target(func, op)
    if narrow or target in (left, right) or target.ctype != ctype.memory(kind):
        target = func.buffer(result.name or "acc", shape, Tile(shape, kind), NUM)
    if not zero and func.buffers_of.get(acc) is not target:
        func.nest([KeepAs(acc, target)])
    pack = func.buffer("pack", (func.module.pack_size(kind, depth),), Tile((1,), kind), NUM)
    suffix = {"f32": "f32", "f64": "f64", "i32": "i32"}[kind.name]
    strides_a = (1, rows) if left_turned else (depth, 1)
    strides_b = (1, depth) if right_turned else (columns, 1)
    call = func.module.dot_kernel(suffix, rows)
    names = [func.touch(x) for x in (left, right, target, pack)]
    sizes = f"{rows}, {columns}, {depth}"
    batch = shape[0] if len(shape) == 3 else 1
    lines = []
    offsets = ["", "", ""]
    if batch > 1:
        item = func.fresh("batch")
        lines.append(f"for (int64_t {item} = 0; {item} < {batch}; {item}++) {{")
        offsets = [f" + {item} * {n}" for n in (rows * depth, depth * columns, rows * columns)]
    lines.append(
        f"{call}({sizes}, {names[0]}{offsets[0]}, {strides_a[0]}, {strides_a[1]}, {names[1]}{offsets[1]},"
        f" {strides_b[0]}, {strides_b[1]}, {names[2]}{offsets[2]}, {'false' if zero else 'true'}, {names[3]});"
    )
    if batch > 1:
        lines.append("}")
    func.block(dict.fromkeys((left, right, target, pack)), lines)
    if narrow:
        rounded = func.target(result, RAW)
        func.round_buffer(target, rounded, result)
        target = rounded
    func.buffers_of[result] = target


def _target(func: "FuncEmitter", op: Op) -> "Buffer":
    """Where the sum goes: over the old sum, wherever that is not needed any more."""
    acc, result = op.operands[2], op.results[0]
    target = func.target(result, RAW)
    if any(func.buffers_of.get(v) is target and not same for v, same in func.leaves([acc])):
        return func.new_buffer(result, RAW)
    stored = func.buffers_of.get(acc)
    if stored is not None and stored is not target and len(acc.uses) == 1 and acc.block is op.block:
        if acc.op is not None and acc.op.name in ("tt.dot", "scf.for") and result not in func.plan.in_place:
            return stored
    return target


def _is_zero(value: Value) -> bool:
    op = value.op
    while op is not None and op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims"):
        op = op.operands[0].op
    if op is None or op.name != "arith.constant":
        return False
    bits = op.attrs["value"]
    if isinstance(bits, Dense):
        return bits.splat and bits.bits[0] == 0
    return getattr(bits, "bits", bits) == 0
