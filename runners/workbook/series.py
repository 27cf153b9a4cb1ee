"""Sessions at an interval: the same notebooks again and again, each time as a run of its own in the ledger.

Nothing but the ledger says which sessions are finished. So a series goes on after Ctrl-C, a kill or a reboot with the same command.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.status_line import StatusLine
from runners.core.units import format_roughly
from runners.experiments.plan import check_run
from runners.store.ledger import Run, new_run_id
from runners.store.runs import COMPLETE, state
from runners.workbook import run as running
from runners.workbook.run import Interrupted, Report

# Waits no longer in one piece: the clock may be set, and a machine that was suspended wakes up late.
_STEP_S = 10.0
_Finished = Callable[[Report], None]


@dataclass(frozen=True)
class Series:
    """So many sessions, and the seconds from the start of one to that of the next."""

    count: int = 1
    every_s: float = 0.0


def session_id(series: str, number: int) -> str:
    """Return the run-id of a session: NAME, NAME-2, NAME-3 …."""
    return series if number == 1 else f"{series}-{number}"


def run_series(
    names: Sequence[str],
    values: dict[str, Any],
    budget_minutes: float,
    series: Series,
    finished: _Finished = lambda _: None,
) -> list[Report]:
    """Measure the sessions of a series that are not finished, and return the reports of the last one.

    A session that fails is left out, unless it is the first that is tried: the series goes on, and fails at its end.

    Parameters
    ----------
    values : dict[str, Any]
        These three are as for :func:`runners.workbook.run.run`.
    budget_minutes : float
        Of one session.
    finished : Callable[[Report], None]

    Raises
    ------
    WrkbookError
        For wrong parameters, before anything begins; when the first session fails, or at the end, when another one has failed.
    Interrupted
        When the user interrupts a session or the time between two.
    """
    given = values | {"run_id": values.get("run_id") or new_run_id(values["profile"])}
    ids = [session_id(given["run_id"], number) for number in range(1, series.count + 1)]
    for name in names:
        for run_id in ids:
            check_run(name, given | {"run_id": run_id})
    try:
        return _measured(names, given, budget_minutes, series, ids, finished)
    except KeyboardInterrupt as error:
        raise Interrupted(given["run_id"], names) from error


def _measured(
    names: Sequence[str],
    values: dict[str, Any],
    budget_minutes: float,
    series: Series,
    ids: Sequence[str],
    finished: _Finished,
) -> list[Report]:
    begun: datetime | None = None
    took_s, reports, failed = 0.0, list[Report](), list[str]()
    for number, run_id in enumerate(ids, start=1):
        left = [name for name in names if not _is_complete(Run(name, run_id))]
        if not left:
            begun = _begun([Run(name, run_id) for name in names])
            continue
        if begun is not None:
            _wait(begun + timedelta(seconds=series.every_s), number, series, took_s)
        begun = _now()
        print(f"\nSession {number} of {series.count}", file=sys.stderr, flush=True)
        try:
            reports = running.run(left, values | {"run_id": run_id}, budget_minutes, finished)
        except WrkbookError as error:
            if not reports:
                raise
            print(f"Session {number} failed: {error}", file=sys.stderr, flush=True)
            failed.append(run_id)
        took_s = (_now() - begun).total_seconds()
    if failed:
        raise WrkbookError(f"sessions failed: {', '.join(failed)}", "the same command tries them again")
    return reports or [running.rebuild(Run(name, ids[-1])) for name in names]


def _is_complete(run: Run) -> bool:
    return run.exists and state(run) == COMPLETE


def _begun(runs: Sequence[Run]) -> datetime:
    """Return when the first notebook of a session began."""
    return min(datetime.fromisoformat(run.read().started_at) for run in runs)


def _wait(until: datetime, number: int, series: Series, took_s: float) -> None:
    """Sleep until a session is due, and say when that is and when the series ends."""
    with StatusLine() as status:
        say = status.begin
        while (left_s := (until - _now()).total_seconds()) > 0:
            ends = until + timedelta(seconds=(series.count - number) * series.every_s + took_s)
            text = (
                f"Session {number} of {series.count} begins at {until.astimezone():%H:%M}, in {format_roughly(left_s)}; "
                f"the series ends at about {ends.astimezone():%H:%M}, in {format_roughly((ends - _now()).total_seconds())}"
            )
            say(text)
            say = status.show
            time.sleep(min(left_s, _STEP_S))


def _now() -> datetime:
    return datetime.now(UTC)
