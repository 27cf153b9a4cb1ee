"""The command line: ``./wrkbook --help``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from runners.cli.arguments import (
    DEFAULT_PROFILE,
    HEADLINE,
    HEADLINE_MINUTES,
    AsJson,
    Budget,
    Changes,
    Every,
    Folder,
    HostsFile,
    LabPort,
    Names,
    Notebooks,
    OwnSessionOnly,
    Port,
    Sessions,
    TopologyFile,
    Version,
    duration_of,
    joined_parameters,
    parameter_values,
    without_other_sessions,
)
from runners.cli.builds import built_servers
from runners.cli.checks import write_lock
from runners.cli.comparing import compare
from runners.cli.console import INTERRUPTED, console, failures_told, findings as shown_findings, show, verified
from runners.cli.hosts import app as hosts_app
from runners.cli.serving import FIRST_LAB_PORT, has_a_screen, open_lab, servable, serve_until_interrupted
from runners.core.errors import WrkbookError
from runners.core.parameters import PROFILES
from runners.core.project import NOTEBOOKS, experiments, find_experiment
from runners.core.status_line import clear, steps
from runners.measure.conformance import verify_server
from runners.measure.this_machine import plan_here, plan_recorded
from runners.store.ledger import runs
from runners.store.runs import find_runs
from runners.systems.catalogue import Catalogue

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(hosts_app, name="hosts")


def main() -> None:
    """Run the command line; exit status 0 only on success, 130 after an interrupt."""
    try:
        with failures_told():
            app(args=joined_parameters(sys.argv[1:]), prog_name="./wrkbook", standalone_mode=True)
    except SystemExit as ending:
        if ending.code == INTERRUPTED:  # typer's own, without a word
            raise KeyboardInterrupt from ending
        raise


@app.callback()
def wrkbook(version: Version = False) -> None:
    """Measure web servers on equal work: each experiment is one Jupyter notebook."""


@app.command()
def run(
    notebooks: Notebooks = None,
    every: Annotated[bool, typer.Option("--all", help="Run every notebook.")] = False,
    profile: Annotated[str, typer.Option(help=f"How much is measured: {', '.join(PROFILES)}.")] = DEFAULT_PROFILE,
    parameter: Changes = None,
    run_id: Annotated[str, typer.Option(help="Name of the run; one that was interrupted goes on under its name.")] = "",
    budget: Budget = 0.0,
    hosts: HostsFile = None,
    sessions: Sessions = 1,
    interval: Every = "45m",
    own_session_only: OwnSessionOnly = False,
    as_json: AsJson = False,
) -> None:
    """Execute notebooks: measure, draw, conclude, and write the HTML reports."""
    from runners.cli.outcome import run_and_show  # its imports take seconds
    from runners.workbook.series import Series

    chosen = experiments() if every else [find_experiment(name) for name in notebooks or (HEADLINE,)]
    values = {"profile": profile} | parameter_values(parameter or []) | ({"run_id": run_id} if run_id else {})
    if hosts is not None:
        values["hosts"] = str(hosts)
    if not (notebooks or every or "budget_minutes" in values) and profile == DEFAULT_PROFILE:
        budget = budget or HEADLINE_MINUTES
    without_other_sessions(own_session_only)
    run_and_show(chosen, values, budget, Series(sessions, duration_of(interval)), as_json=as_json)


@app.command()
def report(
    run_ids: Annotated[list[str] | None, typer.Argument(metavar="[RUN_ID]…", help="Without one: all runs.")] = None,
    experiment: Annotated[str, typer.Option(help="Only this notebook, without comparisons.")] = "",
    own_session_only: OwnSessionOnly = False,
    again: Annotated[bool, typer.Option("--again", help="Also make those again that are up to date.")] = False,
) -> None:
    """Make tables, charts and HTML again from stored raw data; nothing is measured."""
    without_other_sessions(own_session_only)
    names = [find_experiment(experiment)] if experiment else experiments()
    wanted = {run_id for run_id in run_ids or [] if find_runs(run_id, names)}
    from runners.cli.outcome import show_report
    from runners.cli.rebuilding import rebuild_side_by_side
    from runners.workbook import run as running

    found = [known for name in names for known in runs(name) if not wanted or known.run_id in wanted]
    due = found if again else list(running.outdated(found, lambda report: show_report(console(), report)))
    if kept := len(found) - len(due):
        console().print(f"Up to date, not made again: {kept} of {len(found)} reports (--again makes them anyway).")
    if len(due) == len(found) == 1:
        show_report(console(), running.rebuild(due[0]))
    elif due:
        outcomes = list(_printed(rebuild_side_by_side(due)))
        running.refresh_index()
        if not all(outcomes):
            raise typer.Exit(1)
    if not experiment:
        running.rebuild_comparisons(run_ids or [], again=again)


def _printed(outcomes: Iterable[tuple[str, bool]]) -> Iterator[bool]:
    """Print what each rebuilt run said, as it comes; yield whether it ended well."""
    for said, ended_well in outcomes:
        print(said, end="", flush=True)
        yield ended_well


app.command()(compare)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def test(
    context: typer.Context,
    fast: Annotated[
        bool, typer.Option("--fast", help="Only formatting, types and unit tests: about a minute.")
    ] = False,  # noqa: PT028
    faults: Annotated[
        bool, typer.Option("--faults", help="Tests in their full form, all or those named: hours.")
    ] = False,  # noqa: PT028
    soak_minutes: Annotated[float, typer.Option(min=0, help="How long --faults repeats runs.")] = 60.0,  # noqa: PT028
) -> None:
    """Run everything that CI checks; further arguments go to pytest (for example: -k parser)."""
    from runners.cli.checks import run_checks, run_fast_checks, run_faults

    if fast and faults:
        raise WrkbookError("--fast and --faults exclude each other", "choose one")
    if faults:
        raise typer.Exit(run_faults(soak_minutes, context.args))
    raise typer.Exit(run_fast_checks(context.args) if fast else run_checks(context.args))


@app.command()
def lab(
    folder: Folder = NOTEBOOKS,
    port: LabPort = FIRST_LAB_PORT,
    browser: Annotated[
        bool | None, typer.Option(help="Open a browser; without it: where there is a screen.", show_default=False)
    ] = None,
) -> None:
    """Open JupyterLab on the notebooks; Ctrl-C ends it."""
    open_lab(folder, port, has_a_screen() if browser is None else browser)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Show experiments, systems, workloads, and the state of each."""
    from runners.cli.listing import listing, parts

    found = listing()
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        show(*parts(found))


