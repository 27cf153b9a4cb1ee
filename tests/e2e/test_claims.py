"""The notebook that judges published claims, as a user runs it: on runs that are made up, and on none at all."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from runners.analyse.checks.conditions import DISTURBANCES
from runners.core.records import SUMMARY_SCHEMA
from tests.analyse.synthetic import run_of
from tests.e2e.test_compare import wrkbook

pytestmark = pytest.mark.e2e

DECODE = {("gin+encoding/json", "decode-10"): 8e3, ("drogon+simdjson", "decode-10"): 24e3,
          ("drogon+glaze", "decode-10"): 22e3, ("control", "decode-10"): 8e3}  # fmt: skip
SCALE = {("net-http", "json10@20"): 60e3, ("net-http", "json10@19900"): 47e3, ("control", "json10@20"): 60e3}
FLAWED = {("drogon-as-published+simdjson", "decode-as-published-10"): 30e3, ("drogon+simdjson", "decode-10"): 24e3,
          ("gin-as-published+encoding/json", "decode-as-published-10"): 4e3, ("gin+encoding/json", "decode-10"): 8e3,
          ("control", "decode-10"): 24e3}  # fmt: skip
PLACE = "07-published-claims"
PARAMETERS = {"profile": "standard", "seed": 1, "precision": 0.02, "connections": 80}


def summary(data, run_id):
    return json.loads((data / "processed" / PLACE / run_id / "summary.json").read_text())


def claim(found, name):
    return next(each for each in found["claims"] if each["id"] == name)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A ledger of runs that are made up, with one of notebook 07 that decides by some of them; its report made from that."""
    data = tmp_path_factory.mktemp("data")
    raw = data / "raw"
    run_of(raw, DECODE, run_id="plain", blocks=5, record={"control_of": "gin+encoding/json"})
    run_of(raw, SCALE, experiment="05-connection-scale", run_id="plain", blocks=5,
           record={"control_of": "net-http", "profile": "quick"})  # fmt: skip
    selected = {"02-json-decode": "plain", "05-connection-scale": "plain", "01-ping": "lost"}
    record = {"control_of": "drogon+simdjson", "selected_runs": selected, "parameters": PARAMETERS}
    run_of(raw, FLAWED, experiment=PLACE, run_id="made-up", blocks=5, record=record)
    # Newer and preferred, but not what was written down.
    run_of(raw, DECODE, run_id="later", blocks=2, record={"control_of": "gin+encoding/json", "profile": "publication"})
    return data, wrkbook("report", "made-up", data=data)


def test_every_claim_has_a_verdict_from_the_run_that_was_written_down(judged):
    data, outcome = judged
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    found = summary(data, "made-up")
    assert found["schema"] == SUMMARY_SCHEMA
    ratio = claim(found, "decode-10-drogon-simdjson-over-gin-json")
    assert (ratio["verdict"], ratio["run_id"]) == ("right direction, size off by more than 1.5 ×", "plain")
    assert ratio["p_value"] <= ratio["p_adjusted"] < 0.05
    assert ratio["measured"]["value"] == pytest.approx(3, rel=0.02)
    assert ratio["measured"]["low"] < ratio["measured"]["value"] < ratio["measured"]["high"]
    assert "json10@19900 for json10@20000" in claim(found, "go-throughput-20000-over-20")["why"]
    proxies = [each for each in found["claims"] if each["experiment"] == "06-tcp-proxies"]
    assert {each["verdict"] for each in proxies if each["standing"] == "statement"} == {"not testable here"}
    assert found["selected_runs"]["01-ping"] == {"run_id": None, "why": "run lost of 01-ping is not here any more"}


def test_the_effects_of_the_faults_are_in_the_summary(judged):
    data, _ = judged
    found = summary(data, "made-up")
    views = next(each for each in found["flaws"] if each["id"] == "views-and-raw-tokens")
    assert views["ratio"]["value"] == pytest.approx(1.25, rel=0.02)
    assert found["explained"][0]["flawed"]["value"] == pytest.approx(7.5, rel=0.05)


