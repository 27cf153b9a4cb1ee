"""The checks of a trial whose load came over a network, from one host or several."""

from __future__ import annotations

from runners.analyse.usage import Windows
from runners.core.records import Check
from runners.core.trial_record import TrialRecord
from runners.generators.registry import GENERATORS
from runners.generators.reports import results_of_shares

TOGETHER = "hosts together"
"""Name of the check :func:`overlap`."""
LEAST_OVERLAP = 0.99
"""Share of a window in which all hosts must make their load: else throughputs of different times would be added."""
LEAST_WATCHED_FRACTION = 0.95
"""Share of a window in which the server's host must watch: else its CPU time is of another time."""
HALVES_TOLERANCE = 0.1
"""By how much the throughputs of two halves of the load generator hosts may differ, for each connection."""


def of_hosts(record: TrialRecord, windows: Windows) -> list[Check]:
    """Return the checks of a load over a network: none on one machine."""
    checks = [overlap(record, windows)] if any(raw.network for raw, _ in windows) else []
    return checks + ([halves(record, windows)] if any(raw.shares for raw, _ in windows) else [])


def overlap(record: TrialRecord, windows: Windows) -> Check:
    """Check that the hosts made their load at the same time, for 99 % of each window, and that the server's host watched 95 % of it."""
    uses = [raw.network for raw, _ in windows if raw.network]
    least, watched = min(use.overlap_fraction for use in uses), min(use.watched_fraction for use in uses)
    detail = f"all hosts made their load in {least:.1%} of the window, the server's host watched {watched:.1%} of it"
    advice = "a host was late or its clock jumped: let nothing else run there, and see its log for changes of the clock"
    passed = least >= LEAST_OVERLAP and watched >= LEAST_WATCHED_FRACTION
    return Check(TOGETHER, passed, detail, advice, void=True)


def halves(record: TrialRecord, windows: Windows) -> Check:
    """Check that two halves of the load generator hosts got as many responses for each connection, within 10 %."""
    generator, ratios = GENERATORS[record.generator], []
    for raw, _ in windows:
        found = results_of_shares(generator, raw)
        each = [result.throughput_rps / share.load.connections for result, share in zip(found, raw.shares, strict=True)]
        middle = len(each) // 2
        first, second = each[:middle], each[len(each) - middle :]
        if first and sum(second):
            ratios.append(sum(first) / sum(second))
    worst = max(ratios, key=lambda ratio: abs(ratio - 1), default=1.0)
    detail = f"the first half of {len(windows[0][0].shares)} hosts got {worst:.2f} times the responses of the second"
    advice = "one load generator host is slower, or the server prefers some connections: ./wrkbook hosts check"
    return Check("halves of the load", abs(worst - 1) <= HALVES_TOLERANCE, detail, advice)
