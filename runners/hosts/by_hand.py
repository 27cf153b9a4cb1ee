"""Workers that are started by hand, on hosts that the controller does not reach over SSH: their keys, and what to type there."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from runners.core.status_line import note
from runners.hosts.certificates import Identity
from runners.hosts.worker import KEY_FILES

JOIN_WITHIN_S = 900.0
"""For so long the controller waits for workers that are started by hand."""


@contextmanager
def handed_out(scheduler: str, identities: Mapping[str, Identity]) -> Iterator[None]:
    """Write the keys of these hosts into a private folder while the context lasts, and say what to type on each."""
    if not identities:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="wrkbook-keys-") as made:
        for name, identity in identities.items():
            folder = Path(made, name)
            folder.mkdir(mode=0o700)
            for field, file in KEY_FILES.items():
                (folder / file).touch(mode=0o600)
                (folder / file).write_text(getattr(identity, field), encoding="ascii")
            join = ["./wrkbook", "hosts", "join", scheduler, "--role", name, "--keys", name]
            note(f"Waiting for the host {name}: copy {folder} there (scp -rp), then type there: {shlex.join(join)}")
        yield
