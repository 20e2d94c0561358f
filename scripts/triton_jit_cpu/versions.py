# SPDX-License-Identifier: Apache-2.0
"""The versions of an innermost loop, one after the other over its range.

* *fast*, ``[0, lim)``: every mask of the nest holds, every index computation is free of
  wrap-around, so addresses are linear in the loop variable and the C compiler vectorises;
* *general*, up to ``[.., end)``: every element evaluated as written;
* *empty*, ``[end, N)``: every mask of the nest is false.

``lim`` and ``end`` are computed in front of the loop from the masks themselves, so nothing
has to be assumed about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nest import Nest

FAST, GENERAL, EMPTY = "fast", "general", "empty"


def innermost(nest: Nest, fast: list[str], general: list[str], empty: list[str] | None) -> list[str]:
    """The innermost loop from the bodies of its versions; without a general one, fast is for all."""
    var, extent = nest.vars[nest.n - 1], str(nest.extent)
    if not general:
        if nest.lanes > 1:
            return _laned(nest, fast, extent)
        return [*_hint(nest), f"for (int64_t {var} = 0; {var} < {extent}; {var}++) {{", *_indent(fast), "}"]
    limit, at = nest.func.fresh("lim"), nest.func.fresh("at")
    lines = _limit(nest, limit)
    if nest.lanes > 1:
        whole = nest.func.fresh("whole")
        lines.append(f"const int64_t {whole} = {limit} & ~(int64_t){nest.lanes - 1};")
        lines += [*_laned(nest, fast, whole), f"int64_t {at} = {whole};"]
    else:
        lines += [f"int64_t {at} = 0;", *_hint(nest), *_part(var, at, limit, fast)]
    end = extent
    if empty is not None:
        unknown = [c for c, empties in nest.masks.conditions.items() if not empties]
        end = limit
        if unknown:
            end = nest.func.fresh("end")
            lines.append(f"const int64_t {end} = {' && '.join(unknown)} ? {limit} : {extent};")
    lane = _lane(nest)
    if end != limit or nest.lanes > 1:
        lines += _part(var, at, end, lane + general)
    if empty:
        lines += _part(var, at, extent, lane + empty)
    return ["{", *_indent(lines), "}"]


def _limit(nest: Nest, name: str) -> list[str]:
    """Where the fast version ends."""
    start = " && ".join(nest.masks.conditions)
    first = f"{start} ? {nest.extent} : 0" if start else str(nest.extent)
    return [
        f"int64_t {name} = {first};",
        *(f"{name} = tj_min({name}, {text});" for text in nest.masks.limits),
    ]


def _part(var: str, at: str, stop: str, body: list[str]) -> list[str]:
    """A loop that goes on from where the one in front of it ended."""
    return [f"for (; {at} < {stop}; {at}++) {{", f"  const int64_t {var} = {at};", *_indent(body), "}"]


def _laned(nest: Nest, body: list[str], stop: str) -> list[str]:
    """A loop in steps of the lanes, with a loop over the lanes inside."""
    var = nest.vars[nest.n - 1]
    block = nest.func.fresh("block")
    return [
        f"for (int64_t {block} = 0; {block} < {stop}; {block} += {nest.lanes}) {{",
        *_indent(_hint(nest)),
        f"  for (int64_t lane = 0; lane < {nest.lanes}; lane++) {{",
        f"    const int64_t {var} = {block} + lane;",
        *_indent(_indent(body)),
        "  }",
        "}",
    ]


def _hint(nest: Nest) -> list[str]:
    return [] if any(root.serial for root in nest.roots) else ["TJ_VECTOR"]


def _lane(nest: Nest) -> list[str]:
    if not any(root.laned for root in nest.roots):
        return []
    return [f"const int64_t lane = {nest.vars[nest.n - 1]} & {nest.lanes - 1};"]


def _indent(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]
