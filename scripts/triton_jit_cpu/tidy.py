# SPDX-License-Identifier: Apache-2.0
"""Removes constants that nothing uses from generated C.

The lowering computes some values in case a version of a loop needs them. Every constant is
on a line of its own and computing it has no effect, so unused ones can go; that keeps the
C readable and free of warnings.
"""

from __future__ import annotations

import re

_DEFINITION = re.compile(
    r"^\s*(?:const [A-Za-z_]\w* |[A-Za-z_]\w* \**(?:restrict )?const )(\w+) = [^;{]*(?:\{[^;{}]*\}[^;{}]*)?;$"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
# Neither a call nor a cast of one.
_ASSIGNMENT = re.compile(r"^\s*(\w+) = (?:[^;()]+|\(-[\w.]+\));$")
_VARIABLE = re.compile(r"^\s*[A-Za-z_]\w* \**(\w+)(?:\[\d+\])?;$")


def remove_unused(code: list[str], top: list[str]) -> list[str]:
    """The lines without constants that nothing uses; `top` goes in front."""
    lines, count = top + code, -1
    while count != len(lines):  # what went may have been the last to use something
        count = len(lines)
        lines = _pass(lines)
    return _no_empty_loops(lines)


def _pass(lines: list[str]) -> list[str]:
    """Removes unused constants, then variables that are never read."""
    words: list[list[str]] = [[] if line.lstrip().startswith("/*") else _WORD.findall(line) for line in lines]
    counts: dict[str, int] = {}
    for found in words:
        for word in found:
            counts[word] = counts.get(word, 0) + 1
    defined: dict[str, int] = {}
    gone: set[int] = set()
    for number, line in enumerate(lines):
        match = _DEFINITION.match(line)
        if match and match.group(1) not in defined:
            defined[match.group(1)] = number
        elif match:  # blocks have a constant of one name each
            for place in {number, defined[match.group(1)]} - gone:
                if not _used_in_block(lines, words, place, match.group(1)):
                    gone.add(place)
                    for word in words[place]:
                        counts[word] -= 1
    todo = [name for name in defined if counts.get(name) == 1]
    while todo:
        name = todo.pop()
        number = defined[name]
        if number in gone:
            continue
        gone.add(number)
        for word in words[number]:
            counts[word] -= 1
            if counts[word] == 1 and word in defined and defined[word] not in gone:
                todo.append(word)
    assigned: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        match = _ASSIGNMENT.match(line)
        if match and number not in gone:
            assigned.setdefault(match.group(1), []).append(number)
    for number, line in enumerate(lines):
        match = _VARIABLE.match(line)
        if match:
            only = assigned.get(match.group(1), [])
            if counts.get(match.group(1)) == 1 + len(only):  # never read
                gone.update([number, *only])
    return [line for number, line in enumerate(lines) if number not in gone]


def _used_in_block(lines: list[str], words: list[list[str]], number: int, name: str) -> bool:
    """Is a constant used between its definition and the end of the block?"""
    depth = 0
    for line, found in zip(lines[number + 1 :], words[number + 1 :]):
        if found and name in found:
            return True
        if not line.lstrip().startswith("/*"):
            if depth == 0 and line.lstrip().startswith("}"):
                return False
            depth += line.count("{") - line.count("}")
    return False


def _no_empty_loops(lines: list[str]) -> list[str]:
    """Drops loops and blocks without a body."""
    result: list[str] = []
    for line in lines:
        if line.strip() == "}" and result:
            opener = result[-1].strip()
            if (
                opener == "{" or opener.startswith("for (int64_t ") or opener.startswith("for (; at")
            ) and opener.endswith("{"):
                result.pop()
                if result and result[-1].strip() == "TJ_VECTOR":
                    result.pop()
                continue
        result.append(line)
    return result
