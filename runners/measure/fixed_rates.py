"""Fixed rates that every compared system can carry, planned from what each was found to carry on this machine.

Before the first block each system is measured once without a rate. A rate is the published one where the machine can carry it. Else it
is the highest round number that is at most 60 % of the capacity of the slowest compared system, and at most 50 % of that of direct access:
near saturation, latencies show how full the queues are, and direct access may share its CPUs with the load generator. Where some carry
less than half of the median, there are two tiers: a rate that all carry, and a higher one for the others. Direct access is in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_high

from runners.analyse.tables import load_results
from runners.core.errors import WrkbookError
from runners.core.parameters import Parameters, Profile
from runners.core.records import LoadProfile, System, Workload
from runners.core.run_manifest import PlannedLoad, PlannedRates
from runners.measure.block import measure_block
from runners.measure.design import BlockSettings, Cell, Design

FAST = "-fast"
_OF_SLOWEST = 0.6
_OF_DIRECT = 0.5
_SLOW = 0.5
_PILOT = Profile(1.0, 1.0, 1, 1, 1, 1.0, "what each system carries")
# Significant digits of a rate; so few, as the capacity that it comes from is known no better.
_LEADING = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)


@dataclass(frozen=True)
class SecondGenerator:
    """A load generator that repeats a load at the rate that all systems carry, so that two tools stand side by side.

    `pace` returns the connections with which it offers a rate, and the rate to request from it.
    """

    name: str
    pace: Callable[[float], tuple[int, float]]


@dataclass(frozen=True)
class FixedRateLoad:
    """A load at a rate that is still to be planned; a user sets it by `parameter`.

    `shape` is the load without its rate, by an open-loop generator. `capacity` names the load without a rate that shows what a system
    carries. `published_rps` are the published rates of the fast systems and of the slow ones.
    """

    shape: LoadProfile
    capacity: str
    parameter: str
    published_rps: tuple[float, float]
    second: SecondGenerator | None = None

    @property
    def name(self) -> str:
        """Return the name of the load."""
        return self.shape.name

    @property
    def unplanned(self) -> LoadProfile:
        """Return the load as long as its rate is not known."""
        return self.shape

    def planned(self, rate_rps: float, tier: str = "", systems: list[str] | None = None) -> PlannedLoad:
        """Return this load at a rate, for some systems (None: all)."""
        shape = replace(self.shape, name=self.name + tier, rate_rps=rate_rps)
        return PlannedLoad(load=self.name, shape=shape, systems=systems)

    def repeated(self, rate_rps: float) -> list[PlannedLoad]:
        """Return the load at a rate by the second generator; empty without one."""
        if self.second is None:
            return []
        connections, requested_rps = self.second.pace(rate_rps)
        shape = replace(
            self.planned(rate_rps, f"-{self.second.name}").shape,
            generator=self.second.name,
            connections=connections,
            requested_rps=requested_rps,
        )
        return [PlannedLoad(load=self.name, shape=shape, systems=None)]


def plan_rates(
    settings: BlockSettings, fixed_rate_loads: Sequence[FixedRateLoad], parameters: Parameters
) -> PlannedRates:
    """Return the rates that this machine can carry, and the capacities that they come from.

    Raises
    ------
    WrkbookError
        When the capacity of no system could be measured.
    """
    given = {load.name: float(getattr(parameters, load.parameter)) for load in fixed_rate_loads}
    unknown = [load.capacity for load in fixed_rate_loads if not given[load.name]]
    capacities = _capacities(settings, unknown) if unknown else {}
    direct = settings.design.systems[0].name
    loads = []
    for load in fixed_rate_loads:
        rate_rps = given[load.name]
        loads += [load.planned(rate_rps)] if rate_rps else tiers(load, capacities[load.capacity], direct)
        loads += load.repeated(rate_rps or min(each.shape.rate_rps or 0.0 for each in loads if each.load == load.name))
    return PlannedRates(capacities=capacities, loads=loads)


def tiers(load: FixedRateLoad, capacities: Mapping[str, float], direct: str) -> list[PlannedLoad]:
    """Return one or two loads, see :meth:`FixedRateLoad.planned`.

    Parameters
    ----------
    capacities : Mapping[str, float]
        System → requests per second.
    direct : str
        The system that is not one of those compared, but what they are compared with.
    """
    proxies = {name: rps for name, rps in capacities.items() if name != direct} or dict(capacities)
    usual = median_high(proxies.values())
    slow = {name for name, rps in proxies.items() if rps < usual * _SLOW}
    fast = {name: rps for name, rps in capacities.items() if name not in slow}
    fast_rps, slow_rps = load.published_rps
    shared = planned_rate(capacities, slow_rps if slow else fast_rps, direct)
    higher = planned_rate(fast, fast_rps, direct)
    loads = [load.planned(shared)]
    return [*loads, load.planned(higher, FAST, list(fast))] if higher > shared else loads


def planned_rate(capacities: Mapping[str, float], published_rps: float, direct: str) -> float:
    """Return the published rate, or the highest round one that is at most 50 % of direct access's capacity and 60 % of every other."""
    most = min(rps * (_OF_DIRECT if name == direct else _OF_SLOWEST) for name, rps in capacities.items())
    return published_rps if published_rps <= most else round_down(most)


