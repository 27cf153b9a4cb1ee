"""The runs of the ledger: the state of each, and its folder in ``data/processed``.

A run is complete, being measured, interrupted at a block, or void.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import COMPARING, PROCESSED, RAW
from runners.core.summaries import ComparisonSummary, RunSummary, comparison_summary, run_summary
from runners.store.ledger import Run, runs

# Marks beside a run's records, which themselves say nothing of it. A run without either is complete.
_UNFINISHED, _VOID = ".unfinished", ".void"
COMPLETE, VOID = "complete", "void"
"""States of a run that has ended."""


@contextmanager
def being_measured(run: Run) -> Iterator[None]:
    """Mark a run as unfinished while it is measured; the mark stays where measuring is interrupted.

    Raises
    ------
    WrkbookError
        When the disk is full or read-only.
    """
    mark = run.folder / _UNFINISHED
    try:
        handle = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise WrkbookError(
            f"{mark} could not be written: {error.strerror}", "check the disk (df -h) and the folder's permissions"
        ) from error
    try:
        # Tells a run that is being measured from one that was killed.
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        mark.unlink()
    finally:
        os.close(handle)


def mark_void(run: Run, *, void: bool) -> None:
    """Mark a run in which no window counts; remove the mark from one in which some do."""
    mark = run.folder / _VOID
    if not void:
        mark.unlink(missing_ok=True)
    elif not mark.exists():
        mark.touch()


def state(run: Run) -> str:
    """Return ``complete``, ``void``, ``measuring block 4`` or ``interrupted at block 4``."""
    mark = run.folder / _UNFINISHED
    if mark.exists():
        doing = "measuring" if _is_locked(mark) else "interrupted at"
        return f"{doing} block {_next(run)}"
    return VOID if (run.folder / _VOID).exists() else COMPLETE


def kept(run: Run) -> str:
    """Say what a run that is started again keeps, and with which block it goes on."""
    count = len(run.blocks)
    blocks = f"{count} complete block{'' if count == 1 else 's'}" if count else "no block"
    again = f"; block {_next(run)} starts again" if (run.folder / _UNFINISHED).exists() else ""
    return f"Run {run.run_id} goes on: it keeps {blocks}{again}."


def find_runs(run_id: str, experiments: Sequence[str], base: Path = RAW) -> list[Run]:
    """Return the runs of this id: one for each of the experiments that have it.

    Raises
    ------
    WrkbookError
        When none has: it lists the runs of each experiment with their states.
    """
    known = {name: runs(name, base) for name in experiments}
    found = [run for of_one in known.values() for run in of_one if run.run_id == run_id]
    if not found:
        where = f" of {experiments[0]}" if len(experiments) == 1 else ""
        ids = sorted({run.run_id for of_one in known.values() for run in of_one})
        lists = [
            f"\n    {name}: {', '.join(f'{run.run_id} ({state(run)})' for run in of_one)}"
            for name, of_one in known.items()
            if of_one
        ]
        near = "".join(f"did you mean {name!r}? " for name in get_close_matches(run_id, ids, n=1))
        raise WrkbookError(f"there is no run {run_id!r}{where}", near + f"there are:{''.join(lists) or ' none'}")
    return found


def _next(run: Run) -> int:
    return max(run.blocks, default=0) + 1


def _is_locked(path: Path) -> bool:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def processed_folder(run: Run, base: Path = PROCESSED) -> Path:
    """Return ``data/processed/<experiment>/<run_id>``."""
    return base / run.experiment / run.run_id


def comparison_folder(a: Run, b: Run, base: Path = PROCESSED) -> Path:
    """Return ``data/processed/90-compare-runs/<A>--<B>/<experiment>``: one id may name runs of several experiments."""
    return base / COMPARING / f"{a.run_id}--{b.run_id}" / a.experiment


def read_summary(folder: Path) -> RunSummary | None:
    """Return the ``summary.json`` of a run; None without one of this schema."""
    return run_summary(_summary(folder))


def read_comparison(folder: Path) -> ComparisonSummary | None:
    """Return the ``summary.json`` of two compared runs; None without one of this schema."""
    return comparison_summary(_summary(folder))


def _summary(folder: Path) -> bytes:
    try:
        return (folder / "summary.json").read_bytes()
    except OSError:
        return b""
