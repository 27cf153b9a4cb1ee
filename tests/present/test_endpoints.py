"""Charts, tables and sentences of endpoints: what they must hold, and that they are true of whatever was measured."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer
from PIL import Image

from runners.core.records import CONTROL
from runners.present.endpoints import (
    charts as endpoint_charts,
    report,
    sentences as endpoint_words,
    tables as endpoint_tables,
    tables as endpoints,
)
from runners.present.kit.decision import LEADERS
from runners.present.limits import limits_of
from tests.present.endpoint_frames import PINNING, SLOWER, make_endpoints, make_ratios
from tests.present.test_charts import drawn_panels, words

COLUMNS = ["Text", "JSON", "PgSQL 1", "PgSQL 2, 20 records"]


@pytest.fixture
def run():
    return make_endpoints()


def all_charts(run):
    return {
        "requests": endpoint_charts.requests_by_endpoint(run.cells, run.published),
        "time": endpoint_charts.where_the_time_goes(run.cells),
        "records": endpoint_charts.records_curve(run.cells),
        "generators compared": endpoint_charts.generators_compared(make_ratios(run.cells), run.cells, {}, PINNING),
    }


def said(run):
    run.shape_ratios = make_ratios(run.cells)
    return [endpoint_words.answer(run), *endpoint_words.conclusions(run)]


def led(run, workload, leader, ratios, bound=""):
    """Comparisons of a workload with its leader: system → its ratio with the ends of the interval."""
    rows = [
        (
            workload,
            system,
            leader,
            *ratio,
            0.01,
            4,
            1,
            np.nan,
            "leader",
            bound,
            "slower" if ratio[2] < 1 else "undecided",
        )
        for system, ratio in ratios.items()
    ]
    run.comparisons = pd.concat([run.comparisons, pd.DataFrame(rows, columns=run.comparisons.columns)])


def test_the_columns_are_those_of_the_published_table_with_the_first_count(run):
    assert endpoints.columns(run.cells) == {"text": "Text", "json": "JSON", "sql1": "PgSQL 1", "sql2-20": "PgSQL 2"}
    assert endpoints.shapes(run.cells) == ["", "other"]
    assert [endpoints.generator_of(run.cells, shape) for shape in ("", "other")] == ["first", "other"]


def test_the_own_load_of_an_empty_frame_keeps_its_columns(run):
    assert list(endpoints.own_load(run.cells.iloc[:0]).columns) == list(run.cells.columns)
    assert len(endpoints.own_load(run.cells)) == 6 * 4


def test_every_chart_has_a_panel_for_each_endpoint_with_units_and_a_description(run):
    for name, chart in all_charts(run).items():
        assert len(chart.description) > 30
        assert all(ax.get_xlabel() for ax in drawn_panels(chart))
        if name != "records":
            assert [ax.get_title(loc="left") for ax in drawn_panels(chart)] == COLUMNS


def test_a_bar_for_each_server_and_generator_and_the_published_one_in_outline(run):
    panels = drawn_panels(endpoint_charts.requests_by_endpoint(run.cells, run.published))
    bars = [sum(isinstance(container, BarContainer) for container in ax.containers) for ax in panels]
    assert bars == [7, 6, 7, 6]
    assert "109 (alpha)" in words(panels[0])
    assert ["published" in [label.get_text() for label in ax.get_yticklabels()] for ax in panels] == [
        True,
        False,
        True,
        False,
    ]
    assert CONTROL not in [label.get_text() for ax in panels for label in ax.get_yticklabels()]


def test_without_anything_published_there_is_no_row_for_it(run):
    panel = drawn_panels(endpoint_charts.requests_by_endpoint(run.cells, run.published.iloc[:0]))[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["beta", "alpha", "gamma"]


def test_a_bar_whose_generator_was_the_limit_is_a_lower_bound(run):
    run.cells.loc[(run.cells["workload"] == "text@other") & (run.cells["system"] == "beta"), "bottleneck"] = "generator"
    panels = drawn_panels(endpoint_charts.requests_by_endpoint(run.cells, run.published))
    assert [text for ax in panels for text in words(ax) if text.startswith("≥")] == ["≥ 36.0"]


def test_the_stack_of_an_endpoint_without_a_database_has_two_parts(run):
    panels = drawn_panels(endpoint_charts.where_the_time_goes(run.cells))
    assert [len(ax.containers) for ax in panels] == [6, 6, 9, 9]
    # 0.95 + 0.36 CPU seconds for 40,000 requests.
    assert "32.8" in words(panels[0])
    assert panels[0].get_xlabel().startswith("µs")


def test_a_line_for_each_server_over_all_counts(run):
    (panel,) = drawn_panels(endpoint_charts.records_curve(run.cells))
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1", "20", "100"]
    lines = [line for line in panel.lines if len(line.get_xdata()) == 3]
    assert len(lines) == 3
    assert list(lines[0].get_ydata()) == [11_000, 8_000, 3_000]


def test_the_agreement_names_both_limits(run):
    panel = drawn_panels(endpoint_charts.generators_compared(make_ratios(run.cells), run.cells, {}, PINNING))[2]
    assert f"{SLOWER:.3f} × (0.570 to 0.624)" in words(panel)
    assert "database / database" in words(panel)
    run.cells.loc[run.cells["workload"] == "sql1", "bottleneck"] = "unsaturated"
    panel = drawn_panels(endpoint_charts.generators_compared(make_ratios(run.cells), run.cells, {}, PINNING))[2]
    assert "(database) / database" in words(panel)


def test_a_run_without_a_single_number_still_has_its_charts(run):
    run.cells = run.cells.iloc[:1].assign(status="failed: build", throughput_rps=np.nan)
    for chart in (
        endpoint_charts.records_curve(run.cells),
        endpoint_charts.where_the_time_goes(run.cells),
        endpoint_charts.requests_by_endpoint(run.cells, run.published),
        endpoint_charts.generators_compared(make_ratios(run.cells), run.cells, {}, PINNING),
    ):
        assert chart.png()


def test_cells_without_a_number_and_unknown_intervals_spoil_no_chart_and_no_sentence(run):
    failed = run.cells["system"] == "gamma"
    numbers = run.cells.select_dtypes("number").columns
    run.cells.loc[failed, numbers], run.cells.loc[failed, "status"] = np.nan, "failed: contract"
    run.cells.loc[failed, "bottleneck"] = np.nan
    run.cells[["throughput_low_rps", "throughput_high_rps"]] = np.nan
    for chart in all_charts(run).values():
        assert np.asarray(Image.open(io.BytesIO(chart.png())).convert("RGBA"))[..., 3].max() > 250
    text = "\n".join(said(run))
    assert "nan" not in text
    assert "gamma" not in text
    assert "failed: contract" in endpoint_tables.published_table(run.cells, run.published).text


def test_the_published_table_is_filled_with_intervals_and_what_is_not_known_is_a_question_mark(run):
    lines = endpoint_tables.published_table(run.cells, run.published).text.splitlines()
    cells = ("40.0 k 38.8 to 41.2", "38.0 k 36.9 to 39.1", "12.0 k 11.6 to 12.4", "8.00 k 7.76 to 8.24")
    assert "\t".join(["alpha", *(f"{cell}; n = 4/4" for cell in cells)]) in lines
    assert "alpha\t109 k\t?\t46.4 k\t?" in lines
    assert any("another machine" in line for line in lines)
    assert sum(line.startswith("beta\t") for line in lines) == 2


def test_who_was_busy_tells_the_shares_of_those_on_one_cpu(run):
    text = endpoint_tables.limits(run.cells, PINNING).text
    assert "beta\tfirst\t60.0 % itself 50.0 %\t97.0 % itself 60.0 %\t97.0 % itself 36.0 %\tthe database" in text
    assert "beta\tfirst\t99.0 % itself 95.0 %\t– takes no part\t50.0 % itself 36.0 %\tthe server" in text


def test_what_is_behind_the_servers_is_stated_from_the_run_s_record_and_escaped(run):
    found = endpoint_tables.behind(run.manifest.backends)
    assert "20 from each server, kept open: 10 for each of its CPUs" in found.text
    assert "jit = off" in found.text
    assert "<off>" not in found.html


def test_the_answer_names_the_server_that_leads_most_workloads_and_by_how_much(run):
    for workload in ("text", "json"):
        led(run, workload, "beta", {"alpha": (0.667, 0.64, 0.69), "gamma": (0.333, 0.32, 0.35)})
    first, *rest = said(run)
    assert first == "beta is fastest in 2 of 2 workloads: on Text 1.50 × alpha (1.45 to 1.56)."
    assert (
        rest[0]
        == "JSON: beta completes 1.50 × as many as alpha (1.45 to 1.56) and 3.0 × as many as gamma (2.9 to 3.1)."
    )
    assert first not in rest


def test_the_answer_names_the_system_that_leads_where_that_of_the_server_s_own_name_does_not(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69)})
    led(run, "json", "gamma", {"alpha": (0.333, 0.32, 0.35), "beta": (0.2, 0.19, 0.21)})
    run.cells.loc[run.cells["system"] == "gamma", "server"] = "beta"
    assert said(run)[0] == "beta is fastest in 2 of 2 workloads: on JSON gamma reaches 3.0 × alpha (2.9 to 3.1)."


def test_a_workload_that_the_database_limited_ranks_no_server(run):
    for workload in ("text", "sql1", "sql2-20"):
        led(run, workload, "beta", {"alpha": (0.667, 0.64, 0.69)})
    first, *rest = said(run)
    assert first.endswith("on Text 1.50 × alpha (1.45 to 1.56); the database limited 2.")
    assert (
        "PgSQL 1 and PgSQL 2, 20 records: the database was the limit of the leader, so these throughputs rank no server."
        in rest
    )
    run.comparisons = run.comparisons[run.comparisons["workload"] != "text"]
    assert said(run)[0] == "The database was the limit of all 2 workloads, so no server is fastest."


def test_a_tie_with_another_server_is_no_lead_and_one_with_another_decoder_of_the_same_is(run):
    led(run, "text", "beta", {"alpha": (0.99, 0.95, 1.03), "gamma": (0.333, 0.32, 0.35)})
    assert said(run)[0] == "Text: beta and alpha tie; beta completes 3.0 × as many as gamma (2.9 to 3.1)."
    run.cells.loc[run.cells["system"] == "alpha", "server"] = "beta"
    assert said(run)[0].startswith("beta is fastest on Text: 3.0 × gamma")


def test_a_leader_that_the_load_generator_limited_leads_by_at_least_that(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69)}, bound="at most")
    assert said(run)[0] == "beta is fastest on Text: at least 1.50 × alpha (1.45 to 1.56)."


def test_who_is_fastest_cannot_be_said_where_the_load_generator_limited_both(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69)}, bound="unknown")
    assert said(run)[0] == "Text: beta completes 60.0 k/s (58.2 to 61.8); alpha cannot be ranked with it."


def test_the_limits_of_all_cells_are_counted(run):
    assert "Of 18 cells, the database limited 12 and the server 6." in said(run)
    run.cells.loc[run.cells["workload"] == "sql1", "bottleneck"] = "unsaturated"
    assert "Of 18 cells, the database limited 9 and the server 6; in 3 nothing was busy throughout." in said(run)


def test_where_everybody_waited_nothing_was_busy_and_the_table_has_who_came_nearest(run):
    run.cells.loc[run.cells["workload"] == "sql1", ["bottleneck", "backend_busy_fraction"]] = "unsaturated", 0.9
    run.cells.loc[run.cells["workload"] == "sql1", "generator_busy_fraction"] = 0.9
    assert "nothing was busy nearest: the database" in endpoint_tables.limits(run.cells, PINNING).text


def test_the_decision_table_has_a_row_a_system_and_a_column_a_workload_with_the_leaders_first(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69), "gamma": (0.99, 0.9, 1.1)})
    lines = report.decision_table(run).text.splitlines()
    assert lines[1] == "system\tText\tJSON\tPgSQL 1\tPgSQL 2, 20 records"
    assert lines[2] == LEADERS
    assert lines[3].startswith("beta\t60.0 k/s leader\t57.0 k/s not ranked\t18.0 k/s")
    assert lines[4].startswith("gamma\t20.0 k/s tied: 1.0 × (0.9 to 1.1)")
    assert lines[6].startswith("alpha\t40.0 k/s 1.50 × (1.45 to 1.56)")


def test_a_workload_in_which_nobody_can_be_compared_has_no_leader_in_the_decision_table(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69), "gamma": (0.333, 0.32, 0.35)}, bound="unknown")
    led(run, "json", "alpha", {"beta": (0.667, 0.64, 0.69), "gamma": (0.333, 0.32, 0.35)})
    lines = report.decision_table(run).text.splitlines()
    assert lines[3].startswith("alpha\t40.0 k/s not ranked\t38.0 k/s leader")
    assert [line for line in lines if "beta\t60.0 k/s not ranked" in line]


def test_a_system_leads_also_where_all_others_failed_requests(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69), "gamma": (0.333, 0.32, 0.35)}, bound="unknown")
    others = (run.cells["workload"] == "text") & (run.cells["system"] != "beta")
    run.cells.loc[others, "errors_fraction"] = 0.5
    assert report.decision_table(run).text.splitlines()[3].startswith("beta\t60.0 k/s leader")


def test_the_title_of_the_main_chart_says_how_far_the_servers_are_apart_with_the_ratios_of_the_table(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69), "gamma": (0.345, 0.32, 0.37)})
    led(run, "json", "alpha", {"beta": (0.78, 0.7, 0.9), "gamma": (0.9, 0.8, 1.01)}, bound="at most")
    assert report.message(run) == "From the slowest to the fastest server: 2.9 × on Text; ≥ 1.3 × on JSON"
    table = report.decision_table(run).text
    assert "2.9 × (2.7 to 3.1)" in table
    assert "≥ 1.3 × (1.1 to 1.4)" in table


def test_where_no_server_is_ranked_the_title_compares_none(run):
    led(run, "text", "beta", {"alpha": (0.667, 0.64, 0.69)}, bound="unknown")
    assert report.message(run) == "Requests per second"


def test_of_those_that_share_a_cpu_the_one_that_used_more_of_it_is_nearest(run):
    cell = run.cells[run.cells["workload"] == "sql1"].iloc[0].copy()
    cell["bottleneck"], cell["generator_used_fraction"] = "unsaturated", 0.7
    assert endpoints.nearest(cell, PINNING) == "generator"
    assert endpoints.nearest(cell, {**PINNING, "generator": "2"}) == "backend"


def test_an_interval_without_end_does_not_shrink_the_bars(run):
    run.cells.loc[0, "throughput_high_rps"] = 1e7
    panel = drawn_panels(endpoint_charts.requests_by_endpoint(run.cells, run.published))[0]
    assert panel.get_xlim()[1] < 210


def test_more_records_are_told_as_a_factor(run):
    text = "\n".join(said(run))
    assert "From 1 to 100 records throughput falls by 3.7 × (3.5 to 3.8) with" in text


def test_generators_and_published_values_are_compared_as_ratios(run):
    text = "\n".join(said(run))
    assert "first drove up to 1.67 × (1.60 to 1.75) as many requests as other (" in text
    assert "; other was the limit in 0 of 12 cells." in text
    assert (
        "elsewhere published that Text is 2.35 × PgSQL 1; here Text is 3.33 × PgSQL 1 (alpha; intervals not known)."
        in text
    )


def test_one_generator_and_one_count_make_no_sentence_about_two(run):
    run.cells = run.cells[~run.cells["workload"].str.contains("@|-1$|-100$")]
    text = "\n".join(said(run))
    assert "drove" not in text
    assert "From" not in text


def test_own_limits_are_computed_and_stand_among_the_others(run):
    own = endpoint_words.threats_of_endpoints(run)
    assert own[0].startswith("The database, not the server, was the limit of 18 of 30 cells")
    assert "Service times that other saw hold the time that responses waited in it: its CPUs were 97 % busy." in own
    assert len(own) == 2
    run.published["p50_s"] = np.nan
    assert endpoint_words.threats_of_endpoints(run)[2].startswith("elsewhere kept service times in whole milliseconds")
    assert set(own) < set(limits_of(run, own))
