"""Takes out of the throughputs what the machine's own speed did to them.

While a window was measured, a probe saw how fast the server's CPUs were, and how much of the time they were there
(:mod:`runners.measure.speed_probe`). Chance decides which window meets a slow moment, not the system, so both are
covariates in the sense of the analysis of covariance (Fisher, Statistical methods for research workers, 1932, chapter
VIII; in experiments on the web known as CUPED: Deng et al., WSDM 2013): a window's throughput is moved, on the
logarithmic scale, from the speed that it met to the run's mean speed, along the slopes that throughput has on them.
What is estimated stays the same, the throughput at the speed that the run had on average; what falls away is that one
system met more of the slow moments than another.

- A cell may slow its own CPU (wide vector instructions lower the clock). That belongs to the cell: where the probe was clearly slower
  beside it than beside the others of the same blocks (by medians, beyond five of their errors), that much is taken out first. A smaller
  effect cannot be told from chance, and taken for one it would shift all windows of the cell, which no interval shows.
- Slopes are estimated within cells by least squares with Huber's weights (Huber, Robust statistics, 1981), which a few odd
  windows cannot turn. Each cell has its own (a neighbour slows one server's code more than another's, and not at all what
  the server does not limit), drawn towards those of its whole workload as if six windows more had shown these.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners.machine.topology import parse_cpu_list

Floats = NDArray[np.float64]

_CELL = ["system", "workload"]
_COVARIATES = ["log_speed", "log_presence"]
# A CPU that is twice as fast cannot give more than twice the throughput; the room above 1 is for caches. Presence counts several
# times: of a pause that is shorter than the T between two wakes of the probe only what is left when it wakes is seen, of length L on
# average L² / 2T instead of L. For T = 2 ms and pauses of half a millisecond that is an eighth.
_STEEPEST = np.array([1.25, 8.0])
_LEAST_WINDOWS = 12
_BEST = 0.95
_HUBER = 1.345
_ROUNDS = 20
_POOLED_WINDOWS = 6
_CLEAR = 5.0


def seen_by_probes(record: dict[str, Any], raw: dict[str, Any]) -> dict[str, float]:
    """What the probes on the server's CPUs saw in a window, as :func:`with_speed` wants it; NaN where one is missing."""
    seen = [raw.get("speed", {}).get(str(cpu)) for cpu in parse_cpu_list(record["cpus"]["server"])]
    return {
        f"probe_{name}": fmean(probe[name] for probe in seen) if all(seen) else np.nan
        for name in ("mean_hz", "p90_hz", "wakes_hz")
    }


def with_speed(windows: pd.DataFrame) -> pd.DataFrame:
    """Windows with their speed, and the throughput adjusted to the mean speed of all of them.

    Parameters
    ----------
    windows : block, system, workload, throughput_rps, probe_mean_hz, probe_p90_hz, probe_wakes_hz (NaN where no probe ran)

    Returns
    -------
    pandas.DataFrame
        The same rows with ``speed_ratio`` and ``presence_ratio`` (1: undisturbed; NaN without a probe) and ``adjusted_rps``
        (the throughput itself where nothing is known of the speed, or there are too few windows to learn from).
    """
    if windows.empty:
        return windows.assign(speed_ratio=np.nan, presence_ratio=np.nan, adjusted_rps=windows["throughput_rps"])
    own_speed, own_presence = (_own(windows, name) for name in ("probe_p90_hz", "probe_wakes_hz"))
    found = windows.assign(
        speed_ratio=_share(windows["probe_mean_hz"] / own_speed, windows["probe_p90_hz"] / own_speed),
        presence_ratio=_share(windows["probe_wakes_hz"] / own_presence, windows["probe_wakes_hz"] / own_presence),
    )
    found["log_speed"], found["log_presence"] = np.log(found["speed_ratio"]), np.log(found["presence_ratio"])
    found["log_rate"] = np.log(found["throughput_rps"].where(found["throughput_rps"] > 0))
    # Every cell counts alike in the mean, however many windows it has.
    met = found[_COVARIATES] - found.groupby(_CELL)[_COVARIATES].mean().mean()
    moved = pd.Series(0.0, index=found.index)
    for _, rows in found.groupby("workload"):
        for index, slopes in _slopes(rows):
            moved[index] = met.loc[index].to_numpy(float) @ slopes
    found["adjusted_rps"] = found["throughput_rps"] * np.exp(-moved.fillna(0.0))
    return found.drop(columns=[*_COVARIATES, "log_rate"])


def _own(windows: pd.DataFrame, column: str) -> pd.Series:
    """By which factor each window's cell itself changes what the probe sees beside it."""
    logs, cell = np.log(windows[column]), [windows[name] for name in _CELL]
    beside = logs - logs.groupby(windows["block"]).transform("median")
    effects, counts = (beside.groupby(cell).transform(how) for how in ("median", "count"))
    errors = 1.2533 * (beside - effects).std() / np.sqrt(counts)  # of medians, where scatter is normal
    return np.exp(effects.where(effects.abs() > _CLEAR * errors, 0.0))


def _share(values: pd.Series, best: pd.Series) -> pd.Series:
    """Values as shares of the best that the probe saw, but for a few windows that may be lucky."""
    return values / best.quantile(_BEST)


def _slopes(rows: pd.DataFrame) -> Iterator[tuple[pd.Index[int], Floats]]:
    """The rows of each cell of one workload, and how the logarithm of throughput goes with those of speed and presence."""
    columns = [*_COVARIATES, "log_rate"]
    known = rows.dropna(subset=columns)
    if len(known) < _LEAST_WINDOWS:
        return
    within = known[columns] - known.groupby(_CELL)[columns].transform("mean")
    pooled, information = _fitted(within)
    prior = information * _POOLED_WINDOWS / len(known)
    for _, cell in within.groupby([known[name] for name in _CELL]):
        own, information = _fitted(cell)
        # The minimum of both sums of squares: the cell's own, and that of the windows which stand for the workload.
        slopes = np.linalg.lstsq(information + prior, information @ own + prior @ pooled, rcond=None)[0]
        yield cell.index, np.clip(slopes, 0.0, _STEEPEST)


def _fitted(within: pd.DataFrame) -> tuple[Floats, Floats]:
    """Slopes by iteratively reweighted least squares, and the weighted sums of squares and products of the covariates."""
    values = within.to_numpy(float)
    x, y = values[:, :-1], values[:, -1]
    weights = np.ones(len(y))
    slopes = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)
        slopes = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
        residuals = np.abs(y - x @ slopes)
        scale = np.median(residuals) / 0.6745
        if scale == 0:
            break
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(residuals, 1e-12))
    return slopes, (x * weights[:, None]).T @ x
