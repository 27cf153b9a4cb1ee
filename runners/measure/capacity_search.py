"""The search of one launch for the largest rate that meets each objective, one window at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from runners.core.load import LATE_S, LEAST_OFFERED, MOST_LATE_SHARE, LoadResult
from runners.core.parameter_values import Objective
from runners.stats import histograms
from runners.stats.verdicts import AGREEING_WINDOWS, bracket, next_rate

# The rate has this many significant digits.
_DIGITS = 3
_MOST_WINDOWS = 36
# The load generator missed its schedule at so many rates: a lower one would show nothing more.
_MOST_UNPACED = 4
_LATE_TRIES = 2


@dataclass
class CapacitySearch:
    """The windows of a search: each at the rate that :meth:`next_rate_rps` returns, with its outcome from :meth:`add`.

    Attributes
    ----------
    first_rps : float
        The first rate: a little less than what a closed loop reached.
    most_rps : float
        No rate is above it: what the load generator can pace.
    windows : list[tuple[float, LoadResult]]
        Rate and report of each window.
    """

    objectives: Sequence[Objective]
    first_rps: float
    most_rps: float
    windows: list[tuple[float, LoadResult]] = field(default_factory=list)

    def add(self, rate_rps: float, result: LoadResult) -> None:
        """Take the report of a window at a rate."""
        self.windows.append((rate_rps, result))

    def next_rate_rps(self) -> float | None:
        """Return the rate of the next window; None when the largest rate under every objective is known."""
        if len(self.windows) >= _MOST_WINDOWS:
            return None
        late = [rate for rate, result in self.windows if not on_schedule(result)]
        # What the generator could not pace twice is not tried again, and nothing above it.
        unpaced = {rate for rate in late if late.count(rate) >= _LATE_TRIES}
        if len(unpaced) >= _MOST_UNPACED:
            return None
        for goal in self.objectives:
            rate = self._next_of(goal, unpaced)
            if rate is not None:
                return rate
        return None

    def _next_of(self, goal: Objective, unpaced: set[float]) -> float | None:
        windows = [(rate, met(result, goal)) for rate, result in self.windows if on_schedule(result)]
        found = bracket(windows)
        lowest = min(unpaced, default=math.inf)
        rate = next_rate(found, self.first_rps, self.most_rps, lowest)
        rounded = None if rate is None else float(f"{rate:.{_DIGITS - 1}e}")
        if rounded not in (None, found.met_rps, found.missed_rps, lowest):
            return rounded
        # Only the two rates of the outcome need windows that agree. A hiccup may still last: the rate that was tried longer ago
        # comes first.
        agreed = {rate for (rate, _), count in Counter(windows).items() if count >= AGREEING_WINDOWS}
        again = {found.met_rps, found.missed_rps} - agreed - unpaced
        last_place = {rate: place for place, (rate, _) in enumerate(windows) if rate in again}
        return min(last_place, key=lambda rate: last_place[rate], default=None)


def on_schedule(result: LoadResult) -> bool:
    """Return whether the load generator sent as scheduled: at most 1 % of its sends more than 1 ms late."""
    late = result.lateness
    if late is None or not late.total_count:
        return False
    beyond = sum(count for value, count in zip(late.values_us, late.counts, strict=True) if value > LATE_S * 1e6)
    return beyond / late.total_count <= MOST_LATE_SHARE


def met(result: LoadResult, goal: Objective) -> bool:
    """Return whether a window carried its rate and kept an objective."""
    times = result.response_time
    if times is None or not times.total_count or not result.achieved_fraction >= LEAST_OFFERED:
        return False
    return goal.met(float(histograms.percentiles(times.values_us, times.counts, (goal.percentile,))[0]) * 1e-6)
