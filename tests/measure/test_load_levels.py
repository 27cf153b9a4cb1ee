"""Rates as shares of capacities: which are planned, and which cells are measured at them."""

from dataclasses import replace

from runners.core.parameter_values import objectives
from runners.core.records import System, Workload
from runners.core.run_manifest import PlannedRates
from runners.measure.design import Cell, Design
from runners.measure.fixed_rates import with_rates
from runners.measure.load_levels import LoadLevels, _loads, search_ranges

CAPACITIES = {"fast": 50_000.0, "slow": 10_000.0}
SYSTEMS = (System("fast"), System("slow"), System("fast", control=True))


def planned(levels: LoadLevels, most_rps: float = 1e6) -> PlannedRates:
    loads = _loads(levels, "ping", CAPACITIES, most_rps)
    return PlannedRates(capacities={"ping": CAPACITIES}, generator_rps=most_rps, loads=loads)


def design(levels: LoadLevels) -> Design:
    workloads = [Workload("ping", shape=profile) for profile in levels.profiles]
    cells = tuple(Cell(system, workload) for workload in workloads for system in SYSTEMS)
    return Design(cells, tuple(each for each in workloads if not each.shape.objectives))


def test_rates_are_shares_of_the_slowest_for_all_and_of_each_faster_one_for_itself() -> None:
    found = planned(LoadLevels((0.5,), (0.5,))).loads
    assert [(load.shape.rate_rps, load.share_of, load.systems) for load in found] == [
        (5_000, "slowest", None),
        (25_000, "own", ["fast"]),
    ]


def test_given_rates_replace_the_shares() -> None:
    found = planned(LoadLevels((0.5,), (0.5,), (100.0, 200.0))).loads
    assert [(load.shape.rate_rps, load.share, load.share_of) for load in found] == [(100, None, ""), (200, None, "")]


def test_no_rate_is_above_what_the_load_generator_can_pace() -> None:
    assert [load.shape.rate_rps for load in planned(LoadLevels((0.5,), (0.5, 0.9)), 30_000).loads] == [5_000, 25_000]


def test_the_control_is_measured_at_equal_rates_and_not_at_own_ones() -> None:
    levels = LoadLevels((0.5,), (0.5,), objectives=tuple(objectives(["p99 <= 5 ms"])))
    found = with_rates(design(levels), planned(levels))
    assert [(cell.workload.shape.name, cell.system.name) for cell in found.cells] == [
        *(("5000/s", name) for name in ("fast", "slow", "control")),
        ("25000/s", "fast"),
        *(("capacity", name) for name in ("fast", "slow", "control")),
    ]
    assert [each.shape.name for each in found.compared] == ["5000/s", "25000/s"]


def test_a_search_begins_below_what_a_closed_loop_reached_and_ends_at_what_can_be_paced() -> None:
    levels = LoadLevels(objectives=tuple(objectives(["p99 <= 5 ms"])))
    rates = planned(levels, 40_000)
    assert search_ranges(design(levels), rates) == {
        ("fast", "ping"): (45_000, 40_000),
        ("slow", "ping"): (9_000, 40_000),
        ("control", "ping"): (45_000, 40_000),
    }
    assert search_ranges(design(levels), None) == {}
    assert search_ranges(replace(design(levels), cells=()), rates) == {}


def test_levels_for_named_cells_alone_add_no_load_to_the_others() -> None:
    assert LoadLevels(of_own=(0.7,), everywhere=False).profiles == []


def test_a_rate_that_the_generator_can_just_pace_is_not_left_out_by_its_rounding() -> None:
    loads = _loads(LoadLevels(of_own=(0.7,)), "ping", {"fast": 123_456.0}, most_rps=86_400.0)
    assert [load.shape.rate_rps for load in loads] == [86_400.0]
