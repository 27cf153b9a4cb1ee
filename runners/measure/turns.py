"""Windows of several cells at the same time, in turns of a few milliseconds: what slows the machine for a while slows them alike.

On a machine that others share, speed changes from one tenth of a second to the next; two windows that are measured one after
the other then differ for no reason of their own, and only hundreds of them would cancel that. So the windows of all cells are
opened, each with its load generator at work on its own server, and stopped at once; then one after the other runs for a turn
(100 ms) while all others stand still, in an order that is shuffled anew each time round, until each has run as long as its window
is to last. The load generator's clock stands still with it (:mod:`runners.measure.stopped_clock`), so what it prints is what it
would print of a window in one piece. The price is that each turn begins with caches that others have used.

Only what computes and answers at once is measured so: a timer, a backend or a rate goes on while its server is stopped.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from runners.measure.load_source import Asked, LoadSource
from runners.measure.sampling import total_cpu_s
from runners.measure.stopped_clock import Freezer, Processes, StoppedClock
from runners.measure.window import GRACE_S, LOOKS, Window
from runners.records import Load

# wrk notices that it is to end at the next tenth of a second: on average, so long after it is told.
_NOTICED_S = 0.05
_AWAKE_S = 0.002


def windows_in_turns(
    source: LoadSource, asked: Sequence[tuple[Asked, Load]], turn_s: float, order: random.Random, name: str
) -> list[dict[str, Any]]:
    """Measure one window for each of several cells, in turns, and return their raw records.

    Parameters
    ----------
    asked : each cell's server and request, with its load; no server twice
    turn_s : for how long each runs before the next
    order : shuffles each time round
    name : of these windows together, in their block

    Returns
    -------
    list
        Records as :meth:`Window.record` describes them, in the order of `asked`.
    """
    with ExitStack() as stack:
        players: list[_Player] = []
        for who, load in asked:
            players.append(stack.enter_context(_Player(source, who, load, len(asked))))
            players[-1].stop()
        while left := [player for player in players if not player.over]:
            for player in order.sample(left, len(left)):
                player.turn(turn_s, [other for other in players if other is not player])
        return [player.end(name) for player in players]


class _Player:
    """A window that is open, and stands still when it is not its turn."""

    def __init__(self, source: LoadSource, asked: Asked, load: Load, players_count: int) -> None:
        self._looks, self._load, self.over = list(LOOKS), load, False
        self._stack = ExitStack()
        with ExitStack() as stack:
            self._clock = stack.enter_context(StoppedClock(asked.prepared))
            waiting_s = (load.duration_s + load.timeout_s) * players_count
            self.window = stack.enter_context(Window(source, asked, load, "window", self._clock, waiting_s))
            self._roles = [
                _Role(asked.server.pids, asked.server.cpus),
                _Role(self.window.generator_pids, source.plan.generator),
            ]
            server, generator = (stack.enter_context(Processes(role.pids)) for role in self._roles)
            self.freezer = Freezer(self._clock, generator, server, self.window.begun)
            self._stack = stack.pop_all()

    def __enter__(self) -> _Player:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def stop(self) -> None:
        """Suspend server and load generator, and note the CPU time that they have used so far."""
        self.freezer.stop()
        for role in self._roles:
            role.take_note()

    def turn(self, turn_s: float, companions: Sequence[_Player]) -> None:
        """Let it run for a turn, or on to its end if that comes sooner; then look at it, and see whether it is through."""
        duration_s = self._load.duration_s
        self.freezer.go_on()
        ended, left_s = False, duration_s - _NOTICED_S - self.freezer.ran_s
        if left_s < turn_s:
            # Told while it is stopped, any of its threads would hear of it, and not the one that waits for just this.
            ended = self.window.ends_within(max(_AWAKE_S, left_s))
            self.freezer.interrupt()
        ended = ended or self.window.ends_within(turn_s)
        self.stop()
        ran_s = self.freezer.ran_s
        while not ended and self._looks and ran_s >= self._looks[0] * duration_s:
            used_s = _by_cpu(role for companion in companions for role in companion._roles)
            self.window.look(self._looks.pop(0), {"stood_s": self._clock.stood_s, "companions": used_s})
        self.window.hung = not ended and ran_s > math.ceil(duration_s) + self._load.timeout_s + GRACE_S
        self.over = ended or self.window.hung

    def end(self, name: str) -> dict[str, Any]:
        """Its record, when all are through."""
        self.freezer.go_on()
        self.window.close()
        intervals = self.freezer.intervals
        turns = {"round": name, "count": len(intervals), "ran_s": self.freezer.ran_s, "late_s": self.freezer.late_s}
        return self.window.record(intervals, turns)


class _Role:
    """The processes of a server or a load generator, and the CPU time that they have used so far."""

    def __init__(self, pids: Sequence[int], cpus: Sequence[int]) -> None:
        # What a server used before this window, in warm-ups and earlier windows, is no use of the CPUs beside the others.
        self.pids, self.cpus, self.used_s = pids, cpus, 0.0
        self.take_note()

    def take_note(self) -> None:
        """Of what has ended, the last that was seen."""
        if (used_s := total_cpu_s(self.pids)) > self.used_s:
            self.used_s = used_s


def _by_cpu(roles: Iterable[_Role]) -> dict[str, float]:
    """CPU → seconds that some processes have used of it."""
    used: dict[str, float] = defaultdict(float)
    for role in roles:
        for cpu in role.cpus:
            used[str(cpu)] += role.used_s / len(role.cpus)
    return dict(used)
