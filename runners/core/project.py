"""The project's folders and notebooks, the user's cache folder, and locks between processes."""

from __future__ import annotations

import ast
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from runners.core.errors import WrkbookError
from runners.core.status_line import note

PROJECT = Path(__file__).resolve().parents[2]
NOTEBOOKS = PROJECT / "notebooks"
OTHER_SERVERS = "WRKBOOK_SERVERS"
"""Environment variable with another folder of servers than the project's: of a revision that is not checked out."""
SERVERS = Path(os.environ.get(OTHER_SERVERS) or PROJECT / "servers")
# Mounted at /contract when a server is built and when it runs.
CONTRACT_DATA = PROJECT / "servers" / "contract" / "data"
PUBLISHED = PROJECT / "data" / "raw" / "published"
# Tests and scripts may keep their runs elsewhere.
_DATA = Path(os.environ.get("WRKBOOK_DATA") or PROJECT / "data")
RAW = _DATA / "raw"
PROCESSED = _DATA / "processed"
# Locks: held by whoever measures, and shared by all `./wrkbook serve`.
MEASURING, SERVING = "measuring", "serving"
# The one notebook that measures nothing: it needs two runs.
COMPARING = "90-compare-runs"

WITHOUT_MEASURING = "WRKBOOK_WITHOUT_MEASURING"
"""Environment variable that makes a notebook show the recorded data without measuring."""
WITH_LATENCY = "WRKBOOK_WITH_LATENCY"
"""Environment variable that makes a notebook about throughput also measure at half of what the slowest system carries."""
OWN_SESSION_ONLY = "WRKBOOK_OWN_SESSION_ONLY"
"""Environment variable that makes a report use its own run alone, without other sessions of the ledger."""


def cache_folder() -> Path:
    """Return the cache folder, created on first use: ``$XDG_CACHE_HOME/wrkbook``, else ``~/.cache/wrkbook``."""
    return user_cache_path("wrkbook", ensure_exists=True)


def certificate_path() -> Path:
    """Return the file of the certificate that all servers show over TLS; :mod:`runners.systems.certificate` makes it."""
    return cache_folder() / "certificate" / "certificate.pem"


@contextmanager
def exclusive(name: str, waiting: str) -> Iterator[None]:
    """Hold the lock `name` of this user; while another process holds it, say `waiting` once and wait."""
    handle = _open_lock(name)
    try:
        if not _locks(handle, fcntl.LOCK_EX):
            note(f"Waiting: {waiting} …")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def shared(name: str) -> Iterator[None]:
    """Hold the lock `name` of this user together with others that share it."""
    handle = _open_lock(name)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def try_lock(name: str) -> int | None:
    """Return a descriptor that holds the lock `name` of this user until it is closed; None while another one holds it."""
    handle = _open_lock(name)
    if _locks(handle, fcntl.LOCK_EX):
        return handle
    os.close(handle)
    return None


_held: dict[Path, int] = {}


def hold_shared(name: str) -> None:
    """Hold the lock `name` of this user together with others that share it, until this process ends."""
    if (path := _lock_path(name)) not in _held:
        _held[path] = _open_lock(name)
        fcntl.flock(_held[path], fcntl.LOCK_SH)


def is_locked(name: str, *, also_shared: bool = False) -> bool:
    """Return whether anyone holds the lock `name` of this user alone, or, if `also_shared`, together with others."""
    handle = _open_lock(name)
    try:
        # Two that only look at the same moment must not take each other for a holder.
        return not _locks(handle, fcntl.LOCK_EX if also_shared else fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _lock_path(name: str) -> Path:
    return cache_folder() / "locks" / name


def _open_lock(name: str) -> int:
    path = _lock_path(name)
    path.parent.mkdir(exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


# Own code: filelock has no shared locks, and the kernel releases these when their process is killed.
def _locks(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def experiments() -> list[str]:
    """Return the names of the notebooks that measure, without their suffix."""
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb") if path.stem != COMPARING)


def find_experiment(name: str) -> str:
    """Return the experiment called `name`, also given as its number (``02``) or the path of its file.

    Raises
    ------
    WrkbookError
        When there is none, or more than one.
    """
    wanted = Path(name).name.removesuffix(".ipynb")
    if wanted in (COMPARING, COMPARING.split("-")[0]):
        raise WrkbookError(f"notebook {COMPARING} measures nothing: it needs two runs", "./wrkbook compare RUN_A RUN_B")
    found = [known for known in experiments() if known == wanted or known.split("-")[0] == wanted]
    if len(found) != 1:
        raise WrkbookError(f"there is no notebook named {name!r}", f"there are: {', '.join(experiments())}")
    return found[0]


@cache
def declared_parameters(name: str) -> dict[str, Any]:
    """Return the parameters that a notebook declares in its cell tagged ``parameters``, with their defaults, in that order.

    Raises
    ------
    WrkbookError
        When there is no such notebook, or its cell holds anything but assignments of constants.
    """
    path = NOTEBOOKS / f"{name}.ipynb"
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        cell = next(cell for cell in cells if "parameters" in cell["metadata"].get("tags", []))
        return {name: ast.literal_eval(value) for name, value in assigned("".join(cell["source"]))}
    except (OSError, ValueError, LookupError, StopIteration, SyntaxError) as error:
        raise WrkbookError(
            f"the parameters of notebook {name} cannot be read from {path}: {error}",
            "its cell tagged parameters holds lines such as: connections = 80",
        ) from error


def assigned(source: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield each (name, expression) that Python source assigns, one a line: papermill knows no other parameters."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
