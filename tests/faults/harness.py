"""A run under observation: whatever it starts is found again, even what outlives it, and what it leaves is inspected."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from runners.analyse.checks.conditions import DISTURBANCES
from runners.core.project import NOTEBOOKS, PROJECT, cache_folder
from runners.store.ledger import Run

EXPERIMENT, RUN_ID, BLOCKS = "01-ping", "fault", 2
# The smallest run there is: one server, its control, one workload.
SMALL = {"profile": "quick", "systems": "haproxy-return", "max_blocks": BLOCKS, "connections": 8, "run_id": RUN_ID}
# All blocks, and nothing again that other tests beside it have made void.
SMALL |= {"min_blocks": BLOCKS, "budget_minutes": 0.05}
SMALL["slices"] = "0"
SLICED = {"slices": "100"}
"""Changes the small run into one whose processes stand still in the time slices of others, on any machine."""
CELLS = 2
SETTLED_S = 10.0
_PR_SET_CHILD_SUBREAPER = 36
_LISTEN = "0A"


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Be the parent of whatever loses its own below this process: nothing can hide by outliving its parent."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0
        for child in psutil.Process().children():
            with suppress(psutil.Error, ChildProcessError):
                if child.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(child.pid, os.WNOHANG)


class Observed:
    """A command in a session of its own, with everything below it.

    Parameters
    ----------
    data : what ``WRKBOOK_DATA`` names
    env : added to the environment
    """

    def __init__(self, command: list, data: Path, env: Mapping[str, str] | None = None) -> None:
        self._others = {process.pid for process in psutil.Process().children(recursive=True)}
        data.mkdir(parents=True, exist_ok=True)
        # Beside the data, whose disk may be full.
        self.data, self.started, self._output = data, time.monotonic(), data.with_name(f"{data.name}-output.txt")
        self._log = self._output.open("w+b")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            cwd=PROJECT,
            env={**os.environ, "WRKBOOK_DATA": str(data), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def __enter__(self) -> "Observed":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.alive():
            with suppress(psutil.Error):
                process.kill()
        self._log.close()

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text(errors="replace")

    def alive(self) -> list[psutil.Process]:
        """Its processes, adopted ones too; what has ended is put away."""
        found = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.pid in self._others:
                    continue
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
                elif process.pid != self.process.pid and process.ppid() == os.getpid():
                    os.waitpid(process.pid, os.WNOHANG)
        return found

    def named(self, word: str) -> list[psutil.Process]:
        """Its processes that have `word` in their command line."""
        found = []
        for process in self.alive():
            with suppress(psutil.Error):
                found += [process] if any(word in part for part in process.cmdline()) else []
        return found

    def freeze(self) -> None:
        """Stop all its processes where they are: the first of them first, which starts the others."""
        for process in self.alive():
            send(process, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let those of them that are left go on."""
        for process in self.alive():
            send(process, signal.SIGCONT)

    def wait_for(self, condition, timeout_s: float = 120.0) -> bool:
        """Wait until a condition holds; returns at once, False, when the command has ended before."""
        deadline = time.monotonic() + timeout_s
        while not (holds := condition()) and self.process.poll() is None:
            assert time.monotonic() < deadline, f"it never came to that; the output: {self.output[-2000:]}"
            time.sleep(0.02)
        return bool(holds)

    def wait(self, timeout_s: float = 180.0) -> int:
        """Wait for its end; returns the exit status as a shell sees it."""
        status = self.process.wait(timeout_s)
        return status if status >= 0 else 128 - status

    def measured_well(self) -> bool:
        """Wait for the end of a run that nothing disturbs; returns whether it could write a report.

        On a machine with much else to do all trials may be void: then it says so, and has measured nevertheless.
        """
        status = self.wait()
        assert status == 0 or was_invalidated(self.output), self.output[-3000:]
        return status == 0 or "All reports:" in self.output

    def sockets(self) -> set[int]:
        """The listening TCP sockets that its processes hold, by inode."""
        held = {link for process in self.alive() for link in _links(process)}
        return {inode for inode in listening() if f"socket:[{inode}]" in held}

    def addresses(self) -> set[str]:
        """Where its processes listen on Unix sockets: paths, and ``@`` before a name that is no file's."""
        inodes = {link for process in self.alive() for link in _links(process)}
        lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
        return {fields[7] for fields in lines if len(fields) > 7 and f"socket:[{fields[6]}]" in inodes}

    def assert_nothing_is_left(self, sockets: set[int]) -> None:
        """No process alive, and none of `sockets` open, within a few seconds of its end.

        A single look without processes proves nothing: one that is handed to another parent meanwhile is not seen.
        """
        deadline = time.monotonic() + SETTLED_S
        while ((left := self.alive()) or sockets & listening()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [described(process) for process in left] == []
        assert not sockets & listening()


def was_invalidated(output: str) -> bool:
    """Whether a run says that the machine has made a whole cell void: tests run beside each other."""
    return any(f"all trials are void ({name}" in output for name in DISTURBANCES)


def _links(process: psutil.Process) -> set[str]:
    """What its open files are, as the kernel names them."""
    found = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(OSError):
                found.add(str(entry.readlink()))
    return found


def described(process: psutil.Process) -> str:
    """For a message: what it is and what it does."""
    with suppress(psutil.Error):
        return f"{process.pid} {process.status()} {process.name()} {' '.join(process.cmdline())[:200]}"
    return f"{process.pid}, just gone"


def listening() -> set[int]:
    """The inodes of all sockets that listen on this machine."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(fields[9]) for fields in lines if fields[3] == _LISTEN}


def run_command(**changed: object) -> list:
    """``./wrkbook run`` of the small run."""
    values = {**SMALL, **changed}
    words = ["--profile", values.pop("profile"), "--run-id", values.pop("run_id")]
    return [
        PROJECT / "wrkbook",
        "run",
        EXPERIMENT,
        *words,
        *(word for pair in values.items() for word in ("-p", *pair)),
    ]


def papermill_command(output: Path, **changed: object) -> list:
    """The same by papermill alone."""
    values = {**SMALL, **changed, "systems": [SMALL["systems"]]}
    pairs = [word for name, value in values.items() for word in ("-y", f"{name}: {json.dumps(value)}")]
    return [sys.executable, "-m", "papermill", NOTEBOOKS / f"{EXPERIMENT}.ipynb", output, *pairs]


def private_cache(folder: Path) -> dict[str, str]:
    """A cache with the user's images and builds, and locks and further builds of its own: the environment that names it."""
    target = folder / "wrkbook"
    (target / "builds").mkdir(parents=True)
    shown = [entry for entry in cache_folder().iterdir() if entry.name not in ("locks", "builds")]
    for entry in [*shown, *(cache_folder() / "builds").glob("*")]:
        (target / entry.relative_to(cache_folder())).symlink_to(entry)
    return {"XDG_CACHE_HOME": str(folder)}


def records(data: Path) -> dict[str, bytes]:
    """Every block of the ledger by its path; one that is just being written is none yet."""
    return {str(path.relative_to(data)): path.read_bytes() for path in sorted(data.rglob("block-*.jsonl.xz"))}


def assert_records_are_sound(data: Path) -> dict[str, bytes]:
    """Every record of the ledger parses, and its seal holds; returns the blocks."""
    run = Run(EXPERIMENT, RUN_ID, data / "raw")
    found = records(data)
    assert {record.block for record in run.trials()} == set(run.blocks)
    assert len(run.blocks) == len(found)
    return found


def assert_goes_on(data: Path, env: Mapping[str, str], kept: Mapping[str, bytes], command: list | None = None) -> str:
    """The same run-id completes the run: what was measured stays as it is, and the rest is measured once; returns what it said."""
    with Observed(command or run_command(), data, env) as again:
        reported = again.measured_well()
        again.assert_nothing_is_left(set())
        said = again.output
    found = assert_records_are_sound(data)
    assert {path: found.get(path) for path in kept} == dict(kept)
    blocks = [record.block for record in Run(EXPERIMENT, RUN_ID, data / "raw").trials()]
    planned = [block for block in range(1, BLOCKS + 1) for _ in range(CELLS)]
    assert blocks == planned
    assert list((data / "raw").rglob(".partial*")) == []
    assert (data / "processed" / EXPERIMENT / RUN_ID / "report.html").exists() == reported
    return said


def send(process: psutil.Process | subprocess.Popen, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with suppress(psutil.Error, ProcessLookupError):
        process.send_signal(number)
