"""The run that comes with the project: what is shown of it follows from its raw records, number for number."""

import json
import math
import re
import shutil
import subprocess

import pytest
from bs4 import BeautifulSoup

from runners.core.project import PROJECT, experiments
from runners.store.ledger import REFERENCE
from tests.e2e.test_compare import wrkbook
from tests.test_language import words

pytestmark = pytest.mark.e2e
KEPT = PROJECT / "data"
README = PROJECT / "README.md"
# Better than any number is shown; libraries and processors may differ in the last digits.
RELATIVE = 1e-6
ROUNDED_DIGITS = 3
SHOWN = re.compile(r"\d+(?:\.\d+)?")
# On the reference's machine it has one CPU for servers.
LEFT_OUT = {"09-cpu-scaling"}
MEASURED = [name for name in experiments() if name not in LEFT_OUT]
every_experiment = pytest.mark.parametrize("name", MEASURED)
FRAMED = [name for name in MEASURED if "Answer(" in (PROJECT / "notebooks" / f"{name}.ipynb").read_text()]
MOST_WORDS, MOST_WORDS_IN_A_SENTENCE, MOST_CONCLUSIONS, MOST_SURE = 1200, 25, 8, 3


def difference(kept, made, place=""):
    """Where two JSON documents differ first; empty where they do not."""
    if isinstance(kept, float) and isinstance(made, float):
        return "" if math.isclose(kept, made, rel_tol=RELATIVE, abs_tol=1e-12) else f"{place}: {kept} and {made}"
    if isinstance(kept, dict) and isinstance(made, dict) and kept.keys() == made.keys():
        return next((found for key in kept if (found := difference(kept[key], made[key], f"{place}/{key}"))), "")
    if isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        pairs = enumerate(zip(kept, made, strict=True))
        return next((found for at, (a, b) in pairs if (found := difference(a, b, f"{place}/{at}"))), "")
    same = kept == made or (isinstance(kept, str) and isinstance(made, str) and alike(kept, made))
    return "" if same else f"{place}: {str(kept)[:200]!r} and {str(made)[:200]!r}"


def alike(kept, made):
    """Whether two texts differ by at most one in the last of the three digits to which a quantity is rounded; counts are equal."""
    if SHOWN.sub("#", kept) != SHOWN.sub("#", made):
        return False
    pairs = [pair for pair in zip(SHOWN.findall(kept), SHOWN.findall(made), strict=True) if pair[0] != pair[1]]
    rounded = all(len(a) == len(b) and ("." in a or len(a) == ROUNDED_DIGITS) for a, b in pairs)
    return rounded and all(abs(float(a) - float(b)) <= 1.001 * 10.0 ** -len(a.partition(".")[2]) for a, b in pairs)


def processed(data, name):
    return data / "processed" / name / REFERENCE


def summary(data, name):
    return json.loads((processed(data, name) / "summary.json").read_text())


def page_of(data, name):
    return BeautifulSoup((processed(data, name) / "report.html").read_text(), "html.parser")


def tables(data, name):
    """The text of every table of a report, row by row."""
    page = page_of(data, name)
    return [[row.get_text(" ", strip=True) for row in table.select("tr")] for table in page.select("table")]


def sessions():
    """The folders of all sessions of the reference."""
    return [folder for name in MEASURED for folder in sorted((KEPT / "raw" / name).glob(f"{REFERENCE}*"))]


@pytest.fixture(scope="module")
def remade(tmp_path_factory):
    """The reports, made again from a copy of the raw records alone."""
    data = tmp_path_factory.mktemp("data")
    for session in sessions():
        shutil.copytree(session, data / session.relative_to(KEPT))
    outcome = wrkbook("report", REFERENCE, data=data, timeout=1200)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    return data


@every_experiment
def test_the_numbers_of_the_run_follow_from_its_raw_records(remade, name):
    assert difference(summary(KEPT, name), summary(remade, name)) == ""


@every_experiment
def test_the_tables_of_its_report_do_too(remade, name):
    kept, made = tables(KEPT, name), tables(remade, name)
    assert len(kept) >= 3
    assert difference(kept, made) == ""


def test_the_pages_that_come_with_the_project_look_and_act_as_today(remade):
    for selector in ("style", "script", "header", "nav"):
        kept, made = (page_of(data, MEASURED[0]).select(selector) for data in (KEPT, remade))
        assert [str(tag) for tag in kept] == [str(tag) for tag in made]


def test_who_was_busy_is_shown_for_each_load_generator(remade):
    (busy,) = (
        rows for rows in tables(remade, "04-text-json-sql") if rows[0].startswith("system by CPU of the servers")
    )
    for generator in ("wrk", "autocannon"):
        assert any(row.startswith(f"net-http {generator} ") for row in busy)


