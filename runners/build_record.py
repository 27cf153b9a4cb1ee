"""``builds.json`` of a run: how long its servers take to build, measured once, after everything else."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tqdm import tqdm

from runners.ledger import Run, write_once
from runners.machine.pinning import PinningPlan
from runners.systems.build_times import build_times
from runners.systems.catalogue import Server
from runners.systems.image import Image


def record_build_times(run: Run, servers: Sequence[Server], image: Image, plan: PinningPlan) -> None:
    """Build each server in each of the ways that are timed, on all measured CPUs; a run that has its record keeps it."""
    path = run.folder / "builds.json"
    if path.exists():
        return
    cpus = sorted(plan.measured)
    rows = [
        build_times(server, image, cpus)
        for server in tqdm(servers, desc="Timing the builds", unit="server", file=sys.stderr, leave=False)
    ]
    write_once(path, json.dumps({"cpus": cpus, "builds": rows}, indent=1).encode())
