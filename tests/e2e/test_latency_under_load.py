"""Notebook 08 as a user runs it, with two systems, one level and one objective; its capacities follow from the records."""

import json

import pandas as pd
import pytest

from tests.e2e.browser import browser
from tests.e2e.conftest import wrkbook

pytestmark = [pytest.mark.e2e, pytest.mark.quiet]
EXPERIMENT = "08-latency-under-load"
SMALL = ("-p", "systems", "drogon+simdjson,gin+encoding/json", "-p", "workloads", "decode", "-p", "shares", "50")
SMALL += ("-p", "objectives", "p99 <= 50 ms", "-p", "priming_s", "0.3", "-p", "max_blocks", "1")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    outcome = wrkbook("run", "08", "--profile", "quick", "--run-id", "e2e", *SMALL, data=data)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    return data


@pytest.fixture(scope="module")
def summary(loaded):
    return json.loads((loaded / "processed" / EXPERIMENT / "e2e/summary.json").read_text())


def test_rates_are_shares_of_what_each_system_carried_and_equal_for_all(loaded):
    record = json.loads((loaded / "raw" / EXPERIMENT / "e2e/run.json").read_text())
    capacities, loads = record["rates"]["capacities"]["decode-10"], record["rates"]["loads"]
    slowest = [load for load in loads if load["share_of"] == "slowest"]
    assert [load["shape"]["rate_rps"] for load in slowest] == [pytest.approx(min(capacities.values()) / 2, rel=0.01)]
    assert slowest[0]["systems"] is None
    for load in (load for load in loads if load["share_of"] == "own"):
        (system,) = load["systems"]
        assert load["shape"]["rate_rps"] == pytest.approx(capacities[system] / 2, rel=0.01)


def test_a_capacity_is_the_largest_rate_that_met_the_objective_below_the_smallest_that_did_not(loaded, summary):
    trials = pd.read_parquet(loaded / "processed" / EXPERIMENT / "e2e/trials.parquet")
    windows = trials[(trials["kind"] == "search") & ~trials["void"] & (trials["late_fraction"] <= 0.01)]
    met = (windows["achieved_fraction"] >= 0.99) & (windows["response_p99_s"] <= 0.05)
    # A rate met it if more than half of its windows did.
    shares = met.groupby([windows["system"], windows["block"], windows["offered_rps"]]).mean()
    rates = shares.gt(0.5).reset_index(name="met")
    known = [row for row in summary["capacities"] if row["status"] == "ok"]
    assert known
    for row in known:
        found = []
        for _, launch in rates[rates["system"] == row["system"]].groupby("block"):
            missed = launch.loc[~launch["met"], "offered_rps"].min()
            below = launch[launch["met"] & ~(launch["offered_rps"] >= missed)]
            found.append(below["offered_rps"].max() if len(below) else missed)
        mean = pd.Series(found).prod() ** (1 / len(found))
        assert row["capacity_rps"]["value"] == pytest.approx(mean, rel=1e-6)


def test_the_first_conclusion_says_who_carries_most_within_the_objective(summary):
    assert "p99 ≤ 50 ms" in summary["headline"]
    assert "drogon+simdjson" in summary["headline"] or "gin+encoding/json" in summary["headline"]


@pytest.mark.parametrize("width", [1366, 390])
def test_the_report_shows_its_charts_and_tables_at_any_width(loaded, tmp_path, width):
    with browser(loaded / "processed", tmp_path) as chromium:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"file:///src/{EXPERIMENT}/e2e/report.html")
        assert errors == []
        assert page.locator(".wb-panels svg").count() >= 4
        assert page.locator("table").count() >= 3
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
