"""The published figures: every number that was published is read as it was printed, and from one place."""

import math
import re

import pandas as pd
import pytest

from runners.analyse.published import figures, published_values, read_file, sources
from runners.core.errors import WrkbookError
from runners.core.project import PUBLISHED

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "k": 1e3, "MB": 2**20, "GB": 2**30}
SOURCES = sources()
FILES = [(name, file) for name, source in SOURCES.items() for file in source.files]


def file_id(case):
    return f"{case[0]}/{case[1].name}"


def of_tool(tool):
    return [case for case in FILES if case[1].tool == tool]


def text_of(name, file):
    return (PUBLISHED / name / file.name).read_text()


def rows_of(name, file):
    return list(read_file(PUBLISHED / name / file.name, SOURCES[name], file))


def amount(printed):
    """A number with its unit, read without any of the parsers."""
    number, unit = re.fullmatch(r"([\d.,]+) ?([a-zA-Z]*)", printed).groups()
    return float(number.replace(",", "")) * UNITS.get(unit, 1.0)


def after(text, label, place=1):
    """The number in some place behind a label of a wrk text."""
    line = next(line for line in text.splitlines() if line.strip().startswith(label))
    return amount(re.findall(r"[\d.]+[a-zA-Z]*", line.replace(label, "", 1))[place - 1])


def test_every_file_is_listed_once_and_is_there():
    listed = [f"{name}/{file.name}" for name, file in FILES]
    there = [str(path.relative_to(PUBLISHED)) for path in PUBLISHED.glob("*/*") if path.is_file()]
    assert sorted(listed) == sorted(there)


def test_all_four_sources_say_what_they_measured_on():
    assert set(SOURCES) == {
        "webserver-benchmarks",
        "go-http-server-benchmark",
        "perf-gauge-no-keep-alive",
        "go-response-to-swift",
    }
    loads = {name: (source.threads_count, source.connections_count) for name, source in SOURCES.items()}
    assert loads["webserver-benchmarks"] == (40, 80)
    assert loads["go-http-server-benchmark"] == (None, 10)


