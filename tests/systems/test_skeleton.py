"""A new server: its files, the names that are refused, and that it keeps the contract as it is."""

import shutil

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import SERVERS
from runners.machine.pinning import plan_pinning
from runners.measure.conformance import full_image, verify_server
from runners.measure.this_machine import usable_cores
from runners.systems.build import build
from runners.systems.catalogue import Catalogue
from runners.systems.server_manifest import load_server
from runners.systems.skeleton import new_server


@pytest.fixture
def servers(tmp_path):
    """A folder of servers in which there are two, a load generator, and the contract."""
    for name in ("burn", "haproxy-return", "autocannon"):
        shutil.copytree(SERVERS / name, tmp_path / name)
    (tmp_path / "contract").mkdir()
    return tmp_path


def test_the_skeleton_is_found_under_its_own_title_and_says_what_comes_next(servers):
    told = new_server("mine", folder=servers)
    server = Catalogue(servers).server("mine")
    assert (server.title, server.role) == ("mine", "origin")
    assert [service.workload for service in server.serves] == ["ping"]
    for wanted in ("servers/mine/server.toml", "./wrkbook verify mine", "./wrkbook serve mine", "/ping"):
        assert wanted in told


def test_one_like_another_is_its_copy_but_for_the_title(servers):
    (servers / "burn" / "node_modules").mkdir()
    new_server("burn-2", like="burn", folder=servers)
    assert load_server(servers / "burn-2").title == "burn-2"
    assert load_server(servers / "burn-2").serves == load_server(servers / "burn").serves
    assert (servers / "burn-2/main.go").read_bytes() == (servers / "burn/main.go").read_bytes()
    assert not (servers / "burn-2/node_modules").exists()
    lines = [(servers / name / "server.toml").read_text().splitlines() for name in ("burn", "burn-2")]
    assert [old.split()[0] for old, new in zip(*lines, strict=True) if old != new] == ["title"]


@pytest.mark.parametrize(
    ("name", "like", "told"),
    [
        ("burn", "", "'burn' is taken"),
        ("contract", "", "'contract' is taken"),
        ("control", "", "'control' is taken"),
        ("My Server", "", "not a name for a server"),
        ("../outside", "", "not a name for a server"),
        ("", "", "not a name for a server"),
        ("x" * 32, "", "not a name for a server"),
        ("mine", "brn", "did you mean 'burn'"),
        ("mine", "../burn", "there is no server named"),
        ("mine", "autocannon", "autocannon is a generator"),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_nothing(servers, name, like, told):
    before = sorted(servers.parent.rglob("*"))
    with pytest.raises(WrkbookError, match=told):
        new_server(name, like=like, folder=servers)
    assert sorted(servers.parent.rglob("*")) == before


@pytest.mark.servers
@pytest.mark.parametrize("like", ["", "haproxy-return"])
def test_it_keeps_the_contract_before_anything_is_changed(servers, like):
    new_server("mine", like=like, folder=servers)
    image = full_image(Catalogue())
    image.ensure()
    artifact = build(load_server(servers / "mine"), image)
    assert [str(finding) for finding in verify_server(artifact, plan_pinning(usable_cores()).server)] == []
