"""The catalogue: every manifest of the project, and what is said of wrong ones."""

from types import SimpleNamespace

import pytest

from runners.core.errors import WrkbookError
from runners.generators.registry import GENERATORS
from runners.systems.catalogue import Catalogue
from runners.systems.component_versions import component_versions
from runners.systems.server_manifest import load_server

MANIFEST = """
title = "Toy"
language = "C"
role = "origin"
[start]
command = ["/build/server", "{port}"]
[[serves]]
workload = "ping"
path = "/ping"
"""


def written(tmp_path, text, name="toy"):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "server.toml").write_text(text)
    return folder


def test_a_complete_manifest_is_read(tmp_path):
    server = load_server(written(tmp_path, MANIFEST))
    assert (server.name, server.title, server.codecs) == ("toy", "Toy", [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MANIFEST + "x = 1", "serves.0.x"),
        ("colour = 1\n" + MANIFEST, "colour"),
        (MANIFEST.replace('"{port}"', '"80"'), "must pass {port} on"),
        (MANIFEST.replace('workload = "ping"', 'workload = "pong"'), "workload"),
        (MANIFEST.replace('path = "/ping"', 'path = "ping; rm"'), "path"),
        (MANIFEST.replace('role = "origin"', 'role = "boss"'), "role"),
        (
            MANIFEST.replace('title = "Toy"', 'title = "Toy"\npackages = ["g++; rm -rf /"]'),
            "not the name of a Debian package",
        ),
        (MANIFEST.replace("[start]", '[start]\nuser = "root; rm"'), "start.user"),
        (MANIFEST.replace("[start]", '[start]\nscratch = ["/src"]'), "start.scratch"),
        (MANIFEST.replace("[start]", '[start]\nstop_signal = "KILL"'), "start.stop_signal"),
        (MANIFEST.replace('workload = "ping"', 'workload = "mixed"'), "mixed needs text at /text"),
        ("title = ", "server.toml"),
        (MANIFEST.replace("[[serves]]", "[other]"), "other"),
        (MANIFEST.replace('role = "origin"', 'role = "generator"'), "a load generator has none"),
        (MANIFEST.replace('[start]\ncommand = ["/build/server", "{port}"]', ""), "every server needs one"),
    ],
)
def test_a_wrong_manifest_is_refused_with_its_field(tmp_path, text, told):
    with pytest.raises(WrkbookError) as caught:
        load_server(written(tmp_path, text))
    assert told in str(caught.value)
    assert "server.toml" in str(caught.value)


def test_a_load_generator_is_built_but_neither_started_nor_compared(tmp_path):
    text = 'title = "Toy"\nlanguage = "C"\nrole = "generator"\n[build]\ncommands = [["make"]]\n'
    server = load_server(written(tmp_path, text))
    assert (server.start, server.serves) == (None, [])
    built = {tool.built_by for tool in GENERATORS.values() if tool.built_by}
    assert {name for name, server in Catalogue().servers.items() if server.role == "generator"} == built


def test_a_crate_s_version_is_the_locked_one(tmp_path):
    folder = written(tmp_path, MANIFEST.replace("[start]", '[components]\nx = "cargo:serde"\n[start]'))
    (folder / "Cargo.lock").write_text('version = 4\n[[package]]\nname = "serde"\nversion = "1.0.1"\n')
    versions = component_versions([load_server(folder)], SimpleNamespace(versions={}, key="none"))
    assert versions["components"] == {"toy": {"x": "1.0.1"}}


def test_a_folder_whose_name_is_no_name_is_refused(tmp_path):
    with pytest.raises(WrkbookError, match="not a name for a server"):
        load_server(written(tmp_path, MANIFEST, "Toy Server"))


def test_the_project_s_own_servers_are_all_there():
    catalogue = Catalogue()
    assert {"gin", "drogon", "beast", "httplib"} <= set(catalogue.servers)
    names = [system.name for system in catalogue.systems("decode")]
    assert sorted(names) == [
        *("actix-web+serde_json", "axum+serde_json", "axum+simd-json", "axum+sonic-rs"),
        *("drogon+glaze", "drogon+jsoncpp", "drogon+simdjson", "drogon+simdjson-reflection", "drogon+yyjson"),
        *("gin+encoding/json", "gin+encoding/json/v2", "gin+go-json", "gin+simdjson-go", "gin+sonic"),
        *("net-http+encoding/json/v2", "net-http+sonic"),
    ]
    assert sorted(system.name for system in catalogue.systems("roundtrip")) == sorted(names)


@pytest.mark.parametrize("workload", ["decode", "roundtrip"])
def test_the_default_rows_are_the_published_ones_and_today_s_decoder_of_each_stack(workload):
    names = {system.name for system in Catalogue().systems(workload, default_only=True)}
    published = {"drogon+glaze", "drogon+simdjson", "drogon+yyjson", "gin+encoding/json", "gin+simdjson-go"}
    assert names == published | {"gin+encoding/json/v2", "gin+sonic", "axum+sonic-rs"}


def test_a_codec_makes_a_row_of_its_own_beside_the_one_without():
    catalogue = Catalogue()
    for workload in ("json", "json10"):
        assert {"drogon", "drogon+glaze"} <= {system.name for system in catalogue.systems(workload)}
        paths = [catalogue.server("drogon").service(workload, codec).path for codec in (None, "glaze")]
        assert paths == [f"/{workload}", f"/{workload}/glaze"]
    # A workload that has no codecs is served to every row.
    assert catalogue.server("drogon").service("discard", "glaze").path == "/discard/{db}/{table}"
    assert catalogue.server("drogon").service("decode", "libpq") is None


def test_the_database_rows_of_drogon_are_labelled_with_the_client_that_they_use():
    names = [system.name for workload in ("sql1", "sql2") for system in Catalogue().systems(workload)]
    assert names.count("drogon+libpq") == 2
    assert "drogon" not in names


def test_an_unknown_name_suggests_the_nearest_known_one():
    with pytest.raises(WrkbookError, match="did you mean 'drogon'"):
        Catalogue().server("dragon")
    with pytest.raises(WrkbookError, match=r"did you mean 'drogon\+simdjson'"):
        Catalogue().system("drogon+simd", ["decode"])
