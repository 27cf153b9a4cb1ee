"""Whether a proxy relays, tried on its build; what its users should know of it is kept beside the build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import psutil

from runners.contract.findings import Finding
from runners.contract.pairs import Backend
from runners.contract.relay_cases import CASES, Proxy
from runners.contract.relaying import check
from runners.systems.build import Artifact
from runners.systems.process import ServerProcess
from runners.systems.sockets import free_ports


def try_relaying(artifact: Artifact, cpus: Sequence[int]) -> list[Finding]:
    """Try all cases on a proxy; those that are required of it and failed are returned, the others become its notes.

    Raises
    ------
    WrkbookError
        When it does not start.
    """
    (port,) = free_ports(1)
    with Backend() as backend, ServerProcess(artifact, port, list(cpus), backend.port) as process:

        def memory_bytes() -> int:
            return sum(psutil.Process(pid).memory_info().rss for pid in process.pids)

        found = check(Proxy(port, backend, memory_bytes))
    notes = [
        {"case": finding.case, "difference": finding.difference} for finding in found if finding.severity == "reported"
    ]
    _place(artifact).write_text(json.dumps({"tried": len(CASES), "failed": notes}), encoding="utf-8")
    return [
        Finding(finding.case, "relay", "", "a connection", "what went in comes out", "", finding.difference)
        for finding in found
        if finding.severity == "required"
    ]


def relay_notes(artifact: Artifact) -> dict[str, object] | None:
    """How many cases were tried on a proxy when it was last verified, and what is reported of it; None for other servers."""
    place = _place(artifact)
    notes: dict[str, object] | None = json.loads(place.read_text(encoding="utf-8")) if place.exists() else None
    return notes


def _place(artifact: Artifact) -> Path:
    return artifact.folder.with_name(f"{artifact.folder.name}.relays")
