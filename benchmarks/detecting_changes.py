"""Show how often a change of 2 % is found, and how often one where there is none: by wrkbook, and by what people do today.

``.venv/bin/python benchmarks/detecting_changes.py measure --tries 40`` measures for hours, and goes on where it was interrupted.
``.venv/bin/python benchmarks/detecting_changes.py table`` prints the table from what there is.

Each try compares a small server with itself under another name, and with one that spends a little more CPU time on a request: 0.13 µs
at the highest clock, meant to be about 2 %. The table says how much it was. Three methods decide, one after the other within the
same minutes:

- wrkbook: both in the same blocks, with the control and the border of ``compare REVISION..``;
- best of three: wrk three times on the one, then three times on the other; slower if the best is lower by half of the threshold;
- ten runs: wrk ten times on the one, then ten times on the other; slower if the median is lower, and Mann and Whitney's test, which
  benchstat uses, has p < 0.05.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.comparisons import compare_sides, of_cell
from runners.analyse.results import analyse
from runners.analyse.usage import cpu_per_request
from runners.contract.runner import contract_request
from runners.core.load import Load
from runners.core.records import CONTROL, Interval, Workload
from runners.core.request import Request
from runners.experiments.experiment import Experiment
from runners.generators.wrk import Wrk
from runners.machine.speed_probe import SpeedProbes
from runners.measure.conformance import build_all
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.this_machine import plan_here
from runners.measure.window import in_one_piece
from runners.stats.verdicts import PRECISION_OF_THRESHOLD, regression
from runners.store.ledger import new_run_id
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from runners.systems.sockets import hold_ports

PLAIN, AGAIN, BURNING = "burn+plain", "burn+plain-again", "burn+burning-less"
PATHS = {PLAIN: "/ping", AGAIN: "/ping", BURNING: "/burn/130ns"}
THRESHOLD = 0.02
CONNECTIONS = 40
LEAST_BLOCKS = 10
METHODS = ("wrkbook", "best of three", "ten runs")
FILE = Path(__file__).with_name("detecting_changes.jsonl")
Rates = dict[str, list[float]]
app = typer.Typer(help=__doc__, add_completion=False)


@app.command()
def measure(
    tries: Annotated[int, typer.Option(min=1, help="Tries in all, with those that the file holds.")] = 40,
    minutes: Annotated[float, typer.Option(help="Of wrkbook, for each try at most.")] = 10.0,
    seconds: Annotated[
        float, typer.Option(help="Of each of the three runs of wrk; each of the ten takes a third.")
    ] = 15.0,
    file: Annotated[Path, typer.Option(help="Where the tries are kept, one a line.")] = FILE,
) -> None:
    """Measure until the file holds so many tries."""
    catalogue = Catalogue()
    artifacts = build_all(catalogue, [catalogue.server("burn"), catalogue.server("wrk")])
    for number in range(len(read(file)), tries):
        print(f"try {number + 1} of {tries}", file=sys.stderr, flush=True)
        found: dict[str, Any] = {
            "began_at": datetime.now(UTC).isoformat(timespec="minutes"),
            "wrkbook": timed(lambda: by_wrkbook(minutes)),
            "best of three": timed(lambda: {"slower": by_best_of_three(sequential(artifacts, 3, seconds))}),
            "ten runs": timed(lambda: {"slower": by_ten_runs(sequential(artifacts, 10, seconds / 3))}),
        }
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(found) + "\n")
    table(file)


@app.command()
def table(file: Annotated[Path, typer.Option(help="Where the tries are kept.")] = FILE) -> None:
    """Print the table of the tries that the file holds."""
    print(in_markdown(read(file)))


def read(file: Path) -> list[dict[str, Any]]:
    """Return the tries: method → who is called slower, and the seconds for one comparison."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def timed(decide: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a method found (``slower``), and the time that it took for one of both comparisons."""
    started = time.monotonic()
    found = decide()
    return {"seconds": (time.monotonic() - started) / len(found["slower"])} | found


