"""Implement ``compare``: two runs that exist, or the servers of two git revisions measured in the same blocks."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runners.cli.arguments import HEADLINE, AsJson, Changes, parameter_values
from runners.cli.build_ratios import build_time_ratios, size_ratios
from runners.cli.changed_rows import changed_rows, servers_left_out
from runners.cli.changes import in_a_table, in_markdown, verdict
from runners.cli.console import failures_told, show
from runners.core.errors import WrkbookError
from runners.core.parameter_values import AUTO
from runners.core.project import OTHER_SERVERS, WITH_LATENCY, declared_parameters, experiments, find_experiment
from runners.stats.verdicts import PRECISION_OF_THRESHOLD, decision_of
from runners.store.ledger import Run
from runners.store.runs import find_runs
from runners.systems import revisions
from runners.systems.catalogue import Catalogue

if TYPE_CHECKING:
    from runners.analyse.revision_changes import Change
    from runners.core.records import Decision

RANGE = ".."
_STATUS: dict[Decision, int] = {"no regression": 0, "regression": 1, "undecided": 2}
_FAILED = 3
_SHOWN_LENGTH = 12
# The shorter a time slice, the less of the machine's drift is in a ratio. Cold caches at its begin fall on both builds alike.
_SLICES = f"{AUTO}-20"
_MOST_BLOCKS = 1000  # time is the limit


def compare(
    before: Annotated[
        str, typer.Argument(metavar="RUN_A | REVISION..", help="The run, or the git revision, before the change.")
    ],
    after: Annotated[
        str | None,
        typer.Argument(metavar="RUN_B | NOTEBOOK", help="The run after it; of revisions: what is measured."),
    ] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also when two runs were not measured alike.")] = False,
    experiment: Annotated[str, typer.Option(help="Of runs: only this notebook; without it: each that has both.")] = "",
    parameter: Changes = None,
    threshold: Annotated[
        float, typer.Option(min=0.1, max=50, help="Of revisions: the slowdown to find, in percent.")
    ] = 2.0,
    minutes: Annotated[float, typer.Option(min=0.5, help="Of revisions: time to measure at most.")] = 10.0,
    dirty: Annotated[
        bool, typer.Option("--dirty", help="Of revisions: also with changes that are not committed.")
    ] = False,
    latency: Annotated[
        bool,
        typer.Option(
            "--latency", help="Of revisions: also p99 at a fixed rate, half of what the slower build carries."
        ),
    ] = False,
    build_times: Annotated[
        bool, typer.Option("--build-times", help="Of revisions: also time a clean build of each changed server.")
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="Of revisions: write a summary for a pull request here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs, or the servers of two git revisions: main.., main..HEAD, v1..v2.

    Revisions are measured in the same blocks. Exit status: 0 without a regression, 1 with one, 2 where time was too
    short to decide, 3 after an error.
    """
    if RANGE in before:
        try:
            with failures_told(_FAILED):
                if end := other_end(before, dirty=dirty):
                    status = _compare_elsewhere(before, end)
                else:
                    status = _compare_revisions(
                        before,
                        find_experiment(after or HEADLINE),
                        parameter_values(parameter or []),
                        threshold / 100,
                        minutes,
                        dirty=dirty,
                        latency=latency,
                        build_times=build_times,
                        markdown=markdown,
                        as_json=as_json,
                    )
        except Exception:  # a fault of wrkbook itself: Python's own status for it, 1, says regression
            traceback.print_exc()
            status = _FAILED
        raise typer.Exit(status)
    if after is None:
        raise WrkbookError("compare needs two runs, or one range of revisions", "./wrkbook compare --help")
    for run_id in (before, after):
        find_runs(run_id, [find_experiment(experiment)] if experiment else experiments())
    from runners.cli.outcome import comparison_parts  # with pandas: seconds
    from runners.workbook import run as running

    compared = running.compare(before, after, experiment=experiment, anyway=anyway)
    if as_json:
        print(json.dumps([comparison.as_dict() for comparison in compared], indent=1))
    else:
        for each in compared:
            show(*comparison_parts(each.summary), f"{each.html}\n")


