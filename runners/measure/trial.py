"""One trial: one cell in one block, verified before and after its windows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.contract.conformance import quick_check
from runners.contract.requests import answer_tolerance, backend_work, contract_request, path_parameters
from runners.generators import GeneratorError
from runners.machine.topology import format_cpu_list
from runners.measure.design import Cell
from runners.measure.load_source import Asked
from runners.measure.opening import LEAST_WATCHED, MOST_WARM_UP_CONNECTIONS, window_seconds
from runners.measure.sampling import memory, role_sample
from runners.measure.window import in_one_piece
from runners.records import PERCENTILES_WINDOW, WARM_UP_KINDS, WINDOW, Load, Request, Workload
from runners.systems.backend import Backend
from runners.systems.catalogue import Service
from runners.systems.ports import wait_for_ports
from runners.systems.process import ServerProcess

if TYPE_CHECKING:
    from runners.measure.block import BlockSettings

_SAID_CHARACTERS = 500


@dataclass
class Trial:
    """A trial while it is being measured; `record` is what the ledger will hold of it."""

    cell: Cell
    service: Service
    record: dict[str, Any]
    request: Request
    folder: Path
    process: ServerProcess | None = None
    backend: Backend | None = None
    failed: bool = field(default=False)

    def fail(self, stage: str, message: str) -> None:
        """The first failure is the trial's; nothing further is measured for it."""
        if not self.failed:
            self.failed, self.record["failure"] = True, {"stage": stage, "message": message}

    def launched(self, process: ServerProcess) -> None:
        """Take the process that was launched for it."""
        self.process = process
        self.record |= {"port": process.port, "startup_s": process.startup_s}

    def verify(self, when: str) -> None:
        """Ask the trial's own request once and compare the answer with the contract."""
        if self.failed or self._ended(""):
            return
        assert self.process is not None
        workload, body = self.cell.workload, self.request.body or None
        probe = quick_check(self.process.url, self.service, body, path_parameters(workload), workload.count)
        self.record[when] = {
            "answer_bytes": probe.answer_bytes,
            "body_bytes": probe.body_bytes,
            "difference": probe.difference,
        }
        if probe.difference:
            self.fail("conformance", probe.difference)

    def remember_memory(self, when: str) -> None:
        """Write down what the server's processes hold at this moment."""
        if self.process is not None and not self.failed:
            sample = role_sample(self.process.pids, self.process.cpus)
            self.record[when] = {**memory(self.process.pids), "rss_bytes": sample["rss_bytes"]}

    def visit(self, settings: BlockSettings, *, first: bool, priming_s: float = 0.0) -> None:
        """Measure one window, the first time a warm-up before it; `priming_s` of full load before that, whatever its rate."""
        self.warm_up(settings, first=first, priming_s=priming_s)
        self._run(settings, self.load(settings), WINDOW)

    def visit_for_percentiles(self, settings: BlockSettings) -> None:
        """Measure one window in one piece, from which percentiles are taken and throughput is not.

        A time slice begins with cold caches, which adds 1 to 2 ms to its first responses and so to p99.
        """
        self._run(settings, self.load(settings), PERCENTILES_WINDOW)

    def warm_up(self, settings: BlockSettings, *, first: bool, priming_s: float = 0.0) -> None:
        """What comes before the first window: `priming_s` of full load, whatever its rate, and a warm-up."""
        if priming_s:
            load = self.load(settings)
            connections = min(load.connections, settings.connections)
            full = replace(load, rate_rps=None, asked_rps=None, connections=connections, duration_s=priming_s)
            self._run(settings, full, "priming")
        if first and settings.profile.warmup_s > 0:
            load = self.load(settings)
            many = load.connections >= LEAST_WATCHED
            connections = min(load.connections, MOST_WARM_UP_CONNECTIONS) if many else load.connections
            threads = min(load.threads, connections)
            warm_up_s = settings.profile.warmup_s
            self._run(settings, replace(load, connections=connections, threads=threads, duration_s=warm_up_s), "warmup")

    def _run(self, settings: BlockSettings, load: Load, kind: str) -> None:
        if not self.ready:
            return
        assert self.process is not None
        if load.connections >= LEAST_WATCHED and (short := wait_for_ports(self.process.port, load.connections)):
            self.fail("ports", short)
            return
        self.add(settings, in_one_piece(settings.source, self.asked, load, kind))

    @property
    def ready(self) -> bool:
        """Whether it can be measured: one that ended since its last window has no use for another."""
        return self.process is not None and not self.failed and not self._ended("")

    @property
    def asked(self) -> Asked:
        """Who is asked for what."""
        assert self.process is not None
        return Asked(self.process, self.request, self.record["generator"], self.folder, self.backend)

    def add(self, settings: BlockSettings, window: dict[str, Any]) -> None:
        """Add a window to the record, and see whether server and load generator came through it."""
        self.record["windows"].append(window)
        if not self._ended(" under load"):
            self._judge(settings, window)

    def load(self, settings: BlockSettings) -> Load:
        """The load of a window."""
        shape = self.cell.workload.shape
        connections = shape.connections or settings.connections
        return Load(
            connections,
            min(settings.threads, connections),
            window_seconds(settings.profile.window_s, connections),
            rate_rps=shape.rate_rps,
            keepalive_requests=shape.keepalive_requests,
            asked_rps=shape.asked_rps,
        )

    def _ended(self, when: str) -> bool:
        """Whether server or backend is gone, which is the trial's failure then."""
        for what, stage, process in (("", "running", self.process), ("its backend ", "backend", self.backend)):
            if process is not None and not process.alive:
                said = process.output()[-_SAID_CHARACTERS:] or "nothing"
                self.fail(stage, f"{what}ended{when} with exit status {process.exit_status}; it printed: {said}")
        return self.failed

    def _judge(self, settings: BlockSettings, window: dict[str, Any]) -> None:
        generator = settings.source.generators[self.record["generator"]]
        if window["hung"] or window["exit_status"] != 0:
            ending = "did not end" if window["hung"] else f"ended with exit status {window['exit_status']}"
            said = window["stderr"].strip()[-_SAID_CHARACTERS:] or "it printed no error"
            self.fail("generator", f"{generator.name} {ending}: {said}")
            return
        load, coarse = Load(**window["load"]), window["kind"] in WARM_UP_KINDS
        try:
            generator.parse(window["stdout"], load)
            window["stdout"] = generator.condensed(window["stdout"], load, coarse=coarse)
        except GeneratorError as error:
            self.fail("generator", str(error))


