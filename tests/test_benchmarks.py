"""The benchmarks of the method itself: on tiny numbers, and the page with their results."""

import importlib.util
import json

import numpy as np
import pandas as pd
import pytest

from runners.analyse.comparisons import against_leader
from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.core.records import CONTROL
from runners.generators.reports import combined
from runners.stats.estimates import critical_value
from runners.systems.catalogue import Catalogue

PAGE = PROJECT / "docs" / "validity.md"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, PROJECT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return loaded("method_validity")


def measured(script, blocks, burning=0.9, noise=0.005):
    """System → block → throughput of the burning server, simulated."""
    draw = np.random.default_rng(3)
    rates = {script.PLAIN: 1.0, script.AGAIN: 1.0, script.BURNING: burning, CONTROL: 1.0}
    index = range(1, blocks + 1)
    return {name: pd.Series(rate * np.exp(draw.normal(0, noise, blocks)), index) for name, rate in rates.items()}


def test_the_simulation_has_a_row_for_every_case(script):
    draw = np.random.default_rng(1)
    assert len(script.coverage(draw, 20)) == 16
    assert len(script.stopping(draw, 20)) == 6
    assert len(script.whole_runs(draw, 10)) == 12
    assert len(script.widths()) == 4


def test_the_simulation_compares_as_the_analysis_does(script):
    logs = script.launches(np.random.default_rng(2), 1, np.array([0.01, 0.02, 0.03]), 6, 0.3)
    (leader,), (means,), (errors,) = script.to_leader(logs)
    found = against_leader({str(number): pd.Series(np.exp(row)) for number, row in enumerate(logs[0])})
    assert found.keys() == {"0", "1", "2"} - {str(leader)}
    for system, comparison in found.items():
        assert np.log(comparison.interval.value) == pytest.approx(means[int(system)])
        arm = np.log(comparison.interval.high / comparison.interval.value)
        assert arm == pytest.approx(critical_value(3, 5) * errors[int(system)])


def test_launches_are_as_correlated_as_was_requested(script):
    logs = script.launches(np.random.default_rng(1), 20_000, np.array([0.02]), 3, 0.6)[:, 0]
    assert np.corrcoef(logs[:, 1], logs[:, 2])[0, 1] == pytest.approx(0.6, abs=0.03)
    assert logs.std(axis=0) == pytest.approx(0.02, rel=0.03)


@pytest.mark.parametrize("blocks", [2, 6, 12, 40])
def test_any_number_of_blocks_gives_a_row(script, blocks):
    head, _, row = script.measured_row(measured(script, blocks), 0.02, 30).splitlines()
    found = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert found["| blocks in all"] == f"| {blocks}"
    assert found["an equal called slower"].startswith("0%")
    if blocks >= 6:
        assert "burning called slower |" in head
        assert " 100% (" in f" {found['burning called slower |']}"


def test_without_blocks_the_benchmark_says_so(script):
    with pytest.raises(SystemExit, match="fewer than two blocks"):
        script.measured_row(measured(script, 1), 0.02, 30)


def test_the_page_about_validity_is_short():
    assert len(PAGE.read_text().splitlines()) <= 212


ANNOTATED = """\
--------------------------------------------------------------------------------
Ir
--------------------------------------------------------------------------------
1,111,234 (100.0%)  PROGRAM TOTALS

--------------------------------------------------------------------------------
Ir                  file:function
--------------------------------------------------------------------------------
1,000,000 (89.99%)  /src/codec.cc:(anonymous namespace)::decode(Body const&, Batch&) [/build/server]
  111,000 ( 9.99%)  ???:std::string::append(char const*) [/usr/lib/libstdc++.so.6]
      234 ( 0.02%)  ???:std::string::append(char const*) [/build/server]
"""


@pytest.fixture(scope="module")
def instructions():
    return loaded("instructions")


