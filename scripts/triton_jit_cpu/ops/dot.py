# SPDX-License-Identifier: Apache-2.0
"""``tt.dot``: both operands in storage in the type of the sum, then a micro-kernel (c/dot.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ctype
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Scalar, Tile, Value
from ..nest import Index, Nest
from ..registry import statement
from ..roots import Keep
from ..ttir import Dense

if TYPE_CHECKING:
    from ..func import Buffer, FuncEmitter


class KeepAs(Keep):
    """Stores a tile converted to the type that the product computes in, turned on request."""

    def __init__(self, value: Value, buffer: Buffer, turned: bool = False) -> None:
        super().__init__(value, buffer)
        self.turned = turned

    def contiguous(self) -> int:
        return len(self.shape) - (2 if self.turned else 1)

    def body(self, nest: Nest) -> None:
        element = nest.eval(self.value, nest.index, NUM)
        index = nest.index
        if self.turned:
            index = (*index[:-2], index[-1], index[-2])
        at = nest.flat(index, self.buffer.shape)
        nest.write(f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {element.text};")


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
    shape = value.type.shape
    votes = func.contiguous([value], shape)
    # Contiguous in memory along the rows only: store it turned, so that copying it vectorises.
    column = votes.get(len(shape) - 2, 0) > votes.get(len(shape) - 1, 0)
    if column:
        shape = (*shape[:-2], shape[-1], shape[-2])
    buffer = func.buffer(value.name or "operand", shape, Tile(shape, sum_type), NUM)
    func.nest([KeepAs(value, buffer, column)])
    return buffer, turned != column


@statement("tt.dot")
def dot(func: FuncEmitter, op: Op) -> None:
    a, b, acc = op.operands
    kind = _sum_type(op)
    depth = a.type.shape[-1]  # type: ignore[union-attr]
    _product(func, op, acc, _operand(func, a, kind), _operand(func, b, kind), kind, depth)


def _product(
    func: FuncEmitter, op: Op, acc: Value, left_: tuple[Buffer, bool], right_: tuple[Buffer, bool], kind: Scalar,
    depth: int,
) -> None:  # fmt: skip
    """The product of two stored operands, added to ``acc``."""
    (left, left_turned), (right, right_turned) = left_, right_
    result = op.results[0]
    shape = result.type.shape  # type: ignore[union-attr]
    if len(shape) not in (2, 3):
        raise UnsupportedOp(op.name, op.loc, f"a product of rank {len(shape)}")
    rows, columns = shape[-2:]
    zero = _is_zero(acc)
    narrow = ctype.is_narrow(result.type)
    target = _target(func, op, acc)
    if narrow or target in (left, right) or target.ctype != ctype.memory(kind):
        target = func.buffer(result.name or "acc", shape, Tile(shape, kind), NUM)
    if not zero and func.buffers_of.get(acc) is not target:
        func.nest([KeepAs(acc, target)])
    pack = func.buffer("pack", (func.module.pack_size(kind, depth),), Tile((1,), kind), NUM)
    strides_a = (1, rows) if left_turned else (depth, 1)
    strides_b = (1, depth) if right_turned else (columns, 1)
    call = func.module.dot_kernel(kind.name, rows)
    names = [func.touch(x) for x in (left, right, target, pack)]
    batch = shape[0] if len(shape) == 3 else 1
    lines = []
    offsets = ["", "", ""]
    if batch > 1:
        item = func.fresh("batch")
        lines.append(f"for (int64_t {item} = 0; {item} < {batch}; {item}++) {{")
        offsets = [f" + {item} * {n}" for n in (rows * depth, depth * columns, rows * columns)]
    lines.append(
        f"{call}({rows}, {columns}, {depth}, {names[0]}{offsets[0]}, {strides_a[0]}, {strides_a[1]},"
        f" {names[1]}{offsets[1]}, {strides_b[0]}, {strides_b[1]}, {names[2]}{offsets[2]},"
        f" {'false' if zero else 'true'}, {names[3]});"
    )
    if batch > 1:
        lines.append("}")
    func.block(dict.fromkeys((left, right, target, pack)), lines)
    if narrow:
        rounded = func.target(result, RAW)
        func.round_buffer(target, rounded, result)
        target = rounded
    func.buffers_of[result] = target


def _target(func: FuncEmitter, op: Op, acc: Value) -> Buffer:
    """Where the sum goes: over the old sum, wherever that is not needed any more."""
    result = op.results[0]
    target = func.target(result, RAW)
    if any(func.buffers_of.get(v) is target and not same for v, same in func.leaves([acc])):
        return func.new_buffer(result, RAW)
    stored = func.buffers_of.get(acc)
    if stored is not None and stored is not target and len(acc.uses) == 1 and acc.block is op.block:
        if (
            acc.op is not None
            and acc.op.name in ("tt.dot", "tt.dot_scaled", "scf.for")
            and result not in func.plan.in_place
        ):
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


# Element formats of tt.dot_scaled (ScaleDotElemType).
_E2M1 = 4


class KeepScaled(Keep):
    """An operand of ``tt.dot_scaled`` times its scales, as float."""

    def __init__(self, value: Value, scale: Value | None, buffer: Buffer, depth_axis: int, kind: int,
                 k_packed: bool) -> None:  # fmt: skip
        super().__init__(value, buffer)
        self.scale = scale
        self.depth_axis = depth_axis
        self.kind = kind
        self.pack_axis = depth_axis if k_packed else 3 - depth_axis
        self.shape = buffer.shape

    def values(self) -> list[Value]:
        return [self.value] if self.scale is None else [self.value, self.scale]

    def body(self, nest: Nest) -> None:
        rank = len(self.shape)
        depth = rank - 1 if self.depth_axis == 1 else rank - 2
        index = nest.index
        if self.kind == _E2M1:
            axis = depth if self.pack_axis == self.depth_axis else (2 * rank - 3) - depth
            along = nest.define("int64_t", "at", nest.index_text(index[axis]), index[axis].level)
            half = nest.define("int64_t", "half", f"{along.text} / 2", along.level)
            there = (*index[:axis], Index(half.level, (), half.text), *index[axis + 1 :])
            byte = nest.eval(self.value, there, RAW)
            element = nest.define(
                "float", "x", f"tj_e2m1_to_f32((uint32_t)(uint8_t){byte.text} >> (4 * ({along.text} & 1)))", nest.n
            )
        else:
            element = nest.eval(self.value, index, NUM)
        text = element.text
        if self.scale is not None:
            kind = self.scale.type
            assert isinstance(kind, Tile)
            factor = self.shape[depth] // kind.shape[-1]
            k = nest.define("int64_t", "group", f"({nest.index_text(index[depth])}) / {factor}", index[depth].level)
            other = index[2 * rank - 3 - depth]
            # Scales are stored row by row for both operands: [rows or columns, groups].
            where_ = (*index[: rank - 2], other, Index(k.level, (), k.text))
            scale = nest.eval(self.scale, where_, NUM)
            factor_text = f"tj_e8m0_to_f32((uint8_t){scale.text})" if not ctype.elem(kind).is_float else scale.text
            text = f"{text} * {factor_text}"
        at = nest.flat(index, self.shape)
        nest.write(f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {text};")


@statement("tt.dot_scaled")
def dot_scaled(func: FuncEmitter, op: Op) -> None:
    sizes = op.attrs["operandSegmentSizes"]
    operands = iter(op.operands)
    a, b, acc, a_scale, b_scale = (next(operands) if n else None for n in sizes)
    assert a is not None and b is not None and acc is not None
    result = op.results[0]
    shape = result.type.shape  # type: ignore[union-attr]
    rows, columns = shape[-2:]
    kinds = (op.attrs["a_elem_type"], op.attrs["b_elem_type"])
    packed = (bool(op.attrs.get("lhs_k_pack", 1)), bool(op.attrs.get("rhs_k_pack", 1)))
    if any(k in (2, 3) for k in kinds):
        raise UnsupportedOp(op.name, op.loc, "operands of 6 bits")
    depth = a.type.shape[-1] * (2 if kinds[0] == _E2M1 and packed[0] else 1)  # type: ignore[union-attr]
    f32 = Scalar("f32")
    batch = shape[:-2]
    made = []
    for value, scale, kind, pack, axis, full in (
        (a, a_scale, kinds[0], packed[0], 1, (*batch, rows, depth)),
        (b, b_scale, kinds[1], packed[1], 2, (*batch, depth, columns)),
    ):
        buffer = func.buffer(value.name or "operand", full, Tile(full, f32), NUM)
        func.nest([KeepScaled(value, scale, buffer, axis, kind, pack)])
        made.append(buffer)
    _product(func, op, acc, (made[0], False), (made[1], False), f32, depth)
