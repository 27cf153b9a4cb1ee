"""Compare windows in time slices with windows in one piece: throughput and CPU per request of each way to decode JSON.

Run it on a quiet machine: ``.venv/bin/python benchmarks/time_slices.py --blocks 30 --out slices.json``.

A block launches every system once. It then measures one window of each system at each slice length (0: in one piece), the lengths
in shuffled order, so that drift falls on all of them. The ratio of a length to one piece is formed within a block; the table holds
its geometric mean over blocks with a 95 % t interval. ``--from slices.json`` prints the table again.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.tables import load_results
from runners.core.errors import WrkbookError
from runners.core.project import MEASURING, exclusive
from runners.core.records import WINDOW
from runners.core.status_line import steps
from runners.experiments.experiment import Experiment
from runners.machine.facts import machine_facts
from runners.machine.speed_probe import SpeedProbes
from runners.measure.block import windows_in_time_slices
from runners.measure.conformance import build_all, full_image
from runners.measure.design import BlockSettings, Cell
from runners.measure.load import LoadContext
from runners.measure.this_machine import this_topology
from runners.measure.trial import Trial, begin
from runners.systems.process import ServerProcess
from runners.systems.sockets import hold_ports

OPERATIONS = 10
SCHEMA = "wrkbook.time-slices/1"
QUANTITIES = {"throughput_rps": "throughput", "cpu_per_request_s": "CPU per request"}


def main(
    blocks: Annotated[int, typer.Option(min=1, help="Blocks to measure.")] = 30,
    minutes: Annotated[float, typer.Option(help="Begin no further block after this time.")] = 30.0,
    window_s: Annotated[float, typer.Option(min=0.1, help="Length of a window, in seconds.")] = 0.7,
    lengths_ms: Annotated[str, typer.Option(help="Slice lengths; 0, one piece, is always measured.")] = "100,500",
    out: Annotated[
        Path, typer.Option(help="Where to keep the results; blocks are added to a file that is there.")
    ] = Path("time-slices.json"),
    source: Annotated[
        Path | None, typer.Option("--from", help="Print the table of these results; measure nothing.")
    ] = None,
) -> None:
    """Measure windows in slices of several lengths and in one piece, and print their ratios as a Markdown table."""
    if source is None:
        lengths = [0, *(int(word) for word in lengths_ms.split(",") if int(word))]
        measure(out, lengths, blocks, minutes, window_s)
    print(table(read(source or out)))


def measure(out: Path, lengths_ms: Sequence[int], blocks: int, minutes: float, window_s: float) -> None:
    """Measure blocks and add each to the results in `out`."""
    plan = Experiment("02-json-decode", {"slices": "0"}, workloads=["decode"], batch_sizes=[OPERATIONS]).run_plan
    results: dict[str, Any] = (
        read(out)
        if out.exists()
        else {
            "schema": SCHEMA,
            "machine": machine_facts(this_topology()),
            "lengths_ms": lengths_ms,
            "window_s": window_s,
            "rows": [],
        }
    )
    if (results["lengths_ms"], results["window_s"]) != (list(lengths_ms), window_s):
        raise SystemExit(f"{out} holds other slice lengths or windows: give another --out")
    done = max((row["block"] for row in results["rows"]), default=0)
    generators = {generator.name: generator for generator in plan.generators}
    image = full_image(plan.catalogue)
    tools = {name: generator.built_by for name, generator in generators.items() if generator.built_by}
    artifacts = build_all(plan.catalogue, [*plan.servers, *(plan.catalogue.server(name) for name in tools.values())])
    usable, deadline = os.sched_getaffinity(0), time.monotonic() + 60 * minutes
    os.sched_setaffinity(0, plan.pinning.housekeeping)
    try:
        with (
            exclusive(MEASURING, "another wrkbook is measuring on this machine"),
            SpeedProbes(plan.pinning.measured) as probes,
        ):
            builds = {name: artifacts[built].folder for name, built in tools.items()}
            settings = BlockSettings(
                design=plan.design,
                artifacts=artifacts,
                source=LoadContext(generators, image, plan.pinning, probes, builds),
                profile=replace(plan.profile, window_s=window_s),
                connections=plan.parameters.connections,
                threads=plan.threads,
                body_style=plan.parameters.body_style,
                seed=plan.parameters.seed,
            )
            for number in steps(range(done + 1, done + blocks + 1), "Blocks"):
                if time.monotonic() > deadline:
                    break
                results["rows"] += measure_block(settings, number, lengths_ms)
                write(out, results)
    finally:
        os.sched_setaffinity(0, usable)


def measure_block(settings: BlockSettings, number: int, lengths_ms: Sequence[int]) -> list[dict[str, Any]]:
    """Launch every system once and measure it once at each length; a system that fails has no rows of this block."""
    order = random.Random(f"{settings.seed}/{number}")
    cells = [cell for cell in settings.design.order(settings.seed, number, 0) if not cell.system.control]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wrkbook-slices-")))
        trials = launch(settings, number, cells, folder, stack)
        for trial in trials:
            trial.verify(settings, "before")
            trial.warm_up(settings, set())
            trial.record.windows.clear()
        lengths = order.sample(lengths_ms, len(lengths_ms))
        for length_ms in lengths:
            shuffled = order.sample([trial for trial in trials if trial.ready], sum(trial.ready for trial in trials))
            if length_ms:
                loads = [(trial.target, trial.load(settings)) for trial in shuffled]
                windows = windows_in_time_slices(
                    settings.source, loads, length_ms / 1000, order, f"{number}.{length_ms}"
                )
                for trial, window in zip(shuffled, windows, strict=True):
                    trial.add(settings, window)
            else:
                for trial in shuffled:
                    trial.measure(settings, WINDOW)
        for trial in trials:
            trial.verify(settings, "after")
    return [row for trial in trials for row in rows_of(trial, lengths)]


def launch(settings: BlockSettings, number: int, cells: Sequence[Cell], folder: Path, stack: ExitStack) -> list[Trial]:
    """Launch the system of each cell."""
    trials = [begin(settings, number, cell, folder) for cell in cells]
    for trial, port in zip(trials, stack.enter_context(hold_ports(len(trials))), strict=True):
        server = trial.cell.system.server
        process = ServerProcess(settings.artifacts[server], port, settings.cpus(trial.cell), 0)
        try:
            trial.launched(stack.enter_context(process))
        except WrkbookError as error:
            trial.fail("launch", error.problem)
    return trials


def rows_of(trial: Trial, lengths_ms: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row for each window of a trial, in the order of `lengths_ms`."""
    if trial.failed:
        print(f"{trial.cell.system.name} failed: {trial.record.failure}", file=sys.stderr)
        return []
    found = []
    for length_ms, (raw, result) in zip(lengths_ms, load_results(trial.record), strict=True):
        assert raw.kind == WINDOW
        assert bool(raw.slices) == (length_ms > 0)
        found.append(
            {
                "block": trial.record.block,
                "system": trial.cell.system.name,
                "length_ms": length_ms,
                "started_at": raw.started_at,
                "requests_count": result.requests_count,
                "errors_count": result.errors.total_count,
                "duration_s": result.duration_s,
                "throughput_rps": result.throughput_rps,
                "cpu_per_request_s": raw.server_cpu_s / max(1, result.requests_count),
                "slices_count": raw.slices.count if raw.slices else 0,
                "speed_hz": {cpu: seen.mean_hz for cpu, seen in raw.speed.items()},
            }
        )
    return found


