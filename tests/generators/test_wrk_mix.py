"""wrk with a mix of requests: the files that it reads, the line that its script prints, and that line tampered with."""

import pytest
from hypothesis import given, strategies as st

from runners.contract.runner import contract_request
from runners.core.load import GeneratorError, Histogram, Load
from runners.core.records import Workload
from runners.core.request import Mix, Request
from runners.generators.autocannon import Autocannon
from runners.generators.paceload import Paceload
from runners.generators.perf_gauge import PerfGauge
from runners.generators.wrk import Wrk
from runners.generators.wrk_mix import MIX_FILE, SCRIPT, sent_counts
from tests.generators import wrk_printer

LOAD = Load(connections=4, threads=2, duration_s=1)
MIXED = contract_request("/dbop/{db}/{table}", Workload("mixed"), "pretty", 1)


def printed(counts, requests=100):
    fields = {
        "duration_us": 1_000_000, "requests": requests, "bytes": requests * 100,
        "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0},
        "latency_us": wrk_printer.statistics(Histogram((40_000,), (requests,))),
        "thread_rps": wrk_printer.statistics(Histogram((50,), (2,))),
    }  # fmt: skip
    return wrk_printer.output(fields, LOAD) + f"wrkbook-sent {counts}\n"


def test_the_files_hold_each_request_once_and_the_sequence_in_numbers(tmp_path):
    Wrk().prepare(MIXED, tmp_path)
    *endpoints, sequence = (tmp_path / MIX_FILE).read_text().splitlines()
    assert endpoints == [
        "text GET /text",
        "json GET /json",
        "decode POST /dbop/my_database_1/my_table_1 application/json /load/mix-decode",
        "blog GET /blog",
        "sql2 GET /sql2?count=20",
    ]
    assert (tmp_path / "mix-decode").read_bytes() == MIXED.posted
    names = [line.split()[0] for line in endpoints]
    assert tuple(names[int(word) - 1] for word in sequence.split()) == MIXED.mix.sequence
    assert {"wrk.lua", SCRIPT.name} <= {path.name for path in tmp_path.iterdir()}


def test_the_command_names_the_script_and_the_file_of_the_mix():
    words = Wrk().command(MIXED, LOAD, "127.0.0.1", 21400)
    assert words[-5:] == ["--script", "/load/wrk_mix.lua", "http://127.0.0.1:21400/", "--", "/load/mix"]


def test_headers_of_a_request_are_those_of_the_command():
    request = contract_request("/json1000", Workload("gzip"), "pretty", 1)
    words = Wrk().command(request, LOAD, "127.0.0.1", 21400)
    assert words[words.index("--header") + 1] == "Accept-Encoding: gzip"


@pytest.mark.parametrize(("workload", "libraries"), [("tls", 0), ("tls-new", 1), ("tls-resumed", 0), ("json", 0)])
def test_requests_over_tls_name_it_in_the_url_and_a_full_handshake_loads_what_forgets_sessions(workload, libraries):
    request = contract_request("/json", Workload(workload), "pretty", 1)
    words = Wrk().command(request, LOAD, "127.0.0.1", 21400)
    assert f"http{'s' if request.tls else ''}://127.0.0.1:21400/json" in words
    assert ("Connection: close" in words) == (workload in ("tls-new", "tls-resumed"))
    assert len(Wrk().libraries(request)) == libraries


@pytest.mark.parametrize("tool", [Autocannon(), PerfGauge(), Paceload()], ids=lambda tool: tool.name)
@pytest.mark.parametrize(
    "request_",
    [MIXED, Request("GET", "/", headers=(("A", "b"),)), Request("GET", "/", tls="kept")],
    ids=["mix", "headers", "tls"],
)
def test_other_tools_refuse_what_they_cannot_send(tool, request_):
    with pytest.raises(GeneratorError, match="use wrk for"):
        tool.command(request_, LOAD, "127.0.0.1", 21400)


def test_a_path_that_would_break_the_file_is_refused():
    wrong = Request("GET", "", mix=Mix({"x": Request("GET", "/a b")}, ("x",)))
    with pytest.raises(GeneratorError, match="not a path that wrk can request: '/a b'"):
        Wrk().command(wrong, LOAD, "127.0.0.1", 21400)


def test_the_counts_are_those_of_the_requests_that_were_sent():
    assert Wrk().parse(printed("text:60 json:42"), LOAD).sent_counts == {"text": 60, "json": 42}
    assert Wrk().parse(printed("text:60").replace("wrkbook-sent text:60\n", ""), LOAD).sent_counts is None


@pytest.mark.parametrize(
    "counts", ["", "text", "text:", "text:1:2 json", "text:60  json:41", "text:60 text:41", "text:-1"]
)
def test_a_damaged_line_is_refused(counts):
    with pytest.raises(GeneratorError, match=r"wrk_mix\.lua|its script sent"):
        Wrk().parse(printed(counts), LOAD)


@given(st.integers(0, 300))
def test_counts_that_are_not_those_of_the_completed_requests_are_refused(sent):
    output = printed(f"text:{sent}")
    if 100 <= sent <= 104:
        assert sent_counts(output, 100, 4) == {"text": sent}
    else:
        with pytest.raises(GeneratorError, match=f"completed 100 requests, but its script sent {sent}"):
            sent_counts(output, 100, 4)
