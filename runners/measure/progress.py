"""The progress of a run: windows that count, failures, the precision of its ratios, and the rates that its searches found."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import pandas as pd

from runners.analyse.checks.conditions import DISTURBANCES
from runners.analyse.comparisons import against_leader, compare_sides, launch_cpu_times, launch_throughputs, of_cell
from runners.analyse.tables import MeasuredWindow, load_results
from runners.core.parameter_values import Objective, objectives
from runners.core.records import SEARCH_WINDOW, Interval, LoadProfile, System
from runners.core.trial_record import TrialRecord
from runners.measure.capacity_search import met, on_schedule
from runners.measure.design import BlockSettings, Cell, Design
from runners.measure.load_levels import rounded
from runners.stats.estimates import UNKNOWN, geometric_mean_interval
from runners.stats.verdicts import bracket, precision_reached, regression

# After so many failures a system is not launched any more in this run.
_FAILURES_TOLERATED = 2
# The next block has a new backend, and ports again.
_NOT_THE_SYSTEMS = ("backend", "ports")
# A confirmation is at the low end of the interval, but not so far below the estimate that it confirms nothing.
_LEAST_CONFIRMED = 0.8
_CONFIRMATIONS_COUNT = 3


@dataclass
class RunProgress:
    """The progress of a run: its valid `windows`, and the (system, workload) of trials that only the machine has made void.

    `capacities` holds the largest rate that each launch's search found under each objective.

    `parse` returns the measured windows of a record, see :func:`runners.analyse.tables.measured_windows`.
    """

    settings: BlockSettings
    parse: Callable[[TrialRecord], list[MeasuredWindow]]
    windows: list[MeasuredWindow] = field(default_factory=list)
    void_cells: set[tuple[str, str]] = field(default_factory=set)
    failures: Counter[System | Cell] = field(default_factory=Counter)
    capacities: dict[tuple[Cell, Objective], list[float]] = field(default_factory=dict)

    def add(self, record: TrialRecord) -> None:
        """Count one trial record in; a confirmation is for the analysis only."""
        if record.shape.objectives and record.shape.rate_rps is not None:
            return
        if failure := record.failure:
            if failure.stage not in _NOT_THE_SYSTEMS:
                cell = cell_of(self.settings.design, record)
                # A process of its own: what many connections do to it says nothing of how it does with few.
                self.failures[cell if self.settings.design.process_per_cell else cell.system] += 1
            return
        if record.shape.objectives and record.shape.rate_rps is None:
            self.add_search(record)
        for window in self.parse(record):
            if not window.void_for:
                self.windows.append(window)
            elif set(window.void_for) <= DISTURBANCES:
                self.void_cells.add((window.system, window.workload))

    def add_search(self, record: TrialRecord) -> None:
        """Count in the largest rates that the search of one launch found."""
        cell = cell_of(self.settings.design, record)
        windows = [
            (raw.load.rate_rps or 0.0, result) for raw, result in load_results(record) if raw.kind == SEARCH_WINDOW
        ]
        for goal in objectives(record.shape.objectives):
            found = bracket((rate, met(result, goal)) for rate, result in windows if on_schedule(result))
            if not math.isnan(found.met_rps):
                self.capacities.setdefault((cell, goal), []).append(found.met_rps)

    @property
    def excluded(self) -> set[System | Cell]:
        """Systems that do not conform, or failed too often to be tried again; with a process per cell, single cells that did."""
        failing = {system for system, count in self.failures.items() if count >= _FAILURES_TOLERATED}
        return failing | {
            system for system in self.settings.design.systems if system.build in self.settings.nonconforming
        }

    @property
    def invalidated(self) -> set[Cell]:
        """Cells without one window that counts, where a quieter machine might give one."""
        invalidated = self.void_cells - {(window.system, window.workload) for window in self.windows}
        cells = self.settings.design.without(self.excluded)
        return {cell for cell in cells if (cell.system.name, cell.workload.label) in invalidated}

    def precision(self) -> float:
        """Return the largest half-width among the ratios to each workload's leader and of the control; infinite while unknown."""
        if not self.windows:
            return math.inf
        throughputs = launch_throughputs(pd.DataFrame(self.windows).assign(void=False))
        ratios: list[Interval] = []
        for workload in self.settings.design.compared:
            if workload.shape.rate_rps:
                continue  # what is completed is what was offered
            systems = [cell.system for cell in self.settings.design.cells if cell.workload == workload]
            sides = {system: of_cell(throughputs, system.name, workload.label) for system in systems}
            sides = {system: side for system, side in sides.items() if len(side)}
            compared = {system.name: side for system, side in sides.items() if not system.control}
            if compared:
                ratios += [found.interval for found in against_leader(compared).values()]
            ratios += [
                compare_sides(sides[control], sides[system]).interval
                for control, system in itertools.permutations(sides, 2)
                if control.repeats(system)
            ]
        return precision_reached(ratios)

    def decided(self, threshold: float) -> bool:
        """Return whether a slowdown by `threshold` is decided in every workload for each pair of the design.

        By throughput and by CPU time, since what limits a cell is known in the analysis only. False where there is no pair.
        """
        windows = pd.DataFrame(self.windows, columns=[each.name for each in fields(MeasuredWindow)]).assign(void=False)
        more_is_better = (launch_throughputs(windows), 1 / launch_cpu_times(windows))
        decisions = []
        for workload in self.settings.design.compared:
            systems = [cell.system for cell in self.settings.design.cells if cell.workload == workload]
            for amounts in more_is_better if not workload.shape.rate_rps else ():
                sides = {system: of_cell(amounts, system.name, workload.label) for system in systems}
                pairs = [pair for pair in self.settings.design.pairs if sides.keys() >= {*pair}]
                same = [(control, system) for control in systems for system in systems if control.repeats(system)]
                control = compare_sides(*(sides[each] for each in same[0])).interval if same else UNKNOWN
                decisions += [
                    regression([compare_sides(sides[now], sides[then]).interval], control, threshold)
                    for now, then in pairs
                ]
        return bool(decisions) and "undecided" not in decisions


def cell_of(design: Design, record: TrialRecord) -> Cell:
    """Return the cell of a design that a record is of."""
    names = (record.system, record.workload)
    return next(cell for cell in design.cells if (cell.system.name, cell.workload.label) == names)


def confirmation(progress: RunProgress) -> BlockSettings:
    """Return the settings of a block that confirms the capacities found: three windows of each on new launches.

    The rate is the low end of the interval over launches, at least 80 % of the estimate.
    """
    cells = []
    for (cell, goal), found in progress.capacities.items():
        if cell.system.control:
            continue
        estimate = geometric_mean_interval(found)
        low = estimate.low if math.isfinite(estimate.low) else 0.0
        rate_rps = rounded(max(low, _LEAST_CONFIRMED * estimate.value))
        shape = LoadProfile(
            f"confirmation of {goal.text}", cell.workload.shape.generator, rate_rps=rate_rps, objectives=(goal.text,)
        )
        cells.append(Cell(cell.system, replace(cell.workload, shape=shape)))
    settings = progress.settings
    return replace(
        settings,
        design=replace(settings.design, cells=tuple(cells), compared=()),
        profile=replace(settings.profile, windows_count=_CONFIRMATIONS_COUNT),
    )
