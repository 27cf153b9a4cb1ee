"""Backends of the servers (a database, a proxy's origin): lifecycle, statistics, and settings."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from runners.core.errors import WrkbookError
from runners.core.run_manifest import BackendFacts
from runners.systems.build import Artifact, build
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.process import ServerProcess
from runners.systems.server_manifest import Server, pool_per_cpu, pool_size
from runners.systems.sockets import FIRST_PORT, hold_ports

_COUNT_TIMEOUT_S = 10.0
# Out of the way of the servers, whose ports may be chosen by hand before or after.
FIRST_BACKEND_PORT = FIRST_PORT + 1000


class Work(NamedTuple):
    """The number of calls, and the number of rows that they returned."""

    calls: int
    rows: int


class Backend(ServerProcess):
    """A launched backend. It is ready as soon as it can be counted; one that counts nothing, when it listens."""

    # It may have to make its data first.
    ready_timeout_s = 60.0

    def ready(self) -> bool:
        """Return whether it listens and responds."""
        return self.listens() and (not self.artifact.server.launch.counters or self._count().returncode == 0)

    def work(self) -> dict[str, Work]:
        """Return the work done since its launch by kind, as the manifest's `counters` print it; empty without them.

        Raises
        ------
        WrkbookError
            When it does not respond, or with something else.
        """
        if not self.artifact.server.launch.counters:
            return {}
        outcome = self._count()
        if outcome.returncode != 0:
            raise WrkbookError(f"the work of {self.name} could not be counted: {outcome.stderr.strip()[-300:]}")
        try:
            return {
                kind: Work(int(found["calls"]), int(found["rows"]))
                for kind, found in json.loads(outcome.stdout).items()
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise WrkbookError(
                f"the counters of {self.name} printed no work: {outcome.stdout.strip()[:300]!r}",
                'they must print one JSON object: {"kind": {"calls": 0, "rows": 0}}',
            ) from error

    def _count(self) -> subprocess.CompletedProcess[str]:
        command = self.sandbox().command(self.filled(self.artifact.server.launch.counters))
        try:
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_COUNT_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 1, "", f"no response within {_COUNT_TIMEOUT_S:.0f} s")


def process_of(artifact: Artifact, port: int, cpus: Sequence[int], backend_port: int = 0) -> ServerProcess:
    """Return the process of a server, or the :class:`Backend` of one with that role; it is not launched yet."""
    kind = Backend if artifact.server.role == "backend" else ServerProcess
    return kind(artifact, port, list(cpus), backend_port)


def work_between(before: Mapping[str, Work], after: Mapping[str, Work]) -> dict[str, Work]:
    """Return the work between two counts, by kind."""
    none = Work(0, 0)
    return {
        kind: Work(*(late - early for late, early in zip(work, before.get(kind, none), strict=True)))
        for kind, work in after.items()
    }


def counted(backend: Backend | None) -> dict[str, Work] | None:
    """Return the work that a backend has done so far; None where there is none, or it cannot say any more."""
    if backend is None:
        return None
    try:
        return backend.work()
    except WrkbookError:
        return None  # it has ended


def work_done(before: Mapping[str, Work] | None, after: Mapping[str, Work] | None) -> dict[str, dict[str, int]] | None:
    """Return the work between two counts, by kind, for a record; None where one of them is missing."""
    if before is None or after is None:
        return None
    return {kind: work._asdict() for kind, work in work_between(before, after).items()}


def backend_name(server: Server) -> str | None:
    """Return the backend that a server's services need; None when they need none.

    Raises
    ------
    WrkbookError
        When they name several: a server is told one port.
    """
    names = sorted({service.backend for service in server.serves if service.backend})
    if len(names) > 1:
        raise WrkbookError(
            f"servers/{server.name}/server.toml names several backends: {', '.join(names)}", "a server can have one"
        )
    return names[0] if names else None


class Backends(dict[str, Backend]):
    """The launched backends, by name."""

    def port(self, server: Server) -> int:
        """Return the port of the backend behind `server`; 0 when it has none here."""
        backend = self.get(backend_name(server) or "")
        return backend.port if backend else 0


@contextmanager
def backends_of(
    servers: Iterable[Server], image: Image, cpus: Sequence[int], catalogue: Catalogue | None = None
) -> Iterator[Backends]:
    """Launch every backend that `servers` name, once, each on a port of its own and pinned to `cpus`; end them after.

    Raises
    ------
    WrkbookError
        When one is not in the catalogue, is no backend, or cannot be launched.
    """
    catalogue = catalogue or Catalogue()
    names = {backend_name(server) for server in servers}
    chosen = [catalogue.server(name) for name in sorted(name for name in names if name)]
    with ExitStack() as stack:
        launched = Backends()
        for server in chosen:
            if server.role != "backend":
                raise WrkbookError(
                    f"{server.name} has the role {server.role}", 'what others need has the role "backend"'
                )
            (port,) = stack.enter_context(hold_ports(1, FIRST_BACKEND_PORT))
            launched[server.name] = Backend(build(server, image), port, list(cpus))
            stack.enter_context(launched[server.name])
        yield launched


def stated_settings(server: Server) -> dict[str, str]:
    """Return the settings in the file that the manifest names, without comments and quotes; empty where it names none."""
    if server.settings is None:
        return {}
    text = (server.folder / server.settings).read_text(encoding="utf-8")
    found = re.findall(r"^(\w+)\s*=\s*('[^']*'|[^#\n]*)", text, re.MULTILINE)
    return {name: value.strip().strip("'") for name, value in found}


def backend_facts(backend: Server, cpus: Sequence[int]) -> BackendFacts:
    """Return the facts about a backend for the manifest; `pool_count` is of a server on `cpus`."""
    return BackendFacts(
        title=backend.title,
        pool_count=pool_size(cpus),
        pool_per_cpu_count=pool_per_cpu(cpus),
        settings=stated_settings(backend),
    )
