"""The run that comes with the project: its tables are made again from its raw records, number for number."""

import json
import math
import shutil

import pandas as pd
import pytest

from runners.execute import experiments
from runners.folders import PROJECT
from runners.ledger import REFERENCE
from tests.e2e.test_compare import wrkbook

pytestmark = pytest.mark.e2e
KEPT = PROJECT / "data"
# Processors round the last digit of a logarithm differently.
LAST_DIGITS = 1e-9


def difference(kept, made, place=""):
    """Where two JSON documents differ first; empty where they do not."""
    if isinstance(kept, float) and isinstance(made, float):
        return "" if math.isclose(kept, made, rel_tol=LAST_DIGITS, abs_tol=1e-15) else f"{place}: {kept} and {made}"
    if isinstance(kept, dict) and isinstance(made, dict) and kept.keys() == made.keys():
        return next((found for key in kept if (found := difference(kept[key], made[key], f"{place}/{key}"))), "")
    if isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        pairs = enumerate(zip(kept, made, strict=True))
        return next((found for at, (a, b) in pairs if (found := difference(a, b, f"{place}/{at}"))), "")
    return "" if kept == made else f"{place}: {str(kept)[:200]!r} and {str(made)[:200]!r}"


@pytest.fixture(scope="module")
def remade(tmp_path_factory):
    """The reports, made again from a copy of the raw records alone."""
    data = tmp_path_factory.mktemp("data")
    for name in experiments():
        shutil.copytree(KEPT / "raw" / name / REFERENCE, data / "raw" / name / REFERENCE)
    outcome = wrkbook("report", REFERENCE, data=data, timeout=1200)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    return data


@pytest.mark.parametrize("name", experiments())
def test_the_tables_of_the_run_in_the_repository_follow_from_its_raw_records(remade, name):
    kept, made = (folder / "processed" / name / REFERENCE for folder in (KEPT, remade))
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (kept, made)]
    assert difference(*summaries) == ""
    for table in ("trials", "latency", "usage"):
        frames = [pd.read_parquet(folder / f"{table}.parquet") for folder in (kept, made)]
        pd.testing.assert_frame_equal(*frames, rtol=LAST_DIGITS, atol=1e-15)


def test_what_differs_between_two_documents_is_found():
    kept = {"cells": [{"value": 1.0, "name": "a"}], "n": 2}
    assert difference(kept, {"cells": [{"value": 1.0 + 1e-12, "name": "a"}], "n": 2}) == ""
    assert difference(kept, {"cells": [{"value": 1.0 + 1e-6, "name": "a"}], "n": 2}).startswith("/cells/0/value")
    assert difference(kept, {"cells": [], "n": 2}).startswith("/cells")
    assert difference(kept, {"cells": kept["cells"]}) != ""


def test_the_run_in_the_repository_is_small_and_names_its_machine():
    folders = [KEPT / kind / name / REFERENCE for kind in ("raw", "processed") for name in experiments()]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 10_000_000
    machines = {
        json.dumps(json.loads((KEPT / "raw" / name / REFERENCE / "run.json").read_text())["machine"]["cpu"])
        for name in experiments()
    }
    assert len(machines) == 1
