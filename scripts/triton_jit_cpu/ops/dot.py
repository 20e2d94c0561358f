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
from ..ctype import NUM, RAW
from ..errors import UnsupportedOp
from ..func import Buffer
from ..ir import Op, Ptr, Scalar, Tile, Value, parent_op
from ..nest import ZERO, Index, Nest
from ..plan import PRODUCTS
from ..registry import statement
from ..roots import Keep
from ..ttir import Dense

if TYPE_CHECKING:
    from ..func import FuncEmitter


@dataclass(frozen=True)
class Kind:
    """What a micro-kernel multiplies and sums; named as in c/dot.h."""

    name: str
    bytes: int  # of an operand's element, at most
    sum: str  # element type of the sum
    packs: bool = False  # may take several elements as one word


_F32, _F64, _I32 = Kind("f32", 4, "f32"), Kind("f64", 8, "f64"), Kind("i32", 4, "i32")
_BF16, _I8 = Kind("bf16", 4, "f32", True), Kind("i8", 2, "i32", True)

# Numbers of these types are bf16 numbers.
_IN_BF16 = {"bf16", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ"}


class Operand(Buffer):
    """Storage of an operand: [.., rows, columns], each row a little longer than its elements.

    That keeps rows out of each other's cache sets, and a vector may be read at any column.
    """

    def __init__(self, func: FuncEmitter, hint: str, shape: tuple[int, ...], kind: Kind) -> None:
        *rest, columns = shape
        row = columns + 16 if columns >= 16 else 16
        super().__init__(
            func.fresh(hint), (*rest, row), Tile((*rest, row), Scalar(kind.sum)), NUM, func.module.next_buffer(),
            func.clock, func.clock,
        )  # fmt: skip
        self.kind = kind
        func.buffers.append(self)

    @property
    def ctype(self) -> str:
        """The C type of an element: what the machine's micro-kernel wants."""
        return f"tj_operand_{self.kind.name}"

    @property
    def bytes(self) -> int:
        """Size in bytes, on any machine."""
        count = self.kind.bytes
        for n in self.shape:
            count *= n
        return count


@dataclass(frozen=True)
class Ahead:
    """Where an operand comes from: C for the addresses of its first two rows in memory."""

    first: str
    second: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Stored:
    """An operand in storage, and whether its last two dimensions have changed places."""

    buffer: Buffer
    turned: bool
    note: Ahead | None = None  # where it was loaded from

    @property
    def row(self) -> int:
        """Elements from row to row."""
        return self.buffer.shape[-1]

    @property
    def item(self) -> int:
        """Elements from one item of a batch to the next."""
        return self.buffer.shape[-1] * self.buffer.shape[-2]


class KeepOperand(Keep):
    """Stores a tile as an operand."""

    def __init__(self, value: Value, buffer: Operand, turned: bool = False) -> None:
        super().__init__(value, buffer)
        self.kind = buffer.kind
        self.turned = turned

    def contiguous(self) -> int:
        return len(self.shape) - (2 if self.turned else 1)

    def element(self, nest: Nest) -> str:
        """C for the element in the operand's form."""
        if self.kind is not _BF16:
            return nest.eval(self.value, nest.index, NUM).text
        if ctype.elem(self.value.type) == Scalar("bf16"):
            return f"tj_operand_bf16_bits({nest.eval(self.value, nest.index, RAW).text})"
        return f"tj_operand_bf16_value({nest.eval(self.value, nest.index, NUM).text})"

    def body(self, nest: Nest) -> None:
        text = self.element(nest)
        index = nest.index
        if self.turned:
            index = (*index[:-2], index[-1], index[-2])
        at = nest.flat(index, self.buffer.shape)
        nest.write(f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {text};")


def kind_for(op: Op, elements: list[str], depth: int) -> Kind:
    """The micro-kernel for operands of these element types."""
    if all(e == "f64" for e in elements):
        return _F64
    if all(e == "i8" for e in elements):
        return _I8 if depth >= 4 else _I32
    if all(e in _IN_BF16 for e in elements):
        return _BF16 if depth >= 2 else _F32
    if all(e in _IN_BF16 or e in ("f16", "f32") for e in elements):
        return _F32
    raise UnsupportedOp(op.name, op.loc, f"a product of {' and '.join(elements)}")


def _operand(func: FuncEmitter, value: Value, kind: Kind) -> Stored:
    """An operand in storage."""
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
    if found is not None and found.ctype == ctype.memory(Scalar(kind.sum)) and not kind.packs:
        if found.shape[-1] * kind.bytes >= 64:  # a vector may be read in any row
            return Stored(found, turned)
    shape = value.type.shape
    votes = func.contiguous([value], shape)
    # Contiguous in memory along the rows only: store it turned, so that copying it vectorises.
    column = votes.get(len(shape) - 2, 0) > votes.get(len(shape) - 1, 0)
    if column:
        shape = (*shape[:-2], shape[-1], shape[-2])
    buffer = Operand(func, value.name or "operand", shape, kind)
    func.nest([KeepOperand(value, buffer, column)])
    return Stored(buffer, turned != column, _ahead(func, value, column))


def _ahead(func: FuncEmitter, value: Value, column: bool) -> Ahead | None:
    """Where a loop loads an operand from, if that is one matrix in memory."""
    loads = func.loads([value])
    if len(loads) != 1 or not _in_loop(loads[0]):
        return None
    pointer = loads[0].operands[0]
    shape = ctype.shape(value.type)
    if len(shape) != 2 or ctype.shape(pointer.type) != shape or func.loads([pointer]):
        return None
    if column:
        shape = (shape[1], shape[0])
    nest = Nest(func, (), [], None)
    second = (ZERO, Index(1)) if column else (Index(1), ZERO)
    names = [nest.eval(pointer, at).text for at in ((ZERO, ZERO), second)]
    if nest.buffers:  # the rows' addresses are in storage: anywhere in memory
        return None
    func.code += nest.lines[0]
    kind = ctype.elem(pointer.type)
    assert isinstance(kind, Ptr) and not isinstance(kind.elem, Tile)
    return Ahead(names[0], names[1], shape[0], shape[1] * ctype.size(kind.elem))


def _in_loop(op: Op) -> bool:
    above = parent_op(op)
    while above is not None and above.name not in ("scf.for", "scf.while"):
        above = parent_op(above)
    return above is not None


@statement("tt.dot")
def dot(func: FuncEmitter, op: Op) -> None:
    a, b, _ = op.operands
    depth = ctype.shape(a.type)[-1]
    kind = kind_for(op, [ctype.scalar(a.type).name, ctype.scalar(b.type).name], depth)
    product(func, op, _operand(func, a, kind), _operand(func, b, kind), kind, depth)


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
    lines: list[str] = []
    if batch > 1:
        item = func.fresh("item")
        lines.append(f"for (int64_t {item} = 0; {item} < {batch}; {item}++)")
        at = [f" + {item} * {n}" for n in (left.item, right.item, rows * columns)]
    turned = ["true" if x.turned else "false" for x in (left, right)]
    ahead = _note_ahead(func, left, right, lines)
    lines.append(
        f"{'  ' if batch > 1 else ''}tj_dot_{kind.name}({rows}, {columns}, {depth}, {names[0]}{at[0]}, {left.row},"
        f" {turned[0]}, {names[1]}{at[1]}, {right.row}, {turned[1]}, {names[2]}{at[2]},"
        f" {'false' if zero else 'true'}, {names[3]}, {ahead});"
    )
    func.block(dict.fromkeys((left.buffer, right.buffer, target, pack)), lines)
    if narrow:
        rounded = func.target(result, RAW)
        func.round_buffer(target, rounded, result)
        target = rounded
    func.buffers_of[result] = target


def _note_ahead(func: FuncEmitter, left: Stored, right: Stored, lines: list[str]) -> str:
    """Tells where the operands were loaded from; C for what may be fetched ahead."""
    if left.note is None and right.note is None:
        return "0"
    name = func.fresh("ahead")
    func.top.append(f"tj_ahead {name} = {{0}};")
    for number, note in enumerate((left.note, right.note)):
        if note is not None:
            lines.append(f"tj_ahead_note(&{name}, {number}, {note.first}, {note.second}, {note.rows}, {note.bytes});")
    return f"&{name}"


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
