"""The tables of ``server.toml``: a service, build, start, and tuned builds, ``[variants.NAME]``: the same source with other settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from runners.core.errors import did_you_mean
from runners.core.workloads import WORKLOADS

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
PROFILE = "/profile"
"""Folder in the sandbox of a profile: writable while it is recorded, read-only while it guides a build."""


class Strict(BaseModel):
    """A part of a manifest: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Variables = dict[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")], str]


def _known(name: str) -> str:
    if name not in WORKLOADS:
        raise ValueError(f"there is no workload {name!r}; {did_you_mean(name, list(WORKLOADS))}")
    return name


# Shown in terminals and reports: printable, and not empty.
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=80)]


class ServedWorkload(Strict):
    """One contract workload that a server serves, under which path, and the server that it needs behind it.

    Attributes
    ----------
    codec : str | None
        The library that does the work of this row, where a server has more than one way; the row is ``server+codec``.
    default : bool
        Whether the row is measured when a run names no systems; if not, it is by name or with ``systems = all``.
    """

    workload: Annotated[str, AfterValidator(_known)]
    path: str = Field(pattern=r"^/[A-Za-z0-9_\-/{}.]*$")
    codec: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9/._-]*$", max_length=40)
    backend: str | None = Field(default=None, pattern=NAME.pattern)
    default: bool = True


class Build(Strict):
    """The build of a server inside the image: the folder is at /src (read-only), the result goes to /build.

    Attributes
    ----------
    flags : str
        The options that a reader of the report should know.
    env : dict[str, str]
        Environment variables of the commands; ``{goamd64}`` is the level of the CPU, v1 to v4. The report shows them with the flags.
    """

    commands: list[list[str]] = Field(default_factory=list)
    flags: str = ""
    env: Variables = Field(default_factory=dict)

    def environment(self, level: str) -> dict[str, str]:
        """Return the variables for a CPU of this level, without those that are empty there."""
        filled = {name: value.replace("{goamd64}", level) for name, value in self.env.items()}
        return {name: value for name, value in filled.items() if value}

    def stated(self, level: str, more: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the flags and the variables for a CPU of this level, and some more, as the report shows them."""
        variables = [f"{name} = {value}" for name, value in (self.environment(level) | dict(more)).items()]
        return "; ".join([*([self.flags] if self.flags else []), *variables])


class Start(Strict):
    """The start of a server inside the image.

    ``{port}`` and ``{threads}`` are filled in, ``{backend_port}`` (0: no backend in this experiment) and ``{pool}``, how many
    connections to keep to it; and ``{tls_port}``, on which it listens with TLS. ``{address}`` and ``{backend_address}``: see
    :class:`runners.systems.addresses.Addresses`; the environment has them as ``LISTEN_ADDRESS`` and ``BACKEND_ADDRESS``.

    Attributes
    ----------
    user : str | None
        The account of the image that it runs as, where it must not be root.
    scratch : list[str]
        Empty folders in memory, for this server alone; removed when it ends.
    stop_signal : Literal["TERM", "INT", "QUIT"]
        Signal that tells its first process to end; that process ends its others.
    counters : list[str]
        A command that prints the work done since the start, kind → {"calls": …, "rows": …}; with its first success the server is ready.
    """

    command: list[str] = Field(min_length=1)
    env: dict[str, str] = Field(default_factory=dict)
    user: str | None = Field(default=None, pattern=r"^[a-z_][a-z0-9_-]{0,31}$")
    scratch: list[Annotated[str, Field(pattern=r"^/(data|run|tmp)(/[a-z0-9-]+)*$")]] = Field(default_factory=list)
    stop_signal: Literal["TERM", "INT", "QUIT"] = "TERM"
    counters: list[str] = Field(default_factory=list)

    @field_validator("command")
    @classmethod
    def _has_a_port(cls, command: list[str]) -> list[str]:
        if not any("{port}" in word for word in command):
            raise ValueError("the command must pass {port} on")
        return command

    @property
    def uses_tls(self) -> bool:
        """Return whether it listens on a second port, with TLS."""
        return any("{tls_port}" in word for word in [*self.command, *self.env.values()])


class Recording(Strict):
    """A run of the server under load that records the profile of a variant, into files below /profile.

    Attributes
    ----------
    build_env : dict[str, str]
        Variables of the build that records, beside those of the plain build.
    arguments : list[str]
        Arguments of the start command that make the server record.
    """

    build_env: Variables = Field(default_factory=dict)
    arguments: list[str] = Field(default_factory=list)


class Variant(Strict):
    """A tuned build of a server.

    Attributes
    ----------
    flags : str
        The options that a reader of the report should know, after those of the plain build.
    packages : list[str]
        Debian packages that it needs besides.
    components : dict[str, str]
        Components that it has besides.
    build_env, start_env : dict[str, str]
        Variables of the build commands and of the server, in the place of those of the plain build.
    records : Recording | None
        How the profile that guides its build is recorded; None without one.
    """

    flags: str = ""
    packages: list[str] = Field(default_factory=list)
    components: dict[str, str] = Field(default_factory=dict)
    build_env: Variables = Field(default_factory=dict)
    start_env: Variables = Field(default_factory=dict)
    records: Recording | None = None
