"""Implement ``run``, ``report`` and ``compare``: execute notebooks one after the other, and return their reports."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.parameters import PROFILES, Parameters, changed_parameters
from runners.core.project import COMPARING, PROCESSED, experiments
from runners.core.summaries import ComparisonSummary, RunSummary
from runners.core.units import format_duration, format_roughly, system_title
from runners.experiments.plan import check_run
from runners.measure.conformance import full_image
from runners.store.ledger import Run, new_run_id
from runners.store.runs import comparison_folder, processed_folder, read_comparison, read_summary
from runners.systems.catalogue import Catalogue
from runners.systems.revisions import commit_of, export
from runners.workbook.execute import execute
from runners.workbook.expected_time import expected_s
from runners.workbook.up_to_date import is_up_to_date, note_made, present_state

# So many notebooks share the budget of a profile: those that run where none is named.
_SHARING = 3


@dataclass(frozen=True)
class Report:
    """A finished report: where it is, what it concludes, the cells without a number, and its ``summary.json``."""

    experiment: str
    run_id: str
    html: Path
    conclusions: tuple[str, ...]
    failed: tuple[str, ...]
    summary: RunSummary = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for ``--json``."""
        return {name: value for name, value in vars(self).items() if name != "summary"} | {"html": str(self.html)}


