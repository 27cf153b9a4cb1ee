"""Fixed rates that every compared system can carry, planned from what each was found to carry on this machine.

Before the first block each system is measured once without a rate. A rate is the published one where the machine can
carry it, else the highest round number that is at most 60 % of what the slowest can: near saturation latencies say how
full the queues are, not how fast anyone is. Where some systems carry less than half of the median, they would set the rate
for all; then there are two tiers: a rate that all carry, and a higher one for the others. Direct access is in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median_high
from typing import Any

from runners.analyse.tables import load_results
from runners.errors import WrkbookError
from runners.generators.perf_gauge import PerfGauge, paced
from runners.measure.block import BlockSettings, measure_block
from runners.measure.design import Cell, Design
from runners.parameters import Parameters, Profile
from runners.records import LoadShape

FAST = "-fast"
_CARRIED = 0.6
_SLOW = 0.5
_PILOT = Profile(1.0, 1.0, 1, 1, 1, 1.0, "what each system carries")
# Significant digits of a rate; so few, as the capacity that it comes from is known no better.
_LEADING = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)


@dataclass(frozen=True)
class RatedLoad:
    """A load at a rate that is still to be planned.

    Attributes
    ----------
    name : of its shape; that of the faster tier ends in ``-fast``
    capacity : the shape without a rate that says what a system carries of it
    parameter : the parameter by which a user sets the rate
    published_rps : the published rates of the fast systems and of the slow ones
    """

    name: str
    capacity: LoadShape
    parameter: str
    published_rps: tuple[float, float]

    @property
    def unplanned(self) -> LoadShape:
        """Its shape as long as the rate is not known."""
        return replace(self.capacity, name=self.name)

    def at(self, rate_rps: float, tier: str = "") -> LoadShape:
        """Its shape at a rate."""
        clients, asked_rps = paced(rate_rps)
        return replace(
            self.unplanned, name=self.name + tier, connections=clients, rate_rps=rate_rps, asked_rps=asked_rps
        )


_MAXIMUM = LoadShape("maximum", PerfGauge.name)
_CONNECTING = LoadShape("no-keepalive-capacity", PerfGauge.name, keepalive_requests=1)
RELAYED: tuple[RatedLoad, ...] = (
    RatedLoad("no-keepalive", _CONNECTING, "connection_rate_rps", (3500.0, 1500.0)),
    RatedLoad("moderate", _MAXIMUM, "request_rate_rps", (25_000.0, 25_000.0)),
)
UNLIMITED: tuple[LoadShape, ...] = (_CONNECTING, _MAXIMUM, LoadShape("maximum-wrk", "wrk"))


def plan_rates(settings: BlockSettings, rated: Sequence[RatedLoad], parameters: Parameters) -> dict[str, Any]:
    """What ``run.json`` says of the rates: ``capacities``, workload → system → requests/s, and ``loads``, see :func:`tiers`.

    Raises
    ------
    WrkbookError
        When the capacity of no system could be measured.
    """
    given = {load.name: float(getattr(parameters, load.parameter)) for load in rated}
    unknown = [load for load in rated if not given[load.name]]
    capacities = _capacities(settings, [load.capacity for load in unknown]) if unknown else {}
    loads = []
    for load in rated:
        if rate_rps := given[load.name]:
            loads += [_entry(load.at(rate_rps), None)]
        else:
            loads += tiers(load, capacities[load.capacity.name], settings.design.systems[0].name)
    return {"capacities": capacities, "loads": loads}


def tiers(load: RatedLoad, capacities: Mapping[str, float], direct: str) -> list[dict[str, Any]]:
    """One or two loads: the shape of each, and the systems that are measured with it (None: all).

    Parameters
    ----------
    capacities : system → requests per second
    direct : the system that is not one of those compared, but what they are compared with
    """
    proxies = {name: rps for name, rps in capacities.items() if name != direct} or dict(capacities)
    usual = median_high(proxies.values())
    slow = {name for name, rps in proxies.items() if rps < usual * _SLOW}
    fast_rps, slow_rps = load.published_rps
    shared = planned_rate(capacities.values(), slow_rps if slow else fast_rps)
    fast = [name for name in capacities if name not in slow]
    higher = planned_rate([capacities[name] for name in fast], fast_rps)
    if not slow or higher <= shared:
        return [_entry(load.at(shared), None)]
    return [_entry(load.at(shared), None), _entry(load.at(higher, FAST), fast)]


def planned_rate(capacities_rps: Iterable[float], published_rps: float) -> float:
    """The published rate, or the highest round one that is at most 60 % of every capacity."""
    most = min(capacities_rps) * _CARRIED
    return published_rps if published_rps <= most else round_down(most)


def round_down(rate_rps: float) -> float:
    """The largest of 10, 12, 15, 20, 25 … 90, 100, 120 … that is not above a rate; at least 1 per second."""
    decade = 10.0 ** math.floor(math.log10(max(rate_rps, 1.0)))
    return max(round(leading * decade, 6) for leading in _LEADING if leading * decade <= max(rate_rps, 1.0) + 1e-9)


def with_rates(design: Design, planned: Mapping[str, Any] | None) -> Design:
    """The design with the rates that a run has planned; as it is where there are none.

    Loads of the faster tier stand after that which all carry, for the systems that carry them and the A/A control.
    """
    if not planned:
        return design
    cells: list[Cell] = []
    tiers_of: dict[str, list[tuple[LoadShape, list[str] | None]]] = {}
    for entry in planned["loads"]:
        shape = LoadShape(**entry["shape"])
        tiers_of.setdefault(shape.name.removesuffix(FAST), []).append((shape, entry["systems"]))
    for workload in dict.fromkeys(cell.workload for cell in design.cells):
        own = [cell for cell in design.cells if cell.workload == workload]
        for shape, names in tiers_of.get(workload.shape.name, [(workload.shape, None)]):
            cells += [
                Cell(cell.system, replace(workload, shape=shape))
                for cell in own
                if names is None or cell.system.placebo or cell.system.name in names
            ]
    compared = tuple(
        dict.fromkeys(
            cell.workload for cell in cells if cell.workload.name in {compared.name for compared in design.compared}
        )
    )
    return replace(design, cells=tuple(cells), compared=compared)


def _entry(shape: LoadShape, systems: list[str] | None) -> dict[str, Any]:
    return {"shape": asdict(shape), "systems": systems}


def _capacities(settings: BlockSettings, shapes: Sequence[LoadShape]) -> dict[str, dict[str, float]]:
    """Shape → system → requests per second in one window each, after a warm-up; systems that fail are left out."""
    wanted = {shape.name for shape in shapes}
    cells = tuple(
        cell for cell in settings.design.cells if cell.workload.shape.name in wanted and not cell.system.placebo
    )
    pilot = replace(settings, design=replace(settings.design, cells=cells), profile=_PILOT)
    left_out = {system for system in settings.design.systems if system.server in settings.nonconforming}
    found: dict[str, dict[str, float]] = {shape.name: {} for shape in shapes}
    for record in measure_block(pilot, 0, left_out, lambda _: None):
        if not record["failure"]:
            _, result = list(load_results(record))[-1]
            found[record["shape"]["name"]][record["system"]] = result.throughput_rps
    for name, capacities in found.items():
        if not capacities:
            raise WrkbookError(
                f"nobody answered when the capacity for {name} was measured",
                "./wrkbook verify, or set the rate as a parameter",
            )
    return found
