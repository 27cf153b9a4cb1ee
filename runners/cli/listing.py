"""List experiments, systems, load generators and workloads, each with its state and its last measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from rich.console import RenderableType

from runners import __version__
from runners.cli.console import hanging, table
from runners.core.project import experiments
from runners.core.records import CONTROL
from runners.measure.conformance import conforming, image_for
from runners.store.ledger import runs
from runners.store.runs import processed_folder, read_summary, state
from runners.systems.build import artifact
from runners.systems.catalogue import Catalogue
from runners.systems.manifest_tables import ServedWorkload
from runners.systems.server_manifest import Server


class ListedRun(TypedDict):
    """A run, with the servers that it measured."""

    experiment: str
    run_id: str
    state: str
    started_at: str
    profile: str
    systems: list[str]
    headline: str | None


class ListedExperiment(TypedDict):
    """An experiment, and its runs with their states, oldest first."""

    experiment: str
    runs: list[str]
    states: dict[str, str]
    last: ListedRun | None


class ListedServer(TypedDict):
    """A server, the rows that are measured by name only, and its last run; a load generator has no contract to keep."""

    system: str
    title: str
    language: str
    role: str
    serves: list[str]
    on_request: dict[str, list[str]]
    built: bool
    conforming: bool | None
    last: ListedRun | None


class Listing(TypedDict):
    """Everything with its state, as ``list --json`` prints it."""

    experiments: list[ListedExperiment]
    systems: list[ListedServer]
    workloads: dict[str, list[str]]
    variants: dict[str, list[str]]


def listing() -> Listing:
    """Return everything with its state, for programs."""
    catalogue = Catalogue()
    measured = {name: _runs(name) for name in experiments()}
    every = sorted((run for found in measured.values() for run in found), key=lambda run: run["started_at"])
    last = {system: run for run in every for system in run["systems"]}
    servers = catalogue.servers.values()
    workloads = dict.fromkeys(service.workload for server in servers for service in server.serves)
    return {
        "experiments": [
            {
                "experiment": name,
                "runs": [run["run_id"] for run in found],
                "states": {run["run_id"]: run["state"] for run in found},
                "last": found[-1] if found else None,
            }
            for name, found in measured.items()
        ],
        "systems": [_system(server, catalogue, last.get(server.name)) for server in servers],
        "workloads": {name: [system.name for system in catalogue.systems(name)] for name in workloads},
        "variants": catalogue.variants,
    }


def _runs(experiment: str) -> list[ListedRun]:
    """Return the runs of an experiment, oldest first."""
    found = list[ListedRun]()
    for known in runs(experiment):
        manifest, summary = known.read(), read_summary(processed_folder(known))
        found.append(
            {
                "experiment": experiment,
                "run_id": known.run_id,
                "state": state(known),
                "started_at": manifest.started_at,
                "profile": manifest.profile,
                "systems": list(
                    dict.fromkeys(CONTROL if each.control else each.server for each in manifest.systems.values())
                ),
                "headline": summary["headline"] if summary else None,
            }
        )
    return sorted(found, key=lambda run: run["started_at"])


def _system(server: Server, catalogue: Catalogue, last: ListedRun | None) -> ListedServer:
    image = image_for(catalogue, [server])
    made = artifact(server, image) if image.ready else None
    built = made is not None and made.ready
    return {
        "system": server.name,
        "title": server.title,
        "language": server.language,
        "role": server.role,
        "serves": list(dict.fromkeys(_workload(service) for service in server.serves)),
        "on_request": _on_request(server),
        "built": built,
        "conforming": None if server.start is None else bool(made and built and conforming(made)),
        "last": last,
    }


def _on_request(server: Server) -> dict[str, list[str]]:
    """Return workload → the rows that are measured by name or with ``-p systems all`` only."""
    found: dict[str, list[str]] = {}
    for workload in dict.fromkeys(service.workload for service in server.serves):
        default = server.systems(workload, default_only=True)
        if rows := [system.name for system in server.systems(workload) if system not in default]:
            found[workload] = rows
    return found


def _workload(service: ServedWorkload) -> str:
    return f"{service.workload} ({service.codec})" if service.codec else service.workload


def parts(found: Listing) -> Iterator[RenderableType]:
    """Yield the tables for people: experiments with their runs, systems, load generators, workloads."""
    yield f"wrkbook {__version__}\n\nExperiments"
    for entry in found["experiments"]:
        yield hanging(" ", f"{entry['experiment']}: {_last_run(entry)}")
        for run_id, state_of_run in reversed(entry["states"].items()):
            yield f"    {run_id:26} {state_of_run}"
    heads = ["name", "title", "language", "state", "last run"]
    for heading, generators in (("Systems", False), ("Load generators", True)):
        rows = [_row(system) for system in found["systems"] if (system["role"] == "generator") == generators]
        yield ""
        yield table(heads, rows, title=heading)
    yield ""
    on_request = {(name, row) for each in found["systems"] for name, rows in each["on_request"].items() for row in rows}
    served = [
        [name, ", ".join(row + "*" * ((name, row) in on_request) for row in systems)]
        for name, systems in found["workloads"].items()
    ]
    yield table(["name", "systems"], served, title="Workloads")
    yield "* measured by name or with -p systems all only"
    tuned = [f"{name} ({', '.join(servers)})" for name, servers in found["variants"].items()]
    yield f"Tuned builds, measured with -p variants NAME only: {'; '.join(tuned)}"


def _last_run(entry: ListedExperiment) -> str:
    last = entry["last"]
    if last is None:
        return "never run"
    times = f"{len(entry['runs'])} run{'' if len(entry['runs']) == 1 else 's'}"
    headline = last["headline"] or f"no report; ./wrkbook report {last['run_id']} makes one, --run-id goes on with it"
    return f"{times}, the last: {last['run_id']} ({_day(last)} UTC, {last['profile']})\n{headline}"


def _row(system: ListedServer) -> list[str]:
    last = system["last"]
    state_of_build = (
        "✓ conforming" if system["conforming"] else "✓ built" if system["conforming"] is None else "built, not verified"
    )
    return [
        system["system"],
        system["title"],
        system["language"],
        state_of_build if system["built"] else "not built",
        f"{last['started_at'][:10]} in {last['experiment'].partition('-')[0]}" if last else "–",
    ]


def _day(run: ListedRun) -> str:
    return run["started_at"][:16].replace("T", " ")
