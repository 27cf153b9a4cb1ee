"""One block: every cell gets its windows in shuffled order, on servers that are launched anew.

In time slices one window runs at a time; all others and their clocks are suspended.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from runners.core.errors import WrkbookError
from runners.core.load import Load
from runners.core.records import CONFIRMATION_WINDOW, PERCENTILES_WINDOW, WINDOW, System
from runners.core.trial_record import TimeSlices, TrialRecord, WindowRecord
from runners.core.units import system_title
from runners.measure.design import BlockSettings, Cell, side_by_side
from runners.measure.launched import Launched, OnThisMachine
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.roles import WantedServer
from runners.measure.trial import Trial, begin, sliced
from runners.measure.virtual_clock import Processes, ProcessSuspender, VirtualClock
from runners.measure.window import GRACE_S, SAMPLED_AT, Window

# wrk notices that it is to end at the next tenth of a second: on average, so long after it is told.
_NOTICED_S = 0.05
_AWAKE_S = 0.002


def measure_block(
    settings: BlockSettings, number: int, excluded: Collection[System | Cell], step: Callable[[str], None]
) -> list[TrialRecord]:
    """Measure block `number` without the systems and cells in `excluded`, and return the record of each trial.

    `step` is called before each window with a short description. A system that fails gets its failure as its record; the others go on.

    Raises
    ------
    WrkbookError
        When a planned CPU is gone, or a backend cannot be launched: nothing can be measured then.
    """
    roles = settings.roles
    roles.ensure_cpus(settings.source.plan)
    started_at, started = datetime.now(UTC).isoformat(), time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wrkbook-load-")))
        trials = {cell: begin(settings, number, cell, folder) for cell in settings.design.without(excluded)}
        names = list(dict.fromkeys(trial.service.backend for trial in trials.values() if trial.service.backend))
        backends: dict[str, Launched] = {}
        for name, port in zip(names, stack.enter_context(roles.hold_ports(len(names), backends=True)), strict=True):
            backends[name] = stack.enter_context(
                roles.backend(settings.artifacts[name], port, settings.source.plan.backend)
            )
        for trial in trials.values():
            trial.backend = backends.get(trial.service.backend or "")
        # With a process per cell each has a port of its own, to which no closed connection still holds a client's port.
        launches_count = len(trials if settings.design.process_per_cell else {cell.system for cell in trials})
        ports = stack.enter_context(roles.hold_ports(launches_count, backends=False))
        if settings.design.process_per_cell:
            for trial, port in zip(_in_order(settings, number, 0, trials), ports, strict=True):
                _measure(settings, number, {trial.cell: trial}, [port], step)
        else:
            _measure(settings, number, trials, ports, step)
    about = {"block_started_at": started_at, "block_s": time.monotonic() - started}
    return [trial.record.model_copy(update=about) for trial in trials.values()]


def _in_order(settings: BlockSettings, number: int, visit: int, trials: Mapping[Cell, Trial]) -> list[Trial]:
    """Return the trials in the shuffled order of one visit."""
    return [trials[cell] for cell in settings.design.order(settings.seed, number, visit) if cell in trials]


def _measure(
    settings: BlockSettings, number: int, trials: dict[Cell, Trial], ports: list[int], step: Callable[[str], None]
) -> None:
    """Launch the systems of some trials, each on one of `ports`, measure the windows of all, interleaved, and end the systems."""
    process_per_cell, visits = settings.design.process_per_cell, settings.profile.windows_count
    with ExitStack() as stack:
        systems = dict.fromkeys(cell.system for cell in trials)
        for system, port in zip(systems, ports, strict=True):
            _launch([trial for cell, trial in trials.items() if cell.system == system], settings, port, stack)
        for trial in trials.values():
            trial.verify(settings, "before")
            if process_per_cell:
                trial.remember_memory(settings, "before")
        primed: set[System] = set()
        for visit in range(visits):
            order = _in_order(settings, number, visit, trials)
            in_slices = [trial.cell for trial in order if sliced(settings, trial.cell)]
            for place, group in enumerate(side_by_side(in_slices), 1):
                for cell in group:
                    step(f"{_systems_in_time_slices(len(group))}, {cell.workload.label}")
                    if visit == 0:
                        trials[cell].warm_up(settings, primed)
                _measure_in_time_slices(settings, [trials[cell] for cell in group], number, f"{visit + 1}.{place}")
            for trial in order:
                if not sliced(settings, trial.cell) and not trial.cell.searches:
                    step(f"{system_title(trial.cell.system.name)}, {trial.cell.workload.label}")
                    if visit == 0:
                        trial.warm_up(settings, primed)
                    trial.measure(settings, CONFIRMATION_WINDOW if trial.cell.workload.shape.objectives else WINDOW)
        for trial in _in_order(settings, number, visits, trials):
            if trial.record.measures_percentiles and sliced(settings, trial.cell):
                step(f"{system_title(trial.cell.system.name)}, {trial.cell.workload.label}, for percentiles")
                # A time slice begins with cold caches, which adds 1 to 2 ms to its first responses and so to p99.
                trial.measure(settings, PERCENTILES_WINDOW)
        _search(settings, number, [trial for cell, trial in trials.items() if cell.searches], primed, step)
        for trial in trials.values():
            if process_per_cell:
                trial.remember_memory(settings, "after")
            trial.verify(settings, "after")


def _search(
    settings: BlockSettings, number: int, searching: list[Trial], primed: set[System], step: Callable[[str], None]
) -> None:
    """Search the largest rate under the objectives of some trials: one window of each after the other, in shuffled order."""
    for trial in searching:
        trial.warm_up(settings, primed)
    shuffle = random.Random(f"{settings.seed}/{number}/search").shuffle
    while searching:
        shuffle(searching)
        for trial in tuple(searching):
            rate_rps = trial.next_search_rps(settings)
            if rate_rps is None:
                searching.remove(trial)
                continue
            step(f"{system_title(trial.cell.system.name)}, {trial.cell.workload.base_label}, {rate_rps:,.0f}/s")
            trial.search(settings, rate_rps)


def _systems_in_time_slices(systems_count: int) -> str:
    return f"{systems_count} system{'' if systems_count == 1 else 's'} in time slices"


def _launch(trials: Sequence[Trial], settings: BlockSettings, port: int, stack: ExitStack) -> None:
    """Launch the one system of `trials`; if that fails, it is their failure."""
    cell = trials[0].cell
    backend = next((trial.backend for trial in trials if trial.backend), None)
    wanted = WantedServer(
        settings.artifacts[cell.system.build],
        port,
        settings.cpus(cell),
        cell.workload.shape.server_threads_count,
        backend,
    )
    try:
        process = stack.enter_context(settings.roles.server(wanted))
    except WrkbookError as error:
        for trial in trials:
            trial.fail("launch", error.problem)
        return
    for trial in trials:
        trial.launched(process)


def _measure_in_time_slices(settings: BlockSettings, trials: Sequence[Trial], number: int, name: str) -> None:
    """Measure a window for each of some trials of block `number`, no two of them of one system, in time slices."""
    ready = [trial for trial in trials if trial.ready]
    loads = [(trial.target, trial.load(settings)) for trial in ready]
    order = random.Random(f"{settings.seed}/{number}/{name}")
    windows = windows_in_time_slices(settings.source, loads, settings.profile.slice_s, order, name)
    for trial, window in zip(ready, windows, strict=True):
        trial.add(settings, window)


def windows_in_time_slices(
    source: LoadContext, loads: Sequence[tuple[LoadTarget, Load]], slice_s: float, order: random.Random, name: str
) -> list[WindowRecord]:
    """Measure one window for each of several cells, no two on one server, and return their records.

    Each runs for `slice_s` before the next; `order` shuffles each round. `name` is that of these windows together, in their block.
    """
    with ExitStack() as stack:
        players: list[_Player] = []
        for who, load in loads:
            players.append(_Player(source, who, load, len(loads), stack))
            players[-1].suspender.stop()
        while left := [player for player in players if not player.over]:
            for player in order.sample(left, len(left)):
                player.run_slice(slice_s, [other for other in players if other is not player])
        return [player.end(name) for player in players]


class _Player:
    """A window that is open until `stack` is closed, and suspended between its time slices."""

    def __init__(
        self, source: LoadContext, target: LoadTarget, load: Load, players_count: int, stack: ExitStack
    ) -> None:
        self._sampled_at, self._load, self.over = list(SAMPLED_AT), load, False
        clock, on = stack.enter_context(VirtualClock(target.prepared)), cast("OnThisMachine", target.server)
        waiting_s = (load.duration_s + load.timeout_s) * players_count
        self._window = stack.enter_context(Window(source, target, load, "window", clock, waiting_s))
        server = stack.enter_context(Processes(on.pids))
        generator = stack.enter_context(Processes(self._window.generator_pids))
        self.suspender = ProcessSuspender(clock, generator, server, self._window.begun)
        self.cpus = {"server": on.cpus, "generator": source.plan.generator}

    def run_slice(self, slice_s: float, co_scheduled: Sequence[_Player]) -> None:
        """Run for a time slice, or to the end of the window where that is sooner; then sample, and see whether it is over."""
        duration_s = self._load.duration_s
        self.suspender.go_on()
        ended, left_s = False, duration_s - _NOTICED_S - self.suspender.ran_s
        if left_s < slice_s:
            # Told while it is suspended, any of its threads would hear of it, and not the one that waits for just this.
            ended = self._window.ends_within(max(_AWAKE_S, left_s))
            self.suspender.generator.interrupt()
        ended = ended or self._window.ends_within(slice_s)
        self.suspender.stop()
        ran_s = self.suspender.ran_s
        while not ended and self._sampled_at and ran_s >= self._sampled_at[0] * duration_s:
            self._window.sample(self._sampled_at.pop(0), self.suspender.clock.stood_s, _used_s(co_scheduled))
        self._window.hung = not ended and ran_s > math.ceil(duration_s) + self._load.timeout_s + GRACE_S
        self.over = ended or self._window.hung

    def end(self, name: str) -> WindowRecord:
        """Close the window, when all are over, and return its record."""
        self.suspender.go_on()
        self._window.close()
        intervals = self.suspender.intervals
        suspender = self.suspender
        slices = TimeSlices(round=name, count=len(intervals), ran_s=suspender.ran_s, late_s=suspender.late_s)
        return self._window.record(intervals, slices)


def _used_s(players: Sequence[_Player]) -> dict[int, float]:
    """Return CPU → seconds that servers and load generators have used of it."""
    used: dict[int, float] = defaultdict(float)
    for player in players:
        for role, cpus in player.cpus.items():
            for cpu in cpus:
                used[cpu] += player.suspender.used_s[role] / len(cpus)
    return dict(used)
