"""Time the builds of the servers, clean and incremental, after a run; kept in ``builds.json``."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.project import cache_folder
from runners.core.status_line import steps
from runners.machine.pinning_plan import PinningPlan
from runners.store.ledger import Run, write_once
from runners.systems.build import build_environment, sources
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox
from runners.systems.server_manifest import Server


def record_build_times(run: Run, servers: Sequence[Server], image: Image, plan: PinningPlan) -> None:
    """Build each server in each of the ways that are timed, on all measured CPUs; a run that has its record keeps it."""
    path = run.folder / "builds.json"
    if path.exists():
        return
    cpus = sorted(plan.measured)
    plain = [server for server in servers if server.variant is None]
    rows = [build_times(server, image, cpus) for server in steps(plain, "Timing the builds")]
    write_once(path, json.dumps({"cpus": cpus, "builds": rows}, indent=1).encode())


# Where the compilers of the image keep what they made; the rest of the cache are packages.
_COMPILED = "/tmp/compiled"  # noqa: S108 - inside the sandbox
_COMPILER_CACHES = {"GOCACHE": f"{_COMPILED}/go", "CARGO_TARGET_DIR": f"{_COMPILED}/cargo"}
_TIMEOUT_S = 900.0
# In which line comments start like this: a changed file must still be the same program.
_COMMENTS = {".go": "//", ".cc": "//", ".cpp": "//", ".rs": "//", ".js": "//", ".java": "//", ".py": "#"}


def build_times(server: Server, image: Image, cpus: list[int]) -> dict[str, Any]:
    """Build a server three times, on `cpus`, and measure it.

    Returns
    -------
    dict
        ``system``; ``cold_s`` (nothing built, compiler cache empty), ``warm_s`` (nothing built, compiler cache as that build left it),
        ``incremental_s`` (again after one source file got a comment), ``changed`` (that file), ``commands``, ``output_bytes`` (all that the
        build leaves), ``failure`` (None, or the end of what it printed).
    """
    found: dict[str, Any] = {"system": server.name, "commands": server.build.commands, "failure": None}
    with tempfile.TemporaryDirectory(prefix="wrkbook-build-") as temporary:
        folder = Path(temporary)
        source, compiled = folder / "src", folder / "compiled"
        shutil.copytree(server.folder, source)
        compiled.mkdir()
        try:
            found["cold_s"] = _build(server, image, cpus, folder, clean=True)
            found["warm_s"] = _build(server, image, cpus, folder, clean=True)
            changed = changed_file(source)
            if changed is not None:
                with changed.open("a", encoding="utf-8") as file:
                    file.write(f"\n{_COMMENTS[changed.suffix]} changed\n")
                found["changed"] = changed.relative_to(source).as_posix()
                found["incremental_s"] = _build(server, image, cpus, folder, clean=False)
            found["output_bytes"] = output_bytes(folder / "build")
        except WrkbookError as error:
            found["failure"] = error.problem
    return found


def clean_build_s(server: Server, image: Image, cpus: list[int]) -> float:
    """Return the seconds of one build of a server on `cpus`: nothing built, compiler cache empty.

    Raises
    ------
    WrkbookError
        When it does not build.
    """
    with tempfile.TemporaryDirectory(prefix="wrkbook-build-") as temporary:
        folder = Path(temporary)
        shutil.copytree(server.folder, folder / "src")
        (folder / "compiled").mkdir()
        return _build(server, image, cpus, folder, clean=True)


def changed_file(source: Path) -> Path | None:
    """The file that stands for a developer's change: the largest of the server's own sources, tests left out."""
    files = [
        path
        for path in sorted(source.rglob("*"))
        if path.suffix in _COMMENTS and "test" not in path.name and path.is_file()
    ]
    return max(files, key=lambda path: path.stat().st_size, default=None)


def output_bytes(folder: Path) -> int:
    """The size of all that a build left, each file counted once; what CMake keeps for itself is not the server's."""
    files = {path.stat().st_ino: path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    own = [
        path for path in files.values() if path.suffix not in (".o", ".a", ".ninja") and "CMakeFiles" not in path.parts
    ]
    return sum(path.stat().st_size for path in own)


def _build(server: Server, image: Image, cpus: list[int], folder: Path, *, clean: bool) -> float:
    """Seconds of one build of the copy in `folder`; `clean`: into an empty folder."""
    output, cache = folder / "build", cache_folder() / "build-cache"
    if clean:
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir()
    cache.mkdir(exist_ok=True)
    sandbox = Sandbox(
        image,
        read_only=sources(server.folder) | {"/src": folder / "src"},
        writable={"/build": output, "/cache": cache, _COMPILED: folder / "compiled"},
        env=build_environment(server) | _COMPILER_CACHES,
        workdir="/src",
        builds=True,
    )
    started = time.monotonic()
    for command in server.build.commands:
        try:
            outcome = subprocess.run(
                sandbox.command(command, cpus),
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise WrkbookError(f"took longer than {_TIMEOUT_S:.0f} s: {' '.join(command)}") from error
        if outcome.returncode:
            raise WrkbookError(f"{' '.join(command)}: {(outcome.stderr or outcome.stdout).strip()[-500:]}")
    return time.monotonic() - started
