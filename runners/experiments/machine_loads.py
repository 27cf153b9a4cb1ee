"""The loads of 00-machine that show the load generators: what they can drive, how they keep a schedule, whether they tell the truth."""

from __future__ import annotations

from runners.core.records import LoadProfile, System, Workload
from runners.core.workloads import PING
from runners.experiments.latency_under_load import CLOSED, OPEN, STALLING
from runners.generators.autocannon import Autocannon
from runners.generators.paceload import Paceload
from runners.measure.design import Cell
from runners.measure.load_levels import CEILING, LEVELS, PACED_SHARE, LoadLevels
from runners.stats.histograms import WORK_S

DELAYING = System("calibration", "delayed")
QUEUEING = System("calibration", "work")
QUEUE = LoadProfile("queue", Paceload.name, connections=100, rate_rps=0.6 / WORK_S, window_s=2.0)
"""Requests that keep a server with a known service time busy for 60 % of the time: how long they wait is known too."""
PACED = LoadLevels(of_own=(PACED_SHARE,), beside=True, everywhere=False)
"""The rate at which paceload has to keep its schedule: a share of what it can drive itself."""
OF_GENERATORS: tuple[Cell, ...] = (
    *(Cell(CEILING.system, Workload(PING, shape=LoadProfile(name, name))) for name in (Paceload.name, Autocannon.name)),
    Cell(CEILING.system, Workload(PING, shape=LoadProfile(LEVELS, Paceload.name))),
    *(Cell(STALLING, Workload(PING, shape=shape)) for shape in (OPEN, CLOSED)),
    Cell(DELAYING, Workload(PING, shape=OPEN)),
    Cell(QUEUEING, Workload(PING, shape=QUEUE)),
)