def by_wrkbook(minutes: float) -> dict[str, Any]:
    """Return who of the two is decided to be slower than plain, after how many seconds, and what was planted.

    All three are in the same blocks, with the control, until both are decided. Each is decided after the first block from the tenth on
    that decides it, as ``compare REVISION..`` does; else it stays undecided. ``planted`` are the throughput and the CPU time per request
    of the burning one, over those of plain.
    """
    parameters: dict[str, Any] = {"systems": list(PATHS), "run_id": f"detecting-{new_run_id('standard')}"}
    parameters |= {
        "slices": "auto-20",
        "precision": THRESHOLD * PRECISION_OF_THRESHOLD,
        "budget_minutes": minutes,
        "max_blocks": 1000,
    }
    experiment = Experiment("01-ping", parameters, workloads=["ping"])
    plan = experiment.run_plan
    named = {cell.system.name: cell.system for cell in plan.design.cells}
    pairs = ((named[AGAIN], named[PLAIN]), (named[BURNING], named[PLAIN]))
    experiment.run_plan = replace(plan, design=replace(plan.design, pairs=pairs))
    experiment.measure()
    results = analyse(experiment.run)
    more_is_better = [results.throughputs, 1 / cpu_per_request(results.usage)]
    blocks = sorted(set(results.throughputs.index.get_level_values("block")))

    def ratio(amounts: pd.Series, after: str, until: int) -> Interval:
        sides = (of_cell(amounts, system, "ping").loc[:until] for system in (after, PLAIN))
        return compare_sides(*sides).interval

    decided, seconds = dict[str, str](), dict[str, float]()
    for system in (AGAIN, BURNING):
        for count, block in enumerate(blocks[LEAST_BLOCKS - 1 :], LEAST_BLOCKS):
            sides = [ratio(amounts, system, block) for amounts in more_is_better]
            decided[system] = regression(sides, ratio(results.throughputs, CONTROL, block), THRESHOLD)
            seconds[system] = results.measured_s * count / len(blocks)
            if decided[system] != "undecided":
                break
    throughput, per_cpu_second = (ratio(amounts, BURNING, blocks[-1]).value for amounts in more_is_better)
    return {
        "slower": {system: decision == "regression" for system, decision in decided.items()},
        "decided": decided,
        "seconds": fmean(seconds.values()),
        "planted": [throughput, 1 / per_cpu_second],
    }


def sequential(artifacts: dict[str, Artifact], count: int, seconds: float) -> Rates:
    """Return the throughputs of so many runs of wrk on each system, one system after the other, each launched once."""
    plan, found = plan_here(), Rates()
    source = LoadContext(
        {"wrk": Wrk()}, artifacts["burn"].image, plan, SpeedProbes([]), {"wrk": artifacts["wrk"].folder}
    )
    for system, path in PATHS.items():
        request = contract_request(path, Workload("ping"), "pretty", 1)
        with (
            tempfile.TemporaryDirectory() as folder,
            hold_ports(1) as (port,),
            ServerProcess(artifacts["burn"], port, list(plan.server)) as process,
        ):
            target = prepared(process, request, Path(folder))
            load = Load(CONNECTIONS, len(plan.generator), seconds)
            windows = [in_one_piece(source, target, load, "window") for _ in range(count)]
        found[system] = [Wrk().parse(window.stdout, window.load).throughput_rps for window in windows]
    return found


def prepared(process: ServerProcess, request: Request, folder: Path) -> LoadTarget:
    """Return the target of a load whose files are in a folder."""
    Wrk().prepare(request, folder)
    return LoadTarget(process, request, "wrk", folder, None)


def by_best_of_three(rates: Rates) -> dict[str, bool]:
    """Return whether the best run of each is lower than that of plain by half of the threshold."""
    best = {system: max(each) for system, each in rates.items()}
    return {name: best[name] < best[PLAIN] * (1 - THRESHOLD / 2) for name in (AGAIN, BURNING)}


def by_ten_runs(rates: Rates) -> dict[str, bool]:
    """Return whether the median of each is lower than that of plain, and Mann and Whitney's test tells them apart."""
    return {
        name: bool(
            np.median(rates[name]) < np.median(rates[PLAIN])
            and stats.mannwhitneyu(rates[name], rates[PLAIN]).pvalue < 0.05
        )
        for name in (AGAIN, BURNING)
    }


def in_markdown(tries: list[dict[str, Any]]) -> str:
    """Return the table: a row for each method, with exact 95 % intervals of the shares."""
    rows = []
    for method in METHODS if tries else ():
        each = pd.DataFrame([{**one[method]["slower"], "seconds": one[method]["seconds"]} for one in tries])
        cells = [f"{each['seconds'].median():.0f}", *(share(each[name]) for name in (AGAIN, BURNING))]
        rows.append(f"| {method} | {' | '.join(cells)} |")
    heads = ["| method | seconds a comparison | false alarms | changes found |", "| --- | --- | --- | --- |"]
    undecided = [str(sum(one["wrkbook"]["decided"][name] == "undecided" for one in tries)) for name in (AGAIN, BURNING)]
    known = [one["wrkbook"]["planted"] for one in tries if one["wrkbook"].get("planted")]
    throughput, cpu = np.exp(np.log(known).mean(axis=0)) if known else (math.nan, math.nan)
    planted = (
        f"Planted: {1 - throughput:.1%} less throughput, {cpu - 1:.1%} more CPU time per request (means of the tries)."
    )
    open_ones = f"wrkbook left {undecided[0]} of the equal and {undecided[1]} of the slower ones undecided."
    return "\n".join([*heads, *rows, "", planted, open_ones]).replace("%", " %")


def share(hits: pd.Series) -> str:
    """Return a share with its exact 95 % interval (Clopper and Pearson, Biometrika, 1934)."""
    count, of = int(hits.sum()), len(hits)
    bounds = stats.binomtest(count, of).proportion_ci(method="exact")
    return f"{count} of {of} ({bounds.low:.0%} to {bounds.high:.0%})"


if __name__ == "__main__":
    app()
