"""Servers of another git revision: exported into the cache, and built beside those of the working tree."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import SERVERS, cache_folder, exclusive
from runners.systems.image import remove_tree
from runners.systems.server_manifest import Server, load_server

REPOSITORY = SERVERS.parent
"""The repository whose servers are measured."""
_HOLDER = SERVERS.name
_SHARED = "shared"
_NAME_LENGTH = 12


def commit_of(revision: str) -> str:
    """Return the commit that a revision names.

    Raises
    ------
    WrkbookError
        When the project is no git repository, or has no such revision.
    """
    if _git("rev-parse", "--git-dir", check=False) is None:
        raise WrkbookError(
            f"{REPOSITORY} is no git repository", "clone the project with git: revisions are compared by it"
        )
    # The marker ends the options: a revision never reads as one.
    found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", check=False)
    if found is None:
        raise WrkbookError(f"there is no revision {revision!r}", "git log --oneline shows those that there are")
    return found.decode().strip()


def is_dirty() -> bool:
    """Return whether files of ``servers/`` differ from the last commit."""
    return bool(_git("status", "--porcelain", "--", _HOLDER))


def changed_servers(commit: str) -> set[str]:
    """Return the folders of ``servers/`` in which a file differs between a commit and the working tree."""
    changed = _git("diff", "--name-only", "-z", commit, "--", _HOLDER) or b""
    new = _git("ls-files", "--others", "--exclude-standard", "-z", "--", _HOLDER) or b""
    paths = [Path(path.decode()) for path in (changed + new).split(b"\0") if path]
    return {path.parts[1] for path in paths if len(path.parts) > 2}


@contextmanager
def export(commit: str) -> Iterator[str]:
    """Hold ``servers/`` of a commit in the cache while its builds are used; gives the name that these have in labels."""
    name = commit[:_NAME_LENGTH]
    with exclusive("revisions", "another wrkbook compares revisions"):
        for left in _exports().iterdir():  # by a wrkbook that was killed
            remove_tree(left)
        folder = _exports() / name
        try:
            folder.mkdir()
            # Not tarfile: until Python 3.11.4 it extracts without a filter only.
            extract = ["tar", "--extract", "--directory", str(folder)]
            outcome = subprocess.run(extract, input=_git("archive", commit, "--", _HOLDER), capture_output=True)
            if outcome.returncode:
                said = outcome.stderr.decode(errors="replace").strip()
                raise WrkbookError(f"{_HOLDER} of {name} cannot be exported: {said}", "check the disk: df -h")
            yield name
        finally:
            remove_tree(folder)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Hold a clean worktree of a commit while the context lasts; gives its folder of servers."""
    with tempfile.TemporaryDirectory(prefix="wrkbook-worktree-") as temporary:
        folder = Path(temporary, "worktree")
        _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
        try:
            yield folder / _HOLDER
        finally:
            _git("worktree", "remove", "--force", str(folder))


def exported(server: Server) -> Iterator[Server]:
    """Return the builds of a server at the exported revision; none where it was not there, or cannot be read today."""
    for export_folder in sorted(_exports().glob("*/")):
        folder = export_folder / _HOLDER / server.name
        if not (folder / "server.toml").is_file() or server.start is None:
            continue
        try:
            found = load_server(folder)
        except WrkbookError:
            continue
        yield found.model_copy(update={"variant": export_folder.name, "variants": {}, "earlier": True})


def _exports() -> Path:
    folder = cache_folder() / "revisions"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _git(*words: str, check: bool = True) -> bytes | None:
    """Return what git prints; None where it fails and need not succeed."""
    try:
        outcome = subprocess.run(["git", "-C", str(REPOSITORY), *words], capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise WrkbookError("git is not installed", "install it: apt install git") from None
    if outcome.returncode and check:
        raise WrkbookError(f"git {words[0]} failed: {outcome.stderr.decode(errors='replace').strip()[-300:]}")
    return None if outcome.returncode else outcome.stdout
