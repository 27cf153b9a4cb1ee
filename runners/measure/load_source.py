"""Where load comes from and where it goes: what all windows of a run have in common, and what those of one trial have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runners.generators import Generator
from runners.machine.pinning import PinningPlan
from runners.measure.speed_probe import SpeedProbes
from runners.records import Request
from runners.systems.backend import Backend
from runners.systems.image import Image
from runners.systems.process import ServerProcess


@dataclass(frozen=True)
class Asked:
    """The target of a load: a launched server and the backend behind it, the request, and the name of the load generator.

    `prepared` is the folder that :meth:`Generator.prepare` filled.
    """

    server: ServerProcess
    request: Request
    generator: str
    prepared: Path
    backend: Backend | None = None


@dataclass(frozen=True)
class LoadSource:
    """The load generators by name, where they run, and what watches the CPUs meanwhile.

    `builds` holds, for generators of which something is built, the folder that their sandbox shows at /build.
    """

    generators: Mapping[str, Generator]
    image: Image
    plan: PinningPlan
    probes: SpeedProbes
    builds: Mapping[str, Path] = field(default_factory=dict)