@dataclass(frozen=True)
class ComparisonReport:
    """Two runs compared: where the report is, and its summary."""

    html: Path
    summary: ComparisonSummary

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for ``--json``."""
        return {"html": str(self.html), **self.summary}


class Interrupted(KeyboardInterrupt):
    """An interrupted run, and its notebooks that have not ended; the first is the one that was interrupted."""

    def __init__(self, run_id: str, names: Sequence[str]) -> None:
        self.run_id, self.names = run_id, list(names)
        super().__init__(run_id)


def run(
    names: Sequence[str],
    values: dict[str, Any],
    budget_minutes: float,
    finished: Callable[[Report], None] = lambda _: None,
) -> list[Report]:
    """Execute the notebooks `names` with the same parameters; each report is written as soon as its notebook ends.

    Parameters
    ----------
    values : dict[str, Any]
        Parameters by name, each one that all of `names` declare; checked before anything starts.
    budget_minutes : float
        For all notebooks together; time that one leaves over goes to those after it; 0: the profile's for each three of
        them, and what the least number of blocks takes beyond that.
    finished : Callable[[Report], None]
        Called with each report as soon as it is written.

    Raises
    ------
    WrkbookError
        For wrong parameters, or when a notebook ends with an error.
    Interrupted
        When the user interrupts a notebook.
    """
    parameters = [check_run(name, values) for name in names]
    given_minutes = budget_minutes or parameters[0].budget_minutes
    shared = given_minutes or PROFILES[parameters[0].profile].budget_minutes * max(1.0, len(names) / _SHARING)
    run_id = parameters[0].run_id or new_run_id(parameters[0].profile)
    if set(names) == set(experiments()):
        full_image(Catalogue()).ensure()  # once, in the place of one that grows with each notebook
    left, reports = shared, list[Report]()
    for place, name in enumerate(names):
        limits: dict[str, float] = {}
        # One notebook alone has the time of its own profile.
        if given_minutes or len(names) > 1:
            limits["budget_minutes"] = left / (len(names) - place)
        if not given_minutes and len(names) > 1:
            limits["min_blocks"] = parameters[place].effective_profile.min_blocks
        limited, systems = parameters[place].model_copy(update=limits), values.get("systems", ())
        rest = _time_of(names[place:], limited, systems) if len(names) > 1 else ""
        print(f"\n{name} ({place + 1} of {len(names)}), run {run_id}{rest}", file=sys.stderr, flush=True)
        known = Run(name, run_id)
        before = _measured_minutes(known)
        try:
            reports.append(_execute(known, {**values, "run_id": run_id, **limits}))
        except KeyboardInterrupt as error:
            raise Interrupted(run_id, names[place:]) from error
        left = max(0.1, left - (_measured_minutes(known) - before))
        finished(reports[-1])
    return reports


def _time_of(names: Sequence[str], parameters: Parameters, systems: Collection[str]) -> str:
    """Say how long these notebooks will take to measure, if that is known; `systems` are those that the user names."""
    seconds = expected_s(names, parameters, systems)
    said = "this and the rest take" if len(names) > 1 else "this takes"
    return f"; {said} about {format_roughly(seconds)} to measure" if seconds else ""


def outdated(found: Sequence[Run], up_to_date: Callable[[Report], None]) -> Iterator[Run]:
    """Yield the runs whose reports must be made again; of every other run, hand the report to `up_to_date`."""
    state = present_state()
    for known in found:
        target = processed_folder(known)
        summary = read_summary(target) if is_up_to_date(target, state) else None
        if summary is None:
            yield known
        else:
            up_to_date(_report(known, summary))


def rebuild(known: Run) -> Report:
    """Make a run's tables, charts and HTML again from its raw records.

    Builds of another revision are exported meanwhile: the plan names them.
    """
    state, parameters = present_state(), known.read().parameters
    with ExitStack() as stack:
        for revision in set(parameters.get("variants", [])) - set(Catalogue().variants):
            stack.enter_context(export(commit_of(revision)))
        report = _execute(known, {**parameters, "run_id": known.run_id}, measuring=False)
    note_made(processed_folder(known), state)
    return report


def refresh_index() -> None:
    """Write the index over all runs again."""
    from runners.workbook import reports

    reports.refresh_index()


def compare(run_a: str, run_b: str, *, experiment: str = "", anyway: bool = False) -> list[ComparisonReport]:
    """Compare two runs in each experiment that has both, or in the one named; each comparison gets a report.

    Raises
    ------
    WrkbookError
        When a run is not known, the two were not measured alike (unless `anyway`), or a record is damaged.
    """
    from runners.analyse.run_comparison import check_comparable
    from runners.experiments.reviews import find_pairs

    pairs = find_pairs(run_a, run_b, experiment)
    for a, b in pairs:
        check_comparable(a, b, anyway=anyway)
    from runners.workbook.reports import refresh_index, write_comparison_report

    found = []
    for a, b in pairs:
        target = comparison_folder(a, b)
        values = {"experiment": a.experiment, "run_a": run_a, "run_b": run_b, "anyway": anyway}
        _into(target, COMPARING, values, measuring=False)
        summary = read_comparison(target)
        if summary is None:
            raise WrkbookError(f"{COMPARING} wrote no summary", "its notebook must end with runs.publish(…)")
        found.append(ComparisonReport(write_comparison_report(target, summary), summary))
        refresh_index()
    return found


def rebuild_comparisons(run_ids: Sequence[str], *, again: bool) -> None:
    """Make the reports of comparisons again: of those that involve one of `run_ids`, or of all; up-to-date ones only `again`."""
    state = present_state()
    for folder in sorted(path.parent for path in (PROCESSED / COMPARING).glob("*/*/summary.json")):
        summary = read_comparison(folder)
        if not again and is_up_to_date(folder, state):
            continue
        if summary is not None and (not run_ids or {summary["run_a"], summary["run_b"]} & set(run_ids)):
            # Whoever compared them has said whether they may be.
            compare(summary["run_a"], summary["run_b"], experiment=summary["experiment"], anyway=True)
            note_made(folder, state)
            print(f"\n{summary['experiment']}, {summary['run_a']} and {summary['run_b']}: {folder / 'report.html'}")


def _into(target: Path, notebook: str, values: dict[str, Any], *, measuring: bool) -> None:
    """Execute a notebook, and put it into the folder `target` when it has ended well."""
    # After an interrupt that a kernel did not hear, its notebook may still be written.
    with tempfile.TemporaryDirectory(prefix="wrkbook-", ignore_cleanup_errors=True) as folder:
        executed = Path(folder) / "notebook.ipynb"
        execute(notebook, values, executed, measuring=measuring)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(executed, target / ".notebook.partial")
        (target / ".notebook.partial").rename(target / "notebook.ipynb")


def _execute(known: Run, values: dict[str, Any], *, measuring: bool = True) -> Report:
    started = time.monotonic()
    target = processed_folder(known)
    _into(target, known.experiment, changed_parameters(values, known.experiment), measuring=measuring)
    summary = read_summary(target)
    if summary is None:
        raise WrkbookError(f"{known.experiment} wrote no summary", "its notebook must end with experiment.conclude(…)")
    from runners.workbook.reports import refresh_index, write_run_report

    write_run_report(target, summary)
    refresh_index()
    print(f"{known.experiment}: done in {format_duration(time.monotonic() - started)}", file=sys.stderr, flush=True)
    return _report(known, summary)


def _report(known: Run, summary: RunSummary) -> Report:
    failed = [
        f"{system_title(cell['system'])}, {cell['workload']} ({cell['status']})"
        for cell in summary["cells"]
        if cell["status"] != "ok"
    ]
    conclusions = tuple(summary["conclusions"])
    html = processed_folder(known) / "report.html"
    return Report(known.experiment, known.run_id, html, conclusions, tuple(failed), summary)


def _measured_minutes(known: Run) -> float:
    summary = read_summary(processed_folder(known))
    return float(summary["measured_s"]) / 60 if summary else 0.0
