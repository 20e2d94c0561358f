# SPDX-License-Identifier: Apache-2.0
"""``tt.dot``: both operands in storage in the form that a micro-kernel multiplies (c/dot.h).

A load that only feeds a product is copied once, straight into that form: converted, with
rows a little apart, and turned where memory is contiguous the other way. The sum stays in
one place over the iterations of a loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import ctype
from ..buffers import Buffer
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..ir import Op, Scalar, Tile, Value
from ..nest.roots import Keep
from ..operands import Kind, Operand, keep_operand, kind_of, transposes
from ..plan import PRODUCTS
from ..registry import statement
from ..ttir import Dense

if TYPE_CHECKING:
    from ..func import FuncEmitter


@dataclass(frozen=True)
class Stored:
    """An operand in storage, and whether its last two dimensions have changed places."""

    buffer: Buffer
    turned: bool

    @property
    def row(self) -> int:
        """Elements from row to row."""
        return self.buffer.shape[-1]

    @property
    def item(self) -> int:
        """Elements from one item of a batch to the next."""
        return self.buffer.shape[-1] * self.buffer.shape[-2]


def _operand(func: FuncEmitter, value: Value, kind: Kind) -> Stored:
    """An operand in storage."""
    turned = False
    while value not in func.buffers_of and value.op is not None and transposes(value.op):
        turned = not turned
        value = value.op.operands[0]
    found = func.buffers_of.get(value)
    if isinstance(found, Operand):
        return Stored(found, turned != found.turned)
    if found is not None and found.ctype == ctype.memory(Scalar(kind.sum)) and not kind.packs:
        if found.shape[-1] * kind.bytes >= 64:  # a vector may be read in any row
            return Stored(found, turned)
    root = keep_operand(func, value, kind)
    func.nest([root])
    return Stored(root.buffer, turned != root.turned)


@statement("tt.dot")
def dot(func: FuncEmitter, op: Op) -> None:
    a, b, _ = op.operands
    kind = kind_of(op)
    product(func, op, _operand(func, a, kind), _operand(func, b, kind), kind, ctype.shape(a.type)[-1])


def product(func: FuncEmitter, op: Op, left: Stored, right: Stored, kind: Kind, depth: int) -> None:
    """The product of two stored operands, added to the operation's third operand."""
    acc, result = op.operands[2], op.results[0]
    shape = ctype.shape(result.type)
    rows, columns = shape[-2:]
    zero = _is_zero(acc)
    sum_type = Tile(shape, Scalar(kind.sum))
    narrow = ctype.is_narrow(result.type)
    if not narrow and ctype.scalar(result.type).name != kind.sum:
        raise UnsupportedOp(op.name, op.loc, f"a sum of type {ctype.scalar(result.type)}")
    target = _target(func, op, acc)
    if narrow or target in (left.buffer, right.buffer) or target.ctype != ctype.memory(sum_type):
        target = func.buffer(result.name or "acc", shape, sum_type, NUM)
    if not zero and func.buffers_of.get(acc) is not target:
        func.nest([Keep(acc, target)])
    room = _pack_bytes(rows, columns, depth, left, right, kind)
    pack = func.buffer("pack", (room,), Tile((room,), Scalar("i8")), RAW)
    names = [func.touch(x) for x in (left.buffer, right.buffer, target, pack)]
    batch = shape[0] if len(shape) == 3 else 1
    at = [""] * 3
    lines = []
    if batch > 1:
        item = func.fresh("item")
        lines.append(f"for (int64_t {item} = 0; {item} < {batch}; {item}++)")
        at = [f" + {item} * {n}" for n in (left.item, right.item, rows * columns)]
    turned = ["true" if x.turned else "false" for x in (left, right)]
    lines.append(
        f"{'  ' if batch > 1 else ''}tj_dot_{kind.name}({rows}, {columns}, {depth}, {names[0]}{at[0]}, {left.row},"
        f" {turned[0]}, {names[1]}{at[1]}, {right.row}, {turned[1]}, {names[2]}{at[2]},"
        f" {'false' if zero else 'true'}, {names[3]});"
    )
    func.block(dict.fromkeys((left.buffer, right.buffer, target, pack)), lines)
    if narrow:
        rounded = func.target(result, RAW)
        func.round_buffer(target, rounded, result)
        target = rounded
    func.buffers_of[result] = target


def _pack_bytes(rows: int, columns: int, depth: int, left: Stored, right: Stored, kind: Kind) -> int:
    """What the micro-kernels take for packing, at most; see tj_pack_words and tj_panels."""
    room = 64
    if right.turned:
        room += depth * 128  # one panel: two vectors of 64 bytes wide
    if kind.packs and left.turned:
        room += 2 * (rows * depth * 2)  # words, and on AMX the same turned
    if kind.packs and not right.turned:
        room += (columns + 16) * depth * 2
    return room


def _target(func: FuncEmitter, op: Op, acc: Value) -> Buffer:
    """Where the sum goes: over the old sum, wherever that is not needed any more."""
    result = op.results[0]
    target = func.target(result, RAW)
    if any(func.buffers_of.get(v) is target and not same for v, same in func.leaves([acc])):
        return func.new_buffer(result, RAW)
    stored = func.buffers_of.get(acc)
    if stored is not None and stored is not target and len(acc.uses) == 1 and acc.block is op.block:
        if acc.op is not None and acc.op.name in (*PRODUCTS, "scf.for") and result not in func.plan.in_place:
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
