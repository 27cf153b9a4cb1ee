"""What `serve` offers, and what it says of a measurement beside it."""

import pytest

from runners.cli import serving
from runners.core.errors import WrkbookError
from runners.core.project import MEASURING, SERVING, exclusive, is_locked, shared
from runners.systems.catalogue import Catalogue

MANIFEST = """
title = "Toy"
language = "C"
role = "{role}"
"""
START = '[start]\ncommand = ["/build/server", "{port}"]\n[[serves]]\nworkload = "{workload}"\npath = "/x"\n'


def manifest(folder, name, role, workload="", more=""):
    (folder / name).mkdir()
    start = START.replace("{workload}", workload) + more if workload else ""
    (folder / name / "server.toml").write_text(MANIFEST.format(role=role) + start)


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    """Locks of the tests' own: this machine may be measuring."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    manifest(tmp_path, "toy", "origin", "ping")
    manifest(tmp_path, "base", "backend", "relay")
    manifest(tmp_path, "relay", "proxy", "relay", 'backend = "base"\n')
    manifest(tmp_path, "alone", "proxy", "relay")
    manifest(tmp_path, "load", "generator")
    found = Catalogue(tmp_path)
    monkeypatch.setattr(serving, "Catalogue", lambda: found)
    return found


def test_neither_load_generators_nor_proxies_without_a_backend_are_offered(catalogue):
    assert serving.servable(catalogue) == ["base", "relay", "toy"]


@pytest.mark.parametrize(("name", "said"), [("load", "load cannot be served"), ("tou", "no server named 'tou'")])
def test_what_cannot_be_served_is_refused_with_what_can(catalogue, name, said):
    with pytest.raises(WrkbookError, match=said) as caught:
        serving.serve_until_interrupted(name, None, 0)
    assert caught.value.remedy.endswith("there are: base, relay, toy")


class Ending:
    """A process that ends after three inspections."""

    name, exit_status = "toy", 1

    def __init__(self):
        self.inspections = iter([True, True, True])

    @property
    def alive(self):
        return next(self.inspections, False)

    def output(self):
        return "it is over"


def test_a_server_beside_a_measurement_says_once_that_it_counts_as_other_load(monkeypatch, capsys):
    monkeypatch.setattr(serving.time, "sleep", lambda _: None)
    with pytest.raises(WrkbookError, match="toy ended with exit status 1: it is over"):
        serving._watch(Ending())
    assert capsys.readouterr().err == ""
    with exclusive(MEASURING, "a test"), pytest.raises(WrkbookError):
        serving._watch(Ending())
    assert capsys.readouterr().err.count("a measurement is running on this machine") == 1


def test_looking_at_a_lock_does_not_take_it():
    with shared(SERVING), shared(SERVING):
        assert is_locked(SERVING, also_shared=True)
        assert not is_locked(SERVING)
    assert not is_locked(SERVING, also_shared=True)
