"""Build a server inside the image, once for each state of its sources and each CPU level; read its components' versions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import CONTRACT_DATA, SERVERS, cache_folder, exclusive
from runners.core.run_manifest import Facts
from runners.core.status_line import steps
from runners.systems.image import SUITE, Image, remove_tree
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

_TOOLCHAIN = ("wrk", "g++", "golang-go", "libc6")
# Where each kind of package is locked, and what stands before its version there.
_LOCKED = {
    "go": ("go.mod", r"^\s*(?:require\s+)?{name}\s+(\S+)"),
    "cargo": ("Cargo.lock", r'^name = "{name}"\nversion = "([^"]+)"'),
    "npm": ("package-lock.json", r'"node_modules/{name}": {{\s*"version": "([^"]+)"'),
    "maven": ("pom.xml", r"<artifactId>{name}</artifactId>\s*<version>([^<]+)</version>"),
    "pypi": ("requirements.txt", r"^{name}==(\S+)"),
}
_PYTHON = ("numpy", "pandas", "scipy", "matplotlib", "seaborn", "papermill", "jupyterlab")


@dataclass(frozen=True)
class Artifact:
    """A built server: where its output is, and under which key."""

    server: Server
    image: Image
    key: str

    @property
    def folder(self) -> Path:
        """Return the folder that is mounted at /build."""
        return cache_folder() / "builds" / f"{self.server.name}-{self.key}"

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
            env=dict(start.env),
            workdir="/src",
            user=start.user,
            scratch=start.scratch,
        )


def sources(folder: Path) -> dict[str, Path]:
    """Return the read-only folders of a server's build and run: folder inside the sandbox → folder of the host."""
    files = {folder / name: mark for name, mark in _SHARED.items()}
    shares = any(path.is_file() and mark in path.read_text(encoding="utf-8") for path, mark in files.items())
    return {"/src": folder, "/contract": CONTRACT_DATA} | ({"/shared": SERVERS / "shared"} if shares else {})


def artifact(server: Server, image: Image) -> Artifact:
    """Return the artifact for the present sources.

    Its key covers every file that it is made from, the image's packages, the CPU, and the level that it is built for.
    """
    digest = hashlib.sha256()
    for folder in sources(server.folder).values():
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    digest.update(json.dumps([image.key, sorted(image.versions.items()), _cpu_model()]).encode())
    if environment := server.build.environment(own_level()):
        digest.update(json.dumps(environment, sort_keys=True).encode())
    return Artifact(server, image, digest.hexdigest()[:12])


def build(server: Server, image: Image) -> Artifact:
    """Build `server` unless the cache has it.

    Raises
    ------
    WrkbookError
        When a build command fails, with the end of what it printed.
    """
    wanted = artifact(server, image)
    if wanted.ready:
        return wanted
    with exclusive(f"build-{wanted.folder.name}", f"{server.name} is being built by another wrkbook"):
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
    sandbox = Sandbox(
        wanted.image,
        read_only=sources(server.folder),
        writable={"/build": partial, "/cache": cache},
        env=build_environment(server),
        workdir="/src",
        builds=True,
    )
    seconds = []
    for command in steps(server.build.commands, f"Building {server.name} (once)"):
        started = time.monotonic()
        _step(server.name, command, sandbox, partial / "wrkbook-build.log")
        seconds.append(round(time.monotonic() - started, 2))
    # A sandbox ends with the thread that started it; so a build that was interrupted never gets this far.
    record = {"commands": server.build.commands, "flags": server.build.stated(own_level()), "seconds": seconds}
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


# By their names in /proc/cpuinfo, where SSE3 is pni and LZCNT is abm. xsave stands for OSXSAVE: Linux shows AVX only with it.
_LEVELS = {
    "v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
    "v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def amd64_level(cpuinfo: str) -> str:
    """Return the highest level that every CPU has, by the text of /proc/cpuinfo: v1 to v4; empty if they are not x86-64."""
    lists = [set(line.partition(":")[2].split()) for line in cpuinfo.splitlines() if line.startswith("flags\t")]
    common = set.intersection(*lists) if lists else set()
    if "lm" not in common:
        return ""
    level = "v1"
    for name, needed in _LEVELS.items():
        if not needed <= common:
            break
        level = name
    return level


def own_level() -> str:
    """Return the level of this machine."""
    return amd64_level(Path("/proc/cpuinfo").read_text(encoding="utf-8"))


def component_versions(servers: list[Server], image: Image) -> Facts:
    """Return the versions: by server those of its components; of the toolchain in the image, and of the Python side.

    Raises
    ------
    WrkbookError
        When a manifest names a component that is not there.
    """
    level = own_level()
    components = {
        server.name: {name: _version(server, where, image) for name, where in server.components.items()}
        for server in servers
        if server.components
    }
    return {
        "components": components,
        "flags": {server.name: flags for server in servers if (flags := server.build.stated(level))},
        "image": {"suite": f"Debian {SUITE}", "key": image.key},
        "toolchain": {package: image.versions[package] for package in _TOOLCHAIN if package in image.versions},
        "python": {"python": platform.python_version(), **{package: version(package) for package in _PYTHON}},
    }


def _version(server: Server, where: str, image: Image) -> str:
    kind, _, name = where.partition(":")
    if kind == "deb" and name in image.versions:
        return image.versions[name]
    if kind == "install" and (version := _installed(server.build.commands, name)):
        return version
    if kind in _LOCKED:
        file, pattern = _LOCKED[kind]
        path = server.folder / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if match := re.search(pattern.format(name=re.escape(name)), text, re.MULTILINE):
            return match[1]
    raise WrkbookError(
        f"servers/{server.name}/server.toml: component {where!r} is not installed",
        f"use one of {', '.join(f'{kind}:NAME' for kind in ('deb', 'install', *_LOCKED))}",
    )


def _installed(commands: list[list[str]], name: str) -> str | None:
    """Return the version in the build command that installs `name`: ``… install … --version 1.2.3 … NAME``."""
    for words in commands:
        if words[-1] == name and "--version" in words:
            return words[words.index("--version") + 1]
    return None
