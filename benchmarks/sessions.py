"""How often an interval over sessions holds the next session: simulated, and over a ledger.

``.venv/bin/python benchmarks/sessions.py simulate`` draws sessions whose spread is known. A session's true ratio lies around the common
one with a standard deviation τ; its blocks scatter around that. The next session is drawn likewise, and its measured ratio is held against
each interval that the sessions before it state. ``.venv/bin/python benchmarks/sessions.py record`` does the same with the sessions that
were measured on this machine, ``record --reference`` with those that came with the project.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.pooled import Launches, ratio_over
from runners.analyse.session_record import session_record
from runners.core.project import RAW, experiments
from runners.core.records import Interval
from runners.present.sessions import record_table
from runners.stats.estimates import compare, critical_value
from runners.stats.pooling import Estimate, Pooled, pool
from runners.stats.verdicts import verdict

app = typer.Typer(help=__doc__, no_args_is_help=True)

COUNTS = (3, 5, 8)
LAUNCHES = 0.02
"""Standard deviation of a block's ratio around that of its session."""
# Name → standard deviation between sessions, degrees of freedom of its distribution (infinite: normal), blocks of a session.
CASES = {
    "none": (0.0, math.inf, (10,)),
    "1 %": (0.01, math.inf, (10,)),
    "5 %": (0.05, math.inf, (10,)),
    "5 %, heavy tails (t with 3 degrees of freedom)": (0.05, 3.0, (10,)),
    "1 %, sessions of 4 blocks": (0.01, math.inf, (4,)),
    "1 %, sessions of 4, 10 and 30 blocks": (0.01, math.inf, (4, 10, 30)),
}
SYSTEMS = 6


def drawn(draw: np.random.Generator, between: float, freedom: float, blocks: int) -> Estimate:
    """Return the ratio that one session measures, where the common one is 1."""
    shift = (
        draw.standard_normal() if math.isinf(freedom) else draw.standard_t(freedom) * math.sqrt((freedom - 2) / freedom)
    )
    ratios = np.exp(between * shift + LAUNCHES * draw.standard_normal(blocks))
    return Estimate(compare(ratios, np.ones(blocks)).interval, blocks)


def stated(sessions: list[Estimate], found: Pooled) -> dict[str, Interval]:
    """Return the intervals that might be printed after some sessions."""
    count = found.sessions_count
    t, narrower = critical_value(2, count - 1), critical_value(2, count - 2)
    of_mean = (math.log(found.mean.high / found.mean.value) / t) ** 2
    true = narrower * math.sqrt(of_mean + math.log1p(found.between) ** 2)
    wide = narrower * found.standard_error
    value = found.mean.value
    return {
        "the last session's own": sessions[-1].interval,
        "mean (Hartung-Knapp)": found.mean,
        "further true value, k - 2": Interval(value, value * math.exp(-true), value * math.exp(true)),
        "further session, k - 2": Interval(value, value * math.exp(-wide), value * math.exp(wide)),
        "further session, k - 1": found.further,
    }


def coverage(draw: np.random.Generator, tries: int) -> pd.DataFrame:
    """Return a row for each case, number of sessions and interval: the share that held the next session, and the half-width."""
    rows = []
    for case, (between, freedom, blocks) in CASES.items():
        for count in COUNTS:
            held: dict[str, list[tuple[bool, float]]] = {}
            for _ in range(tries):
                lengths = draw.choice(blocks, count + 1)
                *sessions, following = [drawn(draw, between, freedom, int(length)) for length in lengths]
                pooled = pool(sessions)
                assert pooled is not None
                for name, each in stated(sessions, pooled).items():
                    inside = each.low <= following.interval.value <= each.high
                    held.setdefault(name, []).append((inside, math.log(each.high / each.low) / 2))
            for name, found in held.items():
                inside, arms = np.array(found, dtype=float).T
                rows.append((case, count, name, inside.mean(), float(np.median(np.expm1(arms)))))
    return pd.DataFrame(rows, columns=["between", "sessions", "interval", "held", "half_width"])


def verdicts(draw: np.random.Generator, tries: int) -> pd.DataFrame:
    """Return how often one of some equals is called slower than the leader, and how often one that is slower is found.

    Of one session, and over several; a block's throughputs scatter so that its ratios do as in :func:`coverage`.
    """
    rows = []
    for between in (0.0, 0.01, 0.05):
        for count in (1, *COUNTS):
            wrong = sum(_slower(draw, between, count, 0.0) for _ in range(tries)) / tries
            right = sum(_slower(draw, between, count, 0.10, systems=2) for _ in range(tries)) / tries
            rows.append((between, count, wrong, right))
    return pd.DataFrame(rows, columns=["between", "sessions", "equals_called_slower", "a_tenth_slower_found"])


def _slower(draw: np.random.Generator, between: float, count: int, slower: float, systems: int = SYSTEMS) -> bool:
    names = [f"s{place}" for place in range(systems)]
    sessions = []
    for _ in range(count):
        logs = (between * draw.standard_normal(systems) + LAUNCHES * draw.standard_normal((10, systems))) / math.sqrt(2)
        logs[:, 0] += math.log(1 - slower)
        index = pd.MultiIndex.from_product([range(10), names], names=["block", "system"])
        frame = pd.Series(np.exp(logs).ravel(), index).to_frame("rps").assign(workload="w")
        sessions.append(frame.set_index("workload", append=True)["rps"])
    means = np.log(pd.concat(sessions)).groupby("system").mean()
    leader = str(means.idxmax())
    known = [Launches(each) for each in sessions]
    ratios = [ratio_over(known, (name, "w"), (leader, "w"), systems) for name in names if name != leader]
    return any(verdict(each.interval, 0.0) == "slower" for each in ratios)


@app.command()
def simulate(
    tries: Annotated[int, typer.Option(min=1, help="Series of sessions for each case.")] = 4000,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 1,
) -> None:
    """Print how often each interval holds the next session, and how often verdicts are right, as tables for docs/validity.md."""
    draw = np.random.default_rng(seed)
    found = coverage(draw, tries)
    print(_table(found, ["between", "interval"], lambda row: f"{100 * row.held:.1f} % (±{100 * row.half_width:.1f} %)"))
    print()
    decided = verdicts(draw, max(1, tries // 8))
    for name in ("equals_called_slower", "a_tenth_slower_found"):
        chosen = decided.assign(what=name.replace("_", " "), share=decided[name])
        print(_table(chosen, ["between", "what"], lambda row: f"{100 * row.share:.1f} %"))


def _table(rows: pd.DataFrame, heads: list[str], shown: Callable[[Any], str]) -> str:
    """Return a table in Markdown with a column for each number of sessions."""
    counts = sorted(rows["sessions"].unique())
    lines = [
        f"| {' | '.join([*heads, *(f'{count} sessions' for count in counts)])} |",
        "| --- " * (len(heads) + len(counts)) + "|",
    ]
    for names, group in rows.groupby(heads, sort=False):
        cells = [shown(row) for row in group.sort_values("sessions").itertuples()]
        lines.append(f"| {' | '.join([*map(str, names), *cells])} |")
    return "\n".join(lines)


@app.command()
def record(
    reference: Annotated[bool, typer.Option("--reference", help="Of the sessions that came with the project.")] = False,
) -> None:
    """Print how often intervals held the next measured session."""
    print(record_table(session_record(experiments(), RAW, reference=reference)))


if __name__ == "__main__":
    app()
