# SPDX-License-Identifier: Apache-2.0
"""The C helpers that generated code may call.

They stand in c/*.h. A chunk of such a file begins with a line ``/*@ names */`` and is pasted
into the generated file when one of its names is used there, after the chunks that it uses
itself. A chunk named ``*`` is always pasted.

``/*@ tj_f_KIND @ KIND,TYPE f32,float f64,double */`` stands for one chunk for each of the pairs,
in which the pair's texts stand for KIND and TYPE. Such a line may go on in the next ones.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_FILES = (
    "base.h",
    "stream.h",
    "integer.h",
    "float.h",
    "half.h",
    "fp8.h",
    "libm.h",
    "exp.h",
    "log.h",
    "trig.h",
    "special.h",
    "directed.h",
    "range.h",
    "transpose.h",
    "print.h",
    "wait.h",
    "sanitize.h",
    "atomic.h",
    "dot_pack.h",
    "amx.h",
    "dot.h",
)
_HEAD = re.compile(r"^/\*@ (.*?) \*/\n", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"\b(?:tj_\w+|TJ_\w+|fmodf?|sqrtf?|[a-z0-9]+f?)\b")


class Library:
    """All helpers."""

    def __init__(self, folder: Path) -> None:
        self.chunks: list[tuple[list[str], str]] = []
        self.owner: dict[str, int] = {}
        for file in _FILES:
            # The text before the first head, then heads and bodies by turns.
            parts = _HEAD.split((folder / file).read_text(encoding="utf-8"))
            for head, body in zip(parts[1::2], parts[2::2]):
                self._add(head.replace("\n *", " ").split(), body.splitlines())

    def _add(self, names: list[str], body: list[str]) -> None:
        """Add a chunk, or the chunks that it is the pattern of."""
        if "@" not in names:
            self._add_one(names, body)
            return
        at = names.index("@")
        placeholders = names[at + 1].split(",")
        for values in names[at + 2 :]:
            lines = [*names[:at], *body]
            for placeholder, value in zip(placeholders, values.split(","), strict=True):
                lines = [line.replace(placeholder, value) for line in lines]
            self._add_one(lines[:at], lines[at:])

    def _add_one(self, names: list[str], body: list[str]) -> None:
        number = len(self.chunks)
        self.chunks.append((names, "\n".join(body).strip()))
        for name in names:
            if name != "*":
                self.owner[name] = number

    def needed(self, text: str) -> str:
        """The helpers that some C needs, in an order that C accepts."""
        chosen = {number for number, (names, _) in enumerate(self.chunks) if "*" in names}
        todo = [text] + [self.chunks[number][1] for number in chosen]
        while todo:
            for word in set(_WORD.findall(todo.pop())):
                number = self.owner.get(word)
                if number is not None and number not in chosen:
                    chosen.add(number)
                    todo.append(self.chunks[number][1])
        return "\n\n".join(self.chunks[number][1] for number in sorted(chosen))


@lru_cache(maxsize=1)
def library() -> Library:
    """The helpers, read once."""
    return Library(Path(__file__).resolve().parent / "c")
