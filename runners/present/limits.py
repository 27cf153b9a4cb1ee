"""The limits of a run: what its numbers do not say, computed from the run, the most important first."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from runners.analyse.fixed_rates import in_bursts
from runners.analyse.results import Results
from runners.core.records import CONTROL
from runners.core.run_manifest import HostFacts, LinkFacts
from runners.core.units import PERCENT, amount, format_duration, format_half_width, shortened, shortlist
from runners.present.hosts import carries, hosts_map
from runners.present.kit.frames import is_fixed_rate, measured, without_control
from runners.present.kit.markup import Fragment, folded, joined
from runners.present.kit.wording import Narrative
from runners.stats.pooling import LEAST_SESSIONS

MOST_VISIBLE = 5
_OFTEN = 0.1
_LONGEST_REASON = 48


def limits(results: Results, own: Sequence[str] = ()) -> Fragment:
    """Return the limits that hold for this run as a list: at most five, and the others folded; below it a picture of its hosts.

    `own` are the notebook's; they stand after what failed, before what is true of many runs.
    """
    found, manifest = limited(limits_of(results, own)), results.manifest
    return joined(found, hosts_map(manifest.hosts, manifest.link)) if manifest.hosts and manifest.link else found


def limited(found: Sequence[str]) -> Fragment:
    """Return limits as a list, the first of them visible."""
    shown = Narrative(found[:MOST_VISIBLE]).fragment
    rest = found[MOST_VISIBLE:]
    return joined(shown, folded(f"{len(rest)} more", Narrative(rest).fragment)) if rest else shown


def limits_of(results: Results, own: Sequence[str] = ()) -> list[str]:
    """Return all limits as sentences, the most important first."""
    found = [
        *_failures(results),
        *_generator_limited(results),
        *own,
        _often_flagged(results),
        _session(results),
        *results.manifest.pinning_threats,
        _closed_loop(results),
        *_bursts(results),
        *_scheduled(results),
        *_precision(results),
        *results.manifest.left_out,
        _network(results.manifest.hosts, results.manifest.link),
        _windows(results),
        *_time_slices(results),
        *_ramp_up(results),
        _governor(results),
        _state(results),
    ]
    return list(dict.fromkeys(text for text in found if text))


def _failures(results: Results) -> list[str]:
    cells, found = without_control(results.cells), []
    for status, rows in cells[cells["status"] != "ok"].groupby("status", sort=False):
        places = shortlist([_place(row) for row in rows.to_dict("records")], 2)
        found.append(f"No number for {places}: {shortened(str(status), _LONGEST_REASON)}.".replace("….", "…"))
    failing = cells[(cells["status"] == "ok") & (cells["errors_count"] > 0)]
    if len(failing):
        places = shortlist([f"{_place(row)} {int(row['errors_count'])}" for row in failing.to_dict("records")])
        found.append(f"Errors, all windows together: {places}.")
    return found


def _place(row: dict[str, object]) -> str:
    return f"{row['system']} ({row['workload']})"


def _generator_limited(results: Results) -> list[str]:
    cells = without_control(measured(results.cells))
    # A throughput at a fixed rate is that rate, and an open loop may spin while it waits.
    cells = cells[cells["offered_rps"].isna()] if is_fixed_rate(cells) else cells
    found = []
    for limit, words in (
        ("generator", "The load generator limited"),
        ("both", "Server and load generator together limited"),
        ("network", "The network between the hosts limited"),
    ):
        names = [_place(row) for row in cells[cells["bottleneck"] == limit].to_dict("records")]
        found += [f"{words} {shortlist(names)}: these throughputs are lower bounds."] if names else []
    return found


def _often_flagged(results: Results) -> str:
    checks = results.checks
    if checks.empty:
        return ""
    shares = (1 - checks.groupby("name", sort=False)["ok"].mean()).sort_values(ascending=False)
    often = [f"{name} ({amount(share, PERCENT)} of trials)" for name, share in shares.items() if share > _OFTEN]
    return f"Checks that often failed: {shortlist(often, 2)}." if often else ""


def _session(results: Results) -> str:
    if results.machine.get("virtual_machine", "no") == "no":
        return ""
    speed = results.trials["speed_ratio"].dropna()
    seen = f", and its CPUs ran at {amount(speed.mean(), PERCENT)} of their undisturbed speed" if len(speed) else ""
    advice = (
        "other hours give other ratios"
        if len(results.others) + 1 >= LEAST_SESSIONS
        else "repeat the run in another hour"
    )
    return f"The machine is virtual and shares its hardware{seen}: {advice}."


def _network(hosts: Sequence[HostFacts], link: LinkFacts | None) -> str:
    """Return what lies between client and server: loopback, a link between hosts, or one between hosts that are one machine."""
    if not hosts or link is None:
        return "Client and server share one machine and its loopback network: no network card, no distance, no lost packets."
    carried = carries(link)
    if len({host.fingerprint for host in hosts}) < len(hosts):
        return f"Some of the {len(hosts)} hosts are one machine and share its CPUs and kernel; the link between them: {carried}."
    return f"Client and server are on different hosts; the link between them before the run: {carried}."


def _closed_loop(results: Results) -> str:
    cells, compared = measured(results.cells), results.manifest.compared
    closed = cells[cells["offered_rps"].isna()] if is_fixed_rate(cells) else cells
    closed = closed[closed["workload"].isin(compared)] if compared else closed
    if closed.empty and len(cells):
        return ""
    of = f"of {_connections(results)} connections".replace("of  ", "of ")
    return f"The load is a closed loop {of}: a server that stalls is sent less, so percentiles are no user's waiting times."


def _connections(results: Results) -> str:
    """Return the requested number of connections, from the windows themselves where they hold it."""
    windows = _counted(results)
    if "requested_connections_count" not in windows or windows.empty:
        return str(results.parameters.get("connections") or "")
    low, high = (int(end) for end in windows["requested_connections_count"].agg(["min", "max"]))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _counted(results: Results) -> pd.DataFrame:
    return results.trials[~results.trials["warmup"].astype(bool)]


def _offered(results: Results) -> pd.DataFrame:
    cells = measured(results.cells)
    return cells.dropna(subset=["offered_rps"]) if is_fixed_rate(cells) else cells.iloc[:0]


def _bursts(results: Results) -> list[str]:
    rows = _offered(results)
    if rows.empty or not in_bursts(rows).any():
        return []
    rows = rows[in_bursts(rows)]
    least = float((rows["throughput_rps"] / rows["offered_rps"]).min())
    return [
        "perf-gauge sends in bursts, and its clients wait for their responses: times hold the queue within a burst.",
        f"perf-gauge's clock starts late, so a stall is seen in part; achieved was at least {amount(least, PERCENT)} of each rate.",
    ]


def _scheduled(results: Results) -> list[str]:
    """Return the limits of an open loop whose arrivals are a random process that no user has drawn."""
    rows = _offered(results)
    if rows.empty or in_bursts(rows).all():
        return []
    constant = results.parameters.get("arrivals") == "constant"
    kind = "come at a constant distance" if constant else "are a Poisson process"
    return [
        f"Arrivals {kind}: real users come in waves, and then wait longer than at the same mean rate.",
        "A request without a free connection waits in the load generator; that wait is part of its response time.",
    ]


def _precision(results: Results) -> list[str]:
    rows = results.comparisons[results.comparisons["family"] != "other"]
    widths = ((rows["ratio_high"] - rows["ratio_low"]) / 2 / rows["ratio"]).dropna()
    wide = rows.loc[widths[widths > results.precision_ratio].index] if len(widths) else rows.iloc[:0]
    # The aim is that of one session, and of no comparison of revisions, which ends when it is decided.
    if wide.empty or results.manifest.earlier_revision or len(results.others) + 1 >= LEAST_SESSIONS:
        return []
    row = rows.loc[widths.idxmax()]
    names = [name if name != CONTROL else "the control" for name in (row["system_a"], row["system_b"])]
    aim = format_half_width(results.precision_ratio)
    ended = "; time or blocks ran out" if results.budget_note else ""
    widest = f"{names[0]} to {names[1]} ({row['workload']})"
    return [f"{len(wide)} of {len(rows)} ratios are wider than the aim, {aim}; the widest is {widest}{ended}."]


def _windows(results: Results) -> str:
    windows = _counted(results)
    if "duration_s" not in windows or windows.empty:
        return ""
    length = format_duration(round(float(windows["duration_s"].median()), 1))
    return (
        f"A window lasts {length}: it hardly shows what happens once a minute, such as large collections or throttling."
    )


def _time_slices(results: Results) -> list[str]:
    trials = results.trials
    sliced = trials[trials["time_slices_count"] > 0] if "time_slices_count" in trials else trials.iloc[:0]
    if sliced.empty:
        return []
    length_s = float((sliced["duration_s"] / sliced["time_slices_count"]).median())
    cells = len(sliced.drop_duplicates(["system", "workload"]))
    return [
        f"{cells} cells were measured in time slices of {length_s * 1000:.0f} ms: each slice begins with cold caches."
    ]


def _ramp_up(results: Results) -> list[str]:
    """Return limits from the ramp-up of many connections."""
    windows = _counted(results)
    if "ramp_up_s" not in windows or not (windows["ramp_up_s"] > 0).any():
        return []
    row = windows.loc[windows["ramp_up_s"].idxmax()]
    took = format_duration(round(float(row["ramp_up_s"]), 1))
    return [
        f"Connections are kept: the ramp-up to all of them took up to {took} ({row['workload']}), outside every rate."
    ]


def _governor(results: Results) -> str:
    governor = results.machine.get("governor")
    if governor in (None, "performance", "not exposed"):
        return ""
    return f"The CPUs' frequency governor was {governor}, not performance: their clock followed the load."


def _state(results: Results) -> str:
    if results.manifest.versions.get("git_state") != "modified":
        return ""
    return "The project's files differed from the commit that the provenance names."
