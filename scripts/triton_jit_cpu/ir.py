# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation that the lowering works on.

A thin mirror of TTIR: functions, regions, blocks, operations and values with uses, and
the few types that TTIR has. It knows nothing about C and nothing about xdsl.
Values and operations refer to each other, so they have no repr of their own: it would be the
whole program, many times over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scalar:
    """An integer or floating-point type, by its MLIR name: ``i1``, ``f32``, ``f8E5M2``."""

    name: str

    @property
    def is_float(self) -> bool:
        """True for every floating-point type, narrow ones included."""
        return self.name[0] in "fb"

    @property
    def bits(self) -> int:
        """Width in bits."""
        if self.name == "index":
            return 64
        if self.name == "bf16":
            return 16
        if self.name.startswith("f8"):
            return 8
        return int(self.name[1:])

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Ptr:
    """A pointer to ``elem``."""

    elem: Scalar | Ptr | Tile

    is_float = False
    bits = 64

    def __str__(self) -> str:
        return f"!tt.ptr<{self.elem}>"


@dataclass(frozen=True)
class Tile:
    """A tensor of fixed shape."""

    shape: tuple[int, ...]
    elem: Scalar | Ptr

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def __str__(self) -> str:
        return "tensor<" + "".join(f"{n}x" for n in self.shape) + f"{self.elem}>"


@dataclass(frozen=True)
class Other:
    """A type that only passes through (tokens, descriptors); kept by its text."""

    text: str

    def __str__(self) -> str:
        return self.text


Type = Scalar | Ptr | Tile | Other


@dataclass(frozen=True)
class Loc:
    """Where an operation comes from: the frames of the call chain, innermost first."""

    frames: tuple[tuple[str, int], ...] = ()
    name: str = ""


@dataclass(eq=False, repr=False)
class Value:
    """An SSA value."""

    type: Type
    name: str = ""
    op: Op | None = None  # defining operation, or None for a block argument
    index: int = 0  # result or argument number
    block: Block | None = None  # the block that defines it
    uses: list[tuple[Op, int]] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Op:
    """An operation."""

    name: str
    operands: list[Value]
    results: list[Value]
    attrs: dict[str, Any]
    regions: list[Region]
    loc: Loc
    block: Block | None = None
    successors: list[Block] = field(default_factory=list)
    position: int = 0  # number within its function, in program order


@dataclass(eq=False, repr=False)
class Block:
    """A straight run of operations."""

    args: list[Value]
    ops: list[Op]
    region: Region | None = None


@dataclass(eq=False, repr=False)
class Region:
    """The body of an operation."""

    blocks: list[Block]
    op: Op | None = None


@dataclass(eq=False, repr=False)
class Func:
    """A ``tt.func``."""

    name: str
    body: Region
    args: list[Value]
    results: list[Type]
    public: bool
    loc: Loc


@dataclass(eq=False, repr=False)
class Module:
    """All functions of a compile; the entry is the public one."""

    funcs: list[Func]

    @property
    def entry(self) -> Func:
        """The kernel itself."""
        for func in self.funcs:
            if func.public:
                return func
        return self.funcs[0]


def walk(region: Region) -> Iterator[Op]:
    """All operations below ``region``, an operation before those inside it."""
    for block in region.blocks:
        for op in block.ops:
            yield op
            for inner in op.regions:
                yield from walk(inner)


def parent_op(op: Op) -> Op | None:
    """The operation whose region holds ``op``; None at the top of a function."""
    if op.block is None or op.block.region is None:
        return None
    return op.block.region.op
