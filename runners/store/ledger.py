"""The ledger in ``data/raw``: write-once records, the only interface between measuring and analysing.

A run is a folder ``data/raw/<experiment>/<run_id>/`` with ``run.json`` (plan, machine, versions) and ``block-001.jsonl.xz`` …: compressed
JSON lines, one a trial. A block appears whole or not at all, and is never changed afterwards.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from runners.core.errors import WrkbookError
from runners.core.project import RAW
from runners.core.records import RUN_SCHEMA, TRIAL_SCHEMA, Record
from runners.core.run_manifest import RunManifest
from runners.core.trial_record import TrialRecord
from runners.store.migrations import RUN_MIGRATIONS, TRIAL_MIGRATIONS, Migrations

# The run that comes with the project: every notebook, measured on one machine.
REFERENCE = "reference"
_OF_THE_REFERENCE = re.compile(rf"{REFERENCE}(-\d+)?")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SEAL = "sha256"
_AT_THE_END = re.compile(rb',"sha256":"([0-9a-f]{64})"}$')
_PARTIAL = ".partial-"
_BLOCK = re.compile(r"block-(\d+)")
_REMEASURE = "delete this block: --run-id measures another one in its place"
Model = TypeVar("Model", bound=Record)


def new_run_id(profile: str) -> str:
    """Return a run-id that sorts by time: ``20261120-155900-quick``."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{profile}"


def check_run_id(run_id: str) -> str:
    """Return `run_id` when it can name a folder.

    Raises
    ------
    WrkbookError
        When it has other characters than letters, digits, ``-`` and ``_``, or more than 64.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise WrkbookError(
            f"{run_id!r} cannot be a run-id", "use 1 to 64 letters, digits, - and _, starting with a letter or digit"
        )
    return run_id


def is_reference(run_id: str) -> bool:
    """Return whether a run came with the project, from another machine: ``reference``, or a further session, ``reference-2`` …."""
    return bool(_OF_THE_REFERENCE.fullmatch(run_id))


@dataclass(frozen=True)
class Run:
    """One run's folder in the ledger."""

    experiment: str
    run_id: str
    base: Path = RAW

    @property
    def folder(self) -> Path:
        """Return ``data/raw/<experiment>/<run_id>``."""
        return self.base / self.experiment / check_run_id(self.run_id)

    @property
    def exists(self) -> bool:
        """Return whether the run has been opened."""
        return (self.folder / "run.json").exists()

    def open(self, manifest: RunManifest) -> None:
        """Begin the run with its manifest; ``schema``, ``experiment`` and ``run_id`` are added."""
        header = {"schema": RUN_SCHEMA, "experiment": self.experiment, "run_id": self.run_id}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_once(self.folder / "run.json", json.dumps(header | manifest.model_dump(), indent=1).encode())

    def read(self) -> RunManifest:
        """Return the run's manifest.

        Raises
        ------
        WrkbookError
            When there is none, or it is damaged or of another schema.
        """
        path = self.folder / "run.json"
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise WrkbookError(
                f"there is no run {self.run_id} of {self.experiment}", "./wrkbook list shows the runs"
            ) from error
        except ValueError as error:
            raise WrkbookError(f"{path} is damaged: {error}", "start a new run") from error
        content = {name: value for name, value in content.items() if name not in ("experiment", "run_id")}
        return _validated(RunManifest, content, path, RUN_SCHEMA, RUN_MIGRATIONS, "start a new run")

    def write_block(self, number: int, trials: Iterable[TrialRecord]) -> Path:
        """Store the trials of one block for good: the block appears whole or not at all.

        Raises
        ------
        WrkbookError
            When the block is there already, or the disk is full or read-only.
        """
        if number in self.blocks:
            raise WrkbookError(
                f"block {number} of {self.folder} is there already; records are never overwritten", "use another run-id"
            )
        lines = [_sealed(trial) for trial in sorted(trials, key=lambda trial: (trial.system, trial.workload))]
        # A writer that was killed left them.
        for left in self.folder.glob(f"{_PARTIAL}block-*"):
            with suppress(OSError):
                left.unlink()
        path = self.folder / f"block-{number:03d}.jsonl.xz"
        write_once(path, lzma.compress(b"".join(lines)))
        return path

    @property
    def blocks(self) -> list[int]:
        """Return the numbers of the stored blocks, in the order in which they were measured."""
        return sorted({self._number(path) for path in self.files})

    @property
    def files(self) -> list[Path]:
        """Return the files of all blocks, block by block: one for each block, or for each trial in runs of earlier versions."""
        found = [*self.folder.glob("block-*.jsonl.xz"), *self.folder.glob("block-*/*.json.xz")]
        # By number: as texts, block-1000 stands before block-999.
        return sorted(found, key=lambda path: (self._number(path), path.name))

    def _number(self, path: Path) -> int:
        found = _BLOCK.match(path.relative_to(self.folder).parts[0])
        return int(found[1]) if found else 0

    def trials(self) -> Iterator[TrialRecord]:
        """Yield all trials of the run, block by block; see :func:`read_trials`."""
        return (trial for path in self.files for trial in read_trials(path))


