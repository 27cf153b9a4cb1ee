"""All that a run says: its cells, comparisons, shares of the floor, noise floor and checks, made from the ledger."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from runners.analyse import pooled
from runners.analyse.capacities import build_capacities
from runners.analyse.cells import build_cells, build_curves
from runners.analyse.claims.ratios import ForClaims, for_claims
from runners.analyse.comparisons import Place, launch_throughputs
from runners.analyse.fixed_rates import Latencies, build_levels, latencies_of, repeated
from runners.analyse.kept_tables import run_tables
from runners.analyse.published import figures, published_values
from runners.analyse.recorded import RunRecord
from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, Interval, Row
from runners.stats.estimates import interval_columns
from runners.stats.verdicts import bound, noise_floor, precision_reached, verdict
from runners.store.ledger import Run


@dataclass(frozen=True)
class Results(RunRecord):
    """An analysed run; the frames' columns are described where they are made.

    Attributes
    ----------
    others : tuple[pooled.Session, ...]
        Other sessions, the oldest first (:func:`runners.analyse.sessions.with_sessions`). Cells and ratios are over all of them.
    before : pooled.SpreadBefore | None
        How far apart this machine's sessions were before; None where that is not known, or there are others.
    """

    others: tuple[pooled.Session, ...] = ()
    before: pooled.SpreadBefore | None = None

    def over(self, others: tuple[pooled.Session, ...], before: pooled.SpreadBefore | None = None) -> Results:
        """Return the results of this run over its own and other sessions; what is known of its own is not estimated again."""
        found = replace(self, others=others, before=before)
        found.__dict__.update({name: getattr(self, name) for name in ("throughputs", "own_cells", "searches")})
        return found

    @property
    def sessions(self) -> list[pooled.Session]:
        """Return all sessions, the oldest first: the run's own and the others."""
        return sorted([*self.others, self.session], key=lambda each: (each.started_at, each.run_id))

    @property
    def session_cells(self) -> list[pd.DataFrame]:
        """Return the cells of each session alone, the oldest first."""
        return [each.cells for each in self.sessions]

    @cached_property
    def session(self) -> pooled.Session:
        """Return the run alone, as one session."""
        about = self.run.run_id, self.manifest.started_at
        return pooled.Session(self.throughputs, *about, self.own_cells, self.searches)

    @cached_property
    def throughputs(self) -> pd.Series:
        """Return the throughput of each launch; see :func:`runners.analyse.comparisons.launch_throughputs`."""
        return launch_throughputs(self.trials)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Return the cells over all sessions; see :func:`runners.analyse.pooled.pooled_cells`."""
        return pooled.pooled_cells(self.own_cells, [each.cells for each in self.others])

    @cached_property
    def own_cells(self) -> pd.DataFrame:
        """Return the cells of :func:`runners.analyse.cells.build_cells`, of this run's session.

        All tiers of a planned rate have one ``planned_workload``; ``shade`` is the recorded colour.
        """
        planned = [(self.systems[system], self.workloads[workload]) for system, workload in self.manifest.cells]
        planned = [(system, workload) for system, workload in planned if not workload.shape.objectives]
        cells = build_cells(self.tables, self.throughputs, planned, self.manifest.nonconforming)
        rates = self.manifest.rates
        named = {load.shape.name: load.load for load in rates.loads} if rates else {}
        labels = {
            label: replace(each, shape=replace(each.shape, name=named.get(each.shape.name, each.shape.name))).label
            for label, each in self.workloads.items()
        }
        shades = cells["system"].map(self.manifest.shades)
        return cells.assign(planned_workload=cells["workload"].map(labels), shade=shades)

    @cached_property
    def levels(self) -> pd.DataFrame:
        """Return the levels of load; see :func:`runners.analyse.fixed_rates.build_levels`."""
        return build_levels(self.manifest, self.cells)

    @cached_property
    def capacities(self) -> pd.DataFrame:
        """Return the capacities over all sessions; see :func:`runners.analyse.capacities.build_capacities`."""
        return build_capacities(
            self.manifest, self.searches, self.tables.failures, [each.searches for each in self.others]
        )

    @property
    def fixed_rate(self) -> list[str]:
        """Return the compared workloads at a fixed rate: there systems differ in their response times."""
        return [workload for workload in self._offered if workload not in self.repeated]

    @cached_property
    def repeated(self) -> dict[str, str]:
        """Return the workloads that repeat one of `fixed_rate` at its rate, by a second load generator → that workload."""
        return repeated(self.manifest.rates, [self.workloads[name] for name in self._offered])

    @property
    def ranked(self) -> list[str]:
        """Return the other compared workloads: systems differ in throughput."""
        return [workload for workload in self.manifest.compared if workload not in self._offered]

    @property
    def _offered(self) -> list[str]:
        offered = set(self.cells.dropna(subset=["offered_rps"])["workload"]) if "offered_rps" in self.cells else set()
        return [workload for workload in self.manifest.compared if workload in offered]

    @cached_property
    def latencies(self) -> Latencies:
        """Return the times of the cells that have a fixed rate: response times, where the load generator knows them."""
        return latencies_of(self.tables, self.cells[self.cells["workload"].isin(self.fixed_rate)])

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Return the comparisons of throughputs in each workload, pair by pair: a row with the ratio a over b.

        Columns
        -------
        workload, system_a, system_b; those of :func:`runners.analyse.pooled.ratio_columns`; family (``leader``: b is the workload's
        leader, and in one session these intervals hold together; ``control``; ``other``: unadjusted, exploratory); bound (see
        :func:`runners.stats.verdicts.bound`); verdict of a (empty for the control and for exploratory pairs).
        """
        columns = ["workload", "system_a", "system_b", *pooled.RATIOS, "family", "bound", "verdict"]
        return pd.DataFrame([row for workload in self.ranked for row in self._family(workload)], columns=columns)

    def _family(self, workload: str) -> list[Row]:
        cells = self.cells[(self.cells["workload"] == workload) & (self.cells["status"] == "ok")].set_index("system")
        if cells.empty:
            return []
        limited = cells["bottleneck"].isin(LOWER_BOUND_LIMITS)
        failing = set(cells.index[cells["errors_fraction"] > ERRORS_TOLERANCE])
        floor = self.noise_floor_ratio.get(workload, math.nan) - 1

        def row(a: str, b: str, family: str, found: pooled.SessionsRatio) -> Row:
            side = bound(bool(limited[a]), bool(limited[b]))
            said = "not comparable" if {a, b} & failing else verdict(found.interval, floor, side)
            about: Row = {"workload": workload, "system_a": a, "system_b": b, "family": family, "bound": side}
            return about | pooled.ratio_columns(found) | {"verdict": said if family == "leader" else ""}

        systems = [system for system in cells.index if system != CONTROL]
        able = [system for system in systems if system not in failing]
        leader = max(able, key=lambda system: cells["throughput_rps"][system]) if able else None
        rows = [
            row(system, leader, "leader", self.paired((system, workload), (leader, workload), len(able)))
            for system in able
            if leader is not None and system != leader
        ]
        for a, b in itertools.combinations(systems, 2):
            # A system that responds with errors is not comparable with the leader either.
            family = "leader" if leader in (a, b) else "other"
            if family == "other" or {a, b} & failing:
                a, b = (b, a) if a == leader else (a, b)
                rows.append(row(a, b, family, self.paired((a, workload), (b, workload))))
        if {CONTROL, self.baseline} <= set(cells.index):
            rows.append(row(CONTROL, self.baseline, "control", self._control(workload)))
        return rows

    def _control(self, workload: str) -> pooled.SessionsRatio:
        return self.paired((CONTROL, workload), (self.baseline, workload))

    def paired(self, first: Place, second: Place, systems_count: int = 2) -> pooled.SessionsRatio:
        """Return the throughput of one (system, workload) over that of another; see :func:`runners.analyse.pooled.ratio_over`."""
        return pooled.ratio_over([*self.others, self.session], first, second, systems_count)

    @cached_property
    def shape_ratios(self) -> pd.DataFrame:
        """Return the throughput of each cell with a closed loop of its own over that of the same cell in the run's load.

        Columns
        -------
        system, workload (without its shape), shape, ratio with its interval; cells without a number on either side are left out.
        """
        offered = set(self._offered)
        return pooled.shape_ratios(self.cells[~self.cells["workload"].isin(offered)], self.workloads, self.paired)

    @cached_property
    def noise_floor_ratio(self) -> dict[str, float]:
        """Return workload → 1 and how far the control's interval reaches from 1: 1.013 is 1.3 %."""
        floors = {workload: noise_floor(self._control(workload).interval) for workload in self.ranked}
        return {workload: 1 + floor for workload, floor in floors.items() if math.isfinite(floor)}

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Return throughputs as shares of the same server's floor with the same body."""
        columns = ["system", "floor_system", "workload", "floor_workload", *interval_columns("share", "_ratio")]
        compared = self.cells["workload"].isin(self.manifest.compared) & (self.cells["system"] != CONTROL)
        rows = []
        for cell in self.cells[compared & (self.cells["status"] == "ok")].itertuples():
            floor = (self.manifest.systems[cell.system].build, f"{self.manifest.floor}-{cell.operations_count:.0f}")
            if not self.session.launches(*floor).empty:
                found = self.paired((cell.system, cell.workload), floor).interval
                rows.append((cell.system, floor[0], cell.workload, floor[1], found.value, found.low, found.high))
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Return the percentile curves; see :func:`runners.analyse.cells.build_curves`."""
        return build_curves(self.tables, self.cells)

    @cached_property
    def published(self) -> pd.DataFrame:
        """Return the published values for the cells of this run, from another machine."""
        return published_values(self.cells)

    @property
    def published_amounts(self) -> pd.DataFrame:
        """Return all that was published for this experiment's systems and others, whether or not they are cells of this run."""
        return figures().loc[lambda known: known["experiment"] == self.run.experiment]

    @cached_property
    def for_claims(self) -> ForClaims:
        """Return the values that claims are judged by; see :func:`runners.analyse.claims.ratios.for_claims`.

        The published build was of a Go that came with its library compiled: a build after a change is the nearest to it.
        """
        return for_claims(self, self.builds.set_index("system")["incremental_s"].to_dict())

    @cached_property
    def precision_reached_ratio(self) -> float:
        """Return the largest half-width of this session's ratios to a leader and of the control's; infinite where one has no interval."""
        rows = self.comparisons.loc[self.comparisons["family"] != "other", interval_columns("own_ratio")]
        return precision_reached(Interval(*ends) for ends in rows.itertuples(index=False))

    @property
    def budget_note(self) -> str:
        """Return a sentence about the limit that ended the run early; empty when the precision was reached."""
        ended_early = self.precision_ratio < self.precision_reached_ratio < math.inf and self.profile != "quick"
        return "the limits of time and blocks ended the run before it reached that" if ended_early else ""


def analyse(run: Run) -> Results:
    """Analyse a run from its raw records alone."""
    return Results(run, run.read(), run_tables(run))
