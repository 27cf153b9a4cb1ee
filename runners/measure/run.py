"""A whole run: blocks until every ratio is as precise as was asked for, or the time is used up."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from runners.analyse.comparisons import against_leader, compare_sides, launch_throughputs, of_cell
from runners.analyse.disturbances import DISTURBANCES
from runners.analyse.verdicts import blocks_needed, precision_reached
from runners.ledger import Run
from runners.measure.block import BlockSettings, measure_block
from runners.measure.design import Cell, Design
from runners.measure.opening import expected_opening_s, window_seconds
from runners.measure.trial import can_be_suspended, sliced
from runners.parameters import Profile
from runners.records import Interval, System
from runners.systems.ports import client_ports
from runners.units import format_duration, format_half_width

# After so many failures a system is not launched any more in this run.
_FAILURES_TOLERATED = 2
# The next block has a new backend, and ports again.
_NOT_THE_SYSTEMS = ("backend", "ports")
# Stopping because an interval is narrow lowers its coverage: to 91 % for two systems from 4 blocks on (docs/validity.md). Hence at
# least so many blocks, by the number of systems that a workload compares.
_FEW_SYSTEMS, _BLOCKS_OF_FEW, _BLOCKS_OF_MANY = 3, 10, 6
# Before each try to measure once more what the machine has spoilt: it is often quiet again after a minute.
_PAUSES_S = (5.0, 10.0, 20.0, 40.0)
# What starting and ending the load generator adds to a window.
_WINDOW_OVERHEAD_S = 0.15
# What launching, verifying and ending a server of its own adds to a cell.
_LAUNCH_S = 0.7


@dataclass
class Progress:
    """How far a run has come, from its own trials.

    Attributes
    ----------
    parse : what the measured windows of a record say, see :func:`runners.analyse.tables.measured_windows`
    windows : all of them that count, so far
    disturbed : (system, workload) of trials that are void for what the machine did meanwhile, and for nothing else
    """

    settings: BlockSettings
    parse: Callable[[dict[str, Any]], list[dict[str, Any]]]
    windows: list[dict[str, Any]] = field(default_factory=list)
    disturbed: set[tuple[str, str]] = field(default_factory=set)
    failures: Counter[System | Cell] = field(default_factory=Counter)

    def add(self, record: dict[str, Any]) -> None:
        """Count one trial record in."""
        if record["failure"] and record["failure"]["stage"] in _NOT_THE_SYSTEMS:
            return
        if record["failure"]:
            names = (record["system"], record["workload"])
            cells = self.settings.design.cells
            cell = next(found for found in cells if (found.system.name, found.workload.label) == names)
            # A process of its own: what many connections do to it says nothing of how it does with few.
            self.failures[cell if self.settings.design.fresh else cell.system] += 1
            return
        for window in self.parse(record):
            void_for = set(window.pop("void_for"))
            if not void_for:
                self.windows.append(window)
            elif void_for <= DISTURBANCES:
                self.disturbed.add((window["system"], window["workload"]))

    @property
    def excluded(self) -> set[System | Cell]:
        """Systems that do not conform, or failed too often to be tried again; in a fresh design, single cells that did."""
        failing = {system for system, count in self.failures.items() if count >= _FAILURES_TOLERATED}
        return failing | {
            system for system in self.settings.design.systems if system.server in self.settings.nonconforming
        }

    @property
    def spoilt(self) -> set[Cell]:
        """Cells without one window that counts, where a quieter machine might give one."""
        sound = {(window["system"], window["workload"]) for window in self.windows}
        cells = [cell for cell in self.settings.design.cells if not {cell, cell.system} & self.excluded]
        return {cell for cell in cells if (cell.system.name, cell.workload.label) in self.disturbed - sound}

    def precision(self) -> float:
        """Return the largest half-width among the ratios to each workload's leader and of the control; infinite while unknown."""
        if not self.windows:
            return math.inf
        throughputs = launch_throughputs(pd.DataFrame(self.windows).assign(void=False))
        ratios: list[Interval] = []
        for workload in self.settings.design.compared:
            if workload.shape.rate_rps:
                continue  # what is completed is what was offered
            cells = [cell for cell in self.settings.design.cells if cell.workload == workload]
            sides = {cell.system: of_cell(throughputs, cell.system.name, workload.label) for cell in cells}
            sides = {system: side for system, side in sides.items() if len(side)}
            compared = {system.name: side for system, side in sides.items() if not system.placebo}
            if compared:
                ratios += [found.interval for found in against_leader(compared).values()]
            ratios += [
                compare_sides(sides[control], sides[system]).interval
                for control, system in itertools.permutations(sides, 2)
                if control.repeats(system)
            ]
        return precision_reached(ratios)


