"""How throughput goes with the speed of the CPU, and how exactly that is known: slopes and weights, learned from the windows of a workload.

- Slopes are estimated within cells by least squares with Huber's weights (Huber, Robust statistics, 1981), which a few odd
  windows cannot turn. Each cell has its own (a neighbour slows one server's code more than another's, and not at all what
  the server does not limit), drawn towards those of its whole workload as if six windows more had shown these.
- A window is adjusted by what the windows of other blocks show (in ten parts, each by the other nine; with fewer blocks, each by all
  others). Along slopes that were fitted to a window itself it would come too near to its cell's mean, and the fewer windows there are,
  the more would intervals promise; so, what is not known of the slopes is a part of the scatter (Wager et al., High-dimensional
  regression adjustments in randomized experiments, PNAS 113, 2016).
- The slower the CPU was, the less exactly its speed tells what it cost: undisturbed windows scatter by one or two per cent, those
  at half the speed by six. So windows weigh by how slow their CPU was, as the inverse of the variance that windows of their workload
  have at that speed. It is learned from how far they lie from their cell's mean (Glejser, A new test for heteroskedasticity, Journal
  of the American Statistical Association 64, 1969); how far a window itself lies off does not change its weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

Floats = NDArray[np.float64]

COVARIATES = ["log_speed", "log_peak", "log_presence", "log_own_turns"]
FITTED = [*COVARIATES, "log_rate"]
# A CPU that is twice as fast cannot give more than twice the throughput; the room above 1 is for caches. Presence counts several
# times: of a pause that is shorter than the T between two wakes of the probe only what is left when it wakes is seen, of length L on
# average L² / 2T instead of L. For T = 2 ms and pauses of half a millisecond that is an eighth.
_STEEPEST = np.array([1.25, 1.25, 8.0, 1.25])
_LEAST_FREEDOM = 5
# With fewer launches the weights cost more degrees of freedom than they save scatter.
_LEAST_WEIGHED_BLOCKS = 10
# However little windows seem to scatter at full speed: what is left beside the speed is there at any.
_LEAST_SCATTER = 0.25
_HUBER = 1.345
_ROUNDS = 20
_SETTLED = 1e-4
# What rounding leaves where a fit has as many slopes as windows; nobody is odd then.
_NO_SCATTER = 1e-9
_POOLED_WINDOWS = 6
_PARTS = 10


@dataclass(frozen=True)
class _Windows:
    """Windows of one workload whose speed is known: covariates (windows × 4), logarithms of throughput, weights, cells."""

    covariates: Floats
    log_rate: Floats
    weights: Floats
    cell: NDArray[np.int64]

    @classmethod
    def of(cls, known: pd.DataFrame) -> _Windows:
        values = known[FITTED].to_numpy(float)
        return cls(values[:, :-1], values[:, -1], known["weight_ratio"].to_numpy(float), known["cell"].to_numpy())

    def only(self, chosen: NDArray[np.bool_]) -> _Windows:
        return _Windows(self.covariates[chosen], self.log_rate[chosen], self.weights[chosen], self.cell[chosen])

    @property
    def within_cells(self) -> _Windows:
        """Less the weighted means in the cell."""
        _, cell = np.unique(self.cell, return_inverse=True)
        total = np.bincount(cell, self.weights)
        means = [np.bincount(cell, self.weights * values) / total for values in (*self.covariates.T, self.log_rate)]
        away = np.transpose([mean[cell] for mean in means])
        return replace(self, covariates=self.covariates - away[:, :-1], log_rate=self.log_rate - away[:, -1])


def slopes_elsewhere(rows: pd.DataFrame) -> pd.DataFrame:
    """How the logarithm of throughput goes with the covariates, for each window of one workload, as other blocks show it."""
    known = rows.dropna(subset=FITTED)
    windows = _Windows.of(known)
    part = pd.factorize(known["block"], sort=True)[0] % _PARTS
    slopes = np.zeros((len(known), len(COVARIATES)))
    for number in np.unique(part):
        here = part == number
        found = _slopes(windows.only(~here), np.unique(windows.cell[here]))
        slopes[here] = [found[cell] for cell in windows.cell[here]]
    return pd.DataFrame(slopes, known.index, COVARIATES).reindex(rows.index, fill_value=0.0)


def _slopes(windows: _Windows, cells: Iterable[int]) -> dict[int, Floats]:
    """How it goes in windows of one workload, for each of the cells; 0 where there are too few windows to learn from."""
    if len(windows.cell) - len(np.unique(windows.cell)) < _LEAST_FREEDOM:
        return dict.fromkeys(cells, np.zeros(len(COVARIATES)))
    within = windows.within_cells
    pooled, information = _fitted(within)
    prior = information * _POOLED_WINDOWS / len(windows.cell)
    found = {}
    for cell in cells:
        own, information = _fitted(within.only(within.cell == cell))
        # The minimum of both sums of squares: the cell's own, and that of the windows which stand for the workload.
        found[cell] = _bounded(information + prior, information @ own + prior @ pooled)
    return found


def _bounded(information: Floats, products: Floats) -> Floats:
    """The slopes within their bounds that solve the normal equations as nearly as these allow."""
    slopes = np.zeros(len(products))
    told = np.diag(information) > 0  # of a covariate that is the same in all windows nothing can be learned
    if not told.any():
        return slopes
    values, vectors = np.linalg.eigh(information[np.ix_(told, told)])
    kept = values > 1e-12 * values.max()
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    slopes[told] = lsq_linear(
        roots[:, None] * vectors.T, vectors.T @ products[told] / roots, bounds=(0.0, _STEEPEST[told])
    ).x
    return slopes


def weights_by_speed(rows: pd.DataFrame) -> pd.Series:
    """The weight of each window of one workload, by its speed; 1 where there are too few blocks to learn from."""
    alike, known = pd.Series(1.0, rows.index), rows.dropna(subset=FITTED)
    if known["block"].nunique() < _LEAST_WEIGHED_BLOCKS:
        return alike
    windows = _Windows.of(known)
    slopes, within = _slopes(windows, np.unique(windows.cell)), windows.within_cells
    off = np.abs(
        within.log_rate - [slopes[cell] @ met for cell, met in zip(within.cell, within.covariates, strict=True)]
    )
    slow = np.clip(1 - known["speed_ratio"].to_numpy(float), 0.0, None)
    base, growth = np.linalg.lstsq(np.column_stack([np.ones(len(slow)), slow]), off, rcond=None)[0]
    base, growth = max(base, _LEAST_SCATTER * off.mean()), max(growth, 0.0)
    if base == 0:
        return alike
    weights = (1 + growth / base * (1 - rows["speed_ratio"]).clip(lower=0.0)) ** -2
    # Whose speed is not known may have been the slowest, and is not adjusted either.
    return weights.fillna(weights.min())


def _fitted(within: _Windows) -> tuple[Floats, Floats]:
    """Slopes by iteratively reweighted least squares, and the weighted sums of squares and products of the covariates."""
    root = np.sqrt(within.weights)
    x, y = within.covariates * root[:, None], within.log_rate * root
    weights: Floats = np.ones(len(y))
    slopes: Floats = np.zeros(x.shape[1])
    for _ in range(_ROUNDS if len(y) else 0):
        root = np.sqrt(weights)
        slopes[:] = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
        residuals = np.abs(y - x @ slopes)
        scale = np.median(residuals) / 0.6745
        if scale < _NO_SCATTER:
            break
        before, weights = weights, np.minimum(1.0, _HUBER * scale / np.maximum(residuals, 1e-12))
        if np.abs(weights - before).max() < _SETTLED:
            break
    return slopes, (x * weights[:, None]).T @ x
