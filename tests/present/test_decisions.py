"""Reports about endpoints, connections, proxies and levels of load hold the limits of a report, whatever was measured."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from runners.analyse.results import analyse
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, Interval
from runners.present.connections import report as connections
from runners.present.connections.sentences import busy
from runners.present.endpoints import report as endpoints
from runners.present.kit.wording import MOST_CONCLUSIONS, MOST_WORDS, words_count
from runners.present.levels import report as levels
from runners.present.proxies import report as proxies
from runners.stats.verdicts import bound, verdict
from tests.analyse import loaded, scaled
from tests.conftest import examples
from tests.present import test_proxies
from tests.present.endpoint_frames import make_endpoints, make_ratios, with_fixed_rate
from tests.test_language import words

MOST_SURE = 3
STATUSES = st.sampled_from(
    ["ok"] * 7 + ["all trials are void (steal: 31 % of a CPU's time was stolen)", "failed: contract"]
)
LIMITS = st.sampled_from(["server", "server", "generator", "both", "backend", "unsaturated"])
FACTORS = st.one_of(st.floats(0.97, 1.03), st.floats(0.05, 20), st.just(1.0))
WIDTHS = st.sampled_from([np.nan, 0.0, 0.0004, 0.012, 0.2, 3.0])


def column(draw, strategy, rows):
    return draw(st.lists(strategy, min_size=len(rows), max_size=len(rows)))


def perturbed(draw, cells):
    """Cells with ties, bounds, void ones, errors, few systems, few launches and intervals of all widths, or none."""
    names = [name for name in dict.fromkeys(cells["system"]) if name != CONTROL]
    kept = {*draw(st.lists(st.sampled_from(names), min_size=1, unique=True)), *draw(st.sampled_from([[], [CONTROL]]))}
    cells = cells[cells["system"].isin(kept)].copy()
    width, blocks = draw(WIDTHS), draw(st.sampled_from([1, 2, 8]))
    cells["throughput_rps"] *= column(draw, FACTORS, cells)
    for value, low, high in (
        ("throughput_rps", "throughput_low_rps", "throughput_high_rps"),
        ("cpu_per_request_s", "cpu_per_request_low_s", "cpu_per_request_high_s"),
    ):
        cells[low], cells[high] = cells[value] / (1 + width), cells[value] * (1 + width)
    cells["bottleneck"], cells["status"] = column(draw, LIMITS, cells), column(draw, STATUSES, cells)
    cells["errors_count"] = column(draw, st.sampled_from([0, 0, 0, 7]), cells)
    cells["errors_fraction"] = cells["errors_count"] / 100
    cells["launches_count"], cells["launches_made_count"] = column(draw, st.integers(1, blocks), cells), blocks
    void = cells["status"] != "ok"
    cells.loc[void, ["throughput_rps", "cpu_per_request_s"]] = np.nan
    cells.loc[void, ["launches_count", "bottleneck"]] = [0, np.nan]
    return cells, width


def compared(cells, workloads, width):
    """The comparisons of each workload with its leader: the system that completed most of those without errors."""
    rows = []
    for workload in workloads:
        own = cells[(cells["workload"] == workload) & (cells["status"] == "ok") & (cells["system"] != CONTROL)]
        sound = own[own["errors_fraction"] <= 0.001]
        if sound.empty:
            continue
        leader = sound.loc[sound["throughput_rps"].idxmax()]
        for row in own[own["system"] != leader["system"]].to_dict("records"):
            ratio = row["throughput_rps"] / leader["throughput_rps"]
            interval = Interval(ratio, ratio / (1 + width), ratio * (1 + width))
            side = bound(row["bottleneck"] in LOWER_BOUND_LIMITS, leader["bottleneck"] in LOWER_BOUND_LIMITS)
            said = "not comparable" if row["errors_fraction"] > 0.001 else verdict(interval, 0.01, side)
            names = (workload, row["system"], leader["system"])
            rows.append((*names, ratio, interval.low, interval.high, 0.01, 4, 1, np.nan, "leader", side, said))
    names = ["workload", "system_a", "system_b", "ratio", "ratio_low", "ratio_high", "p_value", "blocks_count"]
    return pd.DataFrame(rows, columns=[*names, "sessions_count", "between_ratio", "family", "bound", "verdict"])


def check(subject, run):
    answer, found, sure = subject.answer(run), list(subject.conclusions(run)), list(subject.how_sure(run))
    every = [answer, subject.message(run), *found, *sure]
    assert {each: words_count(each) for each in every if words_count(each) > MOST_WORDS} == {}
    assert len(set(every)) == len(every)
    assert len(found) <= MOST_CONCLUSIONS
    assert 1 <= len(sure) <= MOST_SURE
    assert answer
    text = "\n".join([*every, subject.decision_table(run).text])
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b|–", "\n".join(every)), text
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", text), text
    assert not re.search(r"(?<![\d.])0\.\d+ ×", "\n".join(every)), text
    assert not re.search(rf"(?<!The )\b{CONTROL}\b(?! has)", text), text
    return answer


def test_reports_count_the_words_of_names_and_numbers_as_the_tests_of_the_language_do():
    text = "gin+sonic, 1,000/s: 137 µs (4.0 to 446.2); drogon ≥ 2 ×."
    assert words_count(text) == words(text) == 11


@pytest.fixture(scope="module")
def connection_run(tmp_path_factory):
    rates = {"net-http": 60_000.0, "express": 8_000.0, "gin": 59_000.0, "node": 30_000.0}
    cells = {(name, count): rate / (1 + count / 20_000) for name, rate in rates.items() for count in (20, 1000, 19_900)}
    return analyse(scaled.run_of(tmp_path_factory.mktemp("scaled"), cells, blocks=2))


@pytest.fixture(scope="module")
def loaded_run(tmp_path_factory):
    queues = {
        "decode-10": {"fast+a": 56_000.0, "fast+b": 30_000.0, "slow+c": 9_600.0, "slow+d": 9_000.0},
        "ping": {"fast": 90_000.0, "slow": 52_000.0},
    }
    return analyse(loaded.run_of(tmp_path_factory.mktemp("loaded"), queues, blocks=2))


@examples(5)
@given(st.data())
def test_endpoints_whatever_was_measured(data):
    run = make_endpoints()
    cells, width = perturbed(data.draw, with_fixed_rate(run.cells))
    run.cells = cells
    run.comparisons = compared(cells, list(dict.fromkeys(cells["workload"])), width)
    run.shape_ratios = make_ratios(cells[(cells["status"] == "ok") & cells["offered_rps"].isna()])
    check(endpoints, run)


@examples(5)
@given(st.data())
def test_connections_whatever_was_measured(connection_run, data):
    cells, width = perturbed(data.draw, connection_run.cells)
    run = copy.copy(connection_run)
    run.__dict__.update(cells=cells, comparisons=compared(cells, list(dict.fromkeys(cells["workload"])), width))
    check(connections, run)
    assert busy(run) == "" or "Little" in busy(run)


@examples(5)
@given(st.data())
def test_proxies_whatever_was_measured(data):
    run = test_proxies.make_run()
    cells, width = perturbed(data.draw, run.cells)
    run.cells, run.comparisons = cells, compared(cells, run.ranked, width)
    check(proxies, run)


@examples(5)
@given(st.data())
def test_levels_whatever_was_measured(loaded_run, data):
    draw = data.draw
    frame, width = loaded_run.capacities.copy(), draw(WIDTHS)
    kept = {
        *draw(st.lists(st.sampled_from(sorted(set(frame["system"]) - {CONTROL})), min_size=1, unique=True)),
        CONTROL,
    }
    frame = frame[frame["system"].isin(kept)].copy()
    frame["capacity_rps"] *= column(draw, FACTORS, frame)
    frame["capacity_low_rps"], frame["capacity_high_rps"] = (
        frame["capacity_rps"] / (1 + width),
        frame["capacity_rps"] * (1 + width),
    )
    frame["bound"] = column(draw, st.sampled_from(["", "", "at least", "at most", "unknown"]), frame)
    frame["status"] = column(draw, STATUSES, frame)
    frame.loc[frame["status"] != "ok", ["capacity_rps", "capacity_low_rps", "capacity_high_rps", "ratio"]] = np.nan
    for _, rows in frame.groupby(["base_workload", "objective"]):
        own = rows[(rows["system"] != CONTROL) & rows["capacity_rps"].notna()]
        if own.empty:
            continue
        leader = own.loc[own["capacity_rps"].idxmax()]
        for place, row in rows.iterrows():
            ratio = row["capacity_rps"] / leader["capacity_rps"]
            interval = Interval(ratio, ratio / (1 + width), ratio * (1 + width))
            side = bound(row["bound"] == "at least", leader["bound"] == "at least")
            said = verdict(interval, 0.01, side) if row["system"] not in (CONTROL, leader["system"]) else ""
            names = ["leader", "ratio", "ratio_low", "ratio_high", "ratio_bound", "verdict"]
            frame.loc[place, names] = [leader["system"], ratio, interval.low, interval.high, side, said]
    run = copy.copy(loaded_run)
    run.__dict__.update(capacities=frame, levels=loaded_run.levels[loaded_run.levels["system"].isin(kept)])
    check(levels, run)
