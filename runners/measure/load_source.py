"""Where load comes from, and for whom: what every window of a run has in common, and what those of one trial have."""

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
    """Who is asked for what, by whom.

    Attributes
    ----------
    server : the launched process that is measured
    request : that is repeated
    generator : name of the load generator
    prepared : folder that :meth:`Generator.prepare` filled
    backend : the launched process behind the server, where there is one
    """

    server: ServerProcess
    request: Request
    generator: str
    prepared: Path
    backend: Backend | None = None


@dataclass(frozen=True)
class LoadSource:
    """The load generators, where they run, and what looks on.

    Attributes
    ----------
    generators : by name
    builds : generator → the folder that its sandbox shows at /build, for those of which something is built
    """

    generators: Mapping[str, Generator]
    image: Image
    plan: PinningPlan
    probes: SpeedProbes
    builds: Mapping[str, Path] = field(default_factory=dict)
