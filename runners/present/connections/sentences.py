"""Conclusions about connections, each computed: who is faster at few and at many, what one costs, and who drops requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.analyse.usage import levels, memory_per_connection
from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import GENERATOR_LIMITED
from runners.core.units import RATES, RATIOS, amount, listing, quantity
from runners.present.kit import frames
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.throughput.sentences import undecided

# Fewer connections than this had a request under way: the others wait for a response that does not come.
_BUSY = 0.9
# Of the published benchmark: so many were called few.
_FEW = 20
# With few connections the load generator's own work between two requests counts.
_MANY = 1000


def findings(results: Results) -> list[str]:
    """Return the conclusions, the most important first."""
    rows = levels(without_control(measured(results.cells)))
    if rows.empty:
        return list(results.manifest.left_out)
    name = ordered(rows["name"])[0]
    counts = sorted(rows.loc[rows["name"] == name, "connections"].unique())
    few = min(counts, key=lambda count: abs(count - _FEW))
    ends = list(dict.fromkeys([f"{name}@{few}", f"{name}@{counts[-1]}"]))
    found = [fastest(results, workload) for workload in ends]
    found += [kept(rows[rows["name"] == name], few, counts[-1]) if len(ends) > 1 else ""]
    found += [per_connection(results, name), drops(results), built(results), *results.manifest.left_out]
    return [text for text in found if text]


def fastest(results: Results, workload: str) -> str:
    """Return the sentence about the system that completed most, with its ratio to the next and to the last."""
    rows = levels(without_control(measured(results.cells)))
    rows = rows[rows["workload"] == workload].sort_values("throughput_rps", ascending=False, kind="stable")
    ranked = rows[~_unranked(rows)]
    if rows.empty:
        return ""
    where = f"{rows['name'].iloc[0]} at {rows['connections'].iloc[0]:,} connections"
    aside = [f"{row.system} {_why(row)}" for row in rows[_unranked(rows)].itertuples()]
    rest = f" Not ranked: {listing(aside)}." if aside else ""
    if ranked.empty:
        return f"{where}: nobody is ranked.{rest}"
    best = ranked.iloc[0]
    least = "at least " if best["bottleneck"] in GENERATOR_LIMITED else ""
    others = list(dict.fromkeys([*ranked["system"].iloc[1:2], *ranked["system"].iloc[-1:]]))
    parts = [_against(results, workload, other) for other in others if other != best["system"]]
    text = f"{where}: {best['system']} completed most, {least}{_rate(best)}"
    return f"{text}; {listing([part for part in parts if part])}.{rest}" if any(parts) else f"{text}.{rest}"


def _against(results: Results, workload: str, other: str) -> str:
    """Return the words for the leader's throughput as a multiple of another system's."""
    rows = frames.leaders(results.comparisons, workload)
    rows = rows[(rows["system_a"] == other) & rows["ratio"].notna()]
    if rows.empty or rows["bound"].iloc[0] == "unknown":
        return ""
    row = rows.iloc[0]
    times = quantity(*frames.inverse(row), RATIOS)
    if row["verdict"] == "slower":
        return f"{'at least ' if row['bound'] else ''}{times} as many as {other}"
    return f"{times} as many as {other}, {undecided(row) if row['verdict'] == 'undecided' else row['verdict']}"


def kept(rows: pd.DataFrame, few: int, many: int) -> str:
    """Return the sentence about throughput at many connections as a share of that at few, from the most to the least."""
    rates = rows.pivot_table(index="system", columns="connections", values="throughput_rps", sort=False)
    if few not in rates or many not in rates:
        return ""
    shares = (rates[many] / rates[few]).dropna().sort_values(ascending=False)
    parts = [f"{system} {share * 100:.0f} %" for system, share in shares.items()]
    return f"Of its throughput at {few} connections, at {many:,} there was left: {listing(parts)}." if parts else ""


def per_connection(results: Results, name: str) -> str:
    """Return the sentence about the memory of one more connection, from the least to the most."""
    rows = memory_per_connection(results.usage)
    rows = rows[(rows["name"] == name) & rows["system"].isin(without_control(results.cells)["system"])]
    rows = rows.sort_values("per_connection_bytes", kind="stable")
    parts = [
        f"{row.system} {quantity(row.per_connection_bytes, row.per_connection_low_bytes, row.per_connection_high_bytes, _KB)}"
        for row in rows.itertuples()
    ]
    most = f"{int(rows['most_connections_count'].max()):,}" if len(rows) else ""
    return f"One more connection costs, in peak memory and up to {most} of them: {listing(parts)}." if parts else ""


_KB = ((1e3, "kB"), (1.0, "B"))
_KINDS = {
    "connect": "failed to connect",
    "read": "read errors",
    "write": "write errors",
    "timeout": "responses later than wrk's 2 s",
    "status": "error statuses",
}


def drops(results: Results) -> str:
    """Return the sentence about systems that dropped requests or connections: which, at how many connections, and how."""
    rows = levels(without_control(measured(results.cells)))
    bad = rows[rows["errors_count"] > 0]
    parts = []
    for row in bad.to_dict("records"):
        kinds = [
            f"{int(row[f'errors_{kind}_count']):,} {words}"
            for kind, words in _KINDS.items()
            if row[f"errors_{kind}_count"]
        ]
        share = row["errors_fraction"] * 100
        parts.append(f"{row['system']} ({row['workload']}: {listing(kinds)}, {share:.2g} % of its requests)")
    whole = [system for system in ordered(rows["system"]) if system not in set(bad["system"])]
    failed = without_control(results.cells)
    names = [f"{row.system} at {row.workload}" for row in failed[failed["status"] != "ok"].itertuples()]
    text = f"Requests were dropped, or their responses were late, by {listing(parts)}." if parts else ""
    stuck = [
        f"{row['system']} {busy_ratio(row) * 100:.0f} % ({row['workload']})"
        for row in rows.to_dict("records")
        if row["connections"] >= _MANY and busy_ratio(row) < _BUSY
    ]
    if stuck:
        text += f" Of all connections only so many were being served, by Little's law: {listing(stuck)}."
    text += f" No error at any number of connections: {listing(whole)}." if whole else ""
    return (text + (f" No number: {listing(names)}." if names else "")).strip()


def busy_ratio(row: Mapping[str, Any]) -> float:
    """The share of a cell's connections that had a request under way, by Little's law: throughput × mean service time.

    What is under way when the window ends is completed by nobody, up to one service time of each connection; it counts as busy. wrk
    counts a request without a response nowhere: this is where it is seen.
    """
    return float(
        row["throughput_rps"] * row["mean_s"] / row["requested_connections_count"] + row["mean_s"] / row["window_s"]
    )


def built(results: Results) -> str:
    """Return the sentence about build times."""
    rows = results.builds.dropna(subset=["cold_s"]).sort_values("cold_s")
    if rows.empty:
        return ""
    parts = [
        f"{row.system} {row.cold_s:.3g} s"
        + ("" if pd.isna(row.incremental_s) else f" ({row.incremental_s:.3g} s after a change)")
        for row in rows.itertuples()
    ]
    return f"A clean build with a cold compiler cache took: {listing(parts)}."


def _unranked(rows: pd.DataFrame) -> pd.Series:
    return rows["errors_fraction"] > ERRORS_TOLERANCE


def _why(row: object) -> str:
    share = getattr(row, "errors_fraction")  # noqa: B009  (a row of itertuples)
    rate = amount(getattr(row, "throughput_rps"), RATES)  # noqa: B009
    return f"({rate}, errors in {share * 100:.2g} % of its requests)"


def _rate(row: pd.Series) -> str:
    return quantity(row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], RATES)
