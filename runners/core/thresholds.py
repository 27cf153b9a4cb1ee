"""The thresholds that several rooms share."""

from __future__ import annotations

ERRORS_TOLERANCE = 0.001
"""Errors as a share of the requests: with more, a trial is void and a cell is not ranked, as its throughput is of other work."""

LEAST_OFFERED = 0.99
"""Share of the offered rate that must be achieved: below it, service times are those of a lower rate."""

PACED_S = 0.0001
"""A load generator that keeps its schedule sends 99 % of the requests at most so late, at 70 % of its own capacity."""

LATE_S = 0.001
MOST_LATE_SHARE = 0.01
"""An open loop of which a larger share of the sends is later than `LATE_S` did not keep its schedule: its window is void."""
