"""The manifest of a server, ``servers/*/server.toml``: how it is built and started, and what it serves."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from runners.core.errors import WrkbookError
from runners.core.records import Hue, System, label_of
from runners.core.run_manifest import Shade
from runners.core.workloads import WORKLOADS, check_mixes
from runners.systems.manifest_tables import NAME, Build, Line, ServedWorkload, Start, Strict, Variant

# Connections that a server keeps to its backend for each of its CPUs, and in all: with more than 24 CPUs fewer for each, so that the
# systems of a block fit into the backend's limit (max_connections in servers/postgresql/postgresql.conf).
POOL_PER_CPU, MOST_POOL = 10, 240


class Server(Strict):
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
    variants : dict[str, Variant]
        Its tuned builds by name.
    variant : str | None
        The tuned build that this is, see :meth:`tuned`; None: the plain one.
    recording : Server | None
        The server whose run records the profile that guides the build; None where nothing guides it.
    earlier : bool
        Whether this is a build of an earlier git revision, which `variant` names.
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
    serves: list[ServedWorkload] = Field(default_factory=list)
    variants: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,15}$")], Variant] = Field(default_factory=dict)
    variant: str | None = None
    recording: Server | None = None
    earlier: bool = False

    @model_validator(mode="before")
    @classmethod
    def _is_plain(cls, manifest: dict[str, object]) -> dict[str, object]:
        if {"variant", "recording", "earlier"} & set(manifest):
            raise ValueError("declare a tuned build as a table [variants.NAME]")
        return manifest

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
        if self.start and any(WORKLOADS[each.workload].tls for each in self.serves) and not self.start.uses_tls:
            raise ValueError("serves: with TLS, the start command must pass {tls_port} on")
        if both := sorted(set(self.variants) & set(self.codecs)):
            raise ValueError(f"variants: {both[0]} is the name of a codec")
        if self.variants and self.start is None:
            raise ValueError("variants: a load generator has none")
        return self

    @model_validator(mode="after")
    def _serves_its_mixes(self) -> Self:
        check_mixes([(each.workload, each.path, each.backend) for each in self.serves])
        return self

    @property
    def label(self) -> str:
        """Return the label of the build: ``gin``, ``gin+pgo``."""
        return label_of(self.name, variant=self.variant)

    def tuned(self, name: str) -> Server:
        """Return the manifest of a tuned build: the same server with what the variant changes."""
        variant, start = self.variants[name], self.launch
        recording = None
        if records := variant.records:
            command = [*start.command, *records.arguments]
            recording = self._changed(records.build_env, start=start.model_copy(update={"command": command}))
        return self._changed(
            variant.build_env,
            variant=name,
            recording=recording,
            packages=[*self.packages, *variant.packages],
            components=self.components | variant.components,
            start=start.model_copy(update={"env": start.env | variant.start_env}),
            flags=variant.flags,
        )

    def _changed(self, build_env: Mapping[str, str], flags: str = "", **changed: object) -> Server:
        flags = "; ".join(filter(None, [self.build.flags, flags]))
        build = self.build.model_copy(update={"env": self.build.env | dict(build_env), "flags": flags})
        return self.model_copy(update={"build": build, **changed})

    def stated(self, level: str) -> str:
        """Return the flags, the variables of the build on a CPU of this level, and those of the start that variants change."""
        changed = {name for variant in self.variants.values() for name in variant.start_env}
        started = self.start.env.items() if self.start else ()
        return self.build.stated(level, {name: value for name, value in started if name in changed})

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

    def service(self, workload: str, codec: str | None) -> ServedWorkload | None:
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
        return list(dict.fromkeys(self._system(each) for each in serving if each.default or not default_only))

    @property
    def every_system(self) -> list[System]:
        """Return the systems that this server enters into any comparison."""
        return list(dict.fromkeys(map(self._system, self.serves)))

    def _system(self, service: ServedWorkload) -> System:
        return System(self.name, service.codec, self.variant, earlier=self.earlier)

    def shade(self, system: System) -> Shade | None:
        """Return the colour of one of its systems; None where the manifest names no hue."""
        every = self.every_system
        # A tuned build stands behind the plain one, and behind the variants before it.
        builds = list(
            dict.fromkeys([None, *self.variants, self.variant])
        )  # that of another revision is none of the variants
        before, of = (len(every) * count for count in (builds.index(self.variant), len(builds)))
        return Shade(hue=self.hue, place=before + every.index(system), of=of) if self.hue else None


def check_name(name: str) -> None:
    """Refuse a name that no server's folder can have."""
    if not NAME.fullmatch(name):
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
