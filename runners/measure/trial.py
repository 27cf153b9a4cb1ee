"""One trial: one cell in one block, verified before and after its windows."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runners.contract.runner import contract_request
from runners.core.load import GeneratorError, Load
from runners.core.parameter_values import objectives
from runners.core.records import SEARCH_KINDS, SEARCH_WINDOW, WARM_UP_KINDS, System, Workload
from runners.core.request import Request
from runners.core.trial_record import Failure, TrialRecord, Verification, WindowKind, WindowRecord
from runners.core.workloads import WORKLOADS, backend_work
from runners.generators.reports import condense, result_of
from runners.machine.topology import format_cpu_list
from runners.measure.capacity_search import CapacitySearch
from runners.measure.design import Cell
from runners.measure.launched import Launched
from runners.measure.load import LEAST_WATCHED, MOST_WARM_UP_CONNECTIONS, LoadTarget, window_seconds
from runners.systems.manifest_tables import ServedWorkload

if TYPE_CHECKING:
    from runners.measure.design import BlockSettings

_SAID_CHARACTERS = 500


@dataclass
class Trial:
    """A trial while it is being measured; `record` is what the ledger will hold of it.

    A server that cannot be launched fails its trials: a trial without `process` has `failed`.
    """

    cell: Cell
    service: ServedWorkload
    record: TrialRecord
    request: Request
    folder: Path
    process: Launched = field(init=False, repr=False)
    backend: Launched | None = None
    failed: bool = False
    _search: CapacitySearch | None = None

    def fail(self, stage: str, message: str) -> None:
        """Record the first failure; nothing further is measured."""
        if not self.failed:
            self.failed, self.record.failure = True, Failure(stage=stage, message=message)

    def launched(self, process: Launched) -> None:
        """Take the process that was launched for it."""
        self.process = process
        self.record.port, self.record.startup_s = process.port_of(self.request.tls), process.startup_s

    def verify(self, settings: BlockSettings, when: Literal["before", "after"]) -> None:
        """Send the trial's own request once and compare the response with the contract."""
        if not self.ready:
            return
        workload, url = self.cell.workload, self.process.url_of(self.request.tls)
        probe = settings.roles.respond(url, self.service, self.request.posted, workload)
        found = Verification(
            response_bytes=probe.response_bytes, body_bytes=probe.body_bytes, difference=probe.difference
        )
        setattr(self.record, f"verified_{when}", found)
        if probe.difference:
            self.fail("conformance", probe.difference)

    def remember_memory(self, settings: BlockSettings, when: Literal["before", "after"]) -> None:
        """Record what the server's processes hold at this moment."""
        if not self.failed:
            setattr(self.record, f"memory_{when}", settings.roles.memory(self.process))

    def warm_up(self, settings: BlockSettings, primed: set[System]) -> None:
        """Measure a warm-up; before it full load, whatever the rate, for a system that is not in `primed` yet."""
        load, profile = self.load(settings), settings.profile
        if profile.priming_s and self.cell.system not in primed:
            connections = min(load.connections, settings.connections)
            full = replace(
                load,
                rate_rps=None,
                requested_rps=None,
                connections=connections,
                duration_s=profile.priming_s,
                spin=False,
            )
            self.measure(settings, "priming", full)
        primed.add(self.cell.system)
        if profile.warmup_s > 0:
            connections = MOST_WARM_UP_CONNECTIONS if load.connections >= LEAST_WATCHED else load.connections
            threads = min(load.threads, connections)
            brief = replace(load, connections=connections, threads=threads, duration_s=profile.warmup_s)
            self.measure(settings, "warmup", brief)

    def measure(self, settings: BlockSettings, kind: WindowKind, load: Load | None = None) -> None:
        """Measure one window in one piece, under the cell's own load or another one."""
        load = load or self.load(settings)
        if not self.ready:
            return
        port = self.process.port_of(self.request.tls)
        if load.connections >= LEAST_WATCHED and (short := settings.roles.missing_ports(port, load.connections)):
            self.fail("ports", short)
            return
        self.add(settings, settings.roles.window(settings.source, self.target, load, kind))

    def next_search_rps(self, settings: BlockSettings) -> float | None:
        """Return the rate of the next window of the search under the cell's objectives; None when no more is needed."""
        if not self.ready:
            return None
        workload = self.cell.workload
        if self._search is None:
            limits = settings.search_ranges[self.cell.system.name, workload.base_label]
            self._search = CapacitySearch(objectives(workload.shape.objectives), *limits)
        return self._search.next_rate_rps()

    def search(self, settings: BlockSettings, rate_rps: float) -> None:
        """Measure one window of the search, at a rate."""
        load = replace(self.load(settings), rate_rps=rate_rps, spin=self._generator_is_alone(settings))
        self.measure(settings, SEARCH_WINDOW, load)
        if self._search is not None and not self.failed:
            window = self.record.windows[-1]
            generator = settings.source.generators[self.record.generator]
            self._search.add(rate_rps, result_of(generator, window))

    @property
    def ready(self) -> bool:
        """Return whether it can be measured; a server or backend that has ended since is its failure."""
        return not self.failed and not self._ended("")

    @property
    def target(self) -> LoadTarget:
        """The target of its load."""
        return LoadTarget(self.process, self.request, self.record.generator, self.folder, self.backend)

    def add(self, settings: BlockSettings, window: WindowRecord) -> None:
        """Add a window to the record, and see whether server and load generator came through it."""
        self.record.windows.append(window)
        if self._ended(" under load"):
            return
        generator = settings.source.generators[self.record.generator]
        if window.hung or window.exit_status != 0:
            ending = "did not end" if window.hung else f"ended with exit status {window.exit_status}"
            said = window.stderr.strip()[-_SAID_CHARACTERS:] or "it printed no error"
            self.fail("generator", f"{generator.name} {ending}: {said}")
            return
        try:
            result = result_of(generator, window)
            if result.cpu_s is not None and window.load.rate_rps is not None and window.samples:
                last = window.samples[-1].generator
                last.cpu_s = max(last.cpu_s, result.cpu_s)
            condense(generator, window, coarse=window.kind in WARM_UP_KINDS | SEARCH_KINDS)
        except GeneratorError as error:
            self.fail("generator", str(error))

    def load(self, settings: BlockSettings) -> Load:
        """Return the load of a window."""
        shape = self.cell.workload.shape
        connections = shape.connections or settings.connections
        return Load(
            connections,
            min(settings.threads, connections),
            shape.window_s or window_seconds(settings.profile.window_s, connections),
            rate_rps=shape.rate_rps,
            keepalive_requests=shape.keepalive_requests,
            requested_rps=shape.requested_rps,
            # The same arrivals for all systems.
            seed=zlib.crc32(
                f"{settings.seed}/{self.record.block}/{self.record.workload}/{len(self.record.windows)}".encode()
            ),
            # A closed loop that spins would look like the limit.
            spin=shape.rate_rps is not None and self._generator_is_alone(settings),
            poisson=settings.poisson,
        )

    def _generator_is_alone(self, settings: BlockSettings) -> bool:
        """Return whether neither the server nor its backend runs on a CPU of the load generator, in any cell of the system.

        A generator that spins changes what a request costs the server: its CPU need not be woken. So all cells of a system are alike.
        """
        used = {cpu for cell in settings.design.of(self.cell.system) for cpu in settings.cpus(cell)}
        used |= set(settings.source.plan.backend if self.service.backend else ())
        return used.isdisjoint(settings.source.plan.generator)

    def _ended(self, when: str) -> bool:
        """Return whether it has failed; a server or backend that is gone is its failure."""
        for what, stage, process in (("", "running", self.process), ("its backend ", "backend", self.backend)):
            if process is not None and not process.alive:
                said = process.output()[-_SAID_CHARACTERS:] or "nothing"
                self.fail(stage, f"{what}ended{when} with exit status {process.exit_status}; it printed: {said}")
        return self.failed


