"""Two records: what may differ between them, and what is refused by name."""

import pytest

from runners.analyse.run_comparison import check_comparable, differences, refused, unchanged_servers
from runners.core.errors import WrkbookError
from runners.core.run_manifest import RunManifest
from runners.store.ledger import Run
from tests.analyse.synthetic import manifest

RECORD = manifest(
    [("gin+encoding/json", "decode-1"), ("drogon+simdjson", "decode-1")],
    "gin+encoding/json",
    parameters={"profile": "standard", "connections": 80, "precision": 0.02, "budget_minutes": 15.0, "seed": 1},
    machine={"cpu": "a CPU", "kernel": "6.1", "mitigations": {"mds": "Not affected"}},
    versions={
        "components": {"gin": {"gin": "v1"}, "drogon": {"Drogon": "1.9"}},
        "flags": {"drogon": "-O3"},
        "image": {"suite": "Debian forky", "key": "k1"},
        "toolchain": {"wrk": "4.1.0", "libc6": "2.43"},
        "python": {"numpy": "2.4"},
        "git_commit": "c1",
        "git_state": "clean",
    },
)


def changed(path, value):
    """The manifest with one fact changed; `path` is its place."""
    content = RECORD.model_dump()
    *folders, last = path
    target = content
    for folder in folders:
        target = target[folder]
    target[last] = value
    return RunManifest.model_validate(content)


def opened(tmp_path, run_id, record, experiment="02-json-decode"):
    run = Run(experiment, run_id, tmp_path)
    run.open(record)
    return run


MUST_AGREE = [
    (("machine", "cpu"), "another CPU", "machine.cpu"),
    (("machine", "kernel"), "6.2", "machine.kernel"),
    (("machine", "mitigations", "mds"), "Vulnerable", "machine.mitigations.mds"),
    (("pinning", "server"), "0-3", "pinning.server"),
    (("versions", "toolchain", "wrk"), "4.2.0", "versions.toolchain.wrk"),
    (("versions", "image", "suite"), "Debian sid", "versions.image.suite"),
    (("parameters", "connections"), 40, "parameters.connections"),
    (("parameters", "seed"), 2, "parameters.seed"),
]
MAY_CHANGE = [
    (("versions", "components", "gin", "gin"), "v2", "versions.components.gin.gin"),
    (("versions", "flags", "drogon"), "-O2", "versions.flags.drogon"),
    (("versions", "git_commit"), "c2", "versions.git_commit"),
    (("versions", "python", "numpy"), "2.5", "versions.python.numpy"),
    (("versions", "image", "key"), "k2", "versions.image.key"),
    (("versions", "builds"), {"gin": "b1"}, "versions.builds.gin"),
]


@pytest.mark.parametrize(("path", "value", "field"), MUST_AGREE)
def test_what_must_agree_is_refused_with_both_values(tmp_path, path, value, field):
    a, b = opened(tmp_path, "a", RECORD), opened(tmp_path, "b", changed(path, value))
    with pytest.raises(WrkbookError) as caught:
        check_comparable(a, b)
    (found,) = refused(a, b)
    assert found.field == field
    assert f"{field} ({found.a} in A, {value} in B)" in str(caught.value)
    assert "--anyway" in caught.value.remedy
    check_comparable(a, b, anyway=True)


@pytest.mark.parametrize(("path", "value", "field"), MAY_CHANGE)
def test_what_may_change_is_listed_and_not_refused(tmp_path, path, value, field):
    a, b = opened(tmp_path, "a", RECORD), opened(tmp_path, "b", changed(path, value))
    check_comparable(a, b)
    (found,) = differences(a.read(), b.read())
    assert (found.field, found.allowed) == (field, True)


@pytest.mark.parametrize(("path", "value"), [(("parameters", "precision"), 0.01), (("started_at",), "2027")])
def test_dates_and_limits_of_measuring_are_no_difference(path, value):
    assert differences(RECORD, changed(path, value)) == []


def test_all_that_was_not_measured_alike_is_told_at_once(tmp_path):
    record = changed(("machine", "kernel"), "6.2")
    record.parameters["connections"] = 40
    a, b = opened(tmp_path, "a", RECORD), opened(tmp_path, "b", record)
    with pytest.raises(WrkbookError, match=r"machine\.kernel .*parameters\.connections"):
        check_comparable(a, b)


def test_a_fact_that_only_one_run_states_is_absent_in_the_other():
    (found,) = differences(RECORD, changed(("machine", "turbo"), "on"))
    assert (found.a, found.b) == ("absent", "on")


@pytest.mark.parametrize("anyway", [False, True])
def test_runs_of_different_experiments_are_refused_whatever_was_told(tmp_path, anyway):
    a, b = opened(tmp_path, "a", RECORD, "01-ping"), opened(tmp_path, "a", RECORD)
    with pytest.raises(WrkbookError, match=r"01-ping.*02-json-decode"):
        check_comparable(a, b, anyway=anyway)


def test_servers_of_the_same_build_are_unchanged_whatever_the_commit_says():
    a = changed(("versions", "builds"), {"gin": "g1", "drogon": "d1"})
    b = changed(("versions", "builds"), {"gin": "g1", "drogon": "d2"})
    b.versions["git_commit"] = "c2"
    assert unchanged_servers(a, b) == {"gin"}


def test_without_the_keys_of_builds_no_server_is_known_to_be_unchanged():
    assert unchanged_servers(RECORD, RECORD) == set()
