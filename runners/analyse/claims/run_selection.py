"""Select the runs that decide about published claims: the newest valid one of the best profile of each experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.analyse.results import Results, analyse
from runners.analyse.sessions import with_sessions
from runners.core.errors import WrkbookError
from runners.core.project import RAW
from runners.core.records import SMOKE_PROFILE
from runners.store.ledger import Run, is_reference, runs

# The best first. A smoke run is selected only where there is no other run, and decides nothing.
PREFERRED = ("publication", "standard", SMOKE_PROFILE)


@dataclass(frozen=True)
class SelectedRun:
    """The run that decides about the claims of one experiment, and why.

    Attributes
    ----------
    results : Results | None
        Results of the run that decides; None: there is none.
    why : str
        Reason why there is none, or which better runs were passed over.
    """

    experiment: str
    results: Results | None = None
    why: str = ""

    @property
    def run_id(self) -> str:
        """Return the id of the run that decides; empty where there is none."""
        return self.results.run.run_id if self.results else ""

    @property
    def is_smoke(self) -> bool:
        """Return whether there is nothing but a smoke run."""
        return self.results is not None and self.results.profile == SMOKE_PROFILE


def select_runs(experiments: Iterable[str], run_id: str = "", base: Path = RAW) -> list[SelectedRun]:
    """Return the run that decides for each experiment: its run called `run_id`, else the best that there is.

    The best is a publication run before a standard one before a quick one, and then the newest; runs that cannot be analysed, or have
    not one sound trial, are passed over. The reference run is of another machine, and decides for none but itself.
    """
    return [_best(name, run_id, base) for name in experiments]


def selected_before(
    run_ids: Mapping[str, str], experiments: Iterable[str], base: Path = RAW, until: str = ""
) -> list[SelectedRun]:
    """Return the runs that were selected before, without sessions that began later than `until`.

    `run_ids` is experiment → id of its run.
    """
    found = []
    for name in experiments:
        if name not in run_ids:
            found.append(SelectedRun(name, why=f"no run of {name} when this was judged"))
            continue
        results, why = _sound(Run(name, run_ids[name], base), until)
        found.append(SelectedRun(name, results, why))
    return found


def _best(experiment: str, run_id: str, base: Path) -> SelectedRun:
    passed_over: list[str] = []
    own = [run for run in runs(experiment, base) if is_reference(run_id) or not is_reference(run.run_id)]
    for run in _by_rank(own, run_id):
        results, why = _sound(run)
        if results is not None:
            return SelectedRun(experiment, results, "; ".join(passed_over))
        passed_over.append(why)
    return SelectedRun(experiment, why="; ".join(passed_over) or f"no run of {experiment} here")


def _by_rank(known: Iterable[Run], run_id: str) -> list[Run]:
    """Return the runs with a readable manifest, the best first."""
    ranked = []
    for run in known:
        try:
            manifest = run.read()
        except WrkbookError:
            continue
        profile = PREFERRED.index(manifest.profile) if manifest.profile in PREFERRED else len(PREFERRED)
        ranked.append(((run.run_id == run_id, -profile, manifest.started_at), run))
    return [run for _, run in sorted(ranked, key=lambda pair: pair[0], reverse=True)]


def _sound(run: Run, until: str = "") -> tuple[Results | None, str]:
    try:
        if not run.exists:
            return None, f"run {run.run_id} of {run.experiment} is not here any more"
        results = analyse(run)
        if (results.cells["status"] == "ok").any():
            return with_sessions(results, until), ""
        return None, f"run {run.run_id} has not one sound trial"
    except WrkbookError as error:
        return None, f"run {run.run_id} cannot be analysed: {error.problem}"