def _compare_revisions(
    before: str,
    experiment: str,
    values: Mapping[str, Any],
    threshold: float,
    minutes: float,
    *,
    dirty: bool,
    latency: bool,
    build_times: bool,
    markdown: Path | None,
    as_json: bool,
) -> int:
    """Measure both revisions, print the changes, and return the exit status."""
    commit = commit_of(before, dirty=dirty)
    if "variants" not in declared_parameters(experiment):
        raise WrkbookError(f"{experiment} measures one build of each server", "choose one of 01 to 04")
    systems = values.get("systems")
    if not systems:
        catalogue = Catalogue()
        systems = changed_rows(experiment, commit, catalogue)
        if left_out := servers_left_out(experiment, commit, catalogue):
            print(f"Changed, but not measured by {experiment}: {', '.join(left_out)}", file=sys.stderr)
    given = {**values, "systems": systems}
    if latency:
        os.environ[WITH_LATENCY] = "1"  # for the notebook's kernel
    found = measured(commit, experiment, given, threshold, minutes, build_times=build_times) if systems else []
    if markdown:
        markdown.write_text(in_markdown(found, before, threshold), encoding="utf-8")
    if as_json:
        print(json.dumps([each.as_dict(threshold) for each in found], indent=1))
    else:
        show(*([in_a_table(found, threshold)] if found else []), f"{verdict(found, before, threshold)}\n")
    return _STATUS[decision_of([each.decision(threshold) for each in found])]


def other_end(text: str, *, dirty: bool) -> str:
    """Return the commit at which a range ends, where that is not the one that is checked out; else an empty text.

    Raises
    ------
    WrkbookError
        For an unknown revision, and when changes that are not committed are wanted too.
    """
    last = text.partition(RANGE)[2]
    commit = revisions.commit_of(last or "HEAD")
    if commit == revisions.commit_of("HEAD"):
        return ""
    if dirty:
        raise WrkbookError(f"{last} is not what is checked out, and has no changes", "leave --dirty out")
    return commit


def _compare_elsewhere(text: str, end: str) -> int:
    """Compare as this command line says, with the servers of the commit `end` in the place of those that are checked out."""
    first = revisions.commit_of(text.partition(RANGE)[0] or "HEAD")[:_SHOWN_LENGTH]
    words = [f"{first}{RANGE}" if word == text else word for word in sys.argv[1:]]
    with revisions.checked_out(end) as servers:
        command = [sys.executable, "-m", "runners", *words]
        return subprocess.call(command, env={**os.environ, OTHER_SERVERS: str(servers)})


def commit_of(text: str, *, dirty: bool) -> str:
    """Return the commit before ``..``; what follows is what is checked out, which is measured as it lies there.

    Raises
    ------
    WrkbookError
        For an unknown revision, or changes that are not committed unless `dirty`.
    """
    commit = revisions.commit_of(text.partition(RANGE)[0] or "HEAD")
    if revisions.is_dirty() and not dirty:
        raise WrkbookError(
            "servers/ has changes that are not committed", "commit them, or measure them too with --dirty"
        )
    return commit


def given_to(experiment: str, values: Mapping[str, Any], revision: str, threshold: float) -> dict[str, Any]:
    """Return the parameters of a run that compares a revision's builds with those of the working tree; `values` are the user's.

    Raises
    ------
    WrkbookError
        For a precision: it follows from the threshold.
    """
    if "precision" in values:
        raise WrkbookError(
            "compare measures until a slowdown is decided, not to a precision", "say --threshold PERCENT"
        )
    usual: dict[str, Any] = {"slices": _SLICES, "precision": threshold * PRECISION_OF_THRESHOLD}
    if "profile" not in values:
        usual |= {"profile": "standard", "max_blocks": _MOST_BLOCKS}
    declared = declared_parameters(experiment)
    return {name: value for name, value in usual.items() if name in declared} | {**values, "variants": [revision]}


def measured(
    commit: str, experiment: str, values: Mapping[str, Any], threshold: float, minutes: float, *, build_times: bool
) -> list[Change]:
    """Measure the servers of a commit and those of the working tree in the same blocks; return the change of each cell.

    Raises
    ------
    WrkbookError
        When no cell has a number at both revisions.
    """
    from runners.analyse.results import analyse  # with pandas: seconds
    from runners.analyse.revision_changes import changes
    from runners.workbook import run as running

    with revisions.export(commit) as name:
        (report,) = running.run([experiment], given_to(experiment, values, name, threshold), minutes)
        sizes = size_ratios(name)
        results = analyse(Run(experiment, report.run_id))
        servers = {system.name: system.server for system in results.manifest.systems.values()}
        builds = build_time_ratios(name, set(servers.values())) if build_times else {}
    print(f"Report: {report.html}", file=sys.stderr)
    if found := changes(results):
        return [
            replace(
                each,
                size_ratio=sizes.get(servers[each.system], math.nan),
                build_ratio=builds.get(servers[each.system], math.nan),
            )
            for each in found
        ]
    raise WrkbookError(
        f"no cell has a number at both revisions, see {report.html}", "./wrkbook verify tries each server"
    )
