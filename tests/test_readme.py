"""The README says what the newest reference run says."""

import importlib.util
import json
import re

import pytest

from runners.core.project import PROJECT

spec = importlib.util.spec_from_file_location("make_readme", PROJECT / "docs/make_readme.py")
make_readme = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_readme)
SUMMARY = json.loads(make_readme.SUMMARY.read_text())


def test_the_answer_and_the_decision_table_are_those_of_the_reference():
    text = make_readme.README.read_text()
    assert make_readme.written(text, SUMMARY) == text, "run .venv/bin/python docs/make_readme.py"
    assert make_readme.part(SUMMARY) in text


def test_the_table_has_every_system_the_fastest_first():
    rows = make_readme.rows(SUMMARY, "decode-10")
    rates = [float(re.match(r"[\d.]+", row[1])[0]) for row in rows]
    assert rates == sorted(rates, reverse=True)
    assert [row[2] for row in rows].count("leader") == 1
    assert rows[0][2] == "leader"


@pytest.mark.parametrize("verdict", ["undecided", "equivalent"])
def test_what_cannot_be_told_from_the_leader_is_tied(verdict):
    changed = json.loads(json.dumps(SUMMARY))
    for row in changed["comparisons"]:
        row["verdict"] = verdict
    assert all(row[2].endswith(", tied") for row in make_readme.rows(changed, "decode-10")[1:])


def test_the_intervals_are_those_of_a_further_session_from_three_sessions_on():
    changed = json.loads(json.dumps(SUMMARY))
    for count, said in ((2, "of this session"), (3, "of one further session")):
        for row in changed["comparisons"]:
            row["sessions_count"] = count
        assert said in make_readme.part(changed)


def test_the_number_of_sessions_is_told():
    changed = SUMMARY | {"blocks_count": 2, "sessions": SUMMARY["sessions"][:1] * 3}
    assert make_readme.measured_in(changed).startswith("3 sessions of 2 blocks on 20")
    assert make_readme.measured_in(changed | {"sessions": SUMMARY["sessions"][:1]}).startswith("2 blocks on 20")
