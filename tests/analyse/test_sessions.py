"""Several sessions of a machine: which runs count, what they say together, and how often that held."""

import math
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from runners.analyse.claims.ratios import cell_ratio
from runners.analyse.claims.register import CellName
from runners.analyse.claims.run_selection import select_runs, selected_before
from runners.analyse.results import analyse
from runners.analyse.session_record import FORWARD, LEFT_OUT, session_record
from runners.analyse.sessions import compatible, with_sessions
from runners.analyse.summary import summary, write_processed
from runners.core.project import OWN_SESSION_ONLY
from runners.stats.estimates import interval_in, ratio_of
from runners.store.ledger import Run, is_reference
from runners.store.runs import mark_void
from tests.analyse.synthetic import manifest, run_of

FAST, SLOW, WORKLOAD = "fast+a", "slow+c", "decode-10"
SHARES = [0.50, 0.52, 0.49, 0.51, 0.53]
MACHINE = {"cpu": "a CPU", "cpus_count": 2, "kernel": "6.1", "memory_bytes": 8_000_000_000}


def measured(tmp_path, place, share, run_id="", **record):
    """A session in which the slow system serves a share of the fast one, `place` hours after the first."""
    rates = {(FAST, WORKLOAD): 60_000.0, (SLOW, WORKLOAD): 60_000.0 * share, ("control", WORKLOAD): 60_000.0}
    started = {"started_at": f"2026-01-01T{place:02d}:00:00+00:00", "machine": MACHINE}
    return run_of(tmp_path, rates, run_id=run_id or f"s{place}", chance=place, record=started | record)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("raw")
    return [measured(tmp_path, place, share) for place, share in enumerate(SHARES)]


@pytest.fixture(scope="module")
def pooled(ledger):
    return with_sessions(analyse(ledger[-1]))


def row_of(results, family="leader"):
    return results.comparisons[results.comparisons["family"] == family].iloc[0]


def test_every_compatible_run_counts_as_a_session(pooled):
    assert [each.run_id for each in pooled.sessions] == ["s0", "s1", "s2", "s3", "s4"]
    row = row_of(pooled)
    assert (row["system_a"], row["system_b"], row["sessions_count"], row["blocks_count"]) == (SLOW, FAST, 5, 40)


def test_what_was_estimated_of_one_session_is_not_estimated_again(ledger):
    alone = analyse(ledger[-1])
    assert with_sessions(alone).own_cells is alone.own_cells
    assert not with_sessions(alone).cells.equals(alone.cells)


def test_whichever_run_is_reported_the_ratio_over_all_sessions_is_the_same(ledger, pooled):
    first = row_of(with_sessions(analyse(ledger[0])))
    for name in ("ratio", "ratio_low", "ratio_high", "between_ratio"):
        assert first[name] == pytest.approx(row_of(pooled)[name], rel=1e-6)
    assert first["own_ratio"] == pytest.approx(0.50, rel=0.01)
    assert row_of(pooled)["own_ratio"] == pytest.approx(0.53, rel=0.01)


def test_a_reviewer_derives_the_pooled_headline_from_the_trials(ledger, tmp_path):
    for run in ledger:
        write_processed(with_sessions(analyse(run)), [], "", base=tmp_path)
    # From here on: what a reviewer writes.
    from scipy.stats import t
    from statsmodels.stats.meta_analysis import combine_effects

    logs, variances = [], []
    for path in sorted(tmp_path.glob("02-json-decode/*/trials.parquet")):
        trials = pd.read_parquet(path).query("kind == 'window' and not void and workload == 'decode-10'")
        launches = np.log(trials["throughput_rps"]).groupby([trials["system"], trials["block"]]).mean()
        ratios = (launches["slow+c"] - launches["fast+a"]).dropna()
        logs.append(ratios.mean())
        variances.append(ratios.var() / len(ratios))
    found = combine_effects(np.array(logs), np.array(variances), method_re="iterated")
    of_mean = max(found.var_hksj_re, found.var_eff_w_re)
    arm = t.ppf(0.975, len(logs) - 1) * np.sqrt(of_mean + found.tau2 + np.mean(variances))
    interval = np.exp(found.mean_effect_re + arm * np.array([0, -1, 1]))

    said = row_of(with_sessions(analyse(ledger[0])))
    assert interval == pytest.approx([said["ratio"], said["ratio_low"], said["ratio_high"]], rel=1e-4)


