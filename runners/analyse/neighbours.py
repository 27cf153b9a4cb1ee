"""What neighbours on the measured CPU's core took of single windows, seen in the two modes of the speed probe's bursts.

A neighbour on the core's other hardware thread slows each burst that it meets by a quarter to a third, and no other: the rates
of a run's bursts lie in two heaps with a valley between them. Where that is so, the share of a window's bursts that lie below
the valley says how much of its own turns was shared. The windows of a round have most moments in common, but not those of a few
milliseconds, and that is what then differs between them.

The share says so in a way that the probe's mean does not: a system that slows the probe itself by some percent (caches that it
empties, a clock that it lowers) shifts the heaps, and moves next to no burst across the valley. Whether that holds is tested in
each run: over all rounds chance must explain what share each system met (an F-test of two-way layouts, Fisher, The design of
experiments, 1935, chapter IV). Else nothing is known of single windows here, and the round must do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

# A valley that is deeper than this is one: relative to the lower of the heaps beside it.
_DEEP = 0.5
# Of all bursts, at least so many in each heap: rare ones (an interrupt within a burst) are no neighbour, and tell next to nothing.
_LEAST_SHARE = 0.01
_BY_CHANCE = 0.01
_ROUND = ["block", "round", "workload"]
_CELL = ["system", "workload"]


def pooled(histograms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several probes' histograms of rates as one; see ``SpeedProbes.within`` in :mod:`runners.measure.speed_probe`.

    Raises
    ------
    ValueError
        When their bins are not the same.
    """
    step_ratio, first, counts = _side_by_side(histograms)
    return {"step_ratio": step_ratio, "first": first, "counts": counts.sum(axis=0).tolist()}


def left_by_neighbours(windows: pd.DataFrame) -> pd.Series:
    """The speed that neighbours left to each window in turns, relative to what they left to its round.

    Parameters
    ----------
    windows : block, round (None for a window in one piece), workload, system and probe_bursts (a histogram as :func:`pooled`
        gives it, or None)

    Returns
    -------
    pandas.Series
        The geometric mean over a round is 1. 1 as well where nothing is known: in one piece, without a histogram, where the bursts do
        not lie in two heaps, or where some system's windows met more slow bursts than chance explains.
    """
    alike = pd.Series(1.0, windows.index)
    known = windows[windows["round"].notna() & windows["probe_bursts"].notna()]
    if known.empty:
        return alike
    step_ratio, _, counts = _side_by_side(known["probe_bursts"].tolist())
    total = counts.sum(axis=0)
    if (valley := valley_of(total)) is None:
        return alike
    slowed = step_ratio ** (_middle(total[:valley]) - valley - _middle(total[valley:]))
    shares = counts[:, :valley].sum(axis=1) / counts.sum(axis=1)
    left = pd.Series(np.log(1 - shares * (1 - slowed)), known.index)
    off = left - left.groupby([known[name] for name in _ROUND]).transform("mean")
    if _by_chance(known, off) < _BY_CHANCE:
        return alike
    return alike.mul(np.exp(off), fill_value=1.0)


def valley_of(counts: NDArray[np.int64]) -> int | None:
    """Where the valley between two heaps of a histogram begins; None where it has no two.

    The deepest place below the lower of its two sides' summits, after smoothing over three bins.
    """
    smooth = np.convolve(counts, [0.25, 0.5, 0.25], "same")
    summit = np.minimum(np.maximum.accumulate(smooth), np.maximum.accumulate(smooth[::-1])[::-1])
    valley = int(np.argmax(summit - smooth))
    if not smooth[valley] < _DEEP * summit[valley]:
        return None
    share = counts[:valley].sum() / counts.sum()
    return valley if _LEAST_SHARE <= share <= 1 - _LEAST_SHARE else None


def _side_by_side(histograms: Sequence[Mapping[str, Any]]) -> tuple[float, int, NDArray[np.int64]]:
    """The ratio of their bins, the number of the first bin that any of them has, and counts: histograms × bins."""
    [step_ratio] = {float(histogram["step_ratio"]) for histogram in histograms}
    first = min(int(histogram["first"]) for histogram in histograms)
    last = max(int(histogram["first"]) + len(histogram["counts"]) for histogram in histograms)
    counts = np.zeros((len(histograms), last - first), dtype=np.int64)
    for row, histogram in zip(counts, histograms, strict=True):
        start = int(histogram["first"]) - first
        row[start : start + len(histogram["counts"])] = histogram["counts"]
    return step_ratio, first, counts


def _middle(counts: NDArray[np.int64]) -> int:
    """The bin of the median."""
    return int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


def _by_chance(known: pd.DataFrame, off: pd.Series) -> float:
    """How probable it is that cells differ so much over their rounds, or more, if only chance makes the difference."""
    cells = off.groupby([known[name] for name in _CELL])
    between = float((cells.size() * cells.mean() ** 2).sum())
    within = float((off**2).sum()) - between
    cells_freedom = cells.ngroups - known["workload"].nunique()
    freedom = len(off) - known.groupby(_ROUND).ngroups - cells_freedom
    if cells_freedom < 1 or freedom < 1 or within <= 0:
        return 0.0  # nothing to tell it by
    return float(stats.f.sf(between / cells_freedom / (within / freedom), cells_freedom, freedom))
