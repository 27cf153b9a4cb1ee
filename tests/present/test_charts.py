"""Charts: what they must contain, whatever the run measured."""

import io
import re
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from matplotlib.container import BarContainer
from PIL import Image

from runners.core.records import CONTROL, Hue
from runners.core.run_manifest import Shade
from runners.present.kit.markup import REPORT
from runners.present.kit.palette import BAD, GOOD, INK, QUIET, colour, hues_by_name, luminance
from runners.present.kit.theme import Chart, styles
from runners.present.throughput import charts, curves
from tests.present.frames import make_sample

DARK_PAGE = "#14171a"


@pytest.fixture(scope="module")
def sample():
    return make_sample()


def all_charts(run):
    return {
        "throughput": charts.throughput(run.cells),
        "cpu": charts.cpu_per_request(run.cells),
        "share": charts.share_of_floor(run.shares, run.cells),
        "ratios": charts.ratios(run.comparisons, run.cells, run.noise_floor_ratio),
        "curves": curves.percentile_curves(run.curves, run.cells),
        "stability": curves.stability(run.trials, run.cells),
    }


def drawn_panels(chart):
    return [ax for ax in chart.axes if ax.get_title(loc="left")]


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_every_chart_says_what_it_shows_with_units_and_for_those_who_cannot_see_it(sample):
    for chart in all_charts(sample).values():
        assert chart.title
        assert len(chart.description) > 30
        assert drawn_panels(chart)
        assert all(ax.get_xlabel() for ax in drawn_panels(chart))


def test_without_a_floor_there_is_no_chart_of_its_shares(sample):
    assert charts.share_of_floor(sample.shares.iloc[:0], sample.cells) is None


def test_a_chart_without_panels_shows_nothing(monkeypatch):
    empty = Chart("Response time", "Whiskers: 95 % interval.", "a line for each of .")
    assert empty.html == ""
    assert (empty.fragment.html, empty.fragment.text) == ("", "a line for each of .")
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **about: shown.append(data))
    empty._ipython_display_()
    assert shown == [{"text/plain": "a line for each of .", REPORT: {"html": ""}}]


def test_there_is_one_panel_per_workload_and_one_bar_per_system(sample):
    chart = charts.throughput(sample.cells)
    panels = drawn_panels(chart)
    assert [ax.get_title(loc="left") for ax in panels] == [
        "discard, 1 operation",
        "decode, 1 operation",
        "discard, 10 operations",
        "decode, 10 operations",
    ]
    bars = [sum(isinstance(container, BarContainer) for container in ax.containers) for ax in panels]
    assert bars == [2, 6, 2, 6]
    assert panels[0].get_xlabel() == "k requests/s"


def test_only_the_client_bound_bar_is_marked_as_a_lower_bound(sample):
    marked = [
        text for ax in drawn_panels(charts.throughput(sample.cells)) for text in words(ax) if text.startswith("≥")
    ]
    assert len(marked) == 1


def test_value_labels_are_in_the_unit_of_their_axis(sample):
    cells = sample.cells[sample.cells["workload"] == "decode-10"].copy()
    cells.loc[cells["system"] == "drogon+glaze", ["throughput_rps", "throughput_low_rps", "throughput_high_rps"]] *= 20
    (panel,) = drawn_panels(charts.throughput(cells))
    assert panel.get_xlabel() == "M requests/s"
    assert all(float(text) < 2 for text in words(panel))


def test_a_system_that_failed_has_its_reason_in_the_place_of_a_bar(sample):
    cells = sample.cells[sample.cells["workload"] == "decode-10"].copy()
    cells.loc[cells.index[0], ["status", "throughput_rps"]] = ["failed: contract, <b>$x</b>", np.nan]
    (panel,) = drawn_panels(charts.throughput(cells))
    assert " failed: contract, <b>$x</b>" in words(panel)
    charts.throughput(cells).png()  # a dollar sign is not mathematics


def test_the_forest_plot_compares_with_the_leader_of_each_panel_and_shades_the_noise(sample):
    chart = charts.ratios(sample.comparisons, sample.cells, sample.noise_floor_ratio)
    panels = {ax.get_title(loc="left"): ax for ax in drawn_panels(chart)}
    family = sample.comparisons.query("family == 'leader'").set_index("workload")["system_b"]
    for title, workload in (("decode, 1 operation", "decode-1"), ("decode, 10 operations", "decode-10")):
        leader = family[workload].iloc[0]
        names = [label.get_text() for label in panels[title].get_yticklabels()]
        assert leader not in names
        assert {"gin+encoding/json", "drogon+yyjson", CONTROL} <= set(names)
        assert panels[title].get_xlabel().startswith(f"ratio to {leader}")
    assert all("noise" in ax.get_xlabel() and "±2.0 %" in ax.get_xlabel() for ax in panels.values())