def measure(
    run: Run,
    settings: BlockSettings,
    parse: Callable[[dict[str, Any]], list[dict[str, Any]]],
    *,
    precision: float,
) -> None:
    """Measure blocks and write their trials to the ledger; a run that was interrupted goes on after its last whole block.

    What the machine has spoilt in all blocks is measured again while the budget lasts, up to four times, each after a longer pause:
    everything else that does the same work with it, too, since ratios are of the same blocks.

    `parse` is :attr:`Progress.parse`. Progress goes to standard error, which notebooks show too.
    """
    profile = settings.profile
    progress = Progress(settings, parse)
    done = _blocks_there(run, progress)
    least = max(profile.min_blocks, blocks_to_stop(settings.design))
    visits = windows_in_block(settings, settings.design.cells)
    started, deadline = time.monotonic(), time.monotonic() + profile.budget_minutes * 60
    with tqdm(
        total=visits * profile.max_blocks, file=sys.stderr, mininterval=0.5, ncols=100, bar_format="{desc} {postfix}"
    ) as bar:

        def measure_next(number: int, excluded: Collection[System | Cell], status: str) -> None:
            cells = [cell for cell in settings.design.cells if not {cell, cell.system} & set(excluded)]
            window, windows = itertools.count(1), windows_in_block(settings, cells)

            def step(what: str) -> None:
                bar.set_description_str(f"{status} · window {next(window)} of {windows}", refresh=False)
                bar.set_postfix_str(what, refresh=False)
                bar.update(1)

            records = measure_block(settings, number, excluded, step)
            run.write_block(number, records)
            for record in records:
                progress.add(record)

        reached, following = progress.precision(), done + 1
        for block in range(done + 1, profile.max_blocks + 1):
            if block > least and reached <= precision:
                break
            measured = block - done - 1
            block_s = (
                (time.monotonic() - started) / measured
                if measured
                else block_seconds(settings.design, profile, settings.connections)
            )
            if measured and block > profile.sure_blocks and time.monotonic() + block_s > deadline:
                break
            status = _status(
                block, min(least, profile.max_blocks), profile.max_blocks, reached, precision, block_s, deadline
            )
            measure_next(block, progress.excluded, status)
            reached, following = progress.precision(), block + 1
        again_s = block_seconds(settings.design, profile, settings.connections)  # at most: of all cells
        for number, pause_s in enumerate(_PAUSES_S, following):
            spoilt = progress.spoilt
            if not spoilt or time.monotonic() + pause_s + again_s > deadline:
                break
            status = f"The machine disturbed {len(spoilt)} of {len(settings.design.cells)} cells: again"
            bar.set_postfix_str("", refresh=False)
            bar.set_description_str(f"{status} in {format_duration(pause_s)}")
            time.sleep(pause_s)
            workloads = {cell.workload for cell in spoilt}
            others = {cell for cell in settings.design.cells if cell.workload not in workloads}
            measure_next(number, progress.excluded | others, status)
        bar.set_postfix_str("", refresh=False)
        measured_s, reached = time.monotonic() - started, progress.precision()
        known = format_half_width(reached) if np.isfinite(reached) else "not known"
        bar.set_description_str(f"Measured {format_duration(measured_s)}, precision {known}")


def _blocks_there(run: Run, progress: Progress) -> int:
    """Count in the trials that an earlier start of this run measured; returns the number of its last block."""
    last = 0
    for record in run.trials():
        progress.add(record)
        last = max(last, int(record["block"]))
    return last


def blocks_to_stop(design: Design) -> int:
    """Return how many blocks a run needs before it may stop because its intervals are narrow."""
    counts = Counter(cell.workload for cell in design.cells if not cell.system.placebo)
    fewest = min((counts[workload] for workload in design.compared if counts[workload] > 1), default=0)
    return _BLOCKS_OF_FEW if fewest <= _FEW_SYSTEMS else _BLOCKS_OF_MANY


def block_seconds(design: Design, profile: Profile, connections: int) -> float:
    """Estimate how long a block takes from its windows; `connections` are those of cells whose load says nothing else.

    Cells in time slices have one window more, in one piece. Here all count as such that a backend does not keep from it.
    """
    launches = len(design.cells) if design.fresh else len(design.systems)
    launch_s = _LAUNCH_S if design.fresh else 0.0
    ports_count = client_ports().count
    counts = [cell.workload.shape.connections or connections for cell in design.cells]
    slices = profile.turn_s > 0 and not design.fresh
    numbers = [
        profile.windows_count + (slices and can_be_suspended(cell.workload, count))
        for cell, count in zip(design.cells, counts, strict=True)
    ]
    windows_s = [
        number * (window_seconds(profile.window_s, count) + expected_opening_s(count, ports_count) + _WINDOW_OVERHEAD_S)
        for number, count in zip(numbers, counts, strict=True)
    ]
    return launches * profile.priming_s + sum(launch_s + profile.warmup_s + cell_s for cell_s in windows_s)


def windows_in_block(settings: BlockSettings, cells: Collection[Cell]) -> int:
    """Count the windows of `cells` in one block, those for percentiles included, warm-ups not."""
    return len(cells) * settings.profile.windows_count + sum(sliced(settings, cell) for cell in cells)


def _status(block: int, least: int, most: int, reached: float, wanted: float, block_s: float, deadline: float) -> str:
    """For example: Block 4 of about 9, ±3.1 % (wanted ±2.0 %), about 5 min 20 s left."""
    needed = blocks_needed(reached, block - 1, wanted) if block > 1 else None
    target = min(max(needed or least, least, block), most)
    left = min((target - block + 1) * block_s, max(0.0, deadline - time.monotonic()))
    sure = "" if least == most else "about "
    known = np.isfinite(reached) and least != most
    precision = f", {format_half_width(reached)} (wanted {format_half_width(wanted)})" if known else ""
    return f"Block {block} of {sure}{target}{precision}, {format_duration(left)} left"
