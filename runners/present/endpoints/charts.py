"""Charts of endpoints: requests per second beside published ones, where the CPU time goes, records, and two generators."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from runners.core.records import LOWER_BOUND_LIMITS
from runners.core.units import RATES, RATIOS, TIMES, amount, grouped, listing, quantity, shortened, significant, unit_of
from runners.present.endpoints.tables import columns, generator_of, labelled, nearest, own_load, shapes, title_of
from runners.present.kit.frames import band_ratio, cell_of, measured, ordered, without_control
from runners.present.kit.lines import direct_labels, height_of, upright
from runners.present.kit.rows import (
    BAR,
    axis_end,
    beside,
    by_value,
    drawn,
    end_of,
    from_zero,
    log_axis,
    name_rows,
    point,
    stack,
    told,
    value_label,
    whisker,
)
from runners.present.kit.svg import mark
from runners.present.kit.theme import BAD, BAND, INK, QUIET, Chart, Style, mixed, panels, styles, themed

_DASHED = "Dashed: from another machine, with its own database: no measure of the servers here."
_PALE, _PALER = 0.5, 0.8
_PUBLISHED = "published"
_SHORT = {"server": "server", "backend": "database", "generator": "generator", "both": "both", "network": "network"}


@themed
def requests_by_endpoint(cells: pd.DataFrame, published: pd.DataFrame) -> Chart:
    """Requests per second: a panel per endpoint, a bar per system and load generator, and what was published, dashed."""
    found, planned = columns(cells), shapes(cells)
    systems = ordered(without_control(cells)["system"])
    tools = [generator_of(cells, shape) for shape in planned]
    colors = [QUIET, mixed(QUIET, _PALE)]
    handles = [Patch(color=color, label=tool) for color, tool in zip(colors, tools, strict=False)]
    if not published.empty:
        label = f"{' and '.join(ordered(published['source']))}: another machine"
        handles.append(Patch(facecolor="none", edgecolor=QUIET, linestyle="--", label=label))
    counts = [int(without_control(own_load(cells))["workload"].eq(workload).sum()) for workload in found]
    chart, axes = panels(
        [title_of(cells, *column) for column in found.items()],
        [count + published["workload"].eq(name).any() for count, name in zip(counts, found, strict=True)],
        title="Requests per second, by endpoint",
        caption="Bars: geometric mean over launches; whiskers: 95 % interval. Hollow and ≥: the load was the limit."
        + ("" if published.empty else f"\n{_DASHED}"),
        description=f"Bar chart of requests per second for {', '.join(systems)}, by {' and '.join(tools)}.",
        row_in=0.22 + 0.16 * len(planned),
        handles=handles,
    )
    style_of = styles(cells)
    for ax, workload in zip(axes, found, strict=True):
        rows = published[published["workload"] == workload]
        own = cells[cells["workload"].isin([labelled(cells, workload, shape) for shape in planned])]
        order = ordered(by_value(own[own["workload"] == workload], "throughput_rps")["system"])
        order = [system for system in order if system in systems]
        top = axis_end([*own["throughput_rps"], *rows["throughput_rps"]], own["throughput_high_rps"])
        factor, unit = unit_of(top, RATES)
        from_zero(ax, top / factor, unit)
        for row, system in enumerate(order):
            for place, shape in enumerate(planned):
                cell = cell_of(cells, system, labelled(cells, workload, shape))
                _rate_bar(ax, row, (place, len(planned)), cell, factor, style_of[system], system)
        if not rows.empty:
            _published_bar(ax, len(order), rows, factor)
        name_rows(ax, [*order, *([] if rows.empty else [_PUBLISHED])])
    return chart


def _rate_bar(
    ax: Axes, row: int, place: tuple[int, int], cell: pd.Series | None, factor: float, style: Style, system: str
) -> None:
    """One generator's bar of a system: the first in full colour, the second pale."""
    height = 0.8 / place[1]
    where = row - 0.4 + height * (place[0] + 0.5)
    if cell is None or cell["status"] != "ok":
        status = "not measured" if cell is None else cell["status"]
        words = ax.text(0, where, f" {shortened(status, 36)}", va="center", color=BAD, fontsize=8)
        mark(words, system, status)
        return
    value, low, high = drawn(*(cell[f"throughput_{part}rps"] / factor for part in ("", "low_", "high_")))
    bound = "≥ " if cell["bottleneck"] in LOWER_BOUND_LIMITS else ""
    color = mixed(style.color, _PALE) if place[0] else style.color
    face = "none" if bound else color
    bars = ax.barh(where, value, height * 0.92, color=face, edgecolor=style.color, linewidth=0.8)
    said = told(cell.to_dict(), "throughput_rps", RATES, bound)
    for part in [*bars, *whisker(ax, where, low, high, n=cell["launches_count"], end=end_of(ax))]:
        mark(part, system, said)
    value_label(ax, min(high, end_of(ax)), where, f"{bound}{significant(value)}", system)


