"""Show whether load generators keep their schedule and tell the truth: capacity, pacing, and response times that are known by calculation.

Run it on a quiet machine: ``.venv/bin/python benchmarks/open_loop.py``. Other tools are tried beside paceload where they are given:
``--tool vegeta=/path/to/vegeta --tool oha=… --tool k6=… --tool h2load=…``. Each figure stands beside what was required, and beside the
share of time that the hypervisor took from the CPUs meanwhile, and that in which other programs were in the way.
``servers/calibration`` is the server whose response times are known.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.core.histogram import Histogram
from runners.core.load import Load
from runners.core.project import MEASURING, exclusive
from runners.core.request import Request
from runners.generators.paceload import Paceload, report_of
from runners.generators.wrk import Wrk
from runners.machine.pinning import plan_pinning
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import format_cpu_list
from runners.measure.conformance import build_all, full_image
from runners.measure.load_levels import MOST_SHARE, PACED_SHARE
from runners.measure.sampling import cpu_times
from runners.measure.this_machine import usable_cores
from runners.stats import histograms
from runners.stats.histograms import DELAY_S, WORK_S, mean_wait_s, stalled_response_s
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from runners.systems.sandbox import Sandbox
from runners.systems.sockets import LOOPBACK, hold_ports

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
"""Not p90: it lies where a stall begins, and one arrival in a thousand moves it by a tenth of itself."""
_CONNECTIONS = 100
_STALLED_RPS = 1000.0
# Share of the time at which next to nothing waits: what is left of the mean is the way there and back.
_CALM = 0.1
_BUSY = (0.2, 0.4, 0.6, 0.8)
_QUEUE_WINDOWS = 9
_ATTEMPTS, _MOST_CONTENDED = 3, 0.02
# More than arrive in a stall and until its responses are there: a wait for a connection is not in the formula.
_MANY = 400


@dataclass(frozen=True)
class Outcome:
    """What a tool said of a load: completed requests per second, response times by percentile, their mean, the lateness of its sends."""

    throughput_rps: float
    percentiles_s: Mapping[float, float]
    mean_s: float = math.nan
    late_p99_s: float = math.nan
    late_share: float = math.nan


Tool = Callable[[Sandbox, int, str, Load], Outcome]


def _run(command: Sequence[str], text: str | None = None) -> str:
    outcome = subprocess.run(command, capture_output=True, text=True, input=text, timeout=300)
    if outcome.returncode:
        raise RuntimeError(f"{command[0]}: {(outcome.stderr or outcome.stdout)[-500:]}")
    return outcome.stdout


def _percentiles(histogram: Histogram) -> dict[float, float]:
    values = histograms.percentiles(histogram.values_us, histogram.counts, PERCENTILES)
    return {percentile: value * 1e-6 for percentile, value in zip(PERCENTILES, values, strict=True)}


def paceload(sandbox: Sandbox, port: int, path: str, load: Load) -> Outcome:
    """Our own."""
    tool, request = Paceload(), Request("GET", path, content_type="")
    text = _run(sandbox.command(tool.command(request, load, LOOPBACK, port), CPUS["generator"]))
    report, result = report_of(text), tool.parse(text, load)
    shown = result.response_time or result.service_time
    late_s = (
        result.lateness and histograms.percentiles(result.lateness.values_us, result.lateness.counts, (99.0,))[0] * 1e-6
    )
    return Outcome(
        result.throughput_rps,
        _percentiles(shown),
        (report.response if result.response_time else report.service).mean_ns * 1e-9,
        late_s or math.nan,
        report.late_share,
    )


def wrk(sandbox: Sandbox, port: int, path: str, load: Load) -> Outcome:
    """Run wrk, a closed loop, at whatever rate it reaches: what coordinated omission hides."""
    tool, request = Wrk(), Request("GET", path, content_type="")
    whole = replace(load, rate_rps=None, duration_s=math.ceil(load.duration_s))
    with tempfile.TemporaryDirectory() as folder:
        tool.prepare(request, Path(folder))
        shown = replace(sandbox, read_only={**sandbox.read_only, "/load": Path(folder)})
        text = _run(shown.command(tool.command(request, whole, LOOPBACK, port), CPUS["generator"]))
    result = tool.parse(text, whole)
    return Outcome(result.throughput_rps, _percentiles(result.service_time))


def vegeta(program: str) -> Tool:
    """Constant distance; it writes the moment of each send, from which its lateness follows."""

    def run(_: Sandbox, port: int, path: str, load: Load) -> Outcome:
        rate = f"-rate={load.rate_rps:.0f}" if load.rate_rps else "-rate=0"
        words = [program, "attack", rate, f"-duration={load.duration_s:g}s", f"-connections={load.connections}"]
        words += [f"-max-workers={load.connections}", "-output=/dev/stdout", "-max-body=0"]
        target = f"GET http://{LOOPBACK}:{port}{path}\n"
        attack = subprocess.run(_pinned(words), capture_output=True, input=target.encode(), timeout=300, check=True)
        table = subprocess.run(
            [program, "encode", "-to=csv"], capture_output=True, input=attack.stdout, timeout=300, check=True
        )
        rows = np.array([line.split(",")[:3] for line in table.stdout.decode().splitlines()], dtype=np.int64)
        sent, latency_s = np.sort(rows[:, 0]), rows[:, 2] * 1e-9
        late_s = (
            (sent - sent[0]) * 1e-9 - np.arange(len(sent)) / load.rate_rps if load.rate_rps else np.array([math.nan])
        )
        found = dict(zip(PERCENTILES, np.percentile(latency_s, PERCENTILES), strict=True))
        elapsed_s = max(load.duration_s, (sent[-1] - sent[0]) * 1e-9)
        share = float((late_s > 1e-3).mean())
        return Outcome(len(rows) / elapsed_s, found, float(latency_s.mean()), float(np.percentile(late_s, 99)), share)

    return run


def oha(program: str) -> Tool:
    """Constant distance, latencies from the intended send (``--latency-correction``)."""

    def run(_: Sandbox, port: int, path: str, load: Load) -> Outcome:
        words = [
            program,
            "--no-tui",
            "--output-format",
            "json",
            "-c",
            str(load.connections),
            "-z",
            f"{load.duration_s:g}s",
        ]
        words += ["-q", f"{load.rate_rps:.0f}", "--latency-correction"] if load.rate_rps else []
        found = json.loads(_run(_pinned([*words, f"http://{LOOPBACK}:{port}{path}"])))
        named = found["latencyPercentiles"]
        return Outcome(
            found["summary"]["requestsPerSec"],
            {percentile: float(named[f"p{percentile:g}"]) for percentile in PERCENTILES},
            found["summary"]["average"],
        )

    return run


def k6(program: str) -> Tool:
    """Constant distance (``constant-arrival-rate``); latencies from the actual send."""

    def run(_: Sandbox, port: int, path: str, load: Load) -> Outcome:
        users = {"preAllocatedVUs": load.connections, "maxVUs": load.connections}
        scenario = {"executor": "constant-vus", "vus": load.connections, "duration": f"{load.duration_s:g}s"}
        if load.rate_rps:
            duration = {"duration": f"{load.duration_s:g}s", "timeUnit": "1s"}
            scenario = {"executor": "constant-arrival-rate", "rate": round(load.rate_rps), **duration, **users}
        options = {
            "scenarios": {"load": scenario},
            "summaryTrendStats": ["avg", *(f"p({each:g})" for each in PERCENTILES)],
        }
        script = f"""import http from 'k6/http';