def test_the_interval_is_that_of_a_further_session_and_holds_all_of_these(pooled):
    row = row_of(pooled)
    assert row["ratio_low"] < min(SHARES) < max(SHARES) < row["ratio_high"]
    assert row["ratio_low"] < row["mean_ratio_low"] < row["ratio"] < row["mean_ratio_high"] < row["ratio_high"]
    assert row["between_ratio"] == pytest.approx(np.log(SHARES).std(ddof=1), rel=0.1)
    assert row["verdict"] == "slower"


def test_throughput_cpu_time_and_percentiles_are_pooled_as_ratios_are(pooled):
    own = pooled.own_cells.set_index("system")
    cells = pooled.cells.set_index("system")
    assert (cells["sessions_count"] == 5).all()
    assert (cells["launches_count"] == 40).all()
    for column in ("throughput_rps", "cpu_per_request_s", "p50_s"):
        stem, unit = column.rsplit("_", 1)
        wide = cells[f"{stem}_high_{unit}"] - cells[f"{stem}_low_{unit}"]
        assert (wide > own[f"{stem}_high_{unit}"] - own[f"{stem}_low_{unit}"]).all(), column
    slow = cells.loc[SLOW]
    assert slow["throughput_rps"] == pytest.approx(60_000 * math.exp(np.log(SHARES).mean()), rel=0.05)
    assert slow["goodput_rps"] == pytest.approx(slow["throughput_rps"], rel=1e-6)
    assert slow["cpu_user_per_request_s"] == pytest.approx(0.75 * slow["cpu_per_request_s"])


def test_one_session_and_two_say_what_their_own_blocks_say(ledger, tmp_path):
    alone = analyse(measured(tmp_path, 0, SHARES[0]))
    assert row_of(with_sessions(alone)).drop("p_value").to_dict() == pytest.approx(
        row_of(alone).drop("p_value").to_dict(), nan_ok=True
    )
    measured(tmp_path, 1, SHARES[1])
    two = row_of(with_sessions(alone))
    assert (
        two[["ratio", "ratio_low", "ratio_high"]].tolist()
        == row_of(alone)[["ratio", "ratio_low", "ratio_high"]].tolist()
    )
    assert (two["sessions_count"], two["blocks_count"]) == (2, 8)
    assert two["between_ratio"] > 0.01
    assert with_sessions(alone).cells["sessions_count"].tolist() == [1, 1, 1]


def test_equals_whose_sessions_differ_are_not_called_slower(tmp_path):
    for place, share in enumerate([0.97, 0.985, 1.0, 0.985]):
        run = measured(tmp_path, place, share)
    assert row_of(analyse(run))["own_ratio_high"] < 1
    row = row_of(with_sessions(analyse(run)))
    assert row["verdict"] == "undecided"
    assert row["ratio_high"] > 1


def test_own_session_only_ignores_the_others(ledger, monkeypatch):
    monkeypatch.setitem(os.environ, OWN_SESSION_ONLY, "1")
    assert with_sessions(analyse(ledger[0])).others == ()


