"""The beginning of a new server: a folder of ``servers/`` that builds, starts and keeps the contract."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import SERVERS
from runners.core.records import CONTROL
from runners.systems.catalogue import Catalogue
from runners.systems.server_manifest import Server, check_name, load_server

SKELETON = Path(__file__).parent / "new_server"
_TITLE = re.compile(r"^title\s*=.*$", re.MULTILINE)
# Files that building and testing leave beside the sources.
_LEFT_OVER = shutil.ignore_patterns("node_modules", "build", "target", "__pycache__", ".*cache")


def new_server(name: str, like: str = "", folder: Path = SERVERS) -> str:
    """Make ``servers/NAME``; returns what to do next.

    Parameters
    ----------
    name : str
        Name of the folder and of the system.
    like : str
        A server whose folder is copied; empty: a small one in Go, which serves ``ping``.
    folder : Path
        Parent of all servers' folders.

    Raises
    ------
    WrkbookError
        When the name is taken or no name for a server, or there is no server called `like`.
    """
    check_name(name)
    target = folder / name
    if name == CONTROL or target.exists():
        raise WrkbookError(f"the name {name!r} is taken", "choose another; ./wrkbook list shows the systems")
    source = _copied(Catalogue(folder).server(like)) if like else SKELETON
    shutil.copytree(source, target, ignore=_LEFT_OVER)
    manifest = target / "server.toml"
    manifest.write_text(
        _TITLE.sub(f'title = "{name}"', manifest.read_text(encoding="utf-8"), count=1), encoding="utf-8"
    )
    serves = ", ".join(dict.fromkeys(service.path for service in load_server(target).serves))
    return _NEXT.format(name=name, serves=serves)


def _copied(server: Server) -> Path:
    if server.role in ("generator", "backend"):
        raise WrkbookError(
            f"{server.name} is a {server.role}: it needs more than a folder", "CONTRIBUTING.md says what"
        )
    return server.folder


_NEXT = """servers/{name} is there: the next wrkbook builds it, and nothing else needs to know it.

  servers/{name}/server.toml       title, packages, commands, workloads; CONTRIBUTING.md explains every field
  servers/contract/README.md       what each workload must respond
  ./wrkbook serve {name}           to try it with curl: {serves}
  ./wrkbook verify {name}          until it keeps the contract
  ./wrkbook run 01 --profile quick -p systems {name},gin       ping, beside another one"""