def sliced(settings: BlockSettings, cell: Cell) -> bool:
    """Return whether a cell's windows are measured in time slices with those of other cells."""
    if not settings.profile.turn_s or settings.design.fresh:
        return False
    workload = cell.workload
    service = settings.artifacts[cell.system.server].server.service(workload.name, cell.system.codec)
    generator = settings.source.generators[workload.shape.generator or settings.generator]
    return (
        generator.clock is not None
        and (service is None or service.backend is None)
        and can_be_suspended(workload, workload.shape.connections or settings.connections)
    )


def can_be_suspended(workload: Workload, connections: int) -> bool:
    """Return whether nothing of a workload's own goes on while its server is suspended: no timer and no offered rate."""
    return workload.delay_ms is None and workload.shape.rate_rps is None and connections < LEAST_WATCHED


def begin(settings: BlockSettings, number: int, cell: Cell, folder: Path) -> Trial:
    """A trial of block `number` with the head of its record, and what its load generator sends in a folder below `folder`."""
    system, workload = cell.system, cell.workload
    service = settings.artifacts[system.server].server.service(workload.name, system.codec)
    assert service is not None, "the design holds only what is served"
    request = contract_request(service.path, workload, settings.body_style, settings.seed)
    cpus = settings.source.plan.as_dict() | {"server": format_cpu_list(settings.cpus(system.server))}
    record: dict[str, Any] = {
        "block": number,
        "system": system.name,
        "server": system.server,
        "codec": system.codec,
        "placebo": system.placebo,
        "workload": workload.label,
        "workload_name": workload.name,
        "operations": workload.operations,
        "count": workload.count,
        "shape": asdict(workload.shape),
        "path": request.path,
        "body_bytes": len(request.body),
        "answer_tolerance": answer_tolerance(workload.name),
        "idle_other_fraction": dict(settings.idle_other),
        "work_per_request": backend_work(workload),
        "cpus": cpus,
        "port": None,
        "startup_s": None,
        "generator": workload.shape.generator or settings.generator,
        "failure": None,
        "windows": [],
    }
    prepared = folder / f"{system.name}--{workload.label}".replace("/", "-")
    prepared.mkdir()
    settings.source.generators[record["generator"]].prepare(request, prepared)
    return Trial(cell, service, record, request, prepared)
