"""The registry of workloads: the only place that lists them, and consistent with itself."""

import ast

import pytest

from runners.core.project import PROJECT
from runners.core.records import Workload
from runners.core.workloads import WORKLOADS, named

# Vectors are about one workload each, and the migrations know the names of recorded data.
NAMING = {"core/workloads.py", "store/migrations.py", "contract/vectors/golden.py"}


def named_in(path):
    """The workloads whose names are values in a module; keys of JSON such as ``text`` and ``json`` are not told apart."""
    literals = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
    return literals & (WORKLOADS.keys() - {"text", "json"})


def test_no_other_module_names_workloads():
    modules = sorted((PROJECT / "runners").rglob("*.py"))
    found = {path.relative_to(PROJECT / "runners").as_posix(): named_in(path) for path in modules}
    assert {name: names for name, names in found.items() if names and name not in NAMING} == {}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_either_takes_a_batch_or_says_what_its_response_holds(name):
    about = WORKLOADS[name]
    assert bool(about.takes) == bool(about.gives) != bool(about.response)
    assert bool(about.dynamic) == (about.size_tolerance > 0.001)


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


def test_workloads_are_found_by_their_fields():
    assert named(gives="echo") == ("roundtrip",)
    assert named(takes="batch", gives="any JSON") == ("decode-as-published", "roundtrip-as-published")
