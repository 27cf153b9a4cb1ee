"""One block: every cell gets its windows in shuffled order, on servers that are launched anew.

Usually every system is launched once and all are alive together; where memory is part of the question, each cell has a process
of its own, launched before its windows and ended after them.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runners.contract.bodies import Style
from runners.errors import WrkbookError
from runners.measure.design import Cell, Design, side_by_side
from runners.measure.load_source import LoadSource
from runners.measure.trial import Trial, begin, sliced
from runners.measure.turns import windows_in_turns
from runners.parameters import Profile
from runners.records import System
from runners.systems.backend import FIRST_BACKEND_PORT, Backend
from runners.systems.build import Artifact
from runners.systems.process import ServerProcess
from runners.systems.sockets import free_ports


@dataclass(frozen=True)
class BlockSettings:
    """What is the same for all blocks of a run; the servers in `nonconforming` are not measured.

    `idle_other` is the share of each CPU's time that other processes used before the run (see :mod:`runners.measure.idle_survey`).
    `artifacts` holds the backends too; `generator`, `connections` and `threads` are those of cells whose load says nothing else.
    """

    design: Design
    artifacts: dict[str, Artifact]
    source: LoadSource
    profile: Profile
    connections: int
    threads: int
    body_style: Style
    seed: int
    nonconforming: frozenset[str] = frozenset()
    generator: str = "wrk"
    idle_other: Mapping[str, float] = field(default_factory=dict)

    def cpus(self, server: str) -> list[int]:
        """The CPUs on which `server` runs: a backend that is asked directly stays on the backends'."""
        backend = self.artifacts[server].server.role == "backend"
        return list(self.source.plan.backend if backend else self.source.plan.server)


def measure_block(
    settings: BlockSettings, number: int, excluded: Collection[System | Cell], step: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Measure block `number` and return the raw record of each trial.

    Systems and cells in `excluded` are left out. `step` is called before each window with a short description. A system that
    fails gets its failure as its record; the others go on.

    Raises
    ------
    WrkbookError
        When a backend cannot be launched: nothing can be measured then.
    """
    started_at, started = datetime.now(UTC).isoformat(), time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wrkbook-load-")))
        cells = [cell for cell in settings.design.cells if not {cell, cell.system} & set(excluded)]
        trials = {cell: begin(settings, number, cell, folder) for cell in cells}
        backends = _launch_backends(settings, trials.values(), stack)
        for trial in trials.values():
            trial.backend = backends.get(trial.service.backend or "")
        order = settings.design.order(settings.seed, number, 0)
        if settings.design.fresh:
            asked = [trials[cell] for cell in order if cell in trials]
            for trial, port in zip(asked, free_ports(len(asked)), strict=True):
                _alone(settings, trial, port, step)
        else:
            _together(settings, number, trials, stack, step)
    block_record = {"block_started_at": started_at, "block_s": time.monotonic() - started}
    return [{**trial.record, **block_record} for trial in trials.values()]


def _launch_backends(settings: BlockSettings, trials: Iterable[Trial], stack: ExitStack) -> dict[str, Backend]:
    """One process for each backend that a trial needs, by name."""
    names = list(dict.fromkeys(trial.service.backend for trial in trials if trial.service.backend))
    processes = {}
    for name, port in zip(names, free_ports(len(names), FIRST_BACKEND_PORT), strict=True):
        processes[name] = stack.enter_context(
            Backend(settings.artifacts[name], port, list(settings.source.plan.backend))
        )
    return processes


def _together(
    settings: BlockSettings, number: int, trials: dict[Cell, Trial], stack: ExitStack, step: Callable[[str], None]
) -> None:
    """All systems alive at the same time; the windows of all cells interleaved."""
    systems = list(dict.fromkeys(cell.system for cell in trials))
    for system, port in zip(systems, free_ports(len(systems)), strict=True):
        _launch([trial for cell, trial in trials.items() if cell.system == system], settings, port, stack)
    for trial in trials.values():
        trial.verify("verified_before")
    primed: set[System] = set()
    for visit in range(settings.profile.windows_count):
        first = visit == 0
        order = [trials[cell] for cell in settings.design.order(settings.seed, number, visit) if cell in trials]
        in_turns = [trial.cell for trial in order if sliced(settings, trial.cell)]
        for place, group in enumerate(side_by_side(in_turns), 1):
            waiting = [trials[cell] for cell in group]
            for trial in waiting:
                step(f"{len(group)} systems in time slices, {trial.cell.workload.label}")
                trial.warm_up(settings, first=first, priming_s=_priming_s(settings, trial, primed))
            _in_turns(settings, waiting, number, f"{visit + 1}.{place}")
        for trial in order:
            if not sliced(settings, trial.cell):
                step(f"{trial.cell.system.name}, {trial.cell.workload.label}")
                trial.visit(settings, first=first, priming_s=_priming_s(settings, trial, primed))
    for cell in settings.design.order(settings.seed, number, settings.profile.windows_count):
        if cell in trials and sliced(settings, cell):
            step(f"{cell.system.name}, {cell.workload.label}, for percentiles")
            trials[cell].visit_for_percentiles(settings)
    for trial in trials.values():
        trial.verify("verified_after")


def _priming_s(settings: BlockSettings, trial: Trial, primed: set[System]) -> float:
    """How long the system of a trial is primed now: not if it has been."""
    if trial.cell.system in primed:
        return 0.0
    primed.add(trial.cell.system)
    return settings.profile.priming_s


def _in_turns(settings: BlockSettings, trials: Iterable[Trial], number: int, name: str) -> None:
    """A window for each of some trials of block `number`, no two of them of one system, in turns."""
    ready = [trial for trial in trials if trial.ready]
    asked = [(trial.asked, trial.load(settings)) for trial in ready]
    order = random.Random(f"{settings.seed}/{number}/{name}")
    windows = windows_in_turns(settings.source, asked, settings.profile.turn_s, order, name)
    for trial, window in zip(ready, windows, strict=True):
        trial.add(settings, window)


def _alone(settings: BlockSettings, trial: Trial, port: int, step: Callable[[str], None]) -> None:
    """One cell on a process of its own; on a port of its own, to which no closed connection still holds a client's port."""
    with ExitStack() as stack:
        _launch([trial], settings, port, stack)
        trial.verify("verified_before")
        trial.remember_memory("memory_before")
        for visit in range(settings.profile.windows_count):
            step(f"{trial.cell.system.name}, {trial.cell.workload.label}")
            trial.visit(settings, first=visit == 0, priming_s=0.0 if visit else settings.profile.priming_s)
        trial.remember_memory("memory_after")
        trial.verify("verified_after")


def _launch(trials: list[Trial], settings: BlockSettings, port: int, stack: ExitStack) -> None:
    """Launch the one system of `trials`; if that fails, it is their failure."""
    server = trials[0].cell.system.server
    backend = next((trial.backend for trial in trials if trial.backend), None)
    process = ServerProcess(settings.artifacts[server], port, settings.cpus(server), backend.port if backend else 0)
    try:
        stack.enter_context(process)
    except WrkbookError as error:
        for trial in trials:
            trial.fail("launch", error.problem)
        return
    for trial in trials:
        trial.launched(process)
