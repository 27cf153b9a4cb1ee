"""Build a server inside the image, once for each state of its sources and each CPU level."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import CONTRACT_DATA, SERVERS, cache_folder, exclusive
from runners.core.status_line import steps
from runners.systems.cpu_level import own_level
from runners.systems.image import Image, remove_tree
from runners.systems.manifest_tables import PROFILE
from runners.systems.sandbox import Sandbox
from runners.systems.server_manifest import Server

CACHE_ENV = {
    "HOME": "/cache",
    "GOMODCACHE": "/cache/go/mod",
    "GOCACHE": "/cache/go/build",
    "GOFLAGS": "-buildvcs=false",
    "CARGO_HOME": "/cache/cargo",
    "CARGO_TARGET_DIR": "/cache/cargo-target",
}
_BUILD_TIMEOUT_S = 1800.0
# What stands in the file of a module that shares code with others.
_SHARED = {"go.mod": "=> ../shared/", "Cargo.toml": 'path = "../shared/'}


@dataclass(frozen=True)
class Artifact:
    """A built server: where its output is, and under which key.

    Attributes
    ----------
    profile : str
        Key of the profile that guides the build; empty without one.
    records : Path | None
        Folder into which a running server may write its profile; None while it is measured.
    """

    server: Server
    image: Image
    key: str
    profile: str = ""
    records: Path | None = None

    @property
    def folder(self) -> Path:
        """Return the folder that is mounted at /build."""
        return cache_folder() / "builds" / f"{self.server.label}-{self.key}"

    @property
    def ready(self) -> bool:
        """Return whether it has been built."""
        return (self.folder / "wrkbook-build.json").exists()

    def sandbox(self) -> Sandbox:
        """Return the sandbox in which the server runs: its sources and its build, both read-only."""
        start = self.server.launch
        return Sandbox(
            self.image,
            read_only={**sources(self.server.folder), "/build": self.folder},
            writable={PROFILE: self.records} if self.records else {},
            env=dict(start.env),
            workdir="/src",
            user=start.user,
            scratch=start.scratch,
        )


def sources(folder: Path) -> dict[str, Path]:
    """Return the read-only folders of a server's build and run: folder inside the sandbox → folder of the host."""
    files = {folder / name: mark for name, mark in _SHARED.items()}
    shares = any(path.is_file() and mark in path.read_text(encoding="utf-8") for path, mark in files.items())
    beside = folder.parent / "shared"  # of the same revision
    shared = {"/shared": beside if beside.is_dir() else SERVERS / "shared"} if shares else {}
    return {"/src": folder, "/contract": CONTRACT_DATA} | shared


def artifact(server: Server, image: Image) -> Artifact:
    """Return the artifact for the present sources.

    Its key covers every file that it is made from, the image's packages, the CPU, the variables of the build, and the profile.
    """
    digest = hashlib.sha256()
    for folder in sources(server.folder).values():
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    digest.update(json.dumps([image.key, sorted(image.versions.items()), _cpu_model()]).encode())
    if environment := server.build.environment(own_level()):
        digest.update(json.dumps(environment, sort_keys=True).encode())
    digest.update((profile := profile_key(profile_folder(server, image))).encode())
    return Artifact(server, image, digest.hexdigest()[:12], profile)


def profile_folder(server: Server, image: Image) -> Path | None:
    """Return the folder of the profile that guides a server's build, recorded or not; None where nothing guides it."""
    key = artifact(server.recording, image).key if server.recording else ""
    return cache_folder() / "profiles" / f"{server.label}-{key}" if key else None


def profile_key(folder: Path | None) -> str:
    """Return the digest of a recorded profile; empty where there is none."""
    files = sorted(folder.iterdir()) if folder and folder.is_dir() else []
    parts = [path.name.encode() + b"\0" + path.read_bytes() for path in files]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12] if files else ""


def build(server: Server, image: Image) -> Artifact:
    """Build `server` unless the cache has it.

    Raises
    ------
    WrkbookError
        When a build command fails, with the end of what it printed, or the profile that guides it was not recorded.
    """
    wanted = artifact(server, image)
    if server.recording and not wanted.profile:
        raise WrkbookError(f"{server.label} has no profile yet", f"./wrkbook verify {server.label} records one")
    if wanted.ready:
        return wanted
    with exclusive(f"build-{wanted.folder.name}", f"{server.label} is being built by another wrkbook"):
        if not wanted.ready:
            _run(wanted)
    return wanted


def build_environment(server: Server) -> dict[str, str]:
    """Return the environment of a server's build commands on this machine."""
    return CACHE_ENV | server.build.environment(own_level())


def _run(wanted: Artifact) -> None:
    server, partial = wanted.server, wanted.folder.with_name(wanted.folder.name + ".partial")
    remove_tree(partial)
    partial.mkdir(parents=True)
    cache = cache_folder() / "build-cache"
    cache.mkdir(exist_ok=True)
    guide = profile_folder(server, wanted.image)
    sandbox = Sandbox(
        wanted.image,
        read_only=sources(server.folder) | ({PROFILE: guide} if guide else {}),
        writable={"/build": partial, "/cache": cache},
        env=build_environment(server),
        workdir="/src",
        builds=True,
    )
    seconds = []
    for command in steps(server.build.commands, f"Building {server.label} (once)"):
        started = time.monotonic()
        _step(server.label, command, sandbox, partial / "wrkbook-build.log")
        seconds.append(round(time.monotonic() - started, 2))
    # A sandbox ends with the thread that started it; so a build that was interrupted never gets this far.
    record = {"commands": server.build.commands, "flags": server.stated(own_level()), "seconds": seconds}
    (partial / "wrkbook-build.json").write_text(json.dumps(record, indent=1))
    remove_tree(wanted.folder)
    os.rename(partial, wanted.folder)  # noqa: PTH104


def _step(name: str, command: list[str], sandbox: Sandbox, log: Path) -> None:
    with log.open("ab") as output:
        try:
            outcome = subprocess.run(
                sandbox.command(command),
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=_BUILD_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise WrkbookError(
                f"building {name} took longer than {_BUILD_TIMEOUT_S:.0f} s: {' '.join(command)}"
            ) from error
    if outcome.returncode != 0:
        tail = "\n    ".join(log.read_text(errors="replace").strip().splitlines()[-12:])
        raise WrkbookError(f"building {name} failed at: {' '.join(command)}\n    {tail}", f"the whole log: {log}")


def _cpu_model() -> str:
    # -march=native: a cache that is shared between machines must not hand out another CPU's binary.
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
