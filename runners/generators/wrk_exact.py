"""The line that ``wrk.lua`` prints: exact numbers, and the whole histogram of latencies.

Where latencies are long, their histogram has a bin for nearly every response: of 20,000 connections a megabyte for each second.
So before it is recorded it is condensed (:func:`condense`) to parts of wrk's expected interval. That is about the mean latency, and
half a part, a five-hundredth of it, is what nobody reads off a latency; and wrk's correction, which moves samples by whole intervals,
can be undone as before, as it moves them by whole numbers of parts.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runners.core.histogram import Histogram
from runners.core.load import GeneratorError, LoadErrors
from runners.generators.steps import parse_steps, print_steps
from runners.stats import histograms

_MARKER = "wrkbook "
PARTS = 256
"""Number of parts of the expected interval, where these are at least two microseconds long."""
COARSE_PARTS = 32
"""The same for a warm-up: its latencies are checked when they are printed, and not read again."""


@dataclass(frozen=True)
class Statistics:
    """One of wrk's two statistics, as done() received it.

    Attributes
    ----------
    histogram : Histogram
        Counts by µs, or where it is condensed by part: a value v is in part ⌈v / part_us⌉.
    interval_us : int | None
        The expected interval, where it is condensed.
    parts : int
        Number of parts into which that was divided.
    """

    mean: float
    stdev: float
    max: int
    histogram: Histogram
    interval_us: int | None = None
    parts: int = PARTS

    @property
    def tolerance_us(self) -> float:
        """Return the largest distance of a sample from the value of its bin: the bin's middle, in whole microseconds."""
        return 0.0 if self.interval_us is None else self.interval_us / self.parts / 2 + 0.5

    def in_us(self, histogram: Histogram) -> Histogram:
        """Return a histogram like this one, by µs: the middle stands for a part."""
        if self.interval_us is None:
            return histogram
        middles = np.rint((histogram.arrays[0] - 0.5) * self.interval_us / self.parts).astype(np.int64)
        return Histogram(middles, histogram.arrays[1])

    @cached_property
    def by_us(self) -> Histogram:
        """Return the histogram by µs."""
        return self.in_us(self.histogram)

    @cached_property
    def _ranks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        values_us, counts = self.by_us.arrays
        return values_us, np.cumsum(counts)

    def recovered(self, expected_us: int | None) -> Histogram:
        """Return the histogram without wrk's correction, whose expected interval is given; None where wrk corrected nothing.

        Raises
        ------
        ValueError
            When wrk cannot have corrected it with that interval.
        """
        if expected_us is None:
            return self.histogram
        if self.interval_us is None:
            return histograms.recover(self.histogram, expected_us)
        if self.interval_us != expected_us:
            raise ValueError(f"condensed by an interval of {self.interval_us} µs, but expected are {expected_us} µs")
        return histograms.recover(self.histogram, self.parts)

    def percentile_us(self, q: float) -> float:
        """Return wrk's percentile: the sample of rank round(q % of the total + 0.5), one after nearest rank where q % is whole."""
        values_us, ranks = self._ranks
        if not len(ranks):
            return 0.0
        rank = min(int(q * int(ranks[-1])) // 100 + 1, int(ranks[-1]))
        return float(values_us[np.searchsorted(ranks, rank)])


@dataclass(frozen=True)
class Exact:
    """The whole line."""

    duration_us: int
    requests_count: int
    read_bytes: int
    errors: LoadErrors
    latency: Statistics
    thread_rate: Statistics


def parse_exact(stdout: str) -> Exact:
    """Parse the line in wrk's output.

    Raises
    ------
    GeneratorError
        When it is missing, or damaged.
    """
    try:
        fields = json.loads(_line(stdout))
        exact = Exact(
            duration_us=int(fields["duration_us"]),
            requests_count=int(fields["requests"]),
            read_bytes=int(fields["bytes"]),
            errors=LoadErrors(**{f"{kind}_count": int(count) for kind, count in fields["errors"].items()}),
            latency=_statistics(fields["latency_us"]),
            thread_rate=_statistics(fields["thread_rps"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, GeneratorError):
            raise
        raise GeneratorError(f"the line of wrk.lua in wrk's output is damaged: {error!r}") from error
    if exact.duration_us < 1:
        raise GeneratorError("wrk reports a window without duration")
    return exact


def without_line(stdout: str) -> str:
    """Return wrk's output without the line, which is most of it, so that parsing the rest is fast."""
    return "".join(line for line in stdout.splitlines(keepends=True) if not line.startswith(_MARKER))


def condense(stdout: str, expected_us: int | None, parts_count: int = PARTS) -> str:
    """Return wrk's output with its histogram of latencies by parts of the expected interval, where these are worth it."""
    line = _line(stdout)
    fields = json.loads(line)
    if expected_us is None or expected_us < 2 * parts_count or "interval_us" in fields["latency_us"]:
        return stdout
    parts: Counter[int] = Counter()
    read = parse_steps(fields["latency_us"]["histogram"])
    for value, count in zip(read.values_us, read.counts, strict=True):
        parts[_part(value, expected_us, parts_count)] += count
    fields["latency_us"] |= {"histogram": print_steps(parts.items()), "interval_us": expected_us, "parts": parts_count}
    return stdout.replace(line, json.dumps(fields, separators=(",", ":")))


def _part(value: int, interval_us: int, parts: int) -> int:
    # Rounded up: the expected interval itself, which wrk does not correct, is in one part with what lies below it.
    return -(-value * parts // interval_us)


def _line(stdout: str) -> str:
    lines = [line.removeprefix(_MARKER) for line in stdout.splitlines() if line.startswith(_MARKER)]
    if len(lines) != 1:
        raise GeneratorError(f"expected one line of wrk.lua in wrk's output, found {len(lines)}")
    return lines[0]


def _statistics(fields: dict[str, Any]) -> Statistics:
    found = Statistics(
        float(fields["mean"]),
        float(fields["stdev"]),
        int(fields["max"]),
        parse_steps(fields["histogram"]),
        fields.get("interval_us"),
        fields.get("parts", PARTS),
    )
    values = found.histogram.arrays[0]
    if found.histogram.total_count != fields["total"]:
        raise ValueError("a histogram does not add up")
    ends = [fields["min"], fields["max"]]
    if found.interval_us is not None:
        ends = [_part(end, found.interval_us, found.parts) for end in ends]
    if len(values) and values[[0, -1]].tolist() != ends:
        raise ValueError("a histogram does not span its range")
    # wrk calculates its own mean: it shows that the script found the histogram, and all of it.
    mean = histograms.mean(*found.by_us.arrays) if len(values) else found.mean
    if not math.isclose(mean, found.mean, rel_tol=1e-9, abs_tol=found.tolerance_us):
        raise ValueError("a histogram does not have its mean")
    return found
