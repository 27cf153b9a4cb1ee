"""Sessions of one quantity, pooled: their mean, how far they lie apart, and the interval of one further session.

A session's interval knows nothing of another hour. So sessions are random effects on the logarithm: each has a true value of its own
around a common mean (DerSimonian & Laird, Controlled Clinical Trials 7, 1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runners.core.records import Interval
from runners.stats.estimates import critical_value

LEAST_SESSIONS = 3
"""From so many sessions on, the interval of a further one is printed."""

# The square of a relative error of 1e-6: sessions whose launches are all the same have no variance to weigh them by.
_LEAST_VARIANCE = 1e-12
# A dozen do; sessions that are far apart and very precise need more. The tolerance stays as it is: statsmodels takes a step that rounding
# carried beyond the solution for a variance of 0.
_MOST_STEPS = 200


@dataclass(frozen=True)
class Estimate:
    """The finding of one session: a positive quantity with its unadjusted 95 % interval over so many launches."""

    interval: Interval
    launches_count: int


@dataclass(frozen=True)
class Pooled:
    """Several sessions together.

    Attributes
    ----------
    mean : Interval
        Geometric mean over sessions, with the 95 % interval of Hartung and Knapp.
    further : Interval
        The same value with the interval in which one further session lies with 95 % probability.
    between : float
        Standard deviation between sessions, beyond what their own launches explain: 0.012 is 1.2 %.
    sessions_count : int
        Number of sessions that have the quantity.
    """

    mean: Interval
    further: Interval
    between: float
    sessions_count: int

    @property
    def standard_error(self) -> float:
        """Return the standard error of a further session, on the logarithm."""
        arm = math.log(self.further.high / self.further.value)
        return arm / critical_value(2, self.sessions_count - 1)


def pool(sessions: Sequence[Estimate]) -> Pooled | None:
    """Return sessions pooled, in whatever order; None where fewer than two have an interval.

    The variance between sessions is that of Paule and Mandel (Journal of Research of the NBS 87, 1982). The mean has the error of Hartung
    and Knapp (Statistics in Medicine 20, 2001), never below that of the random effects themselves: with few sessions that happen to agree,
    theirs is far too small (Röver, Knapp & Friede, BMC Medical Research Methodology 15, 2015).

    The interval of a further session adds three variances (Higgins, Thompson & Spiegelhalter, JRSS A 172, 2009): of the mean, between
    sessions, and, since it is held against what that session measures, of a session's own launches. Student's t has one degree of freedom
    less than there are sessions. With equally precise sessions this is the exact prediction interval of a normal sample.
    """
    known = [each for each in sessions if _has_error(each)]
    if len(known) < 2:
        return None
    from statsmodels.stats.meta_analysis import combine_effects  # a second, and only where there are sessions

    logs = np.array([math.log(each.interval.value) for each in known])
    variances = np.array([max(_LEAST_VARIANCE, _error(each) ** 2) for each in known])
    with np.errstate(divide="ignore"):  # its I² of sessions that are all the same
        found = combine_effects(logs, variances, method_re="iterated", maxiter=_MOST_STEPS)
    mean, between = float(found.mean_effect_re), max(0.0, float(found.tau2))
    of_mean = max(float(found.var_hksj_re), float(found.var_eff_w_re))
    of_further = of_mean + between + float(variances.mean())
    t = critical_value(2, len(known) - 1)
    return Pooled(
        mean=_around(mean, t * math.sqrt(of_mean)),
        further=_around(mean, t * math.sqrt(of_further)),
        between=math.expm1(math.sqrt(between)),
        sessions_count=len(known),
    )


def _has_error(session: Estimate) -> bool:
    value, low, high = session.interval.value, session.interval.low, session.interval.high
    return session.launches_count > 1 and 0 < low <= value <= high < math.inf


def _error(session: Estimate) -> float:
    """Return the standard error of a session's logarithm."""
    arm = math.log(session.interval.high / session.interval.low) / 2
    return arm / critical_value(2, session.launches_count - 1)


def _around(mean: float, arm: float) -> Interval:
    with np.errstate(over="ignore"):
        value, low, high = (float(np.exp(end)) for end in (mean, mean - arm, mean + arm))
    return Interval(value, low, high)
