"""``./wrkbook hosts``: the machines with the roles of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from runners.cli.arguments import DEFAULT_PROFILE, AsJson, Changes, parameter_values
from runners.cli.console import console, findings, show
from runners.core.errors import WrkbookError
from runners.core.project import find_experiment
from runners.core.status_line import note
from runners.store.ledger import Run, new_run_id

app = typer.Typer(help="Prepare and inspect the hosts of a run (docs/hosts.md).", no_args_is_help=True)


@app.command()
def check(
    inventory: Annotated[Path, typer.Argument(metavar="hosts.toml", help="The inventory of the hosts.")],
    as_json: AsJson = False,
) -> None:
    """Prepare and inspect all hosts, compare them with this machine, and say what to mend."""
    from runners.hosts.check import check_hosts  # with Dask: a second
    from runners.measure.machine_survey import ensure_measurable

    found = check_hosts(inventory)
    if as_json:
        print(json.dumps(found.as_dict(), indent=1))
    else:
        show(*findings(found.as_text()))
    ensure_measurable(found.problems)


@app.command()
def share(
    inventory: Annotated[Path, typer.Argument(metavar="hosts.toml", help="The inventory; each host has the role all.")],
    notebooks: Annotated[list[str], typer.Argument(metavar="NOTEBOOK…", help="What is measured, such as 02 04 06.")],
    profile: Annotated[str, typer.Option(help="How much is measured.")] = DEFAULT_PROFILE,
    parameter: Changes = None,
    each: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,VALUE", help="Measure with each of these values; repeated: with all combinations."
        ),
    ] = None,
    run_id: Annotated[
        str, typer.Option(help="Name of the runs; those that are here already are not measured again.")
    ] = "",
) -> None:
    """Have identical hosts measure notebooks side by side, each run on one host, and make the reports here."""
    from runners.cli.outcome import show_report
    from runners.experiments.plan import check_run
    from runners.hosts.fleet import jobs_of, matrix_of, share as shared
    from runners.hosts.inventory import read_inventory
    from runners.workbook.run import rebuild

    values = {"profile": profile} | parameter_values(parameter or [])
    matrix = {
        name: [parameter_values([f"{name}={text}"])[name] for text in texts]
        for name, texts in matrix_of(each or []).items()
    }
    jobs = jobs_of([find_experiment(name) for name in notebooks], run_id or new_run_id(profile), values, matrix)
    for job in jobs:
        check_run(job.experiment, job.values)
    missing = [job for job in jobs if not Run(job.experiment, job.run_id).exists]
    if kept := len(jobs) - len(missing):
        note(f"{kept} of {len(jobs)} runs are here already")
    target, failed = console(), []
    for place, (job, outcome) in enumerate(shared(read_inventory(inventory), missing) if missing else (), 1):
        state = "measured" if outcome.records else "failed"
        note(f"{job.experiment}, run {job.run_id}: {state} on {outcome.host or 'a host'}, {place} of {len(missing)}")
        failures = [outcome.failure] if outcome.failure else []
        if outcome.records:
            try:
                show_report(target, rebuild(Run(job.experiment, job.run_id)))
            except WrkbookError as error:
                failures.append(str(error))
        if failures:
            note(f"{job.experiment}, run {job.run_id}: {failures[0]}")
            failed.append(f"{job.experiment}, run {job.run_id}")
    if failed:
        raise WrkbookError(
            f"{len(failed)} of {len(missing)} runs failed: {'; '.join(failed)}",
            "see above why; the same --run-id measures those that have no records here",
        )


@app.command()
def join(
    scheduler: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The controller's, such as tls://192.0.2.1:8786.")
    ],
    name: Annotated[str, typer.Option("--name", "--role", help="The name of this host: its roles.")],
    keys: Annotated[Path | None, typer.Option(help="Folder with the keys of the run; they are deleted.")] = None,
    address: Annotated[str, typer.Option(help="The address of this host to listen on.")] = "",
) -> None:
    """Run tasks of a controller on this machine, until it ends or is gone; over SSH this is started by itself."""
    from runners.hosts.worker import join as work

    work(scheduler, name, keys, address)
