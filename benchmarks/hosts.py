"""What several hosts cost: merging the histograms of many of them, and a host of its own beside loopback.

``.venv/bin/python benchmarks/hosts.py merge``: the results of 1, 8 and 64 load generator hosts with histograms of 10 s each, merged.

``.venv/bin/python benchmarks/hosts.py start``: how long tasks take to reach as many workers.

``.venv/bin/python benchmarks/hosts.py paired --pairs 30``: one server on loopback and the same in a network namespace behind an unshaped
veth pair, alternately, both on CPU 0 with the load generator on CPU 1; and the CPU time of the worker while a window runs. It needs root.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import dask
import numpy as np
import psutil
import typer
from distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.core.histogram import Histogram
from runners.core.load import Load, LoadErrors, LoadResult
from runners.core.request import Request
from runners.core.units import format_duration
from runners.generators.registry import GENERATORS
from runners.generators.reports import combined, result_of
from runners.hosts.cluster import Hosts
from runners.hosts.inventory import read_inventory
from runners.hosts.roles import HostRoles
from runners.hosts.station import Station, at_station
from runners.hosts.worker import SETTINGS
from runners.measure.launched import Launched
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.roles import OneMachine, Roles, WantedServer
from runners.stats.estimates import geometric_mean_interval
from runners.systems.build import artifact
from runners.systems.catalogue import Catalogue
from tests.hosts.conftest import host
from tests.hosts.namespaces import Network, refusal

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
_RATE_RPS = 100_000
_DURATION_S = 10.0
_MEBI = 1 << 20
_IDLE_S = 20.0


def simulated(hosts_count: int, seed: int = 1) -> list[LoadResult]:
    """Return the results of so many hosts: 10 s at 100,000 requests/s, service times log-normal about 800 µs."""
    draw, found = np.random.default_rng(seed), []
    for _ in range(hosts_count):
        times = np.maximum(1, draw.lognormal(np.log(800), 0.5, int(_RATE_RPS * _DURATION_S))).astype(np.int64)
        values, counts = np.unique(times, return_counts=True)
        histogram = Histogram(tuple(values.tolist()), tuple(counts.tolist()))
        found.append(LoadResult(len(times), _DURATION_S, 0, 1, LoadErrors(), histogram, corrected=histogram))
    return found


@app.command()
def merge(counts: Annotated[list[int] | None, typer.Argument(help="Numbers of hosts.")] = None) -> None:
    """Merge the results of many hosts, and print time and memory."""
    print("hosts   merging    memory   bins of one   bins of all")
    for count in counts or (1, 8, 64):
        results = simulated(count)
        started = time.perf_counter()
        whole = combined(results)
        merging_s = time.perf_counter() - started
        # The conversion to arrays is kept with each histogram: memory is that of a second time.
        tracemalloc.start()
        combined(results)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        own, all_bins = len(results[0].service_time.values_us), len(whole.service_time.values_us)
        print(f"{count:5}{format_duration(merging_s):>10}{peak / _MEBI:7.1f} MiB{own:14,}{all_bins:14,}")


def _now(number: int) -> tuple[int, float]:
    return number, time.monotonic()


@app.command()
def start(counts: Annotated[list[int] | None, typer.Argument(help="Numbers of hosts.")] = None) -> None:
    """Send a task to many workers, all on this machine, and print after which time the last one had begun."""
    print("hosts   last begun after, median and most of 20 tries")
    for count in counts or (1, 8, 64):
        with (
            dask.config.set(SETTINGS),
            LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=False,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            names = list(client.scheduler_info(n_workers=-1)["workers"])
            delays = []
            for _ in range(20):
                started = time.monotonic()
                futures = [client.submit(_now, number, workers=[name], pure=False) for number, name in enumerate(names)]
                delays.append(max(moment for _, moment in client.gather(futures)) - started)
        print(f"{count:5}{format_duration(median(delays)):>12}{format_duration(max(delays)):>12}")


@app.command()
def paired(
    pairs: Annotated[int, typer.Option(min=3, help="Windows on each side.")] = 30,
    window_s: Annotated[float, typer.Option(min=1.0, help="Length of a window.")] = 2.0,
    server: Annotated[str, typer.Option(help="Folder of servers/.")] = "net-http",
) -> None:
    """Measure a server behind an unshaped veth pair and on loopback, alternately."""
    if why := refusal():
        raise typer.BadParameter(why)
    load = Load(80, 1, window_s)
    with tempfile.TemporaryDirectory(prefix="wrkbook-bench-") as folder, Network(Path(folder)) as network:
        network.connect("controller", "server")
        ratios, busy, idle = _compared(network, server, load, pairs, Path(folder))
    found = geometric_mean_interval(ratios)
    print(
        f"namespace ÷ loopback, {server}, {pairs} pairs of {window_s:g} s: {found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
    )
    print(
        f"CPU of the worker on the server's host, of one CPU: {idle:.2%} while it waits, {fmean(busy):.2%} in a window with its samples"
    )


def _compared(
    network: Network, server: str, load: Load, pairs: int, folder: Path
) -> tuple[list[float], list[float], float]:
    """Return the ratios of throughputs of each pair, and the shares of a CPU that the worker used: in each window, and while it waits."""
    control = 'controller_cpus = "1"\ncontroller_housekeeping = "1"'
    file = network.inventory(roles={"server": ["server"]}, controller=control, server=host(network, "server", "0"))
    ratios, busy = list[float](), list[float]()
    with network.inside("controller"), Hosts(read_inventory(file)) as hosts, ExitStack() as stack:
        roles, alone = HostRoles(hosts), OneMachine()
        stack.callback(roles.close)
        roles.open(behind=False)
        roles.prepare({"server": [server]}, ["wrk"])
        here: Station = at_station(lambda own: own)
        context = LoadContext(here.generators, here.image, here.plan, here.probes)
        wanted = WantedServer(artifact(Catalogue().server(server), here.image), 0, [0], None, None)
        request, prepared = Request("GET", "/ping"), folder / "load"
        prepared.mkdir()
        here.generators["wrk"].prepare(request, prepared)
        launched: list[Launched] = []
        sites: tuple[Roles, Roles] = roles, alone
        for site in sites:
            (port,) = stack.enter_context(site.hold_ports(1, backends=False))
            launched.append(stack.enter_context(site.server(replace(wanted, port=port))))
        worker = next(process for process in map(psutil.Process, network.pids("server")) if "join" in process.cmdline())
        idle = list[float]()
        with _used(worker, _IDLE_S, idle):
            pass
        for number in range(-1, pairs):  # the first is a warm-up
            rates = {}
            for place in (0, 1) if number % 2 else (1, 0):
                target = LoadTarget(launched[place], request, "wrk", prepared)
                with _used(worker, load.duration_s, busy if place == 0 and number >= 0 else []):
                    raw = sites[place].window(context, target, load, "window")
                rates[place] = result_of(GENERATORS["wrk"], raw).throughput_rps
            if number >= 0:
                ratios.append(rates[0] / rates[1])
    return ratios, busy, idle[0]


@contextmanager
def _used(worker: psutil.Process, duration_s: float, found: list[float]) -> Iterator[None]:
    """Append the share of a CPU that a process uses in the middle of a window, half a second after its call."""

    def look() -> None:
        time.sleep(0.5)
        before, started = sum(worker.cpu_times()[:2]), time.monotonic()
        time.sleep(duration_s - 0.4)
        found.append((sum(worker.cpu_times()[:2]) - before) / (time.monotonic() - started))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield
    finally:
        watching.join()


if __name__ == "__main__":
    app()
