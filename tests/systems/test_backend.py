"""Backends: which server needs which, how the work is counted, and what is said of wrong ones; no process is launched."""

from types import SimpleNamespace

import pytest

from runners.core.errors import WrkbookError
from runners.systems.backend import Backend, Backends, Work, backend_name, backends_of, work_between
from runners.systems.catalogue import Catalogue
from runners.systems.server_manifest import load_server

SERVER = """
title = "Toy"
language = "C"
role = "origin"
[start]
command = ["/build/server", "{port}", "{backend_port}", "{pool}"]
env = { BACKEND = "127.0.0.1:{backend_port}" }
"""


def manifest(tmp_path, *backends, name="toy"):
    services = "".join(f'[[serves]]\nworkload = "sql1"\npath = "/sql1"\nbackend = "{each}"\n' for each in backends)
    (tmp_path / name).mkdir()
    path = tmp_path / name / "server.toml"
    path.write_text(SERVER + '[[serves]]\nworkload = "ping"\npath = "/ping"\n' + services)
    return load_server(path.parent)


def test_a_server_needs_the_backend_that_its_services_name(tmp_path):
    assert backend_name(manifest(tmp_path, name="alone")) is None
    assert backend_name(manifest(tmp_path, "base", "base", name="twice")) == "base"


def test_a_server_with_two_backends_is_refused(tmp_path):
    with pytest.raises(WrkbookError, match="several backends: base, other"):
        backend_name(manifest(tmp_path, "other", "base"))


def test_a_backend_that_is_not_there_is_named(tmp_path):
    server = manifest(tmp_path, "base")
    with (
        pytest.raises(WrkbookError, match="no server named 'base'"),
        backends_of([server], None, [0], Catalogue(tmp_path)),
    ):
        pass


def test_what_is_no_backend_is_not_launched_as_one(tmp_path):
    server = manifest(tmp_path, "base")
    manifest(tmp_path, name="base")
    with (
        pytest.raises(WrkbookError, match="base has the role origin"),
        backends_of([server], None, [0], Catalogue(tmp_path)),
    ):
        pass


def test_a_server_that_needs_none_gets_the_port_zero(tmp_path):
    alone, other = manifest(tmp_path, name="alone"), manifest(tmp_path, "base")
    backends = Backends(base=SimpleNamespace(port=4711))
    assert (backends.port(alone), backends.port(other)) == (0, 4711)
    assert Backends().port(other) == 0


def test_work_between_two_counts_is_told_for_each_kind():
    before, after = {"sql1": Work(3, 3)}, {"sql1": Work(10, 10), "sql2": Work(2, 40)}
    assert work_between(before, after) == {"sql1": Work(7, 7), "sql2": Work(2, 40)}


@pytest.mark.parametrize(
    "printed", ["", "[1]", '{"sql1": 3}', '{"sql1": {"calls": 1}}', '{"sql1": {"calls": "x", "rows": 1}}']
)
def test_counters_that_print_something_else_are_told_with_it(tmp_path, monkeypatch, printed):
    server = manifest(tmp_path)
    counting = server.model_copy(update={"start": server.start.model_copy(update={"counters": ["count"]})})
    backend = Backend(SimpleNamespace(server=counting), 1, [0])
    monkeypatch.setattr(backend, "_count", lambda: SimpleNamespace(returncode=0, stdout=printed, stderr=""))
    with pytest.raises(WrkbookError, match="counters of toy printed no work"):
        backend.work()


def test_the_backend_s_port_and_the_pool_are_filled_into_the_command(tmp_path):
    process = Backend(SimpleNamespace(server=manifest(tmp_path)), 1234, [0, 1], backend_port=4711)
    assert process.filled(process.artifact.server.start.command) == ["/build/server", "1234", "4711", "20"]
    assert process.filled(["127.0.0.1:{backend_port}"]) == ["127.0.0.1:4711"]
