# SPDX-License-Identifier: Apache-2.0
"""Which line of the Triton source each line of generated C comes from.

The C that people read has comments; what the compiler gets has ``#line`` directives, so that
debuggers and profilers show the kernel's Python file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .location import Frame, source_line
from .names import c_string


class Line(str):
    """A line of C that knows its source line. Indenting it keeps that."""

    frame: Frame | None

    def __new__(cls, text: str, frame: Frame | None) -> Line:
        made = super().__new__(cls, text)
        made.frame = frame
        return made

    def __radd__(self, indent: str) -> Line:
        return Line(indent + str(self), self.frame)

    def become(self, text: str) -> Line:
        """The same line with another text."""
        return Line(text, self.frame)


def comment(frame: Frame, whole: bool = True) -> Line:
    """A C comment that names a source line, with its text or without."""
    text = source_line(frame) if whole else ""
    text = text.replace("*/", "* /").replace("/*", "/ *").encode("ascii", "replace").decode()
    text = text.replace("??", "? ?").rstrip("\\")
    name = frame[0].rsplit("/", 1)[-1].replace("*/", "")
    return Line(f"/* {name}:{frame[1]}: {text} */" if text else f"/* {name}:{frame[1]} */", frame)


def commented(lines: Iterable[str]) -> list[str]:
    """The lines of a function with a comment wherever the source line changes."""
    out: list[str] = []
    current: Frame | None = None
    seen: set[Frame] = set()
    for line in lines:
        if isinstance(line, Line) and line.frame is not None:
            if line.frame != current and not line.lstrip().startswith("/*"):
                indent = " " * (len(line) - len(line.lstrip()))
                out.append(indent + comment(line.frame, line.frame not in seen))
            current = line.frame
            seen.add(current)
        out.append(line)
    return out


def runs(lines: Iterable[str]) -> dict[str, Any]:
    """Where the source line changes: [C line from 1 on, number of the file or -1, source line].

    Lines that know nothing are with the one in front of them; a line "}" ends a function, and what
    follows it is nobody's.
    """
    files: dict[str, int] = {}
    found: list[list[int]] = []
    current: Frame | None = None
    number = 1
    for line in lines:
        before = current
        if isinstance(line, Line) and line.frame is not None:
            current = line.frame
        elif line == "}":
            current = None
        if current != before:
            file = files.setdefault(current[0], len(files)) if current else -1
            found.append([number, file, current[1] if current else 0])
        number += 1 + line.count("\n")
    return {"files": list(files), "runs": found}


def with_directives(c: str, name: str, known: dict[str, Any] | None) -> str:
    """The C with a ``#line`` in front of each line that comes from the Triton source."""
    if not known or not known["runs"]:
        return c
    starts = {number: (file, line) for number, file, line in known["runs"]}
    files = [c_string(path) for path in known["files"]]
    out: list[str] = []
    where = ""
    for number, line in enumerate(c.splitlines(), 1):
        if number in starts:
            file, source_line = starts[number]
            where = f"#line {source_line} {files[file]}" if file >= 0 else ""
            if not where:
                out.append(f"#line {number} {c_string(name)}")
        if where:
            out.append(where)
        out.append(line)
    return "\n".join(out) + "\n"