def test_the_report_is_whole_and_needs_nothing_from_outside(judged):
    data, _ = judged
    html = (data / "processed" / PLACE / "made-up" / "report.html").read_text()
    executed = (data / "processed" / PLACE / "made-up" / "notebook.ipynb").read_text()
    assert '"output_type": "error"' not in executed
    folds = BeautifulSoup(html, "html.parser").select("details.section details")
    assert len(folds) == 4 + 2  # a fold for each source, for restatements and for absolutes
    assert html.count('<div class="wb-panels">') == 2
    assert "<li>Not judged yet" not in html
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)
    assert "statements that were tested (Holm)" in html
    assert "refute" not in html.lower()
    assert "are smoke runs, no evidence" in html


def test_the_report_is_made_again_with_the_same_verdicts(judged):
    data, _ = judged
    path = data / "processed" / PLACE / "made-up" / "summary.json"
    before = path.read_bytes()
    assert wrkbook("report", "made-up", "--again", data=data).returncode == 0
    assert path.read_bytes() == before


def test_a_report_that_is_up_to_date_is_told_and_not_made_again(judged):
    data, _ = judged
    path = data / "processed" / PLACE / "made-up" / "report.html"
    before = path.stat().st_mtime_ns
    outcome = wrkbook("report", "made-up", data=data)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    assert "Up to date, not made again: 1 of 1 reports" in outcome.stdout
    assert str(path) in outcome.stdout
    assert path.stat().st_mtime_ns == before


def test_without_any_run_and_without_measuring_it_says_so_and_ends_well(tmp_path):
    outcome = wrkbook("run", "07", "--run-id", "none", "-p", "measure_flaws", "False", data=tmp_path)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    found = summary(tmp_path, "none")
    assert found["headline"].startswith("No run of any experiment is here")
    assert {each["verdict"] for each in found["claims"]} == {"not testable here", ""}
    assert "no run of 06-tcp-proxies here" in {each["why"] for each in found["claims"]}
    assert found["cells"] == []
    again = wrkbook("report", "none", data=tmp_path)
    assert again.returncode == 0, again.stderr[-3000:]


def test_the_notebook_uses_the_run_of_its_own_id_first(tmp_path):
    run_of(
        tmp_path / "raw",
        DECODE,
        run_id="mine",
        blocks=3,
        record={"control_of": "gin+encoding/json", "profile": "quick"},
    )
    run_of(tmp_path / "raw", DECODE, run_id="better", blocks=3, record={"control_of": "gin+encoding/json"})
    outcome = wrkbook("run", "07", "--run-id", "mine", "-p", "measure_flaws", "False", data=tmp_path)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    assert summary(tmp_path, "mine")["selected_runs"]["02-json-decode"]["run_id"] == "mine"


@pytest.mark.quiet
def test_a_fault_is_measured_beside_equal_work(tmp_path):
    systems = "drogon+simdjson,drogon-as-published+simdjson"
    wrkbook(
        "run",
        "07",
        "--profile",
        "quick",
        "--run-id",
        "real",
        "-p",
        "systems",
        systems,
        "-p",
        "max_blocks",
        "1",
        data=tmp_path,
    )
    found = summary(tmp_path, "real")
    assert {cell["workload"] for cell in found["cells"]} == {
        *("decode-9", "decode-10", "decode-as-published-10", "roundtrip-10", "roundtrip-as-published-10")
    }
    for cell in found["cells"]:
        # A busy machine voids trials; no handler may fail.
        assert cell["status"] == "ok" or any(f"void ({name}" in cell["status"] for name in DISTURBANCES), cell
    measured = {flaw["id"] for flaw in found["flaws"] if flaw["ratio"]["value"] is not None}
    assert measured <= {"views-and-raw-tokens", "nine-operations", "empty-round-trip"}


def test_it_comes_after_the_experiments_that_its_claims_are_decided_by():
    from runners.analyse.published import figures
    from runners.core.project import experiments

    names = experiments()
    assert max(names.index(name) for name in set(figures()["experiment"]) if name in names) < names.index(PLACE)
