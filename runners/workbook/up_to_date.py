"""Tell whether a report is still what the ledger and wrkbook's sources make of it: such a report need not be made again.

A file counts as unchanged while its size and the last change of its inode (ctime), which no program can set, are as they were.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from runners.core.project import NOTEBOOKS, OWN_SESSION_ONLY, PROJECT, PUBLISHED, RAW, SERVERS

_MADE_OF = ".made-of"


def present_state(ledger: Path = RAW) -> str:
    """Return a digest of all that reports are made of: the records of every run, published results, sources and settings."""
    settings = f"{sys.version} {OWN_SESSION_ONLY in os.environ}"
    folders = [ledger, PUBLISHED, PROJECT / "runners", NOTEBOOKS]
    files = [path for folder in folders for path in _files(folder)]
    return _digest([*files, *sorted(SERVERS.glob("*/server.toml")), PROJECT / "requirements.lock"], settings)


def is_up_to_date(report: Path, state: str) -> bool:
    """Return whether the report in the folder `report` was made of this state, and each of its files is as it was written."""
    try:
        return (report / _MADE_OF).read_text(encoding="ascii") == _made_of(report, state)
    except (OSError, ValueError):
        return False


def note_made(report: Path, state: str) -> None:
    """Note that the report in the folder `report` was made of this state, which is that of before it was made.

    Where that cannot be written, the report is made again the next time.
    """
    with suppress(OSError):
        (report / _MADE_OF).write_text(_made_of(report, state), encoding="ascii")


def _made_of(report: Path, state: str) -> str:
    return _digest(_files(report), state)


def _digest(files: Iterable[Path], more: str) -> str:
    digest = hashlib.sha256(more.encode())
    for path in files:
        about = path.stat()
        digest.update(f"{path}\0{about.st_size} {about.st_ctime_ns}\n".encode())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in order; not those that Python or wrkbook may make again at any time."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        yield from (Path(root, name) for name in sorted(names) if name != _MADE_OF)
