"""What the notebook about the machine shows: CPUs, preflight, idle speed, ceiling and known delays."""

import numpy as np
import pandas as pd
import pytest

from runners.core.run_manifest import CoreFacts, PreflightFinding
from runners.present import machine
from tests.present.frames import make_sample

CORES = [
    CoreFacts(cpus=(0, 4), node=0, efficient=False),
    CoreFacts(cpus=(1, 5), node=0, efficient=False),
    CoreFacts(cpus=(2,), node=1, efficient=True),
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


def test_every_cpu_is_drawn_with_its_role_and_efficient_cores_are_marked():
    chart = machine.topology(CORES, PINNING)
    words = {text.get_text() for ax in chart.axes for text in ax.texts}
    assert words == {"CPU 0", "CPU 4", "CPU 1", "CPU 5", "CPU 2 E"}
    assert "generator: CPU 1, 5" in chart.description
    assert [ax.get_title(loc="left") for ax in chart.axes] == ["NUMA node 0", "NUMA node 1"]


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


def test_the_quiet_of_the_machine_is_said_for_each_cpu(idle, delayed):
    [_, quiet] = machine.sentences(delayed, idle, "nobody")
    assert "CPU 0 at 100 % of its best speed, below 90% for 0.00 % of the time" in quiet
    assert "CPU 1 at 87.5 % of its best speed, below 90% for 25.0 % of the time" in quiet


def test_a_known_delay_is_compared_with_what_came_out(delayed, idle):
    text = machine.sentences(delayed, idle.head(0), "nobody")[0]
    assert "Known delays of 20.0 ms" in text
    assert "off by 500 µs to 500 µs" in text
    html = machine.delays(delayed)._repr_html_()
    assert "+2.5%" in html
    assert "102.0%" in html  # 80 connections, and 20 ms of the second are without responses


@pytest.mark.parametrize(
    ("bottleneck", "says"),
    [
        ("generator", "ceiling here is 1"),
        ("server", "the fixed response of drogon was the limit"),
        ("unsaturated", "neither it nor drogon was busy all the time"),
    ],
)
def test_the_ceiling_is_one_only_where_the_load_generator_was_the_limit(idle, bottleneck, says):
    run = make_sample()
    run.cells["bottleneck"], run.cells["generator_busy_fraction"] = bottleneck, 0.7
    [text] = machine.sentences(run, idle.head(0), "drogon")
    assert says in text


def test_a_run_that_nobody_watched_says_nothing_of_the_idle_machine(idle):
    assert machine.sentences(make_sample(), idle.head(0), "nobody") == []
    assert machine.idle_speed(idle.head(0)).description == ""
