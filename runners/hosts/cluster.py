"""The hosts of a run as one thing: started together, called by name, ended together."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import ParamSpec, Self, TypeVar

import dask
from distributed import Client, Future, Scheduler
from distributed.deploy.spec import SpecCluster

from runners.core.errors import WrkbookError
from runners.hosts.by_hand import JOIN_WITHIN_S, handed_out
from runners.hosts.certificates import Authority
from runners.hosts.inventory import Inventory
from runners.hosts.ssh import SshWorker
from runners.hosts.worker import HOST, LEASE_S, SETTINGS

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_ROUND_TRIPS = 50
# How often it is seen whether a host is still there, while its task is waited for.
_LOOK_S = 2.0
# For so long the workers are told to end.
_END_S = 2.0
_AGAIN = "see that it runs and that SSH reaches it; the same --run-id goes on"


@dataclass(frozen=True)
class ClockOffset:
    """A host's clocks minus this machine's.

    Attributes
    ----------
    monotonic_s, real_s : float
        Of the monotonic clock, and of the time of day.
    uncertainty_s : float
        Half of the shortest round trip: the offsets are not known better.
    """

    monotonic_s: float
    real_s: float
    uncertainty_s: float


class Hosts:
    """The hosts of an inventory, each with a worker, while the context lasts.

    Parameters
    ----------
    inventory : Inventory
        The hosts.

    Raises
    ------
    WrkbookError
        When SSH does not reach a host, or no worker starts there.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self._gone = set[str]()

    def __enter__(self) -> Self:
        authority = Authority()
        own = authority.identity("controller").security()
        identities = {name: authority.identity(name) for name in self.inventory.named}
        workers = {
            name: {
                "cls": SshWorker,
                "options": {"host": host, "identity": identities[name], "ssh_config": self.inventory.ssh_config},
            }
            for name, host in self.inventory.named.items()
            if host.ssh
        }
        by_hand = {name: identity for name, identity in identities.items() if name not in workers}
        port = self.inventory.controller_port
        listening = {"host": str(self.inventory.controller), "protocol": "tls", "port": port, "dashboard": False}
        scheduler = {"cls": Scheduler, "options": {**listening, "security": own}}
        with ExitStack() as stack:
            stack.enter_context(dask.config.set(SETTINGS))
            try:
                cluster = SpecCluster(
                    workers, scheduler, security=own, name="wrkbook", silence_logs=logging.CRITICAL, asynchronous=False
                )
            except RuntimeError as error:  # SpecCluster's own, around that of its scheduler
                raise WrkbookError(
                    f"this machine cannot listen on {self.inventory.controller}: {error.__cause__ or error}",
                    "controller must be an address of this machine: ip addr",
                ) from error
            stack.enter_context(cluster)
            self._client = stack.enter_context(Client(cluster, set_as_default=False))
            with handed_out(cluster.scheduler_address, by_hand):
                self._wait_for(set(identities), JOIN_WITHIN_S if by_hand else LEASE_S)
            known = self._client.scheduler_info(n_workers=-1)["workers"]
            self._addresses = {found["name"]: address for address, found in known.items()}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(TimeoutError):  # a host that is gone does not hear it
            self._client.sync(self._end_workers, callback_timeout=_END_S)
        self._stack.close()

    async def _end_workers(self) -> None:
        ends = (self._client.rpc(address).end() for address in self._addresses.values())
        await asyncio.gather(*ends, return_exceptions=True)  # a worker that ends sends no response

    def _wait_for(self, names: set[str], within_s: float) -> None:
        try:
            self._client.wait_for_workers(len(names), timeout=within_s)
        except TimeoutError as error:
            missing = ", ".join(sorted(names - self.present))
            raise WrkbookError(f"no worker has joined from {missing} after {within_s:.0f} s", _AGAIN) from error
        if others := names ^ self.present:
            raise WrkbookError(
                f"a worker has joined under a wrong name: {', '.join(sorted(others))}",
                f"the names are {', '.join(sorted(names))}: ./wrkbook hosts join ADDRESS --role NAME",
            )

    def submit(
        self, name: str, task: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Start a task on a host; it runs there when those before it have ended, once, or never."""
        if name in self._gone:
            raise self._is_gone(name)
        started: Future[Result] = self._client.submit(task, *args, **kwargs, workers=[name], pure=False, retries=0)
        return started

    def submit_anywhere(
        self, task: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Start a task on whichever host is free: each takes one at a time."""
        started: Future[Result] = self._client.submit(task, *args, **kwargs, resources={HOST: 1}, pure=False, retries=0)
        return started

    def result(self, name: str, future: Future[Result]) -> Result:
        """Wait for a task of the host `name` and return its result.

        Raises
        ------
        WrkbookError
            That of the task; and when the host is gone.
        """
        try:
            while True:
                try:
                    return future.result(_LOOK_S)
                except TimeoutError:
                    # Either the task's own error, or the end of this look: then another follows, unless the host is gone.
                    if future.status == "error":
                        return future.result()
                    if name not in self.present:
                        raise
        except WrkbookError as error:
            raise WrkbookError(f"on the host {name}: {error.problem}", error.remedy) from error
        except Exception as error:
            if name in self.present:
                raise
            self._gone.add(name)
            raise self._is_gone(name) from error

    def _is_gone(self, name: str) -> WrkbookError:
        return WrkbookError(f"the host {name} is gone", _AGAIN)

    def call(
        self, name: str, task: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run a task on a host and return its result; errors as of :meth:`result`."""
        return self.result(name, self.submit(name, task, *args, **kwargs))

    @property
    def present(self) -> set[str]:
        """Return the names of the hosts whose workers are connected."""
        return {found["name"] for found in self._client.scheduler_info(n_workers=-1)["workers"].values()}

    def clock(self, name: str) -> ClockOffset:
        """Return the offset of a host's clocks, from the shortest of many round trips."""
        offset: ClockOffset = self._client.sync(self._clock, self._addresses[name])
        return offset

    async def _clock(self, address: str) -> ClockOffset:
        found = []
        for _ in range(_ROUND_TRIPS):
            start_s, real_s = time.monotonic(), time.time()
            monotonic_there_s, real_there_s = await self._client.rpc(address).clocks()
            half_s = (time.monotonic() - start_s) / 2
            found.append(ClockOffset(monotonic_there_s - start_s - half_s, real_there_s - real_s - half_s, half_s))
        return min(found, key=lambda offset: offset.uncertainty_s)
