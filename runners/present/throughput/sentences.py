"""Single conclusions: each function turns rows of the results into one sentence that is true of them, or into none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.core.records import Interval
from runners.core.units import PERCENT, RATES, RATIOS, amount, listing, quantity
from runners.present.kit.frames import (
    backend_limited,
    backend_name,
    band_words,
    cell_of,
    controls,
    has_errors,
    inverse,
    is_client_bound,
    is_fixed_rate,
    leaders,
    measured,
    ordered,
    share_bound,
    without_control,
    workload_title,
)
from runners.stats.verdicts import is_clear

LIMIT = "the load generator was the limit"


def compared(results: Results, row: pd.Series) -> str:
    """One comparison with the leader of a workload: the ratio with its interval, both rates, and what bounds them."""
    a, leader, workload = row["system_a"], row["system_b"], row["workload"]
    title = workload_title(results.cells, workload)
    rates = f"{rate(results, leader, workload)} against {rate(results, a, workload)}"
    if row["bound"] == "unknown":
        return f"{title}: {leader} and {a} are not ranked, since {LIMIT} of both ({rates}, each at least)."
    if pd.isna(row["ratio"]) or row["verdict"] == "not comparable":
        return f"{title}: {leader} and {a} cannot be compared."
    times = quantity(*inverse(row), RATIOS)
    if row["verdict"] == "slower" and row["bound"]:
        return f"{title}: {leader} serves at least {times} as many requests as {a} ({rates}); {LIMIT} of {leader}."
    if row["verdict"] == "slower":
        return f"{title}: {leader} serves {times} as many requests as {a} ({rates}){_within_band(results, row)}."
    band = band_words(results.noise_floor_ratio, workload)
    said = f"equivalent: the difference lies within {band}" if row["verdict"] == "equivalent" else undecided(row)
    return f"{title}: {leader} serves {times} as many requests as {a}; {said}."


def _within_band(results: Results, row: Mapping[str, Any]) -> str:
    """Say by how much a system is slower whose interval excludes 1 and not the noise band; empty for all others."""
    floor = results.noise_floor_ratio.get(row["workload"], math.nan) - 1
    if is_clear(Interval(row["ratio"], row["ratio_low"], row["ratio_high"]), floor):
        return ""
    least, most = (f"{100 * (1 - row[end]):.1f}" for end in ("ratio_high", "ratio_low"))
    return f"; {row['system_a']} is slower, by between {least} and {most} %"


def undecided(row: Mapping[str, Any]) -> str:
    """Say that a comparison decides nothing, and after how many blocks."""
    blocks = int(row["blocks_count"])
    # Seen as slower, but it could serve more than was measured; where the interval holds 1, the noise is the reason.
    why = f", since {LIMIT} of {row['system_a']}" if row["bound"] == "at least" and row["ratio_high"] < 1 else ""
    return f"undecided after {blocks} block{'' if blocks == 1 else 's'}{why}"


def verdicts(results: Results, workload: str) -> str:
    """All comparisons of one workload with its leader: ratios, bounds and verdicts."""
    rows = leaders(results.comparisons, workload)
    parts = []
    for row in rows.to_dict("records"):
        known = pd.notna(row["ratio"]) and row["bound"] != "unknown"
        side = f"{row['bound']} " if row["bound"] else ""
        ratio = f" {side}{quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)}" if known else ""
        said = undecided(row) if row["verdict"] == "undecided" else row["verdict"]
        if backend_limited(results.cells, workload, row["system_a"], row["system_b"]):
            said = f"limited by {backend_name(results.manifest.backends)}: no statement about {row['system_a']}"
        parts.append(f"{row['system_a']}{ratio}, {said}")
    if not parts:
        return ""
    return f"{workload_title(results.cells, workload)}, against {rows['system_b'].iloc[0]}: {'; '.join(parts)}."


def rate(results: Results, system: str, workload: str) -> str:
    """The throughput of a system with its interval, in words."""
    cell = cell_of(results.cells, system, workload)
    if cell is None or pd.isna(cell["throughput_rps"]):
        return "an unknown number of requests/s"
    return quantity(cell["throughput_rps"], cell["throughput_low_rps"], cell["throughput_high_rps"], RATES)


def order(results: Results, workload: str) -> str:
    """All systems by throughput, and which of them may be as fast as the leader."""
    rows = without_control(measured(results.cells))
    rows = rows[rows["workload"] == workload].sort_values("throughput_rps", ascending=False, kind="stable")
    if len(rows) < 2 or is_fixed_rate(rows):
        return ""
    names = list(rows["system"])
    limited, backend = backend_limited(results.cells, workload, *names), backend_name(results.manifest.backends)
    parts = [
        f"{name} {'at least ' if is_client_bound(results.cells, name, workload) else ''}{rate(results, name, workload)}"
        f"{f' [limit: {backend}]' if name in limited else ''}"
        for name in names
    ]
    rows = leaders(results.comparisons, workload)
    failing = [name for name in names if has_errors(results.cells, name, workload)]
    text = f"{workload_title(results.cells, workload)}, by throughput: {', '.join(parts)}."
    for verdict, words in (
        ("equivalent", "Equivalent to"),
        ("undecided", "Not told apart from"),
        ("not comparable", "Not ranked with"),
    ):
        without = {*failing, *(rows["system_a"] if set(rows["system_b"]) & set(limited) else limited)}
        found = [name for name in rows[rows["verdict"] == verdict]["system_a"] if name not in without]
        text += f" {words} {rows['system_b'].iloc[0]}: {listing(found)}." if found else ""
    if failing:
        text += f" Not ranked, for its errors: {listing(failing)}."
    return text


def above_floor(results: Results, workload: str) -> str:
    """Return the sentence about throughput with decoding as a share of the same server's floor, from the most to the least."""
    rows = without_control(results.shares)
    rows = rows[(rows["workload"] == workload) & rows["share_ratio"].notna()]
    rows = rows.sort_values("share_ratio", ascending=False, kind="stable")
    parts = []
    for _, row in rows.iterrows():
        bound = share_bound(results.cells, row)
        if bound == "?":
            continue
        words = {"=": "", "≤": "at most ", "≥": "at least "}[bound]
        share = quantity(row["share_ratio"], row["share_low_ratio"], row["share_high_ratio"], PERCENT)
        parts.append(f"{row['system']} {words}{share}")
    title = workload_title(results.cells, workload)
    return f"{title}, of the throughput that the same server has without decoding: {listing(parts)}." if parts else ""


