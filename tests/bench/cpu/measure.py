# SPDX-License-Identifier: Apache-2.0
"""Timing of several ways to do one thing, in turn, so that a change of the machine's speed meets all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]

BATCH_S = 0.004  # a batch of calls takes about this long: far above the clock's resolution
# torch's workers look for work for some milliseconds after a call; they must not be in the way of the next candidate.
SETTLE_S = 0.008


@dataclass(frozen=True)
class Times:
    """Seconds a call, one number a round, in the order of the rounds."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.rounds)

    @property
    def best(self) -> float:
        """The fastest round: what a busy machine disturbs least."""
        return min(self.rounds)

    def quantile(self, share: float) -> float:
        """The time that ``share`` of the rounds stay below."""
        ordered = sorted(self.rounds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def ratio_to(self, other: Times) -> float:
        """How many times as long as ``other`` this takes: the median of the rounds' ratios."""
        return statistics.median(a / b for a, b in zip(self.rounds, other.rounds))


def _batch(call: Callable[[], object], times: int, clock: Clock) -> float:
    start = clock()
    for _ in range(times):
        call()
    return (clock() - start) / times


def _calls_in_a_batch(call: Callable[[], object]) -> int:
    once = _batch(call, 1, time.perf_counter)
    if once > 10 * BATCH_S:
        return 1
    once = _batch(call, 1, time.perf_counter)
    if once < BATCH_S / 10:
        once = _batch(call, 10, time.perf_counter)
    return max(1, int(BATCH_S / once))


def measure(
    candidates: dict[str, Callable[[], object]], rounds: int, budget_s: float, clock: Clock = time.perf_counter
) -> dict[str, Times]:
    """Times every candidate once a round, for ``rounds`` rounds or, after the third, until ``budget_s`` is spent.

    A candidate whose first time is beyond that budget has only the one.
    """
    calls = {name: _calls_in_a_batch(call) for name, call in candidates.items()}
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    end = time.perf_counter() + budget_s
    gc.disable()
    try:
        for number in range(rounds):
            for name, call in candidates.items():
                if taken[name] and taken[name][0] > budget_s > 0:
                    continue
                time.sleep(SETTLE_S)
                if calls[name] > 1:
                    call()  # wakes the threads and fills the caches
                taken[name].append(_batch(call, calls[name], clock))
            if number >= 2 and time.perf_counter() > end:
                break
    finally:
        gc.enable()
    return {name: Times(tuple(values)) for name, values in taken.items()}
