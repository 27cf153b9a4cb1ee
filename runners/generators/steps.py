"""Histograms as printed by wrkbook's own scripts in load generators: ``72:1 2:3 5``.

That is 1 sample at 72 µs, 3 at 74 and 5 at 75: each value as the step from the one before it, left out where it is 1. It takes
a third of the space that the values themselves do. ``wrk.lua`` and ``autocannon.js`` print it in their own languages.

To print it needs nothing but Python's standard library: ``perf_gauge_push.py`` takes this file along into the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.core.histogram import Histogram

_SPACE, _COLON, _ZERO = map(ord, " :0")


def print_steps(counts: Iterable[tuple[int, int]]) -> str:
    """Return the text of a histogram: pairs of a value and its count, ascending."""
    printed, before = [], 0
    for value, count in counts:
        printed.append(str(count) if value - before == 1 else f"{value - before}:{count}")
        before = value
    return " ".join(printed)


def parse_steps(text: str) -> Histogram:
    """Return the histogram of a text.

    Raises
    ------
    ValueError
        When this is not such a text.
    """
    import numpy as np

    from runners.core.histogram import Histogram

    text = " ".join(text.split())
    if not text:
        return Histogram((), ())
    letters = np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8)
    # All but digits: they are unsigned, so what lies below zero is far above nine.
    places = np.flatnonzero(letters - _ZERO > 9)
    separators = letters[places]
    is_step = separators == _COLON
    steps_at = np.flatnonzero(is_step)
    # One separator stands between two numbers, none before the first or after the last. No colon follows another one directly.
    ends = {places[0], places[-1]} if len(places) else set()
    crowded = (places[1:] - places[:-1] < 2).any() or (steps_at[1:] - steps_at[:-1] < 2).any()
    if crowded or not (is_step | (separators == _SPACE)).all() or ends & {0, len(letters) - 1}:
        raise ValueError("not a histogram")
    numbers = np.fromstring(text.replace(":", " "), dtype=np.int64, sep=" ")
    is_count = np.ones(len(numbers), dtype=bool)
    is_count[steps_at] = False
    counts = numbers[is_count]
    steps = np.ones(len(counts), dtype=np.int64)
    # A step stands before its count: among the counts it has a place less for each step before it.
    steps[steps_at - np.arange(len(steps_at))] = numbers[steps_at]
    if (steps[1:] < 1).any() or (counts < 1).any():
        raise ValueError("a histogram is not in order")
    return Histogram(np.cumsum(steps), counts)
