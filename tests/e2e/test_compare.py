"""Two runs compared as a user does it; what was measured is made up, so nothing is launched."""

import json
import os
import subprocess
import sys

import pytest

from runners.core.project import PROJECT
from tests.analyse.synthetic import run_of

pytestmark = pytest.mark.e2e

RATES = {
    ("fast+a", "decode-10"): 60_000.0,
    ("slow+c", "decode-10"): 30_000.0,
    ("control", "decode-10"): 60_000.0,
    ("fast", "discard-10"): 75_000.0,
    ("slow", "discard-10"): 40_000.0,
}
FASTER = {cell: rate * (1.2 if cell[0].startswith("slow") else 1.0) for cell, rate in RATES.items()}
PLACE = "90-compare-runs/before--after/02-json-decode"


def wrkbook(*arguments, data, timeout=300):
    """``./wrkbook`` with the environment of this process."""
    env = {**os.environ, "WRKBOOK_DATA": str(data)}
    command = [sys.executable, "-m", "runners", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=PROJECT, timeout=timeout)


def compare(data, *arguments):
    return wrkbook("compare", *arguments, data=data)


def made(data, run_id, rates, build, chance, **about):
    """A run in which the server called slow has the given build."""
    record = {"versions": {"builds": {"fast": "f1", "slow": build}}, **about}
    return run_of(data / "raw", rates, run_id=run_id, chance=chance, drift=0.01, record=record)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    made(folder, "before", RATES, "s1", 1)
    made(folder, "after", FASTER, "s2", 2)
    made(folder, "elsewhere", RATES, "s1", 3, machine={"cpu": "another CPU", "cpus_count": 2, "kernel": "6.1"})
    run_of(folder / "raw", RATES, experiment="03-json-roundtrip", run_id="roundtrip", blocks=2)
    damaged = made(folder, "damaged", RATES, "s1", 4)
    path = damaged.files[0]
    path.write_bytes(path.read_bytes()[:100])
    return folder


@pytest.fixture(scope="module")
def compared(data):
    return compare(data, "before", "after")


def test_the_command_ends_well_with_a_table_conclusions_and_the_place_of_the_report(data, compared):
    assert compared.returncode == 0, compared.stderr[-3000:]
    decode = compared.stdout.partition("\ndecode-10\n")[2].partition("\n\n")[0]
    (line,) = [line for line in decode.splitlines() if line.startswith("slow+c")]
    assert "1.2" in line
    assert line.endswith("faster")
    assert "• " in compared.stdout
    assert f"{data}/processed/{PLACE}/report.html" in compared.stdout


def test_the_summary_holds_ratios_verdicts_and_what_changed(data, compared):
    summary = json.loads((data / "processed" / PLACE / "summary.json").read_text())
    verdicts = {(cell["system"], cell["workload"]): cell["verdict"] for cell in summary["cells"]}
    assert verdicts["slow+c", "decode-10"] == verdicts["slow", "discard-10"] == "faster"
    assert verdicts["fast+a", "decode-10"] == "equivalent"
    ratio = next(cell["ratio"] for cell in summary["cells"] if cell["system"] == "slow+c")
    assert ratio["low"] <= 1.2 <= ratio["high"]
    assert [each["field"] for each in summary["differences"]] == ["versions.builds.slow"]
    assert summary["common_factor"]["unchanged"] is True


def test_the_report_is_whole_and_hides_no_error(data, compared):
    html = (data / "processed" / PLACE / "report.html").read_text()
    for heading in (
        "Answer",
        "How sure",
        "What was changed?",
        "Limits of this run",
        "Parameters",
        "Provenance",
    ):
        assert f">{heading}" in html
    assert "<li>Not compared yet" not in html  # the answer was filled in
    executed = (data / "processed" / PLACE / "notebook.ipynb").read_text()
    assert '"output_type": "error"' not in executed
    assert '"output_type": "display_data"' in executed
    assert html.count('<div class="wb-panels">') >= 1
    assert "versions.builds.slow" in html


def test_the_index_lists_the_comparison_with_links_that_lead_somewhere(data, compared):
    index = (data / "processed/index.html").read_text()
    assert "before → after" in index
    assert f'href="{PLACE}/report.html"' in index
    assert (data / "processed" / PLACE / "notebook.ipynb").exists()


def test_a_run_and_itself_are_equivalent_and_json_is_all_that_is_printed(data):
    outcome = compare(data, "before", "before", "--json")
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    (found,) = json.loads(outcome.stdout)
    assert {cell["verdict"] for cell in found["cells"] if cell["system"] != "control"} == {"equivalent"}
    assert found["html"].endswith("before--before/02-json-decode/report.html")


def test_report_makes_a_comparison_again_from_the_raw_records(data, compared):
    folder = data / "processed" / PLACE
    before = (folder / "summary.json").read_bytes()
    (folder / "report.html").unlink()
    outcome = wrkbook("report", "after", data=data)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    assert (folder / "report.html").exists()
    assert (folder / "summary.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["before", "elsewhere"], "machine.cpu (a CPU in A, another CPU in B)"),
        (["before", "aftr"], "did you mean 'after'?"),
        (["before", "roundtrip"], "runs of different experiments are never compared"),
        (["before", "roundtrip", "--anyway"], "runs of different experiments are never compared"),
        (["before", "after", "--experiment", "01"], "there is no run 'before' of 01-ping"),
        (["before", "damaged"], "block-001.jsonl.xz is damaged"),
    ],
)
def test_bad_input_is_named_with_a_remedy_and_leaves_no_report(data, arguments, told):
    before = sorted(data.glob("processed/**/*.html"))
    outcome = compare(data, *arguments)
    assert outcome.returncode == 1
    assert told in outcome.stderr
    assert "→" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert sorted(data.glob("processed/**/*.html")) == before
