"""Run records of an older schema are read as if they had been written today."""

import json

import pytest

from runners.core.records import LoadProfile, Workload
from runners.store.ledger import Run
from runners.store.migrations import workload_of_label

CONNECTING = {"name": "no-keepalive-fast", "connections": 40, "rate_rps": 3500.0, "keepalive_requests": 1}
OLD = {
    "schema": "wrkbook.run/1",
    "cells": [["drogon+simdjson", "decode-10"], ["placebo", "decode-10"], ["nginx", "relay@no-keepalive-fast"]],
    "control_of": "drogon+simdjson",
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
    simdjson = {"server": "drogon", "codec": "simdjson", "placebo": False}
    assert record["systems"]["drogon+simdjson"] == simdjson
    assert record["systems"]["placebo"] == simdjson | {"placebo": True}
    assert record["systems"]["nginx"]["codec"] is None


def test_a_planned_load_keeps_its_rate_and_connections(record):
    assert record["workloads"]["relay@no-keepalive-fast"]["shape"] == CONNECTING
    assert [load["load"] for load in record["rates"]["loads"]] == ["no-keepalive"]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.label)
def test_a_workload_is_found_again_from_its_label(workload):
    parts = workload_of_label(workload.label)
    assert Workload(**{**parts, "shape": LoadProfile(**parts["shape"])}) == workload
