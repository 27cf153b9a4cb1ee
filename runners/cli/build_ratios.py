"""The costs of the builds of two revisions: their size, and the time of a clean build."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator

from runners.core.status_line import steps
from runners.measure.build_times import clean_build_s, output_bytes
from runners.measure.conformance import image_to_run
from runners.systems.build import artifact
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.server_manifest import Server


def _pairs(name: str) -> Iterator[tuple[Server, Server, Image]]:
    """Yield each server as it is now and at the exported revision, with the image of both."""
    catalogue = Catalogue()
    for then in catalogue.builds.values():
        now = catalogue.builds.get(then.name)
        if then.variant == name and now is not None:
            yield now, then, image_to_run(catalogue, [now, then])


def size_ratios(name: str) -> dict[str, float]:
    """Return server → size of what its present build leaves, over that at the exported revision; of those built at both."""
    found = dict[str, float]()
    for now, then, image in _pairs(name):
        # Of all servers at that revision, an image may hold only those that were measured.
        folders = [artifact(server, image).folder for server in (now, then)] if image.ready else []
        if folders and all(folder.is_dir() for folder in folders):
            after, before = map(output_bytes, folders)
            found[then.name] = after / before if before else math.nan
    return found


def build_time_ratios(name: str, measured: Collection[str]) -> dict[str, float]:
    """Return server → time of a clean build of what is present, over that of the exported revision: one build each, of those `measured`."""
    cpus = sorted(os.sched_getaffinity(0))
    pairs = [pair for pair in _pairs(name) if pair[0].name in measured]
    return {
        now.name: clean_build_s(now, image, cpus) / clean_build_s(then, image, cpus)
        for now, then, image in steps(pairs, "Timing the builds")
    }