def _published_bar(ax: Axes, row: int, rows: pd.DataFrame, factor: float) -> None:
    for found in rows.to_dict("records"):
        value = found["throughput_rps"] / factor
        bar = ax.barh(row, value, BAR, facecolor="none", edgecolor=QUIET, linestyle="--")
        mark(bar[0], found["system"], f"{found['system']}: published, another machine")
        value_label(ax, value, row, f"{significant(value)} ({found['system']})", found["system"])


@themed
def where_the_time_goes(cells: pd.DataFrame) -> Chart:
    """CPU seconds per request of server, database and load generator, stacked: a panel per endpoint, a bar per system."""
    found, rows = columns(cells), own_load(without_control(cells))
    systems = ordered(rows["system"])
    parts = [("cpu_per_request_s", "server", 0.0), ("backend_cpu_per_request_s", "database", _PALE)]
    parts.append(("generator_cpu_per_request_s", f"load generator ({generator_of(cells, '')})", _PALER))
    chart, axes = panels(
        [title_of(cells, *column) for column in found.items()],
        [int(measured(rows)["workload"].eq(workload).sum()) for workload in found],
        title="Where the time goes: CPU time per request",
        caption="Means over launches. The sum is CPU time, not waiting time: what runs on different CPUs runs at the same time.",
        description=f"Stacked bars of CPU time per request of server, database and load generator for {', '.join(systems)}.",
        row_in=0.34,
        handles=[
            Patch(facecolor=mixed(QUIET, pale) if pale else QUIET, edgecolor=QUIET, label=label)
            for _, label, pale in parts
        ],
    )
    style_of = styles(cells)
    for ax, workload in zip(axes, found, strict=True):
        own = measured(rows[rows["workload"] == workload]).set_index("system")
        sums = own[[column for column, _, _ in parts]].sum(axis=1)
        top = sums.max() if len(sums) and sums.max() > 0 else 1e-6
        factor, unit = unit_of(top, TIMES)
        from_zero(ax, top / factor, f"{unit} of CPU time per request")
        order = [str(system) for system in sums.sort_values(kind="stable").index]
        for row, system in enumerate(order):
            shares = [(own.loc[system, column] / factor, pale) for column, _, pale in parts]
            said = f"{system}, {workload}: {amount(sums[system], TIMES)}"
            stack(ax, row, shares, style_of[system], system, said)
            value_label(ax, sums[system] / factor, row, significant(sums[system] / factor), system)
        name_rows(ax, order)
    return chart


@themed
def records_curve(cells: pd.DataFrame) -> Chart:
    """Throughput against the records that a request names, both logarithmic: one line a server, with its intervals."""
    rows = measured(own_load(without_control(cells)))
    rows = rows[rows["records_count"].notna()].sort_values("records_count")
    counts = sorted(rows["records_count"].unique())
    systems = ordered(without_control(cells)["system"])
    chart, axes = panels(
        ["PgSQL 2, by the number of records"] * (len(rows) > 0),
        [10] * (len(rows) > 0),
        title="Throughput against the number of records in a response",
        caption="Both axes logarithmic; whiskers: 95 % interval; hollow: the load was the limit, the server could do more.",
        description=f"Lines of requests per second against {', '.join(f'{count:g}' for count in counts)} records for "
        f"{', '.join(systems)}.",
    )
    for ax in axes:
        _log_axes(ax, counts, rows)
        _records_lines(ax, rows, styles(cells))
    return chart