def test_the_curve_is_dashed_where_it_is_no_estimate(sample):
    panel = drawn_panels(curves.percentile_curves(sample.curves, sample.cells))[1]
    dashed = [line for line in panel.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["p50", "", "p90", "p99", "p99.9", "p99.99"]


def test_outliers_are_found_by_tukeys_fences_and_warm_up_is_left_out(sample):
    windows = curves.relative_windows(sample.trials)
    assert not windows["warmup"].any()
    assert windows.groupby(["system", "workload"])["relative_ratio"].median().to_numpy() == pytest.approx(1)
    planted = windows[(windows["system"] == "drogon+glaze") & (windows["block"] == 5) & (windows["window"] == 2)]
    assert planted["outlier"].all()
    assert windows["outlier"].mean() < 0.1


def test_intervals_that_are_not_known_do_not_spoil_a_chart(sample):
    run = make_sample(3)
    for frame in (run.cells, run.comparisons, run.shares):
        for column in [name for name in frame.columns if "_low" in name or "_high" in name]:
            frame[column] = np.nan
    for chart in all_charts(run).values():
        image = np.asarray(Image.open(io.BytesIO(chart.png())).convert("RGBA"))[..., 3]
        assert image.max() > 250
        assert (image[:40] > 250).mean() < 0.5  # a title has no ground, or it would be a slab on a dark page


def shaded(cells, hues):
    """Cells with the shades that a manifest would record."""
    rows = cells[cells["system"] != CONTROL].drop_duplicates("system").reset_index(drop=True)
    place = rows.groupby("server").cumcount()
    found = {
        row.system: Shade(hue=hues[row.server], place=place[row.Index], of=(rows["server"] == row.server).sum())
        for row in rows.itertuples()
    }
    return cells.assign(shade=cells["system"].map(found))


def test_a_system_has_its_recorded_colour_whoever_is_beside_it(sample):
    cells = shaded(sample.cells, {"gin": "green", "drogon": "purple"})
    alone = cells[cells["system"] == "gin+simdjson-go"]
    assert styles(alone)["gin+simdjson-go"] == styles(cells)["gin+simdjson-go"]
    assert styles(sample.cells)["gin+simdjson-go"] != styles(cells)["gin+simdjson-go"]


@pytest.mark.parametrize("servers", [["gin", "drogon"], [f"server-{number}" for number in range(8)]])
def test_servers_of_an_old_record_have_distinct_hues_that_follow_from_their_names(servers):
    found = hues_by_name(servers)
    assert len(set(found.values())) == len(servers)
    assert hues_by_name(servers[::-1]) == found


def test_more_servers_than_hues_still_have_one_each():
    assert len(set(hues_by_name([f"server-{number}" for number in range(20)]).values())) == 8


@pytest.mark.parametrize("hue", get_args(Hue))
def test_every_shade_is_told_from_white_and_from_the_dark_page(hue):
    shown = {colour(Shade(hue=hue, place=place, of=6)) for place in range(6)} | {colour(Shade(hue=hue, place=0, of=1))}
    assert len(shown) == 7
    for each in shown:
        assert 1.05 / (luminance(each) + 0.05) >= 2.9, each
        assert (luminance(each) + 0.05) / (luminance(DARK_PAGE) + 0.05) >= 2.9, each


def test_the_ink_of_a_picture_is_told_from_a_light_page_and_from_jupyterlab_s_dark_one():
    for ink in (INK, QUIET, GOOD, BAD):
        assert 1.05 / (luminance(ink) + 0.05) >= 4.0, ink
        assert (luminance(ink) + 0.05) / (luminance("#111111") + 0.05) >= 4.0, ink


def test_the_systems_of_a_panel_are_sorted_by_value_and_the_control_comes_last(sample):
    for ax in drawn_panels(charts.throughput(sample.cells)):
        names = [label.get_text() for label in ax.get_yticklabels()]
        rates = sample.cells[sample.cells["workload_title"] == ax.get_title(loc="left")].set_index("system")
        own = [name for name in names if name != CONTROL]
        assert own == list(rates.loc[own, "throughput_rps"].sort_values(ascending=False).index)
        assert CONTROL not in names[:-1]


def test_the_panels_of_one_family_have_one_axis(sample):
    ends = {ax.get_title(loc="left"): ax.get_xlim()[1] for ax in drawn_panels(charts.throughput(sample.cells))}
    assert ends["decode, 1 operation"] == ends["decode, 10 operations"]


def test_a_whisker_that_leaves_the_axis_ends_in_an_arrow_with_its_n(sample):
    cells = sample.cells[sample.cells["workload"] == "decode-10"].copy()
    cells.loc[cells["system"] == "drogon+simdjson", "throughput_high_rps"] *= 40
    (panel,) = drawn_panels(charts.throughput(cells))
    assert "n = 8" in words(panel)
    assert [line.get_marker() for line in panel.lines].count(">") == 1
    assert panel.get_xlim()[1] < 2 * 1.5 * 90


def test_a_picture_has_no_ground_of_its_own_and_is_sharper_than_a_plain_screen(sample):
    chart = charts.throughput(sample.cells)
    png = chart.png()
    picture = Image.open(io.BytesIO(png))
    assert isinstance(chart, Chart)
    assert len(png) < 150_000
    assert picture.size[0] > 1.4 * 96 * 9
    assert picture.convert("RGBA").getpixel((0, 0))[3] == 0


def test_a_report_has_one_small_svg_for_each_panel_with_text_and_nothing_that_acts(sample):
    for chart in all_charts(sample).values():
        figure = BeautifulSoup(chart.html, "html.parser").figure
        drawn = figure.select(".wb-panels > svg")
        assert [svg["aria-label"] for svg in drawn] == [ax.get_title(loc="left") for ax in drawn_panels(chart)]
        assert len(chart.html) < 130_000
        assert not figure.select("style, script, image, foreignobject, metadata")
        assert {"gin", "drogon", "drogon+simdjson"} & {each["data-system"] for each in figure.select("[data-system]")}
        assert figure.find("text")
        assert "DejaVu" not in chart.html
        assert "#" + INK.strip("#") not in chart.html


def test_a_mark_tells_its_value_with_interval_and_n(sample):
    figure = BeautifulSoup(charts.throughput(sample.cells).html, "html.parser")
    told = {title.get_text() for title in figure.select('[data-system="drogon+simdjson"] title')}
    assert any(re.search(r"decode, 10 operations: \S+ k requests/s \(.* to .*\), n = 8", each) for each in told)


def places(lines):
    return {tuple(np.round(place, 6)) for line in lines for place in line.get_xydata()}


def test_a_ring_stands_around_the_window_that_it_marks(sample):
    few = sample.trials[sample.trials["block"].isin([2, 5, 6, 8])]
    for trials in (sample.trials, few):
        panels = drawn_panels(curves.stability(trials, sample.cells))[1:]
        marks = [[line for line in ax.lines if line.get_marker() == "o"] for ax in panels]
        rings = [places(line for line in lines if line.get_markerfacecolor() == "none") for lines in marks]
        points = [places(line for line in lines if line.get_markerfacecolor() != "none") for lines in marks]
        assert any(rings)
        for ring, point in zip(rings, points, strict=True):
            assert ring <= point


def test_the_axis_of_two_blocks_has_their_numbers_alone_in_each_panel(sample):
    trials = sample.trials[sample.trials["block"].isin([1, 2])]
    systems, workloads = list(trials["system"].unique()), list(trials["workload"].unique())
    # Of the last system alone, dots stand on one side of their blocks.
    trials = trials[(trials["workload"] == workloads[0]) | (trials["system"] == systems[-1])]
    for ax in drawn_panels(curves.stability(trials, sample.cells)):
        left, right = ax.get_xlim()
        assert [tick for tick in ax.get_xticks() if left < tick < right] == [1, 2]


def test_of_many_blocks_consecutive_ones_are_drawn_as_one_and_every_outlier_is_kept(sample):
    blocks = sample.trials["block"].max()
    copies = [sample.trials.assign(block=sample.trials["block"] + number * blocks) for number in range(40)]
    trials = pd.concat(copies, ignore_index=True)
    chart = curves.stability(trials, sample.cells)
    assert re.search(r"lines: mean of \d+ blocks", chart.caption)
    assert "every window" not in chart.title
    for ax in drawn_panels(chart)[1:]:
        lines = [line for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 2]
        assert lines
        assert all(len(line.get_xdata()) <= 100 for line in lines)
        rings = [line for line in ax.lines if line.get_markerfacecolor() == "none" and line.get_marker() == "o"]
        dots = [line for line in ax.lines if line.get_markerfacecolor() != "none" and line.get_marker() == "o"]
        # Each ring has a dot inside, and other windows have none.
        assert places(rings) == places(dots)
    outliers = int(curves.relative_windows(trials)["outlier"].sum())
    assert f"{outliers} are outliers" in chart.description


def test_a_run_without_outliers_has_no_rings(sample):
    steady = sample.trials.assign(throughput_rps=1000.0)
    chart = curves.stability(steady, sample.cells)
    assert "0 are outliers" in chart.description


def test_stability_keeps_the_order_of_the_other_charts(sample):
    shuffled = sample.trials.sample(frac=1, random_state=1)
    titles = [ax.get_title(loc="left") for ax in drawn_panels(curves.stability(shuffled, sample.cells))[1:]]
    assert titles == [ax.get_title(loc="left") for ax in drawn_panels(charts.throughput(sample.cells))]