def published_directions(results: Results, workload: str, rows: pd.DataFrame) -> list[str]:
    """Return a sentence per source about the direction of published and measured ratios."""
    found = []
    for source in ordered(results.published["source"]):
        frame = results.published[results.published["source"] == source]
        parts = [part for _, row in rows.iterrows() if (part := _published_part(frame, row))]
        if parts:
            title, other = workload_title(results.cells, workload), rows["system_b"].iloc[0]
            said = f"{title}: against {other}, {source} published on another machine"
            found.append(f"{said} {listing(parts)}.")
    return found


def _published_part(frame: pd.DataFrame, row: pd.Series) -> str:
    a, b = (cell_of(frame, row[side], row["workload"]) for side in ("system_a", "system_b"))
    if a is None or b is None:
        return ""
    ratio = a["throughput_rps"] / b["throughput_rps"]
    same = (row["verdict"] == "faster") == (ratio > 1)
    decided = "the same direction" if same else "the opposite direction"
    here = {"faster": decided, "slower": decided, "equivalent": "equivalent", "undecided": "undecided"}
    return f"{amount(ratio, RATIOS)} for {row['system_a']} (here: {here.get(row['verdict'], 'not ranked')})"


def failures(results: Results) -> list[str]:
    """One sentence for every cell without a number, and one for every cell with errors."""
    found = []
    for row in without_control(results.cells).to_dict("records"):
        where = f"{workload_title(results.cells, row['workload'])}: {row['system']}"
        if row["status"] != "ok":
            found.append(f"{where} has no number ({row['status']}).")
        elif row["errors_count"] > 0:
            found.append(f"{where} had {int(row['errors_count'])} errors, all windows together.")
    return found


def noise(results: Results) -> str:
    """The ratio of the system that was launched twice to itself, per workload."""
    rows = controls(results.comparisons)
    parts = [
        f"{quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)} ({workload_title(results.cells, row['workload'])})"
        for row in rows[rows["ratio"].notna()].to_dict("records")
    ]
    if not parts:
        return ""
    return f"Control, {rows['system_b'].iloc[0]} launched twice and compared with itself: {listing(parts)}."


def speed(results: Results) -> str:
    """Return the sentence about the CPUs' speed."""
    seen = results.trials["speed_ratio"].dropna()
    if seen.empty:
        return "No probe saw the speed of the server's CPUs."
    return (
        f"While measuring, the server's CPUs ran at {amount(seen.mean(), PERCENT)} of their undisturbed speed (single windows: "
        f"{amount(seen.min(), PERCENT)} to {amount(seen.max(), PERCENT)}); throughputs are as measured."
    )


def checked(results: Results) -> str:
    """Return the sentence about the number of valid trials, and the reasons why others are void."""
    made = int(results.cells["launches_made_count"].sum())
    valid = int(results.cells["launches_count"].sum())
    if not made:
        return ""
    checks = results.checks
    # A search is no cell, and says of itself how many launches it has.
    checks = checks[checks["workload"].isin(results.cells["workload"])] if len(checks) else checks
    void = checks[~checks["ok"].astype(bool) & checks["void"].astype(bool)] if len(checks) else checks
    reasons = ordered(void["name"]) if len(void) else []
    trials = len(void.drop_duplicates(["block", "system", "workload"])) if len(void) else 0
    parts = [f"{trials} void: {listing(reasons)}"] if trials else []
    parts += [f"{made - valid - trials} failed"] if made - valid - trials else []
    return f"{valid} of {made} trials valid{''.join('; ' + part for part in parts)}."


def workloads_of(results: Results) -> list[str]:
    """The workloads with at least one number, in the order given; without what a second load generator says of the same.

    Without fixed rates: a throughput that was given ranks nobody, and notebooks that have them speak of them. Likewise without numbers
    of server CPUs.
    """
    cells = measured(results.cells)
    cells = cells[cells["shape_server_cpus_count"].isna()] if "shape_server_cpus_count" in cells else cells
    cells = cells[cells["offered_rps"].isna()] if is_fixed_rate(cells) else cells
    again = (cells["base_workload"] != cells["workload"]) & cells["base_workload"].isin(cells["workload"])
    return ordered(cells.loc[~again, "workload"])
