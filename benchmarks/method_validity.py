"""Show how often the method is right: about equal systems, and about one that differs by a known amount.

``.venv/bin/python benchmarks/method_validity.py simulate`` prints the simulated tables of docs/validity.md, in about a minute.
``.venv/bin/python benchmarks/method_validity.py measure --minutes 60`` prints a row of its measured table. It measures one small
server under four names: plain, plain again, the control of plain, and burning, which spends nominally 0.35 µs more on a request.
Then it decides as a run would, many times. ``--minutes 0 --run-id ID`` decides again, from the blocks that are there.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.comparisons import Sides, against_leader, compare_sides, launch_throughputs, of_cell
from runners.analyse.tables import build_tables
from runners.core.records import CONTROL, Interval
from runners.experiments.experiment import Experiment
from runners.stats.estimates import critical_value
from runners.stats.verdicts import band, noise_floor, precision_reached, verdict
from runners.store.ledger import Run, new_run_id

Floats = NDArray[np.float64]
PLAIN, AGAIN, BURNING = "burn+plain", "burn+plain-again", "burn+burning"
BLOCKS, PRECISION = (4, 6, 10, 20), 0.02
LEAST, MOST, APART = 10, 40, 5
"""Blocks of a run, at least and at most, and from the first block of a measured run to that of the next."""
_SAID = ("slower", "equivalent")
app = typer.Typer(help=__doc__, add_completion=False)


@app.command()
def simulate(
    runs: Annotated[int, typer.Option(min=10, help="Simulated runs of each row.")] = 10_000,
) -> None:
    """Print the simulated tables."""
    draw = np.random.default_rng(1)
    for found in (coverage(draw, runs), stopping(draw, runs), whole_runs(draw, runs), widths()):
        print(_markdown(found), end="\n\n")


def launches(draw: np.random.Generator, runs: int, sd: Floats, blocks: int, correlation: float = 0.0) -> Floats:
    """Draw log throughputs of launches, run × system × block, AR(1) from block to block; ratios cancel what a block does to all."""
    values = draw.normal(size=(runs, len(sd), blocks))
    for block in range(1, blocks):
        values[:, :, block] = correlation * values[:, :, block - 1] + np.sqrt(1 - correlation**2) * values[:, :, block]
    return values * sd[:, None]


def to_leader(logs: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return each run's leader, and each system's mean log ratio to it with its standard error (0 for the leader itself).

    As :func:`runners.analyse.comparisons.against_leader`, for many runs at once; a test holds the two to be the same.
    """
    leader = logs.mean(axis=2).argmax(axis=1)
    apart = logs - logs[np.arange(len(logs)), leader][:, None]
    return leader, apart.mean(axis=2), apart.std(axis=2, ddof=1) / np.sqrt(logs.shape[2])


def held(logs: Floats, value: float) -> float:
    """Return in which share of the runs with equal systems all intervals hold the truth."""
    _, mean, error = to_leader(logs)
    return float((np.abs(mean) <= value * error).all(axis=1).mean())


