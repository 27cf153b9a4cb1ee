"""The launches of a cell as arrays: windows with their weights, the mean over launches, and what drawing them anew gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Launch(NamedTuple):
    """The windows of one launch, and the weight of each: above 0, relative to those of all other launches."""

    values: Sequence[float]
    weights: Sequence[float]


Launches = Sequence[Launch] | Sequence[Sequence[float]] | Sequence[float] | NDArray[np.floating[Any]]
Replicates = Callable[[NDArray[np.intp], np.random.Generator], Floats]


@dataclass(frozen=True)
class Cell:
    """Values launches × windows, present ones first in each row, their weights (0: missing), and how many are present."""

    values: Floats
    weights: Floats
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, launches: Launches, transform: Callable[[Floats], Floats]) -> Cell:
        """The launches, their values transformed; those without any keep their row."""
        rows = [present(launch, transform) for launch in launches]
        counts = np.array([len(values) for values, _ in rows], dtype=np.intp)
        shape = (len(rows), max(counts, default=0))
        cell = cls(np.zeros(shape), np.zeros(shape), counts)
        for index, (values, weights) in enumerate(rows):
            cell.values[index, : len(values)], cell.weights[index, : len(values)] = values, weights
        return cell

    def with_rows(self, chosen: NDArray[np.bool_] | slice) -> Cell:
        """The chosen launches that have windows at all."""
        values, weights, counts = self.values[chosen], self.weights[chosen], self.counts[chosen]
        return Cell(values[counts > 0], weights[counts > 0], counts[counts > 0])

    @property
    def means(self) -> Floats:
        """Of the windows of each launch."""
        return np.asarray((self.values * self.weights).sum(axis=1) / self.weights.sum(axis=1))

    @property
    def launch_weights(self) -> Floats:
        """What the windows of each launch weigh on average: with equal weights each launch counts once."""
        return np.asarray(self.weights.sum(axis=1) / self.counts)

    @property
    def mean(self) -> Mean:
        """Over launches."""
        return Mean(self.means, self.launch_weights)

    def resampled(self, picks: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Mean of windows drawn anew within each picked launch, in the shape of ``picks``."""
        width = self.values.shape[1]
        counts = self.counts[picks]
        total, weight = np.zeros(picks.shape), np.zeros(picks.shape)
        for window in range(width):
            drawn = picks * width + (rng.random(picks.shape, dtype=np.float32) * counts).astype(np.intp)
            weights = np.where(window < counts, self.weights.take(drawn), 0.0)
            total += weights * self.values.take(drawn)
            weight += weights
        return np.asarray(total / weight)


@dataclass(frozen=True)
class Mean:
    """Launches' values and weights, and what follows from them; NaN without any, or without a second one."""

    means: Floats
    weights: Floats

    @property
    def shares(self) -> Floats:
        """Weights that add up to 1."""
        return np.asarray(self.weights / self.weights.sum())

    @property
    def value(self) -> float:
        """The weighted mean."""
        return float(self.shares @ self.means) if len(self.means) else math.nan

    @property
    def standard_error(self) -> float:
        """Of the value: HC2, see :mod:`runners.analyse.estimates`."""
        if len(self.means) < 2:
            return math.nan
        return math.sqrt(((self.shares * (self.means - self.value)) ** 2 / (1 - self.shares)).sum())

    @property
    def freedom(self) -> float:
        """Degrees of freedom: launches of equal weight that would be as exact, less one; at least one."""
        return max(1.0, 1 / float((self.shares**2).sum()) - 1) if len(self.means) else math.nan

    def resampled(self, replicates: Replicates, rng: np.random.Generator, resamples: int) -> Floats:
        """The value, from launches drawn anew: an array of `resamples`."""
        n = len(self.means)
        picks = rng.integers(0, n, (resamples, n))
        weights = self.weights[picks]
        return np.asarray((replicates(picks, rng) * weights).sum(axis=1) / weights.sum(axis=1))


def present(launch: Launch | Sequence[float] | float, transform: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """The values of a launch that are there, transformed, and their weights."""
    values = np.atleast_1d(np.asarray(launch.values if isinstance(launch, Launch) else launch, dtype=np.float64))
    weights = np.asarray(launch.weights, dtype=np.float64) if isinstance(launch, Launch) else np.ones(len(values))
    there = ~np.isnan(values)
    return transform(values[there]), weights[there]


def finite(values: Floats) -> Floats:
    """The values themselves; ValueError where one is infinite."""
    if np.isinf(values).any():
        raise ValueError("a measurement is infinite")
    return values


def logarithms(values: Floats) -> Floats:
    """Natural logarithms; ValueError where a value has none."""
    if (values <= 0).any():
        raise ValueError("a measurement is not positive: it has no geometric mean, and its trial should be void")
    return np.log(finite(values))