def read_trials(path: Path) -> Iterator[TrialRecord]:
    """Yield the trials of one file, by system and workload.

    Raises
    ------
    WrkbookError
        When the file is truncated, or a record edited into something else, or of another schema: it names the file.
    """
    try:
        lines = lzma.decompress(path.read_bytes()).splitlines()
        records: list[dict[str, Any]] = [from_json(line) for line in lines]
    except (ValueError, EOFError, OSError, lzma.LZMAError) as error:
        raise WrkbookError(f"{path} is damaged: {error}", _REMEASURE) from error
    if not records:
        raise WrkbookError(f"{path} is damaged: it is empty", _REMEASURE)
    for line, content in zip(lines, records, strict=True):
        content.pop(_SEAL, None)
        known = content.get("schema") in {TRIAL_SCHEMA, *TRIAL_MIGRATIONS}
        if known and not _is_whole(line):
            of = f"{content.get('system')}, {content.get('workload')}"
            raise WrkbookError(f"{path} is not what was measured: the record of {of} was edited", _REMEASURE)
        yield _validated(TrialRecord, content, path, TRIAL_SCHEMA, TRIAL_MIGRATIONS, _REMEASURE)


def _validated(
    model: type[Model], content: dict[str, Any], path: Path, schema: str, migrations: Migrations, remedy: str
) -> Model:
    """Return stored content as a record of the present `schema`.

    Raises
    ------
    WrkbookError
        When it has a schema from which nothing leads to that, or fields that are not those of the schema.
    """
    while (found := content.pop("schema", None)) != schema:
        if found not in migrations:
            raise WrkbookError(f"{path} has the schema {found!r}, this version reads {schema!r}", remedy)
        content = migrations[found](content)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise WrkbookError(f"{path} is not a record of {schema}: {place}: {first['msg']}", remedy) from error


def runs(experiment: str, base: Path = RAW) -> list[Run]:
    """Return the runs of an experiment, oldest first."""
    return [Run(experiment, path.parent.name, base) for path in sorted((base / experiment).glob("*/run.json"))]


def _sealed(trial: TrialRecord) -> bytes:
    """Return a trial as one line with its seal, once it has been validated."""
    content = {"schema": TRIAL_SCHEMA, **trial.model_dump()}
    TrialRecord.model_validate(trial.model_dump())
    digest = hashlib.sha256(_plain(content)).hexdigest()
    return _plain({**content, _SEAL: digest}) + b"\n"


def _is_whole(line: bytes) -> bool:
    """Return whether a line is as it was sealed: its last member is the SHA-256 of the line without that member."""
    seal = _AT_THE_END.search(line)
    return seal is not None and hashlib.sha256(line[: seal.start()] + b"}").hexdigest().encode() == seal[1]


def _plain(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def write_once(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and refuse to replace one.

    Raises
    ------
    WrkbookError
        When the file is there already, or the disk is full or read-only; nothing half-written is left.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{_PARTIAL}{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)  # noqa: PTH101
            os.link(name, path)
        finally:
            os.unlink(name)  # noqa: PTH108
    except FileExistsError as error:
        raise WrkbookError(f"{path} is there already; records are never overwritten", "use another run-id") from error
    except OSError as error:
        raise WrkbookError(
            f"{path} could not be written: {error.strerror}", "check the disk (df -h) and the folder's permissions"
        ) from error
