"""Show whether the method finds a difference of known size, and none where there is none.

Run it for as long as you can spare: ``.venv/bin/python benchmarks/method_validity.py --minutes 25``.

It measures blocks of one small server under four names: plain, plain again, the A/A control, and burning, which spends
0.35 µs of CPU time more on each request. Then it lets the method decide, as a run would: from every fifth block on it takes
blocks until every ratio is known to the precision asked for, or it has as many as a run may have, and gives verdicts with the noise
floor of just these blocks.
Plain against plain again must not be called different (false positives); plain against burning must (detections). How large
that difference really is, all blocks together say.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from scipy import stats
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.speed import FOUND, launches, with_speed

from runners.analyse.estimates import compare
from runners.analyse.tables import build_tables
from runners.analyse.verdicts import holm, noise_floor, precision_reached, verdict
from runners.experiment import Experiment
from runners.folders import PROCESSED
from runners.ledger import Run, new_run_id
from runners.records import PLACEBO, Interval

PLAIN, AGAIN, BURNING = "burn+plain", "burn+plain-again", "burn+burning"
PAIRS = ((PLAIN, AGAIN), (PLAIN, BURNING), (AGAIN, BURNING))
RESAMPLES = 2_000


def main(
    minutes: Annotated[float, typer.Option(help="How long to measure.")] = 25.0,
    precision: Annotated[float, typer.Option(help="Half-width at which a run stops.")] = 0.02,
    least: Annotated[int, typer.Option(min=2, help="Blocks of a run, at least.")] = 5,
    most: Annotated[int, typer.Option(help="Blocks of a run, at most.")] = 30,
    apart: Annotated[int, typer.Option(help="Blocks from the first one of a run to that of the next.")] = 5,
    run_id: Annotated[
        str, typer.Option(help="Go on with, or only evaluate (--minutes 0), an earlier measurement.")
    ] = "",
) -> None:
    """Measure, let the method decide many times, and print how often it was right."""
    known = Run("method-validity", run_id or new_run_id("standard"))
    if minutes:
        measure_blocks(known, minutes)
    windows = sound_windows(known)
    blocks = sorted(windows["block"].unique())
    if len(blocks) < most:
        raise SystemExit(
            f"{len(blocks)} blocks were measured, a run takes up to {most}: measure longer, or give a smaller --most"
        )
    starts = range(0, len(blocks) - most + 1, apart)
    decided = [
        decide(windows, blocks[start : start + most], precision, least)
        for start in tqdm(starts, desc="Deciding", leave=False)
    ]
    report(known, windows, pd.DataFrame(decided), len(blocks))


def measure_blocks(known: Run, minutes: float) -> None:
    """Measure for so many minutes, without a stop for precision."""
    parameters: dict[str, Any] = {"systems": [PLAIN, AGAIN, BURNING], "run_id": known.run_id}
    parameters |= {"max_blocks": 10_000, "precision": 1e-6, "budget_minutes": minutes}
    Experiment(known.experiment, parameters, workloads=["ping"]).measure()


def sound_windows(known: Run) -> pd.DataFrame:
    """The windows of trials that no check declared void."""
    trials = build_tables(known.trials()).trials
    return trials[~trials["warmup"].astype(bool) & ~trials["void"].astype(bool)]


def decide(windows: pd.DataFrame, blocks: list[int], precision: float, least: int) -> dict[str, Any]:
    """What a run says that measures just these blocks, as far as it needs them."""
    for count in range(least, len(blocks) + 1):
        found = ratios(windows[windows["block"].isin(blocks[:count])])
        reached = precision_reached(ratio.interval for ratio in found.values())
        if reached <= precision:
            break
    floor = noise_floor([found[PLACEBO, PLAIN].interval])
    adjusted = holm([found[pair].p_value for pair in PAIRS])
    said = {
        f"{first} / {second}": verdict(found[first, second].interval, floor, p)
        for (first, second), p in zip(PAIRS, adjusted, strict=True)
    }
    return {"blocks": count, "reached": reached, "floor": floor, **said}


def ratios(windows: pd.DataFrame) -> dict[tuple[str, str], Any]:
    """Every pair's comparison, throughputs adjusted within these windows alone."""
    rows = with_speed(windows.drop(columns=FOUND))
    sides = {system: launches(cell) for system, cell in rows.groupby("system")}
    found = {}
    for first, second in (*PAIRS, (PLACEBO, PLAIN)):
        common = sorted(sides[first].keys() & sides[second].keys())
        values = [[sides[system][block] for block in common] for system in (first, second)]
        found[first, second] = compare(values[0], values[1], resamples=RESAMPLES)
    return found


def report(known: Run, windows: pd.DataFrame, decided: pd.DataFrame, blocks_count: int) -> None:
    """Print the rates, and write them beside the processed data."""
    truth = ratios(windows)
    independent = max(1, int(blocks_count / decided["blocks"].median()))
    false = decided[f"{PLAIN} / {AGAIN}"].isin(["faster", "slower"]).mean()
    right = (decided[f"{PLAIN} / {BURNING}"] == "faster").mean()
    wrong = (decided[f"{PLAIN} / {BURNING}"] == "slower").mean()
    found = {
        "run": known.run_id,
        "blocks": blocks_count,
        "runs decided": len(decided),
        "runs without common blocks": independent,
        "blocks of a run, median": float(decided["blocks"].median()),
        "half-width reached, median": float(decided["reached"].median()),
        "noise floor, median": float(decided["floor"].median()),
        "plain / plain again": _text(truth[PLAIN, AGAIN].interval),
        "plain / burning": _text(truth[PLAIN, BURNING].interval),
        "false positives": _rate(false, independent),
        "detections": _rate(right, independent),
        "detections in the wrong direction": _rate(wrong, independent),
    }
    for name, value in found.items():
        print(f"{name:36} {value:.4g}" if isinstance(value, float) else f"{name:36} {value}")
    target = PROCESSED / known.experiment / f"{known.run_id}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"written to {target}")


def _text(interval: Interval) -> str:
    return f"{interval.value:.4f} ({interval.low:.4f} to {interval.high:.4f})"


def _rate(rate: float, independent: int) -> str:
    """A rate with its exact 95 % interval, as if only the runs without common blocks had been decided."""
    hits = round(rate * independent)
    bounds = stats.binomtest(hits, independent).proportion_ci(method="exact")
    return f"{rate:.1%} (95 % interval for {independent} runs: {bounds.low:.1%} to {bounds.high:.1%})"


if __name__ == "__main__":
    typer.run(main)