export const options = {json.dumps(options)};
export default () => {{ http.get('http://{LOOPBACK}:{port}{path}'); }};
export const handleSummary = (data) => ({{ stdout: JSON.stringify(data.metrics) }});"""
        with tempfile.NamedTemporaryFile("w", suffix=".js") as file:
            file.write(script)
            file.flush()
            metrics = json.loads(_run(_pinned([program, "run", "--quiet", "--no-usage-report", file.name])))
        times = metrics["http_req_duration"]["values"]
        found = {percentile: times[f"p({percentile:g})"] * 1e-3 for percentile in PERCENTILES}
        return Outcome(metrics["http_reqs"]["values"]["count"] / load.duration_s, found, times["avg"] * 1e-3)

    return run


def h2load(program: str) -> Tool:
    """Each client sends its share of the rate, in a closed loop; its log has the time of each response."""

    def run(_: Sandbox, port: int, path: str, load: Load) -> Outcome:
        with tempfile.NamedTemporaryFile("r") as log:
            words = [
                program,
                "--h1",
                "-c",
                str(load.connections),
                "-D",
                f"{load.duration_s:g}",
                f"--log-file={log.name}",
            ]
            words += [f"--rps={load.rate_rps / load.connections:g}"] if load.rate_rps else []
            _run(_pinned([*words, f"http://{LOOPBACK}:{port}{path}"]))
            latency_s = np.array([float(line.split("\t")[2]) * 1e-6 for line in log])
        found = dict(zip(PERCENTILES, np.percentile(latency_s, PERCENTILES), strict=True))
        return Outcome(len(latency_s) / load.duration_s, found, float(latency_s.mean()))

    return run


OTHERS: dict[str, Callable[[str], Tool]] = {"vegeta": vegeta, "oha": oha, "k6": k6, "h2load": h2load}
CPUS: dict[str, tuple[int, ...]] = {}


def _pinned(words: Sequence[str]) -> list[str]:
    return ["taskset", "--cpu-list", format_cpu_list(CPUS["generator"]), *words]


def rows_of(
    name: str, tool: Tool, sandbox: Sandbox, measured: Callable[[str, str, Load], Outcome], seconds: float
) -> Iterator[tuple[str, ...]]:
    """Measure one tool; yields rows of tool, question, required, found."""
    load = Load(_CONNECTIONS, 1, min(seconds, 3.0), spin=True)
    capacity_rps = measured("haproxy-return", "/ping", load).throughput_rps
    yield name, "capacity against `haproxy-return`", "≥ 40,000/s", f"{capacity_rps:,.0f}/s"
    if tool is wrk:
        stalled = measured("calibration", "/stalled", replace(load, duration_s=seconds))
        yield name, "the stalled server", _known(), _shown(stalled)
        return
    for share in (PACED_SHARE, MOST_SHARE):
        rate_rps = round(share * capacity_rps)
        paced = measured("haproxy-return", "/ping", replace(load, rate_rps=rate_rps, duration_s=seconds, seed=1))
        late = f"{paced.late_p99_s * 1e6:.0f} µs; {paced.late_share:.2%} > 1 ms"
        late = "does not say" if math.isnan(paced.late_p99_s) else late
        found = (
            f"{late}; {paced.throughput_rps / rate_rps:.1%} of the rate; p50 {paced.percentiles_s[50.0] * 1e6:.0f} µs"
        )
        yield name, f"99 % of sends late by, at {share:.0%} of its capacity", "≤ 100 µs; ≤ 1 % > 1 ms", found
    stalled = measured(
        "calibration",
        "/stalled",
        replace(load, connections=_MANY, rate_rps=_STALLED_RPS, duration_s=seconds, poisson=False),
    )
    yield name, f"the stalled server, {_STALLED_RPS:,.0f}/s", _known(), _shown(stalled)
    delayed = measured("calibration", "/delayed", replace(load, rate_rps=200.0, duration_s=seconds, seed=3))
    off_us = (delayed.percentiles_s[50.0] - DELAY_S) * 1e6
    yield name, "a delay of 5 ms, p50 at 200/s", "+ ≤ 100 µs", f"+ {off_us:.0f} µs"
    beyond_s: dict[float, list[float]] = {share: [] for share in (_CALM, *_BUSY)}
    for seed in range(_QUEUE_WINDOWS):
        for share, waited_s in beyond_s.items():
            loaded = replace(load, rate_rps=share / WORK_S, duration_s=seconds / 6, seed=seed)
            made_s = simulated_wait_s(sandbox, loaded) if tool is paceload else mean_wait_s(share / WORK_S, WORK_S)
            waited_s.append(measured("calibration", "/work", loaded).mean_s - made_s)
    for share in _BUSY:
        # A pause of the CPU makes the mean of its window too long: the median of the windows leaves it out. What is left at next to no
        # load is the way there and back through the kernel.
        off_s, known_s = np.median(beyond_s[share]) - np.median(beyond_s[_CALM]), mean_wait_s(share / WORK_S, WORK_S)
        shown = f"{(known_s + off_s) * 1e6:.1f} µs ({off_s / known_s:+.1%})"
        yield name, f"mean wait in M/D/1, {share:.0%} busy", f"{known_s * 1e6:.1f} µs ± 5 %", shown


def simulated_wait_s(sandbox: Sandbox, load: Load) -> float:
    """Return the mean wait that the arrivals of this load make on paceload's simulated clock: of the formula, and of this seed's chance."""
    words = ["/build/simulate", WORK_S * 1e6, load.rate_rps, load.connections, 0, load.seed, load.duration_s]
    return float(_run(sandbox.command([str(word) for word in words], CPUS["generator"])).split()[0]) * 1e-6 - WORK_S


def _waited_us() -> int:
    """Return for how long some task has waited for a CPU: here each has one program, so that it waits only for other ones."""
    return int(Path("/proc/pressure/cpu").read_text().partition("total=")[2].split()[0])


def _known() -> str:
    return ", ".join(f"p{each:g} {stalled_response_s(each) * 1e3:.2f}" for each in PERCENTILES) + " ms ± 3 %"


def _shown(outcome: Outcome) -> str:
    off = {each: outcome.percentiles_s[each] / stalled_response_s(each) - 1 for each in PERCENTILES}
    return ", ".join(f"p{each:g} {outcome.percentiles_s[each] * 1e3:.2f} ({off[each]:+.1%})" for each in PERCENTILES)


@dataclass
class Rig:
    """The servers and CPUs of the benchmark, and how quiet the machine was while each figure was measured."""

    sandbox: Sandbox
    artifacts: Mapping[str, Artifact]
    plan: PinningPlan
    seen: list[tuple[float, float]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def measured(self, tool: Tool, server: str, path: str, load: Load) -> Outcome:
        """Measure one load; once more, twice at most, where other programs were in the way: never for what it found."""
        for _ in range(_ATTEMPTS):
            before, waited_us, began_s = cpu_times(), _waited_us(), time.monotonic()
            with hold_ports(1) as (port,), ServerProcess(self.artifacts[server], port, list(self.plan.server), 0):
                outcome = tool(self.sandbox, port, path, load)
            contended = (_waited_us() - waited_us) * 1e-6 / (time.monotonic() - began_s)
            if contended <= _MOST_CONTENDED:
                break
        after = cpu_times()
        stolen = max(
            (after[cpu].steal_s - before[cpu].steal_s) / max(1e-9, after[cpu].total_s - before[cpu].total_s)
            for cpu in self.plan.measured
        )
        self.seen.append((stolen, contended))
        return outcome

    def noise(self) -> list[str]:
        """Return the shares of time that the hypervisor and other programs took since the last call, or before."""
        if self.seen:
            stolen, contended = np.mean(self.seen, axis=0)
            self.shown = [f"{stolen:.1%}", f"{contended:.0%}"]
            self.seen.clear()
        return self.shown


def main(
    tools: Annotated[list[str] | None, typer.Option("--tool", help="Another tool: NAME=PROGRAM.")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Length of a load.")] = 20.0,
) -> None:
    """Measure paceload, wrk and each other tool, and print a table in Markdown."""
    with suppress(PermissionError):  # other programs of a shared machine are not the question
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    catalogue = Catalogue()
    image = full_image(catalogue)
    artifacts = build_all(catalogue, [catalogue.server(name) for name in ("paceload", "calibration", "haproxy-return")])
    plan = plan_pinning(usable_cores())
    CPUS.update({"server": plan.server, "generator": plan.generator})
    sandbox = Sandbox(image, read_only={"/build": artifacts["paceload"].folder})
    chosen: dict[str, Tool] = {"paceload": paceload, "wrk": wrk}
    for name, _, program in (text.partition("=") for text in tools or []):
        chosen[name] = OTHERS[name](program)
    rig = Rig(sandbox, artifacts, plan)
    print("| tool | question | required | found | stolen | contended |\n| --- | --- | --- | --- | --- | --- |")
    with exclusive(MEASURING, "another wrkbook is measuring on this machine"):
        for name, tool in chosen.items():
            for row in rows_of(name, tool, sandbox, partial(rig.measured, tool), seconds):
                print("| " + " | ".join([*row, *rig.noise()]) + " |", flush=True)


if __name__ == "__main__":
    typer.run(main)
