"""Who leads a workload and by how much, from the summary of a run."""

import json
import math

import pytest

from runners.analyse.standings import answer, ratios_to_leader, standings
from runners.core.project import PROJECT

REFERENCE = PROJECT / "data/processed/02-json-decode/reference/summary.json"


def quantity(value, low=None, high=None):
    return {"value": value, "low": low, "high": high}


def summary(ratios, bound="", leader="fast"):
    rates = {leader: 100.0} | {name: 100.0 * value for name, (value, _, _) in ratios.items()}
    return {
        "headline": "It is fast.",
        "cells": [{"system": name, "workload": "w", "throughput_rps": quantity(rate)} for name, rate in rates.items()],
        "comparisons": [
            {"workload": "w", "system_a": name, "system_b": leader, "ratio": quantity(*ratio), "blocks_count": 4,
             "family": "leader", "bound": bound}
            for name, ratio in ratios.items()
        ]
        + [{"workload": "w", "system_a": "x", "system_b": "y", "ratio": quantity(9.0), "blocks_count": 4,
            "family": "other", "bound": ""}],
    }  # fmt: skip


def test_the_lead_is_over_the_next_system_and_its_interval_is_turned_round():
    (found,) = standings(summary({"slow": (0.25, 0.2, 0.3), "next": (0.5, 0.4, 0.8)}))
    assert (found.leader, found.following, found.blocks_count) == ("fast", "next", 4)
    assert (found.lead.value, found.lead.low, found.lead.high) == (2.0, 1.25, 2.5)


@pytest.mark.parametrize(
    ("of_other", "of_leader", "at_least"),
    [("", "", False), ("at most", "at least", True), ("at least", "at most", False), ("unknown", "unknown", True)],
)
def test_a_bound_is_turned_round_with_the_ratio(of_other, of_leader, at_least):
    (found,) = standings(summary({"next": (0.5, 0.4, 0.8)}, of_other))
    assert (found.bound, found.at_least) == (of_leader, at_least)


def test_a_ratio_of_one_block_has_no_interval():
    (found,) = standings(summary({"next": (0.5, None, None)}))
    assert math.isnan(found.lead.low)
    assert math.isnan(found.lead.high)


def capacity(system, value, ratio, bound=""):
    return {"base_workload": "w", "objective": "p99 <= 5 ms", "system": system, "leader": "fast", "launches_count": 3,
            "capacity_rps": quantity(value), "ratio": quantity(ratio), "ratio_bound": bound}  # fmt: skip


def test_the_largest_rates_within_an_objective_have_a_leader_too():
    rows = [capacity("fast", 90.0, 1.0), capacity("next", 60.0, 2 / 3), capacity("control", 91.0, 1.01)]
    (found,) = standings(
        {"headline": "H", "cells": [], "comparisons": [], "capacities": [*rows, capacity("gone", None, None)]}
    )
    assert (found.workload, found.leader, found.following) == ("w, p99 ≤ 5 ms", "fast", "next")
    assert (found.lead.value, found.throughput_rps.value, found.is_capacity) == (1.5, 90.0, True)


def test_a_run_that_compares_nothing_has_no_leader():
    assert standings({"headline": "Nothing.", "cells": [], "comparisons": []}) == []


def test_the_answer_is_the_headline_where_a_report_has_no_other():
    assert answer({"headline": "H"}) == answer({"headline": "H", "answer": ""}) == "H"
    assert answer({"headline": "H", "answer": "A"}) == "A"


def test_the_leader_of_the_reference_has_the_largest_throughput_of_its_workload():
    found = json.loads(REFERENCE.read_text())
    assert {ratio.workload for ratio in ratios_to_leader(found)} == {each.workload for each in standings(found)}
    for each in standings(found):
        rates = {
            cell["system"]: cell["throughput_rps"]["value"]
            for cell in found["cells"]
            if cell["workload"] == each.workload and cell["system"] != "control"
        }
        assert max(rates, key=rates.get) == each.leader