def coverage(draw: np.random.Generator, runs: int) -> pd.DataFrame:
    """How often intervals of equal systems hold the truth: of a pair chosen before measuring, and all of a family at once."""
    rows = []
    for systems, blocks in itertools.product((2, 3, 5, 8), BLOCKS):
        freedom = blocks - 1
        equal, unequal = np.full(systems, 0.02), np.geomspace(0.01, 0.04, systems)
        values = {"Bonferroni": critical_value(systems, freedom), "Dunnett": dunnett_value(draw, systems, freedom)}
        values["Tukey"] = float(stats.studentized_range.ppf(0.95, systems, freedom)) / np.sqrt(2)
        sides = {"equal": launches(draw, runs, equal, blocks), "unequal": launches(draw, runs, unequal, blocks)}
        pair = held(sides["unequal"][:, [0, -1]], critical_value(2, freedom))
        row: dict[str, Any] = {"systems": systems, "blocks": blocks, "one pair": f"{pair:.1%}"}
        for variances, logs in sides.items():
            row |= {f"{name}, {variances}": f"{held(logs, value):.1%}" for name, value in values.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def dunnett_value(draw: np.random.Generator, systems: int, freedom: int, draws: int = 200_000) -> float:
    """Estimate Dunnett's two-sided 95 % critical value (JASA 50, 1955): all systems against one chosen before measuring."""
    means = draw.normal(size=(draws, systems))
    largest = np.abs(means[:, 1:] - means[:, :1]).max(axis=1) / np.sqrt(2 * draw.chisquare(freedom, draws) / freedom)
    return float(np.quantile(largest, 0.95))


def stopping(draw: np.random.Generator, runs: int) -> pd.DataFrame:
    """How often all intervals of a family of equals hold the truth in a run that stops as soon as they are narrow."""
    rows = []
    for systems, least in itertools.product((2, 5), (4, 6, 10)):
        row: dict[str, Any] = {"systems": systems, "stops from block": least}
        for sd in (0.005, 0.01, 0.02, 0.03):
            logs = launches(draw, runs, np.full(systems, sd), MOST)
            used, right = blocks_used(logs, least), 0.0
            for number in np.unique(used):
                stopped = logs[used == number, :, :number]
                right += held(stopped, critical_value(systems, number - 1)) * len(stopped) / runs
            row[f"launches vary by {sd:.1%}"] = f"{right:.1%} ({np.median(used):.0f})"
        rows.append(row)
    return pd.DataFrame(rows)


def blocks_used(logs: Floats, least: int, control: Floats | None = None) -> NDArray[np.int64]:
    """Return after how many blocks each run stops: when every interval is within `PRECISION`, or at the last block."""
    systems, used = logs.shape[1], np.full(len(logs), logs.shape[2])
    for number in range(logs.shape[2] - 1, least - 1, -1):
        _, _, error = to_leader(logs[:, :, :number])
        arm = critical_value(systems, number - 1) * error.max(axis=1)
        if control is not None:
            own = control[:, :number].std(axis=1, ddof=1) / np.sqrt(number)
            arm = np.maximum(arm, critical_value(2, number - 1) * own)
        used[np.sinh(arm) <= PRECISION] = number
    return used


def whole_runs(draw: np.random.Generator, runs: int) -> pd.DataFrame:
    """What whole runs say of a system, its equal and a slower one: until every ratio is known to ±2 %, then verdicts."""
    rows = []
    for slower, sd, correlation in itertools.product((0.05, 0.02), (0.01, 0.03), (0.0, 0.3, 0.6)):
        logs = launches(draw, runs, np.full(4, sd), MOST, correlation)
        truth = np.log([1, 1, 1 - slower])
        row = {"slower by": f"{slower:.0%}", "launches vary by": f"{sd:.0%}", "correlated": correlation}
        rows.append(row | said(logs[:, :3] + truth[:, None], logs[:, 3] - logs[:, 0], truth))
    return pd.DataFrame(rows)


def said(logs: Floats, control: Floats, truth: Floats) -> dict[str, str]:
    """Return what runs of an original, its equal and a slower system say, and how often that is right."""
    used, found = blocks_used(logs, LEAST, control), []
    for run, number in enumerate(used):
        (leader,), (means,), (errors,) = to_leader(logs[run : run + 1, :, :number])
        arms = critical_value(3, number - 1) * errors
        own = control[run, :number]
        floor = noise_floor(_interval(own.mean(), critical_value(2, number - 1) * own.std(ddof=1) / np.sqrt(number)))
        verdicts: list[str] = [verdict(_interval(mean, arm), floor) for mean, arm in zip(means, arms, strict=True)]
        verdicts[leader] = "leader"
        right = (np.abs(means - truth + truth[leader]) <= arms + 1e-12).all()
        found.append(
            [number, np.sinh(arms.max()), right, "slower" in verdicts[:2], *(verdicts[2] == what for what in _SAID)]
        )
    blocks, half, *shares = np.array(found, dtype=float).T
    names = ["intervals hold", "an equal called slower", *(f"the slower one called {what}" for what in _SAID)]
    rates = {name: f"{share.mean():.1%}" for name, share in zip(names, shares, strict=True)}
    return {"blocks": f"{np.median(blocks):.0f}", "half-width": f"±{np.median(half):.1%}"} | rates


def widths() -> pd.DataFrame:
    """Return how long the arms of an interval are, in standard deviations of the logarithm of a launch's throughput."""
    return pd.DataFrame(
        {"systems": systems}
        | {f"{n} blocks": f"{critical_value(systems, n - 1) * np.sqrt(2 / n):.1f}" for n in (3, *BLOCKS, MOST)}
        for systems in (2, 3, 5, 8)
    )


@app.command()
def measure(
    minutes: Annotated[float, typer.Option(help="How long to measure; 0: only decide.")] = 25.0,
    run_id: Annotated[str, typer.Option(help="An earlier measurement, to go on with or to decide about.")] = "",
    precision: Annotated[float, typer.Option(help="Half-width at which a run stops.")] = PRECISION,
    most: Annotated[int, typer.Option(min=2, help="Blocks of a run, at most.")] = 30,
) -> None:
    """Measure the burning server, decide many times, and print how often that was right."""
    run = Run("01-ping", run_id or f"validity-{new_run_id('standard')}")
    if minutes:
        parameters: dict[str, Any] = {"systems": [PLAIN, AGAIN, BURNING], "run_id": run.run_id}
        parameters |= {"max_blocks": 10_000, "precision": 1e-6, "budget_minutes": minutes}
        Experiment(run.experiment, parameters, workloads=["ping"]).measure()
    throughputs = launch_throughputs(build_tables(run.trials()).trials)
    sides = {system: of_cell(throughputs, system, "ping") for system in (PLAIN, AGAIN, BURNING, CONTROL)}
    print(f"run {run.run_id}\n\n{measured_row(sides, precision, most)}")


def measured_row(sides: Sides, precision: float, most: int) -> str:
    """Return one row, with its head, about runs decided from these launches."""
    blocks = sorted(set.intersection(*(set(side.index) for side in sides.values())))
    if len(blocks) < 2:
        raise SystemExit(
            "fewer than two blocks hold a sound launch of every system: measure for longer, or on a quieter machine"
        )
    starts = range(0, max(1, len(blocks) - most + 1), APART)
    decided = pd.DataFrame(decide(sides, blocks[start : start + most], precision) for start in starts)
    independent = max(1, int(len(blocks) / decided["blocks"].median()))
    row: dict[str, Any] = {"blocks in all": len(blocks)}
    for name, system in {"burning / plain": BURNING, "control / plain": CONTROL}.items():
        ratio = compare_sides(sides[system], sides[PLAIN]).interval
        row[name] = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"
    row["correlation from block to block"] = f"{np.log(sides[AGAIN] / sides[PLAIN]).autocorr():.2f}"
    row |= {
        "runs": f"{len(decided)}, {independent} without common blocks",
        "blocks of a run": f"{decided['blocks'].median():.0f}",
        "half-width, band": f"±{decided['reached'].median():.1%}, ±{decided['band'].median():.1%}",
        "an equal called slower": rate(decided["false"], independent),
        "burning called slower": rate(decided["detected"], independent),
    }
    return _markdown(pd.DataFrame([row]))


def decide(sides: Sides, blocks: Sequence[int], precision: float) -> dict[str, Any]:
    """Decide as a run would that measures just these blocks, as far as it needs them."""
    for count in range(min(LEAST, len(blocks)), len(blocks) + 1):
        now = {system: side[side.index.isin(blocks[:count])] for system, side in sides.items()}
        control = compare_sides(now.pop(CONTROL), now[PLAIN]).interval
        found = {system: each.interval for system, each in against_leader(now).items()}
        reached = precision_reached([control, *found.values()])
        if reached <= precision:
            break
    floor = noise_floor(control)
    verdicts = {system: verdict(each, floor) for system, each in found.items()}
    return {
        "blocks": count,
        "reached": reached,
        "band": band(floor),
        "false": "slower" in (verdicts.get(PLAIN), verdicts.get(AGAIN)),
        "detected": verdicts.get(BURNING) == "slower",
    }


def _interval(log: float, arm: float) -> Interval:
    return Interval(*np.exp([log, log - arm, log + arm]).tolist())


def _markdown(frame: pd.DataFrame) -> str:
    rows = [frame.columns, ["---"] * len(frame.columns), *frame.to_numpy(dtype=object)]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def rate(hits: pd.Series, independent: int) -> str:
    """Return a rate with its exact 95 % interval, as if only the runs without common blocks had been decided."""
    share = float(hits.mean())
    bounds = stats.binomtest(round(share * independent), independent).proportion_ci(method="exact")
    return f"{share:.0%} ({bounds.low:.0%} to {bounds.high:.0%})"


if __name__ == "__main__":
    app()
