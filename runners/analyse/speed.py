"""Takes out of the throughputs what the machine's own speed did to them.

While a window was measured, a probe saw how fast the server's CPUs were (:mod:`runners.measure.speed_probe`). Chance
decides which window meets a slow moment, not the system, so the probe is a covariate in the sense of the analysis of
covariance (Fisher, Statistical methods for research workers, 1932, chapter VIII; in experiments on the web known as
CUPED: Deng et al., WSDM 2013): a window's logarithm is moved along the slope that throughput has on speed, from the speed
that it met to the run's mean speed. What is estimated stays the same, the throughput at the speed that the run had on
average; what falls away is that one system met more of the slow moments than another.

- A cell may slow its own CPU (wide vector instructions lower the clock). That belongs to the cell, so speed counts
  relative to the cell's own undisturbed rate: the highest that the probe saw beside it.
- The slope is one per workload (throughput hardly depends on the speed where the server is not the limit), estimated within
  cells by the Theil-Sen estimator (Sen, JASA 63, 1968), which a few odd windows cannot turn.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

_CELL = ["system", "workload"]
# Twice as fast a CPU cannot give more than twice the throughput, and never less; the room above 1 is for caches.
_SLOPES = (0.0, 1.25)
_LEAST_WINDOWS = 6
_MOST_PAIRED = 400


def with_speed(windows: pd.DataFrame) -> pd.DataFrame:
    """Windows with their speed, and the throughput adjusted to the mean speed of all of them.

    Parameters
    ----------
    windows : system, workload, throughput_rps, probe_mean_hz, probe_p90_hz (NaN where no probe ran)

    Returns
    -------
    pandas.DataFrame
        The same rows with ``speed_ratio`` (1: undisturbed; NaN without a probe), ``slope_ratio`` (of the logarithms of
        throughput and speed; 0 where none could be estimated) and ``adjusted_rps`` (the throughput itself where nothing
        is known of the speed).
    """
    if windows.empty:
        return windows.assign(speed_ratio=np.nan, slope_ratio=0.0, adjusted_rps=windows["throughput_rps"])
    best = windows.groupby(_CELL)["probe_p90_hz"].transform(lambda rates: rates.quantile(0.95))
    speed = windows["probe_mean_hz"] / best
    found = windows.assign(speed_ratio=speed, log_speed=np.log(speed), log_rate=_logarithm(windows["throughput_rps"]))
    slopes = {str(workload): _slope(group) for workload, group in found.groupby("workload")}
    found["slope_ratio"] = found["workload"].map(slopes).astype(float)
    # Every cell counts alike in the mean, however many windows it has.
    mean = found.groupby(_CELL)["log_speed"].mean().mean()
    moved = found["slope_ratio"] * (found["log_speed"] - mean)
    found["adjusted_rps"] = found["throughput_rps"] * np.exp(-moved.fillna(0.0))
    return found.drop(columns=["log_speed", "log_rate"])


def _slope(rows: pd.DataFrame) -> float:
    """How the logarithm of throughput goes with that of speed, within the cells of one workload."""
    known = rows.dropna(subset=["log_speed", "log_rate"])
    cells = known.groupby(_CELL)
    x = (known["log_speed"] - cells["log_speed"].transform("median")).to_numpy(float)
    y = (known["log_rate"] - cells["log_rate"].transform("median")).to_numpy(float)
    if len(x) < _LEAST_WINDOWS or not np.ptp(x):
        return 0.0
    x, y = _thinned(x), _thinned(y)
    return float(np.clip(stats.theilslopes(y, x).slope, *_SLOPES))


def _thinned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """At most so many values, evenly chosen: the estimator looks at every pair."""
    chosen: NDArray[np.float64] = values[np.linspace(0, len(values) - 1, min(len(values), _MOST_PAIRED)).astype(int)]
    return chosen


def _logarithm(values: pd.Series) -> pd.Series:
    return np.log(values.where(values > 0))
