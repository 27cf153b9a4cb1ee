"""The design of an experiment: which cells there are, and in which order a block visits them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from runners.errors import WrkbookError
from runners.records import System, Workload
from runners.systems.catalogue import Catalogue

BATCHED = ("discard", "decode", "roundtrip")
DELAYS_MS = (10,)


@dataclass(frozen=True, order=True)
class Cell:
    """One system × one workload: what a trial measures once in each block."""

    system: System
    workload: Workload


@dataclass(frozen=True)
class Design:
    """The cells of an experiment.

    Attributes
    ----------
    cells : in the order in which they are shown
    compared : the workloads of the question, without the floor below them
    floor : name of the workload that shows the cost of everything but the question, None where there is none
    """

    cells: tuple[Cell, ...]
    compared: tuple[Workload, ...]
    floor: str | None = None

    @property
    def systems(self) -> list[System]:
        """The distinct systems: each is a process of its own in every block."""
        return list(dict.fromkeys(cell.system for cell in self.cells))

    def order(self, seed: int, block: int, visit: int) -> list[Cell]:
        """The cells in the shuffled order of one visit of one block; the same for the same numbers."""
        shuffled = list(self.cells)
        random.Random(f"{seed}/{block}/{visit}").shuffle(shuffled)
        return shuffled


def design(
    catalogue: Catalogue,
    workloads: Sequence[str],
    *,
    floor: str | None = None,
    systems: Sequence[str] = (),
    batch_sizes: Sequence[int] = (1, 10),
    delays_ms: Sequence[int] = DELAYS_MS,
) -> Design:
    """All systems that serve `workloads` (or those named), the placebo of the first, and the floor below each server.

    Servers of the role ``reference`` take part only where they are named.

    Raises
    ------
    WrkbookError
        For an unknown system, one named twice, or when none serves a workload.
    """
    if len(set(systems)) != len(systems):
        raise WrkbookError(
            "parameter systems: a system is named twice", "name each once; the A/A control is entered by itself"
        )
    chosen = [catalogue.system(name, list(workloads)) for name in systems]
    compared = tuple(variant for name in workloads for variant in _variants(name, batch_sizes, delays_ms))
    breadth = Counter(system for name in workloads for system in catalogue.systems(name))
    cells: list[Cell] = []
    for workload in compared:
        serving = [
            system
            for system in catalogue.systems(workload.name)
            if (system in chosen if chosen else catalogue.server(system.server).role != "reference")
        ]
        # As the user ordered them; else those first that can be compared in most workloads.
        serving.sort(key=lambda system: chosen.index(system) if chosen else -breadth[system])
        if serving:
            placebo = System(serving[0].server, serving[0].codec, placebo=True)
            cells += [Cell(system, workload) for system in [*serving, placebo]]
    # One placebo stands for one system in the whole run.
    first = next((cell.system for cell in cells if cell.system.placebo), None)
    cells = [cell for cell in cells if not cell.system.placebo or cell.system == first]
    if not cells:
        raise WrkbookError(f"no system serves {' or '.join(workloads)}", "./wrkbook list shows who serves what")
    if floor:
        servers = dict.fromkeys(cell.system.server for cell in cells)
        cells += [Cell(System(name), variant) for variant in _variants(floor, batch_sizes, ()) for name in servers]
    return Design(tuple(cells), compared, floor)


def _variants(name: str, batch_sizes: Sequence[int], delays_ms: Sequence[int]) -> list[Workload]:
    if name in BATCHED:
        return [Workload(name, operations=size) for size in batch_sizes]
    if name == "ping-delay":
        return [Workload(name, delay_ms=delay) for delay in delays_ms]
    return [Workload(name)]
