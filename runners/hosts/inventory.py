"""The inventory of hosts in ``hosts.toml``: how each is reached, which roles it has, and which CPUs it gives."""

from __future__ import annotations

import re
import tomllib
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.machine.topology import parse_cpu_list

HostRole = Literal["server", "backend", "generator", "all"]
EXAMPLE = """\
controller = "192.0.2.1"       # address of this machine that all hosts reach

[[hosts]]
ssh = "bench@server.example"   # as in: ssh bench@server.example; ports and keys stand in ~/.ssh/config
address = "192.0.2.2"          # its address on the measured network
roles = ["server"]             # server, backend, generator; or all, for ./wrkbook hosts share
"""
_REMEDY = "docs/hosts.md shows an inventory"
# No leading hyphen: it must not be taken for an option.
_SSH = re.compile(r"(?!-)(\w[\w.-]*@)?\w[\w.:-]*")


def _reachable(text: str) -> str:
    if text and not _SSH.fullmatch(text):
        raise ValueError('not a name as ssh takes it, such as "bench@server.example"')
    return text


def _cpu_list(text: str) -> str:
    if text:
        parse_cpu_list(text)
    return text


class Host(BaseModel):
    """One host.

    Attributes
    ----------
    ssh : str
        Its name for SSH: ``user@host``, or a name of the SSH configuration; empty: its worker is started by hand.
    address : IPv4Address
        Its address on the measured network.
    roles : list[HostRole]
        What runs there.
    cpus : str
        The CPUs for the roles; empty: all.
    housekeeping : str
        The CPUs for wrkbook itself, which may be others than `cpus`; empty: the last core of `cpus`.
    project : str
        The folder of wrkbook on the host.
    command : list[str]
        The command that starts wrkbook in that folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ssh: Annotated[str, AfterValidator(_reachable)] = ""
    address: IPv4Address
    roles: list[HostRole] = Field(min_length=1)
    cpus: Annotated[str, AfterValidator(_cpu_list)] = ""
    housekeeping: Annotated[str, AfterValidator(_cpu_list)] = ""
    project: str = str(PROJECT)
    command: list[str] = Field(["./wrkbook"], min_length=1)

    @property
    def title(self) -> str:
        """Return its name for SSH, or its address."""
        return self.ssh or str(self.address)


class Inventory(BaseModel):
    """All hosts of a run.

    Attributes
    ----------
    controller : IPv4Address
        Address of the machine with the notebook, as the hosts reach it.
    controller_port : int
        Its port for the workers; 0: any free one.
    controller_cpus, controller_housekeeping : str
        As `cpus` and `housekeeping` of a host, where the load generator runs on the controller.
    ssh_config : str
        File with the SSH configuration, relative to the inventory; empty: that of the user.
    hosts : list[Host]
        The hosts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    controller: IPv4Address
    controller_port: Annotated[int, Field(ge=0, le=65535)] = 0
    controller_cpus: Annotated[str, AfterValidator(_cpu_list)] = ""
    controller_housekeeping: Annotated[str, AfterValidator(_cpu_list)] = ""
    ssh_config: str = ""
    hosts: list[Host] = Field(min_length=1)

    @model_validator(mode="after")
    def _roles_are_given_once(self) -> Inventory:
        for role in ("server", "backend"):
            given = [host.title for host in self.hosts if role in host.roles]
            if len(given) > 1:
                raise ValueError(
                    f"the role {role} is given to {len(given)} hosts ({', '.join(given)}): one can have it"
                )
        if self.is_fleet:
            if any(host.roles != ["all"] for host in self.hosts):
                raise ValueError("one host has the role all: then give it to each host, and no other role")
        elif not any("server" in host.roles for host in self.hosts):
            raise ValueError("no host has the role server")
        loading = [host for host in self.hosts if "generator" in host.roles]
        if len(loading) > 1 and (both := [host.title for host in loading if len(host.roles) > 1]):
            raise ValueError(
                f"of several hosts with the role generator, {both[0]} has another role, too: give it this one only"
            )
        for name in ("ssh", "address"):
            values = [str(value) for host in self.hosts if (value := getattr(host, name))]
            if twice := sorted({value for value in values if values.count(value) > 1}):
                raise ValueError(f"{name} = {twice[0]!r} stands twice: give a host with several roles one entry")
        return self

    @property
    def is_fleet(self) -> bool:
        """Return whether each host measures whole runs by itself."""
        return any("all" in host.roles for host in self.hosts)

    @property
    def named(self) -> dict[str, Host]:
        """Return name → host; the name is made of the roles: ``server``, ``generator-2``."""
        titles = ["+".join(host.roles) for host in self.hosts]
        found: dict[str, Host] = {}
        for place, (title, host) in enumerate(zip(titles, self.hosts, strict=True)):
            number = titles[: place + 1].count(title)
            found[f"{title}-{number}" if titles.count(title) > 1 else title] = host
        return found

    def names_of(self, role: HostRole) -> list[str]:
        """Return the names of the hosts with a role."""
        return [name for name, host in self.named.items() if role in host.roles]

    def name_of(self, role: HostRole) -> str | None:
        """Return the name of the first host with a role; None where no host has it."""
        return next(iter(self.names_of(role)), None)


def read_inventory(file: Path) -> Inventory:
    """Return the inventory in a file.

    Raises
    ------
    WrkbookError
        When it cannot be read or is wrong: each problem with its line.
    """
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise WrkbookError(f"{file} cannot be read: {error.strerror}", _REMEDY) from error
    except ValueError as error:
        raise WrkbookError(f"{file} is not TOML: {error}", _REMEDY) from error
    try:
        found = Inventory.model_validate(content)
    except ValidationError as error:
        problems = [
            f"{file}{_line(text, item['loc'])}: {'.'.join(map(str, item['loc']))}{': ' if item['loc'] else ''}"
            f"{item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise WrkbookError("; ".join(problems), _REMEDY) from error
    config = str(file.parent / found.ssh_config) if found.ssh_config else ""
    return found.model_copy(update={"ssh_config": config})


def _line(text: str, place: tuple[int | str, ...]) -> str:
    """Return ``:LINE`` of a field that pydantic found wrong, or of its table; empty for the whole file."""
    lines, at, key = text.splitlines(), 0, place[0] if place else ""
    if key == "hosts" and len(place) > 1:
        heads = [number for number, line in enumerate(lines) if re.match(r"\s*\[\[\s*hosts\s*\]\]", line)]
        at = heads[int(place[1])] if int(place[1]) < len(heads) else 0
        key = place[2] if len(place) > 2 else ""
    if not key:
        return f":{at + 1}" if place else ""
    for number, line in enumerate(lines[at:], at + 1):
        if number > at + 1 and re.match(r"\s*\[", line):
            break
        if re.match(rf"\s*{re.escape(str(key))}\s*=", line):
            return f":{number}"
    return f":{at + 1}"
