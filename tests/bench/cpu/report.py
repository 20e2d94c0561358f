# SPDX-License-Identifier: Apache-2.0
"""Tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]


def row(family: str, size: str, reach: float, threads: int, n_bytes: int, flops: int, times: Mapping[str, Any]) -> Row:
    """A case's numbers, for JSON; times in microseconds. ``ratio`` is torch's time over ours."""
    ours = times["ours"]
    made: Row = {"family": family, "size": size, "reach": reach, "threads": threads}
    made["rate"] = n_bytes / ours.median / 1e9 if n_bytes else flops / ours.median / 1e9
    made["unit"] = "GB/s" if n_bytes else "GFLOP/s"
    made["times"] = {
        name: {
            "median": t.median * 1e6, "low": t.quantile(0.1) * 1e6, "high": t.quantile(0.9) * 1e6, "best": t.best * 1e6,
            "ratio": t.ratio_to(ours), "best_ratio": t.best / ours.best,
        }
        for name, t in times.items()
    }  # fmt: skip
    made["ratio"] = made["times"]["torch"]["ratio"]
    made["best_ratio"] = made["times"]["torch"]["best_ratio"]
    return made


def heading(threads: int) -> str:
    """The head of the table that ``line`` makes."""
    return (
        f"threads: {threads}; microseconds a call, median (10 to 90 %); ratio: torch's time over ours, by medians and"
        f" by the best rounds\n{'':17} {'size':>14} {'ours':>26} {'torch':>26} {'ratio':>6} {'best':>6} {'reach':>6}"
    )


def _spread(times: Row) -> str:
    return f"{times['median']:10.1f} ({times['low']:.1f} {times['high']:.1f})"


def line(r: Row) -> str:
    """A case for people."""
    times = r["times"]
    more = [f"{name} {times[name]['ratio']:.2f}" for name in times if name not in ("ours", "torch")]
    if not r["reach"]:
        verdict = ""
    else:
        verdict = f"{r['reach']:.1f} {'' if max(r['ratio'], r['best_ratio']) >= r['reach'] else 'MISS'}"
    return (
        f"{r['family']:17} {r['size']:>14} {_spread(times['ours']):>26} {_spread(times['torch']):>26} {r['ratio']:6.2f}"
        f" {r['best_ratio']:6.2f} {verdict:>8} {r['rate']:8.1f} {r['unit']:7} {'; '.join(more)}"
    )


def _by_case(rows: Iterable[Row]) -> dict[tuple[str, str], dict[int, Row]]:
    cases: dict[tuple[str, str], dict[int, Row]] = {}
    for r in rows:
        cases.setdefault((r["family"], r["size"]), {})[r["threads"]] = r
    return cases


def scaling(rows: Iterable[Row], counts: list[int]) -> str:
    """How much faster the last number of threads is than the first, by the best rounds."""
    first, last = counts[0], counts[-1]
    lines = [f"from {first} to {last} threads", f"{'':17} {'size':>14} {'ours':>6} {'torch':>6}"]
    for (family, size), by_threads in _by_case(rows).items():
        a, b = by_threads[first]["times"], by_threads[last]["times"]
        ours, torch = (a[name]["best"] / b[name]["best"] for name in ("ours", "torch"))
        lines.append(f"{family:17} {size:>14} {ours:6.2f} {torch:6.2f}")
    return "\n".join(lines)


def compile_times(rows: Iterable[Row]) -> str:
    """What a first call costs beyond Triton's front end."""
    lines = [
        "compile time without Triton's front end, s (median)",
        f"{'':17} {'generator':>10} {'cc':>6} {'sum':>6} reach",
    ]
    for r in rows:
        total = r["generator"] + r["cc"]
        verdict = "" if total <= r["reach"] else "MISS"
        lines.append(f"{r['kernel']:17} {r['generator']:10.2f} {r['cc']:6.2f} {total:6.2f} {r['reach']:5.1f} {verdict}")
    return "\n".join(lines)


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} us"


def markdown(numbers: Row, threads: int) -> str:
    """The README's table: one line a case."""
    lines = [
        _machine(numbers["machine"], threads), "", "| kernel | size | ours | torch | NumPy | ratio to torch | reach |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for r in numbers["rows"]:
        if r["threads"] != threads:
            continue
        times = r["times"]
        numpy = _time(times["numpy"]["median"]) if "numpy" in times else ""
        reach = f"{r['reach']:.1f}" if r["reach"] else ""
        ours, torch = (_time(times[name]["median"]) for name in ("ours", "torch"))
        lines.append(f"| {r['family']} | {r['size']} | {ours} | {torch} | {numpy} | {r['ratio']:.2f} | {reach} |")
    return "\n".join(lines)


def _machine(machine: Row, threads: int) -> str:
    return (
        f"{machine['cpu']}, {machine['cores']} cores ({', '.join(machine['caches'])};"
        f" {', '.join(machine['isa'][-3:])}), {threads} threads, torch {machine['torch']}, {machine['compiler']}."
    )
