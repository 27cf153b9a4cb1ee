"""Which rates are planned from what the systems carry."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from runners.core.load import Load
from runners.core.records import LoadProfile, System, Workload
from runners.core.request import Request
from runners.core.run_manifest import PlannedRates
from runners.experiments.proxy_loads import RELAYED
from runners.generators.perf_gauge import PerfGauge, paced, portion
from runners.measure.design import Cell, Design
from runners.measure.fixed_rates import planned_rate, round_down, tiers, with_rates

CONNECTING = RELAYED[0]
RATES = st.floats(5, 80_000)


def planned(capacities):
    return [(load.shape.rate_rps, load.systems) for load in tiers(CONNECTING, capacities, "direct")]


def test_a_machine_that_carries_the_published_rate_gets_it():
    assert planned({"direct": 20_000, "a": 9_000, "b": 8_000}) == [(3500, None)]


def test_else_the_rate_is_the_highest_round_one_below_60_percent_of_the_slowest():
    assert planned({"direct": 9_000, "a": 2_000, "b": 1_900}) == [(1000, None)]


def test_direct_access_is_offered_at_most_half_of_what_it_carries():
    assert planned({"direct": 1_000, "a": 2_000}) == [(500, None)]
    assert planned({"direct": 6_900, "a": 9_000}) == [(3000, None)]
    assert planned({"direct": 7_000, "a": 9_000}) == [(3500, None)]


def test_slow_systems_share_a_rate_with_all_and_the_others_have_a_higher_one_besides():
    capacities = {"direct": 9_000, "a": 8_000, "slow": 3_000, "b": 7_000, "c": 7_000}
    assert planned(capacities) == [(1500, None), (3500, ["direct", "a", "b", "c"])]


def test_there_is_one_tier_where_the_faster_would_be_no_faster():
    assert planned({"direct": 600, "a": 8_000, "slow": 3_000, "b": 7_000}) == [(300, None)]


@given(RATES)
def test_a_planned_rate_is_round_and_below_its_bound_by_less_than_a_quarter(rate):
    found = round_down(rate)
    assert rate * 0.75 <= found <= rate + 1e-6
    assert float(f"{found:.1e}") == pytest.approx(found)


@given(st.lists(RATES, min_size=1, max_size=7), RATES)
def test_nobody_is_offered_more_than_60_percent_of_what_it_carries(capacities, published):
    named = {str(place): rps for place, rps in enumerate(capacities)}
    assert planned_rate(named, published, "0") <= max(1.0, 0.6 * min(capacities)) + 1e-6
    assert planned_rate(named, published, "0") <= max(1.0, 0.5 * capacities[0]) + 1e-6


def test_the_rate_that_all_carry_is_repeated_by_the_published_tool():
    (again,) = CONNECTING.repeated(600.0)
    assert (again.load, again.shape.name) == ("no-keepalive", "no-keepalive-perf-gauge")
    assert (again.shape.generator, again.shape.rate_rps, again.systems) == ("perf-gauge", 600.0, None)
    assert again.shape.requested_rps > 600.0
    assert CONNECTING.planned(600.0).shape.generator == "paceload"
    assert replace(CONNECTING, second=None).repeated(600.0) == []


@given(RATES)
def test_a_paced_rate_is_sent_one_by_one_and_requests_a_little_more_than_it_offers(rate):
    clients, requested = paced(rate)
    load = Load(clients, 1, 1.0, rate_rps=rate, requested_rps=requested)
    each = portion(load)
    assert each.count == 1
    assert each.rate_rps * clients == pytest.approx(requested)
    late_rps = clients / (each.every_ms / 1000 + 0.0016)
    assert rate <= late_rps + 1e-6
    assert clients <= max(40, rate / 200 * 1.33 + 1)
    PerfGauge().command(Request("GET", "/"), load, "127.0.0.1", 1)


def test_the_design_takes_the_rates_of_a_run_and_leaves_out_who_is_too_slow_for_the_faster_tier():
    rated, other = Workload("relay", shape=CONNECTING.unplanned), Workload("relay", shape=LoadProfile("maximum"))
    systems = [System("direct"), System("a"), System("slow"), System("direct", control=True)]
    design = Design(tuple(Cell(system, workload) for workload in (rated, other) for system in systems), (rated, other))
    loads = tiers(CONNECTING, {"direct": 9_000, "a": 8_000, "slow": 1_000}, "direct") + CONNECTING.repeated(600.0)
    found = with_rates(design, PlannedRates(capacities={}, loads=loads))
    named = [(cell.workload.label, cell.system.name) for cell in found.cells]
    assert named == [
        *(("relay@no-keepalive", name) for name in ("direct", "a", "slow", "control")),
        *(("relay@no-keepalive-fast", name) for name in ("direct", "a", "control")),
        *(("relay@no-keepalive-perf-gauge", name) for name in ("direct", "a", "slow", "control")),
        *(("relay@maximum", name) for name in ("direct", "a", "slow", "control")),
    ]
    assert [workload.shape.rate_rps for workload in found.compared] == [600, 3500, 600, None]
    assert with_rates(design, None) is design
