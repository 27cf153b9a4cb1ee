"""Watch a server or a backend during a window whose load comes from another host."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.core.load import Load
from runners.core.sample import CpuSpread, CpuTimes, Role, Sample
from runners.core.trial_record import CpuSpeed
from runners.machine.speed_probe import SpeedProbes
from runners.measure.load import LEAST_WATCHED, MOST_RAMP_UP_S
from runners.measure.other_processes import OtherProcesses
from runners.measure.sampling import busy_spread, memory, snapshot, total_cpu_s
from runners.systems.backend import Backend, Work, counted, work_done
from runners.systems.process import ServerProcess
from runners.systems.sockets import established_count

_LOOK_S = 0.005
_NET = Path("/sys/class/net")
_SNMP = Path("/proc/net/snmp")


@dataclass(frozen=True)
class Traffic:
    """Counters of this host's network since it started; those of interfaces without loopback."""

    at_s: float
    received_bytes: int
    sent_bytes: int
    dropped_count: int
    segments_count: int
    retransmitted_count: int

    def since(self, before: Traffic) -> Traffic:
        """Return the difference."""
        return Traffic(*(getattr(self, name) - getattr(before, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Watched:
    """The findings on one host in a window: `cpu_s` is the server's of the whole window; work and traffic are, too.

    `began_at_s` is a moment of this host's monotonic clock.
    """

    began_at_s: float
    samples: list[Sample]
    busy: dict[Role, CpuSpread]
    speed: dict[int, CpuSpeed]
    cpu_s: float
    listened: bool
    work: dict[str, dict[str, int]] | None
    traffic: Traffic


class Watching:
    """The watch over what a host has launched: begun before the load, its findings are taken after it."""

    def __init__(self, processes: Mapping[Role, ServerProcess], probes: SpeedProbes, port: int) -> None:
        self._processes, self._probes, self._port = processes, probes, port
        self._others = OtherProcesses()
        self._others.prepare()
        self._pids = {role: process.pids for role, process in processes.items()}
        self._listened = all(process.listens() for process in processes.values())
        self._cpu_before_s = self._cpu_s()
        self._work_before = self._work()
        self._traffic = [traffic()]
        self._samples: list[Sample] = []
        self._times: list[dict[int, CpuTimes]] = []
        self._interval = (time.monotonic(), time.monotonic())

    def during(self, load: Load, start_s: float, shares: Sequence[float]) -> None:
        """Take samples at these shares of the load, which begins at `start_s` of the monotonic clock, or when its clients are connected."""
        time.sleep(max(0.0, start_s - time.monotonic()))
        if "server" in self._processes:
            wanted = load.connections if load.connections >= LEAST_WATCHED else 1
            latest = start_s + (MOST_RAMP_UP_S if wanted > 1 else load.duration_s)
            while established_count(self._port) < wanted and time.monotonic() < latest:
                time.sleep(_LOOK_S)
        begun = time.monotonic()
        self._interval = (begun, begun + load.duration_s)
        for place, share in enumerate(shares, 1):
            time.sleep(max(0.0, begun + share * load.duration_s - time.monotonic()))
            # What takes longer to find out is sampled once: at half of the window, or when it is over.
            self._sample(thorough=place == (len(shares) + 2) // 2)

    def end(self) -> Watched:
        """Return what was seen, when the load has ended."""
        cpus = {role: process.cpus for role, process in self._processes.items()}
        speed = self._probes.within([self._interval])
        seen = {role: busy_spread(self._times[0], self._times[-1], own) for role, own in cpus.items() if self._times}
        return Watched(
            self._interval[0],
            self._samples,
            {role: spread for role, spread in seen.items() if spread},
            {cpu: CpuSpeed(**found._asdict()) for cpu, found in speed.items() if cpu in cpus.get("server", ())},
            self._cpu_s() - self._cpu_before_s,
            self._listened and all(process.listens() for process in self._processes.values()),
            work_done(self._work_before, self._work()),
            # Between the first and the last sample, where there are some.
            self._traffic[-1].since(self._traffic[1]) if len(self._traffic) > 2 else traffic().since(self._traffic[0]),
        )

    def _sample(self, *, thorough: bool) -> None:
        roles: dict[Role, tuple[Sequence[int], Sequence[int]]] = {"server": ((), ()), "generator": ((), ())}
        roles |= {role: (process.pids, process.cpus) for role, process in self._processes.items()}
        self._traffic.append(traffic())
        sample, times = snapshot(roles, self._probes.pids)
        self._times.append(times)
        used = self._others.used_s(times)
        for role, process in self._processes.items():
            sample.cpus[role].other_cpu_s = round(sum(used.get(cpu, 0.0) for cpu in process.cpus), 6)
        if thorough and "server" in self._processes:
            sample.server.memory = memory(self._processes["server"].pids)
            sample.connections_count = established_count(self._port)
        self._samples.append(sample)

    def _cpu_s(self) -> float:
        return total_cpu_s(self._pids.get("server", ()))

    def _work(self) -> dict[str, Work] | None:
        backend = self._processes.get("backend")
        return counted(backend) if isinstance(backend, Backend) else None


def traffic(net: Path = _NET, snmp: Path = _SNMP) -> Traffic:
    """Return the counters of this host's network at this moment."""
    faces = [folder / "statistics" for folder in sorted(net.iterdir()) if folder.name != "lo"] if net.exists() else []

    def total(names: Sequence[str]) -> int:
        return sum(int((face / name).read_text()) for face in faces for name in names if (face / name).exists())

    lines = [line.split() for line in re.findall(r"^Tcp: (.*)$", snmp.read_text(), re.MULTILINE)]
    tcp = dict(zip(*lines, strict=True)) if len(lines) == 2 else {}
    return Traffic(
        time.monotonic(),
        total(["rx_bytes"]),
        total(["tx_bytes"]),
        total(["rx_dropped", "tx_dropped"]),
        int(tcp.get("OutSegs", 0)),
        int(tcp.get("RetransSegs", 0)),
    )
