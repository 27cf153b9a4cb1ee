"""Versions of everything that is measured, read from where they are installed or locked."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from typing import Any

from runners.errors import WrkbookError
from runners.systems.catalogue import Server
from runners.systems.image import SUITE, Image

_TOOLCHAIN = ("wrk", "g++", "golang-go", "libc6")
_PYTHON = ("numpy", "pandas", "scipy", "matplotlib", "seaborn", "papermill", "jupyterlab")


def component_versions(servers: list[Server], image: Image) -> dict[str, Any]:
    """Version of each component of the servers, of the toolchain in the image, and of the Python side.

    Raises
    ------
    WrkbookError
        When a manifest names a component that is not there.
    """
    components = {
        f"{name} ({server.name})": _version(server, where, image)
        for server in servers
        for name, where in server.components.items()
    }
    return {
        "components": components,
        "flags": {server.name: server.build.flags for server in servers if server.build.flags},
        "image": {"suite": f"Debian {SUITE}", "key": image.key},
        "toolchain": {package: image.versions[package] for package in _TOOLCHAIN if package in image.versions},
        "python": {"python": platform.python_version(), **{package: version(package) for package in _PYTHON}},
    }


def _version(server: Server, where: str, image: Image) -> str:
    kind, _, name = where.partition(":")
    if kind == "deb" and name in image.versions:
        return image.versions[name]
    if kind == "go":
        match = re.search(
            rf"^\s*(?:require\s+)?{re.escape(name)}\s+(\S+)", (server.folder / "go.mod").read_text(), re.MULTILINE
        )
        if match:
            return match[1]
    raise WrkbookError(
        f"servers/{server.name}/server.toml: component {where!r} is not installed", "use deb:PACKAGE or go:MODULE"
    )
