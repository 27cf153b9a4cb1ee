"""The inventory of hosts: what is read, and what is refused with its line."""

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.hosts.inventory import EXAMPLE, read_inventory

SERVER = '[[hosts]]\nssh = "server"\naddress = "192.0.2.2"\nroles = ["server"]\n'


def inventory(tmp_path, text):
    file = tmp_path / "hosts.toml"
    file.write_text(text)
    return read_inventory(file)


def test_the_example_is_an_inventory(tmp_path):
    found = inventory(tmp_path, EXAMPLE)
    assert str(found.controller) == "192.0.2.1"
    host = found.named["server"]
    assert (host.ssh, str(host.address), host.cpus) == ("bench@server.example", "192.0.2.2", "")
    assert host.project == str(PROJECT)
    assert found.name_of("server") == "server"
    assert found.name_of("backend") is None


def test_hosts_are_named_by_their_roles(tmp_path):
    generators = "".join(f'[[hosts]]\nssh = "g{n}"\naddress = "192.0.2.{n}"\nroles = ["generator"]\n' for n in (11, 12))
    both = SERVER.replace('["server"]', '["server", "backend"]')
    found = inventory(tmp_path, f'controller = "192.0.2.1"\n{both}{generators}')
    assert list(found.named) == ["server+backend", "generator-1", "generator-2"]
    assert found.name_of("backend") == "server+backend"
    assert found.name_of("generator") == "generator-1"


def test_the_ssh_configuration_stands_beside_the_inventory(tmp_path):
    found = inventory(tmp_path, f'controller = "192.0.2.1"\nssh_config = "keys/config"\n{SERVER}')
    assert found.ssh_config == str(tmp_path / "keys/config")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('controller = "192.0.2.1"\nhosts = 3\n', "hosts.toml:2: hosts"),
        ('controller = "here"\n' + SERVER, "hosts.toml:1: controller"),
        (SERVER, "hosts.toml:1: controller"),
        ('controller = "192.0.2.1"\n\n' + SERVER + 'cpus = "3-1"\n', "hosts.toml:7: hosts.0.cpus: not a list of CPUs"),
        ('controller = "192.0.2.1"\n' + SERVER + SERVER.replace("server", "x"), "hosts.toml:9: hosts.1.roles"),
        ('controller = "192.0.2.1"\n' + SERVER.replace("address", "location"), "hosts.toml:4: hosts.0.location"),
        ('controller = "192.0.2.1"\n' + SERVER.replace("address", "location"), "hosts.toml:2: hosts.0.address"),
        ('controller = "192.0.2.1"\n' + SERVER.replace('"server"\na', '"-oProxyCommand=x"\na'), "hosts.toml:3: hosts.0.ssh"),
        ('controller = "192.0.2.1"\n' + SERVER + SERVER, "the role server is given to 2 hosts"),
        ('controller = "192.0.2.1"\n' + SERVER.replace('["server"]', '["generator"]'), "no host has the role server"),
        ('controller = "192.0.2.1"\n' + SERVER + SERVER.replace('["server"]', '["generator"]'), "ssh = 'server' stands twice"),
        ('controller = "192.0.2.1\n', "is not TOML: Illegal character"),
    ],
)  # fmt: skip
def test_a_wrong_inventory_is_refused_with_the_place(tmp_path, text, named):
    with pytest.raises(WrkbookError) as error:
        inventory(tmp_path, text)
    assert named in error.value.problem
    assert "docs/hosts.md" in error.value.remedy


def test_a_host_without_ssh_is_one_whose_worker_is_started_by_hand(tmp_path):
    hosts = SERVER.replace('ssh = "server"\n', "") + SERVER.replace("server", "backend").replace(
        "192.0.2.2", "192.0.2.3"
    )
    found = inventory(tmp_path, f'controller = "192.0.2.1"\ncontroller_port = 8786\n{hosts}')
    assert found.named["server"].ssh == ""
    assert found.named["server"].title == "192.0.2.2"
    assert found.controller_port == 8786


def fleet(*roles):
    hosts = "".join(
        f'[[hosts]]\nssh = "h{n}"\naddress = "192.0.2.{n}"\nroles = {own}\n' for n, own in enumerate(roles, 2)
    )
    return f'controller = "192.0.2.1"\n{hosts}'


def test_a_fleet_has_the_role_all_on_each_host(tmp_path):
    found = inventory(tmp_path, fleet(["all"], ["all"]))
    assert found.is_fleet
    assert list(found.named) == ["all-1", "all-2"]
    for roles in ([["all"], ["server"]], [["all", "server"]]):
        with pytest.raises(WrkbookError, match="one host has the role all"):
            inventory(tmp_path, fleet(*roles))


def test_of_several_load_generator_hosts_none_has_another_role(tmp_path):
    assert inventory(tmp_path, fleet(["server"], ["generator"], ["generator"])).names_of("generator") == [
        "generator-1",
        "generator-2",
    ]
    with pytest.raises(WrkbookError, match="h3 has another role"):
        inventory(tmp_path, fleet(["server"], ["generator", "backend"], ["generator"]))


def test_a_missing_inventory_is_named(tmp_path):
    with pytest.raises(WrkbookError, match="cannot be read"):
        read_inventory(tmp_path / "none.toml")
