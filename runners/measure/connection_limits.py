"""Clamp numbers of connections to the limits of this machine, and report those that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.core.errors import WrkbookError
from runners.core.parameters import Parameters
from runners.core.records import LoadProfile
from runners.core.workloads import WORKLOADS
from runners.systems.ports import REMEDY as PORTS_REMEDY

# What a process has open besides its connections.
OTHER_FILES = 100
# A level that misses the limit by so little is measured at the limit, under its real number.
_NEAR = 0.9
_ROUND = 100
FILES_REMEDY = (
    "raise the hard limit of open files, which the generator and each server process have for themselves: "
    'echo "$USER hard nofile 65536" | sudo tee /etc/security/limits.d/wrkbook.conf, then log in again (ulimit -Hn shows it)'
)


@dataclass(frozen=True)
class LeftOut:
    """A number of connections that does not fit: why, what would help, and what is measured in its place (None: nothing)."""

    connections: int
    why: str
    remedy: str
    instead: int | None


@dataclass(frozen=True)
class Levels:
    """The numbers of connections that are measured, in the order given, and those that are left out, ascending."""

    kept: tuple[int, ...]
    left_out: tuple[LeftOut, ...]


def fitting_levels(requested: Sequence[int], files_limit: int, ports_count: int) -> Levels:
    """Return what of `requested` fits into one process's limit of open files, and into a client's ports towards one server.

    The smallest of those that do not fit is replaced by the largest number that does, where that is at least 90 % of it.

    Raises
    ------
    WrkbookError
        When nothing fits.
    """
    most = min(files_limit - OTHER_FILES, ports_count)
    if files_limit - OTHER_FILES <= ports_count:
        why, remedy = f"the limit of {files_limit} open files", FILES_REMEDY
    else:
        why, remedy = f"the {ports_count} ports that a client has", PORTS_REMEDY
    kept = [count for count in requested if count <= most]
    left_out: list[LeftOut] = []
    nearest = most // _ROUND * _ROUND
    for count in sorted(count for count in requested if count > most):
        instead = nearest if nearest >= _NEAR * count and nearest > max(kept, default=0) else None
        kept += [instead] if instead else []
        left_out.append(LeftOut(count, why, remedy, instead))
    if requested and not kept:
        raise WrkbookError(
            f"numbers of connections: {', '.join(map(str, requested))}: none fits into {why}",
            f"use at most {most}, or {remedy}",
        )
    return Levels(tuple(kept), tuple(left_out))


def clamped(
    parameters: Parameters, files_limit: int, ports_count: int, shapes: Sequence[LoadProfile] = ()
) -> tuple[Parameters, tuple[LeftOut, ...]]:
    """Return the parameters with those connections that fit, and what was left out of them.

    `shapes` are those of an experiment that compares its own, whatever the parameters list.

    Raises
    ------
    WrkbookError
        When nothing is left of a list, or `connections` or those of `shapes`, where they are the load, do not fit.
    """
    most = files_limit - OTHER_FILES
    wanted = max((shape.connections or parameters.connections for shape in shapes), default=parameters.connections)
    if wanted > most and (shapes or not parameters.connection_counts):
        raise WrkbookError(
            f"parameter connections: {wanted} do not fit into the limit of {files_limit} open files",
            f"use at most {most}, or raise the hard limit (ulimit -Hn, /etc/security/limits.conf)",
        )
    names = (
        "connection_counts",
        *(each.connections_parameter for each in WORKLOADS.values() if each.connections_parameter),
    )
    levels = {name: fitting_levels(getattr(parameters, name), files_limit, ports_count) for name in names}
    left_out = dict.fromkeys(level for found in levels.values() for level in found.left_out)
    return parameters.model_copy(update={name: list(levels[name].kept) for name in names}), tuple(left_out)


def in_words(levels: Sequence[LeftOut]) -> list[str]:
    """Return a sentence for each level that was left out."""
    return [
        f"{level.connections} connections do not fit into {level.why}: "
        + (f"{level.instead} were measured instead" if level.instead else "left out")
        + f"; to measure them, {level.remedy}."
        for level in levels
    ]
