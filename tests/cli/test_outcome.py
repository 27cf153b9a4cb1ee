"""What a run prints at its end: short, with the answer, what failed, and what to do next."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from runners.analyse.standings import Standing, standings
from runners.cli import commands, outcome
from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.core.records import Interval
from runners.workbook import run as running
from runners.workbook.run import Report
from tests.present.test_comparison import summary_cell, summary_of

NAMES = ["01-ping", "02-json-decode", "03-json-roundtrip"]
SCREEN_LINES = 25
VOID = "failed: all trials are void (steal: 12 % of CPU 0 was given to others; )"


def reference(name):
    return json.loads((PROJECT / "data/processed" / name / "reference/summary.json").read_text())


def report(name, failed=(), **changed):
    found = reference(name) | changed
    html = Path("data/processed", name, "20261120-155900-standard", "report.html")
    return Report(name, "r1", html, tuple(found["conclusions"]), tuple(failed), found)


def printed(reports, width, end=True):
    console = Console(width=width, highlight=False, markup=False, no_color=True)
    with console.capture() as captured:
        for each in reports:
            outcome.show_report(console, each)
        if end:
            outcome.show_end(console, reports)
    return captured.get()


@pytest.mark.parametrize("width", [80, 120])
def test_three_notebooks_fit_on_one_screen(width):
    lines = printed([report(name) for name in NAMES], width).splitlines()
    assert len(lines) <= SCREEN_LINES, "\n".join(lines)
    paths = ("data/processed/", "All reports:", "For narrower")
    assert [line for line in lines if len(line) > width and not line.strip().startswith(paths)] == []
    head = next(line for line in lines if line.startswith("workload"))
    assert head.split() == ["workload", "leader", "req/s", "×", "next", "95", "%", "next", "n"]


def test_a_report_says_its_answer_and_where_it_is():
    text = printed([report("02-json-decode", answer="Drogon is fastest.")], 80, end=False)
    assert text.startswith("✓ 02: Drogon is fastest.\n")
    assert "02-json-decode/20261120-155900-standard/report.html" in text


def test_without_an_answer_the_headline_stands_for_it():
    assert reference("02-json-decode")["headline"][:60] in printed([report("02-json-decode")], 300, end=False)


def test_a_cell_without_a_number_is_told_with_its_reason_and_what_still_holds():
    found = report("02-json-decode", [f"gin, decode-1 ({VOID})"])
    text = printed([found], 200, end=False)
    assert text.startswith("✗ 02: ")
    assert (
        f"1 of {len(found.summary['cells'])} cells have no number: gin, decode-1 (failed: all trials are void" in text
    )
    assert f"The other {len(found.summary['cells']) - 1} hold." in text


def test_the_table_names_the_leader_its_lead_and_the_next_system():
    lines = printed([report("02-json-decode")], 120).splitlines()
    (row,) = [line for line in lines if " decode-10 " in line]
    found = next(each for each in standings(reference("02-json-decode")) if each.workload == "decode-10")
    rate = f"{found.throughput_rps.value / 1000:.1f}"
    assert row.split()[:4] == ["02", "decode-10", found.leader, rate]
    assert found.following in row


@pytest.mark.parametrize(("count", "is_said"), [(48, True), (7, False)])
def test_a_check_that_made_many_trials_void_is_told_with_what_to_do(count, is_said):
    cell = {
        "system": "gin",
        "workload": "decode-1",
        "failed_count": count,
        "void": True,
        "block": 2,
        "detail": "a build",
    }
    failed = [cell | {"advice": "end other programs"}, cell | {"void": False, "advice": "none"}]
    checks = [{"name": name, "trials_count": 72, "failed_count": 0, "failed": []} for name in ("clock", "errors")]
    checks[1:1] = [{"name": "other load", "trials_count": 72, "failed_count": 2 * count, "failed": failed}]
    text = printed([report("02-json-decode", checks=checks)], 200, end=False)
    said = f"  {count} of 72 trials are void (other load): end other programs.\n"
    assert (said in text) == is_said
    assert ("void" in text) == is_said


@pytest.mark.parametrize(
    ("bound", "shown"),
    [("", ("1.50", "1.40 to 1.60")), ("at least", ("≥ 1.50", "1.40 to 1.60")), ("unknown", ("not known", "–"))],
)
def test_a_lead_between_two_that_the_load_limited_is_not_known_and_has_no_interval(bound, shown):
    rate = Interval(50_000.0, 49_000.0, 51_000.0)
    found = Standing("ping", "axum", rate, True, "gin", Interval(1.5, 1.4, 1.6), bound, 8)
    row = outcome._row(found)
    assert tuple(row[2:4]) == shown


def test_a_long_name_is_cut_before_a_number_is():
    rows = [
        [
            "relay@no-keepalive-capacity +2",
            "drogon-as-published",
            "≥ 14.1 k",
            "≥ 1.08",
            "0.83 to 1.41",
            "http-tunnel",
            "12",
        ]
    ]
    heads = ["workload", "leader", "req/s", "× next", "95 %", "next", "n"]
    (row,) = outcome._fitting(heads, rows, 80)
    assert row[2:5] == rows[0][2:5]
    assert row[6] == "12"
    assert sum(map(len, row)) + 2 * 6 == 80
    assert row[0].endswith("…")


def test_many_workloads_are_counted_not_listed():
    text = printed([report(name) for name in ("04-text-json-sql", "05-connection-scale")], 120)
    assert " +7 " in text
    assert len(text.splitlines()) <= SCREEN_LINES


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"profile": "quick"}, "A smoke run decides nothing. To measure: ./wrkbook run 02"),
        ({"precision_reached_ratio": 0.12}, "For narrower intervals: ./wrkbook run 02 --run-id r1 --budget 30"),
        ({"precision_reached_ratio": None}, "For narrower intervals"),
        ({"precision_reached_ratio": 0.01}, "./wrkbook compare r1 NEW_RUN_ID"),
    ],
)
def test_the_next_step_depends_on_what_was_reached(changed, said):
    assert said in outcome.next_step([report("02-json-decode", **changed)])


@pytest.fixture
def ended(monkeypatch):
    """A function that lets the next run end with these reports, and returns what it was told to do."""
    told = {}

    def let(reports):
        def run(names, values, budget_minutes, finished):
            told.update(names=names, values=values, budget=budget_minutes)
            for each in reports:
                finished(each)
            return reports

        monkeypatch.setattr(running, "run", run)
        return told

    return let


def test_a_failed_cell_ends_the_command_with_its_reason_and_what_to_do(ended):
    ended([report("02-json-decode", [f"gin, decode-{number} ({VOID})" for number in range(5)])])
    with pytest.raises(WrkbookError) as caught:
        commands.run(["02"])
    assert "all trials are void (steal: " in caught.value.problem
    assert "and 2 more" in caught.value.problem
    assert caught.value.remedy == (
        "see the reports. If a server failed, run ./wrkbook verify. If the machine was busy, rerun with --run-id r1."
    )


def test_without_a_name_the_headline_experiment_runs_alone_and_briefly(ended):
    told = ended([report("02-json-decode")])
    commands.run()
    assert told["names"] == ["02-json-decode"]
    assert told["budget"] == commands.HEADLINE_MINUTES
    commands.run(["02"])
    assert told["budget"] == 0
    commands.run(budget=30)
    assert told["budget"] == 30
    commands.run(parameter=["budget_minutes=7"])
    assert told["budget"] == 0
    commands.run(every=True)
    assert set(told["names"]) > {"00-machine", "07-published-claims"}


def test_json_is_all_that_is_printed(ended, capsys):
    ended([report("02-json-decode")])
    commands.run(["02"], as_json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert set(found) == {"experiment", "run_id", "html", "conclusions", "failed"}


def test_two_compared_runs_fit_into_80_columns_with_their_conclusions():
    names = ["drogon+simdjson", "gin+encoding/json/v2"]
    cells = [summary_cell(name, 0.98, "undecided", ends=(0.9, 1.03)) for name in names]
    console = Console(width=80, highlight=False, no_color=True)
    with console.capture() as captured:
        for part in outcome.comparison_parts(summary_of(*cells, summary_cell("control", 1.0, ""))):
            console.print(part)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    assert max(map(len, lines)) <= 80
    (row,) = [line for line in lines if line.startswith(names[1])]
    assert row.endswith("0.980 × (0.900 to 1.030)  undecided")
    assert lines[-1] == "  • It is faster."
    assert lines[2] == "One changed."


def test_a_hostile_sentence_cannot_act_on_the_terminal():
    text = printed([report("02-json-decode", answer="\x1b[2Jgone [red]x[/red]")], 80, end=False)
    assert "\x1b" not in text
    assert "[red]x[/red]" in text
