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
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.results import analyse
from runners.analyse.revision_changes import change_of
from runners.contract.runner import contract_request
from runners.core.load import Load
from runners.core.project import cache_folder
from runners.core.records import Workload
from runners.core.request import Request
from runners.experiments.experiment import Experiment
from runners.generators.wrk import Wrk
from runners.machine.speed_probe import SpeedProbes
from runners.measure.conformance import build_all
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.this_machine import plan_here
from runners.measure.window import in_one_piece
from runners.store.ledger import new_run_id
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from runners.systems.sockets import hold_ports

PLAIN, AGAIN, BURNING = "burn+plain", "burn+plain-again", "burn+burning-less"
PATHS = {PLAIN: "/ping", AGAIN: "/ping", BURNING: "/burn/130ns"}
THRESHOLD = 0.02
CONNECTIONS = 40
FILE = cache_folder() / "detecting-changes.jsonl"
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
        found = {
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


def read(file: Path) -> list[dict[str, dict[str, Any]]]:
    """Return the tries: method → who is called slower, and the seconds for one comparison."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def timed(decide: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a method found (``slower``), and the time that it took for one of both comparisons."""
    started = time.monotonic()
    found = decide()
    return found | {"seconds": (time.monotonic() - started) / len(found["slower"])}


def by_wrkbook(minutes: float) -> dict[str, Any]:
    """Return whether each is a regression of plain, from blocks that have all three and the control; and what was planted.

    ``planted`` are the throughput and the CPU time per request of the burning one, over those of plain.
    """
    parameters: dict[str, Any] = {"systems": list(PATHS), "run_id": f"detecting-{new_run_id('standard')}"}
    parameters |= {"precision": THRESHOLD / 2, "budget_minutes": minutes}
    experiment = Experiment("01-ping", parameters, workloads=["ping"])
    experiment.measure()
    results = analyse(experiment.run)
    changes = {name: change_of(results, "ping", PLAIN, name) for name in (AGAIN, BURNING)}
    slower = {name: each is not None and each.decision(THRESHOLD) == "regression" for name, each in changes.items()}
    burning = changes[BURNING]
    return {"slower": slower, "planted": [burning.throughput.value, burning.cpu.value] if burning else []}


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


def in_markdown(tries: list[dict[str, dict[str, Any]]]) -> str:
    """Return the table: a row for each method, with exact 95 % intervals of the shares."""
    rows = []
    for method in tries[0] if tries else ():
        each = pd.DataFrame([{**one[method]["slower"], "seconds": one[method]["seconds"]} for one in tries])
        cells = [f"{each['seconds'].median():.0f}", *(share(each[name]) for name in (AGAIN, BURNING))]
        rows.append(f"| {method} | {' | '.join(cells)} |")
    heads = ["| method | seconds a comparison | false alarms | changes found |", "| --- | --- | --- | --- |"]
    known = [one["wrkbook"]["planted"] for one in tries if one["wrkbook"].get("planted")]
    throughput, cpu = np.exp(np.log(known).mean(axis=0)) if known else (math.nan, math.nan)
    planted = (
        f"Planted: {1 - throughput:.1%} less throughput, {cpu - 1:.1%} more CPU time per request (means of the tries)."
    )
    return "\n".join([*heads, *rows, "", planted])


def share(hits: pd.Series) -> str:
    """Return a share with its exact 95 % interval (Clopper and Pearson, Biometrika, 1934)."""
    count, of = int(hits.sum()), len(hits)
    bounds = stats.binomtest(count, of).proportion_ci(method="exact")
    return f"{count} of {of} ({bounds.low:.0%} to {bounds.high:.0%})"


if __name__ == "__main__":
    app()
