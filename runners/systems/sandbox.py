"""The command line of bubblewrap: one program inside the image, seeing nothing of the host but the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runners.systems.image import NETWORK_FILES, Image

# Settings of the user's network that a build needs to reach its package registry through a proxy or mirror.
_HANDED_ON = (
    *(
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ),
    *("GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "NODE_EXTRA_CA_CERTS"),
)


@dataclass(frozen=True)
class Sandbox:
    """How a program is entered into the image.

    Attributes
    ----------
    read_only, writable : folder inside → folder of the host
    env : environment variables; nothing else is inherited
    builds : whether the program may fetch packages (certificates, name resolution and proxies of the host)
    user : the account of the image that the program sees itself as; None: whoever runs wrkbook
    scratch : empty folders inside, in memory, for this program alone
    """

    image: Image
    read_only: dict[str, Path] = field(default_factory=dict)
    writable: dict[str, Path] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    builds: bool = False
    user: str | None = None
    scratch: Sequence[str] = ()

    def command(self, argv: Sequence[str], cpus: Sequence[int] = ()) -> list[str]:
        """The argument list that runs `argv` inside, on `cpus` only where they are given.

        The sandbox ends with its parent, and everything in it with the sandbox: it has a process namespace of its own.
        """
        words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
        words += ["--clearenv", "--ro-bind", str(self.image.root), "/", "--proc", "/proc", "--dev", "/dev"]
        words += ["--tmpfs", "/tmp", "--tmpfs", "/run"]  # noqa: S108 - inside the sandbox
        if self.user is not None:
            # In a user namespace: outside, it stays whoever runs wrkbook, so this needs no right to change accounts.
            uid, gid = self.image.account(self.user)
            words += ["--unshare-user", "--uid", str(uid), "--gid", str(gid)]
        for inside in self.scratch:
            words += ["--perms", "0700", "--tmpfs", inside]
        if self.builds:
            for name in ("/etc/ssl/certs", *(f"/{file}" for file in NETWORK_FILES)):
                if Path(name).exists():
                    words += ["--ro-bind", str(Path(name).resolve()), name]
        for inside, outside in self.read_only.items():
            words += ["--ro-bind", str(outside), inside]
        for inside, outside in self.writable.items():
            words += ["--bind", str(outside), inside]
        handed_on = {name: os.environ[name] for name in _HANDED_ON if self.builds and name in os.environ}
        for name, value in {"PATH": "/usr/bin:/usr/sbin", "LANG": "C.UTF-8", **handed_on, **self.env}.items():
            words += ["--setenv", name, value]
        words += ["--chdir", self.workdir, "--"]
        if cpus:
            words += ["taskset", "--cpu-list", ",".join(map(str, cpus))]
        return [*words, *argv]
