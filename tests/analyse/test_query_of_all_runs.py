"""The query in docs/reports.md, word for word: one row for each system and workload of each run, by its geometric mean."""

import re

import duckdb
import pytest

from runners.analyse.results import analyse
from runners.core.project import PROJECT
from tests.analyse.synthetic import run_of

QUERY = re.search(r"```sql\n(.*?)```", (PROJECT / "docs/reports.md").read_text(), re.DOTALL)[1]


def test_the_documented_query_reads_all_runs_and_gives_their_throughputs(tmp_path, monkeypatch):
    rates = {("fast+a", "text"): 2000.0, ("slow", "text"): 1000.0, ("control", "text"): 2000.0}
    for notebook, run_id in (("01-ping", "one"), ("02-json-decode", "two")):
        folder = tmp_path / "data/processed" / notebook / run_id
        folder.mkdir(parents=True)
        run = run_of(tmp_path / "raw" / run_id, rates, 4)
        analyse(run).trials.to_parquet(folder / "trials.parquet")
    monkeypatch.chdir(tmp_path)
    found = duckdb.sql(QUERY).df()
    assert found[["notebook", "run", "system"]].to_numpy().tolist() == [
        [notebook, run_id, system]
        for notebook, run_id in (("01-ping", "one"), ("02-json-decode", "two"))
        for system in found["system"][:3]
    ]
    assert found["blocks"].tolist() == [4] * 6
    slow = found[found["system"] == "slow"]["requests_per_s"]
    assert slow.tolist() == pytest.approx([1000, 1000], rel=0.05)
