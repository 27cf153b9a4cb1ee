"""Notebook 09 as a user runs it, with two systems: on two CPUs it measures one alone and two beside the load generator."""

import json

import pandas as pd
import pytest

from runners.machine.topology import parse_cpu_list
from tests.e2e.browser import browser
from tests.e2e.conftest import wrkbook

pytestmark = [pytest.mark.e2e, pytest.mark.quiet]
EXPERIMENT = "09-cpu-scaling"
SMALL = ("-p", "systems", "drogon+simdjson,gin+encoding/json", "-p", "workloads", "decode", "-p", "max_blocks", "1")


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    outcome = wrkbook("run", "09", "--profile", "quick", "--run-id", "e2e", *SMALL, data=data)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    return data


@pytest.fixture(scope="module")
def summary(scaled):
    return json.loads((scaled / "processed" / EXPERIMENT / "e2e/summary.json").read_text())


def test_each_number_of_cpus_is_measured_on_the_first_of_the_planned_ones(scaled):
    record = json.loads((scaled / "raw" / EXPERIMENT / "e2e/run.json").read_text())
    planned = parse_cpu_list(record["pinning"]["server"])
    counts = {each["shape"]["server_cpus_count"] for each in record["workloads"].values()}
    assert {1, len(planned)} <= counts
    assert len(counts) >= 2


def test_the_cost_of_a_request_is_the_cpu_time_over_the_requests_of_the_same_rate(scaled, summary):
    folder = scaled / "processed" / EXPERIMENT / "e2e"
    usage = pd.read_parquet(folder / "usage.parquet")
    servers = usage[usage["role"] == "server"]
    known = [row for row in summary["costs"] if row["cost_ratio"]["value"] is not None]
    assert known
    for row in known:
        own = servers[(servers["system"] == row["system"]) & (servers["workload"] == row["workload"])]
        by_block = own.groupby("block")["cpu_per_request_s"].prod()
        assert row["cpu_per_request_s"]["value"] == pytest.approx(by_block.prod() ** (1 / len(by_block)), rel=1e-6)
    assert len({row["offered_rps"] for row in known}) == 1


def test_the_published_shape_is_refused_before_anything_starts_where_cpus_are_missing(tmp_path):
    outcome = wrkbook("run", "09", "-p", "shape", "as-published", "-p", "server_cpus", "0", data=tmp_path)
    assert outcome.returncode != 0
    assert "16 server threads have a CPU each" in outcome.stderr
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("width", [1366, 390])
def test_the_report_shows_its_charts_and_tables_at_any_width(scaled, tmp_path, width):
    with browser(scaled / "processed", tmp_path) as chromium:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"file:///src/{EXPERIMENT}/e2e/report.html")
        assert errors == []
        assert page.locator(".wb-panels svg").count() >= 2
        assert page.locator("table").count() >= 3
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
