"""A worker that is started on its host over SSH, and the keys that it needs for that."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from contextlib import suppress
from pathlib import PurePosixPath

import asyncssh
from distributed.deploy.spec import ProcessInterface

from runners.core.errors import WrkbookError
from runners.hosts.certificates import Identity
from runners.hosts.inventory import Host
from runners.hosts.worker import JOINED, KEY_FILES

_CONNECT_S = 15.0
# The first start makes the Python environment of wrkbook there.
_START_S = 900.0
_END_S = 10.0
_SAID_LINES = 8


class SshWorker(ProcessInterface):
    """A worker on a host, as Dask's ``SpecCluster`` starts and ends it.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler.
    name : str
        The name of the host in the inventory, and so of its worker.
    host : Host
        The host.
    identity : Identity
        The keys of its worker.
    ssh_config : str
        File with the SSH configuration; empty: that of the user.
    """

    def __init__(self, scheduler: str, name: str, host: Host, identity: Identity, ssh_config: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._scheduler, self._name, self._host = scheduler, name, host
        self._identity, self._ssh_config = identity, ssh_config
        self._connection: asyncssh.SSHClientConnection | None = None
        self._process: asyncssh.SSHClientProcess[str] | None = None
        self._keys = PurePosixPath("/tmp", f"wrkbook-{secrets.token_hex(16)}")  # noqa: S108 - made with mkdir, mode 0700

    async def start(self) -> None:
        """Connect, hand over the keys, start the worker, and wait until it has joined.

        Raises
        ------
        WrkbookError
            When SSH refuses, or the worker does not start: with what it printed.
        """
        connection = await self._connected()
        await self._hand_over_keys(connection)
        join = ["hosts", "join", self._scheduler, "--name", self._name, "--keys", str(self._keys)]
        words = shlex.join([*self._host.command, *join, "--address", str(self._host.address)])
        # SSH hands one text to the shell of the host's user (RFC 4254, 6.5): every word is quoted.
        self._process = await connection.create_process(f"cd {shlex.quote(self._host.project)} && exec {words}")
        try:
            printed = await asyncio.wait_for(self._until_joined(self._process), _START_S)
        except TimeoutError:
            printed = f"it has not joined after {_START_S:.0f} s"
        if printed is not None:
            await self.close()
            raise WrkbookError(
                f"wrkbook did not start on the host {self._name} ({self._host.ssh}): {printed or 'it printed nothing'}",
                f"try it there: cd {self._host.project} && {shlex.join([*self._host.command, 'doctor'])}",
            )
        await super().start()  # type: ignore[no-untyped-call]

    async def _connected(self) -> asyncssh.SSHClientConnection:
        user, _, name = self._host.ssh.rpartition("@")
        options: dict[str, object] = {"username": user} if user else {}
        if self._ssh_config:
            options["config"] = [self._ssh_config]
        try:
            self._connection = await asyncssh.connect(name, connect_timeout=_CONNECT_S, keepalive_interval=5, **options)
        except (OSError, asyncssh.Error, TimeoutError) as error:
            raise WrkbookError(
                f"SSH does not reach the host {self._name} ({self._host.ssh}): {error or type(error).__name__}",
                f"until this works without a question: ssh {self._host.ssh} true",
            ) from error
        return self._connection

    async def _hand_over_keys(self, connection: asyncssh.SSHClientConnection) -> None:
        async with connection.start_sftp_client() as sftp:
            await sftp.mkdir(str(self._keys), asyncssh.SFTPAttrs(permissions=0o700))
            for field, name in KEY_FILES.items():
                async with sftp.open(str(self._keys / name), "w", asyncssh.SFTPAttrs(permissions=0o600)) as file:
                    await file.write(getattr(self._identity, field))

    async def _until_joined(self, process: asyncssh.SSHClientProcess[str]) -> str | None:
        """Wait until the worker has joined; return what it printed where it ended instead."""
        async for line in process.stdout:
            if line.strip() == JOINED:
                return None
        return "\n".join((await process.stderr.read()).strip().splitlines()[-_SAID_LINES:])

    async def close(self) -> None:
        """End the worker, and with it all that it started; remove its keys where it did not."""
        if self._process is not None:
            with suppress(OSError, asyncssh.Error, TimeoutError):
                self._process.terminate()
                await asyncio.wait_for(self._process.wait_closed(), _END_S)
        if self._connection is not None:
            with suppress(OSError, asyncssh.Error, TimeoutError):
                await asyncio.wait_for(self._without_keys(self._connection), _END_S)
            self._connection.close()
        await super().close()  # type: ignore[no-untyped-call]

    async def _without_keys(self, connection: asyncssh.SSHClientConnection) -> None:
        async with connection.start_sftp_client() as sftp:
            if await sftp.exists(str(self._keys)):
                await sftp.rmtree(str(self._keys))