@pytest.mark.parametrize("case", of_tool("wrk"), ids=file_id)
def test_what_wrk_printed_is_what_is_read(case):
    text, [row] = text_of(*case), rows_of(*case)
    rate = "Req/sec:" if "Req/sec:" in text else "Requests/sec:"
    expected = {
        "throughput_rps": after(text, rate),
        **{f"p{at}_s": after(text, f"{at}%") for at in (50, 75, 90, 99)},
        **{
            name: after(text, "Latency  ", place) for place, name in enumerate(("mean_s", "stddev_s", "max_s"), start=1)
        },
        "requests_count": int(re.search(r"(\d+) requests in", text)[1]),
        "duration_s": amount(re.search(r"requests in ([\d.]+[sm]),", text)[1]),
        "errors_count": sum(int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", text)),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert set(row) - set(expected) == {"experiment", "system", "workload"}
    threads, connections = re.search(r"(\d+) threads and (\d+) connections", text).groups()
    stated = SOURCES[case[0]]
    assert stated.threads_count == int(threads)
    assert stated.connections_count in (None, int(connections))


@pytest.mark.parametrize("case", of_tool("autocannon"), ids=file_id)
def test_what_autocannon_printed_is_what_is_read(case):
    text, [row] = text_of(*case), rows_of(*case)
    cells = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in text.splitlines() if line.startswith("│")}
    latency = [amount(cell.strip()) for cell in cells["Latency"]]
    read = [row[name] for name in ("p2_5_s", "p50_s", "p97_5_s", "p99_s", "mean_s", "stddev_s", "max_s")]
    # It counts whole milliseconds: what it prints as 0 is no figure.
    assert [0 if math.isnan(value) else value for value in read] == pytest.approx(latency)
    assert row["throughput_rps"] == amount(cells["Req/Sec"][4].strip())
    assert row["duration_s"] == amount(re.search(r"requests in ([\d.]+s),", text)[1])


@pytest.mark.parametrize("case", of_tool("table"), ids=file_id)
def test_every_number_of_a_table_is_read(case):
    unit = UNITS.get(case[1].unit, 1.0)
    by_hand = {"0m0.466s": 0.466, "0m0.544s": 0.544, "0m0.068s": 0.068, "32 seconds": 32.0, "5.7K": 5700.0}
    printed = []
    for line in text_of(*case).splitlines()[1:]:
        for cell in re.findall(r'"[^"]*"|[^,]+', line)[1:]:
            text = cell.strip('"')
            if text in by_hand:
                printed.append(by_hand[text])
            elif found := re.fullmatch(r"([\d.]+)Mb", text):
                printed.append(float(found[1]) * 1e6)
            elif re.fullmatch(r"[\d,.]+(us|ms|k)?", text):
                printed.append(amount(text) * (unit if re.fullmatch(r"[\d,.]+", text) else 1.0))
    read = [value for row in rows_of(*case) for value in row.values() if isinstance(value, float)]
    assert printed
    assert [value for value in read if not math.isnan(value)] == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("case", [case for case in FILES if case[1].repeats], ids=file_id)
def test_what_a_source_publishes_twice_is_the_same(case):
    known = figures().set_index(["source", "system", "workload"])
    # Two were rounded when they were repeated: 109k, and 248us.
    rounded = {"summary.csv": 0.01, "stated-results.csv": 1e-3}.get(case[1].name, 1e-12)
    compared = 0
    for row in rows_of(*case):
        for name, value in row.items():
            if isinstance(value, float) and not math.isnan(value):
                assert value == pytest.approx(known.loc[(case[0], row["system"], row["workload"]), name], rel=rounded)
                compared += 1
    assert compared >= 2


def test_a_figure_of_each_source_is_where_it_belongs():
    known = figures().set_index(["system", "workload"])
    assert known.loc[("drogon+simdjson", "decode-10"), "throughput_rps"] == 335603.99
    assert known.loc[("drogon+glaze", "roundtrip-10"), "p99_s"] == pytest.approx(1.82e-3)
    assert known.loc[("net-http", "sql1"), "throughput_rps"] == 46398.55
    assert known.loc[("netcrusher", "relay@no-keepalive"), "p99_99_s"] == pytest.approx(0.0856)
    assert known.loc[("net-http", "json10@20000"), ["throughput_rps", "rss_peak_bytes"]].tolist() == [75427.92, 500e6]
    assert known.loc[("express", "json10@20000"), "errors_count"] == 7 + 62627 + 131594


def test_every_figure_says_which_tool_printed_it():
    printed = figures().groupby("source")["generator"].unique().map(list).to_dict()
    assert printed == {
        "webserver-benchmarks": ["wrk"],
        "go-http-server-benchmark": ["autocannon"],
        "perf-gauge-no-keep-alive": ["perf-gauge"],
        "go-response-to-swift": ["wrk"],
    }
    for name, file in FILES:
        assert file.tool in ("table", SOURCES[name].generator)


def test_draft_http_tunnel_s_figures_stand_beside_no_measured_program():
    assert "asio-relay" not in set(figures()["system"])


def test_a_cell_is_published_once_by_a_source():
    assert not figures().duplicated(["source", "system", "workload"]).any()


def test_beside_our_cells_stand_the_published_throughputs_with_their_machine():
    cells = pd.DataFrame({"system": ["gin", "drogon", "nginx"], "workload": ["ping", "json", "relay@no-keepalive"]})
    [row] = published_values(cells).to_dict("records")
    assert (row["source"], row["system"], row["throughput_rps"]) == ("webserver-benchmarks", "gin", 550965.05)
    assert row["machine"] == "i9-12900HK, 16 threads"


def test_a_system_that_no_one_named_is_an_error_that_names_it(tmp_path):
    (tmp_path / "sources.toml").write_text(
        '[s]\ntitle = "t"\ndocuments = []\nmachine = "m"\ngenerator = "wrk"\nload = "l"\n[[s.files]]\nname = "a.csv"\nplace = "p"\n'
        'tool = "table"\nexperiment = "01-ping"\nworkload = "ping"\n'
    )
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.csv").write_text("system,qps\nNobody,5\n")
    with pytest.raises(WrkbookError, match=r"a\.csv, line 2: not known: 'Nobody'"):
        figures(tmp_path)


def test_an_unknown_key_of_a_source_is_an_error_that_names_it(tmp_path):
    (tmp_path / "sources.toml").write_text(
        '[s]\ntitle = "t"\ndocuments = []\nmachine = "m"\ngenerator = "wrk"\nload = "l"\nfiles = []\nos = "x"\n'
    )
    with pytest.raises(WrkbookError, match=r"sources\.toml: .*os"):
        sources(tmp_path)
