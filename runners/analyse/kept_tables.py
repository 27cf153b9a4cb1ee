"""The tables of a run of the ledger: parsed on all CPUs where trials are many, and kept as Parquet beside the raw data.

What is kept, in ``.tables/`` of the run's folder, may be deleted at any time. It is used only for exactly the files and the code that
it was made of: ``key`` holds their digest.
"""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from runners.analyse.tables import Parts, Tables, join_parts, parse_trials
from runners.core.project import PROJECT
from runners.store.ledger import Run, read_trials

_FOLDER, _KEY = ".tables", "key"
_ROOMS_OF_A_PARSER = ("core", "stats", "machine", "generators", "store", "analyse")
_LEAST_TO_KEEP = 50_000
"""Bytes of records from which on tables are kept: fewer, some 15 trials, are parsed as fast as kept tables are read."""
# Of fewer bytes, one process has parsed the records before others have started.
_LEAST_FOR_ALL_CPUS = 2_500_000
_BYTES_A_TASK = 300_000


def run_tables(run: Run) -> Tables:
    """Return the tables of a run: those that are kept, where they are of these records.

    Raises
    ------
    WrkbookError
        When a record is damaged: it names the file.
    """
    files = run.files
    if _size(files) < _LEAST_TO_KEEP:
        return join_parts(_parse(files))
    key = _digest(files)
    folder = run.folder / _FOLDER
    kept = _read(folder, key)
    if kept is not None:
        return kept
    tables = join_parts(_parse(files))
    # A ledger that cannot be written to is read as well.
    with suppress(OSError):
        _keep(tables, folder, key)
    return tables


def _parse(files: list[Path]) -> Iterator[Parts]:
    cpus_count = len(os.sched_getaffinity(0))
    if _size(files) < _LEAST_FOR_ALL_CPUS or cpus_count == 1:
        yield _parse_files(files)
        return
    tasks: list[list[Path]] = [[]]
    for path in files:
        if _size(tasks[-1]) >= _BYTES_A_TASK:
            tasks.append([])
        tasks[-1].append(path)
    # Not a fork: a notebook's kernel has threads.
    with ProcessPoolExecutor(min(cpus_count, len(tasks)), multiprocessing.get_context("forkserver")) as pool:
        yield from pool.map(_parse_files, tasks)


def _size(files: list[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _parse_files(files: list[Path]) -> Parts:
    return parse_trials(itertools.chain.from_iterable(map(read_trials, files)))


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256(_digest_of_code().encode())
    for path in files:
        digest.update(f"{path.parent.name}/{path.name}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _digest_of_code() -> str:
    digest = hashlib.sha256(f"{sys.version} {pd.__version__} {pa.__version__}".encode())
    for room in _ROOMS_OF_A_PARSER:
        for path in sorted((PROJECT / "runners" / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(folder: Path, key: str) -> Tables | None:
    """Return the kept tables; None where they are of other records, of other code, or damaged."""
    try:
        if (folder / _KEY).read_text(encoding="ascii") != key:
            return None
        # In a third of the time of pandas.read_parquet; _keep has seen that the same comes back.
        return Tables(*(parquet.read_table(folder / f"{each.name}.parquet").to_pandas() for each in fields(Tables)))
    except (OSError, ValueError, pa.ArrowException):
        return None


def _keep(tables: Tables, folder: Path, key: str) -> None:
    """Write tables that come back from Parquet as they went in."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-tables-") as scratch:
        made = Path(scratch) / _FOLDER
        made.mkdir()
        for each in fields(Tables):
            table, path = getattr(tables, each.name), made / f"{each.name}.parquet"
            try:
                table.to_parquet(path)
                # Numbers and categories always come back, and millions of them would take a quarter of a gigabyte here.
                read = [
                    name for name in table if table[name].dtype.kind not in "biuf" and table[name].dtype != "category"
                ]
                if not parquet.read_table(path, columns=read).to_pandas().equals(table[read]):
                    return
            except (ValueError, pa.ArrowException):
                return
        (made / _KEY).write_text(key, encoding="ascii")
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # another process was quicker
            made.rename(folder)
