"""Histograms as printed by wrkbook's own scripts in load generators: ``72:1 2:3 5``.

That is 1 sample at 72 µs, 3 at 74 and 5 at 75: each value as the step from the one before it, left out where it is 1. It takes
a third of the space that the values themselves do. ``wrk.lua`` and ``autocannon.js`` print it in their own languages.

It needs nothing but Python's standard library: ``perf_gauge_push.py`` takes it along into the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def print_steps(counts: Iterable[tuple[int, int]]) -> str:
    """Return the text of a histogram: pairs of a value and its count, ascending."""
    printed, before = [], 0
    for value, count in counts:
        printed.append(str(count) if value - before == 1 else f"{value - before}:{count}")
        before = value
    return " ".join(printed)


def parse_steps(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the values, ascending and unique, and their counts.

    Raises
    ------
    ValueError
        When this is not such a text.
    """
    printed = [part.rpartition(":") for part in text.split()]
    steps = [int(step or 1) for step, _, _ in printed]
    counts = tuple(int(count) for _, _, count in printed)
    if min([*steps[:1], *(step - 1 for step in steps[1:])], default=0) < 0 or min(counts, default=1) < 1:
        raise ValueError("a histogram is not in order")
    return tuple(accumulate(steps)), counts
