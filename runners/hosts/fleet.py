"""Share independent experiments among identical hosts: each measures whole runs by itself, and their records come back."""

from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Future

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT, RAW
from runners.hosts.cluster import Hosts
from runners.hosts.inspection import ensure_same_version, version_here
from runners.hosts.inventory import Inventory
from runners.hosts.worker import LEASE_S
from runners.machine.topology import parse_cpu_list
from runners.store.ledger import Run

_SAID_LINES = 6
_LOOK_S = 0.5


@dataclass(frozen=True)
class Job:
    """One run of an experiment, with its parameters by name."""

    experiment: str
    run_id: str
    values: dict[str, Any]


def matrix_of(each: Sequence[str]) -> dict[str, list[str]]:
    """Return parameter → its values, of words such as ``connections=20,80``.

    Raises
    ------
    WrkbookError
        When a word has no name or no value.
    """
    found = {}
    for word in each:
        name, _, values = word.partition("=")
        found[name] = [value.strip() for value in values.split(",") if value.strip()]
        if not name or not found[name]:
            raise WrkbookError(f"--each {word}: a name and values are needed", "such as --each connections=20,80")
    return found


def jobs_of(
    names: Sequence[str], run_id: str, values: dict[str, Any], matrix: Mapping[str, Sequence[Any]]
) -> list[Job]:
    """Return a job for each experiment and each combination of the matrix, whose values are part of its run-id."""
    found = []
    for name in names:
        for chosen in itertools.product(*matrix.values()):
            own = [re.sub(r"[^\w.]+", "-", f"{key}-{_text(value)}") for key, value in zip(matrix, chosen, strict=True)]
            found.append(Job(name, "-".join([run_id, *own]), values | dict(zip(matrix, chosen, strict=True))))
    return found


@dataclass(frozen=True)
class Outcome:
    """A job that has ended: the host it ran on, why it failed (empty: it did not), and an archive of its records."""

    host: str
    failure: str
    records: bytes


def measure_here(job: Job, cpus: dict[str, str]) -> Outcome:
    """Measure a run on this host as ``./wrkbook run`` does; `cpus` are those of each host in the inventory."""
    from distributed import get_worker

    host = str(get_worker().name)
    words = [word for name, value in job.values.items() for word in ("-p", name, _text(value))]
    command = [sys.executable, "-m", "runners", "run", job.experiment, "--run-id", job.run_id, *words]
    if cpus[host]:
        command = ["taskset", "--cpu-list", ",".join(map(str, parse_cpu_list(cpus[host]))), *command]
    # It ends with this worker.
    ended = subprocess.run(
        ["setpriv", "--pdeathsig", "TERM", *command], cwd=PROJECT, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env=dict(os.environ),
    )  # fmt: skip
    said = "\n".join(ended.stderr.strip().splitlines()[-_SAID_LINES:])
    failure = (said or f"exit status {ended.returncode}") if ended.returncode else ""
    known = Run(job.experiment, job.run_id)
    return Outcome(host, failure, packed(known.folder) if known.exists else b"")


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def packed(folder: Path) -> bytes:
    """Return an archive of a run's folder, without what is not sealed yet."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:  # trials are compressed already
        for path in sorted(folder.iterdir()):
            if not path.name.startswith("."):
                archive.add(path, path.name)
    return made.getvalue()


def unpack(records: bytes, run: Run) -> None:
    """Put the records of a run in their place: whole, or not at all.

    Raises
    ------
    WrkbookError
        When the run is there already, or the archive has other things than files of a run.
    """
    if run.folder.exists():
        raise WrkbookError(f"{run.folder} is there already; records are never overwritten", "use another run-id")
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=run.folder.parent) as made:
        try:
            with tarfile.open(fileobj=io.BytesIO(records)) as archive:
                _extract_files(archive, Path(made, "run"))
        except tarfile.TarError as error:
            raise WrkbookError(
                f"the records of {run.run_id} did not come whole: {error}", "measure it again"
            ) from error
        Path(made, "run").rename(run.folder)


def _extract_files(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive into a new folder: plain files with plain names, since the filters of tarfile need Python 3.11.4."""
    folder.mkdir()
    for member in archive:
        content = archive.extractfile(member) if member.isfile() else None
        if content is None or member.name.startswith(".") or Path(member.name).name != member.name:
            raise tarfile.TarError(f"{member.name} is no file of a run")
        (folder / member.name).write_bytes(content.read())


def share(inventory: Inventory, jobs: Sequence[Job], base: Path = RAW) -> Iterator[tuple[Job, Outcome]]:
    """Have the hosts measure all jobs, each on whichever is free; yield each as it ends, when its records are here.

    A job fails alone when its host is lost, or its records are truncated; the others go on.

    Raises
    ------
    WrkbookError
        When the inventory has roles, a host cannot be reached or has another version, or no host is left.
    """
    if not inventory.is_fleet:
        raise WrkbookError("the hosts of this inventory have different roles", 'give each host roles = ["all"]')
    cpus = {name: host.cpus for name, host in inventory.named.items()}
    with Hosts(inventory) as hosts:
        for name in cpus:
            ensure_same_version(name, hosts.call(name, version_here))
        waiting = {job.run_id + job.experiment: job for job in jobs}
        futures = {key: hosts.submit_anywhere(measure_here, job, cpus) for key, job in waiting.items()}
        alone_since: float | None = None
        while futures:
            for key in [key for key, future in futures.items() if future.done()]:
                outcome = _outcome(futures.pop(key))
                if outcome.records:
                    try:
                        unpack(outcome.records, Run(waiting[key].experiment, waiting[key].run_id, base))
                    except WrkbookError as error:
                        outcome = replace(outcome, failure=str(error), records=b"")
                yield waiting[key], outcome
            alone_since = None if hosts.present else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since > LEASE_S:
                left = ", ".join(waiting[key].experiment for key in futures)
                raise WrkbookError(f"no host is left to measure {left}", "the same --run-id goes on with these")
            time.sleep(_LOOK_S)


def _outcome(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except Exception as error:
        return Outcome("", f"its host is gone ({type(error).__name__}); the same --run-id measures it again", b"")
