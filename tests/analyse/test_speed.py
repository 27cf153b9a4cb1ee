"""Adjusting throughputs for the speed that the CPU had while they were measured."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.analyse import speed
from runners.analyse.estimates import compare
from runners.analyse.speed import with_speed

RATES = {"a": 50_000.0, "b": 40_000.0, "a again": 50_000.0}
UNDISTURBED_HZ = 50_000.0
WAKES_HZ = 480.0


def simulated(
    seed,
    *,
    blocks=10,
    windows=2,
    slope=1.0,
    noise=0.01,
    launch=0.005,
    rates=None,
    own_hz=None,
    lucky=0.0,
    slow_noise=0.0,
    never_free=0.0,
):
    """Windows on a CPU that chance slows down by up to a half, and in a few (`lucky`: which share) makes faster by a fifth.

    `slow_noise` is what the noise grows by from full speed to none. In a share `never_free` a neighbour takes a quarter of the
    throughput, which the probe's best moments show and its mean does not.
    """
    draw = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        for system, rate in (rates or RATES).items():
            luck = draw.normal(0, launch)
            for _ in range(windows):
                disturbed = draw.beta(0.5, 0.5)
                speed = 1 - 0.5 * disturbed
                boost = 1.2 if draw.random() < lucky else 1.0
                hz = UNDISTURBED_HZ * (own_hz or {}).get(system, 1.0) * boost
                seen = {"probe_mean_hz": hz * speed, "probe_p90_hz": hz * (1 - 0.25 * disturbed)}
                contended = draw.random() < never_free
                if contended:
                    seen["probe_p90_hz"] = hz * speed
                away = draw.choice([0.0, 0.1], p=[0.7, 0.3])
                seen["probe_wakes_hz"] = WAKES_HZ * (1 - away / 2)
                value = (
                    rate
                    * (1 - away) ** slope
                    * (boost * speed) ** slope
                    * (0.75 if contended else 1.0)
                    * np.exp(luck + draw.normal(0, noise + slow_noise * (1 - speed)))
                )
                rows.append(
                    {
                        "block": block,
                        "system": system,
                        "workload": "w",
                        "throughput_rps": value,
                        "round": None,
                        "probe_bursts": None,
                        **seen,
                    }
                )
    return pd.DataFrame(rows)


def launches(windows, system, column="adjusted_rps"):
    rows = windows[windows["system"] == system]
    return list(speed.launches(rows.assign(adjusted_rps=rows[column])).values())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.3, 1.1))
def test_ratios_come_nearer_to_the_truth_and_the_intervals_narrower(seed, slope):
    windows = with_speed(simulated(seed, slope=slope))
    adjusted = compare(launches(windows, "a"), launches(windows, "b"), resamples=300).interval
    plain = compare(
        launches(windows, "a", "throughput_rps"), launches(windows, "b", "throughput_rps"), resamples=300
    ).interval
    assert adjusted.value == pytest.approx(1.25, rel=0.04)
    assert adjusted.half_width_ratio < plain.half_width_ratio


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_what_is_estimated_is_the_throughput_at_the_mean_speed_of_the_run_by_weight(seed):
    windows = with_speed(simulated(seed, blocks=20))
    weights = windows["weight_ratio"] / windows.groupby("system")["weight_ratio"].transform("sum")
    logs = np.log(windows[["adjusted_rps", "throughput_rps"]])
    # Every system alike, and of each the windows by weight.
    assert weights @ logs["adjusted_rps"] == pytest.approx(weights @ logs["throughput_rps"], abs=0.03)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_windows_weigh_less_the_more_windows_at_their_speed_scatter(seed):
    quiet = with_speed(simulated(seed, blocks=20, slow_noise=0.0))
    noisy = with_speed(simulated(seed, blocks=20, slow_noise=0.2))
    slow = noisy["speed_ratio"] < 0.7
    assert noisy["weight_ratio"].between(0, 1, inclusive="right").all()
    assert noisy["weight_ratio"][slow].mean() < 0.6 * noisy["weight_ratio"][~slow].mean()
    assert noisy["weight_ratio"].corr(noisy["speed_ratio"], method="spearman") > 0.9
    assert quiet["weight_ratio"].min() > noisy["weight_ratio"].min()


def test_weights_make_intervals_narrower_where_slow_windows_scatter_and_promise_no_more_than_they_hold():
    wrong, widths = 0, {"weighed": [], "alike": []}
    for seed in range(300):
        windows = with_speed(simulated(seed, blocks=12, slow_noise=0.2))
        found = compare(launches(windows, "a"), launches(windows, "a again"), resamples=300)
        wrong += found.p_value < 0.05
        widths["weighed"].append(found.interval.half_width_ratio)
        alike = windows.assign(weight_ratio=1.0)
        found = compare(launches(alike, "a"), launches(alike, "a again"), resamples=300)
        widths["alike"].append(found.interval.half_width_ratio)
    assert wrong <= 27
    assert np.mean(widths["weighed"]) < 0.9 * np.mean(widths["alike"])


def test_a_few_windows_all_weigh_alike():
    assert with_speed(simulated(3, blocks=5, slow_noise=0.2))["weight_ratio"].eq(1.0).all()


def test_a_cell_that_clearly_slows_its_own_clock_is_not_forgiven_for_it():
    rates, ratios = RATES | {"c": 30_000.0, "d": 20_000.0}, []
    for seed in range(10):
        windows = with_speed(simulated(seed, blocks=25, rates=rates, own_hz={"b": 0.75}))
        ratios.append(compare(launches(windows, "a"), launches(windows, "b"), resamples=100).interval.value)
    # Forgiven, it would be 1.25 × 0.75.
    assert np.mean(ratios) == pytest.approx(1.25, rel=0.05)


def test_with_few_windows_one_that_met_a_fast_moment_does_not_speak_for_its_cell():
    rates = dict.fromkeys(["a", "b", "c", "d", "a again"], 50_000.0)
    off = []
    for seed in range(100):
        windows = with_speed(simulated(seed, blocks=5, windows=1, rates=rates, lucky=0.1))
        off.append(compare(launches(windows, "a"), launches(windows, "a again"), resamples=100).interval.value - 1)
    assert np.sqrt(np.mean(np.square(off))) < 0.05


def test_what_only_the_best_moments_of_a_window_tell_is_taken_out_too():
    # The probe's mean is that of a CPU which is slowed a little anyway, as by a server that empties its caches.
    windows = simulated(4, blocks=15, windows=4, never_free=0.5)
    windows["probe_mean_hz"] = 0.7 * UNDISTURBED_HZ
    windows.loc[windows["probe_p90_hz"] > 0.8 * UNDISTURBED_HZ, "probe_p90_hz"] = UNDISTURBED_HZ
    found = with_speed(windows)
    assert found["peak_ratio"].max() == pytest.approx(1.0)
    left, before = (
        np.log(found[name] / found["system"].map(RATES)).std() for name in ("adjusted_rps", "throughput_rps")
    )
    assert left < 0.75 * before


def test_a_workload_that_does_not_depend_on_the_speed_is_left_alone():
    windows = with_speed(simulated(5, slope=0.0, blocks=40))
    assert windows["adjusted_rps"].to_numpy() == pytest.approx(windows["throughput_rps"].to_numpy(), rel=0.02)


def test_a_few_odd_windows_do_not_turn_the_slope():
    windows = simulated(8)
    odd = windows.index[::10]
    windows.loc[odd, "throughput_rps"] *= 0.3
    sound = with_speed(windows).drop(odd)
    spread = np.log(sound["adjusted_rps"] / sound["system"].map(RATES)).std()
    assert spread < 0.05 < np.log(sound["throughput_rps"] / sound["system"].map(RATES)).std()


@pytest.mark.parametrize("missing", [["probe_mean_hz", "probe_p90_hz", "probe_wakes_hz"], ["probe_mean_hz"]])
def test_without_a_probe_throughputs_are_as_measured(missing):
    windows = simulated(1)
    windows[missing] = np.nan
    found = with_speed(windows)
    assert found["adjusted_rps"].tolist() == windows["throughput_rps"].tolist()
    assert found["speed_ratio"].isna().all()


def test_a_window_whose_speed_is_not_known_weighs_no_more_than_any_other():
    windows = simulated(9, blocks=20, slow_noise=0.2)
    windows.loc[17, ["probe_mean_hz", "probe_p90_hz", "probe_wakes_hz"]] = np.nan
    found = with_speed(windows)
    assert found.loc[17, "adjusted_rps"] == found.loc[17, "throughput_rps"]
    assert found.loc[17, "weight_ratio"] == found["weight_ratio"].min() < 0.5


def test_too_few_windows_and_none_at_all_are_left_alone():
    few = with_speed(simulated(1).head(5))
    assert few["adjusted_rps"].tolist() == few["throughput_rps"].tolist()
    assert with_speed(simulated(1).head(0)).empty


def test_equal_systems_are_called_different_as_rarely_as_the_interval_promises():
    wrong = 0
    for seed in range(300):
        windows = with_speed(simulated(seed, blocks=8))
        wrong += compare(launches(windows, "a"), launches(windows, "a again"), resamples=300).p_value < 0.05
    # 5 % are due; 9 % would be more than chance makes of 300.
    assert wrong <= 27


@pytest.mark.parametrize("blocks", [4, 5])
def test_also_with_a_few_windows_as_what_was_learned_from_them_is_not_taken_for_known(blocks):
    wrong = 0
    for seed in range(200):
        windows = with_speed(simulated(seed, blocks=blocks, windows=1, noise=0.03))
        wrong += compare(launches(windows, "a"), launches(windows, "a again"), resamples=300).p_value < 0.05
    # 5 % are due; 9.5 % would be more than chance makes of 200.
    assert wrong <= 19


def test_a_window_is_adjusted_by_what_other_blocks_show_and_not_by_itself():
    windows = simulated(6, blocks=8)
    odd = windows.index[windows["block"] == 3]
    doubled = windows.assign(
        throughput_rps=windows["throughput_rps"].where(windows["block"] != 3, 2 * windows["throughput_rps"])
    )
    factors = (with_speed(frame).eval("adjusted_rps / throughput_rps") for frame in (windows, doubled))
    assert next(factors)[odd].tolist() == pytest.approx(next(factors)[odd].tolist())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 8))
def test_what_rounding_leaves_of_a_perfect_fit_decides_nothing(seed, blocks):
    windows = simulated(seed, blocks=blocks, windows=1)
    rounded = windows.assign(
        throughput_rps=windows["throughput_rps"] * (1 + 1e-14 * np.random.default_rng(seed).normal(size=len(windows)))
    )
    found, again = (with_speed(frame)["adjusted_rps"].to_numpy() for frame in (windows, rounded))
    assert again == pytest.approx(found, rel=1e-6)


def test_a_cell_that_no_other_block_has_is_adjusted_as_its_workload_is():
    windows = simulated(7, rates=RATES | {"once": 20_000.0})
    found = with_speed(windows[(windows["system"] != "once") | (windows["block"] == 2)])
    logs = np.log(
        found[["adjusted_rps", "throughput_rps"]].div(found["system"].map(RATES | {"once": 20_000.0}), axis=0)
    )
    apart = (logs[found["system"] == "once"] - logs[found["system"] == "a"].mean()).abs().mean()
    assert apart["adjusted_rps"] < 0.03 < apart["throughput_rps"]


def test_what_one_of_a_round_does_to_the_probe_beside_it_changes_no_ratio():
    windows = simulated(3, own_hz={"b": 0.9})
    at_once = windows.groupby(["block", "system"]).cumcount().astype(str)
    # They met the same moments, as those of the first system say.
    windows["round"] = at_once
    own = with_speed(windows)
    for name in ("probe_mean_hz", "probe_p90_hz", "probe_wakes_hz"):
        windows[name] = windows.groupby(["block", "round"])[name].transform("mean")
    pd.testing.assert_frame_equal(own[speed.FOUND], with_speed(windows)[speed.FOUND])
    assert own.groupby(["block", "round"])["speed_ratio"].nunique().eq(1).all()


def test_windows_of_a_round_are_not_adjusted_apart_and_the_others_as_ever():
    mixed = simulated(5)
    turned = mixed["block"] < 5
    mixed["round"] = np.where(turned, mixed.groupby(["block", "system"]).cumcount().astype(str), None)
    found, plain = with_speed(mixed), with_speed(simulated(5))
    assert found[turned].groupby(["block", "round"])["speed_ratio"].nunique().eq(1).all()
    assert plain.groupby(["block"])["speed_ratio"].nunique().gt(1).all()
    assert found.loc[~turned, "speed_ratio"].corr(plain.loc[~turned, "speed_ratio"]) > 0.999