def round_down(rate_rps: float) -> float:
    """Return the largest of 10, 12, 15, 20, 25 … 90, 100, 120 … that is not above a rate; at least 1 per second."""
    rate_rps = max(rate_rps, 1.0)
    decade = 10.0 ** math.floor(math.log10(rate_rps))
    return max(round(leading * decade, 6) for leading in _LEADING if leading * decade <= rate_rps + 1e-9)


def with_rates(design: Design, planned: PlannedRates | None) -> Design:
    """Return the design with the rates that a run has planned; as it is where there are none.

    Loads of the faster tier stand after that which all carry, for the systems that carry them and the A/A control. The same rate by a
    second generator stands last.
    """
    if not planned:
        return design
    at_a_rate = {load.load for load in planned.loads}
    cells: dict[Cell, None] = {}
    compared: dict[Workload, None] = {}
    for workload in dict.fromkeys(cell.workload for cell in design.cells):
        loads = [load for load in planned.loads if load.load == workload.shape.name]
        loads = [load for load in loads if load.workload in (None, workload.base_label)]
        as_planned = (
            [PlannedLoad(load="", shape=workload.shape, systems=None)]
            if workload.shape.name not in at_a_rate
            else loads
        )
        for load in as_planned:
            own = workload.shape
            at_rate = replace(
                workload,
                shape=replace(
                    load.shape,
                    server_cpus_count=own.server_cpus_count,
                    server_threads_count=own.server_threads_count,
                ),
            )
            cells_of = [cell for cell in design.cells if cell.workload == workload and _takes_part(cell.system, load)]
            cells |= dict.fromkeys(Cell(cell.system, at_rate) for cell in cells_of)
            compared |= {at_rate: None} if workload in design.compared and cells_of else {}
    return replace(design, cells=tuple(cells), compared=tuple(compared))


def _takes_part(system: System, load: PlannedLoad) -> bool:
    """Return whether a system is measured under a load; the control repeats what all, or all the faster, are measured under."""
    if load.systems is None:
        return True
    return load.share_of != "own" if system.control else system.name in load.systems


def _capacities(settings: BlockSettings, shapes: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return shape → system → requests per second, see :func:`measured_capacities`."""
    cells = [cell for cell in settings.design.cells if cell.workload.shape.name in shapes and not cell.system.control]
    found: dict[str, dict[str, float]] = {}
    for name in shapes:
        own = [cell for cell in cells if cell.workload.shape.name == name]
        for capacities in measured_capacities(settings, _PILOT, own).values():
            found.setdefault(name, {}).update(capacities)
    return found


def measured_capacities(
    settings: BlockSettings, profile: Profile, cells: Sequence[Cell]
) -> dict[str, dict[str, float]]:
    """Return the requests per second of each cell in one window after a warm-up: label of the workload without its load → system.

    Systems that do not conform, or fail, are left out.

    Raises
    ------
    WrkbookError
        When no system of a workload has a number.
    """
    kept = tuple(cell for cell in cells if cell.system.build not in settings.nonconforming)
    pilot = replace(settings, design=replace(settings.design, cells=kept, process_per_cell=False), profile=profile)
    found: dict[str, dict[str, float]] = {cell.workload.base_label: {} for cell in cells}
    labels = {cell.workload.label: cell.workload.base_label for cell in cells}
    for record in measure_block(pilot, 0, (), lambda _: None):
        if not record.failure:
            _, result = list(load_results(record))[-1]
            found[labels[record.workload]][record.system] = result.throughput_rps
    for label, capacities in found.items():
        if not capacities:
            raise WrkbookError(
                f"{label}: no system completed a request when capacities were measured",
                "./wrkbook verify, or set the rate as a parameter",
            )
    return found
