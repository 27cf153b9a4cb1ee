"""Several sessions in a report, as a user gets it; what was measured is made up, so nothing is launched."""

import json
import os
import subprocess
import sys

import pytest
from bs4 import BeautifulSoup

from runners.core.project import PROJECT
from tests.analyse.test_sessions import MACHINE, measured
from tests.e2e.test_compare import wrkbook
from tests.e2e.test_reference import MOST_WORDS
from tests.test_language import words

pytestmark = pytest.mark.e2e
SHARES = [0.90, 0.86, 0.93, 0.89]
NIGHT = "02-json-decode/night-4"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A ledger with four sessions of 02, and the report of the last one."""
    data = tmp_path_factory.mktemp("data")
    for place, share in enumerate(SHARES):
        measured(data / "raw", place, share, f"night-{place + 1}", parameters={"seed": 1, "precision": 0.02})
    outcome = wrkbook("report", "night-4", data=data)
    assert outcome.returncode == 0, outcome.stderr
    return data


def report(data):
    return BeautifulSoup((data / "processed" / NIGHT / "report.html").read_text(), "html.parser")


def text_of(page):
    """Return the text of a page with single plain spaces."""
    return " ".join(page.get_text(" ").split())


def summary(data):
    return json.loads((data / "processed" / NIGHT / "summary.json").read_text())


def test_the_report_shows_the_sessions_and_says_what_its_intervals_cover(data):
    page = report(data)
    text = text_of(page)
    assert "Intervals are 95 % and cover one further session: 4 sessions within 3 h" in text
    chart = next(each for each in page.select("figure") if "4 sessions: the ratio to fast+a in each" in each.get_text())
    assert chart.select("svg")
    assert "In this session 24 of 24 trials are valid, n = 8 launches a cell." in text


def test_the_answer_and_the_summary_have_the_interval_of_a_further_session(data):
    found = summary(data)
    row = next(row for row in found["comparisons"] if row["family"] == "leader")
    assert row["sessions_count"] == 4
    assert row["ratio"]["low"] < min(SHARES) < max(SHARES) < row["ratio"]["high"]
    assert row["own_ratio"]["high"] < 1 < row["ratio"]["high"]
    assert row["verdict"] == "undecided"
    assert [each["run_id"] for each in found["sessions"]] == [f"night-{place}" for place in (1, 2, 3, 4)]
    assert "not told apart" in found["headline"]


def test_the_report_stays_short(data):
    page = report(data)
    for hidden in page.select("details, script, style, svg, nav"):
        hidden.decompose()
    assert words(text_of(page)) <= MOST_WORDS


def test_own_session_only_gives_the_interval_of_this_session(data):
    outcome = wrkbook("report", "night-4", "--own-session-only", data=data)
    assert outcome.returncode == 0, outcome.stderr
    assert "cover this session only" in text_of(report(data))
    row = next(row for row in summary(data)["comparisons"] if row["family"] == "leader")
    assert (row["sessions_count"], row["verdict"]) == (1, "slower")
    assert row["ratio"] == row["own_ratio"]


def test_the_benchmark_prints_the_record_of_a_ledger(data):
    env = {**os.environ, "WRKBOOK_DATA": str(data)}
    command = [sys.executable, PROJECT / "benchmarks" / "sessions.py", "record"]
    outcome = subprocess.run(command, capture_output=True, text=True, env=env, cwd=PROJECT, timeout=120)
    assert outcome.returncode == 0, outcome.stderr
    assert "of all other sessions" in outcome.stdout
    assert "4 of 4" in outcome.stdout
    assert MACHINE["cpu"] not in outcome.stdout
