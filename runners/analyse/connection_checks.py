"""Checks of trials whose number of connections is part of the question."""

from __future__ import annotations

from typing import Any

from runners.analyse.usage import Windows
from runners.records import Check

# More errors than this, as a share of the requests: a trial of the run's own load is void, and a cell is not ranked.
ERRORS_TOLERANCE = 0.001
_OPEN_TOLERANCE = 0.01


def asked_for(record: dict[str, Any]) -> int | None:
    """The number of connections that a trial is about; None where it is about something else."""
    shape = record.get("shape", {})
    # Without keep-alive only those are open whose request is under way.
    count = None if shape.get("keepalive_requests") else shape.get("connections")
    return None if count is None else int(count)


def connections_open(record: dict[str, Any], windows: Windows) -> Check:
    """In the middle of each window the kernel's table had as many accepted connections as were asked for, within 1 %."""
    asked = asked_for(record) or 0
    seen = [
        sample["connections_count"] for raw, _ in windows for sample in raw["samples"] if "connections_count" in sample
    ]
    if not seen:
        return Check("connections", False, "not counted: the window was too short", "use longer windows")
    worst = max(seen, key=lambda count: abs(count - asked))
    ok = abs(worst - asked) <= _OPEN_TOLERANCE * asked
    opening_s = max(raw["load"].get("opening_s", 0.0) for raw, _ in windows)
    opened = f", open after {opening_s:.2g} s" if opening_s else ""
    advice = "the server accepts too slowly or refuses: its backlog (listen), its limit of open files (ulimit -Hn)"
    return Check("connections", ok, f"{worst} of {asked} connections were open{opened}", advice)


def errors_shown(record: dict[str, Any], windows: Windows) -> Check:
    """Errors at a number of connections are what the server makes of it: shown by kind, and not void.

    A cell with more of them than 0.1 % of its requests is not ranked.
    """
    kinds = ("connect", "read", "write", "timeout", "status")
    counts = {kind: sum(getattr(result.errors, f"{kind}_count") for _, result in windows) for kind in kinds}
    requests, total = sum(result.requests_count for _, result in windows), sum(counts.values())
    named = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)
    if not requests:
        return Check("errors", False, f"no request was completed ({named or 'no error was counted'})", _SEEN, void=True)
    return Check("errors", not total, f"{named} in {requests} requests" if total else "none", _SEEN)


_SEEN = "this is the server's result at this number of connections; ./wrkbook serve shows what it prints"
