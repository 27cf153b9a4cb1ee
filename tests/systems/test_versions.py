"""Where the version of a component is read: the image, the lock file of each language, or the command that installs it."""

from types import SimpleNamespace

import pytest

from runners.core.errors import WrkbookError
from runners.systems.catalogue import Catalogue
from runners.systems.component_versions import component_versions
from runners.systems.server_manifest import load_server

MANIFEST = """
title = "Toy"
language = "C"
role = "origin"
[components]
Toy = "{where}"
[build]
commands = [["make"], ["cargo", "install", "--locked", "--version", "4.5.6", "toy"]]
[start]
command = ["/build/server", "{{port}}"]
[[serves]]
workload = "ping"
path = "/ping"
"""
FILES = {
    "go.mod": "module x\n\nrequire (\n\tgithub.com/a/toys v0.0.1\n\tgithub.com/a/toy v1.2.3 // indirect\n)\n",
    "Cargo.lock": '[[package]]\nname = "toys"\nversion = "0.0.1"\n\n[[package]]\nname = "toy"\nversion = "1.2.3"\n',
    "package-lock.json": (
        '{"packages": {"node_modules/toy/node_modules/deep": {"version": "9"}, '
        '"node_modules/toy": {\n      "version": "1.2.3",\n      "license": "MIT"}}}'
    ),
    "pom.xml": "<dependency><artifactId>toy</artifactId>\n  <version>1.2.3</version></dependency>",
    "requirements.txt": "toys==0.0.1\ntoy==1.2.3 --hash=sha256:00\n",
}
IMAGE = SimpleNamespace(versions={"toy": "1:2-3"}, key="x")


def version(tmp_path, where):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "server.toml").write_text(MANIFEST.format(where=where))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return component_versions([load_server(folder)], IMAGE)["components"]["toy"]["Toy"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("deb:toy", "1:2-3"),
        ("go:github.com/a/toy", "v1.2.3"),
        ("cargo:toy", "1.2.3"),
        ("npm:toy", "1.2.3"),
        ("maven:toy", "1.2.3"),
        ("pypi:toy", "1.2.3"),
        ("install:toy", "4.5.6"),
    ],
)
def test_each_kind_of_component_is_found_where_it_is_locked(tmp_path, where, expected):
    assert version(tmp_path, where) == expected


@pytest.mark.parametrize("kind", ["deb", "go", "cargo", "npm", "maven", "pypi", "install", "brew"])
def test_a_component_that_is_not_there_is_named(tmp_path, kind):
    with pytest.raises(WrkbookError, match=f"component '{kind}:other' is not installed"):
        version(tmp_path, f"{kind}:other")


def test_a_package_within_another_is_not_the_one_that_is_meant(tmp_path):
    with pytest.raises(WrkbookError, match="component 'npm:deep'"):
        version(tmp_path, "npm:deep")


def test_every_component_of_the_project_s_own_servers_has_a_version():
    servers = list(Catalogue().servers.values())
    debian = {where.removeprefix("deb:") for server in servers for where in server.components.values()}
    found = component_versions(servers, SimpleNamespace(versions=dict.fromkeys(debian, "1"), key="x"))["components"]
    assert {name: set(versions) for name, versions in found.items()} == {
        server.name: set(server.components) for server in servers if server.components
    }
