"""Implement ``report`` for several runs: each in a process of its own, as many at a time as there are CPUs.

They are forks of this one, which has imported everything: each for itself would do that for a second.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import connection
from multiprocessing.context import ForkProcess
from typing import TextIO

from runners.cli.console import INTERRUPTED, console, failures_told
from runners.cli.outcome import show_report
from runners.store.ledger import Run
from runners.workbook.execute import import_all
from runners.workbook.run import rebuild

_MOST_AT_A_TIME = 8
"""Processes that report at a time: each needs up to a gigabyte."""


def rebuild_side_by_side(found: Sequence[Run]) -> Iterator[tuple[str, bool]]:
    """Rebuild runs, and yield for each what it printed and whether it ended well, as soon as it has ended.

    The largest begin first. One that fails says why on standard error, and the others go on. An interrupt ends all.
    """
    at_a_time = min(len(found), len(os.sched_getaffinity(0)), _MOST_AT_A_TIME)
    waiting, running = largest_last(found), dict[int, tuple[ForkProcess, TextIO]]()
    import_all()
    with ExitStack() as files:
        try:
            while waiting or running:
                while waiting and len(running) < at_a_time:
                    printed: TextIO = files.enter_context(tempfile.TemporaryFile("w+"))
                    process = multiprocessing.get_context("fork").Process(target=_work, args=(waiting.pop(), printed))
                    process.start()
                    running[process.sentinel] = process, printed
                ended = set(connection.wait(list(running)))
                for sentinel in [each for each in running if each in ended]:
                    process, printed = running.pop(sentinel)
                    process.join()
                    printed.seek(0)
                    yield printed.read(), process.exitcode == 0
        finally:
            for process, _ in running.values():
                process.terminate()
            for process, _ in running.values():
                process.join()


def largest_last(found: Sequence[Run]) -> list[Run]:
    """Return runs by the size of their records."""
    return sorted(found, key=lambda known: sum(path.stat().st_size for path in known.files))


def _work(known: Run, printed: TextIO) -> None:
    sys.stdout = printed
    try:
        with failures_told():
            show_report(console(), rebuild(known))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
