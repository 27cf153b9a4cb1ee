"""A whole run: blocks until every ratio is as precise as was requested, or the time is used up."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Collection

from runners.analyse.tables import MeasuredWindow
from runners.core.parameters import Profile
from runners.core.project import SERVING, is_locked
from runners.core.records import System
from runners.core.status_line import StatusLine
from runners.core.trial_record import TrialRecord
from runners.core.units import format_duration, format_half_width, format_seconds
from runners.measure.block import measure_block
from runners.measure.design import BlockSettings, Cell, Design
from runners.measure.load import expected_ramp_up_s, window_seconds
from runners.measure.progress import RunProgress, confirmation
from runners.measure.trial import can_be_suspended, sliced
from runners.stats.verdicts import blocks_needed
from runners.store.ledger import Run
from runners.systems.host import client_ports

# Stopping because an interval is narrow lowers its coverage: to 91 % for two systems from 4 blocks on (docs/validity.md). Hence at
# least so many blocks, by the number of systems that a workload compares.
_FEW_SYSTEMS, _BLOCKS_OF_FEW, _BLOCKS_OF_MANY = 3, 10, 6
# Before each try to measure once more what the machine has invalidated: it is often quiet again after a minute.
_PAUSES_S = (5.0, 10.0, 20.0, 40.0)
_SERVED = (
    "./wrkbook serve runs on this machine: it counts as other load. To measure an idle machine, end it with Ctrl-C."
)
# What starting and ending the load generator adds to a window.
_WINDOW_OVERHEAD_S = 0.15
# About how many windows a search takes: seven rates, and one more for each that is missed.
SEARCH_WINDOWS = 10
# What launching, verifying and ending a server of its own adds to a cell.
_LAUNCH_S = 0.7


def measure(
    run: Run,
    settings: BlockSettings,
    parse: Callable[[TrialRecord], list[MeasuredWindow]],
    precision: float,
    threshold: float = 0.0,
) -> bool:
    """Measure blocks and write their trials to the ledger; return whether any window counts.

    Blocks end when every ratio is known to `precision`; with a `threshold`, when a slowdown by it is decided for each pair of the design.

    An interrupted run goes on after its last whole block.

    What the machine has invalidated in all blocks is measured again while the budget lasts, up to four times, each after a longer pause:
    everything else that does the same work with it, too, since ratios are of the same blocks. `parse` is that of :class:`RunProgress`.
    Progress goes to standard error, which notebooks show too, as a :class:`StatusLine`. What `./wrkbook serve` runs beside it is named
    there once.
    """
    profile, design, warned = settings.profile, settings.design, False
    progress, done = RunProgress(settings, parse), 0
    for record in run.trials():
        progress.add(record)
        done = max(done, record.block)
    last = done
    least, most = max(profile.min_blocks, blocks_to_stop(design)), profile.max_blocks
    expected_s = block_seconds(design, profile, settings.connections)
    started, deadline = time.monotonic(), time.monotonic() + profile.budget_minutes * 60
    with StatusLine() as line:

        def measure_next(settings: BlockSettings, excluded: Collection[System | Cell], status: str) -> None:
            nonlocal warned, last
            window, windows = (
                itertools.count(1),
                windows_in_block(settings, last + 1, settings.design.without(excluded)),
            )
            if not warned and is_locked(SERVING, also_shared=True):
                warned = True
                line.note(_SERVED)

            line.begin(status)

            def step(what: str) -> None:
                line.show(f"{status} · window {next(window)} of {windows}, {what}")

            records = measure_block(settings, last + 1, excluded, step)
            run.write_block(last + 1, records)
            last += 1
            for record in records:
                progress.add(record)

        while (number := last + 1) <= most:
            reached, measured = progress.precision(), last - done
            if number > least and (progress.decided(threshold) if threshold else reached <= precision):
                break
            block_s = (time.monotonic() - started) / measured if measured else expected_s
            if measured and number > profile.sure_blocks and time.monotonic() + block_s > deadline:
                break
            wanted = None if threshold else precision
            status = _status(number, profile, min(least, most), reached, wanted, block_s, deadline)
            measure_next(settings, progress.excluded, status)
        for pause_s in _PAUSES_S:
            invalidated = progress.invalidated
            if not invalidated or time.monotonic() + pause_s + expected_s > deadline:  # at most: of all cells
                break
            status = f"The machine invalidated {len(invalidated)} of {len(design.cells)} cells: again"
            line.show(f"{status} in {format_duration(pause_s)}")
            time.sleep(pause_s)
            workloads = {cell.workload for cell in invalidated}
            others = {cell for cell in design.cells if cell.workload not in workloads}
            measure_next(settings, progress.excluded | others, status)
        if progress.capacities and last > done:
            measure_next(confirmation(progress), progress.excluded, "Confirming what carries the objectives")
        measured_s, reached = time.monotonic() - started, progress.precision()
        known = format_half_width(reached) if math.isfinite(reached) else "not known"
        precision_words = "" if progress.capacities else f", precision {known}"
        line.clear()
        line.note(f"Measured {format_duration(measured_s)}{precision_words}")
    return bool(progress.windows)


def blocks_to_stop(design: Design) -> int:
    """Return how many blocks a run needs before it may stop because its intervals are narrow."""
    counts = Counter(cell.workload for cell in design.cells if not cell.system.control)
    fewest = min((counts[workload] for workload in design.compared if counts[workload] > 1), default=0)
    return _BLOCKS_OF_FEW if fewest <= _FEW_SYSTEMS else _BLOCKS_OF_MANY


def block_seconds(design: Design, profile: Profile, connections: int) -> float:
    """Estimate how long a block takes from its windows; `connections` are those of cells whose load says nothing else.

    Cells in time slices have one window more, in one piece. Here all count as such that a backend does not keep from it.
    """
    ports_count, cells_s = client_ports().count, 0.0
    for cell in design.cells:
        count = cell.workload.shape.connections or connections
        slices = profile.slice_s > 0 and not design.process_per_cell and can_be_suspended(cell.workload, count)
        wanted_s = cell.workload.shape.window_s or profile.window_s
        window_s = window_seconds(wanted_s, count) + expected_ramp_up_s(count, ports_count) + _WINDOW_OVERHEAD_S
        windows_count = SEARCH_WINDOWS if cell.searches else profile.windows_count + slices
        cells_s += profile.warmup_s + windows_count * window_s
    if design.process_per_cell:
        return cells_s + len(design.cells) * (_LAUNCH_S + profile.priming_s)
    return cells_s + len(design.systems) * profile.priming_s


def windows_in_block(settings: BlockSettings, number: int, cells: Collection[Cell]) -> int:
    """Count the windows of `cells` in block `number`, those for percentiles included, warm-ups not."""
    searches_count = sum(cell.searches for cell in cells)
    windows_count = (len(cells) - searches_count) * settings.profile.windows_count
    with_percentiles = number <= settings.percentile_blocks
    return (
        windows_count
        + searches_count * SEARCH_WINDOWS
        + with_percentiles * sum(sliced(settings, cell) for cell in cells)
    )


def _status(
    block: int, profile: Profile, least: int, reached: float, wanted: float | None, block_s: float, deadline: float
) -> str:
    """Return the status line, such as: Block 4 of about 9, ±3.1 % (wanted ±2.0 %), about 5 min 20 s left.

    Narrow intervals may end the run after `least` blocks, the budget may end it after `profile.sure_blocks`. Where no precision is
    `wanted`, but a decision, nobody knows when that falls.
    """
    left_s = max(0.0, deadline - time.monotonic())
    in_time = max(block - 1 + int(left_s / block_s), profile.sure_blocks)
    if wanted is None:
        most = max(block, min(in_time, profile.max_blocks))
        return f"Block {block} of at most {most}, not decided yet, {format_seconds((most - block + 1) * block_s)} left at most"
    needed = blocks_needed(reached, block - 1, wanted) if block > 1 else None
    target = max(block, min(max(needed or 0, least), profile.max_blocks, in_time))
    planned = least == profile.max_blocks
    sure = "" if planned and target == least else "about "
    known = math.isfinite(reached) and not planned
    precision = f", {format_half_width(reached)} (wanted {format_half_width(wanted)})" if known else ""
    return f"Block {block} of {sure}{target}{precision}, {format_seconds((target - block + 1) * block_s)} left"
