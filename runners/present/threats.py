"""Threats to the validity of a run's numbers, computed from the run."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from runners.analyse.fixed_rates import in_bursts
from runners.analyse.results import Results
from runners.core.records import CONTROL
from runners.core.units import PERCENT, amount, format_duration, format_half_width, listing
from runners.present.kit.frames import is_fixed_rate, measured, without_control
from runners.present.narrative import Narrative

_OFTEN = 0.1


def threats(results: Results, own: Sequence[str] = ()) -> Narrative:
    """The threats to validity that hold for this run, those of its design first, and the notebook's `own` after them."""
    found = [
        _closed_loop(results),
        _fixed_rate(results),
        _scheduled(results),
        "Client and server share one machine and its loopback network: no network card, no distance, no lost packets.",
        _windows(results),
        _time_slices(results),
        _ramp_up(results),
        *results.manifest.left_out,
        _virtual(results),
        *results.manifest.pinning_threats,
        _governor(results),
        _client_bound(results),
        _precision(results),
        _flagged(results),
        *own,
        _state(results),
    ]
    return Narrative([text for text in found if text])


def _closed_loop(results: Results) -> str:
    cells, compared = measured(results.cells), results.manifest.compared
    closed = cells[cells["offered_rps"].isna()] if is_fixed_rate(cells) else cells
    closed = closed[closed["workload"].isin(compared)] if compared else closed
    if closed.empty and len(cells):
        return ""
    of = f"{_connections(results)} connections".strip()
    return (
        f"The load is a closed loop of {of} that each wait for their response: a server that stalls is sent less, and the "
        "percentiles are service times, not the response times that users of an open system would see."
    )


def _fixed_rate(results: Results) -> str:
    cells = measured(results.cells)
    if not is_fixed_rate(cells):
        return ""
    rows = cells.dropna(subset=["offered_rps"])
    if not in_bursts(rows).any():
        return ""
    rows = rows[in_bursts(rows)]
    least = float((rows["throughput_rps"] / rows["offered_rps"]).min())
    return (
        "Where perf-gauge offers a rate, each client of the load generator still waits for its response, and its clock starts when it "
        "is served: what a slow response makes others wait is seen in part only. All clients send at the same "
        f"moment, so requests come in bursts and times hold the queue within one. At least {amount(least, PERCENT)} of a rate was achieved."
    )


def _scheduled(results: Results) -> str:
    """Return the threat of an open loop whose arrivals are a random process that no user has drawn."""
    cells = measured(results.cells)
    rows = cells.dropna(subset=["offered_rps"]) if is_fixed_rate(cells) else cells.iloc[:0]
    if rows.empty or in_bursts(rows).all():
        return ""
    constant = results.parameters.get("arrivals") == "constant"
    kind = "come at a constant distance" if constant else "are a Poisson process"
    return (
        f"The load is an open loop whose arrivals {kind}: real users come in waves, and then wait longer than at the same mean rate. "
        "A request that finds no free connection waits in the load generator, and that wait is part of its response time."
    )


def _connections(results: Results) -> str:
    """Return the requested number of connections, from the windows themselves where they hold it."""
    windows = results.trials[~results.trials["warmup"].astype(bool)]
    if "requested_connections_count" not in windows or windows.empty:
        return str(results.parameters.get("connections") or "")
    low, high = (int(end) for end in windows["requested_connections_count"].agg(["min", "max"]))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _ramp_up(results: Results) -> str:
    """Return threats from the ramp-up of many connections, and from a load generator that waits for responses."""
    windows = results.trials[~results.trials["warmup"].astype(bool)]
    if "ramp_up_s" not in windows or not (windows["ramp_up_s"] > 0).any():
        return ""
    row = windows.loc[windows["ramp_up_s"].idxmax()]
    return (
        f"Opening the connections took up to {format_duration(round(float(row['ramp_up_s']), 1))} ({row['workload']}), which no rate "
        "holds: connections here are opened once and kept. From more than half of the clients' ports on, Linux searches long for "
        "each further one."
    )


