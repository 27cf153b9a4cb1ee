"""Measure the windows of several cells in time slices: one runs at a time, all others and their clocks are suspended.

On a shared machine, speed changes within tenths of a second. Windows that follow one another differ by that alone; in time slices,
a short slowdown affects all cells alike. Each time slice begins with caches that others have used. Timers, backends and offered
rates go on while their server is suspended: cells that have one are measured in one piece.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack

from runners.core.load import Load
from runners.core.trial_record import TimeSlices, WindowRecord
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.virtual_clock import Processes, ProcessSuspender, VirtualClock
from runners.measure.window import GRACE_S, SAMPLED_AT, Window

# wrk notices that it is to end at the next tenth of a second: on average, so long after it is told.
_NOTICED_S = 0.05
_AWAKE_S = 0.002


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
        clock = stack.enter_context(VirtualClock(target.prepared))
        waiting_s = (load.duration_s + load.timeout_s) * players_count
        self._window = stack.enter_context(Window(source, target, load, "window", clock, waiting_s))
        server = stack.enter_context(Processes(target.server.pids))
        generator = stack.enter_context(Processes(self._window.generator_pids))
        self.suspender = ProcessSuspender(clock, generator, server, self._window.begun)
        self.cpus = {"server": target.server.cpus, "generator": source.plan.generator}

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
