"""Single conclusions: each function turns rows of the results into one sentence that is true of them, or into none."""

from __future__ import annotations

import math
from itertools import pairwise

import pandas as pd

from runners.analyse.speed import mean_speed
from runners.present.frames import (
    Results,
    band_words,
    cell_of,
    has_errors,
    is_client_bound,
    is_rated,
    measured,
    ordered,
    share_bound,
    without_placebo,
    workload_title,
)
from runners.present.wording import PERCENT, RATES, RATIOS, TIMES, amount, listing, plus_minus, quantity

LIMIT = "the load generator was the limit"


def compared(results: Results, row: pd.Series) -> str:
    """One comparison: both rates, the ratio, and the verdict of ``system_a`` against ``system_b``."""
    a, b, workload, verdict = row["system_a"], row["system_b"], row["workload"], row["verdict"]
    title = workload_title(results.cells, workload)
    bound = is_client_bound(results.cells, a, workload) or is_client_bound(results.cells, b, workload)
    if pd.isna(row["ratio"]) or (verdict == "not comparable" and not bound):
        return f"{title}: {a} and {b} cannot be compared."
    ratio = quantity(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS)
    if verdict in ("at least", "not comparable"):
        return f"{title}: {_bounded(results, row, ratio)}"
    band = band_words(results.noise_floor_ratio, workload)
    unsure = f"shown neither to lie within {band} nor beyond it"
    endings = {
        "faster": f"faster beyond {band}",
        "slower": f"slower beyond {band}",
        "equivalent": f"equivalent: the difference lies within {band}",
        "inconclusive": f"inconclusive: {'one block shows no noise' if pd.isna(row['ratio_low']) else unsure}",
    }
    return f"{title}: {a} completed {rate(results, a, workload)}, {ratio} as many as {b}; {endings[verdict]}."


def _bounded(results: Results, row: pd.Series, ratio: str) -> str:
    """The same where the load generator was the limit of one side or both: bounds, and no ranking."""
    a, b, workload = row["system_a"], row["system_b"], row["workload"]
    rate_a, rate_b = rate(results, a, workload), rate(results, b, workload)
    a_bound, b_bound = (is_client_bound(results.cells, system, workload) for system in (a, b))
    if a_bound and not b_bound:
        return f"{a} completed at least {rate_a} ({LIMIT}), at least {ratio} as many as {b}; not ranked."
    if b_bound and not a_bound:
        return f"{a} completed {rate_a}, at most {ratio} as many as {b}, for which {LIMIT}; not ranked."
    return f"{a} completed at least {rate_a} and {b} at least {rate_b}: {LIMIT}, so they are not ranked."


def verdicts(results: Results, workload: str, rows: pd.DataFrame) -> str:
    """All comparisons of one workload with the same ``system_b``: ratios and verdicts."""
    if rows.empty:
        return ""
    parts = []
    for row in rows.to_dict("records"):
        ratio = quantity(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS) if pd.notna(row["ratio"]) else ""
        parts.append(f"{row['system_a']} {ratio}, {row['verdict']}".replace(" ,", ":"))
    band = band_words(results.noise_floor_ratio, workload)
    text = f"{workload_title(results.cells, workload)}, against {rows['system_b'].iloc[0]}: {'; '.join(parts)}."
    said = [verdict for verdict in ("faster", "slower") if verdict in set(rows["verdict"])]
    return f"{text} {listing(said).capitalize()}: beyond {band}." if said else text


def rate(results: Results, system: str, workload: str) -> str:
    """The throughput of a system with its interval, in words."""
    cell = cell_of(results.cells, system, workload)
    if cell is None or pd.isna(cell["throughput_rps"]):
        return "an unknown number of requests/s"
    return quantity(cell["throughput_rps"], cell["throughput_low_rps"], cell["throughput_high_rps"], RATES)


def order(results: Results, workload: str) -> str:
    """All systems by throughput, and which neighbours in that order the run could not tell apart."""
    rows = without_placebo(measured(results.cells))
    rows = rows[rows["workload"] == workload].sort_values("throughput_rps", ascending=False, kind="stable")
    if len(rows) < 2 or is_rated(rows):
        return ""
    names = list(rows["system"])
    parts = [
        f"{name} {'at least ' if is_client_bound(results.cells, name, workload) else ''}{rate(results, name, workload)}"
        for name in names
    ]
    verdicts = _verdicts(results, workload)
    pairs = list(pairwise(names))
    tied = [f"{a} and {b}" for a, b in pairs if verdicts.get(frozenset((a, b))) in ("equivalent", "inconclusive")]
    unranked = [f"{a} and {b}" for a, b in pairs if verdicts.get(frozenset((a, b))) in ("at least", "not comparable")]
    failing = [name for name in names if has_errors(results.cells, name, workload)]
    unranked = [pair for pair in unranked if not set(pair.split(" and ")) & set(failing)]
    text = f"{workload_title(results.cells, workload)}, by throughput: {', '.join(parts)}."
    if tied:
        text += f" Cannot be told apart: {'; '.join(tied)}."
    if unranked:
        text += f" Not ranked, since {LIMIT}: {'; '.join(unranked)}."
    if failing:
        text += f" Not ranked, for its errors: {listing(failing)}."
    return text


