"""The stations of a run: what is called on which host, when, and what is known of clocks and link."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from runners.hosts.cluster import ClockOffset, Hosts
from runners.hosts.link import Link
from runners.hosts.station import CONTROLLER, Station, at_station

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass
class Stations:
    """The connected hosts, each with a station; that of this machine is :data:`CONTROLLER`.

    Attributes
    ----------
    hosts : Hosts
        The connected hosts.
    generators : list[str]
        The hosts that make the load.
    link : Link
        The link to the server's host before the run.
    clocks : dict[str, ClockOffset]
        Host → the offset of its clocks.
    """

    hosts: Hosts
    generators: list[str] = field(default_factory=list)
    link: Link = field(default_factory=lambda: Link(math.nan, math.nan))
    clocks: dict[str, ClockOffset] = field(default_factory=dict)

    def at(
        self,
        name: str,
        task: Callable[Concatenate[Station, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Run a method of a host's station and return its result; errors as of :meth:`Hosts.result`."""
        if name == CONTROLLER:
            return at_station(task, *args, **kwargs)
        return self.hosts.call(name, at_station, task, *args, **kwargs)  # type: ignore[arg-type]

    def run(
        self, name: str, task: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run a task on a host and return its result; errors as of :meth:`Hosts.result`."""
        if name == CONTROLLER:
            return task(*args, **kwargs)
        return self.hosts.call(name, task, *args, **kwargs)

    def there_s(self, host: str, moment_s: float) -> float:
        """Return a moment of this machine's monotonic clock as one of a host's."""
        return moment_s + (self.clocks[host].monotonic_s if host in self.clocks else 0.0)

    def here_s(self, host: str, moment_s: float) -> float:
        """Return a moment of a host's monotonic clock as one of this machine's."""
        return moment_s - self.there_s(host, 0.0)
