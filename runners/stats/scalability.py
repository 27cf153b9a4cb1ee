"""The Universal Scalability Law: how throughput grows with the number of CPUs, and what keeps it from growing.

X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), of Gunther, "A General Theory of Computational Scalability Based on Rational
Functions" (arXiv:0808.1431, 2008), with X(N) = λ·C(N). λ is the throughput of one CPU. The contention σ is the
share of the work that is serial, and the coherency κ the cost of keeping any two CPUs consistent. κ = 0 is Amdahl's law (1967).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from runners.core.records import Interval
from runners.stats.estimates import CONFIDENCE, Floats

LEAST_COUNTS = 4
"""A law of three parameters needs so many numbers of CPUs, or nothing is left that could contradict it."""
LEAST_BLOCKS = 5
"""Fewer blocks have too few distinct resamples for an interval."""
_RESAMPLES = 400


def cpu_counts(most: int) -> list[int]:
    """Return the numbers of CPUs that show growth: 1, 2, 4 … and the largest number itself."""
    return sorted({*(2**power for power in range(most.bit_length()) if 2**power <= most), most})


@dataclass(frozen=True)
class Scalability:
    """The law of one system, with 95 % intervals over blocks.

    Attributes
    ----------
    rate_rps : Interval
        λ, the throughput of one CPU.
    contention : Interval
        σ.
    coherency : Interval
        κ.
    misfit_ratio : float
        The largest relative distance of a mean throughput from the law.
    peak : float
        Number of CPUs at which throughput would be highest; infinite where κ is 0.
    """

    rate_rps: Interval
    contention: Interval
    coherency: Interval
    misfit_ratio: float
    peak: float

    def throughput_rps(self, counts: ArrayLike) -> Floats:
        """Return the throughput on some numbers of CPUs by the law."""
        return law(counts, self.rate_rps.value, self.contention.value, self.coherency.value)


def law(counts: ArrayLike, rate: float, contention: float, coherency: float) -> Floats:
    """Return the throughput by the Universal Scalability Law."""
    n = np.asarray(counts, dtype=np.float64)
    return np.asarray(rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)))


def peak_of(contention: float, coherency: float) -> float:
    """Return the number of CPUs at which the law has its maximum, √((1 − σ) / κ) (Gunther); at least 1."""
    if coherency <= 0:
        return math.inf
    return max(1.0, math.sqrt(max(0.0, 1 - contention) / coherency))


def fit(counts: Sequence[int], throughputs: Floats, *, seed: int = 1) -> Scalability | None:
    """Estimate the law from throughputs, a row a block and a column a number of CPUs; None where there are too few counts.

    The estimate is that of the geometric means. N / X is linear in 1/λ, σ/λ and κ/λ, so that non-negative least squares on
    relative errors finds the one optimum (Lawson & Hanson 1974). Intervals are percentiles of fits to resampled blocks (Efron
    1979): a block is drawn whole, since what disturbs it moves all of its counts.

    Parameters
    ----------
    throughputs : ndarray
        Requests per second; blocks with NaN are left out.
    """
    rows = throughputs[~np.isnan(throughputs).any(axis=1)]
    if len(set(counts)) < LEAST_COUNTS or not len(rows):
        return None
    logs = np.log(rows)
    mean = np.exp(logs.mean(axis=0))
    found = _fit(counts, mean)
    ends = np.full((2, 3), math.nan)
    if len(rows) >= LEAST_BLOCKS:
        random = np.random.default_rng(seed)
        drawn = random.integers(len(rows), size=(_RESAMPLES, len(rows)))
        each = np.array([_fit(counts, np.exp(logs[blocks].mean(axis=0))) for blocks in drawn])
        tail = 100 * (1 - CONFIDENCE) / 2
        ends = np.percentile(each, [tail, 100 - tail], axis=0)
    rate, contention, coherency = (Interval(*map(float, each)) for each in zip(found, *ends, strict=True))
    misfit = float(np.abs(law(counts, *found) / mean - 1).max())
    return Scalability(rate, contention, coherency, misfit, peak_of(contention.value, coherency.value))


def _fit(counts: Sequence[int], throughputs: Floats) -> tuple[float, float, float]:
    """Return λ, σ and κ of one set of throughputs."""
    from scipy.optimize import nnls  # its import takes a fifth of a second, and only notebook 09 needs it

    n = np.asarray(counts, dtype=np.float64)
    terms = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) * (throughputs / n)[:, np.newaxis]
    (first, second, third), _ = nnls(terms, np.ones_like(n))
    return 1 / first, second / first, third / first
