"""The golden vectors, all of them, in the order in which they are stored and tried."""

from __future__ import annotations

from runners.contract.accepted import accepted
from runners.contract.endpoints import endpoints
from runners.contract.malformed import malformed
from runners.contract.refused import refused
from runners.contract.resources import resources
from runners.contract.vectors import Vector


def golden() -> list[Vector]:
    """Return the vectors that `vectors.json` must hold."""
    return [*endpoints(), *resources(), *accepted(), *refused(), *malformed()]
