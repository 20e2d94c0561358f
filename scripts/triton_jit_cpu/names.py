# SPDX-License-Identifier: Apache-2.0
"""C identifiers from the names in the Triton source."""

from __future__ import annotations

_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool true false asm typeof linux unix i386 scratch pg main errno stdin stdout stderr NULL lane
    intptr_t uintptr_t ptrdiff_t wchar_t max_align_t offsetof intmax_t uintmax_t
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t
    y0 y1 yn j0 j1 jn gamma signgam exp log sin cos tan sqrt pow""".split()
)


class Names:
    """Gives out identifiers; those given out after a mark can be taken back."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._used: set[str] = set(reserved)
        self._next: dict[str, int] = {}
        self._log: list[tuple[str, str, int]] = []

    def fresh(self, hint: str) -> str:
        """An identifier like the hint that was not given out before."""
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in hint).strip("_")[:40]
        if not base or base[0].isdigit():
            base = "v" + base
        if base in _KEYWORDS or base.startswith(
            ("tj_", "TJ_", "INT", "UINT", "SIZE_", "PTRDIFF_", "WCHAR_", "WINT_", "SIG_")
        ):
            base += "_v"
        number = self._next.get(base, 0)
        name = base if number == 0 else f"{base}_{number}"
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        self._log.append((base, name, self._next.get(base, 0)))
        self._next[base] = number + 1
        self._used.add(name)
        return name

    def mark(self) -> int:
        """A point to come back to."""
        return len(self._log)

    def release(self, mark: int) -> None:
        """Takes back what was given out since the mark."""
        while len(self._log) > mark:
            base, name, before = self._log.pop()
            self._used.discard(name)
            self._next[base] = before


def c_string(text: str) -> str:
    """A C string literal; bytes that are not plain ASCII are escaped."""
    out = ""
    for byte in text.encode("utf-8"):
        c = chr(byte)
        if c in '"\\':
            out += "\\" + c
        elif 32 <= byte < 127 and c != "?":
            out += c
        else:
            out += f"\\{byte:03o}"
    return f'"{out}"'