def _verdicts(results: Results, workload: str) -> dict[frozenset[str], str]:
    rows = results.comparisons[results.comparisons["workload"] == workload]
    return {frozenset((row.system_a, row.system_b)): row.verdict for row in rows.itertuples()}


def tail(results: Results, workload: str) -> str:
    """The 99th percentile of the service time: the lowest and the highest of the systems."""
    rows = without_placebo(measured(results.cells))
    rows = rows[(rows["workload"] == workload) & rows["p99_s"].notna()].sort_values("p99_s", kind="stable")
    if rows.empty:
        return ""
    title = workload_title(results.cells, workload)
    low, high = rows.iloc[0], rows.iloc[-1]
    text = f"{title}: 99 % of the answers came within {_p99(low)} from {low['system']}"
    if len(rows) == 1:
        return f"{text}."
    text += f", the shortest such time, and within {_p99(high)} from {high['system']}, the longest"
    return f"{text}; the intervals overlap." if low["p99_high_s"] >= high["p99_low_s"] else f"{text}."


def _p99(row: pd.Series) -> str:
    return quantity(row["p99_s"], row["p99_low_s"], row["p99_high_s"], TIMES)


def above_floor(results: Results, workload: str) -> str:
    """What decoding leaves of the throughput of the same server, from the most to the least."""
    rows = without_placebo(results.shares)
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
    """Whether published ratios point the same way as ours, a sentence per source; sizes differ between machines."""
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
    here = {"faster": decided, "slower": decided, "equivalent": "equivalent", "inconclusive": "inconclusive"}
    return f"{amount(ratio, RATIOS)} for {row['system_a']} (here: {here.get(row['verdict'], 'not ranked')})"


def failures(results: Results) -> list[str]:
    """One sentence for every cell without a number, and one for every cell with errors."""
    found = []
    for row in without_placebo(results.cells).to_dict("records"):
        where = f"{workload_title(results.cells, row['workload'])}: {row['system']}"
        if row["status"] != "ok":
            found.append(f"{where} has no number ({row['status']}).")
        elif row["errors_count"] > 0:
            found.append(f"{where} had {int(row['errors_count'])} errors, all windows together.")
    return found


def noise(results: Results) -> str:
    """The noise floor from the A/A control, per workload."""
    parts = [
        f"{plus_minus(ratio)} ({workload_title(results.cells, workload)})"
        for workload, ratio in results.noise_floor_ratio.items()
        if pd.notna(ratio)
    ]
    return f"Noise floor, from launching the same system under two names: {listing(parts)}." if parts else ""


def speed(results: Results) -> str:
    """What the probes saw of the CPUs' speed, and what was made of it."""
    seen = results.trials["speed_ratio"].dropna()
    if seen.empty:
        return "No probe saw the speed of the server's CPUs: throughputs are as measured."
    text = f"The server's CPUs ran at {amount(seen.mean(), PERCENT)} of their undisturbed speed while measuring "
    text += f"(single windows: {amount(seen.min(), PERCENT)} to {amount(seen.max(), PERCENT)}), as a probe beside the "
    counted = results.trials[results.trials["adjusted_rps"].notna()]
    if (counted["adjusted_rps"] == counted["throughput_rps"]).all():
        return text + "server saw; throughputs are as measured, as there are too few windows to learn from."
    speed_ratio = math.exp(mean_speed(counted)["log_speed"])
    text += f"server saw; throughputs are adjusted, window by window, to {amount(speed_ratio, PERCENT)}"
    own, least = counted["own_turns_ratio"], counted["weight_ratio"].min()
    if (own != 1).any():
        text += (
            f", and in turns also for what neighbours left to each window's own turns ({amount(own.min(), PERCENT)} to "
        )
        text += f"{amount(own.max(), PERCENT)} of what they left to its round)"
    return (
        f"{text}, and the slower its CPU was the less a window weighs (down to {least:.2f})."
        if least < 1
        else f"{text}."
    )


def checked(results: Results) -> str:
    """How many checks held."""
    count, held = len(results.checks), int(results.checks["ok"].sum()) if len(results.checks) else 0
    if not count:
        return ""
    void = int((~results.checks["ok"].astype(bool) & results.checks["void"].astype(bool)).sum())
    return f"Checks: {held} of {count} held, {void} declared a trial void, {count - held - void} only flagged one."


def workloads_of(results: Results) -> list[str]:
    """The workloads with at least one number, in the order given; without what a second load generator says of the same."""
    found = ordered(measured(results.cells)["workload"])
    return [workload for workload in found if workload.rpartition("@")[0] not in found]
