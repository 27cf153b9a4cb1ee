"""Charts: what they must contain, whatever the run measured."""

import io

import numpy as np
import pytest
from matplotlib.container import BarContainer
from PIL import Image

from runners.core.records import CONTROL
from runners.present.kit.theme import Chart, styles
from runners.present.throughput import charts, curves
from tests.present.frames import make_sample


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
        assert chart.get_suptitle()
        assert len(chart.description) > 30
        assert drawn_panels(chart)
        assert all(ax.get_xlabel() for ax in drawn_panels(chart))


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
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["p50", "p75", "p90", "p99", "p99.9", "p99.99"]


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
        image = np.asarray(Image.open(io.BytesIO(chart.png())).convert("L"))
        assert image.min() < 100


def test_colours_follow_the_order_given_and_not_the_names(sample):
    renamed = sample.cells.assign(
        system=sample.cells["system"].str.replace("gin", "nig"), server=sample.cells["server"].replace("gin", "nig")
    )
    before, after = styles(sample.cells), styles(renamed)
    assert after["nig+simdjson-go"] == before["gin+simdjson-go"]
    assert len({look.color for look in before.values()}) == len(before)


def test_a_chart_is_a_small_opaque_picture_sharper_than_a_plain_screen(sample):
    chart = charts.throughput(sample.cells)
    png = chart.png()
    picture = Image.open(io.BytesIO(png))
    assert isinstance(chart, Chart)
    assert len(png) < 150_000
    assert picture.size[0] == 1.5 * 96 * 9
    assert picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)


def offsets(collections):
    return {tuple(np.round(place, 6)) for found in collections for place in found.get_offsets()}


def test_a_ring_stands_around_the_window_that_it_marks(sample):
    few = sample.trials[sample.trials["block"].isin([2, 5, 6, 8])]
    for trials in (sample.trials, few):
        panels = drawn_panels(curves.stability(trials, sample.cells))[1:]
        rings = [[each for each in ax.collections if len(each.get_facecolor()) == 0] for ax in panels]
        points = [[each for each in ax.collections if len(each.get_facecolor())] for ax in panels]
        assert any(offsets(found) for found in rings)
        for ring, point in zip(rings, points, strict=True):
            assert offsets(ring) <= offsets(point)


def test_a_run_without_outliers_has_no_rings(sample):
    steady = sample.trials.assign(throughput_rps=1000.0)
    chart = curves.stability(steady, sample.cells)
    assert "0 are outliers" in chart.description


def test_stability_keeps_the_order_of_the_other_charts(sample):
    shuffled = sample.trials.sample(frac=1, random_state=1)
    titles = [ax.get_title(loc="left") for ax in drawn_panels(curves.stability(shuffled, sample.cells))[1:]]
    assert titles == [ax.get_title(loc="left") for ax in drawn_panels(charts.throughput(sample.cells))]
