"""A host's worker: it runs the tasks of the controller one after another, and ends when the controller is gone."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dask
from distributed import Worker

from runners.core.errors import WrkbookError
from runners.hosts.certificates import Identity

LEASE_S = 30.0
"""A host that has not heard from the controller for so long ends what it started."""
HOST = "host"
"""The resource of which each worker has one: a task that needs it has the host alone."""
JOINED = "joined"
"""The line that a worker prints when it is ready for tasks."""
KEY_FILES = {"key": "key.pem", "certificate": "certificate.pem", "authority": "authority.pem"}
"""Field of an :class:`Identity` → its file in the folder of keys."""
_PING_EVERY_S = 5.0
_LOOPBACK = re.compile(r"tcp://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?")

# A task that was lost is lost: a measurement is never repeated or moved without a word. What wakes up often, rests.
SETTINGS: Mapping[str, Any] = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": f"{LEASE_S:.0f}s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.comm.retry.count": 0,
    "distributed.comm.timeouts.connect": f"{LEASE_S:.0f}s",
    "distributed.comm.timeouts.tcp": f"{LEASE_S:.0f}s",
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.log-format": "%(name)s: %(message)s",
}


def refuse_plain(address: str) -> None:
    """Refuse an address beyond loopback that is not encrypted.

    Raises
    ------
    WrkbookError
        For an address such as ``tcp://192.0.2.1:8786``.
    """
    if not (address.startswith("tls://") or _LOOPBACK.fullmatch(address)):
        raise WrkbookError(
            f"{address} is not encrypted: whoever reaches it could run programs on this host", "use tls://HOST:PORT"
        )


def take_identity(folder: Path) -> Identity:
    """Return the identity in a private folder, and delete its files: from then on the key is in memory only.

    The folder goes too, unless it holds something else.

    Raises
    ------
    WrkbookError
        When a file is missing, or others may read the folder.
    """
    try:
        if folder.stat().st_mode & 0o077:
            raise WrkbookError(f"others may read the keys in {folder}", f"chmod 0700 {folder}, and make new keys")
        found = {field: (folder / name).read_text(encoding="ascii") for field, name in KEY_FILES.items()}
    except OSError as error:
        raise WrkbookError(
            f"{folder} does not hold the keys of a run: {error.strerror}", "see docs/hosts.md"
        ) from error
    for name in KEY_FILES.values():
        (folder / name).unlink()
    with suppress(OSError):
        folder.rmdir()
    return Identity(**found)


def join(scheduler: str, name: str, keys: Path | None, address: str = "") -> None:
    """Run a worker until the controller ends it or is gone; then end this process and all that it started.

    Parameters
    ----------
    scheduler : str
        Address of the controller's scheduler.
    name : str
        The name of this host in the inventory.
    keys : Path | None
        Folder of the keys, which are deleted. None on loopback.
    address : str
        Address of this host that the worker listens on; empty: as the route to the controller says.

    Raises
    ------
    WrkbookError
        For an address that is not encrypted, and when the controller cannot be reached.
    """
    refuse_plain(scheduler)
    identity = take_identity(keys) if keys else None
    logging.getLogger("distributed").setLevel(logging.ERROR)
    # A task that sleeps in its thread would hold up an orderly exit. What it started ends with its thread (--die-with-parent).
    with _ending_at_once(), dask.config.set(SETTINGS):
        try:
            asyncio.run(_work(scheduler, name, identity, address))
        except (OSError, RuntimeError, TimeoutError, ValueError) as error:
            # Dask itself logs what a scheduler says that refuses a worker; its own error holds the whole response.
            cause = error.__cause__ or error
            reason = "it refused this worker" if isinstance(cause, ValueError) else cause
            print(f"wrkbook: {scheduler} cannot be joined: {reason}", file=sys.stderr, flush=True)
            os._exit(1)


@contextmanager
def _ending_at_once() -> Iterator[None]:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGHUP, lambda *_: os._exit(0))
    yield
    sys.stdout.flush()
    os._exit(0)


async def _work(scheduler: str, name: str, identity: Identity | None, address: str) -> None:
    worker = Worker(
        scheduler,
        name=name,
        nthreads=1,
        memory_limit=0,
        resources={HOST: 1},
        death_timeout=LEASE_S,
        host=address or None,
        dashboard=False,
        security=identity.security() if identity else None,
    )
    # Without the way through scheduler and thread, a round trip is short enough to compare clocks by.
    worker.handlers["clocks"] = lambda: (time.monotonic(), time.time())
    # As at SIGTERM, which OpenSSH does not pass on to processes of root.
    worker.handlers["end"] = lambda: os._exit(0)
    async with worker:
        print(JOINED, flush=True)
        await asyncio.wait(
            [asyncio.create_task(worker.finished()), asyncio.create_task(_without_lease(worker))],
            return_when=asyncio.FIRST_COMPLETED,
        )
        # Its thread may be in a task that sleeps.
        with suppress(Exception):
            await asyncio.wait_for(worker.close(timeout=1, executor_wait=False), 2)


async def _without_lease(worker: Worker) -> None:
    """Wait until the controller has not responded for the time of the lease, though its connection may still be open."""
    heard_at_s = time.monotonic()
    while time.monotonic() - heard_at_s < LEASE_S:
        await asyncio.sleep(_PING_EVERY_S)
        # One call that fails is no end: the next may come through.
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(worker.scheduler.ncores(), LEASE_S)
            heard_at_s = time.monotonic()
