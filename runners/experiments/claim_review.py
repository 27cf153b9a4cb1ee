"""Every published claim on trial, as the notebook sees it: evidence gathered, faults measured, verdicts.

The notebook says ``trial = OnTrial("07-published-claims", globals())``, shows ``trial.plan()``, calls ``trial.measure()``, reads
``trial.findings()`` and ends with ``trial.publish(…)``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.claims.flaws import circumstances, effects, explained, load_faults
from runners.analyse.claims.register import Claim, load_claims
from runners.analyse.claims.review import judge_all, ranks_compared
from runners.analyse.published import Source, figures, sources
from runners.analyse.results import Results, analyse
from runners.analyse.summary import write_processed
from runners.core.notebooks import WITHOUT_MEASURING
from runners.core.run_manifest import RunManifest
from runners.experiments.experiment import Experiment
from runners.experiments.run_selection import Evidence, gather, recorded
from runners.machine.facts import machine_facts, project_facts
from runners.present.claims import sentences as verdicts, tables as trial_tables
from runners.present.kit.markup import Fragment
from runners.present.narrative import Narrative


@dataclass(frozen=True)
class Findings:
    """The outcome.

    Attributes
    ----------
    claims : see :func:`runners.analyse.claims.review.judge_all`, with run_id and profile of the run that decides, and
        :func:`runners.analyse.claims.flaws.circumstances`
    rank_agreement : see :func:`runners.analyse.claims.review.ranks_compared`
    effects, explained : see :mod:`runners.analyse.claims.flaws`
    evidence : of each experiment
    titles : source → its title
    run : in which the faults were measured
    """

    claims: pd.DataFrame
    rank_agreement: pd.DataFrame
    effects: pd.DataFrame
    explained: pd.DataFrame
    evidence: list[Evidence]
    titles: dict[str, str]
    run: Results


class OnTrial:
    """The register of claims, the runs that decide them, and the experiment that shows what the published faults change.

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
        self.claims, self.faults = load_claims(), load_faults()
        shown = [fault.cells for fault in self.faults if fault.cells]
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
    def evidence(self) -> list[Evidence]:
        """The runs that decide: those that were written down when this run began, else what there is now."""
        names = sorted({claim.experiment for claim in self.claims})
        run = self.experiment.run
        if run.exists:
            return recorded(run.read().evidence or {}, names, run.base)
        return gather(names, run.run_id, run.base)

    def plan(self) -> Fragment:
        """Return the selected runs and the plan of :meth:`measure`, as a table."""
        faults = [self.experiment.plan()] if self.experiment.parameters.measure_faults else []
        return trial_tables.plan(self.evidence, faults)

    def measure(self) -> None:
        """Write down which runs decide, and measure the faults where that is asked for; errors as of the experiment."""
        decide = {each.experiment: each.run_id for each in self.evidence if each.results}
        if self.experiment.parameters.measure_faults:
            self.experiment.evidence = decide
            self.experiment.measure()
        elif WITHOUT_MEASURING not in os.environ and not self.experiment.run.exists:
            self.experiment.run.open(self._manifest_of_nothing(decide))

    def _manifest_of_nothing(self, evidence: dict[str, str]) -> RunManifest:
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
            evidence=evidence,
        )

    def findings(self) -> Findings:
        """Judge every claim, and say what each fault changes."""
        run = analyse(self.experiment.run)
        known, theirs = figures(), sources()
        decide = {each.experiment: each.results.for_claims for each in self.evidence if each.results}
        return Findings(
            claims=judge_all(self.claims, known, decide).join(
                pd.DataFrame([self._about(claim, theirs[claim.source]) for claim in self.claims])
            ),
            rank_agreement=ranks_compared(known, decide),
            effects=effects(self.faults, run),
            explained=explained(self.claims, known, self.faults, run),
            evidence=self.evidence,
            titles={name: source.title for name, source in theirs.items()},
            run=run,
        )

    def _about(self, claim: Claim, source: Source) -> dict[str, str]:
        """The run that decides a claim, and what differs from the published one."""
        evidence = next(each for each in self.evidence if each.experiment == claim.experiment)
        profile = evidence.results.profile if evidence.results else ""
        differs = circumstances(claim, source, evidence.results, self.faults)
        return {"run_id": evidence.run_id, "profile": profile, **differs}

    def publish(self, findings: Findings) -> Narrative:
        """Write the processed data with claims, verdicts and effects, and return the conclusions."""
        conclusions = verdicts.conclusions(findings)
        own = {
            "evidence": {
                each.experiment: {"run_id": each.run_id or None, "why": each.why} for each in findings.evidence
            },
            "claims": [_with_intervals(row, "measured") for row in findings.claims.to_dict("records")],
            "rank_agreement": findings.rank_agreement.to_dict("records"),
            "faults": [_with_intervals(row, "ratio") for row in findings.effects.to_dict("records")],
            "explained": [_with_intervals(row, "equal", "faulty") for row in findings.explained.to_dict("records")],
        }
        write_processed(findings.run, list(conclusions), verdicts.headline(findings), own=own)
        return conclusions


def _with_intervals(row: Mapping[Any, Any], *names: str) -> dict[str, Any]:
    """A row for ``summary.json``: what has an interval as ``{value, low, high}``."""
    parts = {"value": "", "low": "_low", "high": "_high"}
    ends = {f"{name}{part}" for name in names for part in parts.values()}
    found = {str(name): value for name, value in row.items() if name not in ends}
    return found | {name: {key: row[f"{name}{part}"] for key, part in parts.items()} for name in names}
