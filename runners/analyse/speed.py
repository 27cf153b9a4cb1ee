"""Takes out of the throughputs what the machine's own speed did to them.

While a window was measured, a probe saw how fast the server's CPUs were, how fast at their best moments (a tenth of them),
and how much of the time they were there (:mod:`runners.measure.speed_probe`). The best moments tell what the mean does not:
whether a neighbour ever let go; what the server's own work does to the probe is least in them. Chance decides which window
meets a slow moment, not the system, so all three are covariates in the sense of the analysis of covariance (Fisher,
Statistical methods for research workers, 1932, chapter VIII; in experiments on the web known as CUPED: Deng et al., WSDM
2013): a window's throughput is moved, on the logarithmic scale, from the speed that it met to the run's mean speed, along
the slopes that throughput has on them. What is estimated is the throughput at that speed; what falls away is that one
system met more of the slow moments than another.

- Windows that were measured in turns (:mod:`runners.measure.turns`) met the same moments: these covariates are the means over all
  windows of their round. What the probe saw beside one of them alone also says what that system does to the probe: beside two of
  Go's it was seen to be 10 % slower than beside the others at the very same time. What neighbours took of a window's own turns is a
  fourth covariate, where it can be told from that (:mod:`runners.analyse.neighbours`).
- Of windows in one piece, a cell may slow its own CPU (wide vector instructions lower the clock). That belongs to the cell: where the
  probe was clearly slower beside it than beside the others of the same blocks (by medians, beyond five of their errors), that much is
  taken out first. A smaller effect cannot be told from chance, and taken for one it would shift all windows of the cell, which no
  interval shows.
- Slopes and weights are learned from the windows of the run (:mod:`runners.analyse.slopes`): a window is adjusted by what those of
  other blocks show, and weighs the less the slower its CPU was. The run's mean speed is the mean over windows with these weights.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from runners.analyse.launches import Launch
from runners.analyse.neighbours import left_by_neighbours, pooled
from runners.analyse.slopes import COVARIATES, slopes_elsewhere, weights_by_speed
from runners.machine.topology import parse_cpu_list

FOUND = ["speed_ratio", "peak_ratio", "presence_ratio", "own_turns_ratio", "adjusted_rps", "weight_ratio"]
"""Columns that :func:`with_speed` adds."""

_CELL = ["system", "workload"]
_PROBED = ["probe_mean_hz", "probe_p90_hz", "probe_wakes_hz"]
_SEEN = ["speed_ratio", "peak_ratio", "presence_ratio", "own_turns_ratio"]
_BEST = 0.95
_CLEAR = 5.0
_POLISHED = 3


def seen_by_probes(record: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """What the probes on the server's CPUs saw in a window, as :func:`with_speed` wants it; NaN where one is missing."""
    seen = [raw.get("speed", {}).get(str(cpu)) for cpu in parse_cpu_list(record["cpus"]["server"])]
    means = {
        name: fmean(probe[name.removeprefix("probe_")] for probe in seen) if all(seen) else np.nan for name in _PROBED
    }
    bursts = [probe["bursts"] for probe in seen if probe and "bursts" in probe]
    return {
        **means,
        "probe_bursts": pooled(bursts) if bursts and len(bursts) == len(seen) else None,
        "round": (raw.get("turns") or {}).get("round"),
    }


