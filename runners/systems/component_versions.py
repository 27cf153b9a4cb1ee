"""Read the versions of what a run is made of: the components of each server, the toolchain, and the Python side."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version

from runners.core.errors import WrkbookError
from runners.core.run_manifest import Facts
from runners.systems.cpu_level import own_level
from runners.systems.debian_root import SUITE
from runners.systems.image import Image
from runners.systems.server_manifest import Server

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


def component_versions(servers: list[Server], image: Image) -> Facts:
    """Return the versions: by server those of its components; of the toolchain in the image, and of the Python side.

    Raises
    ------
    WrkbookError
        When a manifest names a component that is not there.
    """
    level = own_level()
    # The image may hold more, for servers that take no part.
    needed = {"libc6", *(package for server in servers for package in server.packages)}
    components = {
        server.label: {name: _version(server, where, image) for name, where in server.components.items()}
        for server in servers
        if server.components
    }
    return {
        "components": components,
        "flags": {server.label: flags for server in servers if (flags := server.stated(level))},
        "image": {"suite": f"Debian {SUITE}", "key": image.key},
        "toolchain": {name: image.versions[name] for name in _TOOLCHAIN if name in needed & image.versions.keys()},
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
