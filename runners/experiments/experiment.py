"""One experiment, as its notebook sees it: parameters in, measurement, results out.

A notebook makes an :class:`Experiment`, shows its ``plan``, calls ``measure()`` and reads ``results()``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from runners.analyse.results import Results, analyse
from runners.analyse.sessions import with_sessions
from runners.analyse.summary import write_processed
from runners.core.errors import WrkbookError
from runners.core.parameters import PROFILES, Parameters, Profile, check_parameters, from_notebook
from runners.core.project import WITH_LATENCY, WITHOUT_MEASURING
from runners.core.records import LoadProfile
from runners.experiments.measuring import measure_run
from runners.experiments.plan import planned
from runners.machine.pinning_plan import PinningPlan
from runners.measure.design import DELAYS_MS, Cell
from runners.measure.fixed_rates import FixedRateLoad
from runners.measure.load_levels import AT_HALF, LoadLevels
from runners.measure.run_plan import plan_run
from runners.present.answer import Subject, published
from runners.present.kit.markup import Fragment
from runners.store.ledger import Run


def _pinning_over_hosts(file: str, behind: bool) -> PinningPlan:
    from runners.experiments.over_hosts import pinning_over_hosts  # with Dask: a second

    return pinning_over_hosts(file, behind=behind)


class Experiment:
    """An experiment with its parameters, checked before anything is started.

    Parameters
    ----------
    name : str
        Name of the notebook, without its ending.
    namespace : Mapping[str, Any]
        The notebook's ``globals()``, or parameters by name.
    workloads : what is compared
    floor : str | None
        The workload whose throughput bounds the others from above on the same server.
    delays_ms : Sequence[int]
        Delays of the workload ``ping-delay``.
    shapes : Sequence[LoadProfile]
        Loads to compare; without them one for each of the parameters `connection_counts` and `generators`.
    fixed_rate_loads : Sequence[FixedRateLoad]
        Loads at rates that are planned when measuring starts, see :mod:`runners.measure.fixed_rates`, before `shapes`.
    process_per_cell : bool
        Whether each cell has a process of its own, so that memory can be told apart.
    only : Collection[tuple[str, str]]
        System and workload's label of each cell, where not every system is measured on every workload.
    batch_sizes : Sequence[int]
        Batch sizes, where they are part of the question; else the parameter's.
    idle_s : float
        For how long :mod:`runners.measure.machine_survey` watches the idle machine, where that is part of the question.
    load_levels : LoadLevels | None
        Rates that are planned when measuring starts, as shares of what each system carries.
    also : Sequence[Cell]
        Cells that are measured besides, and not compared.
    profiles : Mapping[str, Profile]
        The amount of measuring, where it differs from that of other experiments.
    same_servers : bool
        Whether a workload that no named system serves is measured on the other systems of their servers.
    by_cpus : bool
        Whether each cell is measured on several numbers of server CPUs (:mod:`runners.measure.server_cpus`).

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter, an unknown system, CPU sets that overlap or do not exist.
    """

    def __init__(
        self,
        name: str,
        namespace: Mapping[str, Any],
        *,
        workloads: Sequence[str],
        floor: str | None = None,
        delays_ms: Sequence[int] = DELAYS_MS,
        shapes: Sequence[LoadProfile] = (),
        fixed_rate_loads: Sequence[FixedRateLoad] = (),
        process_per_cell: bool = False,
        only: Collection[tuple[str, str]] = (),
        batch_sizes: Sequence[int] = (),
        idle_s: float = 0.0,
        load_levels: LoadLevels | None = None,
        also: Sequence[Cell] = (),
        profiles: Mapping[str, Profile] = PROFILES,
        same_servers: bool = False,
        by_cpus: bool = False,
    ) -> None:
        self.selected_runs: dict[str, str] | None = None  # for the manifest
        parameters = check_parameters(from_notebook(namespace), name)
        if WITH_LATENCY in os.environ and not (load_levels or fixed_rate_loads or shapes):
            load_levels = AT_HALF
        self.run_plan = plan_run(
            name,
            parameters,
            elsewhere=_pinning_over_hosts,
            workloads=workloads,
            floor=floor,
            delays_ms=delays_ms,
            shapes=shapes,
            fixed_rate_loads=fixed_rate_loads,
            process_per_cell=process_per_cell,
            only=only,
            batch_sizes=batch_sizes,
            idle_s=idle_s,
            load_levels=load_levels,
            also=also,
            profiles=profiles,
            same_servers=same_servers,
            by_cpus=by_cpus,
        )

    @property
    def parameters(self) -> Parameters:
        """The checked parameters."""
        return self.run_plan.parameters

    @property
    def run(self) -> Run:
        """The run in the ledger."""
        return self.run_plan.run

    def plan(self) -> Fragment:
        """Return the plan of :meth:`measure` as a table: cells, load, CPUs, and duration."""
        return planned(self.run_plan)

    def measure(self) -> None:
        """Build and verify the servers, then measure; a run of the same id goes on where it was interrupted.

        Raises
        ------
        WrkbookError
            When the image cannot be made, a server does not build, none conforms, or the ledger cannot be written.
        """
        if WITHOUT_MEASURING not in os.environ:
            self.run_plan = measure_run(self.run_plan, self.selected_runs)

    def results(self) -> Results:
        """Analyse what the ledger holds of this run.

        Raises
        ------
        WrkbookError
            When there is not one sound trial.
        """
        found = analyse(self.run)
        if not (found.cells["status"] == "ok").any():
            reasons = list(dict.fromkeys(found.cells["status"]))
            more = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
            raise WrkbookError(
                f"there is not one sound trial in run {self.run.run_id}: {reasons[0]}{more}",
                "run ./wrkbook doctor to inspect the machine, ./wrkbook verify to check the servers",
            )
        return with_sessions(found)

    def conclude(self, results: Results, subject: Subject[Any], own: Mapping[str, Any] | None = None) -> None:
        """Write the processed data with the answer and the conclusions that the report shows.

        `own`: what the summary holds besides.
        """
        headline, conclusions = published(results, subject)
        write_processed(results, conclusions, headline, own=own)
