"""Charts against the number of connections: throughput, service times, memory and errors; and how long builds take."""

from __future__ import annotations

import pandas as pd

from runners.analyse.results import Results
from runners.analyse.usage import levels
from runners.core.load import ERRORS_TOLERANCE
from runners.core.units import (
    RATES,
    TIMES,
    amount,
    format_duration,
    format_size,
)
from runners.present.connections.lines import against_connections
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.rows import Bar, bars
from runners.present.kit.theme import BAD, QUIET, Chart, mixed, panels, styles, themed

_MOST_ERRORS = f"{ERRORS_TOLERANCE * 100:g} %"
_MOST_SHOWN = 0.003  # of errors, at least
# Go 1.8, of which a build was published, came with its library compiled: its build was neither of the two.
_PUBLISHED_BESIDE = ("cold", "incremental")


@themed
def throughput(results: Results) -> Chart:
    """Completed requests per second against connections, with 95 % intervals; hollow where a cell is not ranked."""
    columns = ("throughput_rps", "throughput_low_rps", "throughput_high_rps")
    return against_connections(
        results,
        [(name, name, columns) for name in _names(results)],
        title="Throughput against connections",
        caption="Geometric mean over launches with 95 % interval; both axes logarithmic.\nHollow: the load was the limit, "
        f"or more than {_MOST_ERRORS} errors: not ranked.",
        label=lambda value: amount(value, RATES).replace(" requests/s", "").replace("requests/s", ""),
        axis="requests/s",
    )


@themed
def service_times(results: Results) -> Chart:
    """Median and 99th percentile of the service time against connections."""
    columns = [
        (f"{name}, {words}", name, (f"{at}_s", f"{at}_low_s", f"{at}_high_s"))
        for name in _names(results)
        for at, words in (("p50", "median"), ("p99", "99th percentile"))
    ]
    return against_connections(
        results,
        columns,
        title="Service time against connections",
        caption="With 95 % interval; both axes logarithmic. Hollow: the load was the limit, "
        f"or more than {_MOST_ERRORS} errors:\n"
        "responses later than 2 s are missing among the service times, the value is a lower bound.\n"
        "Left out where Little's law does not hold.",
        label=format_duration,
        axis="service time",
    )


@themed
def memory(results: Results) -> Chart:
    """The peak of resident memory against connections, over all processes of a server."""
    columns = ("rss_peak_bytes", "rss_peak_low_bytes", "rss_peak_high_bytes")
    return against_connections(
        results,
        [(name, name, columns) for name in _names(results)],
        title="Peak memory against connections",
        caption="Resident memory of all processes of the server: the highest of all launches, with the 95 % interval of their mean.\n"
        "Both axes logarithmic.",
        label=format_size,
        axis="peak resident memory",
        base=2,
    )


@themed
def errors(results: Results) -> Chart | None:
    """Errors as a share of the requests against connections, of the workloads that have some; none are drawn at the foot."""
    cells = levels(without_control(results.cells))
    failing = set(cells.loc[cells["errors_fraction"] > 0, "name"])
    if not failing:
        return None
    known = cells.loc[cells["errors_fraction"] > 0, "errors_fraction"]
    foot = min(1e-5, float(known.min()) / 2 if len(known) else 1e-5)
    shown = cells.assign(errors_fraction=cells["errors_fraction"].clip(lower=foot))
    chart = against_connections(
        results,
        [(name, name, ("errors_fraction",) * 3) for name in _names(results) if name in failing],
        title="Errors and timeouts against connections",
        caption="Connect, read, write and status errors, and responses later than wrk's 2 s, per request; both axes logarithmic.\n"
        f"Dashed: {_MOST_ERRORS}, above which a cell is not ranked.",
        label=lambda value: "none" if value <= foot * 1.01 else f"{value * 100:g} %",
        axis="share of the requests",
        cells=shown,
        also=(foot, _MOST_SHOWN),
    )
    for ax in chart.axes:
        if ax.get_xlabel():
            ax.axhline(ERRORS_TOLERANCE, color=BAD, linewidth=1.0, linestyle=(0, (4, 3)))
            ticks = [foot, *(10.0**power for power in range(-6, 1) if 10.0**power > 2 * foot)]
            ax.set_yticks([tick for tick in ticks if tick <= ax.get_ylim()[1]])
    return chart


@themed
def builds(results: Results) -> Chart:
    """Chart the build time of each server: cold, warm, and after a change of one file; published values beside."""
    rows = results.builds.to_dict("records")
    style_of = styles(results.cells)
    published = results.published_amounts.dropna(subset=["build_s"]) if len(rows) else pd.DataFrame()
    beside = [] if published.empty else published.to_dict("records")
    kinds = {"cold": "cold_s", "warm": "warm_s", "incremental": "incremental_s"}
    titles = {kind: f"clean build, {kind} compiler cache" for kind in kinds} | {
        "incremental": "after a change of one file"
    }
    shown = list(kinds) if rows else []
    chart, axes = panels(
        [titles[kind] for kind in shown],
        [len(rows) + len(beside) * (kind in _PUBLISHED_BESIDE) for kind in shown],
        title="Build time of each server" if rows else "Builds were not timed in this run",
        caption="One build each, on all measured CPUs; packages were downloaded before. Grey: published, another machine and program:\n"
        "that Go came with its library compiled, which with a cold cache Go compiles here."
        if rows
        else "The quick profile leaves them out; -p build_times yes times them.",
        description="; ".join(f"{row['system']} {row['cold_s']:.3g} s" for row in rows if row["cold_s"] > 0)
        or "No builds.",
    )
    for ax, kind in zip(axes, shown, strict=True):
        timed = [
            Bar(
                row["system"],
                row["system"],
                row[kinds[kind]],
                style_of[row["system"]].color,
                row["failure"] or "not timed",
            )
            for row in rows
        ]
        for row in beside if kind in _PUBLISHED_BESIDE else []:
            timed.append(Bar(row["system"], f"{row['system']} (published)", row["build_s"], mixed(QUIET, 0.5)))
        bars(ax, timed, TIMES)
    return chart


def _names(results: Results) -> list[str]:
    return ordered(levels(results.cells)["name"])
