"""``compare REVISION..``: what is measured, what is refused, and how the outcome is said."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from runners.analyse.revision_changes import Change
from runners.cli import build_ratios, changed_rows, comparing
from runners.cli.commands import app
from runners.cli.console import plain
from runners.core.errors import WrkbookError
from runners.core.parameters import check_parameters
from runners.core.records import Interval
from runners.systems.catalogue import Catalogue
from tests.systems.test_revisions import git, project  # noqa: F401  (a fixture)

SAME, SLOWER, WIDE = Interval(1.0, 0.999, 1.001), Interval(0.9, 0.89, 0.91), Interval(1.0, 0.5, 2.0)


def change(throughput, system="gin"):
    return Change(system, "decode-10", throughput, SAME, 1.0, 8, is_bound=False)


def test_the_workloads_of_a_notebook_are_read_from_its_call():
    assert changed_rows.workloads_of("02-json-decode") == ["decode"]
    assert changed_rows.workloads_of("04-text-json-sql") == ["text", "json", "sql1", "sql2"]


def test_a_range_ends_at_what_is_checked_out_or_at_another_commit(project):  # noqa: F811
    first = git(project, "rev-parse", "HEAD")
    git(project, "commit", "-qm", "second", "--allow-empty")
    for text in ("HEAD~1..", "HEAD~1..HEAD"):
        assert comparing.commit_of(text, dirty=False) == first
        assert comparing.other_end(text, dirty=False) == ""
    assert comparing.other_end("HEAD..HEAD~1", dirty=False) == first
    with pytest.raises(WrkbookError, match="HEAD~1 is not what is checked out"):
        comparing.other_end("HEAD..HEAD~1", dirty=True)


def test_another_end_of_a_range_is_measured_from_a_worktree_that_is_gone_afterwards(project, monkeypatch):  # noqa: F811
    git(project, "tag", "v1")
    for number in (2, 3):
        (project / "servers/toy/main.c").write_text(f"state {number}")
        git(project, "commit", "-qam", f"v{number}")
        git(project, "tag", f"v{number}")
    seen = {}

    def measured(command, env):
        servers = Path(env["WRKBOOK_SERVERS"])
        seen.update(command=command, servers=servers, content=(servers / "toy/main.c").read_text())
        assert git(servers, "rev-parse", "HEAD") == git(project, "rev-parse", "v2")
        return 2

    monkeypatch.setattr(comparing.subprocess, "call", measured)
    monkeypatch.setattr("sys.argv", ["wrkbook", "compare", "v1..v2", "01", "--minutes", "3"])
    assert status_of("v1..v2", "01", "--minutes", "3") == 2
    assert seen["content"] == "state 2"
    assert seen["command"][3:] == ["compare", f"{git(project, 'rev-parse', 'v1')[:12]}..", "01", "--minutes", "3"]
    assert not seen["servers"].exists()
    assert len(git(project, "worktree", "list").splitlines()) == 1


def test_changes_that_are_not_committed_are_measured_only_on_request(project):  # noqa: F811
    (project / "servers/toy/main.c").write_text("new")
    with pytest.raises(WrkbookError, match="not committed"):
        comparing.commit_of("HEAD..", dirty=False)
    assert comparing.commit_of("HEAD..", dirty=True) == git(project, "rev-parse", "HEAD")


def test_rows_that_share_changed_code_are_measured(monkeypatch):
    monkeypatch.setattr(comparing.revisions, "changed_servers", lambda _: {"shared"})
    rows = comparing.changed_rows("02-json-decode", "commit", Catalogue())
    assert "gin+sonic" in rows
    assert "drogon+simdjson" not in rows


def test_of_a_changed_server_the_default_rows_are_measured_or_all_where_it_has_none(monkeypatch):
    monkeypatch.setattr(comparing.revisions, "changed_servers", lambda _: {"gin", "net-http"})
    catalogue = Catalogue()
    rows = comparing.changed_rows("02-json-decode", "commit", catalogue)
    default = [row.name for row in catalogue.systems("decode", default_only=True) if row.server == "gin"]
    assert not [row for row in catalogue.systems("decode", default_only=True) if row.server == "net-http"]
    assert rows == [*default, *(row.name for row in catalogue.systems("decode") if row.server == "net-http")]


def test_changed_servers_that_the_notebook_does_not_measure_are_named(project, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(comparing.revisions, "changed_servers", lambda _: {"haproxy-tcp", "pproxy", "contract"})
    assert status_of("HEAD..", "02") == 0
    assert "Changed, but not measured by 02-json-decode: haproxy-tcp, pproxy" in capsys.readouterr().err


def status_of(*arguments):
    with pytest.raises(SystemExit) as ending:
        app(args=["compare", *arguments], standalone_mode=True)
    return ending.value.code


def test_where_nothing_differs_nothing_is_measured_and_that_is_no_regression(project, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(comparing.revisions, "changed_servers", lambda _: set())
    assert status_of("HEAD..") == 0
    assert "no measured row differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.."], "there is no revision 'nothing'"),
        (["HEAD..", "06"], "06-tcp-proxies measures one build of each server"),
        (["HEAD..", "77"], "77"),
    ],
)
def test_an_error_has_a_status_of_its_own(project, capsys, arguments, told):  # noqa: F811
    assert status_of(*arguments) == 3
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("error", [FileNotFoundError("no such image"), KeyError("gin"), RuntimeError("no such thing")])
def test_a_fault_of_wrkbook_itself_is_no_regression_either(project, monkeypatch, capsys, error):  # noqa: F811
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(comparing, "changed_rows", lambda *_: ["gin"])
    monkeypatch.setattr(comparing, "measured", fails)
    assert status_of("HEAD..") == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_full_disk_is_told_without_a_traceback_and_is_no_regression(project, monkeypatch, capsys):  # noqa: F811
    def fails(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(comparing, "changed_rows", lambda *_: ["gin"])
    monkeypatch.setattr(comparing, "measured", fails)
    assert status_of("HEAD..") == 3
    told = capsys.readouterr().err
    assert "df -h" in told
    assert "Traceback" not in told


def test_the_status_says_what_is_decided(project, monkeypatch, tmp_path, capsys):  # noqa: F811
    monkeypatch.setattr(comparing, "changed_rows", lambda *_: ["gin"])
    for interval, status in ((SAME, 0), (SLOWER, 1), (WIDE, 2)):
        monkeypatch.setattr(comparing, "measured", lambda *_, interval=interval, **__: [change(interval)])
        assert status_of("HEAD..", "--markdown", str(tmp_path / "comment.md")) == status
    assert (tmp_path / "comment.md").read_text().startswith("**Undecided")
    capsys.readouterr()
    assert status_of("HEAD..", "--json") == 2
    assert json.loads(capsys.readouterr().out)[0]["decision"] == "undecided"


@pytest.mark.parametrize(
    ("experiment", "values", "differing"),
    [
        ("02-json-decode", {}, {"slices": "auto-20", "profile": "standard", "max_blocks": 1000}),
        ("02-json-decode", {"slices": "0", "profile": "quick"}, {"slices": "0", "profile": "quick"}),
        # Its windows are in one piece.
        ("04-text-json-sql", {"seed": 7}, {"profile": "standard", "max_blocks": 1000, "seed": 7}),
    ],
)
def test_a_comparison_of_builds_measures_until_each_is_decided_and_keeps_what_was_given(experiment, values, differing):
    given = comparing.given_to(experiment, values, "abc", 0.02)
    assert given == {"precision": 0.005, "variants": ["abc"], **differing}
    assert check_parameters(given, experiment).effective_profile.max_blocks == (3 if "profile" in values else 1000)


def test_a_precision_is_refused_since_it_follows_from_the_threshold():
    with pytest.raises(WrkbookError, match="not to a precision") as failed:
        comparing.given_to("02-json-decode", {"precision": 0.001}, "abc", 0.02)
    assert "--threshold" in str(failed.value.remedy)


@pytest.mark.parametrize(
    ("intervals", "decided", "said"),
    [
        ([SAME, SAME], "no regression", "No regression since main..: no cell is slower by 2.0 %."),
        ([SAME, WIDE], "undecided", "Undecided"),
        ([WIDE, SLOWER], "regression", "Regression since main..: at least one cell is slower"),
    ],
)
def test_one_cell_decides_for_all(intervals, decided, said):
    found = [change(interval) for interval in intervals]
    assert comparing.decision_of([each.decision(0.02) for each in found]) == decided
    assert comparing.verdict(found, "main..", 0.02).startswith(said)


def test_where_the_control_leaves_everything_open_it_is_named_with_its_ratio():
    found = [replace(change(SLOWER), control=Interval(1.05, 1.04, 1.06))]
    said = comparing.verdict(found, "main..", 0.02)
    assert said.startswith("Undecided whether a cell is slower")
    assert said.endswith("serves 1.05 × (1.04 to 1.06) as much as itself: there, changes may be the machine's.")
    assert "At decode-10 the control, one build launched twice," in said
    assert said in comparing.in_markdown(found, "main..", 0.02)
    for decided in ([change(SLOWER), *found], [change(SAME)], [change(WIDE)]):
        assert "control" not in comparing.verdict(decided, "main..", 0.02)


def test_the_table_and_the_comment_hold_each_cell():
    found = [change(SLOWER), change(SAME, "a|b")]
    shown = plain(comparing.in_a_table(found, 0.02))
    assert "regression" in shown
    comment = comparing.in_markdown(found, "main..", 0.02)
    assert "| gin | decode-10 | 0.900 × (0.890 to 0.910) |" in comment
    assert "a&#124;b" in comment


def test_build_times_are_shown_where_they_were_measured():
    timed = [replace(change(SAME), build_ratio=1.25)]
    assert "build time" in plain(comparing.in_a_table(timed, 0.02))
    assert "1.25 ×" in plain(comparing.in_a_table(timed, 0.02))
    assert "build time" not in plain(comparing.in_a_table([change(SAME)], 0.02))
    assert "| build time |" in comparing.in_markdown(timed, "main..", 0.02)
    assert "build time" not in comparing.in_markdown([change(SAME)], "main..", 0.02)


def test_a_build_time_is_that_of_the_present_build_over_that_of_the_other_revision(monkeypatch):
    now, then, other = (SimpleNamespace(name=name) for name in ("gin", "gin", "node"))
    seconds = {id(now): 6.0, id(then): 4.0}
    monkeypatch.setattr(build_ratios, "_pairs", lambda _: [(now, then, None), (other, other, None)])
    monkeypatch.setattr(build_ratios, "clean_build_s", lambda server, *_: seconds[id(server)])
    assert build_ratios.build_time_ratios("0123456789ab", {"gin"}) == {"gin": 1.5}


def test_sizes_are_those_of_what_both_builds_leave(tmp_path, monkeypatch):
    sizes = {"gin": 300, "gin+0123456789ab": 200, "node": 10, "drogon+0123456789ab": 10}
    sizes |= {"express": 8, "express+0123456789ab": 4}
    builds = {}
    for label, size in sizes.items():
        name, _, variant = label.partition("+")
        builds[label] = SimpleNamespace(name=name, variant=variant or None, label=label)
        (tmp_path / label).mkdir()
        (tmp_path / label / "server").write_bytes(b"x" * size)
    monkeypatch.setattr(build_ratios, "Catalogue", lambda: SimpleNamespace(builds=builds))
    # An image that was made for what is measured does not hold what express needs: there is no other.
    image = lambda _, servers: SimpleNamespace(ready=servers[0].name != "express")  # noqa: E731
    monkeypatch.setattr(build_ratios, "image_to_run", image)
    monkeypatch.setattr(build_ratios, "artifact", lambda server, _: SimpleNamespace(folder=tmp_path / server.label))
    assert build_ratios.size_ratios("0123456789ab") == {"gin": 1.5}
