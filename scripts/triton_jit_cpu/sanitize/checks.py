# SPDX-License-Identifier: Apache-2.0
"""Sanitizers: what they are called, and the checks that they put into a kernel.

The checks are operations of our own in the intermediate representation (lowered in
ops/sanitize.py, listened to by the library's backends/cpu/sanitizer/sanitizer.c), so that
everything behind it treats a sanitized kernel like any other, and its results are the same
bits.

* ``tj.check`` stands in front of each access, at its place in the program: which elements may be
  accessed. The access gets the answer as its mask.
* ``tj.origin`` and ``tj.escape`` are those of origins.py.
"""

from __future__ import annotations

from ..errors import BadOption
from ..ir import Module, Op, Scalar, walk
from .origins import add_origins
from .provenance import Provenance
from .rewrite import Cursor, like, renumber, set_operand
from .sites import access_site

WORDS = ("address", "race", "numeric")
VARIABLE = "TRITON_JIT_CPU_SANITIZE"

# The operand that is the mask, where an access may have one.
_MASKS = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_load": 1, "tt.atomic_store": 2}
_ACCESSES = {*_MASKS, "tt.atomic_cas", "tt.atomic_poll"}

I1 = Scalar("i1")


def parse_words(text: str, origin: str) -> tuple[str, ...]:
    """The sanitizers that a text names, in the order of WORDS."""
    asked = [word.strip() for word in text.split(",") if word.strip()]
    for word in asked:
        if word not in WORDS:
            raise BadOption(f"{origin} names the sanitizer {word!r}; known are {', '.join(WORDS)}, and lists of them")
    return tuple(word for word in WORDS if word in asked)


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
