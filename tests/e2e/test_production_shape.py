"""Notebook 10 as a user runs it, with two systems in the quick profile: the costs of compression and TLS, and the mix with its database."""

import json

import pandas as pd
import pytest

from tests.e2e.browser import browser
from tests.e2e.conftest import wrkbook

pytestmark = [pytest.mark.e2e, pytest.mark.quiet]
EXPERIMENT = "10-production-shape"
SHARES = {"text": 0.3, "json": 0.3, "decode": 0.25, "blog": 0.1, "sql2": 0.05}


@pytest.fixture(scope="module")
def shaped(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    small = ("-p", "systems", "gin,node", "-p", "max_blocks", "1", "-p", "slices", "0")
    outcome = wrkbook("run", "10", "--profile", "quick", "--run-id", "e2e", *small, data=data)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    return data / "processed"


def test_compression_and_encryption_are_measured_and_the_mix_is_that_of_the_contract(shaped):
    folder = shaped / EXPERIMENT / "e2e"
    cells = {
        (row["system"], row["workload"]): row for row in json.loads((folder / "summary.json").read_text())["cells"]
    }
    assert set(cells) >= {
        ("gin", "mixed"),
        ("gin", "gzip"),
        ("node", "gzip"),
        ("node", "json1000"),
        ("node", "tls-resumed"),
    }
    assert ("node", "mixed") not in cells
    trials = pd.read_parquet(folder / "trials.parquet")
    sent = trials.loc[trials["workload"] == "mixed", [f"sent_{name}_count" for name in SHARES]].sum()
    assert (sent / sent.sum()).tolist() == pytest.approx(list(SHARES.values()), abs=0.01)


@pytest.mark.parametrize("width", [1366, 390])
def test_the_report_shows_its_charts_and_tables_at_any_width(shaped, tmp_path, width):
    with browser(shaped, tmp_path) as chromium:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"file:///src/{EXPERIMENT}/e2e/report.html")
        assert errors == []
        assert page.get_by_text("Gzip compression multiplies CPU time by").count() >= 1
        assert page.get_by_text("A full TLS handshake multiplies CPU time by").count() >= 1
        assert page.get_by_text("The mix is 30 % text").count() == 1
        assert page.locator(".wb-panels svg").count() >= 3
        said = page.locator(".wb-sentence").all_text_contents()
        assert len(said) == len(set(said))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
