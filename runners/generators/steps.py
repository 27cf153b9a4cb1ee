"""Histograms as printed by wrkbook's own scripts in load generators: ``72:1 2:3 5``.

That is 1 sample at 72 µs, 3 at 74 and 5 at 75: each value as the step from the one before it, left out where it is 1. It takes
a third of the space that the values themselves do. ``wrk.lua`` and ``autocannon.js`` print it in their own languages.

To print it needs nothing but Python's standard library: ``perf_gauge_push.py`` takes this file along into the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.core.histogram import Histogram

_SPACE, _COLON = ord(" "), ord(":")
_TEXT = re.compile(r"(?:\d+:)?\d+(?: (?:\d+:)?\d+)*", re.ASCII)


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
    if not _TEXT.fullmatch(text):
        raise ValueError("not a histogram")
    numbers = np.fromstring(text.replace(":", " "), dtype=np.int64, sep=" ")
    separators = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    separators = separators[(separators == _SPACE) | (separators == _COLON)]
    is_step = np.append(separators == _COLON, [False])
    counts, steps = numbers[~is_step], np.ones(np.count_nonzero(~is_step), np.int64)
    # The step to a count stands before it.
    steps[np.append([False], is_step[:-1])[~is_step]] = numbers[is_step]
    if (steps[1:] < 1).any() or (counts < 1).any():
        raise ValueError("a histogram is not in order")
    return Histogram.of(np.cumsum(steps), counts)
