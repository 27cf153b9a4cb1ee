"""The catalogue of ``servers/*/server.toml``: which systems there are, and what each serves."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.project import SERVERS
from runners.core.records import System
from runners.systems.revisions import exported
from runners.systems.server_manifest import Server, load_server


class Catalogue:
    """All servers that are there, by name.

    Raises
    ------
    WrkbookError
        When a manifest is not valid; the message names the file and the field.
    """

    def __init__(self, folder: Path = SERVERS) -> None:
        self.servers = {path.parent.name: load_server(path.parent) for path in sorted(folder.glob("*/server.toml"))}

    @cached_property
    def builds(self) -> dict[str, Server]:
        """Return every build by its label: each server, after it its tuned builds, and its build of another revision."""
        every = ([server, *map(server.tuned, server.variants), *exported(server)] for server in self.servers.values())
        return {build.label: build for builds in every for build in builds}

    @property
    def variants(self) -> dict[str, list[str]]:
        """Return variant → the servers that have it."""
        found: dict[str, list[str]] = {}
        for build in self.builds.values():
            if build.variant:
                found.setdefault(build.variant, []).append(build.name)
        return dict(sorted(found.items()))

    def server(self, label: str) -> Server:
        """Return the server called `label`, or one of its tuned builds (``gin+pgo``)."""
        if label not in self.builds:
            raise WrkbookError(f"there is no server named {label!r}", did_you_mean(label, list(self.builds)))
        return self.builds[label]

    def systems(self, workload: str, *, default_only: bool = False, variants: Collection[str] = ()) -> list[System]:
        """Return all systems that serve `workload`, or those that do so by default; of tuned builds those of `variants`."""
        builds = (build for build in self.builds.values() if build.variant is None or build.variant in variants)
        return [system for build in builds for system in build.systems(workload, default_only=default_only)]

    def system(self, name: str, workloads: list[str]) -> System:
        """Return the system called `name` (``drogon+simdjson``, ``gin+pgo``), which must serve at least one of `workloads`."""
        every = (system for workload in workloads for system in self.systems(workload, variants=self.variants))
        known = {system.name: system for system in every}
        if name not in known:
            raise WrkbookError(
                f"no system named {name!r} serves {' or '.join(dict.fromkeys(workloads))}",
                did_you_mean(name, list(known)),
            )
        return known[name]

    def check_variants(self, names: Iterable[str], servers: Collection[str] = ()) -> None:
        """Refuse a variant that no server has, or none of `servers` where they are named.

        Raises
        ------
        WrkbookError
            Naming the variants that there are, and who has them.
        """
        there = "; ".join(f"{variant} ({', '.join(having)})" for variant, having in self.variants.items()) or "none"
        for name in names:
            having = self.variants.get(name)
            if having is None:
                raise WrkbookError(f"parameter variants: no server has the variant {name!r}", f"there are: {there}")
            if servers and not set(having) & set(servers):
                raise WrkbookError(f"parameter variants: no system of this run has {name}", f"there are: {there}")
