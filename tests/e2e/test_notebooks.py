"""Notebooks as a user runs them, and their reports as a reviewer sees them."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from runners.analyse.checks.conditions import DISTURBANCES
from runners.core.project import NOTEBOOKS, PROJECT
from tests.conftest import FULL
from tests.e2e.conftest import EXPERIMENTS, quick, wrkbook

pytestmark = [pytest.mark.e2e, pytest.mark.quiet]
QUICK = ("-p", "systems", "haproxy-return", "-p", "max_blocks", "2")


def test_the_run_ends_well_and_tells_where_the_reports_are_and_what_they_conclude(quick_run):
    data, outcome = quick_run
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    for experiment in EXPERIMENTS:
        assert f"{data}/processed/{experiment}/e2e/report.html" in outcome.stdout
    assert "smoke run" in outcome.stdout
    assert "\r" not in outcome.stderr
    assert "left" in outcome.stderr  # the live progress, with an estimate


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_summary_holds_all_systems_and_workloads_with_intervals(quick_run, experiment):
    data, _ = quick_run
    summary = json.loads((data / "processed" / experiment / "e2e/summary.json").read_text())
    planned = json.loads((data / "raw" / experiment / "e2e/run.json").read_text())["cells"]
    assert [[cell["system"], cell["workload"]] for cell in summary["cells"]] == planned
    for cell in summary["cells"]:
        assert cell["status"] == "ok", cell
        rate = cell["throughput_rps"]
        # An interval needs two launches, and a machine that has much else to do may leave one of them.
        assert cell["launches_count"] == 1 or rate["low"] <= rate["value"] <= rate["high"]
        assert cell["errors_count"] == 0
    assert summary["conclusions"]
    assert summary["noise_floor"] or any(cell["launches_count"] == 1 for cell in summary["cells"])
    void = {check["name"] for check in summary["checks"] for cell in check["failed"] if cell["void"]}
    assert void <= DISTURBANCES  # of the machine that runs the tests, not of wrkbook


def test_every_recovered_histogram_has_as_many_samples_as_requests_were_completed(quick_run):
    import pandas as pd

    data, _ = quick_run
    for experiment in EXPERIMENTS:
        folder = data / "processed" / experiment / "e2e"
        trials, latency = pd.read_parquet(folder / "trials.parquet"), pd.read_parquet(folder / "latency.parquet")
        keys = ["block", "system", "workload"]
        # Time slices give throughput only: their service times are in no histogram.
        in_one_piece = ~trials["warmup"] & ~trials["void"] & (trials["time_slices_count"] == 0)
        requests = trials[in_one_piece].groupby(keys)["requests_count"].sum()
        assert (latency.groupby(keys)["count"].sum() == requests).all()


def test_the_histogram_finds_a_known_delay(quick_run):
    data, _ = quick_run
    summary = json.loads((data / "processed/00-machine/e2e/summary.json").read_text())
    medians = {cell["workload"]: cell["p50_s"]["value"] for cell in summary["cells"] if cell["system"] == "gin"}
    for delay_ms in (5, 20):
        assert 0.99 <= 1000 * medians[f"ping-delay-{delay_ms}ms"] / delay_ms <= 5


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_report_is_whole_quiet_and_needs_nothing_from_the_network(page_of, experiment):
    page = page_of(f"{experiment}/e2e/report.html")
    assert page.told == []
    assert [url for url in page.requested if not url.startswith(("file:///src/", "data:"))] == []
    assert page.locator(".wb-panels svg").count() >= 4
    assert all(
        page.locator(".wb-panels svg").evaluate_all("charts => charts.map(chart => chart.viewBox.baseVal.width > 100)")
    )
    assert page.locator("table").count() >= 4
    headings = page.locator("h2").all_inner_texts()
    for wanted in ("Answer", "Further questions", "Limits of this run", "Details"):
        assert any(wanted in heading for heading in headings), wanted
    assert "Not measured yet" not in page.inner_text("body")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_code_is_hidden_until_it_is_shown(page_of):
    page = page_of("02-json-decode/e2e/report.html")
    call = page.get_by_text("answer = Answer(report)").first
    assert not call.is_visible()
    page.get_by_text(re.compile("show code", re.IGNORECASE)).first.click()
    assert call.is_visible()


def test_the_index_leads_to_every_report(page_of):
    page = page_of("index.html")
    assert page.told == []
    for experiment in EXPERIMENTS:
        assert page.locator(f'a[href="{experiment}/e2e/report.html"]').count() == 1


def test_a_report_is_made_again_from_raw_with_the_same_numbers(quick_run, tmp_path):
    data, _ = quick_run
    shutil.copytree(data / "raw/02-json-decode", tmp_path / "raw/02-json-decode")
    outcome = wrkbook("report", "e2e", data=tmp_path)
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    made, measured = (folder / "processed/02-json-decode/e2e/summary.json" for folder in (tmp_path, data))
    assert made.read_bytes() == measured.read_bytes()


def test_a_finished_run_of_the_same_id_measures_nothing_again(quick_run):
    data, _ = quick_run
    before = sorted((data / "raw/02-json-decode/e2e").rglob("*"))
    outcome = wrkbook(*quick("02-json-decode"), data=data)
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    assert sorted((data / "raw/02-json-decode/e2e").rglob("*")) == before


def test_a_run_id_with_other_parameters_is_refused_with_the_difference(quick_run):
    data, _ = quick_run
    outcome = wrkbook(*quick("02-json-decode"), "-p", "connections", "40", data=data)
    assert outcome.returncode == 1
    assert "connections was 80, is 40" in outcome.stderr


def test_papermill_alone_gives_the_same_cells(tmp_path):
    command = [
        sys.executable,
        "-m",
        "papermill",
        NOTEBOOKS / "01-ping.ipynb",
        tmp_path / "out.ipynb",
        "-p",
        "profile",
        "quick",
    ]
    command += [
        "-p",
        "run_id",
        "alone",
        "-y",
        "systems: [haproxy-return]",
        "-y",
        "batch_sizes: [1]",
        "-p",
        "max_blocks",
        "1",
        "-y",
        'slices: "0"',
    ]
    env = {**os.environ, "WRKBOOK_DATA": str(tmp_path)}
    outcome = subprocess.run(command, capture_output=True, text=True, env=env, cwd=PROJECT, timeout=300)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    summary = json.loads((tmp_path / "processed/01-ping/alone/summary.json").read_text())
    assert {cell["system"] for cell in summary["cells"]} == {"haproxy-return", "control"}
    assert (tmp_path / "out.ipynb").exists()


def test_the_published_table_is_filled_in_and_the_limit_of_each_column_is_named(quick_run, page_of):
    data, _ = quick_run
    summary = json.loads((data / "processed/04-text-json-sql/e2e/summary.json").read_text())
    assert any(re.match(r"Of \d+ cells, ", said) for said in summary["conclusions"])
    page = page_of("04-text-json-sql/e2e/report.html")
    busy = page.locator("table", has=page.locator("caption", has_text="Who was busy")).text_content()
    # In the short form 04 is loaded by wrk alone; test_reference.py checks both.
    for wanted in ("Text", "JSON", "PgSQL 1", "PgSQL 2, 20 records", "wrk", *(["autocannon"] if FULL else [])):
        assert wanted in busy
    assert page.locator(".wb-panels svg").count() >= 7
    for caption in ("the published table, filled in", "Behind every server", "Who was busy"):
        assert page.locator("caption", has_text=caption).count() == 1
    text = page.text_content("body")
    for wanted in (
        "46.4 k",
        "another machine",
        "jit = off",
        "SELECT CAST(now() AS VARCHAR)",
    ):
        assert wanted in text


def test_the_notebook_about_the_machine_says_what_the_machine_is_good_for(quick_run, page_of):
    data, _ = quick_run
    summary = json.loads((data / "processed/00-machine/e2e/summary.json").read_text())
    assert "the load generator drives" in summary["headline"]
    assert "Medians of known delays are off by" in "\n".join(summary["conclusions"])
    text = page_of("00-machine/e2e/report.html").text_content("body")
    for wanted in ("Preflight", "other load", "Known delays", "Little's law"):
        assert wanted in text