def sliced(settings: BlockSettings, cell: Cell) -> bool:
    """Return whether a cell's windows are measured in time slices with those of other cells."""
    if not settings.profile.slice_s or settings.design.process_per_cell:
        return False
    workload = cell.workload
    service = settings.artifacts[cell.system.build].server.service(workload.name, cell.system.codec)
    generator = settings.source.generators[workload.shape.generator or settings.generator]
    return (
        generator.clock is not None
        and (service is None or service.backend is None)
        and can_be_suspended(workload, workload.shape.connections or settings.connections)
    )


def can_be_suspended(workload: Workload, connections: int) -> bool:
    """Return whether nothing of a workload's own goes on while its server is suspended: no timer and no offered rate."""
    shape = workload.shape
    own_time = workload.delay_ms is not None or shape.rate_rps is not None or shape.window_s is not None
    return not own_time and not shape.objectives and connections < LEAST_WATCHED


def begin(settings: BlockSettings, number: int, cell: Cell, folder: Path) -> Trial:
    """Return a trial of block `number` with the head of its record; what its load generator sends is below `folder`."""
    system, workload = cell.system, cell.workload
    service = settings.artifacts[system.build].server.service(workload.name, system.codec)
    assert service is not None, "the design holds only what is served"
    request = contract_request(service.path, workload, settings.body_style, settings.seed)
    generator = workload.shape.generator or settings.generator
    record = TrialRecord(
        block=number,
        system=system.name,
        server=system.server,
        codec=system.codec,
        variant=system.variant,
        control=system.control,
        workload=workload.label,
        workload_name=workload.name,
        operations=workload.operations,
        count=workload.count,
        shape=workload.shape,
        path=request.path,
        body_bytes=len(request.body),
        response_tolerance=WORKLOADS[workload.name].size_tolerance,
        idle_other_fraction=dict(settings.idle_other),
        work_per_request=backend_work(workload),
        cpus=settings.source.plan.as_dict() | {"server": format_cpu_list(settings.cpus(cell))},
        generator=generator,
        measures_percentiles=number <= settings.percentile_blocks,
    )
    prepared = folder / f"{system.name}--{workload.label}".replace("/", "-")
    prepared.mkdir()
    settings.source.generators[generator].prepare(request, prepared)
    return Trial(cell, service, record, request, prepared)
