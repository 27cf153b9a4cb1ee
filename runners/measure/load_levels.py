"""Rates of an open loop as shares of what the systems carry, planned on this machine before the first block.

Each system is measured once without a rate. Rates are shares of what the slowest compared system carries, the same for all, and of
what each one carries itself. No rate is above the one at which the load generator keeps its schedule here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from runners.core.errors import WrkbookError
from runners.core.parameter_values import Objective
from runners.core.parameters import Profile
from runners.core.records import LoadProfile, System, Workload
from runners.core.run_manifest import PlannedLoad, PlannedRates
from runners.core.workloads import PING
from runners.generators.paceload import Paceload
from runners.measure.design import BlockSettings, Cell, Design
from runners.measure.fixed_rates import measured_capacities

LEVELS, CAPACITY = "levels", "capacity"
PILOT = LoadProfile("pilot", Paceload.name)
CEILING = Cell(System("haproxy-return"), Workload(PING, shape=PILOT))
"""A server with a fixed response: what the load generator drives it to is the generator's own capacity."""
PACED_SHARE = 0.7
"""Share of its own capacity at which the load generator has to keep its schedule."""
MOST_SHARE = 0.9
"""No rate is above this share of the load generator's own capacity: up to there it keeps its schedule (docs/validity.md), and near
its capacity requests would wait in it."""
FIRST_SHARE = 0.9
"""A search begins at this share of what a closed loop reached."""
_PILOT = Profile(0.3, 0.7, 1, 1, 1, 1.0, "what each system carries")
_DIGITS = 3


@dataclass(frozen=True)
class LoadLevels:
    """The rates of an experiment: shares of capacities, or given ones, and the objectives whose largest rate is searched.

    Attributes
    ----------
    of_slowest, of_own : tuple[float, ...]
        Shares of what the slowest compared system carries, and of what each system carries.
    rates_rps : tuple[float, ...]
        Given rates, in the place of shares.
    beside : bool
        Whether the run's own loads are measured too.
    everywhere : bool
        Whether all systems are measured at these rates; else the experiment names the cells.
    """

    of_slowest: tuple[float, ...] = ()
    of_own: tuple[float, ...] = ()
    rates_rps: tuple[float, ...] = ()
    objectives: tuple[Objective, ...] = ()
    beside: bool = False
    everywhere: bool = True

    @property
    def profiles(self) -> list[LoadProfile]:
        """The loads of a design whose rates are not planned yet."""
        if not self.everywhere:
            return []
        levels = [LoadProfile(LEVELS, Paceload.name)] if self.of_slowest or self.of_own or self.rates_rps else []
        texts = tuple(goal.text for goal in self.objectives)
        return [*levels, *([LoadProfile(CAPACITY, Paceload.name, objectives=texts)] if texts else [])]


AT_HALF = LoadLevels(of_slowest=(0.5,), beside=True)
"""Half of what the slowest system carries, beside the loads without a rate."""


def plan_levels(settings: BlockSettings, levels: LoadLevels) -> PlannedRates:
    """Return the rates of all workloads, and the capacities that they come from.

    Raises
    ------
    WrkbookError
        When a given rate is above what the load generator can pace, or nothing could be measured.
    """
    pilot = replace(_PILOT, priming_s=settings.profile.priming_s)
    ceiling = measured_capacities(settings, pilot, [CEILING])[CEILING.workload.base_label][CEILING.system.name]
    most_rps = rounded(MOST_SHARE * ceiling)
    beyond = [rate for rate in levels.rates_rps if rate > most_rps]
    if beyond:
        raise WrkbookError(
            f"parameter rates: {beyond[0]:,.0f}/s is more than the load generator can pace here",
            f"use at most {most_rps:,.0f}/s, or give the load generator more CPUs (generator_cpus)",
        )
    pilots = _pilots(settings.design)
    found = measured_capacities(settings, pilot, [cell for cell in pilots if cell != CEILING])
    if CEILING in pilots:
        found.setdefault(CEILING.workload.base_label, {})[CEILING.system.name] = ceiling
    loads = [load for label, capacities in found.items() for load in _loads(levels, label, capacities, most_rps)]
    return PlannedRates(capacities=found, generator_rps=most_rps, loads=loads)


def search_ranges(design: Design, planned: PlannedRates | None) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the first and the highest rate of each search, by system and label of the workload without its load."""
    if planned is None:
        return {}
    original = {cell.system: cell.system for cell in design.cells}
    for control in [system for system in original if system.control]:
        original[control] = next(system for system in original if control.repeats(system))
    most_rps, found = planned.generator_rps or math.inf, {}
    for cell in (cell for cell in design.cells if cell.searches):
        label = cell.workload.base_label
        capacity = planned.capacities[label].get(original[cell.system].name, most_rps)
        found[cell.system.name, label] = FIRST_SHARE * capacity, most_rps
    return found


def rounded(rate_rps: float) -> float:
    """Return a rate with three significant digits: no capacity is known better."""
    return float(f"{rate_rps:.{_DIGITS - 1}e}")


def _pilots(design: Design) -> list[Cell]:
    """Return the cells whose rates are to be planned, without a rate; on the smallest number of server CPUs, where there are several."""
    cells = [
        cell for cell in design.cells if cell.workload.shape.name in (LEVELS, CAPACITY) and not cell.system.control
    ]
    fewest = min((cell.workload.shape.server_cpus_count or 0 for cell in cells), default=0) or None
    shape = replace(PILOT, server_cpus_count=fewest)
    return list(dict.fromkeys(Cell(cell.system, replace(cell.workload, shape=shape)) for cell in cells))


def _loads(levels: LoadLevels, label: str, capacities: Mapping[str, float], most_rps: float) -> list[PlannedLoad]:
    """Return the loads of one workload; a rate that the load generator cannot pace is left out."""
    slowest = min(capacities, key=lambda system: capacities[system])
    all_same = PlannedLoad(load=LEVELS, shape=LoadProfile(), systems=None, workload=label)
    planned = [(rate, all_same) for rate in levels.rates_rps] or [
        (share * capacities[slowest], all_same.model_copy(update={"share": share, "share_of": "slowest"}))
        for share in levels.of_slowest
    ]
    for system, capacity in capacities.items():
        # The own rates of the slowest are those of all.
        for share in levels.of_own if not levels.rates_rps and (system != slowest or not levels.of_slowest) else ():
            about = {"systems": [system], "share": share, "share_of": "own"}
            planned.append((share * capacity, all_same.model_copy(update=about)))
    return [
        load.model_copy(update={"shape": _at(rounded(rate))}) for rate, load in planned if rounded(rate) <= most_rps
    ]


def _at(rate_rps: float) -> LoadProfile:
    return LoadProfile(f"{rate_rps:g}/s", Paceload.name, rate_rps=rate_rps)
