"""Run records of an older schema are read as if they had been written today."""

import json

import pytest

from runners.core.project import experiments
from runners.core.records import CONFIRMATION_WINDOW, LoadProfile, System, Workload
from runners.store.ledger import REFERENCE, Run
from runners.store.migrations import workload_of_label

CONNECTING = {"name": "no-keepalive-fast", "connections": 40, "rate_rps": 3500.0, "keepalive_requests": 1}
CONNECTING["asked_rps"] = 3600.0
OLD = {
    "schema": "wrkbook.run/1",
    "started_at": "2026-01-01T00:00:00+00:00",
    "profile": "standard",
    "parameters": {"measure_faults": False},
    "windows": {"warmup_s": 0.3, "window_s": 1.0, "windows_count": 2, "turn_s": 0.1},
    "slices": {"asked": "auto", "slice_s": 0.1, "reason": "noisy"},
    "pinning": {"server": "0"},
    "machine": {},
    "versions": {"components": {"Go, with json/v2 (gin)": "1.27", "gin (gin)": "v1"}, "git_state": "clean"},
    "evidence": {"01-ping": "r"},
    "compared": ["decode-10"],
    "floor": None,
    "cells": [["drogon+simdjson", "decode-10"], ["placebo", "decode-10"], ["nginx", "relay@no-keepalive-fast"]],
    "placebo_of": "drogon+simdjson",
    "rates": {"capacities": {}, "loads": [{"shape": CONNECTING, "systems": None}]},
}
WORKLOADS = [
    Workload("ping"),
    Workload("ping-delay", delay_ms=20),
    Workload("decode-as-published", operations=10),
    Workload("sql2", count=100, shape=LoadProfile("autocannon")),
    Workload("json10", shape=LoadProfile("19900", connections=19_900)),
    Workload("relay", shape=LoadProfile("no-keepalive-capacity")),
]


@pytest.fixture
def record(tmp_path):
    run = Run("06-tcp-proxies", "old", tmp_path)
    run.folder.mkdir(parents=True)
    (run.folder / "run.json").write_text(json.dumps(OLD))
    return run.read()


def test_a_record_of_schema_1_gets_the_parts_of_its_systems(record):
    assert record.systems["drogon+simdjson"] == System("drogon", "simdjson")
    assert record.systems["control"] == System("drogon", "simdjson", control=True)
    assert record.systems["nginx"].codec is None
    assert record.control_of == "drogon+simdjson"
    assert ("control", "decode-10") in record.cells


def test_a_record_without_threats_gets_those_of_its_cpus(tmp_path):
    run = Run("00-machine", "old", tmp_path)
    run.folder.mkdir(parents=True)
    idle = {"duration_s": 1.0, "steal_fraction": {}, "other_fraction": {}, "speed_spread": {}}
    cores = [{"cpus": [0, 2], "node": 0, "efficient": False}, {"cpus": [1], "node": 1, "efficient": True}]
    about = {"about_machine": {"idle": idle, "idle_speed": [], "cores": cores}}
    pinning = {"pinning": {"server": "0", "generator": "1-2", "housekeeping": "1-2", "backend": "3"}}
    (run.folder / "run.json").write_text(json.dumps(OLD | about | pinning))
    record = run.read()
    assert record.pinning_threats == ["CPU 1-2 has several roles: the notebook shares it with the load generator."]
    assert [(core.cpus, core.node, core.kind, core.l3) for core in record.about_machine.cores] == [
        ((0, 2), 0, 0, None),
        ((1,), 1, 1, None),
    ]


def test_a_planned_load_keeps_its_rate_and_connections(record):
    assert record.workloads["relay@no-keepalive-fast"].shape == LoadProfile(
        "no-keepalive-fast", connections=40, rate_rps=3500.0, keepalive_requests=1, requested_rps=3600.0
    )
    assert [load.load for load in record.rates.loads] == ["no-keepalive"]
    assert record.windows.slice_s == 0.1


def test_a_manifest_of_an_older_schema_has_the_present_names(record):
    assert record.selected_runs == {"01-ping": "r"}
    assert record.parameters == {"measure_flaws": False}


def test_the_versions_of_components_are_found_by_server(record):
    components = {"gin": {"Go, with json/v2": "1.27", "gin": "v1"}}
    assert record.versions == {"components": components, "git_state": "clean"}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.label)
def test_a_workload_is_found_again_from_its_label(workload):
    parts = workload_of_label(workload.label)
    assert Workload(**{**parts, "shape": LoadProfile(**parts["shape"])}) == workload


def test_every_trial_of_the_reference_is_read_in_the_present_form():
    for experiment in experiments():
        run = Run(experiment, REFERENCE)
        if run.exists:
            labels = {tuple(cell) for cell in run.read().cells}
            # What confirms a capacity has the rate that was found, which no plan knows.
            planned = [
                trial for trial in run.trials() if all(each.kind != CONFIRMATION_WINDOW for each in trial.windows)
            ]
            assert {(trial.system, trial.workload) for trial in planned} == labels
