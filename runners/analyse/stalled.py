"""Response times of a server that stops at times: known by calculation, to show what a closed loop hides.

The server is ``servers/calibration``, path ``/stalled``: it delays each response by `DELAY_S`, and stands still for `STALL_S` every `EVERY_S`.
"""

from __future__ import annotations

DELAY_S, STALL_S, EVERY_S = 0.005, 0.1, 1.0


def stalled_response_s(percentile: float) -> float:
    """Return the response time at a percentile, from 0 to 100, of arrivals at any moment alike.

    One in a stall waits for its end, and then for the delay; one whose response falls due in a stall gets it at the end of that.
    """
    share = (1 - percentile / 100) * EVERY_S
    # Longer than r: of the arrivals in a stall those of (STALL + DELAY - r) seconds; and of those just before it, all up to STALL.
    if share >= STALL_S + DELAY_S:
        return DELAY_S
    return STALL_S + 2 * DELAY_S - share if share >= 2 * DELAY_S else STALL_S + DELAY_S - share / 2
