"""The golden vectors, all of them, in the order in which they are stored and tried."""

from __future__ import annotations

from runners.contract.vectors.accepted import accepted
from runners.contract.vectors.endpoints import endpoints, resources
from runners.contract.vectors.malformed import malformed
from runners.contract.vectors.model import Vector
from runners.contract.vectors.refused import refused


def golden() -> list[Vector]:
    """Return the vectors that `vectors.json` must hold."""
    return [*endpoints(), *resources(), *accepted(), *refused(), *malformed()]