def visible(data, name):
    """Return the part of a report that is seen before anything is opened, without its contents, its code and what its charts show."""
    page = BeautifulSoup((processed(data, name) / "report.html").read_text(), "html.parser").select_one("main")
    for part in page.select("details, .code, style, svg, button"):
        part.decompose()
    return page


@pytest.mark.parametrize("name", FRAMED)
def test_a_report_is_read_in_minutes_and_says_nothing_twice(remade, name):
    page, found = visible(remade, name), summary(remade, name)
    assert words(page.get_text(" ", strip=True)) <= MOST_WORDS
    sentences = [found["headline"], *found["conclusions"]]
    assert {each: words(each) for each in sentences if words(each) > MOST_WORDS_IN_A_SENTENCE} == {}
    assert len(set(sentences)) == len(sentences) <= 1 + MOST_CONCLUSIONS + MOST_SURE
    whole = re.sub(r"\s+", " ", page.get_text(" ", strip=True).replace("\xa0", " "))
    assert {each: whole.count(each) for each in sentences if whole.count(each) != 1} == {}


@pytest.mark.parametrize("name", FRAMED)
def test_a_report_begins_with_the_answer_and_ends_with_its_limits_and_details(remade, name):
    page = BeautifulSoup((processed(remade, name) / "report.html").read_text(), "html.parser").select_one("main")
    parts = page.select(".wb-answer, .wb-table, figure, h2, h3, details.section")
    kinds = [part.name for part in parts]
    headings = [part.get_text(" ", strip=True) for part in parts if part.name in ("h2", "h3")]
    assert [kind for kind in kinds if kind in ("p", "table", "figure")][:3] == ["p", "table", "figure"]
    order = [headings.index(text) for text in ("Answer", "How sure", "Limits of this run", "Details")]
    assert order == sorted(order)
    folded = [section.summary.get_text(" ", strip=True) for section in page.select("details.section")]
    assert {"Parameters", "Provenance"} <= set(folded)


@every_experiment
def test_its_report_never_says_nan_for_what_is_not_known(remade, name):
    text = page_of(remade, name).select_one("main").get_text(" ")
    assert re.findall(r".{0,30}\bnan\b.{0,10}", text, re.IGNORECASE) == []


@every_experiment
def test_every_link_of_its_report_leads_to_what_a_clone_has(remade, name):
    page = BeautifulSoup((processed(remade, name) / "report.html").read_text(), "html.parser")
    links = [str(link["href"]) for link in page.select("a[href]") if not re.match(r"#|https?:", str(link["href"]))]
    assert links
    listed = ["git", "ls-files", "--error-unmatch", *(str(processed(KEPT, name) / link) for link in links)]
    assert subprocess.run(listed, cwd=PROJECT, capture_output=True).returncode == 0, links


@pytest.mark.parametrize("name", ["README.md", "docs/reports.md"])
def test_every_picture_in_a_document_is_there(name):
    page = PROJECT / name
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text())
    assert pictures
    assert [picture for picture in pictures if not (page.parent / picture).is_file()] == []


def test_what_differs_between_two_documents_is_found():
    kept = {"cells": [{"value": 1.0, "name": "a"}], "n": 2}
    assert difference(kept, {"cells": [{"value": 1.0 + 1e-12, "name": "a"}], "n": 2}) == ""
    assert difference(kept, {"cells": [{"value": 1.0 + 1e-8, "name": "a"}], "n": 2}) == ""
    assert difference(kept, {"cells": [{"value": 1.0 + 1e-5, "name": "a"}], "n": 2}).startswith("/cells/0/value")
    assert difference("4.46 × (4.31 to 4.61)", "4.46 × (4.32 to 4.61)") == ""
    assert difference("4.46 × (4.31 to 4.61)", "4.48 × (4.31 to 4.61)") != ""
    assert difference("108 k requests/s", "109 k requests/s") == ""
    assert difference("4 of 4 trials", "3 of 4 trials") != ""
    assert difference("4.46 × slower", "4.46 × faster") != ""
    assert difference(kept, {"cells": [], "n": 2}).startswith("/cells")
    assert difference(kept, {"cells": kept["cells"]}) != ""


def test_the_run_is_of_one_machine_which_the_readme_names():
    records = [json.loads((session / "run.json").read_text()) for session in sessions()]
    (cpu,) = {record["machine"]["cpu"] for record in records}
    assert cpu in README.read_text()
    assert {record["parameters"]["profile"] for record in records} == {"standard"}