@pytest.mark.parametrize(
    ("record", "same"),
    [
        ({}, True),
        ({"machine": MACHINE | {"memory_bytes": 8_010_000_000}}, True),
        ({"machine": MACHINE | {"memory_bytes": 16_000_000_000}}, False),
        ({"machine": MACHINE | {"kernel": "6.2"}}, False),
        ({"machine": MACHINE | {"cpus_count": 4}}, False),
        ({"pinning": {"server": "1", "generator": "0", "housekeeping": "0"}}, False),
        ({"parameters": {"seed": 1, "precision": 0.01, "max_blocks": 9, "budget_minutes": 30.0}}, True),
        ({"parameters": {"seed": 1, "precision": 0.02, "connections": 40}}, False),
        ({"parameters": {"seed": 2, "precision": 0.02}}, False),
        ({"versions": {"git_commit": "abc", "python": {"pandas": "3.1"}}}, True),
        ({"versions": {"components": {"fast": {"Go": "1.28"}}}}, False),
        ({"versions": {"flags": {"fast": "-O3"}}}, False),
        ({"versions": {"builds": {"fast": "another key"}}}, False),
        ({"profile": "publication"}, False),
        ({"windows": {"warmup_s": 0.3, "window_s": 2.0, "windows_count": 2, "slice_s": 0.1}}, False),
        ({"windows": {"warmup_s": 0.3, "window_s": 1.0, "windows_count": 2, "slice_s": 0.0}}, True),
    ],
)
def test_what_makes_two_runs_sessions_of_one_measurement(record, same):
    windows = {"warmup_s": 0.3, "window_s": 1.0, "windows_count": 2, "slice_s": 0.1}
    one = manifest(machine=MACHINE, windows=windows)
    assert compatible(one, manifest(**{"machine": MACHINE, "windows": windows} | record)) is same


def test_runs_that_are_void_unfinished_damaged_or_the_references_are_no_sessions(tmp_path):
    run = measured(tmp_path, 0, 0.5)
    mark_void(measured(tmp_path, 1, 0.5, "void"), void=True)
    (measured(tmp_path, 2, 0.5, "stopped").folder / ".unfinished").touch()
    damaged = measured(tmp_path, 3, 0.5, "damaged")
    damaged.files[0].write_bytes(b"")
    measured(tmp_path, 4, 0.5, "reference")
    measured(tmp_path, 5, 0.5, "reference-2")
    assert with_sessions(analyse(run)).others == ()
    found = with_sessions(analyse(Run("02-json-decode", "reference", tmp_path)))
    assert [each.run_id for each in found.sessions] == ["reference", "reference-2"]
    assert not is_reference("reference-new")


def test_a_first_session_knows_how_far_earlier_ones_of_this_machine_were_apart(tmp_path):
    for place, share in enumerate(SHARES):
        measured(tmp_path, place, share, versions={"components": {"fast": {"Go": "1.26"}}})
    first = with_sessions(analyse(measured(tmp_path, 9, 0.5, versions={"components": {"fast": {"Go": "1.27"}}})))
    assert first.others == ()
    assert first.before.sessions_count == 5
    assert first.before.largest_ratio == pytest.approx(np.log(SHARES).std(ddof=1), rel=0.1)
    # Another machine says nothing about this one.
    other = measured(tmp_path, 10, 0.5, machine=MACHINE | {"cpu": "another"})
    assert with_sessions(analyse(other)).before is None


def test_a_cell_that_the_generator_limited_in_one_session_is_a_bound(tmp_path):
    rates = {(FAST, WORKLOAD): 60_000.0, (SLOW, WORKLOAD): 30_000.0, ("control", WORKLOAD): 60_000.0}
    limited = {(FAST, WORKLOAD): {"server_busy": 0.7, "generator_busy": 0.99}}
    for place in range(3):
        run = run_of(tmp_path, rates, run_id=f"s{place}", chance=place, odd=limited if place == 0 else {})
    row = row_of(with_sessions(analyse(run)))
    assert (row["bound"], row["verdict"]) == ("at most", "slower")


