# SPDX-License-Identifier: Apache-2.0
"""The consumers of a loop nest: storing a tile, writing memory. (Reducing: reduction.py.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ctype import RAW
from ..ir import Op, Tile, Value

if TYPE_CHECKING:
    from ..buffers import Buffer
    from .nest import Nest


class Root:
    """Something that consumes elements of a nest."""

    op: Op | None = None  # the operation that it is for
    shape: tuple[int, ...] = ()
    barrier = False  # writes user memory
    masked = True  # does nothing where the masks are false
    serial = False  # its elements must be done one by one, in order
    backwards = False  # the blocks of the innermost loop come from the end

    def values(self) -> list[Value]:
        """The tiles it evaluates at the index of the nest."""
        raise NotImplementedError

    def begin(self, nest: Nest) -> None:
        """Emits what stands in front of the loops."""

    def body(self, nest: Nest) -> None:
        """Emits the work for one element."""
        raise NotImplementedError

    def lanes(self, nest: Nest) -> int:
        """Into blocks of how many elements it wants the innermost loop to be cut; a power of two."""
        return 1

    def behind_block(self, nest: Nest, start: str) -> list[str]:
        """Lines behind each block that begins at an index."""
        return []

    def end(self, nest: Nest) -> None:
        """Emits what stands behind the loops."""


class Keep(Root):
    """Stores a tile into a buffer."""

    def __init__(self, value: Value, buffer: Buffer) -> None:
        assert isinstance(value.type, Tile)
        self.value = value
        self.op = value.op
        self.buffer = buffer
        self.shape = value.type.shape

    def values(self) -> list[Value]:
        return [self.value]

    def contiguous(self) -> int:
        """The dimension along which the buffer's elements are neighbours."""
        return self.buffer.order[-1] if self.buffer.order else len(self.shape) - 1

    def body(self, nest: Nest) -> None:
        element = nest.eval(self.value, nest.index, self.buffer.form)
        at = nest.position(self.buffer, nest.index)
        nest.write(f"{nest.use(self.buffer)}[{nest.index_text(at)}] = {element.text};")


class Store(Root):
    """``tt.store`` of a tile."""

    barrier = True

    def __init__(self, op: Op) -> None:
        self.op: Op = op
        self.pointer, self.value = op.operands[0], op.operands[1]
        self.mask: Value | None = op.operands[2] if len(op.operands) > 2 else None
        assert isinstance(self.value.type, Tile)
        self.shape = self.value.type.shape
        self.masked = self.mask is not None

    def values(self) -> list[Value]:
        return [v for v in (self.pointer, self.value, self.mask) if v is not None]

    def body(self, nest: Nest) -> None:
        mask = nest.mask(self.mask, nest.index)
        if mask == "false":
            return
        value = nest.eval(self.value, nest.index, RAW)
        strip = nest.strip(self, self.pointer) if mask == "true" else None
        if strip is not None:
            nest.write(f"{strip.name}[lane] = {value.text};")
            nest.func.module.streams(self.op)
            return
        target, _ = nest.element(self.pointer, nest.index)
        guard = "" if mask == "true" else f"if ({mask}) "
        nest.write(f"{guard}{target} = {value.text};")