def table(results: dict[str, Any]) -> str:
    """Return the ratios of each system and length to one piece, as a Markdown table."""
    rows = pd.DataFrame(results["rows"])
    if rows.empty:
        return "no block was measured"
    lines = [
        f"Windows of {results['window_s']:g} s, {OPERATIONS} operations; ratios to windows in one piece, 95 % t intervals over blocks.",
        "",
        f"| system | slices | blocks | {' | '.join(f'{name}, sliced / one piece' for name in QUANTITIES.values())} |",
        f"| --- | --- | --- | {' | '.join('---' for _ in QUANTITIES)} |",
    ]
    for system in dict.fromkeys(rows["system"].sort_values()):
        for length_ms in results["lengths_ms"]:
            if not length_ms:
                continue
            ratios = [log_ratios(rows[rows["system"] == system], length_ms, column) for column in QUANTITIES]
            cells = " | ".join(in_words(logs) for logs in ratios)
            lines.append(f"| {system} | {length_ms} ms | {len(ratios[0])} | {cells} |")
    return "\n".join(lines)


def log_ratios(rows: pd.DataFrame, length_ms: int, column: str) -> pd.Series:
    """Return the logarithm of each block's ratio of a length to one piece, of the blocks that have both."""
    by_length = rows.pivot_table(index="block", columns="length_ms", values=column).reindex(columns=[0, length_ms])
    return np.log(by_length[length_ms] / by_length[0]).replace([np.inf, -np.inf], np.nan).dropna()


def in_words(logs: pd.Series) -> str:
    """Return the geometric mean of ratios with its 95 % t interval."""
    if len(logs) < 2:
        return "not known" if logs.empty else f"{np.exp(logs.mean()):.4f}"
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.sem()
    value, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return f"{value:.4f} ({low:.4f} to {high:.4f})"


def read(path: Path) -> dict[str, Any]:
    """Read results.

    Raises
    ------
    SystemExit
        When there are none, or they are not of this benchmark.
    """
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from error
    if results.get("schema") != SCHEMA:
        raise SystemExit(f"{path} has the schema {results.get('schema')!r}, not {SCHEMA!r}")
    return results


def write(path: Path, results: dict[str, Any]) -> None:
    """Replace the results in `path`, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(results) + "\n", encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    typer.run(main)
