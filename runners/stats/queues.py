"""Response times that are known by calculation: those of ``servers/calibration``."""

from __future__ import annotations

import math

DELAY_S, STALL_S, EVERY_S, WORK_S = 0.005, 0.1, 1.0, 2e-3
"""Of ``servers/calibration``: /delayed, /stalled (for how long, how often), /work."""


def stalled_response_s(percentile: float) -> float:
    """Return the response time of a server that delays by `DELAY_S` and stands still for `STALL_S` every `EVERY_S`.

    Arrivals at any moment are equally likely. One in a stall waits for its end, and then for the delay; one whose response falls due in
    a stall gets it at the end of that.
    """
    share = (1 - percentile / 100) * EVERY_S
    # Longer than r: of the arrivals in a stall those of (STALL + DELAY - r) seconds; and of those just before it, all up to STALL.
    if share >= STALL_S + DELAY_S:
        return DELAY_S
    return STALL_S + 2 * DELAY_S - share if share >= 2 * DELAY_S else STALL_S + DELAY_S - share / 2


def mean_wait_s(rate_rps: float, service_s: float) -> float:
    """Return the mean wait in a queue with one server, Poisson arrivals and a constant service time (Pollaczek and Khinchine)."""
    busy = rate_rps * service_s
    return busy * service_s / (2 * (1 - busy)) if busy < 1 else math.inf
