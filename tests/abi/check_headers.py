# SPDX-License-Identifier: Apache-2.0
"""Checks that exports.txt and layout.c cover the public headers.

    check_headers.py exports <include folder> <exports.txt>
    check_headers.py layout <include folder> <layout.c>

It prints what is missing and ends with 1.
"""

import re
import sys
from pathlib import Path

FUNCTION = re.compile(r"^TJ_API [^;{(]*?\b(tj_\w+)\(", re.MULTILINE)
STRUCT = re.compile(r"^typedef struct (tj_\w+) \{$(.*?)^\} (tj_\w+);$", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"(?:\(\*(\w+)\)\s*\([^;]*|(\w+)(?:\[[^\]]*\])?)\s*;", re.DOTALL)
ENUM = re.compile(r"^enum \{(.*?)\};", re.MULTILINE | re.DOTALL)
ENUMERATOR = re.compile(r"\b(TJ_[A-Z0-9_]+)\b\s*(?:=|,|$)", re.MULTILINE)
STATUS = re.compile(r"^  X\((\w+), \d+,", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def headers(folder: str) -> str:
    return "\n".join(COMMENT.sub("", path.read_text()) for path in sorted(Path(folder).rglob("*.h")))


def exports(folder: str, expected: str) -> list[str]:
    """Every function that a header declares with TJ_API is in exports.txt, and nothing else is."""
    declared = set(FUNCTION.findall(headers(folder)))
    listed = set(re.findall(r"^(\w+)@@", Path(expected).read_text(), re.MULTILINE))
    problems = [f"{name} is declared but not in exports.txt" for name in sorted(declared - listed)]
    problems += [f"{name} is in exports.txt but in no header" for name in sorted(listed - declared)]
    return problems if declared else ["no TJ_API function found in the headers"]


def members(body: str) -> list[str]:
    """Names of the members; those inside an anonymous union are the union's affair."""
    body = re.sub(r"union \{.*?\}", "union", body, flags=re.DOTALL)
    return [function or name for function, name in MEMBER.findall(body)]


def constants(text: str) -> list[str]:
    """Names of the enumerators; those of the status codes come from their table."""
    return ["TJ_" + name for name in STATUS.findall(text)] + [
        name for body in ENUM.findall(text) if "#define" not in body for name in ENUMERATOR.findall(body)
    ]


def layout(folder: str, asserts: str) -> list[str]:
    """Every public struct has its size asserted, every member its offset, every constant its value."""
    text = Path(asserts).read_text()
    public = headers(folder)
    structs = STRUCT.findall(public)
    problems = [
        f"no VALUE({name}, ...)"
        for name in constants(public)
        if not re.search(rf"^VALUE\({name}, -?\d+\)", text, re.MULTILINE)
    ]
    for _, body, name in structs:
        if not re.search(rf"^SIZE\({name}, \d+\)", text, re.MULTILINE):
            problems.append(f"no SIZE({name}, ...)")
        for member in members(body):
            if not re.search(rf"^OFFSET\({name}, {member}, \d+\)", text, re.MULTILINE):
                problems.append(f"no OFFSET({name}, {member}, ...)")
    return problems if structs else ["no struct found in the headers"]


def main(arguments: list[str]) -> int:
    check, folder, file = arguments
    problems = {"exports": exports, "layout": layout}[check](folder, file)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
