# SPDX-License-Identifier: Apache-2.0
"""The C lines of a function, and the storage of its tiles in the scratch arena."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import ctype
from .ctype import NUM, RAW
from .ir import Func, Loc, Op, Scalar, Tile, Type, Value
from .lines import Line, comment
from .location import user_frame
from .names import Names

if TYPE_CHECKING:
    from .module import ModuleEmitter


@dataclass(eq=False)
class Buffer:
    """Storage of a tile in the scratch arena."""

    name: str
    shape: tuple[int, ...]
    type: Type
    form: str
    number: int
    start: int
    end: int
    external: bool = False  # storage of the caller, not in this function's scratch
    blocks: set[int] = field(default_factory=set)  # blocks of the function that use it
    order: tuple[int, ...] | None = None  # dimensions as they are stored, outermost first; None: as they are

    @property
    def ctype(self) -> str:
        """The C type of an element."""
        if self.form == NUM and ctype.is_narrow(self.type):
            return "float"
        return ctype.memory(self.type)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        width = 4 if self.form == NUM and ctype.is_narrow(self.type) else ctype.size(self.type)
        count = 1
        for n in self.shape:
            count *= n
        return width * count


class Storage:
    """Writes lines of a function and gives out scratch.

    The clock ticks with every block of lines that uses scratch: what is alive at different
    times may share space.
    """

    def __init__(self, module: ModuleEmitter, func: Func) -> None:
        self.module = module
        self.func = func
        self.names = Names(module.reserved)
        self.code: list[str] = []
        self.buffers: list[Buffer] = []
        self.buffers_of: dict[Value, Buffer] = {}
        self.clock = 0
        self.block_number = 0  # of the function's blocks, the one that is being written
        self.loop_spans: list[tuple[int, int]] = []
        self.current: Op | None = None
        self.last_comment: tuple[str, int] | None = None

    # Names and lines

    def fresh(self, hint: str) -> str:
        """A C identifier that is not in use in this function."""
        return self.names.fresh(hint)

    def names_mark(self) -> int:
        """See names_release."""
        return self.names.mark()

    def names_release(self, mark: object) -> None:
        """Forgets the names given out since the mark."""
        self.names.release(mark)  # type: ignore[arg-type]

    def line(self, text: str) -> None:
        """Adds a line of C."""
        self.code.append(Line(text, user_frame(self.loc())))

    def loc(self) -> Loc:
        """The place of the operation being lowered."""
        return self.current.loc if self.current else self.func.loc

    def comment(self, loc: Loc) -> None:
        """Names the Triton source line that the next lines come from."""
        frame = user_frame(loc)
        if frame is None or frame == self.last_comment:
            return
        self.last_comment = frame
        self.code.append(comment(frame))

    # Buffers

    def new_buffer(self, value: Value, form: str) -> Buffer:
        """Storage for a tile."""
        assert isinstance(value.type, Tile)
        return self.buffer(value.name or "t", value.type.shape, value.type, form)

    def buffer(self, hint: str, shape: tuple[int, ...], type_: Type, form: str = NUM) -> Buffer:
        """Storage of any shape."""
        made = Buffer(self.fresh(hint), shape, type_, form, self.module.next_buffer(), self.clock, self.clock)
        self.buffers.append(made)
        return made

    def touch(self, buffer: Buffer) -> str:
        """Notes a use of the storage now, and names it."""
        buffer.end = max(buffer.end, self.clock)
        buffer.start = min(buffer.start, self.clock)
        buffer.blocks.add(self.block_number)
        return buffer.name

    def open_buffers(self, buffers: Iterable[Buffer]) -> list[str]:
        """Declarations of the pointers to storage, for a block that uses it."""
        lines = []
        for buffer in buffers:
            self.touch(buffer)
            if buffer.external:
                continue
            kind = buffer.ctype
            star = kind if kind.endswith("*") else kind + " "
            lines.append(f"{star}*restrict const {buffer.name} = ({star}*)(scratch + @{buffer.number}@);")
        return lines

    def block(self, buffers: Iterable[Buffer], lines: Iterable[str]) -> None:
        """Writes lines in a C block with pointers to the buffers."""
        opened = self.open_buffers(buffers)
        self.line("{")
        self.code += ["  " + line for line in opened]
        self.code += ["  " + line for line in lines]
        self.line("}")
        self.clock += 1

    def frame(self, callee: Func) -> Buffer:
        """Scratch for a function that is called here."""
        size = max(64, self.module.scratch_sizes[callee.name])
        made = self.buffer("frame", (size,), Tile((size,), Scalar("i8")), RAW)
        self.touch(made)
        return made

    def copy_buffer(self, source: Buffer, target: Buffer) -> None:
        """Copies storage to storage."""
        size = source.bytes
        names = self.touch(target), self.touch(source)
        self.block([source, target], [f"__builtin_memcpy({names[0]}, {names[1]}, {size});"])


def place(buffers: list[Buffer], loops: list[tuple[int, int]]) -> tuple[dict[int, int], int]:
    """Gives every buffer its offset; buffers that are never alive together may share space."""
    for low, high in sorted(loops, key=lambda span: span[1] - span[0]):
        for buffer in buffers:
            # Alive before the loop and used in it: needed in every iteration.
            if buffer.start <= low < buffer.end < high:
                buffer.end = high
    offsets: dict[int, int] = {}
    placed: list[tuple[Buffer, int, int]] = []
    total = 0
    for buffer in sorted(buffers, key=lambda b: -b.bytes):
        size = (buffer.bytes + 63) // 64 * 64
        busy = sorted(
            (at, at + n) for other, at, n in placed if other.start <= buffer.end and buffer.start <= other.end
        )
        offset = 0
        for low, high in busy:
            if offset + size <= low:
                break
            offset = max(offset, high)
        placed.append((buffer, offset, size))
        offsets[buffer.number] = offset
        total = max(total, offset + size)
    return offsets, total
