"""``./wrkbook hosts``: the machines with the roles of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from runners.cli.arguments import AsJson
from runners.cli.console import findings, show

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
def join(
    scheduler: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The controller's, such as tls://192.0.2.1:8786.")
    ],
    name: Annotated[str, typer.Option("--name", "--role", help="The name of this host: its roles.")],
    keys: Annotated[Path | None, typer.Option(help="Folder with the keys of the run; it is deleted.")] = None,
    address: Annotated[str, typer.Option(help="The address of this host to listen on.")] = "",
) -> None:
    """Run tasks of a controller on this machine, until it ends or is gone; `hosts check` and `run --hosts` start this."""
    from runners.hosts.worker import join as work

    work(scheduler, name, keys, address)