def test_a_system_that_only_two_sessions_have_keeps_the_interval_of_this_one(ledger, tmp_path):
    for place, share in enumerate(SHARES[:2]):
        measured(tmp_path, place, share)
    rates = {(FAST, WORKLOAD): 60_000.0, ("control", WORKLOAD): 60_000.0}
    run_of(tmp_path, rates, run_id="s2", record={"started_at": "2026-01-01T02:00:00+00:00", "machine": MACHINE})
    found = with_sessions(analyse(Run("02-json-decode", "s1", tmp_path)))
    assert row_of(found)["sessions_count"] == 2
    assert row_of(found, "control")["sessions_count"] == 3


def test_claims_are_judged_by_the_interval_over_sessions(ledger):
    base = ledger[0].base
    (selected,) = select_runs(["02-json-decode"], base=base)
    cells = CellName(SLOW, WORKLOAD), CellName(FAST, WORKLOAD)
    found = cell_ratio(selected.results.for_claims, "throughput_rps", *cells)
    assert found.freedom == 4
    assert found.interval.low < min(SHARES) < max(SHARES) < found.interval.high
    # The p-value says the same as the interval, also at its end.
    assert found.p_below(found.interval.high) == pytest.approx(0.025, rel=1e-6)
    times = cell_ratio(selected.results.for_claims, "p50_s", *cells)
    assert times.freedom == 4
    # A peak is of the launches of this session alone.
    peaks = cell_ratio(selected.results.for_claims, "rss_peak_bytes", *cells)
    assert peaks.freedom == selected.results.own_cells["launches_count"].min() - 1
    # What a session did to both systems cancels: the sessions' ratios are pooled, not their times.
    both = (selected.results.cells.set_index("system").loc[each.system] for each in cells)
    apart = ratio_of(*(interval_in(row, "p50", "_s") for row in both))
    assert times.interval.value == pytest.approx(apart.value, rel=0.02)
    assert times.interval.high / times.interval.low < apart.high / apart.low
    # Sessions that began after the review are not part of it.
    then = selected_before({"02-json-decode": "s1"}, ["02-json-decode"], base, until="2026-01-01T03:30:00+00:00")
    assert [each.run_id for each in then[0].results.sessions] == ["s0", "s1", "s2", "s3"]


def test_the_summary_has_every_session_with_its_own_ratios(pooled):
    found = summary(pooled, [], "")
    assert [each["run_id"] for each in found["sessions"]] == ["s0", "s1", "s2", "s3", "s4"]
    ratios = [each["ratios"][0]["ratio"]["value"] for each in found["sessions"]]
    assert ratios == pytest.approx(SHARES, rel=0.01)
    row = next(row for row in found["comparisons"] if row["family"] == "leader")
    assert (row["sessions_count"], row["own_ratio"]["value"]) == (5, pytest.approx(0.53, rel=0.01))
    assert row["ratio"]["low"] < row["mean_ratio"]["low"]
    assert summary(replace(pooled, others=()), [], "")["sessions"][0]["run_id"] == "s4"


def test_the_record_says_how_often_the_next_session_lay_inside(tmp_path):
    # The third session is like the first two, the fourth is far away.
    for place, share in enumerate([0.50, 0.505, 0.495, 0.70]):
        measured(tmp_path, place, share)
    found = session_record(["02-json-decode", "01-ping"], tmp_path)
    assert set(found["experiment"]) == {"02-json-decode"}
    assert set(found["system_a"]) == {SLOW}
    forward = found[found["kind"] == FORWARD]
    assert forward[["run_id", "sessions_count"]].to_numpy().tolist() == [["s1", 1], ["s3", 3]]
    assert not forward[forward["run_id"] == "s3"]["inside"].item()
    left = found[found["kind"] == LEFT_OUT].set_index("run_id")["inside"]
    assert left.index.tolist() == ["s0", "s1", "s2", "s3"]
    assert left.tolist() == [True, True, True, False]


def test_smoke_runs_are_no_record(tmp_path):
    for place, share in enumerate(SHARES):
        measured(tmp_path, place, share, profile="quick")
    assert session_record(["02-json-decode"], tmp_path).empty
