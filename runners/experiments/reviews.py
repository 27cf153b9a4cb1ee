"""Notebooks that review stored runs: two runs of one experiment compared, and the published claims.

For the claims, runs are selected, flaws measured, and verdicts given.
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
from runners.analyse.run_comparison import BeforeAfter, Difference, check_comparable, compare_runs, differences
from runners.analyse.summary import write_comparison, write_processed
from runners.core.errors import WrkbookError
from runners.core.parameters import ComparedRuns, from_notebook, validated
from runners.core.project import WITHOUT_MEASURING, experiments, find_experiment
from runners.core.run_manifest import RunManifest
from runners.experiments.experiment import Experiment
from runners.machine.facts import machine_facts, project_facts
from runners.measure.this_machine import this_topology
from runners.present import before_after
from runners.present.answer import published
from runners.present.claims import report, tables as claim_tables
from runners.present.kit.markup import Fragment
from runners.stats.estimates import interval_columns, interval_in
from runners.store.ledger import Run
from runners.store.runs import find_runs


class TwoRuns:
    """The runs A (before a change) and B (after it), found and checked before anything is analysed.

    Parameters
    ----------
    namespace : Mapping[str, Any]
        The notebook's ``globals()``, or parameters by name.

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter or run, and for runs that were not measured alike.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.parameters = validated(ComparedRuns, from_notebook(namespace, ComparedRuns))
        pairs = find_pairs(self.parameters.run_a, self.parameters.run_b, self.parameters.experiment)
        if len(pairs) > 1:
            raise WrkbookError(
                "several experiments have both runs: " + ", ".join(a.experiment for a, _ in pairs),
                "set the parameter experiment to one of them",
            )
        self.a, self.b = pairs[0]
        check_comparable(self.a, self.b, anyway=self.parameters.anyway)

    @property
    def differences(self) -> list[Difference]:
        """Return the differences between the manifests of both runs."""
        return differences(self.a.read(), self.b.read())

    def results(self) -> BeforeAfter:
        """Compare what the ledger holds of both; errors as in :func:`runners.analyse.run_comparison.compare_runs`."""
        return compare_runs(self.a, self.b, anyway=self.parameters.anyway)

    def conclude(self, found: BeforeAfter) -> None:
        """Write the comparison's summary with its answer and its conclusions."""
        headline, conclusions = published(found, before_after)
        write_comparison(found, conclusions, headline)


def find_pairs(run_a: str, run_b: str, experiment: str = "") -> list[tuple[Run, Run]]:
    """The runs of these ids, for each experiment that has both, or for the one that is named.

    Raises
    ------
    WrkbookError
        When there is no such experiment, no run of an id, or no experiment has both.
    """
    searched = [find_experiment(experiment)] if experiment else experiments()
    found = [{run.experiment: run for run in find_runs(run_id, searched)} for run_id in (run_a, run_b)]
    pairs = [(run, found[1][name]) for name, run in found[0].items() if name in found[1]]
    if not pairs:
        places = [", ".join(side) for side in found]
        raise WrkbookError(
            f"run {run_a} is of {places[0]}, run {run_b} of {places[1]}: runs of different experiments are never compared",
            "compare two runs of the same experiment; ./wrkbook list shows them",
        )
    return pairs


class ClaimReview:
    """The register of claims, the runs that decide them, and the experiment that shows what the published flaws change.

    Parameters
    ----------
    name : str
        Name of the notebook, without its ending.
    namespace : Mapping[str, Any]
        The notebook's ``globals()``, or parameters by name.

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
            begun = run.read()
            return selected_before(begun.selected_runs or {}, names, run.base, until=begun.started_at)
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
            machine=machine_facts(this_topology()),
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

    def conclude(self, reviewed: ReviewedClaims) -> None:
        """Write the processed data with the answer, claims, verdicts and effects."""
        headline, conclusions = published(reviewed, report)
        own = {
            "selected_runs": {
                each.experiment: {"run_id": each.run_id or None, "why": each.why} for each in reviewed.selected_runs
            },
            "claims": [_with_intervals(row, "measured") for row in reviewed.claims.to_dict("records")],
            "rank_agreement": reviewed.rank_agreement.to_dict("records"),
            "flaws": [_with_intervals(row, "ratio") for row in reviewed.effects.to_dict("records")],
            "explained": [_with_intervals(row, "equal", "flawed") for row in reviewed.explained.to_dict("records")],
        }
        write_processed(reviewed.run, conclusions, headline, own=own)


def _with_intervals(row: Mapping[Any, Any], *names: str) -> dict[str, Any]:
    """A row for ``summary.json``: what has an interval as ``{value, low, high}``."""
    ends = {column for name in names for column in interval_columns(name)}
    found = {str(name): value for name, value in row.items() if name not in ends}
    return found | {name: vars(interval_in(row, name)) for name in names}
