"""Notebook 05 as a user runs it, small: two systems, ten and a hundred connections, and more than fit anywhere."""

import json

import pytest

from tests.e2e.browser import browser
from tests.e2e.conftest import wrkbook

pytestmark = [pytest.mark.e2e, pytest.mark.quiet]
SMALL = (
    "--profile",
    "quick",
    "-p",
    "systems",
    "net-http,express",
    "-p",
    "blog_connection_counts",
    "10",
    "-p",
    "max_blocks",
    "1",
)
RUN = "05-connection-scale/scale-e2e"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    data = tmp_path_factory.mktemp("scale")
    # 60,000 connections are more than the kernel's ports for clients, however many files may be open.
    levels = ("-p", "connection_counts", "10,100,60000")
    return data, wrkbook("run", "05", *SMALL, *levels, "--run-id", "scale-e2e", data=data, timeout=400)


def test_the_run_ends_well_without_what_did_not_fit(run):
    data, outcome = run
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    summary = json.loads((data / "processed" / RUN / "summary.json").read_text())
    assert "at 100 connections" in summary["headline"]
    assert any("json10 at 10 connections" in text for text in summary["conclusions"])
    assert any("One more connection costs" in text for text in summary["conclusions"])
    workloads = {cell["workload"] for cell in summary["cells"]}
    assert workloads == {"json10@10", "json10@100", "blog@10"}


def test_each_cell_says_what_was_open_and_what_its_own_process_held(run):
    data, _ = run
    summary = json.loads((data / "processed" / RUN / "summary.json").read_text())
    for cell in summary["cells"]:
        assert cell["status"] == "ok", cell
        assert cell["established_count"] == cell["requested_connections_count"]
        assert 0 < cell["memory_before_rss_bytes"] <= cell["rss_peak_bytes"]
        assert cell["threads_count"] >= 1
        assert cell["fds_count"] >= cell["requested_connections_count"] or cell["server"] == "express"
        assert cell["errors_count"] == 0


def test_the_report_is_whole_and_quiet(run, tmp_path):
    data, _ = run
    with browser(data / "processed", tmp_path) as chromium:
        page = chromium.new_page(viewport={"width": 1366, "height": 900})
        told, requested = [], []
        page.on("console", lambda message: told.append(message.text))
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"file:///src/{RUN}/report.html")
        assert told == []
        assert [url for url in requested if not url.startswith(("file:///src/", "data:"))] == []
        assert page.locator(".wb-panels svg").count() >= 5
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        text = page.inner_text("body")
    assert "60000 connections do not fit" in text
    assert "Not measured yet" not in text


def test_connections_of_which_none_fits_are_an_error_with_a_remedy(tmp_path):
    levels = ("-p", "connection_counts", "60000", "-p", "blog_connection_counts", "60000")
    outcome = wrkbook("run", "05", *SMALL[:5], *levels, data=tmp_path, timeout=120)
    assert outcome.returncode == 1
    assert "none fits into" in outcome.stderr
    assert "→" in outcome.stderr
