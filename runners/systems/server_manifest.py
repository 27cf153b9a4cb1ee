"""The manifest of a server, ``servers/*/server.toml``: how it is built and started, and what it serves."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.records import Hue, System
from runners.core.run_manifest import Shade
from runners.core.workloads import WORKLOADS, check_mixes

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


# Connections that a server keeps to its backend for each of its CPUs, and in all: with more than 24 CPUs fewer for each, so that the
# systems of a block fit into the backend's limit (max_connections in servers/postgresql/postgresql.conf).
POOL_PER_CPU, MOST_POOL = 10, 240


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _known(name: str) -> str:
    if name not in WORKLOADS:
        raise ValueError(f"there is no workload {name!r}; {did_you_mean(name, list(WORKLOADS))}")
    return name


# Shown in terminals and reports: printable, and not empty.
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=80)]


class Service(_Strict):
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
    backend: str | None = Field(default=None, pattern=_NAME.pattern)
    default: bool = True


class Build(_Strict):
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
    env: dict[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")], str] = Field(default_factory=dict)

    def environment(self, level: str) -> dict[str, str]:
        """Return the variables for a CPU of this level, without those that are empty there."""
        filled = {name: value.replace("{goamd64}", level) for name, value in self.env.items()}
        return {name: value for name, value in filled.items() if value}

    def stated(self, level: str) -> str:
        """Return the flags and the variables for a CPU of this level, as the report shows them."""
        variables = [f"{name} = {value}" for name, value in self.environment(level).items()]
        return "; ".join([*([self.flags] if self.flags else []), *variables])


class Start(_Strict):
    """The start of a server inside the image.

    ``{port}`` and ``{threads}`` are filled in, ``{backend_port}`` (0: no backend in this experiment) and ``{pool}``, how many
    connections to keep to it.

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


class Server(_Strict):
    """A server's manifest.

    Attributes
    ----------
    components : dict[str, str]
        Shown name → where its version is read: ``deb:PACKAGE``, ``go:MODULE``, ``cargo:CRATE``, ``npm:PACKAGE``, ``maven:ARTIFACT``,
        ``pypi:PACKAGE``, or ``install:NAME`` for what a build command installs in a ``--version``.
    hue : Hue | None
        Of its framework in all charts; without one it follows from the name.
    settings : str | None
        A file of its folder with lines ``name = value``, which the reports state.
    start : Start | None
        None for a load generator, which is built like a server.
    """

    name: str
    folder: Path
    title: Line
    language: Line
    role: Literal["origin", "proxy", "reference", "backend", "generator"]
    hue: Hue | None = None
    homepage: str = ""
    packages: list[str] = Field(default_factory=list)
    components: dict[str, str] = Field(default_factory=dict)
    build: Build = Build()
    start: Start | None = None
    settings: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
    serves: list[Service] = Field(default_factory=list)

    @field_validator("packages")
    @classmethod
    def _are_debian_names(cls, packages: list[str]) -> list[str]:
        for package in packages:
            if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", package):
                raise ValueError(f"not the name of a Debian package: {package!r}")
        return packages

    @model_validator(mode="after")
    def _is_of_use(self) -> Self:
        if (self.start is None) != (self.role == "generator"):
            raise ValueError("start: every server needs one, and a load generator has none")
        if bool(self.serves) == (self.role == "generator") and self.role != "backend":
            raise ValueError("serves: every server needs at least one workload, and a load generator has none")
        return self

    @model_validator(mode="after")
    def _serves_its_mixes(self) -> Self:
        check_mixes([(each.workload, each.path, each.backend) for each in self.serves])
        return self

    @property
    def launch(self) -> Start:
        """Return how it is started.

        Raises
        ------
        WrkbookError
            When it is a load generator, which nobody starts but for a window.
        """
        if self.start is None:
            told = f"{self.name} is a load generator and serves nothing"
            raise WrkbookError(told, "./wrkbook list shows the systems")
        return self.start

    @property
    def codecs(self) -> list[str]:
        """Return the codecs of all workloads, in the manifest's order."""
        return list(dict.fromkeys(service.codec for service in self.serves if service.codec))

    def service(self, workload: str, codec: str | None) -> Service | None:
        """Return the service for a workload with this codec, else the one that has no codec; None when there is neither."""
        serving = [service for service in self.serves if service.workload == workload]
        for wanted in (codec, None):
            for service in serving:
                if service.codec == wanted:
                    return service
        return None

    def systems(self, workload: str, *, default_only: bool = False) -> list[System]:
        """Return the systems (server and codec) that this server enters into a comparison on `workload`."""
        serving = [service for service in self.serves if service.workload == workload]
        return list(
            dict.fromkeys(
                System(self.name, service.codec) for service in serving if service.default or not default_only
            )
        )

    @property
    def every_system(self) -> list[System]:
        """Return the systems that this server enters into any comparison."""
        return list(dict.fromkeys(System(self.name, service.codec) for service in self.serves))

    def shade(self, system: System) -> Shade | None:
        """Return the colour of one of its systems; None where the manifest names no hue."""
        every = self.every_system
        return Shade(hue=self.hue, place=every.index(system), of=len(every)) if self.hue else None


def check_name(name: str) -> None:
    """Refuse a name that no server's folder can have."""
    if not _NAME.fullmatch(name):
        raise WrkbookError(
            f"{name!r} is not a name for a server",
            "use at most 31 lower-case letters, digits and hyphens for the folder's name",
        )


def load_server(folder: Path) -> Server:
    """Read and check one manifest."""
    path = folder / "server.toml"
    check_name(folder.name)
    try:
        return Server(name=folder.name, folder=folder, **tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
        raise WrkbookError(f"{path}: {error}") from error
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise WrkbookError(f"{path}: {'; '.join(lines)}", "CONTRIBUTING.md shows a complete server.toml") from error


def pool_size(cpus: Sequence[int]) -> int:
    """Return the connections that a server on `cpus` keeps to its backend, in all."""
    return pool_per_cpu(cpus) * len(cpus)


def pool_per_cpu(cpus: Sequence[int]) -> int:
    """Return the connections that it keeps for each of its CPUs."""
    return max(1, min(POOL_PER_CPU, MOST_POOL // len(cpus)))
