"""What the notebook about the machine shows: CPUs, preflight, idle speed, ceiling and known delays."""

import re

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from runners.core.run_manifest import CoreFacts, IdleMachine, MachineSurvey, PreflightFinding
from runners.present import machine, machine_report
from tests.present.frames import make_sample

CORES = [
    CoreFacts(cpus=(0, 4), node=0, package=0, l3=0, kind=0),
    CoreFacts(cpus=(1, 5), node=0, package=0, l3=1, kind=0),
    CoreFacts(cpus=(2,), node=1, package=1, l3=None, kind=1),
    CoreFacts(cpus=(3,), node=1, package=1, l3=None, kind=1),
]
PINNING = {"server": (0, 4), "generator": (1, 5), "housekeeping": (5,)}
FINDINGS = [
    PreflightFinding(name="swap", level="good", detail="none", remedy=""),
    PreflightFinding(name="governor", level="advice", detail="powersave", remedy="echo performance"),
    PreflightFinding(name="disk", level="problem", detail="full <b>", remedy="df -h"),
]


@pytest.fixture
def idle():
    """CPU 0 is steady; CPU 1 runs at half its speed for a quarter of the time."""
    steps = np.arange(0, 2, 0.1)
    steady = pd.DataFrame({"cpu": 0, "at_s": steps, "mean_hz": 50_000.0, "wakes_hz": 470.0})
    return pd.concat([steady, steady.assign(cpu=1, mean_hz=np.where(steps < 0.45, 25_000.0, 50_000.0))])


@pytest.fixture
def delayed():
    """A run in which a delay of 20 ms was requested and 20.5 ms came out."""
    run = make_sample()
    cells = run.cells[run.cells["workload"] == "discard-1"].copy()
    cells["workload"], cells["throughput_rps"], cells["bottleneck"] = "ping-delay-20ms", 80 / 0.0205, "unsaturated"
    for column, value in {
        "p50_s": 0.0205,
        "p50_low_s": 0.0204,
        "p50_high_s": 0.0206,
        "mean_s": 0.0205,
        "p99_s": 0.021,
    }.items():
        cells[column] = value
    run.cells = cells
    run.trials = pd.DataFrame(
        {
            "system": cells["system"],
            "workload": cells["workload"],
            "connections_count": 80,
            "warmup": False,
            "duration_s": 1.0,
        }
    )
    return run


def drawn(cores=CORES, pinning=PINNING, **about):
    """The map of a machine as parsed markup, and its description."""
    idle = IdleMachine(duration_s=1.0, steal_fraction={}, other_fraction={}, speed_spread={})
    found = machine.topology(MachineSurvey(idle=idle, idle_speed=[], cores=cores, **about), pinning)
    return BeautifulSoup(found.html, "html.parser"), found.text


def test_every_cpu_is_drawn_within_its_core_cache_and_node():
    page, _ = drawn()
    assert [node.small.text for node in page.select(".wb-map > .wb-frame")] == [
        "Package 0, NUMA node 0",
        "Package 1, NUMA node 1",
    ]
    assert [cache.small.text for cache in page.select(".wb-cache") if "L3" in cache.text] == [
        "L3 cache 0",
        "L3 cache 1",
    ]
    assert [[cpu.text for cpu in core.select(".wb-box")] for core in page.select(".wb-core")] == [
        *(["0", "4"], ["1", "5"], ["2"], ["3"])
    ]


def test_an_untrusted_notebook_which_drops_the_style_sheet_shows_the_same_boxes_beside_each_other():
    idle = IdleMachine(duration_s=1.0, steal_fraction={}, other_fraction={}, speed_spread={})
    found = machine.topology(MachineSurvey(idle=idle, idle_speed=[], cores=CORES), PINNING)
    page = BeautifulSoup(found.in_notebook, "html.parser")
    assert [box.text for box in page.select(".wb-core .wb-box")] == ["0", "4", "1", "5", "2", "3"]
    assert all("inline-block" in frame["style"] for frame in page.select(".wb-frame"))
    assert "inline-block" not in found.html


def test_cpus_have_the_colours_of_all_their_roles_and_slower_cores_a_mark():
    page, text = drawn(kinds=["fast", "IntelAtom <1>"])
    cpus = {cpu.text: cpu for cpu in page.select(".wb-map .wb-box")}
    colors = {name: set(re.findall("#[0-9a-f]{6}", cpu.get("style", ""))) for name, cpu in cpus.items()}
    assert colors["0"] == colors["4"]
    assert len(colors["5"]) == 2
    assert colors["5"] > colors["1"]
    assert colors["2"] == set()
    assert cpus["5"]["title"] == "CPU 5: load generator and notebook"
    assert [core.small.text for core in page.select(".wb-slower")] == ["E", "E"]
    assert "load generator: CPUs 1,5" in text
    assert "a core of a slower kind: IntelAtom <1>" in text
    assert "may not be used: CPUs 2-3" in text


def test_offline_cpus_are_in_the_legend_only():
    page, text = drawn(offline_cpus=[8, 9])
    assert "offline: CPUs 8-9" in text
    assert "8" not in {cpu.text for cpu in page.select(".wb-map .wb-box")}


def test_a_machine_of_256_cpus_is_drawn_whole():
    cores = [
        CoreFacts(cpus=(core, core + 128), node=core // 64, package=0, l3=core // 8, kind=0) for core in range(128)
    ]
    page, _ = drawn(cores, {"server": range(32), "generator": range(32, 64), "housekeeping": range(64, 256)})
    assert len(page.select(".wb-map .wb-box")) == 256
    assert len(page.select(".wb-cache")) == 16


def test_what_must_be_changed_comes_first_and_text_stays_text():
    html = machine.preflight(FINDINGS)._repr_html_()
    assert html.index("disk") < html.index("governor") < html.index("swap")
    assert "<b>" not in html.replace("<b ", "")
    assert "full &lt;b&gt;" in html


def test_the_idle_speed_is_shown_as_a_share_of_the_best(idle):
    chart = machine.idle_speed(idle)
    lines = [ax.lines[1].get_ydata() for ax in chart.axes]
    assert lines[0] == pytest.approx(100)
    assert min(lines[1]) == pytest.approx(50)


def test_a_known_delay_is_compared_with_what_came_out(delayed):
    html = machine.delays(delayed)._repr_html_()
    assert "500 µs" in html
    assert "+2.5%" in html
    assert "102.0%" in html  # 80 connections, and 20 ms of the second are without responses


def test_known_delays_whose_median_is_not_known_are_left_out_of_the_sentence(delayed):
    (sentence,) = machine_report._delays(delayed)
    assert sentence.startswith("Medians of known delays are off by 500 µs to 500 µs, most for ")
    delayed.cells[["p50_s", "p50_low_s", "p50_high_s"]] = np.nan
    assert machine_report._delays(delayed) == []
    assert "nan" not in machine.delays(delayed)._repr_html_()


def test_the_chart_of_a_machine_that_nobody_watched_is_empty(idle):
    assert machine.idle_speed(idle.head(0)).description == ""
