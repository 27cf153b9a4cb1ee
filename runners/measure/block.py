"""One block: every system is launched once, all are alive together, and each cell gets its windows in shuffled order."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runners.contract.bodies import Style
from runners.contract.conformance import quick_check
from runners.contract.requests import contract_request, path_parameters
from runners.errors import WrkbookError
from runners.generators import GeneratorError
from runners.measure.design import Cell, Design
from runners.measure.window import LoadSource
from runners.parameters import Profile
from runners.records import Load, Request, System
from runners.systems.build import Artifact
from runners.systems.catalogue import Service
from runners.systems.process import ServerProcess
from runners.systems.sockets import free_ports


@dataclass(frozen=True)
class BlockSettings:
    """What is the same for all blocks of a run; the servers in `nonconforming` are not measured."""

    design: Design
    artifacts: dict[str, Artifact]
    source: LoadSource
    profile: Profile
    connections: int
    threads: int
    body_style: Style
    seed: int
    nonconforming: frozenset[str] = frozenset()


@dataclass
class _Trial:
    """A trial while it is being measured."""

    cell: Cell
    service: Service
    record: dict[str, Any]
    request: Request
    folder: Path
    failed: bool = field(default=False)

    def fail(self, stage: str, message: str) -> None:
        """The first failure is the trial's; nothing further is measured for it."""
        if not self.failed:
            self.failed, self.record["failure"] = True, {"stage": stage, "message": message}


def measure_block(
    settings: BlockSettings, number: int, excluded: set[System], step: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Measure block `number` and return the raw record of each trial.

    Systems in `excluded` are left out. `step` is called before each window with a short description. A system that
    fails gets its failure as its record; the others go on.
    """
    started_at, started = datetime.now(UTC).isoformat(), time.monotonic()
    systems = [system for system in settings.design.systems if system not in excluded]
    with ExitStack() as stack:
        processes, failures = _launch(settings, systems, stack)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wrkbook-load-")))
        trials = {
            cell: _begin(settings, number, cell, processes, folder)
            for cell in settings.design.cells
            if cell.system in systems
        }
        for cell, trial in trials.items():
            if cell.system in failures:
                trial.fail("launch", failures[cell.system])
            else:
                _verify(trial, processes[cell.system], "verified_before")
        for visit in range(settings.profile.windows_count):
            for cell in settings.design.order(settings.seed, number, visit):
                if cell in trials:
                    step(f"{cell.system.name}, {cell.workload.label}")
                    _visit(settings, trials[cell], processes.get(cell.system), first=visit == 0)
        for cell, trial in trials.items():
            if not trial.failed:
                _verify(trial, processes[cell.system], "verified_after")
    block_record = {"block_started_at": started_at, "block_s": time.monotonic() - started}
    return [{**trial.record, **block_record} for trial in trials.values()]


def _launch(
    settings: BlockSettings, systems: list[System], stack: ExitStack
) -> tuple[dict[System, ServerProcess], dict[System, str]]:
    processes, failures = {}, {}
    for system, port in zip(systems, free_ports(len(systems)), strict=True):
        process = ServerProcess(settings.artifacts[system.server], port, list(settings.source.plan.server))
        try:
            processes[system] = stack.enter_context(process)
        except WrkbookError as error:
            failures[system] = error.problem
    return processes, failures


def _begin(
    settings: BlockSettings, number: int, cell: Cell, processes: dict[System, ServerProcess], folder: Path
) -> _Trial:
    system, workload = cell.system, cell.workload
    service = settings.artifacts[system.server].server.service(workload.name, system.codec)
    assert service is not None, "the design holds only what is served"
    request = contract_request(service.path, workload, settings.body_style, settings.seed)
    process = processes.get(system)
    record: dict[str, Any] = {"block": number, "system": system.name, "server": system.server, "codec": system.codec}
    record |= {
        "placebo": system.placebo,
        "workload": workload.label,
        "workload_name": workload.name,
        "operations": workload.operations,
    }
    record |= {"path": request.path, "body_bytes": len(request.body), "cpus": settings.source.plan.as_dict()}
    record |= {"port": process.port if process else None, "startup_s": process.startup_s if process else None}
    record |= {"generator": settings.source.generator.name, "failure": None, "windows": []}
    prepared = folder / f"{system.name}--{workload.label}".replace("/", "-")
    prepared.mkdir()
    settings.source.generator.prepare(request, prepared)
    return _Trial(cell, service, record, request, prepared)


def _verify(trial: _Trial, process: ServerProcess, when: str) -> None:
    if not process.alive:
        trial.fail(
            "running",
            f"ended with exit status {process.exit_status}; it printed: {process.output()[-500:] or 'nothing'}",
        )
        return
    probe = quick_check(process.url, trial.service, trial.request.body or None, path_parameters(trial.cell.workload))
    trial.record[when] = {"answer_bytes": probe.answer_bytes, "difference": probe.difference}
    if probe.difference:
        trial.fail("conformance", probe.difference)


def _visit(settings: BlockSettings, trial: _Trial, process: ServerProcess | None, *, first: bool) -> None:
    if trial.failed or process is None:
        return
    kinds = [("warmup", settings.profile.warmup_s)] if first else []
    for kind, seconds in [*kinds, ("window", settings.profile.window_s)]:
        load = Load(settings.connections, settings.threads, seconds)
        window = settings.source.window(process, trial.request, load, trial.folder, kind)
        trial.record["windows"].append(window)
        if not process.alive:
            trial.fail(
                "running",
                f"ended under load with exit status {process.exit_status}; it printed: {process.output()[-500:] or 'nothing'}",
            )
        elif window["hung"] or window["exit_status"] != 0:
            ending = "did not end" if window["hung"] else f"ended with exit status {window['exit_status']}"
            trial.fail(
                "generator",
                f"{settings.source.generator.name} {ending}: {window['stderr'].strip()[-300:] or 'it printed no error'}",
            )
        else:
            try:
                settings.source.generator.parse(window["stdout"], load)
            except GeneratorError as error:
                trial.fail("generator", str(error))
        if trial.failed:
            return
