# SPDX-License-Identifier: Apache-2.0
"""What sanitizers say of an operation: where it stands, what it is called, what it does to memory."""

from __future__ import annotations

from dataclasses import dataclass

from .. import ctype
from ..ir import Loc, Op, Ptr
from ..location import place, source_line, user_frame
from ..names import c_string
from .provenance import UNKNOWN

# As in cpu_abi.h.
_MAX_RANK = 8
READ, WRITE, ATOMIC, ACQUIRE, RELEASE, MASKED = 1, 2, 4, 8, 16, 32

_RELAXED, _ACQUIRE, _RELEASE = 1, 2, 3  # MemSemantic; 4 is both
_BLOCK_SCOPE = 2  # MemSyncScope of one program

_RMW = {1: "and", 2: "or", 3: "xor", 4: "add", 5: "add", 6: "max", 7: "min", 8: "max", 9: "min", 10: "xchg"}

_ARITHMETIC = {
    "arith.addf": "addition", "arith.subf": "subtraction", "arith.mulf": "multiplication", "arith.divf": "division",
    "arith.remf": "remainder", "arith.truncf": "conversion", "arith.extf": "conversion", "tt.fp_to_fp": "conversion",
    "arith.sitofp": "conversion", "arith.uitofp": "conversion", "tt.precise_divf": "division",
    "tt.approx_divf": "division", "tt.reduce": "reduction", "tt.scan": "scan",
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """One operation that a sanitizer may speak of: tj_cpu_site of cpu_abi.h."""

    flags: int
    size: int
    parameter: int
    shape: tuple[int, ...]
    operation: str
    loc: Loc

    def c(self) -> str:
        """Its initialiser in C."""
        frame = user_frame(self.loc)
        shape = ", ".join(map(str, self.shape[:_MAX_RANK])) or "0"
        texts = ", ".join(c_string(text) for text in (self.operation, place(frame), source_line(frame)))
        return f"{{{self.flags}, {self.size}, {self.parameter}, {len(self.shape)}, {{{shape}}}, {texts}}}"


def access_site(op: Op, parameter: int = UNKNOWN, masked: bool = False) -> Site:
    """What there is to say of an access."""
    kind = ctype.elem(op.operands[0].type)
    assert isinstance(kind, Ptr)
    flags = _flags(op) | (MASKED if masked else 0)
    return Site(flags, ctype.size(kind.elem), parameter, ctype.shape(op.operands[0].type), operation(op), op.loc)


def _flags(op: Op) -> int:
    if op.name == "tt.load":  # a volatile load sees what atomics of others do, in no order
        return READ | (ATOMIC if op.attrs.get("isVolatile") else 0)
    if op.name == "tt.store":
        return WRITE
    flags = {"tt.atomic_load": READ, "tt.atomic_poll": READ, "tt.atomic_store": WRITE}.get(op.name, READ | WRITE)
    if op.attrs.get("scope") == _BLOCK_SCOPE:
        return flags  # atomic within a program only
    sem = op.attrs.get("sem", _ACQUIRE if op.name == "tt.atomic_poll" else _RELAXED)
    flags |= ATOMIC
    if flags & READ and sem not in (_RELAXED, _RELEASE):
        flags |= ACQUIRE
    if flags & WRITE and sem not in (_RELAXED, _ACQUIRE):
        flags |= RELEASE
    return flags


def operation(op: Op) -> str:
    """What an operation is called in messages."""
    if op.name in _ARITHMETIC:
        return f"the {_ARITHMETIC[op.name]}"
    if op.name == "tt.atomic_rmw":
        return f"tl.atomic_{_RMW.get(op.attrs['atomic_rmw_op'], 'rmw')}"
    return "tl." + op.name.split(".", 1)[1]