@app.command()
def new_server(
    name: Annotated[str, typer.Argument(help="The new folder of servers/: lower-case letters, digits and hyphens.")],
    like: Annotated[
        str, typer.Option(metavar="SERVER", help="Copy this server; without it: a small one that serves ping, in Go.")
    ] = "",
) -> None:
    """Make the skeleton of a server in servers/NAME: it builds, starts and keeps the contract."""
    from runners.systems.skeleton import new_server as make

    print(make(name, like))


@app.command()
def doctor(topology: TopologyFile = None, as_json: AsJson = False) -> None:
    """Inspect this machine before measuring: each finding with what to do about it. Changes nothing."""
    from runners.measure.machine_survey import diagnose, ensure_measurable

    found = plan_recorded(topology) if topology else diagnose()
    if as_json:
        print(json.dumps(found.as_dict(), indent=1))
    else:
        show(*shown_findings(found.as_text()))
    ensure_measurable(found.problems)


@app.command()
def verify(systems: Names = None, as_json: AsJson = False) -> None:
    """Check that servers keep the contract; no load."""
    made = built_servers(systems)
    plan, outcome = plan_here(), dict[str, Any]()
    for built in steps(made, "Verifying the servers"):
        findings = verify_server(built, plan.server, plan.backend)
        outcome[built.server.label] = [vars(finding) for finding in findings]
        if not as_json:
            clear()
            show(*verified(built.server.label, [str(finding) for finding in findings]))
    if as_json:
        print(json.dumps(outcome, indent=1))
    if any(outcome.values()):
        raise typer.Exit(1)


@app.command()
def serve(
    system: Annotated[str, typer.Argument(help="A folder of servers/.", autocompletion=lambda: servable(Catalogue()))],
    port: Port = None,
    threads: Annotated[int, typer.Option(min=0, help="CPUs to run on; 0: as planned for measuring.")] = 0,
) -> None:
    """Run one system in the foreground, to try it with any client; Ctrl-C ends it."""
    serve_until_interrupted(system, port, threads)


@app.command(hidden=True)
def lock() -> None:
    """Write requirements.lock from environment.yml."""
    write_lock()