def _records_lines(ax: Axes, rows: pd.DataFrame, style_of: Mapping[str, Style]) -> None:
    ends, systems = {}, ordered(rows["system"])
    for place, system in enumerate(systems):
        own = rows[rows["system"] == system]
        # Side by side, so that no interval hides another.
        at = own["records_count"] * 1.03 ** (place - (len(systems) - 1) / 2)
        (line,) = ax.plot(at, own["throughput_rps"], color=style_of[system].color)
        mark(line, system, system)
        columns_of = [f"throughput_{part}rps" for part in ("", "low_", "high_")]
        estimates = [drawn(*each) for each in own[columns_of].to_numpy(float)]
        said = [told(cell, "throughput_rps", RATES) for cell in own.to_dict("records")]
        hollow = own["bottleneck"].isin(LOWER_BOUND_LIMITS).to_numpy()
        upright(ax, at, estimates, style_of[system], system, hollow=hollow, said=said)
        ends[system] = height_of(ax, own["throughput_rps"].iloc[-1])
    direct_labels(ax, ends, style_of)


def _log_axes(ax: Axes, counts: list[float], rows: pd.DataFrame) -> None:
    ax.set(xlabel="records in a response (count)", ylabel="requests/s", xscale="log", yscale="log")
    ax.minorticks_off()
    ax.grid()
    ax.set_xticks(counts, [f"{count:g}" for count in counts])
    reached = rows[["throughput_rps", "throughput_low_rps", "throughput_high_rps"]]
    values = rows["throughput_rps"]  # an interval longer than all that is known is cut off
    low = max(reached.min().min(), values.min() / 2) / 1.25
    high = min(reached.max().max(), values.max() * 2) * 1.25
    steps = [digit * 10.0**power for power in range(7) for digit in (1, 2, 5)]
    ax.set_ylim(low, high)
    ax.set_yticks([step for step in steps if low <= step <= high])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(value)))


@themed
def generators_compared(
    ratios: pd.DataFrame, cells: pd.DataFrame, noise_floor_ratio: Mapping[str, float], pinning: Mapping[str, str]
) -> Chart:
    """Chart the second load generator's throughput over the first one's, per cell, from the same blocks; log axis."""
    found = {workload: title for workload, title in columns(cells).items() if workload in set(ratios["workload"])}
    first, others = generator_of(cells, ""), listing(ordered(ratios["shape"]))
    chart, axes = panels(
        [title_of(cells, *column) for column in found.items()],
        [int((ratios["workload"] == workload).sum()) for workload in found],
        title=f"How far the load generators agree: {others} relative to {first}",
        caption="Points: geometric mean of the ratio per block; whiskers: 95 % interval; log axis. Shaded: the noise band of this run.\n"
        f"In grey: who was the limit, under {first} / under {others}; in brackets: nobody quite, but nearest to it.",
        description=f"Forest plot of throughput by {others} relative to {first}: "
        + "; ".join(f"{row.system} {amount(row.ratio, RATIOS)} on {row.workload}" for row in ratios.itertuples()),
        row_in=0.44,
    )
    for ax, workload in zip(axes, found, strict=True):
        band = band_ratio(noise_floor_ratio, workload)
        _generators_panel(ax, ratios[ratios["workload"] == workload], cells, band, pinning)
        ax.set_xlabel(f"{others} ÷ {first}")
    return chart


def _generators_panel(
    ax: Axes, rows: pd.DataFrame, cells: pd.DataFrame, band: float, pinning: Mapping[str, str]
) -> None:
    ax.axvspan(1 / band, band, color=BAND, zorder=0)
    ax.axvline(1.0, color=QUIET, linewidth=1.0)
    rows, style_of = by_value(rows, "ratio"), styles(cells)
    reached = rows[["ratio", "ratio_low", "ratio_high"]].to_numpy(float)
    log_axis(ax, [1 / band, band, *reached.flat], [1 / band, band, *rows["ratio"]])
    for place, row in enumerate(rows.to_dict("records")):
        estimate, system = (row["ratio"], row["ratio_low"], row["ratio_high"]), row["system"]
        sides = [cell_of(cells, system, labelled(cells, row["workload"], shape)) for shape in ("", row["shape"])]
        limits = " / ".join(_limit(side, pinning) for side in sides if side is not None)
        said = f"{system}: {quantity(*estimate, RATIOS)}"
        point(ax, place, drawn(*estimate), style_of[system], filled=True, system=system, said=said)
        beside(ax, place - 0.2, quantity(*estimate, RATIOS), INK, system)
        beside(ax, place + 0.2, limits, QUIET, system)
    name_rows(ax, list(rows["system"]))


def _limit(cell: pd.Series, pinning: Mapping[str, str]) -> str:
    name = _SHORT.get(nearest(cell, pinning), "?")
    return f"({name})" if cell["bottleneck"] == "unsaturated" else name
