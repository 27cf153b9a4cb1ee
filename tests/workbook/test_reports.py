"""The pages over all runs: every link leads somewhere, also in a clone."""

import json
import re
import shutil

import nbformat
from bs4 import BeautifulSoup

from runners.analyse.standings import standings
from runners.core.project import PROJECT
from runners.workbook import reports
from runners.workbook.reports import refresh_index, write_run_report

EXPERIMENT = "02-json-decode"
KEPT = PROJECT / "data/processed" / EXPERIMENT / "reference"


def processed(base, run_id, started_at="2026-11-23T12:48:51+00:00", *, notebook=True):
    """Make the folder of a run with the reference's numbers; returns the folder and the summary."""
    folder = base / EXPERIMENT / run_id
    folder.mkdir(parents=True)
    summary = json.loads((KEPT / "summary.json").read_text()) | {"run_id": run_id, "started_at": started_at}
    (folder / "summary.json").write_text(json.dumps(summary))
    if notebook:
        cells = [nbformat.v4.new_markdown_cell("# Title")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "notebook.ipynb")
        write_run_report(folder, summary)
    else:
        shutil.copyfile(KEPT / "report.html", folder / "report.html")
    return folder, summary


def dead_links(page):
    links = [str(link["href"]) for link in BeautifulSoup(page.read_text(), "html.parser").select("a[href]")]
    return [link for link in links if not re.match(r"#|https?:", link) and not (page.parent / link).exists()]


def test_every_link_of_the_index_a_history_and_a_report_leads_somewhere(tmp_path):
    folders = [processed(tmp_path, run_id)[0] for run_id in ("first", "second")]
    index = refresh_index(tmp_path)
    for page in (index, tmp_path / EXPERIMENT / "history.html", *(folder / "report.html" for folder in folders)):
        assert dead_links(page) == [], page


def test_of_a_run_without_its_notebook_none_is_linked(tmp_path):
    processed(tmp_path, "reference", notebook=False)
    index = refresh_index(tmp_path)
    assert "notebook.ipynb" not in index.read_text()
    assert dead_links(index) == []


def test_the_report_of_the_reference_links_only_what_a_clone_has(tmp_path):
    folder, _ = processed(tmp_path, "reference")
    links = [
        link["href"]
        for link in BeautifulSoup((folder / "report.html").read_text(), "html.parser").select("nav .links a")
    ]
    assert links == ["summary.json"]


def test_a_report_over_several_sessions_tells_how_many_beside_its_own_blocks(tmp_path):
    folder, summary = processed(tmp_path, "first")
    text = BeautifulSoup((folder / "report.html").read_text(), "html.parser").select_one("header").get_text(" ")
    assert f"{summary['blocks_count']} blocks" in text
    assert f"{len(summary['sessions']) - 1} more sessions" in text
    write_run_report(folder, summary | {"sessions": summary["sessions"][:1]})
    assert "more session" not in (folder / "report.html").read_text().partition("<main")[0]


def test_the_index_has_one_row_an_experiment_with_the_lead_of_its_runs(tmp_path):
    for number in (1, 2, 3):
        _, summary = processed(tmp_path, f"r{number}", f"2026-11-0{number}T00:00:00+00:00")
    page = BeautifulSoup(refresh_index(tmp_path).read_text(), "html.parser")
    (row,) = page.select("tbody tr")
    assert row.th.a["href"] == f"{EXPERIMENT}/r3/report.html"
    assert row.find("a", string="3 runs")["href"] == f"{EXPERIMENT}/history.html"
    assert len(row.polyline["points"].split()) == 3
    found = next(each for each in standings(summary, own=True) if each.workload == "decode-10")
    words = rf"{found.workload}: {re.escape(found.leader)} [\d.]+ × {re.escape(found.following)}"
    assert re.search(words, row.select_one(".lead").get_text())


def test_the_history_shows_each_run_with_its_ratios(tmp_path):
    processed(tmp_path, "first")
    _, summary = processed(tmp_path, "second")
    refresh_index(tmp_path)
    page = BeautifulSoup((tmp_path / EXPERIMENT / "history.html").read_text(), "html.parser")
    assert len(page.select("article")) == 2
    leaders = [row for row in summary["comparisons"] if row["family"] == "leader"]
    shown = [cell.get_text() for cell in page.select(".wb-table tbody td")]
    assert len(shown) == 2 * (len(leaders) + len({row["workload"] for row in leaders}))
    assert shown.count("leader") == 4


def test_a_session_that_no_number_is_of_is_not_counted_in_the_heading(tmp_path):
    folder, summary = processed(tmp_path, "first")
    alone = [{**row, "sessions_count": 1} for row in summary["cells"]]
    write_run_report(folder, summary | {"cells": alone, "comparisons": []})
    text = BeautifulSoup((folder / "report.html").read_text(), "html.parser").get_text()
    assert "more session" not in text


def test_a_run_that_measured_nothing_has_its_row_and_its_history(tmp_path):
    for run_id in ("first", "second"):
        folder, summary = processed(tmp_path, run_id)
        (folder / "summary.json").write_text(json.dumps(summary | {"cells": [], "comparisons": []}))
    page = BeautifulSoup(refresh_index(tmp_path).read_text(), "html.parser")
    assert page.select_one(".headline").get_text()
    assert page.select_one("svg") is None
    assert (
        len(BeautifulSoup((tmp_path / EXPERIMENT / "history.html").read_text(), "html.parser").select("article")) == 2
    )


def test_an_experiment_is_named_as_people_write_it():
    assert [reports._title(name) for name in ("04-text-json-sql", "06-tcp-proxies")] == [
        "04 text JSON SQL",
        "06 TCP proxies",
    ]


def test_the_history_shows_what_each_run_found_itself_and_not_what_all_sessions_say(tmp_path):
    folder, summary = processed(tmp_path, "first")
    row = next(row for row in summary["comparisons"] if row["family"] == "leader")
    pooled = row | {"ratio": {"value": 0.123, "low": 0.1, "high": 0.15}, "blocks_count": 99, "sessions_count": 5}
    (folder / "summary.json").write_text(json.dumps(summary | {"comparisons": [pooled]}))
    refresh_index(tmp_path)
    text = (tmp_path / EXPERIMENT / "history.html").read_text()
    assert "0.123" not in text
    assert f"n\u00a0{row['own_blocks_count']}" in text
