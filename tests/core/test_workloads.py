"""The registry of workloads: the only place that lists them, and consistent with itself."""

import ast

import pytest

from runners.core.project import PROJECT
from runners.core.records import Workload
from runners.core.workloads import WORKLOADS, backend_work, check_mixes, named

# Vectors are about one workload each, the migrations know the names of recorded data, a function of colours is called mixed, and a
# protocol tls.
NAMING = {
    "core/workloads.py",
    "store/migrations.py",
    "contract/vectors/golden.py",
    "present/kit/theme.py",
    "hosts/cluster.py",
}


def named_in(path):
    """The workloads whose names are values in a module; keys of JSON such as ``text``, and the coding gzip, are not told apart."""
    literals = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
    return literals & (WORKLOADS.keys() - {"text", "json", "gzip"})


def test_no_other_module_names_workloads():
    modules = sorted((PROJECT / "runners").rglob("*.py"))
    found = {path.relative_to(PROJECT / "runners").as_posix(): named_in(path) for path in modules}
    assert {name: names for name, names in found.items() if names and name not in NAMING} == {}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_either_takes_a_batch_or_says_what_its_response_holds(name):
    about = WORKLOADS[name]
    assert bool(about.takes) == bool(about.gives) != bool(about.response or about.mix)
    assert bool(about.dynamic or about.mix) == (about.size_tolerance > 0.001)
    assert bool(about.plain) == bool(about.adds)
    assert about.plain in {"", *WORKLOADS}


def test_the_variants_of_a_workload_differ_in_its_size_alone():
    sizes = {"operations": [1, 10], "delay_ms": [5], "count": [20]}
    assert WORKLOADS["decode"].variants(sizes) == [Workload("decode", operations=1), Workload("decode", operations=10)]
    assert WORKLOADS["ping-delay"].variants(sizes) == [Workload("ping-delay", delay_ms=5)]
    assert WORKLOADS["text"].variants(sizes) == [Workload("text")]


def test_the_work_of_a_backend_is_one_call_and_its_rows():
    assert WORKLOADS["sql1"].backend_work(Workload("sql1")) == {"sql1": {"calls": 1, "rows": 1}}
    assert WORKLOADS["sql2"].backend_work(Workload("sql2", count=20)) == {"sql2": {"calls": 1, "rows": 20}}
    assert WORKLOADS["sql2"].backend_work(Workload("sql2")) == {}
    assert WORKLOADS["text"].backend_work(Workload("text")) == {}


def test_the_work_of_a_backend_for_a_mix_is_that_of_the_average_request():
    assert backend_work(Workload("mixed")) == {"sql2": {"calls": 0.05, "rows": 1.0}}
    assert backend_work(Workload("sql2", count=3)) == {"sql2": {"calls": 1, "rows": 3}}


GOOD = [("mixed", "/m", "base"), ("text", "/text", None), ("json", "/json", None), ("decode", "/m", None)]
GOOD += [("blog", "/blog", None), ("sql2", "/sql2", "base")]


def test_a_server_that_serves_a_mix_serves_all_its_parts():
    check_mixes(GOOD)
    for missing in GOOD[1:]:
        with pytest.raises(ValueError, match=f"mixed needs {missing[0]} at {missing[1]}"):
            check_mixes([each for each in GOOD if each != missing])


@pytest.mark.parametrize("backend", [None, "other"])
def test_a_mix_without_the_backend_of_its_parts_is_refused(backend):
    with pytest.raises(ValueError, match='mixed needs backend = "base", as sql2 does'):
        check_mixes([("mixed", "/m", backend), *GOOD[1:]])


def test_workloads_are_found_by_their_fields():
    assert named(gives="echo") == ("roundtrip",)
    assert named(takes="batch", gives="any JSON") == ("decode-as-published", "roundtrip-as-published")
