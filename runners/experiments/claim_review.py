"""The review of the published claims, as the notebook sees it: runs selected, flaws measured, verdicts.

The notebook says ``review = ClaimReview("07-published-claims", globals())``, shows ``review.plan()``, calls ``review.measure()``, reads
``review.reviewed()`` and ends with ``review.publish(…)``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.claims.flaws import circumstances, effects, explained, load_flaws
from runners.analyse.claims.register import Claim, load_claims
from runners.analyse.claims.review import ReviewedClaims, judge_all, ranks_compared
from runners.analyse.claims.run_selection import SelectedRun, select_runs, selected_before
from runners.analyse.published import Source, figures, sources
from runners.analyse.results import analyse
from runners.analyse.summary import write_processed
from runners.core.notebooks import WITHOUT_MEASURING
from runners.core.run_manifest import RunManifest
from runners.experiments.experiment import Experiment
from runners.machine.facts import machine_facts, project_facts
from runners.present.claims import sentences as verdicts, tables as claim_tables
from runners.present.kit.markup import Fragment
from runners.present.narrative import Narrative


class ClaimReview:
    """The register of claims, the runs that decide them, and the experiment that shows what the published flaws change.

    Parameters
    ----------
    name : of the notebook, without its ending
    namespace : the notebook's ``globals()``, or parameters by name

    Raises
    ------
    WrkbookError
        As :class:`runners.experiments.experiment.Experiment`, and for a register that is not as it must be.
    """

    def __init__(self, name: str, namespace: Mapping[str, Any]) -> None:
        self._claims, self._flaws = load_claims(), load_flaws()
        shown = [flaw.cells for flaw in self._flaws if flaw.cells]
        # Equal work first: the A/A control is of the first system.
        cells = [
            cell for cells in zip(*((without, having) for having, without in shown), strict=True) for cell in cells
        ]
        self.experiment = Experiment(
            name,
            namespace,
            workloads=list(dict.fromkeys(cell.workload for cell in cells)),
            only=[cell.name for cell in cells],
            batch_sizes=sorted({cell.operations for cell in cells}),
        )

    @cached_property
    def selected_runs(self) -> list[SelectedRun]:
        """Return the runs that decide: those that were written down when this run began, else what there is now."""
        names = sorted({claim.experiment for claim in self._claims})
        run = self.experiment.run
        if run.exists:
            return selected_before(run.read().selected_runs or {}, names, run.base)
        return select_runs(names, run.run_id, run.base)

    def plan(self) -> Fragment:
        """Return the selected runs and the plan of :meth:`measure`, as a table."""
        flaws = [self.experiment.plan()] if self.experiment.parameters.measure_flaws else []
        return claim_tables.plan(self.selected_runs, flaws)

    def measure(self) -> None:
        """Write down which runs decide, and measure the flaws where the parameters say so; errors as of the experiment."""
        decide = {each.experiment: each.run_id for each in self.selected_runs if each.results}
        if self.experiment.parameters.measure_flaws:
            self.experiment.selected_runs = decide
            self.experiment.measure()
        elif WITHOUT_MEASURING not in os.environ and not self.experiment.run.exists:
            self.experiment.run.open(self._manifest_of_nothing(decide))

    def _manifest_of_nothing(self, selected_runs: dict[str, str]) -> RunManifest:
        """Return the manifest of a run that only judges."""
        return RunManifest(
            started_at=datetime.now(UTC).isoformat(),
            profile=self.experiment.parameters.profile,
            parameters=self.experiment.parameters.model_dump(exclude={"run_id"}),
            pinning=self.experiment.run_plan.pinning.as_dict(),
            machine=machine_facts(),
            versions=project_facts(),
            cells=[],
            systems={},
            workloads={},
            compared=[],
            floor=None,
            control_of=None,
            selected_runs=selected_runs,
        )

    def reviewed(self) -> ReviewedClaims:
        """Judge every claim, and estimate what each flaw changes."""
        run = analyse(self.experiment.run)
        known, theirs = figures(), sources()
        decide = {each.experiment: each.results.for_claims for each in self.selected_runs if each.results}
        return ReviewedClaims(
            claims=judge_all(self._claims, known, decide).join(
                pd.DataFrame([self._about(claim, theirs[claim.source]) for claim in self._claims])
            ),
            rank_agreement=ranks_compared(known, decide),
            effects=effects(self._flaws, run),
            explained=explained(self._claims, known, self._flaws, run),
            selected_runs=self.selected_runs,
            titles={name: source.title for name, source in theirs.items()},
            run=run,
        )

    def _about(self, claim: Claim, source: Source) -> dict[str, str]:
        """The run that decides a claim, and what differs from the published one."""
        selected = next(each for each in self.selected_runs if each.experiment == claim.experiment)
        profile = selected.results.profile if selected.results else ""
        differs = circumstances(claim, source, selected.results, self._flaws)
        return {"run_id": selected.run_id, "profile": profile, **differs}

    def publish(self, reviewed: ReviewedClaims) -> Narrative:
        """Write the processed data with claims, verdicts and effects, and return the conclusions."""
        conclusions = verdicts.conclusions(reviewed)
        own = {
            "selected_runs": {
                each.experiment: {"run_id": each.run_id or None, "why": each.why} for each in reviewed.selected_runs
            },
            "claims": [_with_intervals(row, "measured") for row in reviewed.claims.to_dict("records")],
            "rank_agreement": reviewed.rank_agreement.to_dict("records"),
            "flaws": [_with_intervals(row, "ratio") for row in reviewed.effects.to_dict("records")],
            "explained": [_with_intervals(row, "equal", "flawed") for row in reviewed.explained.to_dict("records")],
        }
        write_processed(reviewed.run, list(conclusions), verdicts.headline(reviewed), own=own)
        return conclusions


def _with_intervals(row: Mapping[Any, Any], *names: str) -> dict[str, Any]:
    """A row for ``summary.json``: what has an interval as ``{value, low, high}``."""
    parts = {"value": "", "low": "_low", "high": "_high"}
    ends = {f"{name}{part}" for name in names for part in parts.values()}
    found = {str(name): value for name, value in row.items() if name not in ends}
    return found | {name: {key: row[f"{name}{part}"] for key, part in parts.items()} for name in names}
