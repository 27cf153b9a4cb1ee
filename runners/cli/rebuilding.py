"""Implement ``report`` for several runs: each in a process of its own, as many at a time as there are CPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from runners.store.ledger import Run

_MOST_AT_A_TIME = 8
"""Processes that report at a time: each needs up to a gigabyte."""


def rebuild_side_by_side(found: Sequence[Run]) -> Iterator[tuple[str, bool]]:
    """Rebuild runs, and yield for each, in their order, what it printed and whether it ended well.

    One that fails says why on standard error, and the others go on. An interrupt ends all.
    """
    started: list[subprocess.Popen[str]] = []
    at_a_time = min(len(found), len(os.sched_getaffinity(0)), _MOST_AT_A_TIME)
    with ThreadPoolExecutor(at_a_time) as pool:
        try:
            for process, printed in pool.map(lambda known: _rebuild(known, started), found):
                yield printed, process.returncode == 0
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                with suppress(ProcessLookupError):
                    process.terminate()
            raise


def _rebuild(known: Run, started: list[subprocess.Popen[str]]) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(_command(known), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    started.append(process)
    printed, _ = process.communicate()
    return process, printed


def _command(known: Run) -> list[str]:
    return [sys.executable, "-m", "runners", "report", known.run_id, "--experiment", known.experiment]