def _windows(results: Results) -> str:
    windows = results.trials[~results.trials["warmup"].astype(bool)]
    if "duration_s" not in windows or windows.empty:
        return ""
    length = format_duration(round(float(windows["duration_s"].median()), 1))
    return (
        f"A window lasts {length}: what happens once a minute (collecting a large heap, writing back, thermal "
        "throttling) is hardly seen."
    )


def _time_slices(results: Results) -> str:
    sliced = _in_time_slices(results)
    if sliced.empty:
        return ""
    length_s = float((sliced["duration_s"] / sliced["time_slices_count"]).median())
    cells = len(sliced.drop_duplicates(["system", "workload"]))
    return (
        f"The windows of {cells} cells were measured in time slices of {length_s * 1000:.0f} ms on average, while all others and the load "
        "generator's clock stood still: what slows the machine slows them alike, but each slice begins with caches that others have used."
    )


def _in_time_slices(results: Results) -> pd.DataFrame:
    """The windows that were measured in time slices."""
    trials = results.trials
    return trials[trials["time_slices_count"] > 0] if "time_slices_count" in trials else trials.iloc[:0]


def _virtual(results: Results) -> str:
    if results.machine.get("virtual_machine", "no") == "no":
        return ""
    speed = results.trials["speed_ratio"].dropna()
    seen = f": its CPUs ran at {amount(speed.mean(), PERCENT)} of their undisturbed speed" if len(speed) else ""
    return (
        f"The machine is virtual and shares its hardware{seen}. The intervals know this session only: run it again in another hour before "
        "you trust a ratio to its last percent."
    )


def _governor(results: Results) -> str:
    governor = results.machine.get("governor")
    if governor in (None, "performance", "not exposed"):
        return ""
    return f"The CPUs' frequency governor was {governor}, not performance: their clock followed the load."


def _client_bound(results: Results) -> str:
    cells = without_control(measured(results.cells))
    # A throughput at a fixed rate is that rate, and an open loop may spin while it waits.
    cells = cells[cells["offered_rps"].isna()] if is_fixed_rate(cells) else cells
    found = []
    for limit, words in (
        ("generator", "The load generator, not the server, was"),
        ("both", "Server and load generator both were"),
    ):
        names = [f"{row.system} ({row.workload})" for row in cells[cells["bottleneck"] == limit].itertuples()]
        found += [f"{words} the limit of {listing(names)}: lower bounds only."] if names else []
    return " ".join(found)


def _precision(results: Results) -> str:
    rows = results.comparisons[results.comparisons["family"] != "other"]
    widths = ((rows["ratio_high"] - rows["ratio_low"]) / 2 / rows["ratio"]).dropna()
    if widths.empty:
        return "Nothing in this run shows how large its noise is." if len(rows) else ""
    wide = rows.loc[widths[widths > results.precision_ratio].index]
    if wide.empty:
        return ""
    return (
        f"{len(wide)} of {len(rows)} ratios are known less precisely than the {format_half_width(results.precision_ratio)} "
        f"that were requested; the worst, {_named(rows.loc[widths.idxmax()])}, to {format_half_width(widths.max())}."
    )


def _named(row: pd.Series) -> str:
    names = [name if name != CONTROL else "the control" for name in (row["system_a"], row["system_b"])]
    return f"{names[0]} to {names[1]} ({row['workload']})"


def _flagged(results: Results) -> str:
    checks = results.checks
    if checks.empty:
        return ""
    shares = 1 - checks.groupby("name", sort=False)["ok"].mean()
    often = [f"{name} in {amount(share, PERCENT)} of the trials" for name, share in shares.items() if share > _OFTEN]
    return f"Checks that were often not met: {listing(often)}." if often else ""


def _state(results: Results) -> str:
    if results.manifest.versions.get("git_state") != "modified":
        return ""
    return "The project's files differed from the commit that the provenance names."
