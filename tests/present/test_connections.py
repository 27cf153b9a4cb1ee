"""Charts, tables and sentences about connections, from a made-up run."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest

from runners.analyse.results import analyse
from runners.present.connections import charts as scale, report, sentences as scale_words, tables as scale_tables
from runners.present.limits import limits_of
from runners.store.ledger import write_once
from tests.analyse.scaled import run_of

CELLS = {
    ("net-http", 20): 60_000.0,
    ("net-http", 1000): 50_000.0,
    ("net-http", 19_900): 38_000.0,
    ("express", 20): 8_000.0,
    ("express", 1000): {"rate": 7_000.0, "seen": 900},
    ("express", 19_900): {"rate": 6_500.0, "per_connection_bytes": 9000, "errors": 500},
}
LEFT_OUT = (
    "20000 connections do not fit into the limit of 20000 open files: 19900 were measured instead; to measure them, X."
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    run = run_of(tmp_path_factory.mktemp("raw"), CELLS, left_out=[LEFT_OUT])
    builds = [
        {
            "system": "net-http",
            "cold_s": 49.0,
            "warm_s": 1.0,
            "incremental_s": 1.1,
            "changed": "a.go",
            "output_bytes": 9_000_000,
        },
        {"system": "express", "failure": "npm ci: <no network>"},
    ]
    write_once(run.folder / "builds.json", json.dumps({"cpus": [0], "builds": builds}).encode())
    return analyse(run)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """One system, one block, one number of connections, no builds."""
    return analyse(run_of(tmp_path_factory.mktemp("bare"), {("gin", 10): 60_000.0}, blocks=1))


@pytest.mark.parametrize("draw", [scale.throughput, scale.service_times, scale.memory, scale.errors, scale.builds])
@pytest.mark.parametrize("which", ["results", "bare"])
def test_every_chart_can_be_drawn_and_says_what_is_to_be_seen(draw, which, request):
    chart = draw(request.getfixturevalue(which))
    if draw is scale.errors and which == "bare":
        assert chart is None  # nothing failed
        return
    assert chart.png().startswith(b"\x89PNG")
    assert chart.description


def test_a_cell_with_errors_is_drawn_hollow(results):
    chart = scale.throughput(results)
    hollow = [
        line for ax in chart.axes for line in ax.lines if line.get_markerfacecolor() == "none" and len(line.get_xdata())
    ]
    assert len(hollow) == 1


def test_tables_hold_connections_errors_and_slopes(results):
    text = str(scale_tables.connections(results))
    assert "json10@19900" in text
    assert "control" not in text
    row = next(line for line in text.splitlines() if line.startswith("express n = ") and "\t900" in line)
    assert "at once" in row
    assert "KiB" in text


def test_a_build_that_failed_is_shown_with_its_reason_escaped(results):
    fragment = scale_tables.builds(results)
    assert "&lt;no network&gt;" in fragment.html
    assert "49" in str(fragment)


def test_untimed_builds_are_said_to_be_so(bare):
    assert "not timed in this run" in str(scale_tables.builds(bare))
    assert scale_words.built(bare) == ""


def test_the_answer_and_the_conclusions_name_the_fastest_at_both_ends_the_memory_the_errors_and_the_builds(results):
    assert scale_words.answer(results) == (
        "json10 at 19,900 connections: net-http completes 38.3 k/s (38.1 to 38.5); express cannot be ranked with it."
    )
    few, kept, memory, drops, built = scale_words.conclusions(results)
    assert few.startswith("json10 at 20 connections: net-http completes ")
    assert " as many as express (" in few
    assert kept.startswith(
        "From 20 to 19,900 connections throughput falls by 1.58 × (1.58 to 1.58) with net-http and by"
    )
    assert memory.index("net-http") < memory.index("express")
    assert "KiB (" in memory
    assert drops.startswith("express failed, or was late, most often: in ")
    assert drops.endswith("at 19,900 connections (json10); 1 of 2 had no error.")
    assert built == "A cold build takes 49.0 s (net-http); after a change at most 1.10 s (net-http)."


def test_what_was_left_out_is_a_limit_and_no_conclusion(results):
    assert LEFT_OUT in limits_of(results)
    assert LEFT_OUT not in scale_words.conclusions(results)


def test_one_number_of_connections_of_one_system_is_enough_for_an_answer(bare):
    assert scale_words.answer(bare) == "json10 at 10 connections: gin alone has a rank, 60.2 k/s (interval not known)."
    assert not any("costs" in text for text in scale_words.conclusions(bare))


def test_the_decision_table_has_a_column_for_each_number_of_connections(results):
    lines = report.decision_table(results).text.splitlines()
    assert lines[1].startswith(
        "system\tjson10 [20 connections]\tjson10 [1,000 connections]\tjson10 [19,900 connections]\tmemory"
    )
    assert lines[3].startswith("net-http\t60.4 k/s leader")
    assert lines[5].startswith("express\t8.06 k/s 7.")


def test_the_limits_name_the_connections_and_what_was_left_out(results):
    text = "\n".join(limits_of(results))
    assert "closed loop of 20 to 19,900 connections" in text
    assert LEFT_OUT in text


def test_the_memory_in_the_decision_table_is_that_of_the_conclusions_whatever_workload_comes_first(results):
    other = results.usage.assign(workload_name="blog", rss_peak_bytes=3 * results.usage["rss_peak_bytes"])
    both = replace(results, tables=replace(results.tables, usage=pd.concat([other, results.usage], ignore_index=True)))
    table, slopes = report.decision_table(both).text, scale_tables.connections(both).text
    least = re.search(r"costs net-http ([\d.]+ KiB)", scale_words.per_connection(both))[1]
    head, *lines = table.splitlines()[1:]
    assert head.endswith("memory [of one more connection, json10]")
    assert any(line.startswith("net-http\t") and f"\t{least}" in line for line in lines)
    assert re.search(rf"net-http\tjson10\t{least}", slopes)
