# SPDX-License-Identifier: Apache-2.0
"""The versions of an innermost loop.

* *fast*, ``[0, lim)``: every mask that could be taken apart holds, addresses are linear in
  the loop variable;
* *streamed*, in front of it in grids that store far more than the caches hold: the same with
  stores that go past them (c/stream.h), strip by strip;
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

STRIP = 64  # elements that are computed before they are stored past the caches


class Bodies(NamedTuple):
    """One element's work in each version; None where the version is not needed."""

    fast: list[str]
    streamed: list[str] | None
    masked: list[str] | None
    empty: list[str] | None
    general: list[str] | None


def make_bodies(nest: Nest) -> Bodies:
    """Evaluates the versions that a nest needs."""
    fast = nest.version(FAST)
    streamed = nest.version(FAST, streaming=True) if nest.may_stream() else None
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
    return Bodies(fast, streamed if nest.strips else None, masked, empty, general)


def innermost(nest: Nest, bodies: Bodies) -> list[str]:
    """The innermost loop."""
    limit, stop, lines = _limits(nest, bodies)
    block = nest.func.fresh("block")
    behind = [line for root in nest.roots for line in root.behind_block(nest, block)]
    if behind:
        return ["{", *indent(lines), *indent(_blocks(nest, bodies, limit, stop, block, behind)), "}"]
    extent, whole = str(nest.extent), _down(nest, limit)
    lines += _streamed(nest, whole, bodies) if bodies.streamed else _loop(nest, "0", whole, bodies.fast)
    if bodies.masked:
        lines += _loop(nest, whole, stop, bodies.masked)
    if bodies.empty:
        lines += _loop(nest, _up(nest, stop), extent, bodies.empty)
    if bodies.general:
        test = " && ".join(nest.masks.linear)
        return [f"if ({test}) {{", *indent(lines), "} else {", *indent(_loop(nest, "0", extent, bodies.general)), "}"]
    return ["{", *indent(lines), "}"] if nest.masks.cut() else lines


def _limits(nest: Nest, bodies: Bodies) -> tuple[str, str, list[str]]:
    """Where the fast version ends, where the empty one begins, and the lines that compute it."""
    masks, extent = nest.masks, str(nest.extent)
    if not masks.cut():
        return extent, extent, []
    limit = nest.func.fresh("lim")
    test = " && ".join([*masks.starts, *masks.rows])
    first = f"{test} ? {extent} : 0" if test else extent
    lines = [f"int64_t {limit} = {first};", *(f"{limit} = tj_min({limit}, {text});" for text in masks.limits)]
    if bodies.empty is None:
        return limit, extent, lines
    if not masks.starts:
        return limit, limit, lines
    stop = nest.func.fresh("end")
    lines.append(f"const int64_t {stop} = {' && '.join(masks.starts)} ? {limit} : {extent};")
    return limit, stop, lines


def _blocks(nest: Nest, bodies: Bodies, limit: str, stop: str, block: str, behind: list[str]) -> list[str]:
    """One loop over all blocks, for roots that have work behind each: the version is chosen for every block."""
    choices = [] if bodies.general is None else [(f"!({' && '.join(nest.masks.linear)})", bodies.general)]
    if nest.masks.cut():
        choices.append((f"{block} + {nest.lanes} <= {limit}", bodies.fast))
        if bodies.masked:
            choices.append((f"{block} < {stop}", bodies.masked))
        last = bodies.empty if bodies.empty is not None else choices.pop()[1]
    else:
        last = bodies.fast
    head = f"{block} = 0; {block} < {nest.extent}; {block} += {nest.lanes}"
    if any(root.backwards for root in nest.roots):
        head = f"{block} = {nest.extent - nest.lanes}; {block} >= 0; {block} -= {nest.lanes}"
    lines = [f"for (int64_t {head}) {{"]
    for number, (test, body) in enumerate(choices):
        lines.append(f"  {'} else if' if number else 'if'} ({test}) {{")
        lines += indent(indent(_lanes(nest, block, body)))
    lines += (
        ["  } else {", *indent(indent(_lanes(nest, block, last))), "  }"]
        if choices
        else indent(_lanes(nest, block, last))
    )
    return [*lines, *indent(behind), "}"]


def _down(nest: Nest, limit: str) -> str:
    """A limit rounded down to whole blocks."""
    return limit if nest.lanes == 1 else f"({limit} & ~(int64_t){nest.lanes - 1})"


def _up(nest: Nest, limit: str) -> str:
    """A limit rounded up to whole blocks."""
    return limit if nest.lanes == 1 else f"(({limit} + {nest.lanes - 1}) & ~(int64_t){nest.lanes - 1})"


def _loop(nest: Nest, start: str, stop: str, body: list[str]) -> list[str]:
    """The loop over a part of the range."""
    if nest.lanes == 1:
        var = nest.vars[nest.n - 1]
        return [*_hint(nest), f"for (int64_t {var} = {start}; {var} < {stop}; {var}++) {{", *indent(body), "}"]
    block = nest.func.fresh("block")
    return [
        f"for (int64_t {block} = {start}; {block} < {stop}; {block} += {nest.lanes}) {{",
        *indent(_lanes(nest, block, body)),
        "}",
    ]


def _streamed(nest: Nest, stop: str, bodies: Bodies) -> list[str]:
    """The fast version up to the first whole cache line, and from there strip by strip, or all the way."""
    assert bodies.streamed is not None
    strips = list(nest.strips.values())
    start, count = nest.func.fresh("start"), nest.func.fresh("count")
    lead = f"tj_lead(pg, {strips[0].target}, sizeof *{strips[0].target}, {stop})"
    return [
        f"int64_t {start} = {lead};",
        *_loop(nest, "0", start, bodies.fast),
        f"for (; {start} < {stop}; {start} += {STRIP}) {{",
        f"  const int64_t {count} = tj_min({stop} - {start}, {STRIP});",
        *(f"  {strip.ctype} {strip.name}[{STRIP}] __attribute__((aligned(64)));" for strip in strips),
        "  TJ_VECTOR",
        f"  for (int64_t lane = 0; lane < {count}; lane++) {{",
        f"    const int64_t {nest.vars[nest.n - 1]} = {start} + lane;",
        *indent(indent(bodies.streamed)),
        "  }",
        *(f"  tj_stream({s.target} + {start}, {s.name}, {count} * (int64_t)sizeof *{s.name});" for s in strips),
        "}",
    ]


def _lanes(nest: Nest, block: str, body: list[str]) -> list[str]:
    """The loop over the lanes of a block."""
    return [
        *_hint(nest),
        f"for (int64_t lane = 0; lane < {nest.lanes}; lane++) {{",
        f"  const int64_t {nest.vars[nest.n - 1]} = {block} + lane;",
        *indent(body),
        "}",
    ]


def _hint(nest: Nest) -> list[str]:
    return [] if any(root.serial for root in nest.roots) else ["TJ_VECTOR"]


def indent(lines: list[str]) -> list[str]:
    """Lines of an inner block."""
    return ["  " + line for line in lines]
