"""Show what the length of a turn does to throughputs, to their ratios, and to how much these scatter.

Run it on a quiet machine: ``.venv/bin/python benchmarks/turn_length.py --minutes 15``.

It measures the ways to decode ten operations again and again, block by block, each with another length of the turns (0: windows in
one piece), in shuffled order. Then it prints for each length the median speed of the CPU and, for each way to decode, the throughput
as measured, its ratio to the first way with a 95 % interval over blocks, and how far the logarithm of that ratio scatters from one
window to the next (standard deviation). Nothing is adjusted.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.tables import build_tables
from runners.experiment import Experiment
from runners.ledger import Run, new_run_id

EXPERIMENT, OPERATIONS = "turn-length", 10


def main(
    minutes: Annotated[float, typer.Option(help="How long to measure.")] = 15.0,
    lengths_ms: Annotated[str, typer.Option(help="Lengths of a turn; 0: windows in one piece.")] = "20,100,500,0",
    run_id: Annotated[str, typer.Option(help="Go on with, or only evaluate (--minutes 0), a measurement.")] = "",
) -> None:
    """Measure with turns of several lengths, and print how they compare."""
    name, lengths = run_id or new_run_id("standard"), [int(word) for word in lengths_ms.split(",")]
    order, deadline, blocks = random.Random(name), time.monotonic() + 60 * minutes, 0
    while time.monotonic() < deadline:
        blocks += 1
        for length_ms in order.sample(lengths, len(lengths)):
            measure_block(f"{name}-{length_ms}ms", length_ms, blocks)
    for length_ms in lengths:
        report(length_ms, Run(EXPERIMENT, f"{name}-{length_ms}ms"))


def measure_block(run_id: str, length_ms: int, blocks: int) -> None:
    """Go on with a run until it has so many blocks."""
    given = {"turn_ms": length_ms, "run_id": run_id, "max_blocks": blocks, "min_blocks": blocks}
    Experiment(EXPERIMENT, given, workloads=["decode"], batch_sizes=[OPERATIONS]).measure()


def report(length_ms: int, run: Run) -> None:
    """Print what a length of the turns gave."""
    trials = build_tables(run.trials()).trials
    windows = trials[~trials["warmup"].astype(bool) & ~trials["void"].astype(bool)]
    rates = windows.pivot_table(index=["block", "window"], columns="system", values="throughput_rps")
    first = next(name for name in windows["system"] if name != "placebo")
    speed = windows["speed_ratio"].median()
    what = f"turns of {length_ms} ms" if length_ms else "in one piece"
    print(f"\n{what}: {rates.index.nunique()} windows in {windows['block'].nunique()} blocks, CPU at {speed:.0%}")
    for system in rates:
        away: pd.Series = np.log(rates[system] / rates[first]).dropna()
        blocks = away.groupby("block").mean()
        half = stats.t.ppf(0.975, len(blocks) - 1) * blocks.sem() if len(blocks) > 1 else np.nan
        ratio, low, high = np.exp([blocks.mean(), blocks.mean() - half, blocks.mean() + half])
        rate = f"{rates[system].mean():9,.0f} requests/s"
        print(f"  {system:20} {rate}  {ratio:.4f} × ({low:.4f} to {high:.4f})  scatter {away.std():.3f}")


if __name__ == "__main__":
    typer.run(main)
