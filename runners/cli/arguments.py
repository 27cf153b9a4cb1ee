"""Parameters as words of the command line, and back: ``-p NAME VALUE``."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
import yaml

from runners.core.errors import WrkbookError
from runners.core.parameters import Parameters
from runners.core.project import OWN_SESSION_ONLY, PROJECT
from runners.core.units import parse_duration
from runners.machine.facts import project_facts
from runners.systems.sockets import FIRST_PORT

# The experiment for a newcomer's first question, and so many minutes of measuring that its answer, on a new machine, is there
# within ten minutes.
HEADLINE, HEADLINE_MINUTES = "02", 5.0
DEFAULT_PROFILE = "standard"
_FIRST_UNPRIVILEGED_PORT = 1024  # ip(7)


def check_port(port: int | None) -> int | None:
    """Return `port`; refuse one on which only root may listen."""
    if port is not None and port < _FIRST_UNPRIVILEGED_PORT:
        raise WrkbookError(f"port {port} is reserved for root", f"choose a port from {_FIRST_UNPRIVILEGED_PORT} up")
    return port


def without_other_sessions(chosen: bool) -> None:
    """Let the notebooks' kernels ignore other sessions, where that was chosen."""
    if chosen:
        os.environ[OWN_SESSION_ONLY] = "1"


def _show_version(chosen: bool) -> None:
    """Print the version, and in a git checkout the commit, and end."""
    if not chosen:
        return
    facts = project_facts()
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    changed = ", with changes" if facts.get("git_state") == "modified" else ""
    commit = facts["git_commit"][:12] if "git_state" in facts else facts["git_commit"]
    print(f"wrkbook {version} ({commit}{changed})")
    raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and end.")
]
Names = Annotated[list[str] | None, typer.Argument(metavar="[SYSTEM]…", help="Folders of servers/; without one: all.")]
Notebooks = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NOTEBOOK]…", help="Such as 03 or 03-json-roundtrip; without one: 02-json-decode."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("-p", "--parameter", metavar="NAME VALUE", help="Change a parameter; may be repeated."),
]
Folder = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, resolve_path=True, help="Whose notebooks are shown.")
]
LabPort = Annotated[int, typer.Option(max=65535, callback=check_port, help="The first that is tried on 127.0.0.1.")]
Port = Annotated[
    int | None,
    typer.Option(
        max=65535, callback=check_port, help=f"On 127.0.0.1; without it: the first free from {FIRST_PORT} on."
    ),
]
Budget = Annotated[
    float,
    typer.Option(
        min=0,
        help="Minutes of measuring in all; 0: 15 for each three notebooks, at least the profile's blocks; "
        f"without a notebook {HEADLINE_MINUTES:g}.",
    ),
]
Sessions = Annotated[
    int,
    typer.Option(
        min=1,
        max=999,
        help="Measure so many sessions, each a run with this budget: NAME, NAME-2 …; from three on, intervals cover the next one.",
    ),
]
Every = Annotated[
    str,
    typer.Option(
        "--every", metavar="TIME", help="From the start of one session to that of the next: 45m (the default), 2h."
    ),
]
OwnSessionOnly = Annotated[
    bool, typer.Option("--own-session-only", help="Leave other sessions of this machine out of the report.")
]
HostsFile = Annotated[
    Path | None,
    typer.Option(
        "--hosts",
        exists=True,
        dir_okay=False,
        resolve_path=True,
        metavar="hosts.toml",
        help="Inventory of the hosts that share the roles (docs/hosts.md); without it, this machine has all.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
TopologyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE.xml", help="Plan the CPUs of the machine that lstopo wrote to this file, instead."),
]


def joined_parameters(words: list[str]) -> list[str]:
    """``-p NAME VALUE`` as the one word ``NAME=VALUE`` that typer can repeat."""
    joined, rest = [], iter(words)
    for word in rest:
        joined.append(word)
        if word in ("-p", "--parameter"):
            name = next(rest, None)
            if name is not None:
                value = None if "=" in name else next(rest, None)
                joined.append(name if value is None else f"{name}={value}")
    return joined


def parameter_values(pairs: list[str]) -> dict[str, Any]:
    """Typed values from ``NAME=VALUE``: YAML for all but texts; a list may also be given as ``a,b``."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise WrkbookError(f"parameter {name} has no value", "write it as: -p NAME VALUE")
        annotation = Parameters.model_fields[name].annotation if name in Parameters.model_fields else None
        if annotation is str:
            values[name] = text
        elif get_origin(annotation) is list and not text.startswith("["):
            values[name] = [
                part.strip() if annotation == list[str] else yaml.safe_load(part) for part in text.split(",")
            ]
        else:
            try:
                values[name] = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise WrkbookError(f"parameter {name}: {text!r} cannot be read") from error
    return values


def duration_of(text: str) -> float:
    """Return the seconds between two sessions.

    Raises
    ------
    WrkbookError
        When the text is not a number with s, m or h.
    """
    try:
        return parse_duration(text)
    except ValueError as error:
        raise WrkbookError(f"--every {text!r} is not a time", "write it as 45m, 2h or 90s") from error


def resuming(names: list[str], values: Mapping[str, Any], budget_minutes: float, more: Sequence[str] = ()) -> str:
    """Return which run was interrupted, and the command that continues it with the same parameters, and `more` words."""
    given = {name: value for name, value in values.items() if name not in ("run_id", "profile")}
    words = ["./wrkbook", "run", *names, "--run-id", values["run_id"]]
    words += [] if values["profile"] == DEFAULT_PROFILE else ["--profile", values["profile"]]
    words += ["--budget", f"{budget_minutes:g}"] if budget_minutes else []
    command = shlex.join([*words, *more, *parameter_words(given)])
    return f"Run {values['run_id']} was interrupted in {names[0]}. To continue it:\n  {command}"


def parameter_words(values: Mapping[str, Any]) -> list[str]:
    """Return the words of the command line that give these values: the inverse of :func:`parameter_values`."""
    return [word for name, value in values.items() for word in ("-p", name, _text(value))]


def _text(value: object) -> str:
    # An empty list has no items to join.
    return ",".join(map(str, value)) if isinstance(value, list) and value else str(value)
