"""Several load generator hosts: their shares of a load, and their records as one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runners.core.histogram import Histogram
from runners.core.load import GeneratorError, Load
from runners.core.trial_record import LoadShare, NetworkUse
from runners.generators.registry import GENERATORS
from runners.generators.reports import combined, condense, result_of
from runners.hosts.merging import joined, overlap_fraction, split
from runners.stats.histograms import percentiles
from tests.analyse.synthetic import LOAD, trial, window
from tests.analyse.test_checks import checked

WRK = GENERATORS["wrk"]
NETWORK = NetworkUse(
    elapsed_s=1.0, received_bytes=1, sent_bytes=1, dropped_count=0, segments_count=1, retransmitted_count=0,
    link_bps=1e9, rtt_s=1e-4, clock_uncertainty_s=1e-4, overlap_fraction=1.0, watched_fraction=1.0,
)  # fmt: skip


@given(st.integers(1, 20_000), st.integers(1, 64), st.one_of(st.none(), st.floats(1, 1e6)))
def test_shares_of_a_load_sum_up_to_it(connections, count, rate_rps):
    load = Load(connections, min(4, connections), 1.0, rate_rps=rate_rps, requested_rps=rate_rps)
    shares = split(load, count)
    assert len(shares) == min(count, connections)
    assert sum(share.connections for share in shares) == connections
    assert max(share.connections for share in shares) - min(share.connections for share in shares) <= 1
    assert all(1 <= share.threads <= share.connections for share in shares)
    if rate_rps:
        assert sum(share.rate_rps for share in shares) == pytest.approx(rate_rps)
        assert len({share.seed for share in shares}) == len(shares)


def test_a_load_of_one_host_is_left_as_it_is():
    load = Load(80, 2, 1.0, seed=7)
    assert split(load, 1) == [load]


def several(*rates_rps, **about):
    """The window of several hosts, each with so many requests in a second, on 80 connections."""
    made = [window(rate, **about) for rate in rates_rps]
    return joined(Load(len(made) * LOAD.connections, 1, 1.0), made, "10.0.0.1")


def test_throughputs_of_hosts_are_added_and_so_are_their_histograms():
    raw = several(20_000, 10_000, 30_000)
    found, alone = result_of(WRK, raw), [result_of(WRK, window(rate)) for rate in (20_000, 10_000, 30_000)]
    assert found.throughput_rps == pytest.approx(60_000)
    assert found.requests_count == 60_000
    assert found.connections_count == 3 * LOAD.connections == raw.load.connections
    assert found.service_time.total_count == sum(one.service_time.total_count for one in alone)
    assert found.read_bytes == sum(one.read_bytes for one in alone)


def test_a_percentile_is_that_of_all_requests_and_no_mean_of_percentiles():
    slow, fast = (result_of(WRK, window(rate)) for rate in (1_000, 60_000))
    both = combined([slow, fast])
    p50_us = float(percentiles(*both.service_time.arrays, 50))
    assert p50_us == float(percentiles(*fast.service_time.arrays, 50))
    assert float(percentiles(*both.service_time.arrays, 99.9)) == float(percentiles(*slow.service_time.arrays, 99.9))


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 50)), min_size=1, max_size=30), min_size=1, max_size=8
    )
)
def test_a_sum_of_histograms_has_the_percentiles_of_all_samples_together(hosts):
    base, samples, results = result_of(WRK, window(1_000)), [], []
    for bins in hosts:
        counts = dict(sorted(bins))
        samples += [value for value, count in counts.items() for _ in range(count)]
        results.append(replace(base, service_time=Histogram(tuple(counts), tuple(counts.values())), corrected=None))
    merged = combined(results).service_time
    for q in (50, 90, 99, 99.9, 100):
        wanted = np.percentile(samples, q, method="inverted_cdf")
        assert float(percentiles(*merged.arrays, q)) == wanted


def test_what_the_server_saw_comes_from_the_host_whose_generator_was_busiest():
    idle, busy = window(10_000, generator_busy=0.3), window(10_000, generator_busy=0.9)
    found = joined(Load(160, 1, 1.0), [idle, busy], "10.0.0.1")
    assert found.samples == busy.samples


def test_a_host_whose_generator_failed_fails_the_window_with_its_words():
    failing = window(10_000).model_copy(update={"exit_status": 3, "stderr": "no route to 10.0.0.1"})
    found = joined(Load(160, 1, 1.0), [window(10_000), failing], "10.0.0.1")
    assert (found.exit_status, found.stderr) == (3, "no route to server")


def test_what_a_host_printed_wrong_names_the_host():
    raw = several(10_000, 10_000)
    raw.shares[1].stdout = "nothing"
    with pytest.raises(GeneratorError, match="host 2 of the load generator"):
        result_of(WRK, raw)


def test_a_condensed_record_of_several_hosts_gives_the_same_throughput():
    raw = several(20_000, 10_000)
    before = result_of(WRK, raw)
    condense(WRK, raw, coarse=False)
    assert result_of(WRK, raw).throughput_rps == before.throughput_rps
    assert raw.stdout == ""


@pytest.mark.parametrize(
    ("began_at_s", "overlap"), [([5.0, 5.0], 1.0), ([5.0, 5.02, 5.01], 0.98), ([5.0, 7.0], 0.0), ([5.0], 1.0)]
)
def test_hosts_overlap_from_the_latest_begin_on(began_at_s, overlap):
    assert math.isclose(overlap_fraction(began_at_s, 1.0), overlap)


def over_hosts(raws, **network):
    found = NETWORK.model_copy(update=network)
    record = trial(1, "fast+a", "decode-10", [1000.0])
    return record.model_copy(update={"windows": [raw.model_copy(update={"network": found}) for raw in raws]})


@pytest.mark.parametrize(
    ("overlap", "watched", "ok"), [(0.995, 0.96, True), (0.98, 0.98, False), (1.0, 0.94, False), (0.0, 0.0, False)]
)
def test_a_window_in_which_hosts_were_not_together_makes_the_trial_void(overlap, watched, ok):
    found = checked(over_hosts([window(10_000)], overlap_fraction=overlap, watched_fraction=watched))
    check = found["hosts together"]
    assert (check.ok, check.void) == (ok, True)


@pytest.mark.parametrize(
    ("rates", "ok"), [((10_000, 10_500), True), ((10_000, 12_000), False), ((9_000, 10_000, 30_000, 30_000), False)]
)
def test_two_halves_of_the_hosts_must_get_as_many_responses(rates, ok):
    check = checked(over_hosts([several(*rates)]))["halves of the load"]
    assert check.ok == ok
    assert f"{len(rates)} hosts" in check.detail


def test_one_machine_has_no_checks_of_hosts():
    assert not {"hosts together", "halves of the load"} & set(checked(trial(1, "fast+a", "decode-10", [1000.0])))


def test_a_share_is_written_without_the_address_of_the_server():
    share = LoadShare(command=["wrk"], load=LOAD, exit_status=0, stdout="", stderr="", hung=False)
    made = window(10_000).model_copy(update={"command": ["wrk", "http://10.0.0.1:80/"]})
    found = joined(Load(160, 1, 1.0), [made, made], "10.0.0.1")
    assert "10.0.0.1" not in found.model_dump_json(include={"shares"})
    assert found.shares[0].model_copy(update={"stdout": ""}) == share.model_copy(
        update={"command": ["wrk", "http://server:80/"]}
    )
