"""The index of all experiments and the history of one: inert, and the same numbers as the runs."""

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from runners.analyse.standings import Ratio
from runners.core.records import Interval
from runners.present.overview import HistoryRun, IndexEntry, ratios_chart, spark_points, write_history, write_index
from tests.present.test_html import HOSTILE, Tags


def entry(experiment, date, headline, **more):
    return IndexEntry(experiment, f"{experiment} title", "a", date, "quick", "cpu", headline, **more)


def page_of(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def is_inert(html):
    tags = Tags(html).found
    handlers = [name for _, attrs in tags for name in attrs if name.startswith("on")]
    images = [attrs.get("src", "") for tag, attrs in tags if tag == "img"]
    return (
        not handlers
        and not any(tag in ("script", "iframe", "object", "link") for tag, _ in tags)
        and all(source.startswith("data:") for source in images)
    )


def test_the_index_has_a_row_for_each_experiment_with_its_answer_and_date(tmp_path):
    entries = [
        entry("02-decode", "2026-03-01T10:11:12+00:00", "decoded", runs_count=1),
        entry("01-ping", "2026-02-03T04:05:06+00:00", "newest", report="01-ping/c/report.html", runs_count=3),
    ]
    page = page_of(write_index(entries, tmp_path / "index.html"))
    ping, decode = page.select("tbody tr")
    assert (ping.th.a["href"], decode.th.a) == ("01-ping/c/report.html", None)
    assert ping.select_one(".headline").get_text() == "newest"
    assert "3 Feb 2026, 04:05 UTC" in ping.get_text()
    assert "4 runs of 2 experiments" in page.header.get_text()


def test_comparisons_stand_below_the_newest_on_top(tmp_path):
    pairs = [entry("90", "2026-01-01T00:00:00+00:00", "older"), entry("90", "2026-01-02T00:00:00+00:00", "newer")]
    page = page_of(write_index([], tmp_path / "index.html", pairs))
    assert [text.get_text() for text in page.select("section .headline")] == ["newer", "older"]
    assert "Nothing was run yet" not in page.get_text()


def test_the_index_is_inert_and_there_before_anything_was_run(tmp_path):
    hostile = IndexEntry(
        HOSTILE,
        HOSTILE,
        "b",
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        "x y/<b>.html",
        {HOSTILE: "x y/<b>.html"},
        (1.0, 2.0),
        HOSTILE,
    )
    html = write_index([hostile], tmp_path / "index.html", [hostile]).read_text(encoding="utf-8")
    assert is_inert(html)
    assert html.count("x%20y/%3Cb%3E.html") == 3
    html = write_index([], tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Nothing was run yet" in html
    assert "./wrkbook run" in html


@pytest.mark.parametrize("target", ["javascript:alert(1)", "/etc/passwd"])
def test_a_report_outside_the_folder_is_refused(tmp_path, target):
    with pytest.raises(ValueError, match="not a relative path"):
        write_index([entry("01", "2026-01-01", "x", report=target)], tmp_path / "index.html")


def test_a_sparkline_rises_where_the_lead_grows_and_needs_two_runs():
    assert spark_points([1.2]) == []
    (x1, y1), (x2, y2), (x3, y3) = spark_points([1.0, 2.0, 1.5])
    assert 0 <= x1 < x2 < x3 <= 100
    assert 0 <= y2 < y3 < y1 <= 24
    assert len({y for _, y in spark_points([1.1, 1.1])}) == 1


def history_run(run_id, date, value, answer="It is fast.", report=""):
    ratios = [Ratio("decode-1", "gin", "drogon", Interval(value, value - 0.1, value + 0.1), 4, "")]
    systems = pd.DataFrame({"system": ["gin", "drogon"], "server": ["gin", "drogon"], "codec": [None, None]})
    return HistoryRun(run_id, date, "standard", "cpu", answer, ratios, systems, report)


RUNS = [
    history_run("old", "2026-01-01T00:00:00", 0.5),
    history_run("new", "2026-02-01T00:00:00", 0.6, report="new/report.html"),
]


def test_the_history_has_the_ratio_of_every_run_with_its_interval_the_newest_on_top(tmp_path):
    page = page_of(write_history(RUNS, tmp_path / "history.html", title="02 JSON decode"))
    assert [row.get_text(" ") for row in page.select("article code, article a")] == ["new", "old"]
    assert [" ".join(head.get_text(" ").split()) for head in page.select("thead th")] == [
        "system",
        "2026-02-01 00:00 new",
        "2026-01-01 00:00 old",
    ]
    rows = [row.get_text(" ", strip=True) for row in page.select(".wb-table tbody tr") if not row.select(".wb-group")]
    assert [row.replace("\xa0", " ") for row in rows] == [
        "drogon leader leader",
        "gin 0.600 × 0.500 to 0.700, n 4 0.500 × 0.400 to 0.600, n 4",
    ]
    assert page.select_one("figure[aria-label], figure img[alt]")
    assert "2 runs on 1 machine" in page.header.get_text()


def test_the_chart_has_a_row_for_each_run_and_needs_two():
    assert ratios_chart(RUNS[:1]) is None
    chart = ratios_chart(list(reversed(RUNS)))
    (ax,) = [ax for ax in chart.axes if ax.get_title(loc="left")]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2026-02-01 00:00", "2026-01-01 00:00"]


def test_a_run_without_intervals_and_one_without_ratios_can_be_shown(tmp_path):
    alone = HistoryRun("r", "2026-01-01", "quick", "cpu", "Nothing.", [], RUNS[0].systems)
    html = write_history([alone, *RUNS], tmp_path / "history.html", title="t").read_text()
    assert "Nothing." in html
    nan = float("nan")
    one = HistoryRun(
        "r",
        "2026-01-01",
        "quick",
        "cpu",
        "A.",
        [Ratio("w", "gin", "drogon", Interval(0.5, nan, nan), 1, "at most")],
        RUNS[0].systems,
    )
    assert "≤ 0.500 ×" in write_history([one], tmp_path / "history.html", title="t").read_text()


def test_the_history_is_inert(tmp_path):
    hostile = history_run(HOSTILE, HOSTILE, 0.5, HOSTILE, "x y.html")
    hostile = HistoryRun(
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        [Ratio(HOSTILE, "gin", HOSTILE, Interval(0.5, 0.4, 0.6), 4, "")],
        hostile.systems,
    )
    html = write_history([hostile, *RUNS], tmp_path / "history.html", title=HOSTILE).read_text(encoding="utf-8")
    assert is_inert(html)
