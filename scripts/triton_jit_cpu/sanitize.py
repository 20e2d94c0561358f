# SPDX-License-Identifier: Apache-2.0
"""Sanitizers: what they are called, and the checks that they put into a kernel.

The checks are operations of our own in the intermediate representation (lowered in
ops/sanitize.py, listened to by the library's backends/cpu/cpu_sanitizer.c), so that
everything behind it treats a sanitized kernel like any other, and its results are the same
bits.

* ``tj.check`` stands in front of each access, at its place in the program: which elements may be
  accessed. The access gets the answer as its mask.
* ``tj.origin`` and ``tj.escape`` are those of origins.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import ctype
from .errors import BadOption
from .ir import Loc, Module, Op, Ptr, Scalar, walk
from .location import place, source_line, user_frame
from .names import c_string
from .origins import add_origins
from .provenance import UNKNOWN, Provenance
from .rewrite import Cursor, like, renumber, set_operand

WORDS = ("address", "race", "numeric")
VARIABLE = "TRITON_JIT_CPU_SANITIZE"

# As in cpu_abi.h.
_MAX_RANK = 8
READ, WRITE, ATOMIC, ACQUIRE, RELEASE, MASKED = 1, 2, 4, 8, 16, 32

_RELAXED, _ACQUIRE, _RELEASE = 1, 2, 3  # MemSemantic; 4 is both
_BLOCK_SCOPE = 2  # MemSyncScope of one program

_RMW = {1: "and", 2: "or", 3: "xor", 4: "add", 5: "add", 6: "max", 7: "min", 8: "max", 9: "min", 10: "xchg"}

# The operand that is the mask, where an access may have one.
_MASKS = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_load": 1, "tt.atomic_store": 2}
_ACCESSES = {*_MASKS, "tt.atomic_cas", "tt.atomic_poll"}

_ARITHMETIC = {
    "arith.addf": "addition", "arith.subf": "subtraction", "arith.mulf": "multiplication", "arith.divf": "division",
    "arith.remf": "remainder", "arith.truncf": "conversion", "arith.extf": "conversion", "tt.fp_to_fp": "conversion",
    "arith.sitofp": "conversion", "arith.uitofp": "conversion", "tt.precise_divf": "division",
    "tt.approx_divf": "division", "tt.reduce": "reduction", "tt.scan": "scan",
}  # fmt: skip

I1 = Scalar("i1")


def parse_words(text: str, origin: str) -> tuple[str, ...]:
    """The sanitizers that a text names, in the order of WORDS."""
    asked = [word.strip() for word in text.split(",") if word.strip()]
    for word in asked:
        if word not in WORDS:
            raise BadOption(f"{origin} names the sanitizer {word!r}; known are {', '.join(WORDS)}, and lists of them")
    return tuple(word for word in WORDS if word in asked)


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


def instrument(module: Module, words: tuple[str, ...]) -> None:
    """Puts the checks of these sanitizers into a module."""
    if not words:
        return
    if "numeric" in words:
        add_origins(module)
    if "address" in words or "race" in words:
        provenance = Provenance(module)
        for func in module.funcs:
            for op in list(walk(func.body)):
                if op.name in _ACCESSES:
                    _check(op, provenance)
    renumber(module)


def _check(op: Op, provenance: Provenance) -> None:
    """Puts a check in front of an access."""
    pointer = op.operands[0]
    number = _MASKS.get(op.name)
    mask = op.operands[number] if number is not None and len(op.operands) > number else None
    site = access_site(op, provenance.parameter(pointer), mask is not None)
    cursor = Cursor(op)
    operands = [pointer] if mask is None else [pointer, mask]
    ok = cursor.value("tj.check", operands, like(pointer.type, I1), "ok", site=site)
    if number is not None:
        set_operand(op, number, ok)
    else:  # an operation without a mask gets something harmless to work on
        set_operand(op, 0, cursor.value("tj.redirect", [ok, pointer], pointer.type, pointer.name))


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
