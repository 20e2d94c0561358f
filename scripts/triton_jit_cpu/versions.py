# SPDX-License-Identifier: Apache-2.0
"""The versions of an innermost loop.

* *fast*, ``[0, lim)``: every mask that could be taken apart holds, addresses are linear in
  the loop variable;
* *masked*, from there on: addresses are linear, masks are evaluated, so the C compiler makes
  masked loads and stores;
* *empty*, up to the end where that is known: every mask is false;
* *general*, instead of these where an index computation might wrap around: every element
  evaluated as written.

``lim`` and the conditions are computed in front of the loop from the masks themselves, so
nothing has to be assumed about them. A nest with lanes goes through the range in blocks of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .nest import Nest

FAST, MASKED, EMPTY, GENERAL = "fast", "masked", "empty", "general"


class Bodies(NamedTuple):
    """One element's work in each version; None where the version is not needed."""

    fast: list[str]
    masked: list[str] | None
    empty: list[str] | None
    general: list[str] | None


def make_bodies(nest: Nest) -> Bodies:
    """Evaluates the versions that a nest needs."""
    fast = nest.version(FAST)
    masks = nest.masks
    skips = masks.all_one() and all(root.masked for root in nest.roots if root.barrier)
    masked = empty = general = None
    if masks.cut():
        if not skips or masks.starts or nest.lanes > 1 and masks.limits:
            masked = nest.version(MASKED)
        if skips:
            empty = nest.version(EMPTY)
    if masks.linear:  # last: the versions in front may have added to it
        general = nest.version(GENERAL)
    return Bodies(fast, masked, empty, general)


def innermost(nest: Nest, bodies: Bodies) -> list[str]:
    """The innermost loop."""
    masks, extent = nest.masks, str(nest.extent)
    if not masks.cut():
        lines = _loop(nest, "0", extent, bodies.fast)
    else:
        limit = nest.func.fresh("lim")
        lines = [
            f"{'' if masks.limits else 'const '}int64_t {limit} = {_all(masks.starts, masks.rows, extent)};",
            *(f"{limit} = tj_min({limit}, {text});" for text in masks.limits),
        ]
        stop = extent
        if bodies.empty is not None:
            stop = limit
            if masks.starts:
                stop = nest.func.fresh("end")
                lines.append(f"const int64_t {stop} = {' && '.join(masks.starts)} ? {limit} : {extent};")
        whole = _down(nest, limit)
        lines += _loop(nest, "0", whole, bodies.fast)
        if bodies.masked:
            lines += _loop(nest, whole, stop, bodies.masked)
        if bodies.empty:
            lines += _loop(nest, _up(nest, stop), extent, bodies.empty)
        if not bodies.general:
            return ["{", *indent(lines), "}"]
    if bodies.general:
        test = " && ".join(masks.linear)
        lines = [f"if ({test}) {{", *indent(lines), "} else {", *indent(_loop(nest, "0", extent, bodies.general)), "}"]
    return lines


def _all(starts: dict[str, None], rows: dict[str, None], extent: str) -> str:
    test = " && ".join([*starts, *rows])
    return f"{test} ? {extent} : 0" if test else extent


def _down(nest: Nest, limit: str) -> str:
    """A limit rounded down to whole blocks."""
    return limit if nest.lanes == 1 else f"({limit} & ~(int64_t){nest.lanes - 1})"


def _up(nest: Nest, limit: str) -> str:
    """A limit rounded up to whole blocks."""
    return limit if nest.lanes == 1 else f"(({limit} + {nest.lanes - 1}) & ~(int64_t){nest.lanes - 1})"


def _loop(nest: Nest, start: str, stop: str, body: list[str]) -> list[str]:
    """The loop over a part of the range."""
    var = nest.vars[nest.n - 1]
    hint = [] if any(root.serial for root in nest.roots) else ["TJ_VECTOR"]
    if nest.lanes == 1:
        return [*hint, f"for (int64_t {var} = {start}; {var} < {stop}; {var}++) {{", *indent(body), "}"]
    block = nest.func.fresh("block")
    return [
        f"for (int64_t {block} = {start}; {block} < {stop}; {block} += {nest.lanes}) {{",
        *indent(hint),
        f"  for (int64_t lane = 0; lane < {nest.lanes}; lane++) {{",
        f"    const int64_t {var} = {block} + lane;",
        *indent(indent(body)),
        "  }",
        "}",
    ]


def indent(lines: list[str]) -> list[str]:
    """Lines of an inner block."""
    return ["  " + line for line in lines]