def with_speed(windows: pd.DataFrame) -> pd.DataFrame:
    """Windows with their speed, and the throughput adjusted to the mean speed of all of them.

    Parameters
    ----------
    windows : block, system, workload, throughput_rps, probe_mean_hz, probe_p90_hz, probe_wakes_hz (NaN where no probe ran), probe_bursts
        (the histogram of the probe's rates, or None), and round (None for a window in one piece)

    Returns
    -------
    pandas.DataFrame
        The same rows with ``speed_ratio``, ``peak_ratio`` (its best moments) and ``presence_ratio`` (1: undisturbed; NaN
        without a probe), ``own_turns_ratio`` (1: neighbours took as much of it as of its whole round), ``adjusted_rps``
        (the throughput itself where nothing is known of the speed, or there are too few windows to learn from) and
        ``weight_ratio`` (1: the most that a window of its workload can weigh, and where nothing is known).
    """
    if windows.empty:
        nothing = dict.fromkeys(_SEEN, np.nan)
        return windows.assign(**nothing, adjusted_rps=windows["throughput_rps"], weight_ratio=1.0)
    windows = _shared(windows)
    own_speed, own_presence = (_own(windows, name) for name in ("probe_p90_hz", "probe_wakes_hz"))
    found = windows.assign(
        speed_ratio=_share(windows["probe_mean_hz"] / own_speed, windows["probe_p90_hz"] / own_speed),
        peak_ratio=_share(windows["probe_p90_hz"] / own_speed, windows["probe_p90_hz"] / own_speed),
        presence_ratio=_share(windows["probe_wakes_hz"] / own_presence, windows["probe_wakes_hz"] / own_presence),
        own_turns_ratio=left_by_neighbours(windows),
    )
    found[COVARIATES] = np.log(found[_SEEN])
    found["log_rate"] = np.log(found["throughput_rps"].where(found["throughput_rps"] > 0))
    found["weight_ratio"] = 1.0
    found["cell"] = found.groupby(_CELL).ngroup()
    slopes = pd.DataFrame(0.0, found.index, COVARIATES)
    for _, rows in found.groupby("workload"):
        found.loc[rows.index, "weight_ratio"] = weights_by_speed(rows)
        slopes.loc[rows.index] = slopes_elsewhere(found.loc[rows.index])
    moved = ((found[COVARIATES] - mean_speed(found)) * slopes).sum(axis=1, skipna=False)
    found["adjusted_rps"] = found["throughput_rps"] * np.exp(-moved.fillna(0.0))
    return found.drop(columns=[*COVARIATES, "log_rate", "cell"])


def launches(windows: pd.DataFrame) -> dict[int, Launch]:
    """Block → the adjusted throughputs of its windows, of one cell, in requests per second, with their weights."""
    return {
        int(block): Launch(group["adjusted_rps"].tolist(), group["weight_ratio"].tolist())
        for block, group in windows.groupby("block")
    }


def mean_speed(windows: pd.DataFrame) -> pd.Series:
    """Logarithms of speed, best moments, presence and own turns that throughputs are adjusted to; every cell counts alike in them.

    Parameters
    ----------
    windows : system, workload, speed_ratio, peak_ratio, presence_ratio, own_turns_ratio, weight_ratio
    """
    logs = np.log(windows[_SEEN].set_axis(COVARIATES, axis=1))
    weights, cell = windows["weight_ratio"].where(logs.notna().all(axis=1)), [windows[name] for name in _CELL]
    sums = logs.mul(weights, axis=0).groupby(cell).sum(min_count=1)
    return sums.div(weights.groupby(cell).sum(min_count=1), axis=0).mean()


def _shared(windows: pd.DataFrame) -> pd.DataFrame:
    """The windows, with what the probes saw of all those of a round for each that was measured in turns."""
    together = windows["round"].notna()
    means = windows[together].groupby(["block", "round"])[_PROBED].transform("mean")
    return windows.assign(**{name: windows[name].where(~together, means[name]) for name in _PROBED})


def _own(windows: pd.DataFrame, column: str) -> pd.Series:
    """By which factor each window's cell itself changes what the probe sees beside it."""
    logs, cell = np.log(windows[column]), [windows[name] for name in _CELL]
    own = pd.Series(0.0, index=windows.index)
    # What a cell does to its own windows is a part of its blocks' medians, until it is known (Tukey's median polish).
    for _ in range(_POLISHED):
        beside = logs - (logs - own).groupby(windows["block"]).transform("median")
        effects, counts = (beside.groupby(cell).transform(how) for how in ("median", "count"))
        errors = 1.2533 * (beside - effects).std() / np.sqrt(counts)  # of medians, where scatter is normal
        own = effects.where(effects.abs() > _CLEAR * errors, 0.0)
    return np.exp(own)


def _share(values: pd.Series, best: pd.Series) -> pd.Series:
    """Values as shares of the best that the probe saw, but for a few windows that may be lucky."""
    return values / best.quantile(_BEST)