def test_the_counts_of_callgrind_are_summed_up_by_function(instructions):
    assert instructions.parsed(ANNOTATED) == {
        "(anonymous namespace)::decode(Body const&, Batch&)": 1_000_000,
        "std::string::append(char const*)": 111_234,
    }


def test_a_row_states_how_far_two_counts_differ(instructions):
    first, *_ = instructions.lines("a", "ping", instructions.Counter(f=1000), instructions.Counter(f=1010), 1)
    assert first == "a, ping: 1,000 instructions per request; again 1,010 (+1.00%)"


@pytest.mark.parametrize("label", ["nothing", "decode", "ping-10", "sql1", ""])
def test_what_cannot_be_counted_is_refused(instructions, label):
    with pytest.raises(WrkbookError, match="no workload to count"):
        instructions.workload_of(label)


def test_only_cpp_is_counted(instructions):
    catalogue = Catalogue()
    workload = instructions.workload_of("decode-10")
    instructions.refuse_others([catalogue.server("drogon")], workload)
    with pytest.raises(WrkbookError, match="cannot count the Go of gin"):
        instructions.refuse_others([catalogue.server("drogon"), catalogue.server("gin")], workload)


def test_valgrind_gets_code_that_it_knows(instructions, tmp_path):
    copy = instructions.portable(Catalogue().server("drogon"), tmp_path)
    makefile = (copy.folder / "CMakeLists.txt").read_text()
    assert instructions.PORTABLE in makefile
    assert "native" not in makefile


@pytest.fixture(scope="module")
def detecting():
    return loaded("detecting_changes")


def rates_of(script, burning, count=10, noise=0.001):
    draw = np.random.default_rng(5)
    level = {script.PLAIN: 1000.0, script.AGAIN: 1000.0, script.BURNING: burning}
    return {name: list(rate * np.exp(draw.normal(0, noise, count))) for name, rate in level.items()}


@pytest.mark.parametrize(("burning", "found"), [(980.0, True), (1000.0, False), (1020.0, False)])
def test_the_methods_of_today_call_only_a_lower_throughput_slower(detecting, burning, found):
    rates = rates_of(detecting, burning)
    for decide in (detecting.by_best_of_three, detecting.by_ten_runs):
        assert decide(rates) == {detecting.AGAIN: False, detecting.BURNING: found}


def test_the_table_counts_false_alarms_and_changes_found(detecting, tmp_path):
    file = tmp_path / "tries.jsonl"

    def one(alarm):
        slower = {"slower": {detecting.AGAIN: alarm, detecting.BURNING: True}, "seconds": 60.0}
        decided = {detecting.AGAIN: "regression" if alarm else "undecided", detecting.BURNING: "regression"}
        return dict.fromkeys(detecting.METHODS, slower) | {
            "wrkbook": {**slower, "decided": decided, "planted": [0.98, 1.02]}
        }

    file.write_text("".join(json.dumps(one(alarm)) + "\n" for alarm in (True, False)))
    assert detecting.read(tmp_path / "none") == []
    found = detecting.in_markdown(detecting.read(file))
    assert "| wrkbook | 60 | 1 of 2 (1 % to 99 %) | 2 of 2 (16 % to 100 %) |" in found
    assert "| ten runs | 60 |" in found
    assert "Planted: 2.0 % less throughput, 2.0 % more CPU time per request" in found
    assert "wrkbook left 1 of the equal and 0 of the slower ones undecided" in found


def test_the_documentation_shows_the_table_of_the_recorded_tries(detecting):
    table = detecting.in_markdown(detecting.read(detecting.FILE))
    assert table in (detecting.FILE.parent.parent / "docs" / "changes.md").read_text()


def test_the_simulated_hosts_are_merged_into_one_load():
    results = loaded("hosts").simulated(2)
    whole = combined(results)
    assert whole.service_time.total_count == sum(result.service_time.total_count for result in results) == 2_000_000
    assert whole.throughput_rps == pytest.approx(sum(result.throughput_rps for result in results))
