"""The site of a run: what one machine and several hosts have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from runners.core.run_manifest import Facts, MachineSurvey
from runners.machine.speed_probe import SpeedProbes
from runners.measure.roles import Roles
from runners.systems.build import Artifact
from runners.systems.image import Image


@dataclass(frozen=True)
class Site:
    """The site of a run.

    Attributes
    ----------
    nonconforming : Callable[[], dict[str, str]]
        Verifies the servers; server → first difference from the contract.
    survey : Callable[[], MachineSurvey]
        Watches the idle machine of the servers.
    about : Facts
        What the manifest says of the machines, in the place of what it says of this one.
    tools : dict[str, Path]
        Load generator → folder that its sandbox shows at /build.
    """

    image: Image
    artifacts: dict[str, Artifact]
    probes: SpeedProbes
    roles: Roles
    nonconforming: Callable[[], dict[str, str]]
    survey: Callable[[], MachineSurvey]
    tools: dict[str, Path]
    about: Facts = field(default_factory=dict)
